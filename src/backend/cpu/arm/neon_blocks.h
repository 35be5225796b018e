#ifndef VUG_BACKEND_CPU_ARM_NEON_BLOCKS_H
#define VUG_BACKEND_CPU_ARM_NEON_BLOCKS_H

/*
 * What the kernels of quantized weights share, for NEON, with and without the instructions that
 * multiply four bytes at once. A lane of a sum has every eighth block, so four blocks of a row give one
 * vector of terms, for lanes 0 .. 3 or 4 .. 7. Each format defines how the integers of a block are
 * unpacked to signed bytes and how its scales are read; these headers do the rest.
 *
 * A row may end within a group of eight blocks. What exists of such a group is copied to a whole one,
 * so that formats need not know.
 *
 * Every function here is inlined, so that the format and `at` are constants there.
 */
#include "backend/cpu/arm/neon_vectors.h"

enum {
    BLOCK = 32,            /* weights */
    HALF = 16,             /* of them */
    GROUP = 8,             /* blocks, one per lane */
    UNIT = 4,              /* blocks of a vector of terms */
    MAX_GROUP_BYTES = 272, /* of any format */
};

/* Blocks first .. first + n - 1 of a row of weights, 1 <= n <= 8. */
typedef struct {
    const uint8_t *w;            /* the first block; all eight can be read */
    const uint8_t *scale, *bias; /* of the whole row, in formats with separate scales */
    const vug_scales *scales;
    int64_t first;
    int n;
} neon_group;

/* Integers 0 .. 15 and 16 .. 31 of a block. */
typedef struct {
    int8x16_t first, second;
} neon_halves;

/* Unpacks block `j` of the eight that begin at `w`. */
typedef neon_halves neon_unpack_fn(const uint8_t *w, int64_t j);

/* A number for each of blocks at .. at + 3 of the group. */
typedef float32x4_t neon_floats_fn(const neon_group *g, int at);

/* Two integers for each of the eight blocks that begin at `w`, one per half. */
typedef int8x16_t neon_bytes_fn(const uint8_t *w);

/* A quantized format; see vug_block. */
typedef struct {
    int bytes;                 /* of 256 weights */
    int zero;                  /* the integer of a weight is the unpacked one minus this */
    bool may_end_within_group; /* a row may end within a group, as blocks have 32 weights */
    bool has_separate_scales;  /* scales are stored apart from the integers */
    bool one_factor;           /* both halves of a block have the same factor */
    neon_unpack_fn *unpack;
    neon_floats_fn *scale, *offset;    /* offset NULL: offsets are 0 */
    neon_bytes_fn *factors, *minimums; /* NULL: all are 1 */
} neon_format;

/* ---- reading ---------------------------------------------------------------- */

INLINE uint16_t word_at(const uint8_t *w)
{
    uint16_t x;
    memcpy(&x, w, sizeof(x));
    return x;
}

INLINE uint32_t dword_at(const uint8_t *w)
{
    uint32_t x;
    memcpy(&x, w, sizeof(x));
    return x;
}

INLINE uint8x16_t load_8(const uint8_t *w)
{
    return vcombine_u8(vld1_u8(w), vdup_n_u8(0));
}

INLINE float32x4_t widen_halves(uint16x4_t halves)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(halves));
}

/* The F16 numbers `offset` bytes into each of blocks at .. at + 3 of `stride` bytes. */
INLINE float32x4_t strided_halves(const neon_group *g, int at, int64_t stride, int64_t offset)
{
    const uint8_t *w = g->w + at * stride + offset;
    uint16x4_t halves = vdup_n_u16(word_at(w));
    halves = vset_lane_u16(word_at(w + stride), halves, 1);
    halves = vset_lane_u16(word_at(w + 2 * stride), halves, 2);
    halves = vset_lane_u16(word_at(w + 3 * stride), halves, 3);
    return widen_halves(halves);
}

/* One F16 number for all blocks. */
INLINE float32x4_t one_half(const neon_group *g, int64_t offset)
{
    return widen_halves(vdup_n_u16(word_at(g->w + offset)));
}

/* ---- nibbles ---------------------------------------------------------------- */

INLINE uint8x16_t lower_nibbles(uint8x16_t bytes)
{
    return vandq_u8(bytes, vdupq_n_u8(15));
}

INLINE uint8x16_t upper_nibbles(uint8x16_t bytes)
{
    return vshrq_n_u8(bytes, 4);
}

/* The integers first[i] - zero and second[i] - zero. */
INLINE neon_halves centred(uint8x16_t first, uint8x16_t second, int8_t zero)
{
    return (neon_halves){ vsubq_s8(vreinterpretq_s8_u8(first), vdupq_n_s8(zero)),
                          vsubq_s8(vreinterpretq_s8_u8(second), vdupq_n_s8(zero)) };
}

/* 16 bytes: the lower nibbles are the first half of a block, the upper ones the second. */
INLINE neon_halves split_nibbles(const uint8_t *w, int8_t zero)
{
    const uint8x16_t bytes = vld1q_u8(w);
    return centred(lower_nibbles(bytes), upper_nibbles(bytes), zero);
}

/* E2M1 values times two. */
static const int8_t e2m1_values[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };
static const int8_t iq4_values[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113 };

