#ifndef VUG_BACKEND_CUDA_BLOCK_TILES_H
#define VUG_BACKEND_CUDA_BLOCK_TILES_H

/*
 * Matrices of the formats in BLOCK_TILE_FORMATS in tiles, and how they become first operands.
 *
 * Rows and columns are padded as those of BF16 are (weight_tiles.h), and cut into units of 16 rows
 * and 64 columns: four tiles. Unit (i,j) lies at byte (i * units of a row + j) * unit_bytes. It
 * begins with the codes of 4, 6 or 8 bits, those of a lane together, in the order of the registers
 * of a tile:
 *
 *     4 bits   16 bytes a lane: a word for each tile, in which register r has its two codes at
 *              bits 4 r and 16 + 4 r
 *     6 bits   the same for the low 4 bits of all lanes; then 8 bytes a lane: a word for two
 *              tiles, in which register r of tile s has its high bits at 8 (s % 2) + 2 r and 16 on
 *     8 bits   32 bytes a lane, in two parts of 16: two words for each tile, of which word r / 2
 *              has the codes of register r at bits 8 (r % 2) and 16 + 8 (r % 2)
 *
 * Then come the scales: for each lane / 4 those of row lane / 4 and those of row lane / 4 + 8, two
 * or four halves each:
 *
 *     Q4_0, Q8_0   the scales of columns 0 .. 31 and 32 .. 63
 *     Q4_K         d; dmin; two bytes: the scales of the two blocks of 32; two: their minima
 *     Q6_K         d; zero; four bytes: the scales of the four blocks of 16, plus 128
 *
 * Padding decodes to 0. With two terms of x, products take the codes, less their zero, as BF16, which
 * is exact, and apply scales to sums (weight_tiles.h). With one term, weights are rounded to BF16:
 * bf16(w) for Q4_K, whose reference decoder gives w (quant/matrix.h). The others are a code q, less
 * its zero, times a scale s, and computed in pairs of BF16: with high = s without its low 16 bits,
 * low = bf16(s - high), they are bf16(q high + bf16(q low)).
 */

#include <cuda_bf16.h>

#include "backend/cuda/weight_numbers.h"

static __device__ __forceinline__ int lane_of_warp(void)
{
    return (int)threadIdx.x % WARP;
}

template <int dtype> struct code_format {
    static constexpr int bits = dtype == VUG_DTYPE_Q8_0 ? 8 : dtype == VUG_DTYPE_Q6_K ? 6 : 4;
    static constexpr bool super = dtype == VUG_DTYPE_Q4_K || dtype == VUG_DTYPE_Q6_K;
    static constexpr int code_bytes = bits * 128;     /* of 16 x 64 */
    static constexpr int scale_words = super ? 2 : 1; /* of a row */
    static constexpr int unit_bytes = vug_cuda_block_unit_bytes((vug_dtype)dtype);
    static_assert(unit_bytes == code_bytes + 16 * 4 * scale_words, "codes, then scales");
    static constexpr int block_tiles = dtype == VUG_DTYPE_Q6_K ? 1 : 2; /* that share a scale */
    static constexpr bool has_offset = vug_cuda_needs_sums((vug_dtype)dtype);
    static constexpr int zero = dtype == VUG_DTYPE_Q4_0 ? 8 : dtype == VUG_DTYPE_Q6_K ? 32 : 0;
};

/* ---- numbers of a lane -------------------------------------------------------------------- */

/* Pairs of BF16; each result is rounded once. */
static __device__ __forceinline__ __nv_bfloat162 pair_of(uint32_t bits)
{
    return *(const __nv_bfloat162 *)&bits;
}

static __device__ __forceinline__ uint32_t bits_of(__nv_bfloat162 pair)
{
    return *(const uint32_t *)&pair;
}

static __device__ __forceinline__ uint32_t subtract_pairs(uint32_t a, uint32_t b)
{
    return bits_of(__hsub2(pair_of(a), pair_of(b)));
}

/* (bits & mask) | with; written so, it stays one instruction. */
static __device__ __forceinline__ uint32_t merge_bits(uint32_t bits, uint32_t mask, uint32_t with)
{
    uint32_t merged;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(merged) : "r"(bits), "r"(mask), "r"(with));
    return merged;
}

/* Twice 128 in BF16, where the last bit counts 1. */
static constexpr uint32_t PAIR_OF_128 = 0x43004300;

/* Signed bytes at bits 0 and 16 as a pair of BF16. */
static __device__ __forceinline__ uint32_t signed_pair(uint32_t bytes)
{
    /* 128 + the low seven bits, less 128 or, for a negative byte, 256 */
    return subtract_pairs(merge_bits(bytes, 0x007f007f, PAIR_OF_128),
                          merge_bits(bytes, 0x00800080, PAIR_OF_128));
}

