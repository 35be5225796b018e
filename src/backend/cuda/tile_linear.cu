/*
 * Products with matrices in tiles, for a few rows, in the order of weight_tiles.h: of experts and,
 * where batch_linear.cu and wide_linear.cu do not compute them, of other layers.
 *
 * Each of the 8 warps of a block sums one slice of a tile of 16 outputs; the block then adds the
 * slices and goes on to its next tile. A warp loads the weights of several k16 steps ahead, also
 * across tiles, so that memory never waits for sums.
 */
#include "backend/cuda/activation_blocks.h"
#include "backend/cuda/row_integers.h"
#include "backend/cuda/tile_math.h"

enum {
    TERMS = 8,      /* rows of terms in the second operand */
    MAX_GROUPS = 4, /* of TERMS rows of terms, in the largest kernel */
};

/* Groups of rows of terms that `groups` groups of sums are computed from: codes are multiplied with
 * both terms of a row in one sum. */
template <typename W, int groups>
static constexpr int term_groups = W::is_scaled ? 2 * groups : groups;

/* Sums of a row. */
template <typename W>
static __host__ __device__ __forceinline__ int sums_of_row(const vug_cuda_tile_job &job)
{
    return W::is_scaled ? 1 : job.terms;
}

/* The first or second term of x. */
static __device__ __forceinline__ uint16_t term_of(float x, int term)
{
    const __nv_bfloat16 high = __float2bfloat16_rn(x);
    return __bfloat16_as_ushort(term == 0 ? high : __float2bfloat16_rn(x - __bfloat162float(high)));
}

static __device__ __forceinline__ float integer_term(float x, const x_scale &of, int term)
{
    const x_terms terms = integer_terms(x, of);
    return term == 0 ? terms.high : terms.low;
}

/* ---- layout ----------------------------------------------------------------------------- */

/* A thread for each lane of each tile. An element is the last of `halves` words of 16 bits. */
static __global__ void make_tiles_kernel(const uint16_t *from, int halves, int64_t rows,
                                         int64_t columns, uint16_t *tiles)
{
    const int64_t row_tiles = vug_cuda_padded(columns) / TILE;
    const int64_t i = (int64_t)blockIdx.x * ROW_THREADS + threadIdx.x, tile = i / WARP;
    const int lane = (int)(i % WARP);
    if (tile >= vug_cuda_padded(rows) / TILE * row_tiles)
        return;
    for (int e = 0; e < 8; e++) {
        const int64_t row = tile / row_tiles * TILE + lane / 4 + (e / 2 % 2) * 8;
        const int64_t column = tile % row_tiles * TILE + lane % 4 * 2 + (e / 4) * 8 + e % 2;
        tiles[i * 8 + e] = row < rows && column < columns
                                   ? from[(row * columns + column + 1) * halves - 1]
                                   : 0;
    }
}

void vug_cuda_make_tiles(cudaStream_t stream, const vug_matrix *from, int64_t rows, uint8_t *tiles)
{
    const int64_t lanes = vug_cuda_padded(rows) * vug_cuda_padded(from->columns) / 8;
    launch(stream, make_tiles_kernel, dim3(blocks_for(lanes, ROW_THREADS)), ROW_THREADS,
           (const uint16_t *)from->data, from->dtype == VUG_DTYPE_F32 ? 2 : 1, rows, from->columns,
           (uint16_t *)tiles);
}

/* Up to a whole number of groups that the largest kernel takes at a time. */
static int64_t packed_groups(int64_t rows, int terms)
{
    return (rows * terms + MAX_GROUPS * TERMS - 1) / (MAX_GROUPS * TERMS) * MAX_GROUPS;
}

uint64_t vug_cuda_packed_bytes(int64_t rows, int64_t columns, int terms)
{
    return (uint64_t)(packed_groups(rows, terms) * TERMS) * (uint64_t)vug_cuda_padded(columns) *
           sizeof(uint16_t);
}

