#ifndef VUG_ENGINE_SCORE_H
#define VUG_ENGINE_SCORE_H

/*
 * Rows of logits made into numbers per token. Private to what implements
 * vug/perplexity.h: perplexity.c walks over the text, score.c does the sums,
 * logits_file.c keeps a base for later.
 */

#include "core/os.h"
#include "vug/perplexity.h"
#include "weights/weights.h"

/* What the scored tokens came to; each array [n] once it is there. */
typedef struct {
    double *nll;      /* by the model */
    double *base_nll; /* the rest is NULL without a base */
    double *kl;
    double *shift;
    uint8_t *same_best;
} vug_marks;

/* `n` rows for `n` tokens in turn. */
typedef struct {
    int64_t n, n_vocab;
    const int32_t *token;    /* [n] the right ones */
    const float *model;      /* [n, n_vocab] logits */
    const float *base;       /* likewise; NULL: none */
    const uint8_t *base_f16; /* log-probabilities in their place, of any alignment; NULL: none */
    float *decoded;          /* [n, n_vocab] scratch for base_f16 */
    uint8_t *encoded;        /* [n, n_vocab] F16: what the model's become; NULL: not wanted */
    vug_marks marks;         /* from the first of these tokens on */
    int64_t bad;             /* out: the first row that is no distribution; -1: all are */
    bool bad_is_base;        /* out: it is the base's */
} vug_score_job;

void vug_score_rows(vug_pool *pool, vug_score_job *job);
/* `nll` [n], n >= 2. */
vug_score vug_score_sum(const double *nll, int64_t n, uint64_t n_bytes);
/* The fields of a comparison, from the marks of all scored tokens; sorts kl. */
void vug_score_compare(const vug_marks *marks, int64_t n, vug_perplexity *out);

/* ---- a base in a file --------------------------------------------------------------- */

/* What `n_scored` rows belong to. */
typedef struct {
    const int32_t *front; /* [n_front] before every window */
    size_t n_front;
    const int32_t *id; /* [n] of the text */
    size_t n;
    int64_t window, stride; /* tokens */
    int64_t n_scored, n_vocab;
} vug_logits_of;

/* The window and stride of a file; nothing else of it is looked at. */
VUG_MUST_CHECK vug_status vug_logits_layout(const vug_weights *file, const char *path,
                                            int64_t *window, int64_t *stride, vug_err *err);
/* The rows [n_scored, n_vocab] of a file that was made for exactly `of`. */
VUG_MUST_CHECK vug_status vug_logits_rows(const vug_weights *file, const char *path,
                                          const vug_logits_of *of, const uint8_t **rows,
                                          vug_err *err);
/* Fills the next rows, at least one: they stay valid until the next call. */
typedef vug_status vug_logits_fn(void *user, const uint8_t **rows, int64_t *n, vug_err *err);
VUG_MUST_CHECK vug_status vug_logits_write(const char *path, const vug_logits_of *of,
                                           vug_logits_fn *next, void *user, vug_err *err);

#endif
