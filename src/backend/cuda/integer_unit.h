#ifndef VUG_BACKEND_CUDA_INTEGER_UNIT_H
#define VUG_BACKEND_CUDA_INTEGER_UNIT_H

/* Units of codes (block_tiles.h) as operands of integer products: those with formats of
 * vug_cuda_takes_integers. */

#include "backend/cuda/block_tiles.h"
#include "backend/cuda/row_integers.h"

/* c [16,8] += a [16,32] b [32,8] */
static __device__ __forceinline__ void multiply_add(int (&c)[4], const uint4 &a, const uint2 &b)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
}

static __device__ __forceinline__ void multiply_add_unsigned(int (&c)[4], const uint4 &a,
                                                             const uint2 &b)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
}

/* c [16,8] += a [16,16] b [16,8] */
static __device__ __forceinline__ void multiply_add(int (&c)[4], const uint2 &a, uint32_t b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a.x), "r"(a.y), "r"(b));
}

/* A lane's bytes are codes, less their zero, times a power of two that differs between its first row and
 * that 8 rows on. Four of them have the columns 2 t, 2 t + 8, 2 t + 1 and 2 t + 9 of a tile. */
template <int dtype> struct integer_unit : code_unit<dtype> {
    using format = code_format<dtype>;
    static_assert(vug_cuda_takes_integers((vug_dtype)dtype) && format::bits < 8, "");
    static constexpr bool is_integer = true;
    static constexpr bool is_signed = format::zero != 0;
    /* Sums of products times these, and the scale of x, have the value of codes. */
    static constexpr float first_scale = format::bits == 6 ? 0.25f
                                         : is_signed       ? 0.0625f
                                                           : 1,
                           second_scale = format::bits == 6 ? 0.25f : 0.0625f;

    /* The codes of a tile in the lane's first row, and 8 rows on. */
    __device__ __forceinline__ uint2 row_codes(int s) const
    {
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

    /* The sums p of a block, in its first row and 8 rows on, in units of the scale of x; x: of its tiles. */
    __device__ __forceinline__ int2 multiply(int s, uint32_t x, uint32_t next_x) const
    {
        int c[4] = {};
        const uint2 first = row_codes(s);
        if constexpr (format::block_tiles == 1) {
            multiply_add(c, first, x);
        } else {
            const uint2 second = row_codes(s + 1);
            const uint4 a = make_uint4(first.x, first.y, second.x, second.y);
            if constexpr (is_signed)
                multiply_add(c, a, make_uint2(x, next_x));
            else
                multiply_add_unsigned(c, a, make_uint2(x, next_x));
        }
        /* Lane 4 g + t has columns 2 t and 2 t + 1: the high and the low bytes of x. */
        return make_int2(c[0] * 256 + c[1], c[2] * 256 + c[3]);
    }
};

#endif