/* Codes of register `r` of tile `s` as a pair of BF16. `low` are the words of the tile, `high`
 * that of the high bits. */
template <int dtype>
static __device__ __forceinline__ uint32_t code_pair(const uint32_t (&low)[2], uint32_t high, int s,
                                                     int r)
{
    using format = code_format<dtype>;
    constexpr uint32_t bias = (PAIR_OF_128 & 0xffff) + format::zero;
    if constexpr (format::bits == 8)
        return signed_pair(low[r / 2] >> 8 * (r % 2));
    uint32_t codes = merge_bits(low[0] >> 4 * r, 0x000f000f, PAIR_OF_128);
    if constexpr (format::bits == 6) {
        const int at = 8 * (s % 2) + 2 * r - 4;
        codes = merge_bits(at < 0 ? high << -at : high >> at, 0x00300030, codes);
    }
    return subtract_pairs(codes, bias | bias << 16);
}

/* 2^23 + byte i of `bytes`: F32 has a step of 1 there. */
static __device__ __forceinline__ float biased_byte(uint32_t bytes, int i)
{
    return __uint_as_float(__byte_perm(bytes, 0x4b000000, 0x7440 | i));
}

/* A half times byte i of `bytes`, exactly. */
static __device__ __forceinline__ float times_byte(float half, uint32_t bytes, int i)
{
    return fmaf(half, biased_byte(bytes, i), half * -0x1p23f);
}

/* weight = scale * code + offset */
struct block_scale {
    float scale, offset;
};

/* Of tile `s`, from the words of a row. */
template <int dtype>
static __device__ __forceinline__ block_scale scale_of(const uint32_t *words, int s)
{
    if constexpr (!code_format<dtype>::super)
        return { half_value(words[0] >> s / 2 * 16 & 0xffff), -0.0f };
    const float d = half_value(words[0] & 0xffff), least = half_value(words[0] >> 16);
    if constexpr (dtype == VUG_DTYPE_Q4_K)
        return { times_byte(d, words[1], s / 2), times_byte(-least, words[1], 2 + s / 2) };
    return { d * (biased_byte(words[1], s) - (0x1p23f + 128)), -0.0f };
}

/* The two weights of a pair of codes. */
template <int dtype>
static __device__ __forceinline__ float2 weights_of(uint32_t pair, const block_scale &by)
{
    const float low = __uint_as_float(pair << 16), high = __uint_as_float(pair & 0xffff0000u);
    if constexpr (dtype == VUG_DTYPE_Q4_K)
        return make_float2(low * by.scale + by.offset, high * by.scale + by.offset);
    return make_float2(low * by.scale, high * by.scale);
}

/* The terms of a scale, twice each. */
struct scale_terms {
    __nv_bfloat162 high, low;
};

static __device__ __forceinline__ scale_terms terms_of(float scale)
{
    const uint32_t high = __float_as_uint(scale) & 0xffff0000u;
    return { pair_of(__byte_perm(high, 0, 0x3232)),
             __float2bfloat162_rn(scale - __uint_as_float(high)) };
}

/* ---- units of a warp -------------------------------------------------------------------------- */

/* Loads from global memory what is read only once. */
struct load_once {
    static __device__ __forceinline__ uint4 words4(const void *p)
    {
        uint4 v;
        asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(p));
        return v;
    }
    static __device__ __forceinline__ uint2 words2(const void *p)
    {
        uint2 v;
        asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
                     : "=r"(v.x), "=r"(v.y)
                     : "l"(p));
        return v;
    }
};

/* Loads from any memory. */
struct load_again {
    static __device__ __forceinline__ uint4 words4(const void *p)
    {
        return *(const uint4 *)p;
    }
    static __device__ __forceinline__ uint2 words2(const void *p)
    {
        return *(const uint2 *)p;
    }
};

/* A lane's part of a unit of BF16. */
struct plain_unit {
    static constexpr int bytes = 4 * VUG_CUDA_TILE_BYTES;
    static constexpr bool is_scaled = false;  /* whether the operands are codes */
    static constexpr bool needs_sums = false; /* whether these have offsets */
    uint4 tile[4];

    template <typename L = load_once> __device__ __forceinline__ void load(const uint8_t *from)
    {
        for (int i = 0; i < 4; i++)
            tile[i] = L::words4(from + (i * WARP + lane_of_warp()) * 16);
    }
    /* The first operand of tile `s`. */
    __device__ __forceinline__ uint4 operand(int s) const
    {
        return tile[s];
    }
};

