#ifndef VUG_BACKEND_CUDA_ROW_TERMS_H
#define VUG_BACKEND_CUDA_ROW_TERMS_H

/*
 * A row of x in the memory that a block's threads share, as the products of row_linear.cu take it.
 * W is a lane's part of a unit of weights (block_tiles.h, integer_unit.h).
 *
 * Of each unit of 64 columns of BF16 there are first the second operands of its first two tiles,
 * then those of the others. Words 4 t .. 4 t + 3 of such a half are what lane t takes, two words for
 * each tile; for weights of BF16 lanes 0 to 3 take the first terms, 4 to 7 the second, for codes
 * lanes 0 to 3 take one after the other.
 *
 * Of a unit of integers n = 256 high + low (row_integers.h) there are four words for each of the
 * lanes 0 to 3, one for each tile, with the high bytes; then those with the low bytes, for lanes 4 to
 * 7. A word of lane t has the columns 2 t, 2 t + 8, 2 t + 1 and 2 t + 9 of its tile, as codes of 4
 * and of 8 bits lie.
 *
 * What other lanes take does not matter: they have columns of the product that nobody reads.
 */

#include "backend/cuda/integer_unit.h"
#include "backend/cuda/tile_math.h"

static_assert((int)SLICE_THREADS == (int)ROW_THREADS,
              "norms are computed by all threads of a block");

static const uint32_t ALL_LANES = 0xffffffffu;

enum {
    MAX_ROW = 24576,        /* columns that fit into shared memory */
    MAX_NORMED_ROW = 10240, /* with the operands of norms and sums */
    MAX_KEPT_ROW = 2560,    /* with the weights of norms in registers */
    UNIT_BLOCKS = VUG_CUDA_TILE_PAD / VUG_CUDA_SUM_COLUMNS,
};

/* Words of the terms of a unit. */
template <typename W> static constexpr int unit_words = W::is_integer ? 32 : 64;

/* The numbers that go with a unit: the scales of x in its blocks, if x is integers; then the sums of its
 * blocks, if the weights have offsets. */
template <typename W>
static constexpr int unit_numbers = UNIT_BLOCKS *((W::is_integer ? 1 : 0) +
                                                  (W::needs_sums ? 1 : 0));

/* ---- memory ------------------------------------------------------------------------------- */

/* A row, or the first of a group, and what one with a norm is computed from. */
struct row_parts {
    uint32_t *terms;
    float *numbers;                   /* of units */
    float *x, *add, *add_norm, *norm; /* where the job has them */
};

static __host__ __device__ __forceinline__ int row_stride(int n)
{
    return (n + QUAD - 1) / QUAD * QUAD;
}

/* Words of the terms of a row, and floats of its numbers; both are multiples of 4. */
template <typename W> static __host__ __device__ __forceinline__ int terms_stride(int n)
{
    return (int)vug_cuda_padded(n) / VUG_CUDA_TILE_PAD * unit_words<W>;
}

template <typename W> static __host__ __device__ __forceinline__ int numbers_stride(int n)
{
    return row_stride((int)vug_cuda_padded(n) / VUG_CUDA_TILE_PAD * unit_numbers<W>);
}

/* Words from the terms of a row to those of the next one of a group, with the numbers between them. Four rows
 * of a group lie in different banks, where lanes load from all of them. */
template <typename W, int rows> static __host__ __device__ __forceinline__ int words_of_row(int n)
{
    enum { BANKS = 32, LOADED = 2 };
    const int words = terms_stride<W>(n) + numbers_stride<W>(n);
    return rows == 1 ? words : (words + BANKS - 1) / BANKS * BANKS + LOADED;
}

/* The floats before those of x: of terms and numbers. If norms are not copied, the row that is added lies
 * in their place until they are known. */
template <typename W, int rows>
static __host__ __device__ __forceinline__ int before_x(int n, bool adds, bool copies)
{
    const int terms = rows * words_of_row<W, rows>(n), add = row_stride(n);
    return adds && !copies && add > terms ? add : terms;
}

