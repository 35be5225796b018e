#ifndef VUG_BACKEND_CUDA_KERNELS_H
#define VUG_BACKEND_CUDA_KERNELS_H

/*
 * The kernels, for C: every function launches one on a stream and returns; the caller asks CUDA
 * about errors at the end of a step. All addresses are the device's. Values are F32.
 *
 * A row of a result depends, to the bit, on its own inputs alone: how sums are ordered follows
 * from the shapes of weights and from absolute positions (docs/arithmetic.md).
 */

#include <cuda_runtime_api.h>

#include "backend/backend.h"
#include "ir/ir.h"
#include "ir/kv_layout.h"
#include "ir/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a kernel is launched. */
typedef struct {
    bool early; /* it is started while the one before runs, for which it waits itself: from compute
                   capability 9.0 on */
    int carveout; /* the percentage that the kernel prefers as shared memory of what shared memory and
                     the L1 cache of a multiprocessor have together; 0: the driver chooses */
} vug_cuda_launch_options;

/* ---- linear.cu ---------------------------------------------------------------- */

/* y [rows,out] = x [rows,in] w^T. */
typedef struct {
    vug_matrix w;      /* [out,in] */
    int64_t row_bytes; /* of w, here and below */
    const float *x;
    float *y;
    int64_t rows, out;
    vug_cuda_launch_options launch;
} vug_cuda_linear_job;

/* Whether the kernels read weights of this format. */
bool vug_cuda_reads_format(vug_dtype dtype);
void vug_cuda_linear(cudaStream_t stream, const vug_cuda_linear_job *job);

/* The same with the weights of the expert that a route names: row r of y is expert
 * route[r / k][r % k] of x's row r / rows_per_x. All experts have the format of `w`. */
typedef struct {
    vug_matrix w; /* of the first expert */
    int64_t row_bytes;
    const uint8_t *const *data; /* [3 experts] the addresses of data, scales and biases of each */
    const float *route;         /* [rows / k, 2 k] */
    const float *x;
    float *y; /* [rows,out] */
    int64_t rows, out;
    int experts, k, rows_per_x;
} vug_cuda_expert_job;
void vug_cuda_expert_linear(cudaStream_t stream, const vug_cuda_expert_job *job);

/* out [rows,columns of the table] = rows `index` of the table times `by`. */
typedef struct {
    vug_matrix table;
    int64_t row_bytes;
    const int32_t *index;
    float *out;
    int64_t rows;
    float by;
    vug_cuda_launch_options launch;
} vug_cuda_embed_job;
void vug_cuda_embed(cudaStream_t stream, const vug_cuda_embed_job *job);

/* ---- tile_linear.cu ------------------------------------------------------------ */

/* Brings rows of BF16, or of F32 whose values are values of BF16, into tiles (weight_tiles.h). */
void vug_cuda_make_tiles(cudaStream_t stream, const vug_matrix *from, int64_t rows, uint8_t *tiles);

/* Neighbouring rows as a checkpoint has them. */
typedef struct {
    vug_matrix matrix; /* data and scales begin with those of the first row */
    int64_t rows, row_bytes;
    int64_t scale_row; /* rows before the first one that share its scales */
} vug_cuda_raw_rows;
/* Brings them into tiles of codes (block_tiles.h), of the format vug_cuda_tile_format. */
void vug_cuda_make_block_tiles(cudaStream_t stream, const vug_cuda_raw_rows *rows, uint8_t *tiles);

/* Rows of `columns` elements: those of x or, with a `choice`, of x's row choice[i] / per_row. */
typedef struct {
    const float *x;
    int64_t rows, columns;
    const int32_t *choice; /* [rows]; negative: zeros. NULL: row i is x's */
    int per_row;
} vug_cuda_rows;

/* The terms of rows for weights of `format`, as mma.m16n8k16 takes its second operand: rows of terms,
 * of which row r of x has `terms` neighbouring ones or, if weights are in codes, 8 rows of x have 8
 * rows for each term; for each 8 of them, and each 16 columns of those, 8 bytes for each lane.
 * Missing rows and columns are zero. */
uint64_t vug_cuda_packed_bytes(int64_t rows, int64_t columns, int terms);
void vug_cuda_pack_rows(cudaStream_t stream, const vug_cuda_rows *x, int terms, vug_dtype format,
                        uint8_t *packed);

/* The sums of rows over 32 columns (weight_tiles.h): [columns / 32,rows], where rows are
 * padded as those of blocks (activation_blocks.h). */
void vug_cuda_sum_rows(cudaStream_t stream, const vug_cuda_rows *x, float *sums);