INLINE neon_halves look_up(const int8_t *values, neon_halves nibbles)
{
    const int8x16_t table = vld1q_s8(values);
    return (neon_halves){ vqtbl1q_s8(table, vreinterpretq_u8_s8(nibbles.first)),
                          vqtbl1q_s8(table, vreinterpretq_u8_s8(nibbles.second)) };
}

/* ---- products --------------------------------------------------------------- */

/* sum[j] + the products of bytes 4 j .. 4 j + 3 of two vectors. */
INLINE int32x4_t add_products(int32x4_t sum, int8x16_t w, int8x16_t x)
{
#if defined(__ARM_FEATURE_DOTPROD)
    return vdotq_s32(sum, w, x);
#else
    const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(x));
    return vpadalq_s16(sum, vpaddq_s16(low, vmull_high_s8(w, x)));
#endif
}

/* What is multiplied with the sums of four blocks. Fields that a format does not use are not set. */
typedef struct {
    float32x4_t scale, offset;
    int32x4_t factor[2]; /* of each half; one_factor: only the first */
    int16x8_t minimum;   /* two for each block */
} neon_unit_scales;

/* The two numbers for each of blocks at .. at + 3. */
INLINE int16x8_t words_of_unit(int8x16_t bytes, int at)
{
    return at ? vmovl_high_s8(bytes) : vmovl_s8(vget_low_s8(bytes));
}

INLINE neon_unit_scales scales_of(const neon_group *g, int at, const neon_format *f)
{
    neon_unit_scales s;
    s.scale = f->scale(g, at);
    if (f->offset)
        s.offset = f->offset(g, at);
    if (f->minimums)
        s.minimum = words_of_unit(f->minimums(g->w), at);
    if (f->factors) {
        const int16x8_t words = words_of_unit(f->factors(g->w), at);
        s.factor[0] = vmovl_s16(vget_low_s16(vuzp1q_s16(words, words)));
        if (!f->one_factor)
            s.factor[1] = vmovl_s16(vget_low_s16(vuzp2q_s16(words, words)));
    }
    return s;
}

/* What four blocks add to their lanes, before the scale of x: `p` are the sums of products, each half
 * multiplied by its factor, `sums` the sums of x over both halves of each block. */
INLINE float32x4_t unit_terms(const neon_format *f, const neon_unit_scales *s, int32x4_t p,
                              int16x8_t sums)
{
    if (f->zero)
        p = vmlsq_n_s32(p, vpaddlq_s16(sums), f->zero);
    if (!f->offset)
        return vmulq_f32(s->scale, vcvtq_f32_s32(p));
    int32x4_t minimums = vpaddlq_s16(sums);
    if (f->minimums)
        minimums = vpaddq_s32(vmull_s16(vget_low_s16(s->minimum), vget_low_s16(sums)),
                              vmull_high_s16(s->minimum, sums));
    return vfmaq_f32(vmulq_f32(s->offset, vcvtq_f32_s32(minimums)), s->scale, vcvtq_f32_s32(p));
}

/* The sums of four vectors. */
INLINE int32x4_t join_blocks(const int32x4_t *p)
{
    return vpaddq_s32(vpaddq_s32(p[0], p[1]), vpaddq_s32(p[2], p[3]));
}

/* ---- rows ------------------------------------------------------------------- */

/* The size of a scale in bytes. */
INLINE int64_t scale_bytes(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_F32 ? 4 : dtype == VUG_DTYPE_E8M0 ? 1 : 2;
}

/* The first group of a row; `scales` describes its separate scales. */
INLINE neon_group row_of(const vug_matrix *w, int64_t row, const neon_format *f,
                         const vug_scales *scales)
{
    const vug_scales *s = &w->scales;
    const int64_t stride = w->columns / BLOCK * f->bytes / GROUP;
    neon_group g = { .w = w->data + row * stride, .scales = scales, .n = GROUP };
    if (f->has_separate_scales) {
        const int64_t at = row / s->rows * s->stride * scale_bytes(s->dtype);
        g.scale = s->scale + at;
        g.bias = s->bias ? s->bias + at : NULL;
    }
    return g;
}

INLINE void next_group(neon_group *g, const neon_format *f)
{
    g->w += f->bytes;
    g->first += GROUP;
}

/* The blocks at the end of a row, fewer than eight, whose weights are copied. */
INLINE void end_group(neon_group *g, const neon_format *f, int n, uint8_t *copy)
{
    memset(copy, 0, MAX_GROUP_BYTES);
    memcpy(copy, g->w, (size_t)(f->bytes / GROUP) * (size_t)n);
    g->w = copy;
    g->n = n;
}

/* Prefetches the weights that follow. */
INLINE void prefetch_group(const neon_group *g, const neon_format *f)
{
    enum { GROUP_AHEAD = 1024 };
    for (int i = 0; i < f->bytes; i += LINE)
        __builtin_prefetch(g->w + GROUP_AHEAD + i);
}

/* The sums of the lanes of four rows, in order, from 0. */
INLINE float32x4_t sum_lanes(const eight_lanes *s)
{
    float32x4_t lane[LANES], y = vdupq_n_f32(0);
    transpose_lanes(s, lane);
    for (int j = 0; j < LANES; j++)
        y = vaddq_f32(y, lane[j]);
    return y;
}

#endif