/* Of a row, or a group of `rows`; copies: the weights of norms are copied to shared memory, too. */
template <typename W, int rows>
static size_t row_bytes(const vug_cuda_row &r, int64_t n, bool copies)
{
    const bool adds = r.add != NULL;
    const int normed = !r.norm ? 0 : copies ? 2 + adds + (r.add_norm != NULL) : 1;
    return (size_t)(before_x<W, rows>((int)n, adds, copies) + normed * row_stride((int)n)) *
           sizeof(float);
}

template <typename W, int rows>
static __device__ __forceinline__ row_parts place_row(const vug_cuda_row &r, int n, bool copies,
                                                      void *memory)
{
    row_parts parts;
    parts.terms = (uint32_t *)memory;
    parts.numbers = (float *)(parts.terms + terms_stride<W>(n));
    parts.x = (float *)memory + before_x<W, rows>(n, r.add != NULL, copies);
    parts.norm = parts.x + row_stride(n);
    parts.add = copies ? parts.norm + row_stride(n) : (float *)memory;
    parts.add_norm = parts.add + row_stride(n);
    return parts;
}

/* Where the lane's words of the first unit are, in bytes from the terms of the first row. Of several rows, row r
 * has the columns 2 r and 2 r + 1 of a product of integers. */
template <typename W, int rows> static __device__ __forceinline__ int lane_terms(int n)
{
    const int row = rows == 1 ? 0 : threadIdx.x % WARP / 8;
    return threadIdx.x % (W::is_scaled && !W::is_integer ? 4 : 8) * 16 +
           row * words_of_row<W, rows>(n) * 4;
}

/* Where the numbers of the row are of which the lane has the sums, from those of the first row. */
template <typename W, int rows> static __device__ __forceinline__ int lane_numbers(int n)
{
    return rows == 1 ? 0 : threadIdx.x % 4 * words_of_row<W, rows>(n);
}

/* ---- terms ----------------------------------------------------------------------------------- */

/* Elements i, i + 1, and the next two at `apart`, of a row; zeros past its end. */
static __device__ __forceinline__ float4 row_elements(const float *x, int n, int i, int apart)
{
    const int j = i + apart;
    if (n % QUAD == 0) {
        const float2 none = make_float2(0, 0);
        const float2 a = i < n ? *(const float2 *)(x + i) : none,
                     b = j < n ? *(const float2 *)(x + j) : none;
        return make_float4(a.x, a.y, b.x, b.y);
    }
    return make_float4(i < n ? x[i] : 0, i + 1 < n ? x[i + 1] : 0, j < n ? x[j] : 0,
                       j + 1 < n ? x[j + 1] : 0);
}

/* A thread computes quads of four elements, whose index is equal to threadIdx.x modulo 16. Of BF16
 * these are neighbours; of integers, those of a word. Sixteen quads make a unit, and eight
 * neighbouring lanes have a block. */
enum { UNIT_QUADS = VUG_CUDA_TILE_PAD / QUAD, BLOCK_QUADS = UNIT_QUADS / UNIT_BLOCKS };

template <typename W>
static __device__ __forceinline__ float4 row_quad(const float *x, int n, uint32_t quad)
{
    if constexpr (W::is_integer) {
        const uint32_t lane = threadIdx.x % UNIT_QUADS;
        return row_elements(
                x, n,
                (int)(quad / UNIT_QUADS * VUG_CUDA_TILE_PAD + lane / QUAD * TILE + lane % QUAD * 2),
                TILE / 2);
    }
    const int i = (int)quad * QUAD;
    if (i >= n)
        return make_float4(0, 0, 0, 0);
    if (n % QUAD == 0)
        return ((const float4 *)x)[quad];
    return row_elements(x, n, i, 2);
}