/* Of a unit of codes; the operands are codes. */
template <int dtype> struct code_unit {
    using format = code_format<dtype>;
    static constexpr int bytes = format::unit_bytes;
    static constexpr bool is_scaled = true, needs_sums = format::has_offset;
    static constexpr int block_tiles = format::block_tiles;
    uint32_t low[4 * (format::bits == 8 ? 2 : 1)], high[format::bits == 6 ? 2 : 1];
    uint32_t scale[2 * format::scale_words];

    template <typename L = load_once> __device__ __forceinline__ void load(const uint8_t *from)
    {
        const int lane = lane_of_warp();
        for (int i = 0; i < (format::bits == 8 ? 2 : 1); i++) {
            const uint4 v = L::words4(from + (i * WARP + lane) * 16);
            low[4 * i] = v.x, low[4 * i + 1] = v.y, low[4 * i + 2] = v.z, low[4 * i + 3] = v.w;
        }
        if constexpr (format::bits == 6) {
            const uint2 v = L::words2(from + WARP * 16 + lane * 8);
            high[0] = v.x, high[1] = v.y;
        }
        const uint8_t *at = from + format::code_bytes + lane / 4 * sizeof(scale);
        if constexpr (format::super) {
            const uint4 v = L::words4(at);
            scale[0] = v.x, scale[1] = v.y, scale[2] = v.z, scale[3] = v.w;
        } else {
            const uint2 v = L::words2(at);
            scale[0] = v.x, scale[1] = v.y;
        }
    }

    /* The codes of register `r` of tile `s`. */
    __device__ __forceinline__ uint32_t pair(int s, int r) const
    {
        const uint32_t words[2] = { low[format::bits == 8 ? 2 * s : s],
                                    format::bits == 8 ? low[2 * s + 1] : 0 };
        return code_pair<dtype>(words, format::bits == 6 ? high[s / 2] : 0, s, r);
    }

    /* Of the lane's first row in tile `s`, or of that 8 rows on. */
    __device__ __forceinline__ block_scale scale_of_row(int s, bool second) const
    {
        return scale_of<dtype>(scale + (second ? format::scale_words : 0), s);
    }

    __device__ __forceinline__ uint4 operand(int s) const
    {
        return make_uint4(pair(s, 0), pair(s, 1), pair(s, 2), pair(s, 3));
    }
};

/* The same; the operands are weights, rounded to BF16. */
template <int dtype> struct rounded_unit : code_unit<dtype> {
    static constexpr bool is_scaled = false, needs_sums = false;

    __device__ __forceinline__ uint4 operand(int s) const
    {
        uint32_t w[4];
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const block_scale by = this->scale_of_row(s, r % 2);
            const uint32_t codes = this->pair(s, r);
            if constexpr (code_format<dtype>::has_offset) {
                const float2 of = weights_of<dtype>(codes, by);
                w[r] = bf16_pair(of.x, of.y);
            } else {
                const scale_terms terms = terms_of(by.scale);
                const __nv_bfloat162 q = pair_of(codes);
                w[r] = bits_of(__hfma2(q, terms.high, __hmul2(q, terms.low)));
            }
        }
        return make_uint4(w[0], w[1], w[2], w[3]);
    }
};

/* ---- rows -------------------------------------------------------------------------------------- */

/* Eight weights of row `row` of a matrix; `base` is where the units of its 16 rows begin. */
template <int dtype>
static __device__ __forceinline__ void read_block_tile_group(const uint8_t *base, int64_t row,
                                                             int64_t group, float *w)
{
    using format = code_format<dtype>;
    const uint8_t *unit = base + group / 8 * format::unit_bytes;
    const int s = (int)(group % 8 / 2), r = (int)(row % 16 / 8 + group % 2 * 2), g = (int)row % 8;
    const uint32_t *scale = (const uint32_t *)(unit + format::code_bytes) +
                            (2 * g + row % 16 / 8) * format::scale_words;
    const block_scale by = scale_of<dtype>(scale, s);
    for (int t = 0; t < 4; t++) {
        const int lane = 4 * g + t;
        uint32_t words[2] = { 0 }, high = 0;
        if constexpr (format::bits == 8) {
            const uint32_t *at = (const uint32_t *)unit + (s / 2 * WARP + lane) * 4 + s % 2 * 2;
            words[0] = at[0], words[1] = at[1];
        } else {
            words[0] = ((const uint32_t *)unit)[lane * 4 + s];
        }
        if constexpr (format::bits == 6)
            high = ((const uint32_t *)(unit + WARP * 16))[lane * 2 + s / 2];
        const float2 pair = weights_of<dtype>(code_pair<dtype>(words, high, s, r), by);
        w[2 * t] = pair.x;
        w[2 * t + 1] = pair.y;
    }
}

#endif