/* Row `row` of the rows; NULL: zeros. */
static __device__ __forceinline__ const float *row_of(const vug_cuda_rows &x, int64_t row)
{
    if (row >= x.rows)
        return NULL;
    const int64_t i = x.choice ? x.choice[row] : row;
    return i < 0 ? NULL : x.x + (x.choice ? i / x.per_row : i) * x.columns;
}

/* Elements first, first + 1, first + 8 and first + 9 of a row; zeros past its end. */
static __device__ __forceinline__ float4 lane_columns(const float *row, int64_t columns,
                                                      int64_t first)
{
    const auto element = [&](int64_t i) { return row && i < columns ? row[i] : 0; };
    return make_float4(element(first), element(first + 1), element(first + 8), element(first + 9));
}

/* The scale of a row's block of two k16 steps, of which four neighbouring lanes have `x` from column
 * `first` on. */
static __device__ __forceinline__ x_scale x_scale_of_block(const float *row, int64_t columns,
                                                           int64_t first, const float4 &x)
{
    uint32_t largest = max(largest_of(x), largest_of(lane_columns(row, columns, first ^ TILE)));
    for (int d = 1; d < 4; d *= 2)
        largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, d));
    return x_scale_of(largest);
}

static __global__ void pack_kernel(vug_cuda_rows x, int terms, bool apart, bool integers,
                                   uint2 *packed)
{
    const int64_t columns = x.columns, steps = vug_cuda_padded(columns) / TILE;
    const int64_t i = (int64_t)blockIdx.x * ROW_THREADS + threadIdx.x;
    const int64_t group = blockIdx.y, step = i / WARP, lane = i % WARP;
    const int64_t at = apart ? group / terms * TERMS * terms + lane / 4 * terms + group % terms
                             : group * TERMS + lane / 4;
    const int term = (int)(at % terms);
    const int rounded_term = integers ? 0 : term; /* BF16 holds the terms of integers */
    if (step >= steps)
        return;
    const float *row = row_of(x, at / terms);
    const int64_t first = step * TILE + lane % 4 * 2;
    float4 v = lane_columns(row, columns, first);
    if (integers) {
        const x_scale of = x_scale_of_block(row, columns, first, v);
        v = make_float4(integer_term(v.x, of, term), integer_term(v.y, of, term),
                        integer_term(v.z, of, term), integer_term(v.w, of, term));
    }
    packed[(group * steps + step) * WARP + lane] =
            make_uint2(term_of(v.x, rounded_term) | (uint32_t)term_of(v.y, rounded_term) << 16,
                       term_of(v.z, rounded_term) | (uint32_t)term_of(v.w, rounded_term) << 16);
}

void vug_cuda_pack_rows(cudaStream_t stream, const vug_cuda_rows *x, int terms, vug_dtype format,
                        uint8_t *packed)
{
    const bool apart = format != VUG_DTYPE_BF16,
               integers = terms > 1 && vug_cuda_takes_integers(format);
    const dim3 grid(blocks_for(vug_cuda_padded(x->columns) / TILE * WARP, ROW_THREADS),
                    (unsigned)packed_groups(x->rows, terms));
    launch(stream, pack_kernel, grid, ROW_THREADS, *x, terms, apart, integers, (uint2 *)packed);
}

/* A thread for each block of a row. */
static __global__ void sum_rows_kernel(vug_cuda_rows x, float *sums)
{
    const int64_t block = (int64_t)blockIdx.y * ROW_THREADS + threadIdx.x;
    const int64_t first = block * VUG_CUDA_SUM_COLUMNS;
    if (first >= vug_cuda_padded(x.columns))
        return;
    const float *row = row_of(x, blockIdx.x);
    float sum[VUG_CUDA_SUM_COLUMNS];
    for (int i = 0; i < VUG_CUDA_SUM_COLUMNS; i++)
        sum[i] = row && first + i < x.columns ? row[first + i] : 0;
#pragma unroll
    for (int n = 1; n < VUG_CUDA_SUM_COLUMNS; n *= 2) {
#pragma unroll
        for (int i = 0; i < VUG_CUDA_SUM_COLUMNS; i += 2 * n)
            sum[i] += sum[i + n];
    }
    sums[block * vug_cuda_block_rows(x.rows) + blockIdx.x] = sum[0];
}