/* The sum over a block, in each of its lanes. */
template <typename W> static __device__ __forceinline__ float sum_of_block(const float4 &x)
{
    float first = x.x + x.y, second = x.z + x.w;
    if constexpr (W::is_integer) {
        /* Two of the pairs of four neighbours each are in the next lane. */
#pragma unroll
        for (int d = 1; d < 4; d *= 2) {
            first += __shfl_xor_sync(ALL_LANES, first, d);
            second += __shfl_xor_sync(ALL_LANES, second, d);
        }
        first += second;
        return first + __shfl_xor_sync(ALL_LANES, first, 4);
    }
    first += second;
#pragma unroll
    for (int d = 1; d < 8; d *= 2)
        first += __shfl_xor_sync(ALL_LANES, first, d);
    return first;
}

static __device__ __forceinline__ void store_bf16(uint32_t *to, int i, const float4 &x, int terms)
{
    const int tile = i / TILE % UNIT, lane = i % 8 / 2;
    uint32_t *at = to + i / VUG_CUDA_TILE_PAD * 64 + tile / 2 * 32 + lane * 4 + tile % 2 * 2 +
                   i % TILE / 8;
    const uint32_t a = bf16_pair(x.x, x.y), b = bf16_pair(x.z, x.w);
    at[0] = a;
    at[4] = b;
    if (terms == 1)
        return;
    at[16] = bf16_pair(x.x - __uint_as_float(a << 16), x.y - __uint_as_float(a & 0xffff0000u));
    at[20] = bf16_pair(x.z - __uint_as_float(b << 16), x.w - __uint_as_float(b & 0xffff0000u));
}

/* The scale of a block, in each of its lanes. */
static __device__ __forceinline__ x_scale x_scale_of_block(const float4 &x)
{
    uint32_t largest = largest_of(x);
#pragma unroll
    for (int d = 1; d < BLOCK_QUADS; d *= 2)
        largest = max(largest, __shfl_xor_sync(ALL_LANES, largest, d));
    return x_scale_of(largest);
}

/* Byte `i` of each of four words. */
static __device__ __forceinline__ uint32_t take_bytes(const uint32_t (&from)[4], int i)
{
    const uint32_t pick = i | (i + 4) << 4;
    return __byte_perm(__byte_perm(from[0], from[2], pick), __byte_perm(from[1], from[3], pick),
                       0x5410);
}

static __device__ __forceinline__ void store_integers(uint32_t *unit, const float4 &x,
                                                      const x_scale &of)
{
    const float v[4] = { x.x, x.y, x.z, x.w };
    uint32_t low[4], high[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        low[i] = __float_as_uint(biased_integer(v[i], of));
        high[i] = low[i] + 128; /* the low byte counts as a signed one */
    }
    const uint32_t lane = threadIdx.x % UNIT_QUADS;
    uint32_t *at = unit + lane % QUAD * 4 + lane / QUAD;
    at[0] = take_bytes(high, 1);
    at[16] = take_bytes(low, 0);
}

/* Stores the terms of a quad, if it exists, and, by the first lane of a block, its numbers. All lanes
 * of a warp take part. */
template <typename W>
static __device__ __forceinline__ void store_quad(const row_parts &to, uint32_t quad,
                                                  const float4 &x, int terms, bool exists)
{
    const uint32_t unit = quad / UNIT_QUADS, block = threadIdx.x / BLOCK_QUADS % UNIT_BLOCKS;
    const bool is_first = exists && threadIdx.x % BLOCK_QUADS == 0;
    float *numbers = to.numbers + unit * unit_numbers<W> + block;
    if constexpr (W::is_integer) {
        const x_scale of = x_scale_of_block(x);
        if (exists)
            store_integers(to.terms + unit * unit_words<W>, x, of);
        if (is_first)
            *numbers = of.scale * W::first_scale;
        numbers += UNIT_BLOCKS;
    } else if (exists) {
        store_bf16(to.terms, (int)quad * QUAD, x, terms);
    }
    if constexpr (W::needs_sums) {
        const float sum = sum_of_block<W>(x);
        if (is_first)
            *numbers = sum;
    }
}

#endif