/* The rows of a group that have one expert. */
enum {
    VUG_CUDA_SMALL_GROUP = 4, /* in row_linear.cu */
    VUG_CUDA_TILE_GROUP = 8,  /* in tile_linear.cu */
    VUG_CUDA_WIDE_GROUP = 64, /* in wgmma_linear.cu */
};

/* Sorts what a route [tokens,2 k] chooses into groups of `group_rows` rows with one expert; choice i is
 * expert route[i / k][i % k]. `groups`: vug_cuda_expert_groups. Those that have rows come first. */
typedef struct {
    const float *route;
    int64_t tokens;
    int experts, k;
    int64_t groups;
    int64_t group_rows;
    int32_t *expert; /* [groups]; negative: the group is empty */
    int32_t *choice; /* [groups,group_rows] of each row; negative: there is none */
    int32_t *used;   /* [1] groups that have rows */
    vug_cuda_launch_options launch;
} vug_cuda_sort_job;
void vug_cuda_sort_experts(cudaStream_t stream, const vug_cuda_sort_job *job);
/* The most groups that so many choices make. */
static inline int64_t vug_cuda_expert_groups(int64_t choices, int64_t experts, int64_t group_rows)
{
    const int64_t chosen = choices < experts ? choices : experts;
    return (choices + (group_rows - 1) * chosen) / group_rows;
}

/* Where a single row of x comes from: value = x, or x / rms(x) (add_norm + add_bias); then add +
 * value, which is also stored in `sum`; then value / rms(value) (norm + bias), which is also stored in
 * `normed`, if that is not NULL, by products of a single row. */
typedef struct {
    const float *x, *add;         /* add NULL: nothing is added */
    const float *add_norm, *norm; /* NULL: no norm */
    float *sum, *normed;
    float add_eps, add_bias, eps, bias;
} vug_cuda_row;

enum { VUG_CUDA_MAX_PARTS = 3 };

/* Products of the same rows with up to three matrices in tiles. */
typedef struct {
    struct {
        const uint8_t *tiles; /* [out,columns] */
        float *y;             /* [rows,out] */
        int64_t out;
    } part[VUG_CUDA_MAX_PARTS];
    int parts;
    vug_dtype format;  /* of all matrices: BF16, or one of BLOCK_TILE_FORMATS */
    vug_op activation; /* VUG_OP_GEGLU or VUG_OP_SWIGLU of two parts, stored in part[0].y; or
                          VUG_OP_LINEAR */
    int64_t rows, columns;
    int terms;             /* of x, in BF16: 1 or 2 */
    const uint8_t *packed; /* of some rows; terms lie apart if weights in codes have two */
    const float *x_sums;   /* of those (prefill.h), if the format needs them */
    vug_cuda_row row;      /* or a single row */
    /* Rows in groups that have one expert (vug_cuda_sort_job); the product of row i is stored in row
     * choice[i] of y. Or what a few rows choose (vug_cuda_row_experts). */
    struct {
        const int32_t *expert, *choice;   /* NULL: no groups */
        const float *route;               /* of a few rows: [choices / k, 2 k] */
        int experts, k, choices, per_row; /* choice i multiplies row i / per_row of x */
        const uint8_t *const *data[2];    /* of parts: [3 experts]; tiles of expert e at 3 e */
    } chosen;
    int processors, clusters; /* as of the device (internal.h) */
    vug_cuda_launch_options launch;
    bool in_blocks; /* the terms of the activation are stored in part[0].y, in whole blocks
                       (activation_blocks.h): in batch_linear.cu and wide_linear.cu */
} vug_cuda_tile_job;
void vug_cuda_tile_linear(cudaStream_t stream, const vug_cuda_tile_job *job);

/* ---- row_linear.cu ------------------------------------------------------------- */

/* Whether a row of that many columns can be computed so, `normed` or added to another, or not. */
bool vug_cuda_takes_single_row(int64_t columns, bool normed);
/* The same products of a single row. */
void vug_cuda_row_linear(cudaStream_t stream, const vug_cuda_tile_job *job);
/* The same with the expert of each of few choices: row i of y is that of choice i. */
void vug_cuda_row_experts(cudaStream_t stream, const vug_cuda_tile_job *job);
/* The same of `rows` / VUG_CUDA_SMALL_GROUP groups with one expert each, in which all `choices` are. */
void vug_cuda_row_groups(cudaStream_t stream, const vug_cuda_tile_job *job);
/* Whether vug_cuda_row_groups takes the format, columns, terms, activation and outputs of a job: with two terms
 * of x and weights that take integers (weight_tiles.h), if there is enough shared memory. */
