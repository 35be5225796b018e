#ifndef VUG_ENGINE_CANDIDATES_H
#define VUG_ENGINE_CANDIDATES_H

/*
 * The tokens that may be drawn, and the samplers that drop some of them.
 *
 * Tokens are ranked by their logits, the best first, the lower id first among equals. What samplers
 * keep is always an interval of this ranking: so long as it is large, it is only described by its
 * two ends, and logits are read where they are; once it is short, it becomes a sorted list.
 *
 * Functions over all logits work in blocks. A block's best logit tells which blocks to skip.
 */

#include "backend/backend.h"
#include "core/mem.h"
#include "core/noise.h"
#include "core/status.h"
#include "engine/token_mass.h"

enum {
    VUG_LOGITS_BLOCK = 64,     /* logits */
    VUG_SHORT_CANDIDATES = 256 /* so few candidates become a list */
};

/* Logits [n] with changes. Ids that are not allowed have -infinity. */
typedef struct {
    const float *logits;
    int64_t n;
    const int32_t *known; /* [n_known] the only ids that count; NULL: all */
    size_t n_known;
    const uint32_t *allowed;    /* a bit per id; NULL: all are allowed */
    const uint32_t *is_changed; /* a bit per id: its logit is in `changed`; NULL: none is */
    const float *changed;       /* [n] */
} vug_logits_view;

typedef struct {
    vug_logits_view view;
    double temperature;
    /* The kept interval. `first` has the best logit; `last` may be a limit that no token has. */
    vug_candidate first, last;
    bool is_cut;         /* the interval is shorter than all tokens */
    bool is_list;        /* list [n_list] has the candidates, in the order of the ranking */
    bool only_infinite;  /* the best logit is +infinity: it reads as 0, others as -infinity */
    vug_candidate *list; /* room for all ids */
    size_t n_list;
    float *block_best;   /* [blocks] at least the best logit of a block */
    uint64_t *histogram; /* [VUG_MASS_BINS] scratch */
} vug_candidates;

/* Allocates the memory for views of at most `n` logits. */
VUG_MUST_CHECK vug_status vug_candidates_init(vug_candidates *c, int64_t n, vug_err *err);
void vug_candidates_release(vug_candidates *c);

/* Starts with all tokens of a view whose logits are neither NaN nor -infinity. False: there are
 * none. */
bool vug_candidates_start(vug_candidates *c, const vug_logits_view *view);

/* ---- access for the files beside it (candidates.c) -------------------------------- */

static inline bool vug_candidate_is_before(const vug_candidate *a, const vug_candidate *b)
{
    return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}
static inline bool vug_candidates_has(const vug_candidates *c, const vug_candidate *one)
{
    return !vug_candidate_is_before(one, &c->first) && !vug_candidate_is_before(&c->last, one);
}
static inline size_t vug_candidates_blocks(const vug_candidates *c)
{
    return ((size_t)c->view.n + VUG_LOGITS_BLOCK - 1) / VUG_LOGITS_BLOCK;
}
/* Whether the block may have candidates. */
static inline bool vug_candidates_has_block(const vug_candidates *c, size_t block)
{
    return c->block_best[block] >= c->last.logit;
}
/* The logits of a block [VUG_LOGITS_BLOCK], where they are or copied to `buffer`; -infinity (or NaN) for
 * those that are no candidates. Not for a list. */
const float *vug_candidates_block(const vug_candidates *c, size_t block, float *buffer);
/* Makes a list of the best k candidates, or of all if there are fewer; not of a list. */
void vug_candidates_best(vug_candidates *c, size_t k);
/* Makes a list of all candidates if they are few. */
void vug_candidates_shorten(vug_candidates *c);
/* Keeps list[from .. to) of a list, not empty. */
void vug_candidates_keep_part(vug_candidates *c, size_t from, size_t to);
/* Keeps an interval, whose first logit is one of a candidate; not of a list. */
void vug_candidates_keep_interval(vug_candidates *c, vug_candidate first, vug_candidate last);
/* Orders a list from the best candidate on. */
void vug_candidates_sort(vug_candidate *list, size_t n);

/* ---- samplers; each keeps at least one candidate ---------------------------------- */

/* sampler_cuts.c */
void vug_cut_top_k(vug_candidates *c, size_t k);
void vug_cut_top_n_sigma(vug_candidates *c, double n);
void vug_cut_min_p(vug_candidates *c, double p);

/* sampler_mass_cuts.c */
void vug_cut_top_p(vug_candidates *c, double p);
void vug_cut_typical_p(vug_candidates *c, double p);
void vug_cut_xtc(vug_candidates *c, double threshold);

/* The sum of the masses of all candidates. */
uint64_t vug_candidates_mass(const vug_candidates *c);

/* ---- draw (sampler_draw.c) --------------------------------------------------------- */

/* At least the Gumbel variables of ids 0 .. n - 1 in a draw; the greatest of them, unless n is small. */
double vug_noise_greatest_gumbel(const vug_noise *noise, int64_t n);
/* The candidate with the greatest sum of logit / temperature and Gumbel variable. */
int32_t vug_candidates_draw(const vug_candidates *c, const vug_noise *noise);

#endif
