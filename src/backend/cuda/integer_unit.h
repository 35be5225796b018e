#ifndef VUG_BACKEND_CUDA_INTEGER_UNIT_H
#define VUG_BACKEND_CUDA_INTEGER_UNIT_H

/* Units of codes (block_tiles.h) as operands of integer products: those with formats of
 * vug_cuda_takes_integers. */

#include "backend/cuda/block_tiles.h"
#include "backend/cuda/row_integers.h"

/* d [16,8] = a [16,32] b [32,8] + from, of bytes with their signs. */
static __device__ __forceinline__ void multiply(int (&d)[4], const uint4 &a, const uint2 &b,
                                                int from)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "r"(from));
}

/* The same, where those of a have none. */
static __device__ __forceinline__ void multiply_unsigned(int (&d)[4], const uint4 &a,
                                                         const uint2 &b, int from)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "r"(from));
}

/* d [16,8] = a [16,16] b [16,8] + from */
static __device__ __forceinline__ void multiply(int (&d)[4], const uint2 &a, uint32_t b, int from)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(a.x), "r"(a.y), "r"(b), "r"(from));
}

/* 1.5 * 2^23 in F32, which counts by 1 there: an integer from -2^22 up to 2^22 more has the bits of that
 * number. */
static constexpr int FLOAT_BIAS = 0x4b400000;

/* (bits - FLOAT_BIAS) * by, exactly; by: a power of two. */
static __device__ __forceinline__ float times_power(int bits, float by)
{
    return fmaf(__int_as_float(bits), by, -0x1.8p23f * by);
}

/* A lane's bytes are codes, less their zero, times a power of two that differs between its first row and
 * that 8 rows on. Four of them have the columns 2 t, 2 t + 8, 2 t + 1 and 2 t + 9 of a tile. */
template <int dtype> struct integer_unit : code_unit<dtype> {
    using format = code_format<dtype>;
    static_assert(vug_cuda_takes_integers((vug_dtype)dtype), "");
    static constexpr bool is_integer = true;
    static constexpr bool is_signed = format::bits == 8 ? format::zero == 0 : format::zero != 0;
    /* Sums of products times these, and the scale of x, have the value of codes. */
    static constexpr float first_scale = format::bits == 6                ? 0.25f
                                         : format::bits == 4 && is_signed ? 0.0625f
                                                                          : 1,
                           second_scale = format::bits == 8   ? 1
                                          : format::bits == 6 ? 0.25f
                                                              : 0.0625f;

    /* The codes of a tile in the lane's first row, and 8 rows on. */
    __device__ __forceinline__ uint2 row_codes(int s) const
    {
        if constexpr (format::bits == 8 && is_signed)
            return make_uint2(this->low[2 * s], this->low[2 * s + 1]);
        if constexpr (format::bits == 8)
            return make_uint2(this->low[2 * s] ^ 0x80808080, this->low[2 * s + 1] ^ 0x80808080);
        const uint32_t codes = this->low[s];
        if constexpr (format::bits == 4 && !is_signed)
            return make_uint2(codes & 0x0f0f0f0f, codes & 0xf0f0f0f0);
        /* The middle of the codes is 0: another highest bit makes signed numbers. */
        if constexpr (format::bits == 4)
            return make_uint2(flip_bits(codes << 4, 0xf0f0f0f0, 0x80808080),
                              flip_bits(codes, 0xf0f0f0f0, 0x80808080));
        const uint32_t high = __byte_perm(this->high[s / 2], 0, s % 2 ? 0x3311 : 0x2200);
        const uint32_t first = flip_bits(codes << 2, 0x3c3c3c3c, 0x80808080),
                       second = flip_bits(codes >> 2, 0x3c3c3c3c, 0x80808080);
        return make_uint2(flip_bits(high << 2, 0xc000c000, flip_bits(high << 6, 0x00c000c0, first)),
                          flip_bits(high, 0xc000c000, flip_bits(high << 4, 0x00c000c0, second)));
    }

    /* The sums of a block, each plus `from`, in units of the scale of x; x: of its tiles. Lane 4 g + t
     * has columns 2 t and 2 t + 1, the high and the low bytes of x, of its first row and 8 rows on. */
    __device__ __forceinline__ void multiply_block(int (&sums)[4], int s, uint32_t x,
                                                   uint32_t next_x, int from) const
    {
        const uint2 first = row_codes(s);
        if constexpr (format::block_tiles == 1) {
            multiply(sums, first, x, from);
        } else {
            const uint2 second = row_codes(s + 1);
            const uint4 a = make_uint4(first.x, first.y, second.x, second.y);
            if constexpr (is_signed)
                multiply(sums, a, make_uint2(x, next_x), from);
            else
                multiply_unsigned(sums, a, make_uint2(x, next_x), from);
        }
    }

    /* Adds the products of the block from tile `s` on to sums of the lane's two rows, but for offsets;
     * x_scale: that of x, times first_scale. */
    __device__ __forceinline__ void add_block(float &first, float &second, int s, uint32_t x,
                                              uint32_t next_x, float x_scale) const
    {
        const float scale = this->scale_of_row(s, false).scale,
                    next_scale = this->scale_of_row(s, true).scale;
        int sums[4];
        if constexpr (code_unit<dtype>::passes == 2) {
            multiply_block(sums, s, x, next_x, FLOAT_BIAS);
            first = fmaf(times_power(sums[0], 256 * x_scale), scale, first);
            first = fmaf(times_power(sums[1], x_scale), scale, first);
            second = fmaf(times_power(sums[2], 256 * x_scale), next_scale, second);
            second = fmaf(times_power(sums[3], x_scale), next_scale, second);
        } else {
            const float next_x_scale = x_scale * (second_scale / first_scale);
            multiply_block(sums, s, x, next_x, 0);
            first = fmaf((float)(sums[0] * 256 + sums[1]) * x_scale, scale, first);
            second = fmaf((float)(sums[2] * 256 + sums[3]) * next_x_scale, next_scale, second);
        }
    }
};

#endif
