#ifndef VUG_CHECKPOINT_SCORE_H
#define VUG_CHECKPOINT_SCORE_H

/*
 * The parts of vug_model_perplexity: scored_text.c cuts a text into windows, perplexity.c runs
 * the models over them, score.c turns rows of logits into numbers per token and into results,
 * logits_file.c stores log-probabilities for later comparisons.
 */

#include "checkpoint/internal.h"
#include "core/pool.h"

/* ---- the text and its windows (scored_text.c) -------------------------------------- */

typedef struct {
    const char *name;     /* for error messages */
    vug_tokens text;      /* owned */
    const int32_t *front; /* [n_front] the tokens in front of every window */
    size_t n_front;
    int64_t n_vocab;
    int64_t window, stride; /* tokens */
    int64_t n_windows, n_scored;
} vug_scored_text;

/* Encodes a text. `base` may be NULL; a base with another tokenizer is refused. `out->name` is
 * set; everything else of it is zero. */
VUG_MUST_CHECK vug_status vug_scored_text_read(const vug_model *model, const vug_model *base,
                                               vug_str text, vug_scored_text *out, vug_err *err);
void vug_scored_text_release(vug_scored_text *text);
/* The number of tokens of the text that fit a window. */
int64_t vug_scored_text_per_window(const vug_scored_text *text);
/* Checks `window` and `stride`, and counts windows and scored tokens. */
VUG_MUST_CHECK vug_status vug_scored_text_set_windows(vug_scored_text *text, int64_t context,
                                                      vug_err *err);

/* Tokens begin .. end - 1 of the text, of which those from `first` on are scored. */
typedef struct {
    int64_t begin, first, end;
} vug_text_window;

vug_text_window vug_scored_text_window(const vug_scored_text *text, int64_t k);
/* Counts the bytes that the scored tokens of a text of `len` bytes stand for. The bytes of a
 * character that is several tokens count for the last one. */
VUG_MUST_CHECK vug_status vug_scored_text_bytes(const vug_scored_text *text,
                                                const vug_tokenizer *tokenizer, size_t len,
                                                uint64_t *out, vug_err *err);

/* ---- scores (score.c) --------------------------------------------------------------- */

/* The scores of tokens; each array is [n]. */
typedef struct {
    double *nll;      /* -log p(token) by the model */
    double *base_nll; /* NULL without a base, as are those below */
    double *kl;       /* KL(base || model) */
    double *shift;    /* p(token) by the model minus p(token) by the base */
    uint8_t *same_best;
} vug_token_scores;

/* `n` rows of logits, one for each of `n` tokens. */
typedef struct {
    int64_t n, n_vocab;
    const int32_t *token;    /* [n] */
    const float *model;      /* [n, n_vocab] logits */
    const float *base;       /* [n, n_vocab] logits; NULL: none */
    const uint8_t *base_f16; /* log-probabilities instead, unaligned; NULL: none */
    float *decoded;          /* [n, n_vocab] scratch for base_f16 */
    uint8_t *encoded;        /* out: [n, n_vocab] the model's log-probabilities in F16; or NULL */
    vug_token_scores scores; /* out */
    int64_t bad;             /* out: the first row that is not a distribution; -1: none */
    bool bad_is_base;        /* out: that row is the base's */
} vug_score_job;

void vug_score_rows(vug_pool *pool, vug_score_job *job);
/* `nll` [n], n >= 2. */
vug_score vug_score_sum(const double *nll, int64_t n, uint64_t n_bytes);
/* Fills the comparison fields from the scores of all tokens; sorts scores->kl. */
void vug_score_compare(const vug_token_scores *scores, int64_t n, vug_perplexity *out);

/* ---- log-probabilities in a file (logits_file.c) ------------------------------------- */

/* Reads the window and stride of a file and nothing else. */
VUG_MUST_CHECK vug_status vug_logits_file_layout(const vug_weights *file, const char *path,
                                                 int64_t *window, int64_t *stride, vug_err *err);
/* The rows [n_scored, n_vocab] of a file, which must have been made for exactly this text. */
VUG_MUST_CHECK vug_status vug_logits_file_rows(const vug_weights *file, const char *path,
                                               const vug_scored_text *text, const uint8_t **rows,
                                               vug_err *err);
/* Provides the next rows, at least one, which stay valid until the next call. */
typedef vug_status vug_logits_file_fn(void *user, const uint8_t **rows, int64_t *n, vug_err *err);
VUG_MUST_CHECK vug_status vug_logits_file_write(const char *path, const vug_scored_text *text,
                                                vug_logits_file_fn *next, void *user, vug_err *err);

#endif
