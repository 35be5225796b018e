#ifndef VUG_BACKEND_CUDA_PREFILL_H
#define VUG_BACKEND_CUDA_PREFILL_H

/*
 * Kernels for steps of many tokens: products on tensor cores. Like kernels.h: every function
 * launches on a stream and returns, and a row of a result depends on its own inputs alone.
 */

#include "backend/cuda/activation_blocks.h"
#include "backend/cuda/attention_kernels.h"
#include "backend/cuda/weight_tiles.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- row_blocks.cu -------------------------------------------------------------------- */

/* Rows that a kernel stores as terms in blocks (activation_blocks.h). */
typedef struct {
    int64_t rows, columns;
    int terms;
    bool integers; /* with two terms: rows are rounded to integers first (row_integers.h) */
    uint8_t *blocks;
    float *x_sums; /* also their sums over 32 columns (weight_tiles.h): [columns / 32,rows], where
                      rows are padded as those of blocks; NULL: not stored */
} vug_cuda_blocks;

/* Stores x, gelu(x) * up or silu(x) * up, or rows with a norm. */
typedef struct {
    const float *x, *up; /* [rows,columns]; up NULL: no activation */
    vug_op activation;   /* VUG_OP_GEGLU or VUG_OP_SWIGLU */
    vug_cuda_row row;    /* with a norm: the first row in place of x and up; others follow it */
    /* [rows]: row i is x's row choice[i] / per_row, or zeros if negative. NULL: it is x's row i. */
    const int32_t *choice;
    int per_row;
    vug_cuda_blocks to;
    vug_cuda_launch_options launch;
} vug_cuda_blocks_job;
void vug_cuda_store_blocks(cudaStream_t stream, const vug_cuda_blocks_job *job);
/* Whether rows of so many columns can have a norm. */
bool vug_cuda_takes_normed_rows(int64_t columns);

/* ---- prefill_linear.cu ---------------------------------------------------------------- */

enum { VUG_CUDA_FEW_ROWS = 32 }; /* up to here, tile_linear.cu is faster */

/* Products of the same rows with up to three matrices in tiles, in the order of weight_tiles.h. */
typedef struct {
    struct {
        const uint8_t *tiles; /* [out,columns] */
        float *y;             /* [rows,stride], of which this product gives `out` */
        int64_t out, stride;
    } part[VUG_CUDA_MAX_PARTS];
    int parts;
    vug_dtype format; /* of all matrices: BF16 or, with two terms, one of BLOCK_TILE_FORMATS */
    int64_t rows, columns;
    int terms;             /* of x: 1 or 2 */
    bool any_order;        /* sums may be in any order, such as one chain of all columns */
    const uint8_t *blocks; /* x */
    const float *x_sums;   /* if the format needs them */
    vug_op activation;     /* VUG_OP_GEGLU or VUG_OP_SWIGLU of two parts, on devices of compute
                              capability 9.0; or VUG_OP_LINEAR */
    vug_cuda_blocks to;    /* where the activation is stored in place of y, from the block of its
                              first output on; `out` is a multiple of 64 */
    /* In wgmma_linear.cu: rows in groups of VUG_CUDA_WIDE_GROUP that have one expert (vug_cuda_sort_job); the
     * product of row i is stored in row choice[i] of y. */
    struct {
        const int32_t *expert, *choice, *used; /* NULL: no experts */
        const uint8_t *const *data[2];         /* as of vug_cuda_tile_job */
    } chosen;
} vug_cuda_prefill_job;

/* `hopper`: the device has compute capability 9.0; `processors`: its multiprocessors. */
void vug_cuda_prefill_linear(cudaStream_t stream, const vug_cuda_prefill_job *job, bool hopper,
                             int processors);

/* ---- wgmma_linear.cu ------------------------------------------------------------------ */

/* The same on devices of compute capability 9.0. */
void vug_cuda_wgmma_linear(cudaStream_t stream, const vug_cuda_prefill_job *job, int processors);

/* ---- block_tiles.cu ----------------------------------------------------------------------- */

/* Tiles of BF16 of rows of a matrix in tiles of codes, whose weights are rounded. */
typedef struct {
    const uint8_t *tiles; /* [rows,columns] */
    int64_t rows, columns;
    uint8_t *to;
} vug_cuda_expand_job;
void vug_cuda_expand_tiles(cudaStream_t stream, vug_dtype dtype, const vug_cuda_expand_job *job);

/* Bytes of a row of tiles of BF16. */
static inline int64_t vug_cuda_expanded_row(int64_t columns)
{
    return vug_cuda_padded(columns) * (int64_t)sizeof(uint16_t);
}

/* Rows of matrices that are expanded together: a multiple of 128, so that a pair can share them. */
static inline int64_t vug_cuda_expanded_rows(int64_t columns)
{
    const int64_t pad = 2 * VUG_CUDA_TILE_PAD;
    const int64_t most = (256 << 20) / vug_cuda_expanded_row(columns) / pad;
    return (most > 0 ? most : 1) * pad;
}

/* ---- mma_attention.cu ------------------------------------------------------------------ */

enum {
    VUG_CUDA_PRODUCT_QUERIES = 16, /* of a product */
    VUG_CUDA_RUN_HEADS = 32,       /* most query heads of a key/value head in a run of tokens */
    VUG_CUDA_BLOCK_PAGES = 2,      /* up to so many are no faster side by side */
};

/* Whether tokens that follow one another in one sequence are computed together: with `per_kv` heads that
 * share keys they fill a product. */
static inline bool vug_cuda_is_run(int64_t tokens, int64_t per_kv)
{
    return tokens * per_kv > VUG_CUDA_PRODUCT_QUERIES && per_kv <= VUG_CUDA_RUN_HEADS;
}

/* Attention on tensor cores of tokens that are a run, for caches of 16 bits or Q8, without a mask.
 * Queries and weights of keys are taken as job->terms terms, of F16 for a cache of F16, of BF16
 * otherwise. */
void vug_cuda_mma_attention(cudaStream_t stream, const vug_cuda_attention_job *job);

/* ---- token_attention.cu ---------------------------------------------------------------- */

typedef struct {
    vug_cuda_attention_job attention;     /* with inputs, q is not used */
    vug_cuda_attention_inputs_job inputs; /* q.out is not used */
    int processors;                       /* multiprocessors of the device */
} vug_cuda_token_attention_job;
/* The same of tokens each by itself: with `pages` > 0, at least the pages that a token sees, its
 * pages side by side through `partial`. The results are the same. With `inputs`, in a step of which each
 * sequence has one token, it also computes what vug_cuda_attention_inputs does. */
void vug_cuda_token_attention(cudaStream_t stream, const vug_cuda_token_attention_job *job,
                              bool inputs);
/* Whether there is a kernel for these with `inputs`. */
bool vug_cuda_takes_attention_inputs(const vug_cuda_attention_inputs_job *job);

/* ---- wgmma_attention.cu ---------------------------------------------------------------- */

/* vug_cuda_mma_attention on devices of compute capability 9.0. */
void vug_cuda_wgmma_attention(cudaStream_t stream, const vug_cuda_attention_job *job);
/* Whether heads have a width for which there is a kernel. */
bool vug_cuda_takes_wgmma_attention(const vug_cuda_kv_cache *cache);

#ifdef __cplusplus
}
#endif

#endif
