#ifndef VUG_EMBED_H
#define VUG_EMBED_H

/*
 * Embeddings: a vector for a text, by which texts can be compared.
 *
 * The model's hidden states of a text's tokens, the output of its final norm, are pooled to one
 * vector, which is scaled to length 1. This is what llama.cpp's server returns (`result_norm`, then
 * pooling, then common_embd_normalize with its default 2, the Euclidean norm), and OpenAI's API
 * returns vectors of length 1, too. A model that was trained for embeddings says which pooling it
 * needs; with other models mean is a usual choice.
 *
 * A vector depends on nothing but the model, the tokens and the options: the same text has the same
 * bits alone and among others.
 *
 *     vug_embedder_create(model, NULL, &embedder, &err)
 *     vug_embed_texts(embedder, text, n, NULL, out, &err)     out [n, d_model] of vug_model_info
 *     vug_embedder_destroy(embedder)
 */

#include "vug/vug.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(id, name) */
#define VUG_POOLING_TABLE(X)                     \
    X(MEAN, "mean") /* of all tokens */          \
    X(LAST, "last") /* the last token's state */ \
    X(CLS, "cls")   /* the first token's state; in a \
                       causal model it knows nothing of the others */

typedef enum {
#define X(id, name) VUG_POOLING_##id,
    VUG_POOLING_TABLE(X)
#undef X
            VUG_POOLING_COUNT
} vug_pooling;

/* Static string. `pooling` < VUG_POOLING_COUNT. */
VUG_API const char *vug_pooling_name(vug_pooling pooling);

/* All-zero chooses every default. */
typedef struct {
    vug_pooling pooling;
    bool raw;  /* do not scale vectors to length 1 */
    int step;  /* most tokens in a step; 0: the model's batch. Other sequences of the model wait for
                  the end of a step. */
    int texts; /* most texts in a step; 0: 16 */
} vug_embedder_options;

/* A program of the model that computes hidden states, with caches of its own for `texts` texts. One
 * thread at a time uses it; it takes turns with sessions on the model's device. */
typedef struct vug_embedder vug_embedder;

/* `options` may be NULL. The model must outlive the embedder. */
VUG_API VUG_MUST_CHECK vug_status vug_embedder_create(const vug_model *model,
                                                      const vug_embedder_options *options,
                                                      vug_embedder **out, vug_err *err);
VUG_API void vug_embedder_destroy(vug_embedder *embedder);

/* Writes the vectors of `text` [n] to `out` [n, d_model]. Each text has at least one token, and at
 * most the model's context. Short texts share steps. `cancel`, which may be NULL, ends the call with
 * VUG_CANCELLED after a step. After a failure `out` is unspecified. */
VUG_API VUG_MUST_CHECK vug_status vug_embed(vug_embedder *embedder, const vug_tokens *text,
                                            size_t n, const vug_cancel_token *cancel, float *out,
                                            vug_err *err);
/* The same for NUL-terminated texts, with the tokens that the tokenizer puts around a text, such as
 * <bos>; special tokens spelled in a text become tokens, as in vug_generate_text. */
VUG_API VUG_MUST_CHECK vug_status vug_embed_texts(vug_embedder *embedder, const char *const *text,
                                                  size_t n, const vug_cancel_token *cancel,
                                                  float *out, vug_err *err);

#ifdef __cplusplus
}
#endif

#endif
