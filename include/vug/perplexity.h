#ifndef VUG_PERPLEXITY_H
#define VUG_PERPLEXITY_H

/*
 * How well a model predicts a text, and how far it is from another model.
 *
 * The text is encoded as it stands; special tokens that it names are recognised.
 * It is read in windows: each begins with what the tokenizer puts in front of a
 * text, such as <bos>, and goes on with as many of the text's tokens as fit. Every
 * token with another one before it in its window is scored, once: the tokens that
 * a window shares with the one before only give it something to go by.
 */

#include "vug/vug.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *name;          /* of the text, for sentences; NULL: "the text" */
    int window;                /* tokens, with those in front; 0: 512 or the trained context if
                                that is less; with base_logits: theirs */
    int stride;                /* tokens from window to window; 0: all that fit, so that no two
                                windows share one; with base_logits: theirs */
    vug_model *base;           /* compare with this model */
    const char *base_logits;   /* or with a file that save_logits made */
    const char *save_logits;   /* write what a base has to remember to this file; not with
                                either of the two above */
    vug_progress_fn *progress; /* in tokens to be scored */
    void *user;
} vug_perplexity_options;

/* One model over the scored tokens. Logarithms are natural. */
typedef struct {
    double nll;              /* mean of -log p(token) */
    double nll_error;        /* its standard error, the tokens taken for independent */
    double perplexity;       /* e^nll */
    double perplexity_error; /* perplexity * nll_error */
    double bits_per_byte;    /* sum of -log2 p(token) over the bytes of the scored text */
} vug_score;

typedef struct {
    int window, stride; /* that were used */
    int64_t n_tokens;   /* of the text */
    int64_t n_windows;
    int64_t n_scored; /* tokens */
    uint64_t n_bytes; /* that they stand for in the text */
    double seconds;
    vug_score model;
    /* The rest is zero without a base. Per scored token, over the whole vocabulary. */
    vug_score base;
    double kl_mean, kl_median, kl_p99, kl_max; /* KL(base || model) in nats; kl_p99: no more than
                                                  1 % of the tokens are above it */
    double top1;                               /* share whose best token is the base's best too */
    double shift_mean, shift_rms; /* of p(token) by the model less p(token) by the base */
} vug_perplexity;

/*
 * `text` is UTF-8 of at least two tokens. A base must have the same tokenizer: what
 * is compared is the same ids. At most 64 MiB of logits per model are held at a time,
 * besides what vug_model_describe announces.
 *
 * The file of save_logits is a safetensors file that holds `tokens` I32 (those in
 * front of each window, then the text's), `layout` I32 [3] (window, stride, tokens in
 * front) and `logprobs` F16 [scored tokens, vocabulary]: natural logarithms, 2 bytes
 * per token and id of the vocabulary. A base that is read from one is rounded so:
 * each log-probability by at most one part in 2048.
 */
VUG_API VUG_MUST_CHECK vug_status vug_model_perplexity(vug_model *model, const char *text,
                                                       size_t len,
                                                       const vug_perplexity_options *options,
                                                       vug_perplexity *out, vug_err *err);

#ifdef __cplusplus
}
#endif

#endif
