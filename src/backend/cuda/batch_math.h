#ifndef VUG_BACKEND_CUDA_BATCH_MATH_H
#define VUG_BACKEND_CUDA_BATCH_MATH_H

/* What the kernels for 2 to 64 rows share, which multiply strips of 16 outputs by wgmma. */

#include "backend/cuda/block_stores.h"
#include "backend/cuda/row_math.h"
#include "backend/cuda/wgmma_codes.h"

enum {
    TILE = VUG_CUDA_TILE,
    STEPS = VUG_CUDA_TILE_PAD / TILE,
    UNIT_SUMS = VUG_CUDA_TILE_PAD / VUG_CUDA_SUM_COLUMNS,
    /* up to so many are multiplied with both terms of x in one product */
    JOINT_ROWS = VUG_CUDA_BLOCK_FEW_ROWS,
};

/* A stage of a ring: `chunk` units of each of `strips` strips of 16 outputs, 64 columns each, and the rows of x in
 * blocks of these columns, and their sums. A copy costs its thread about 150 cycles, and so should be of 2 KB.
 * W: a lane's part of a unit; rows: up to so many are computed. */
template <typename W, int terms, int rows> struct batch_stage {
    static constexpr int fit = (rows < JOINT_ROWS ? 2560 : 1600) / W::bytes;
    static constexpr int chunk = fit > 1 ? fit : 1;
    static constexpr int x_bytes = chunk * terms * rows * VUG_CUDA_BLOCK_ROW_BYTES;
    static constexpr int sum_bytes =
            W::needs_sums ? chunk * UNIT_SUMS * rows * (int)sizeof(float) : 0;
    static __host__ __device__ constexpr int x_at(int strips)
    {
        return align_ring(strips * chunk * W::bytes);
    }
    static __host__ __device__ constexpr int bytes(int strips)
    {
        return align_ring(x_at(strips) + x_bytes + sum_bytes);
    }
};

/* Bytes of `blocks` blocks of x of 64 columns, and of their sums. */
static __device__ __forceinline__ int x_bytes_of(const vug_cuda_tile_job &job, int blocks)
{
    return blocks * job.terms * (int)vug_cuda_term_bytes(job.rows);
}

static __device__ __forceinline__ int sum_bytes_of(const vug_cuda_tile_job &job, int blocks)
{
    return blocks * UNIT_SUMS * (int)vug_cuda_block_rows(job.rows) * (int)sizeof(float);
}

/* The sums of a lane: one for each term, or one for both terms if weights are codes. */
template <typename W, int terms, int rows> struct batch_sums {
    static constexpr int terms_apart = W::is_scaled ? 1 : terms;
    float of[terms_apart][rows / 2];
};

static __host__ __device__ __forceinline__ int strips_of(int64_t out)
{
    return (int)((out + TILE - 1) / TILE);
}

/* The strips of a job, or of each part of an activation. */
static __host__ __device__ __forceinline__ int count_strips(const vug_cuda_tile_job &job,
                                                            bool pairs)
{
    int strips = strips_of(job.part[0].out);
    for (int i = 1; i < job.parts && !pairs; i++)
        strips += strips_of(job.part[i].out);
    return strips;
}

/* 16 outputs of a part. */
struct output_strip {
    int part, index;
    bool exists;
};