void vug_cuda_sum_rows(cudaStream_t stream, const vug_cuda_rows *x, float *sums)
{
    const dim3 grid((unsigned)x->rows,
                    blocks_for(vug_cuda_padded(x->columns) / VUG_CUDA_SUM_COLUMNS, ROW_THREADS));
    launch(stream, sum_rows_kernel, grid, ROW_THREADS, *x, sums);
}

/* ---- experts -------------------------------------------------------------------------------- */

static __device__ __forceinline__ int expert_of(const vug_cuda_sort_job &job, int64_t choice)
{
    return named_expert(job.route[choice / job.k * 2 * job.k + choice % job.k], job.experts);
}

/* One block; `first` has the first group of each expert, `n` its choices. */
static __global__ void sort_kernel(vug_cuda_sort_job job)
{
    extern __shared__ int32_t counts[];
    int32_t *const n = counts, *const first = counts + job.experts;
    const int64_t choices = job.tokens * job.k;
    start_next();
    wait_for_previous();
    for (int e = threadIdx.x; e < job.experts; e += ROW_THREADS)
        n[e] = 0;
    for (int64_t i = threadIdx.x; i < job.groups; i += ROW_THREADS)
        job.expert[i] = -1;
    for (int64_t i = threadIdx.x; i < job.groups * job.group_rows; i += ROW_THREADS)
        job.choice[i] = -1;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < choices; i += ROW_THREADS)
        atomicAdd(&n[expert_of(job, i)], 1);
    __syncthreads();
    int before = 0;
    for (int from = 0; threadIdx.x < WARP && from < job.experts; from += WARP) {
        const int e = from + threadIdx.x;
        const int groups = e < job.experts ? (n[e] + job.group_rows - 1) / job.group_rows : 0;
        int sum = groups;
        for (int d = 1; d < WARP; d *= 2) {
            const int other = __shfl_up_sync(0xffffffffu, sum, d);
            sum += (int)threadIdx.x >= d ? other : 0;
        }
        if (e < job.experts)
            first[e] = before + sum - groups;
        before += __shfl_sync(0xffffffffu, sum, WARP - 1);
    }
    if (threadIdx.x == 0)
        *job.used = before;
    __syncthreads();
    for (int e = threadIdx.x; e < job.experts; e += ROW_THREADS) {
        for (int i = 0; i * job.group_rows < n[e]; i++)
            job.expert[first[e] + i] = e;
        n[e] = 0;
    }
    __syncthreads();
    /* The order of an expert's rows does not matter: each is computed by itself. */
    for (int64_t i = threadIdx.x; i < choices; i += ROW_THREADS) {
        const int e = expert_of(job, i);
        job.choice[first[e] * job.group_rows + atomicAdd(&n[e], 1)] = (int32_t)i;
    }
}

void vug_cuda_sort_experts(cudaStream_t stream, const vug_cuda_sort_job *job)
{
    const size_t shared = 2 * (size_t)job->experts * sizeof(int32_t);
    launch_early(stream, sort_kernel, dim3(1), ROW_THREADS, shared, job->launch, *job);
}

/* ---- products ------------------------------------------------------------------------------- */

/* The tiles of a block, in order. With an activation a tile of the first part is followed by that
 * of the second. */
struct tile_place {
    int part;
    int64_t tile;
};

static __device__ __forceinline__ bool find_tile(const vug_cuda_tile_job &job, int step,
                                                 tile_place &at)
{
    const bool pairs = job.activation != VUG_OP_LINEAR;
    at.tile = blockIdx.x + (int64_t)(pairs ? step / 2 : step) * gridDim.x;
    at.part = pairs ? step % 2 : 0;
    if (pairs)
        return at.tile < tiles_of(job.part[0].out);
    while (at.part < job.parts && at.tile >= tiles_of(job.part[at.part].out))
        at.tile -= tiles_of(job.part[at.part++].out);
    return at.part < job.parts;
}

