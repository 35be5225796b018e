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
 *     8 bits   32 bytes a lane, in two parts of 16: two words for each tile, of which word r % 2,
 *              of one row, has the codes of register r at bits 8 (r / 2) and 16 + 8 (r / 2)
 *
 * Codes are integers of which `zero` stands for 0; numbers of E4M3; or in MXFP4 of E2M1, of which
 * twice the value counts. Then come the scales: for each lane / 4 those of row lane / 4 and those of
 * row lane / 4 + 8:
 *
 *     Q4_0, Q8_0    halves: the scales of columns 0 .. 31 and 32 .. 63
 *     Q4_K          halves: d; dmin; two bytes: the scales of the two blocks of 32; two: their minima
 *     Q6_K          halves: d; zero; four bytes: the scales of the four blocks of 16, plus 128
 *     E4M3, MXFP4   F32: the scales of columns 0 .. 31 and 32 .. 63
 *     MLX4, MLX8    F32: the scale and the offset of columns 0 .. 31; of columns 32 .. 63
 *
 * Padding decodes to 0. With two terms of x, products take the codes, less their zero, as BF16 or,
 * of one row, as integers (integer_unit.h), which is exact, and apply scales to sums
 * (weight_tiles.h). With one term, weights are rounded to BF16: bf16(w) for formats with offsets,
 * whose reference decoder gives w (quant/matrix.h). The others are a code q, less its zero, times
 * a scale s, and computed in pairs of BF16: with high = s without its low 16 bits, low = bf16(s -
 * high), they are bf16(q high + bf16(q low)).
 */

#include "backend/cuda/block_codes.h"

static __device__ __forceinline__ int lane_of_warp(void)
{
    return (int)threadIdx.x % WARP;
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

/* Loads from shared memory; a pointer is an address there, as `pointer` makes it of one. */
struct load_shared {
    static __device__ __forceinline__ const uint8_t *pointer(uint32_t address)
    {
        return (const uint8_t *)(uintptr_t)address;
    }
    static __device__ __forceinline__ uint4 words4(const void *p)
    {
        return load_shared_words4((uint32_t)(uintptr_t)p);
    }
    static __device__ __forceinline__ uint2 words2(const void *p)
    {
        return load_shared_words2((uint32_t)(uintptr_t)p);
    }
};

/* A lane's part of a unit of BF16. */
struct plain_unit {
    static constexpr int bytes = 4 * VUG_CUDA_TILE_BYTES;
    static constexpr bool is_scaled = false;  /* whether the operands are codes */
    static constexpr bool is_integer = false; /* whether products are of integers */
    static constexpr bool needs_sums = false; /* whether these have offsets */
    static constexpr int passes = 1; /* in which codes are multiplied with the terms of x */
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
    static constexpr bool is_scaled = true, is_integer = false, needs_sums = format::has_offset;
    static constexpr int block_tiles = format::block_tiles;
    /* Whether sums of products of a block are exact, in any order. */
    static constexpr bool is_exact = vug_cuda_takes_integers((vug_dtype)dtype);
    static constexpr int passes = vug_cuda_scales_each_term((vug_dtype)dtype) ? 2 : 1;
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
        if constexpr (format::scale_words == 1) {
            const uint2 v = L::words2(at);
            scale[0] = v.x, scale[1] = v.y;
        } else {
            for (int i = 0; i < 2 * format::scale_words; i += 4) {
                const uint4 v = L::words4(at + i * sizeof(uint32_t));
                scale[i] = v.x, scale[i + 1] = v.y, scale[i + 2] = v.z, scale[i + 3] = v.w;
            }
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

/* As code_unit; the operands are weights, rounded to BF16. */
template <int dtype> struct rounded_unit : code_unit<dtype> {
    static constexpr bool is_scaled = false, needs_sums = false;
    static constexpr int passes = 1;

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