/* Strip `i` of all parts of a job, one after the other. */
static __device__ __forceinline__ output_strip strip_of_job(const vug_cuda_tile_job &job, int i,
                                                            bool exists)
{
    int part = 0;
    while (part + 1 < job.parts && i >= strips_of(job.part[part].out))
        i -= strips_of(job.part[part++].out);
    return { part, i, exists };
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* Addresses of what a warpgroup multiplies: the warp's unit, the block of x with the same columns, and its sums;
 * and the rows that each term and each row of sums has room for. */
struct unit_operands {
    uint32_t unit, x, x_sums;
    int rows;
};

/* Those of unit `u` of a stage that begins at `at`. */
template <typename W, int terms, int rows>
static __device__ __forceinline__ unit_operands operands_of(const vug_cuda_tile_job &job,
                                                            uint32_t at, int x_at, int u)
{
    using of = batch_stage<W, terms, rows>;
    /* A kernel for few rows is launched if the blocks have exactly that many (launch_rows). */
    const int n = rows <= JOINT_ROWS ? rows : (int)vug_cuda_block_rows(job.rows);
    const int sum_at = u * UNIT_SUMS * n + threadIdx.x % 4 * 2;
    return { at + (threadIdx.x / WARP * of::chunk + u) * W::bytes,
             at + x_at + u * terms * n * VUG_CUDA_BLOCK_ROW_BYTES,
             at + x_at + of::x_bytes + sum_at * (int)sizeof(float), n };
}

/* Of a product with both terms, the columns are the rows of the first one and then those of the second. */
template <int terms, int rows> static constexpr bool is_joint = terms > 1 && rows <= JOINT_ROWS;

/* A warpgroup adds a block of 64 columns with weights of BF16, `steps` tiles at a time. have_read() is called
 * when the unit has been read, and tensor cores may still multiply. */
template <int terms, int rows, int steps, typename F>
static __device__ __forceinline__ void multiply_plain(const unit_operands &from,
                                                      batch_sums<plain_unit, terms, rows> &sum,
                                                      F have_read)
{
    constexpr int columns = is_joint<terms, rows> ? terms * rows : rows;
    const uint64_t x = swizzled_tile(same_in_warp(from.x));
    const int term_bytes = from.rows * VUG_CUDA_BLOCK_ROW_BYTES;
#pragma unroll
    for (int first = 0; first < STEPS; first += steps) {
        uint4 a[steps];
#pragma unroll
        for (int j = 0; j < steps; j++)
            a[j] = load_shared_words4(from.unit + ((first + j) * WARP + threadIdx.x % WARP) * 16);
        wgmma_fence();
#pragma unroll
        for (int j = 0; j < steps; j++) {
#pragma unroll
            for (int term = 0; term < terms * rows / columns; term++)
                wgmma_add<columns>((float(&)[columns / 2]) sum.of[term], a[j],
                                   tile_after(x, term * term_bytes + (first + j) * 32));
        }
        wgmma_commit();
        if (first + steps == STEPS)
            have_read();
        wgmma_wait();
    }
}

/* Codes are multiplied in turns: those of a block of columns with one scale, with both terms of x or, if sums of
 * each term are scaled, with one. joint: both terms at once, since the order of exact sums does not matter. */
template <typename W, int rows> struct code_turns {
    static constexpr bool joint = W::is_exact && W::block_tiles > 1 && is_joint<2, rows>;
    static constexpr int columns = joint ? 2 * rows : rows, passes = joint ? 1 : W::passes;
    static constexpr int terms = joint ? 1 : 2 / W::passes; /* multiplied one after the other */
    static constexpr int n = passes * STEPS / W::block_tiles;
};

/* Adds the products of turn `turn` of a unit, times the scales of its block. */
template <typename W, int rows>
static __device__ __forceinline__ void add_turn(float (&codes)[code_turns<W, rows>::columns / 2],
                                                const W &w, int turn, const unit_operands &from,
                                                float (&sum)[rows / 2])
{
    using turns = code_turns<W, rows>;
    const int s = turn / turns::passes * W::block_tiles;
    const uint32_t x_sums = from.x_sums + s / (STEPS / UNIT_SUMS) * from.rows * (int)sizeof(float);
    float(&first)[rows / 2] = (float(&)[rows / 2]) codes;
    if constexpr (!turns::joint) {
        add_scaled(first, w, s, turn % W::passes == W::passes - 1, x_sums, sum);
    } else {
        float(&second)[rows / 2] = (float(&)[rows / 2]) codes[rows / 2];
        if constexpr (W::passes > 1) {
            add_scaled(first, w, s, false, x_sums, sum);
            add_scaled(second, w, s, true, x_sums, sum);
        } else {
            float both[rows / 2];
#pragma unroll
            for (int i = 0; i < rows / 2; i++)
                both[i] = first[i] + second[i];
            add_scaled(both, w, s, true, x_sums, sum);
        }
    }
}

/* The same with codes: for few rows two turns at once, for which many leave no registers. */
template <typename W, int rows, typename F>
static __device__ __forceinline__ void multiply_codes(const unit_operands &from,
                                                      batch_sums<W, 2, rows> &sum, F have_read)
{
    using turns = code_turns<W, rows>;
    constexpr int at_once = rows < JOINT_ROWS ? 2 : 1;
    const uint64_t x = swizzled_tile(same_in_warp(from.x));
    const int term_bytes = from.rows * VUG_CUDA_BLOCK_ROW_BYTES;
    W w;
    w.template load<load_shared>(load_shared::pointer(from.unit));
#pragma unroll
    for (int first = 0; first < turns::n; first += at_once) {
        float codes[at_once][turns::columns / 2];
        uint4 operands[at_once][W::block_tiles];
#pragma unroll
        for (int i = 0; i < at_once; i++)
            block_operands(w, (first + i) / turns::passes * W::block_tiles, operands[i]);
#pragma unroll
        for (int i = 0; i < at_once; i++) {
            const int turn = first + i, s = turn / turns::passes * W::block_tiles;
            uint64_t terms[turns::terms];
#pragma unroll
            for (int j = 0; j < turns::terms; j++)
                terms[j] = tile_after(x, (turn % turns::passes + j) * term_bytes);
            begin_codes<W, turns::columns>(codes[i], operands[i], s, terms);
        }
        if (first + at_once == turns::n)
            have_read();
        wgmma_wait();
#pragma unroll
        for (int i = 0; i < at_once; i++)
            add_turn<W, rows>(codes[i], w, first + i, from, sum.of[0]);
    }
}

/* Adds a unit of 64 columns; have_read() as above. */
template <typename W, int terms, int rows, int steps, typename F>
static __device__ __forceinline__ void multiply_unit(const unit_operands &from,
                                                     batch_sums<W, terms, rows> &sum, F have_read)
{
    if constexpr (W::is_scaled)
        multiply_codes(from, sum, have_read);
    else
        multiply_plain<terms, rows, steps>(from, sum, have_read);
}
#endif

/* ---- launching ---------------------------------------------------------------------------- */

/* Launches kernels<W, terms, rows> for the rows of the job's blocks. */
template <template <typename, int, int> class kernels, typename W, int terms>
static void launch_rows(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    switch (vug_cuda_block_rows(job->rows)) {
    case 8:
        kernels<W, terms, 8>::launch(stream, job);
        break;
    case 16:
        kernels<W, terms, 16>::launch(stream, job);
        break;
    case JOINT_ROWS:
        kernels<W, terms, JOINT_ROWS>::launch(stream, job);
        break;
    default:
        kernels<W, terms, VUG_CUDA_BATCH_ROWS>::launch(stream, job);
    }
}

/* Launches kernels<W, terms, rows> for the job's weights and terms of x. */
template <template <typename, int, int> class kernels>
static void launch_format(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    switch (job->format) {
#define X(format)                                                            \
    case VUG_DTYPE_##format:                                                 \
        launch_rows<kernels, code_unit<VUG_DTYPE_##format>, 2>(stream, job); \
        break;
        BLOCK_TILE_FORMATS(X)
#undef X
    default:
        (job->terms > 1 ? launch_rows<kernels, plain_unit, 2>
                        : launch_rows<kernels, plain_unit, 1>)(stream, job);
    }
}

#endif