/* The first weights of a warp's slice in tile `step` of the block; NULL: there is none. `expert`: of
 * the block's rows, if there are experts. */
static __device__ __forceinline__ const uint8_t *slice_at(const vug_cuda_tile_job &job, int expert,
                                                          int step, int64_t at_byte,
                                                          int64_t row_bytes)
{
    tile_place at;
    if (!find_tile(job, step, at))
        return NULL;
    const uint8_t *tiles =
            expert < 0 ? job.part[at.part].tiles : expert_tiles(job.chosen.data[at.part], expert);
    return tiles + at.tile * row_bytes + at_byte;
}

/* Sums of x over a block of a lane's two rows, from row `row` on. */
static __device__ __forceinline__ float2 sums_of_rows(const vug_cuda_tile_job &job, int block,
                                                      int row)
{
    const float *x = job.x_sums + block * vug_cuda_block_rows(job.rows);
    return make_float2(row < job.rows ? x[row] : 0, row + 1 < job.rows ? x[row + 1] : 0);
}

/* Adds the products of the 64 codes of unit `unit` to the sums of `groups` groups of rows, of which
 * row `row` of x is the first. Two blocks at a time, whose sums do not wait for each other. */
template <typename W, int groups>
static __device__ __forceinline__ void multiply_codes(const vug_cuda_tile_job &job, int row,
                                                      float (&sum)[groups][4], const W &w,
                                                      const uint2 *x, int64_t steps, int unit)
{
    enum { BLOCKS = 2 };
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int first = 0; first < UNIT; first += BLOCKS * W::block_tiles) {
        float codes[BLOCKS][W::passes][groups][4] = {};
#pragma unroll
        for (int i = 0; i < BLOCKS * W::block_tiles; i++) {
            const int block = i % BLOCKS, s = first + block * W::block_tiles + i / BLOCKS;
            const uint4 operand = w.operand(s);
            for (int g = 0; g < 2 * groups; g++)
                multiply_add(codes[block][g % W::passes][g / 2], operand,
                             x[(g * steps + unit * UNIT + s) * WARP + lane]);
        }
#pragma unroll
        for (int i = 0; i < BLOCKS; i++) {
            const int s = first + i * W::block_tiles;
            for (int g = 0; g < groups; g++) {
                for (int pass = 0; pass < W::passes; pass++)
                    add_block(sum[g], codes[i][pass][g], w, s);
                if constexpr (W::needs_sums)
                    add_offsets(sum[g], w, s,
                                sums_of_rows(job, (unit * UNIT + s) / W::block_tiles,
                                             row + g * TERMS + lane % 4 * 2));
            }
        }
    }
}

/* Adds the products of the 64 columns of unit `unit` to the sums of `groups` groups of rows of
 * terms, or of rows if `w` has codes; row `row` of x is the first. */
template <typename W, int groups>
static __device__ __forceinline__ void multiply_unit(const vug_cuda_tile_job &job, int row,
                                                     float (&sum)[groups][4], const W &w,
                                                     const uint2 *x, int64_t steps, int unit)
{
    if constexpr (W::is_scaled) {
        multiply_codes<W, groups>(job, row, sum, w, x, steps, unit);
    } else {
#pragma unroll
        for (int i = 0; i < UNIT; i++) {
            const uint4 operand = w.operand(i);
            for (int g = 0; g < groups; g++)
                multiply_add(sum[g], operand,
                             x[(g * steps + unit * UNIT + i) * WARP + threadIdx.x % WARP]);
        }
    }
}

/* `n` rows of sums of this tile and of the one before, which may still be read. */
template <int n> struct slice_sums {
    float y[2][SLICES][n][TILE];
};