bool vug_cuda_takes_row_groups(const vug_cuda_tile_job *job);

/* ---- batch_linear.cu ------------------------------------------------------------ */

enum { VUG_CUDA_BATCH_ROWS = 64 };

/* The same products of up to VUG_CUDA_BATCH_ROWS rows, with weights of BF16 or, for two terms of x, in codes,
 * on compute capability 9.0; `packed` has the rows as in activation_blocks.h. */
void vug_cuda_batch_linear(cudaStream_t stream, const vug_cuda_tile_job *job);
/* How many clusters of 8 blocks the device runs at the same time, a block on each multiprocessor. */
int vug_cuda_clusters(void);

/* ---- wide_linear.cu ------------------------------------------------------------- */

/* Whether a product has enough outputs to be faster here than in batch_linear.cu. */
bool vug_cuda_takes_wide_linear(const vug_cuda_tile_job *job);
/* The same as vug_cuda_batch_linear. */
void vug_cuda_wide_linear(cudaStream_t stream, const vug_cuda_tile_job *job);

/* ---- row_ops.cu --------------------------------------------------------------- */

/* RMS_NORM, UNIT_NORM, ADD_NORM and NORM_ROPE: rows of `width`, one for each head if there are
 * heads. */
typedef struct {
    const float *x;     /* what is normalised */
    const float *w;     /* [width]; NULL: none */
    const float *add;   /* rows that are added to the result; NULL: none */
    const float *table; /* of a rotation [rows / heads, dims]; NULL: none */
    float *out;
    int64_t rows, width, heads, dims;
    float eps, bias; /* bias is added to w */
    vug_cuda_launch_options launch;
} vug_cuda_norm_job;
void vug_cuda_norm(cudaStream_t stream, const vug_cuda_norm_job *job);

/* Any operation of class ELEMENTWISE, and BIAS and SCALE_BY, whose vector is `b`. */
typedef struct {
    vug_op op;
    const float *a, *b;
    float *out;
    int64_t n, width; /* elements; of a row */
    float by;
    vug_cuda_launch_options launch;
} vug_cuda_element_job;
void vug_cuda_elements(cudaStream_t stream, const vug_cuda_element_job *job);

/* out [rows,dims] */
void vug_cuda_rope_table(cudaStream_t stream, const int32_t *position, int64_t rows,
                         const vug_attr_table *at, vug_cuda_launch_options options, float *out);
/* x, out [rows,heads,width] */
void vug_cuda_rope(cudaStream_t stream, const vug_cuda_norm_job *job);
/* Rows of `width`; index NULL: row `stride` r + `first`. */
typedef struct {
    const float *x;
    const int32_t *index;
    float *out;
    int64_t rows, width, stride, first;
} vug_cuda_gather_job;
void vug_cuda_gather(cudaStream_t stream, const vug_cuda_gather_job *job);
void vug_cuda_deinterleave(cudaStream_t stream, const float *x, int64_t rows, int64_t width,
                           float *out);
/* logits [rows,n] -> out [rows,2 count] */
void vug_cuda_router(cudaStream_t stream, const float *logits, int64_t rows, int64_t n,
                     const vug_attr_router *at, vug_cuda_launch_options options, float *out);
/* route, out [rows,2 k]; w [experts] */
void vug_cuda_route_scale(cudaStream_t stream, const float *route, const float *w, int64_t rows,
                          int k, float *out);
/* out [rows,width]: the sum over j < k of y [rows,k,width] times the weights of route [rows,2 k]. */
typedef struct {
    const float *y, *route;
    float *out;
    int64_t rows, width;
    int k;
    vug_cuda_launch_options launch;
} vug_cuda_mix_job;
void vug_cuda_mix_experts(cudaStream_t stream, const vug_cuda_mix_job *job);

/* ---- probes.cu ------------------------------------------------------------------ */

/* Fails if this build has no kernels for the GPU. */
cudaError_t vug_cuda_probe_kernels(void);
/* Reads `n` bytes, a multiple of 16. */
void vug_cuda_probe_read(cudaStream_t stream, const void *bytes, int64_t n, float *sink);
/* Returns the number of floating-point operations. */
double vug_cuda_probe_fma(cudaStream_t stream, float *sink);
/* The same on tensor cores, with wgmma where there is `hopper`. */
double vug_cuda_probe_tensor_cores(cudaStream_t stream, bool hopper, float *sink);

#ifdef __cplusplus
}
#endif

#endif
