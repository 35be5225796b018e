#ifndef VUG_BACKEND_CUDA_ATTENTION_KERNELS_H
#define VUG_BACKEND_CUDA_ATTENTION_KERNELS_H

/* The kernels of attention and of the cache of keys and values; see kernels.h. */

#include "backend/cuda/kernels.h"
#include "backend/cuda/weight_tiles.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- attention.cu --------------------------------------------------------------- */

/* A query token of a step. */
typedef struct {
    int32_t table;    /* where the sequence's pages begin in the list of a group's pages */
    int32_t position; /* its own */
    int32_t end;      /* positions of its sequence after this step */
} vug_cuda_token;

/* Keys and values of a layer in a page: each head has the keys of 64 positions, then the values.
 * A position has `stride` elements, of which those from `width` on are zero, and in Q8 a scale for
 * each 32 of them, all scales of the 64 positions after their elements. */
typedef struct {
    vug_kv_format format;
    int64_t heads, width, stride;
    int64_t part_bytes; /* of the keys, or the values, of a head */
    uint64_t offset;    /* of the layer in a page */
} vug_cuda_kv_cache;

/* Stores k, v [tokens,K,E] where `token` says, or, if that is NULL, at positions 0, 1, .. of the
 * sequence whose pages begin at `table`. */
typedef struct {
    vug_cuda_kv_cache cache;
    uint8_t *const *page; /* the pages of the group that the step's sequences use */
    const vug_cuda_token *token;
    const float *k, *v;
    int64_t tokens, table;
} vug_cuda_append_job;
void vug_cuda_append(cudaStream_t stream, const vug_cuda_append_job *job);

/* Floats of the results of a page for a head of `width` elements: the sums of values, the greatest
 * score and the sum of weights, up to a multiple of 16 bytes. */
static inline HOST_AND_DEVICE int64_t vug_cuda_partial_row(int64_t width)
{
    return (width + 2 + 3) / 4 * 4;
}

/* q, out [tokens,heads,E] over the cache. */
typedef struct {
    vug_cuda_kv_cache cache;
    uint8_t *const *page;
    const vug_cuda_token *token;
    const float *q;
    float *out;
    float *partial;    /* [pages,tokens,heads,vug_cuda_partial_row(E)]; used if pages > 0 */
    const float *mask; /* [tokens,mask_columns], in place of causal order and window; or NULL */
    int64_t mask_columns;
    int64_t tokens, heads;
    int64_t window; /* 0: full */
    int pages;      /* at least those that a token sees: they are computed side by side; or 0 */
    int terms;      /* of queries and weights of keys on tensor cores: 1 or 2 */
    vug_cuda_launch_options launch; /* of kernels that wait themselves for the one before */
    bool single_tokens; /* of their sequences in the step: earlier positions are stored already */
    bool in_blocks;     /* `out` gets `terms` terms of the results, in whole blocks of rows
                           [tokens,heads * E] (activation_blocks.h), without `pages` */
    float scale, softcap;
} vug_cuda_attention_job;

enum {
    VUG_CUDA_MAX_HEAD = 512, /* widest head */
};
void vug_cuda_attention(cudaStream_t stream, const vug_cuda_attention_job *job);

/* ---- attention_inputs.cu --------------------------------------------------------- */

/* Rotates queries and keys, normed before if so asked, and stores keys and values, whose rows
 * `store` gives: store.k is not used. */
typedef struct {
    vug_cuda_norm_job q, k; /* k.out is not used */
    bool q_norms, k_norms;
    vug_cuda_append_job store;
    vug_cuda_launch_options launch;
} vug_cuda_attention_inputs_job;
void vug_cuda_attention_inputs(cudaStream_t stream, const vug_cuda_attention_inputs_job *job);

/* Whether queries and keys have one width and are rotated as a whole. */
static inline bool vug_cuda_rotates_whole_rows(const vug_cuda_attention_inputs_job *job)
{
    return job->k.width == job->q.width && job->q.dims == job->q.width &&
           job->k.dims == job->q.width;
}

/* ---- decode_attention.cu ---------------------------------------------------------- */

/* Attention of tokens of different sequences, in one launch: what vug_cuda_attention_inputs and
 * then vug_cuda_attention compute. */
typedef struct {
    vug_cuda_attention_inputs_job inputs; /* q.out is not used */
    vug_cuda_attention_job attention;     /* q is not used; pages > 0 */
    uint32_t *pages_done;                 /* [tokens,heads]: 0 before and after */
    int processors;                       /* multiprocessors of the device */
} vug_cuda_decode_attention_job;

enum {
    VUG_CUDA_DECODE_TOKENS = 16, /* the most in a step whose pages are computed side by side */
    VUG_CUDA_DECODE_HEADS = 4,   /* the most query heads that share keys */
};

/* Whether there is a kernel for these heads, pages and cache. */
bool vug_cuda_takes_decode_attention(const vug_cuda_attention_job *job);
void vug_cuda_decode_attention(cudaStream_t stream, const vug_cuda_decode_attention_job *job);

#ifdef __cplusplus
}
#endif

#endif