template <int n, int groups>
static __device__ __forceinline__ void store_slice(slice_sums<n> &sums, int step,
                                                   const float (&sum)[groups][4])
{
    const int lane = threadIdx.x % WARP, output = lane / 4, row = lane % 4 * 2;
    float(*to)[TILE] = sums.y[step % 2][threadIdx.x / WARP];
    for (int g = 0; g < groups; g++) {
        for (int i = 0; i < 4; i++) {
            if (g * TERMS + row + i % 2 < n)
                to[g * TERMS + row + i % 2][output + i / 2 * 8] = sum[g][i];
        }
    }
}

/* The sum of the slices of element `e` of a row, of which each is that of `terms` rows. */
template <int n>
static __device__ __forceinline__ float sum_slices(const slice_sums<n> &sums, int step, int row,
                                                   int terms, int e)
{
    float y = 0;
    for (int s = 0; s < SLICES; s++) {
        const float(*of)[TILE] = sums.y[step % 2][s];
        const float slice = terms > 1 ? of[row][e] + of[row + 1][e] : of[row][e];
        y = s == 0 ? slice : y + slice;
    }
    return y;
}

/* Adds the slices of a tile and stores the sums, or applies the activation first. `gate` is what the
 * thread keeps of the first part's tile. */
template <typename W, int n, int kept, bool chosen>
static __device__ __forceinline__ void add_slices(const vug_cuda_tile_job &job, int step,
                                                  const slice_sums<n> &sums, float (&gate)[kept])
{
    const bool pairs = job.activation != VUG_OP_LINEAR;
    const int terms = sums_of_row<W>(job), rows = n / terms;
    tile_place at;
    find_tile(job, step, at);
    for (int k = 0; k < kept; k++) {
        const int i = threadIdx.x + k * SLICE_THREADS, e = i % TILE, term = i / TILE * terms;
        const int64_t row = (int64_t)blockIdx.y * rows + i / TILE, output = at.tile * TILE + e;
        if (i >= rows * TILE || row >= job.rows)
            break;
        float y = sum_slices(sums, step, term, terms, e);
        if (pairs && at.part == 0) {
            gate[k] = y;
            continue;
        }
        if (pairs)
            y = activate(job.activation, gate[k], y);
        const int to = pairs ? 0 : at.part;
        const int64_t y_row = chosen ? job.chosen.choice[row] : row;
        if (output < job.part[to].out && y_row >= 0)
            job.part[to].y[y_row * job.part[to].out + output] = y;
    }
}

/* `units` units of 64 columns are loaded ahead, `groups` groups of 8 rows of sums are computed
 * together. W: a lane's part of a unit. `chosen`: the rows have experts, which the kernel before has
 * sorted. */
template <typename W, int units, int groups, bool chosen>
static __global__ void __launch_bounds__(SLICE_THREADS, blocks_of(units *(int)sizeof(W)))
        tile_kernel(const __grid_constant__ vug_cuda_tile_job job)
{
    constexpr int rows = groups * TERMS;
    constexpr int kept = (rows * TILE + SLICE_THREADS - 1) / SLICE_THREADS;
    __shared__ slice_sums<rows> sums;
    const int64_t padded = vug_cuda_padded(job.columns), steps = padded / TILE;
    const int64_t row_units = padded / VUG_CUDA_TILE_PAD;
    const int slice = threadIdx.x / WARP;
    const int first = (int)(vug_cuda_slice_begin(padded, slice) / VUG_CUDA_TILE_PAD);
    const int n = (int)(vug_cuda_slice_begin(padded, slice + 1) / VUG_CUDA_TILE_PAD) - first;
    const uint2 *x = (const uint2 *)job.packed + blockIdx.y * term_groups<W, groups> * steps * WARP;
    const int row = (int)blockIdx.y * rows / sums_of_row<W>(job);
    const int64_t at = first * W::bytes, row_bytes = row_units * W::bytes;
    const int expert = chosen ? job.chosen.expert[blockIdx.y] : -1;
    if (chosen && expert < 0)
        return;
    const uint8_t *from = slice_at(job, expert, 0, at, row_bytes);
    W w[units];
    float gate[kept];
    start_next();
#pragma unroll
    for (int j = 0; j < units; j++) {
        if (j < n)
            w[j].load(from + j * W::bytes);
    }
    wait_for_previous();
    for (int step = 0; from; step++) {
        const uint8_t *next = slice_at(job, expert, step + 1, at, row_bytes);
        float sum[groups][4] = {};
        for (int u = 0; u < n; u += units) {
            /* One place that loads: a register that two of them give is waited for at once. */
            const bool same = u + units < n;
            const uint8_t *const load = same ? from + (u + units) * W::bytes : next;
            const int left = n - u, loads = same ? left - units : next ? n : 0;
#pragma unroll
            for (int j = 0; j < units; j++) {
                if (j < left)
                    multiply_unit<W, groups>(job, row, sum, w[j], x, steps, first + u + j);
                if (j < loads)
                    w[j].load(load + j * W::bytes);
            }
        }
        store_slice<rows>(sums, step, sum);
        __syncthreads();
        add_slices<W, rows, kept, chosen>(job, step, sums, gate);
        from = next;
    }
}

