#ifndef VUG_BACKEND_CUDA_PREFILL_H
#define VUG_BACKEND_CUDA_PREFILL_H

/*
 * Kernels for steps of many tokens: products on tensor cores. Like kernels.h: every function
 * launches on a stream and returns, and a row of a result depends on its own inputs alone.
 */

#include "backend/cuda/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- prefill_linear.cu ---------------------------------------------------------------- */

/* Stores the terms of x, of gelu(x) * up or of silu(x) * up in blocks (activation_blocks.h). */
typedef struct {
    const float *x, *up; /* [rows,columns]; up NULL: no activation */
    vug_op activation;   /* VUG_OP_GEGLU or VUG_OP_SWIGLU */
    int64_t rows, columns;
    int terms;
    uint8_t *blocks;
} vug_cuda_blocks_job;
void vug_cuda_store_blocks(cudaStream_t stream, const vug_cuda_blocks_job *job);

enum { VUG_CUDA_FEW_ROWS = 32 }; /* up to here, tile_linear.cu is faster */

/* Products of the same rows with up to three matrices in tiles, in the order of weight_tiles.h. */
typedef struct {
    struct {
        const uint8_t *tiles; /* [out,columns] */
        float *y;             /* [rows,out] */
        int64_t out;
    } part[VUG_CUDA_MAX_PARTS];
    int parts;
    int64_t rows, columns;
    int terms;             /* of x: 1 or 2 */
    const uint8_t *blocks; /* x */
} vug_cuda_prefill_job;

/* `hopper`: the device has compute capability 9.0; `processors`: its multiprocessors. */
void vug_cuda_prefill_linear(cudaStream_t stream, const vug_cuda_prefill_job *job, bool hopper,
                             int processors);

/* ---- mma_attention.cu ------------------------------------------------------------------ */

enum {
    VUG_CUDA_PRODUCT_QUERIES = 16, /* of a product */
    VUG_CUDA_RUN_HEADS = 32,       /* most query heads of a key/value head in a run of tokens */
};

/* Attention on tensor cores for caches of 16 bits or Q8, without a mask. Queries and weights of
 * keys are taken as job->terms terms, of F16 for a cache of F16, of BF16 otherwise. `run`: the tokens follow one
 * another in one sequence. Otherwise each is computed by itself: with `pages` > 0, at least the
 * pages that a token sees, its pages side by side through `partial`
 * [pages,tokens,heads,E + 2]. The results are the same. */
void vug_cuda_mma_attention(cudaStream_t stream, const vug_cuda_attention_job *job, bool run);

#ifdef __cplusplus
}
#endif

#endif
