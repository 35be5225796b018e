#ifndef VUG_ENGINE_TOKEN_MASS_H
#define VUG_ENGINE_TOKEN_MASS_H

/*
 * The masses of tokens: probabilities relative to the best token, as integers. Their sums do not
 * depend on any order. The mass of a logit l is
 *
 *     y = max((l - best) * scale, -42) in F32, scale = log2(e) / temperature
 *     mass = 2^40 * 2^y to the nearest integer
 *
 * with 2^y by a polynomial, within 2e-7. NaN counts as -infinity.
 *
 * Four tokens go through one vector of GNU C, which compilers map to any instruction set with the
 * same bits: no operation is fused, and every one is that of IEEE 754.
 */

#include <stdint.h>
#include <string.h>

#define VUG_MASS_ONE         (UINT64_C(1) << 40) /* of the best token */
#define VUG_MASS_MIN_OCTAVES (-42.0f)            /* less has no mass */

/* Bins for histograms of distances in octaves. */
#define VUG_MASS_BINS_PER_OCTAVE 256
enum { VUG_MASS_BINS = 42 * VUG_MASS_BINS_PER_OCTAVE + 1 };

typedef __attribute__((vector_size(16))) float vug_f32x4;
typedef __attribute__((vector_size(16))) int32_t vug_i32x4;
typedef __attribute__((vector_size(32))) double vug_f64x4;
typedef __attribute__((vector_size(16))) uint32_t vug_u32x4;
typedef __attribute__((vector_size(32))) uint64_t vug_u64x4;

static inline vug_f32x4 vug_f32x4_of(float x)
{
    return (vug_f32x4){ x, x, x, x };
}

static inline vug_f32x4 vug_f32x4_load(const float *x)
{
    vug_f32x4 v;
    memcpy(&v, x, sizeof(v));
    return v;
}

/* a where the mask has all bits, b where it has none. */
static inline vug_f32x4 vug_f32x4_choose(vug_i32x4 mask, vug_f32x4 a, vug_f32x4 b)
{
    return (vug_f32x4)((((vug_i32x4)a ^ (vug_i32x4)b) & mask) ^ (vug_i32x4)b);
}

/* The unit of masses: the best logit, and octaves (factors of two) per difference of 1. */
typedef struct {
    float best, scale;
} vug_mass_unit;

/* y of four logits. */
static inline vug_f32x4 vug_mass_octaves(vug_f32x4 logit, vug_mass_unit unit)
{
    const vug_f32x4 y = (logit - vug_f32x4_of(unit.best)) * vug_f32x4_of(unit.scale);
    const vug_f32x4 min = vug_f32x4_of(VUG_MASS_MIN_OCTAVES);
    return vug_f32x4_choose(y > min, y, min);
}

/* The masses of four y. Adding 1.5 * 2^23 rounds to an integer; the polynomial for 2^f, |f| <= 1/2,
 * is a fit of the least relative error that is exact at 0. Adding 1.5 * 2^12 in double rounds to a
 * multiple of 2^-40 and leaves it in the low bits. */
static inline void vug_mass_of_octaves(vug_f32x4 y, vug_u64x4 *mass)
{
    const vug_f32x4 shifted = y + 0x1.8p23f;
    const vug_f32x4 f = y - (shifted - 0x1.8p23f);
    vug_f32x4 p = 0x1.5bba14p-10f * f + 0x1.3cea88p-7f;
    p = p * f + 0x1.c6b752p-5f;
    p = p * f + 0x1.ebf9bcp-3f;
    p = p * f + 0x1.62e42ap-1f;
    p = p * f + 1.0f;
    const vug_f32x4 power = (vug_f32x4)((vug_u32x4)p + ((vug_u32x4)shifted << 23));
    const vug_f64x4 rounded = __builtin_convertvector(power, vug_f64x4) + 0x1.8p12;
    *mass = (vug_u64x4)rounded - UINT64_C(0x40b8000000000000);
}

/* The bins of |y - center|, center from VUG_MASS_MIN_OCTAVES to 0. */
static inline vug_i32x4 vug_mass_bins(vug_f32x4 y, float center)
{
    const vug_f32x4 distance = y - vug_f32x4_of(center);
    const vug_f32x4 size = (vug_f32x4)((vug_i32x4)distance & INT32_MAX);
    return __builtin_convertvector(size * (float)VUG_MASS_BINS_PER_OCTAVE, vug_i32x4);
}

#endif