/* ---- launching --------------------------------------------------------------------------------- */

template <typename W, int units, int groups>
static void launch_tiles(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    const int64_t most = job->processors * blocks_of(units * (int)sizeof(W));
    const int64_t tiles = tiles_of_job(*job);
    const dim3 grid((unsigned)(tiles < most ? tiles : most),
                    blocks_for(job->rows * sums_of_row<W>(*job), groups * TERMS));
    launch_early(stream, tile_kernel<W, units, groups, false>, grid, SLICE_THREADS, 0, job->launch,
                 *job);
}

/* With experts. So many blocks that tiles of a block follow one another when there are many groups. */
template <typename W, int units, int groups>
static void launch_chosen(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    enum { WAVES = 4 };
    const int64_t of_rows = job->rows / VUG_CUDA_TILE_GROUP, tiles = tiles_of_job(*job);
    const int64_t most =
            (WAVES * job->processors * blocks_of(units * (int)sizeof(W)) - 1) / of_rows + 1;
    const dim3 grid((unsigned)(tiles < most ? tiles : most), (unsigned)of_rows);
    launch_early(stream, tile_kernel<W, units, groups, true>, grid, SLICE_THREADS, 0, {}, *job);
}

static void launch_plain(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    const int64_t rows = job->rows * job->terms;
    if (job->chosen.expert && job->terms > 1)
        launch_chosen<plain_unit, 5, 2>(stream, job);
    else if (job->chosen.expert)
        launch_chosen<plain_unit, 5, 1>(stream, job);
    else if (rows <= TERMS && vug_cuda_padded(job->columns) <= 3 * SLICES * VUG_CUDA_TILE_PAD)
        launch_tiles<plain_unit, 3, 1>(stream, job);
    else if (rows <= TERMS)
        launch_tiles<plain_unit, 5, 1>(stream, job);
    else if (rows <= 2 * TERMS)
        launch_tiles<plain_unit, 5, 2>(stream, job);
    else
        launch_tiles<plain_unit, 5, MAX_GROUPS>(stream, job);
}

template <typename W> static void launch_codes(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    if (job->chosen.expert)
        launch_chosen<W, 3, 1>(stream, job);
    else if (job->rows * sums_of_row<W>(*job) <= TERMS)
        launch_tiles<W, 3, 1>(stream, job);
    else
        launch_tiles<W, 5, W::is_scaled ? MAX_GROUPS / 2 : MAX_GROUPS>(stream, job);
}

void vug_cuda_tile_linear(cudaStream_t stream, const vug_cuda_tile_job *job)
{
    switch (job->format) {
#define X(format)                                                                       \
    case VUG_DTYPE_##format:                                                            \
        (job->terms > 1 ? launch_codes<code_unit<VUG_DTYPE_##format>>                   \
                        : launch_codes<rounded_unit<VUG_DTYPE_##format>>)(stream, job); \
        break;
        BLOCK_TILE_FORMATS(X)
#undef X
    default:
        launch_plain(stream, job);
    }
}
