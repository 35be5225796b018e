#ifndef VUG_BACKEND_CUDA_PREFILL_UNITS_H
#define VUG_BACKEND_CUDA_PREFILL_UNITS_H

/* How the kernels for products of many rows divide their work, and where their operands lie. */

#include "backend/cuda/device_code.h"
#include "backend/cuda/prefill.h"

enum {
    TILE = VUG_CUDA_TILE,
    SLICES = VUG_CUDA_SLICES,
    STEPS = VUG_CUDA_TILE_PAD / TILE, /* tiles of 16 outputs in a block of columns */
    UNIT_SUMS = VUG_CUDA_TILE_PAD / VUG_CUDA_SUM_COLUMNS,
    TOKEN_TILES = 12, /* most tiles of tokens that all rows meet before the next ones */
};

/* A unit of work: rows of a weight for a tile of tokens. */
struct product_unit {
    int part, row, token; /* the first ones */
};

/* Groups of `rows` rows of the weights, of which a pair of parts has the same. */
static __host__ __device__ __forceinline__ int count_groups(const vug_cuda_prefill_job &job,
                                                            int rows)
{
    int n = 0;
    for (int p = 0; p < (job.activation == VUG_OP_LINEAR ? job.parts : 1); p++)
        n += ((int)job.part[p].out + rows - 1) / rows;
    return n;
}

/* Tiles of `tokens` tokens. */
static __host__ __device__ __forceinline__ int count_tiles(const vug_cuda_prefill_job &job,
                                                           int tokens)
{
    return ((int)job.rows + tokens - 1) / tokens;
}

/* Those that have rows; chosen: of groups. */
template <bool chosen>
static __device__ __forceinline__ int used_tiles(const vug_cuda_prefill_job &job, int tokens)
{
    return chosen ? *job.chosen.used : count_tiles(job, tokens);
}

/* Unit `i`, where a unit has `rows` rows of a weight. Those that run at the same time share a few
 * tiles of tokens and a few groups of rows, which so stay in the device's cache. Weights are read once
 * for each set of tiles; the sets are about equal. */
static __device__ __forceinline__ product_unit find_unit(const vug_cuda_prefill_job &job,
                                                         uint32_t i, int rows, int tokens,
                                                         uint32_t tiles)
{
    const uint32_t groups = count_groups(job, rows);
    const uint32_t sets = (tiles + TOKEN_TILES - 1) / TOKEN_TILES,
                   of_set = (tiles + sets - 1) / sets;
    const uint32_t first = i / (groups * of_set) * of_set, of = min(of_set, tiles - first),
                   in_tiles = i - first * groups;
    int group = in_tiles / of, p = 0;
    for (; p + 1 < job.parts; p++) {
        const int of_part = ((int)job.part[p].out + rows - 1) / rows;
        if (group < of_part)
            break;
        group -= of_part;
    }
    return { p, group * rows, (int)(first + in_tiles % of) * tokens };
}

/* The strip of 16 rows of a part from `row` on; the last rows where these do not exist. expert: of the
 * rows, if there are experts. */
template <typename W>
static __device__ __forceinline__ const uint8_t *strip_at(const vug_cuda_prefill_job &job,
                                                          int expert, int part, int64_t row,
                                                          int64_t blocks)
{
    const int64_t last = (job.part[part].out - 1) / TILE;
    const uint8_t *tiles =
            expert < 0 ? job.part[part].tiles : expert_tiles(job.chosen.data[part], expert);
    return tiles + min(row / TILE, last) * blocks * W::bytes;
}

static __device__ __forceinline__ int64_t count_blocks(const vug_cuda_prefill_job &job)
{
    return vug_cuda_blocks_of(job.columns);
}

/* Blocks of slice `s`. */
static __device__ __forceinline__ int64_t slice_blocks(const vug_cuda_prefill_job &job, int s)
{
    const int64_t padded = vug_cuda_padded(job.columns);
    return (vug_cuda_slice_begin(padded, s + 1) - vug_cuda_slice_begin(padded, s)) /
           VUG_CUDA_TILE_PAD;
}

/* Where the first term of x's rows from `row` on lies in block 0. The second term lies
 * vug_cuda_term_bytes on, and the next block those of all terms. */
static __device__ __forceinline__ const uint8_t *rows_at(const vug_cuda_prefill_job &job,
                                                         int64_t row)
{
    return job.blocks + row * VUG_CUDA_BLOCK_ROW_BYTES;
}

/* Stores what a lane has of 16 outputs, from `row` on, and n / 4 * 8 tokens. */
template <int n>
static __device__ __forceinline__ void store_sums(const vug_cuda_prefill_job &job,
                                                  const product_unit &u, int64_t row,
                                                  const float (&all)[n])
{
    const int lane = threadIdx.x % WARP;
    const int64_t first = u.token + lane % 4 * 2, output = row + lane / 4;
    const int64_t stride = job.part[u.part].stride;
    float *y = job.part[u.part].y + first * stride + output;
    const int tokens = (int)min(job.rows - first, (int64_t)n * 2);
    const int outputs = (int)min(job.part[u.part].out - output, (int64_t)TILE);
#pragma unroll
    for (int i = 0; i < n; i += 4, y += 8 * stride) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int token = i / 4 * 8 + k % 2, o = k / 2 * 8;
            if (token < tokens && o < outputs)
                y[k % 2 * stride + o] = all[i + k];
        }
    }
}

/* The same of rows that are in groups. */
template <int n>
static __device__ __forceinline__ void store_chosen_sums(const vug_cuda_prefill_job &job,
                                                         const product_unit &u, int64_t row,
                                                         const float (&all)[n])
{
    const int lane = threadIdx.x % WARP;
    const int64_t output = row + lane / 4, stride = job.part[u.part].stride;
    const int32_t *choice = job.chosen.choice + u.token + lane % 4 * 2;
    float *y = job.part[u.part].y + output;
    const int outputs = (int)min(job.part[u.part].out - output, (int64_t)TILE);
#pragma unroll
    for (int i = 0; i < n; i += 4) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int64_t to = choice[i / 4 * 8 + k % 2];
            const int o = k / 2 * 8;
            if (to >= 0 && o < outputs)
                y[to * stride + o] = all[i + k];
        }
    }
}

#endif
