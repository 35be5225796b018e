/*
 * Quantizes rows to ggml's block formats with one scale per block. quantize_k.c quantizes
 * super-blocks, quantize_mlx.c the groups of MLX, quantize_search.c searches for scales.
 */
#include "quant/quantize.h"

#include <math.h>

#include "quant/codec.h"
#include "quant/quantize_search.h"

/* ---- blocks of 32 -------------------------------------------------------------------------- */

enum { BLOCK = VUG_BLOCK };

/* Byte e holds weights e and e + 16. */
static void put_nibbles(const int8_t *q, uint8_t *to)
{
    for (int e = 0; e < BLOCK / 2; e++)
        to[e] = (uint8_t)((q[e] & 15) | (q[e + BLOCK / 2] & 15) << 4);
}

static void put_fifth_bits(const int8_t *q, uint8_t *to)
{
    uint32_t bits = 0;
    for (int e = 0; e < BLOCK; e++)
        bits |= ((uint32_t)q[e] >> 4 & 1) << e;
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(bits >> 8 * i);
}

typedef struct {
    vug_quant_levels levels;
    vug_search_grid grid;
    bool affine;
} block_recipe;

static const block_recipe recipes[VUG_DTYPE_COUNT] = {
    [VUG_DTYPE_Q4_0] = { { -8, 7, false }, { 6, 9.5f, 8, 2, true }, false },
    [VUG_DTYPE_Q5_0] = { { -16, 15, false }, { 13, 16.5f, 8, 2, true }, false },
    [VUG_DTYPE_Q8_0] = { { -127, 127, false }, { 120, 127, 8, 1, false }, false },
    [VUG_DTYPE_IQ4_NL] = { { -127, 113, true }, { 97, 139, 8, 2, true }, false },
    [VUG_DTYPE_Q4_1] = { { 0, 15, false }, { -0.7f, 0.7f, 4, 3, false }, true },
    [VUG_DTYPE_Q5_1] = { { 0, 31, false }, { -0.7f, 0.7f, 4, 3, false }, true },
};

static void pack_block(vug_dtype dtype, const vug_scale_fit *fit, int8_t *q, uint8_t *dst)
{
    vug_put_f16(fit->s, dst);
    switch (dtype) {
    case VUG_DTYPE_Q4_0:
        for (int e = 0; e < BLOCK; e++)
            q[e] = (int8_t)(q[e] + 8);
        put_nibbles(q, dst + 2);
        break;
    case VUG_DTYPE_Q4_1:
        vug_put_f16(fit->o, dst + 2);
        put_nibbles(q, dst + 4);
        break;
    case VUG_DTYPE_Q5_0:
        for (int e = 0; e < BLOCK; e++)
            q[e] = (int8_t)(q[e] + 16);
        put_fifth_bits(q, dst + 2);
        put_nibbles(q, dst + 6);
        break;
    case VUG_DTYPE_Q5_1:
        vug_put_f16(fit->o, dst + 2);
        put_fifth_bits(q, dst + 4);
        put_nibbles(q, dst + 8);
        break;
    case VUG_DTYPE_Q8_0:
        memcpy(dst + 2, q, BLOCK);
        break;
    default: /* IQ4_NL */
        put_nibbles(q, dst + 2);
        break;
    }
}

static void quantize_block(vug_dtype dtype, const vug_quant_span *span, uint8_t *dst)
{
    const block_recipe *r = &recipes[dtype];
    const vug_scale_fit fit = r->affine
                                      ? vug_search_affine(span, &r->levels, &r->grid, VUG_DTYPE_F16)
                                      : vug_search_scale(span, &r->levels, &r->grid, VUG_DTYPE_F16);
    int8_t q[BLOCK];
    vug_span_assign(span, &r->levels, fit.s, fit.o, q);
    pack_block(dtype, &fit, q, dst);
}

/* ---- MXFP4: the scale is a power of two ------------------------------------------------------ */

/* Rounds |x| to twice a magnitude of E2M1, 0 1 2 3 4 6 8 12, and gives its code. */
static inline float round_e2m1(float x, float *code)
{
    const float a = fabsf(x);
    const float p = (float)(a > 0.5f) + (float)(a > 1.5f) + (float)(a > 2.5f) + (float)(a > 3.5f) +
                    (float)(a > 5) + (float)(a > 7) + (float)(a > 10);
    *code = p;
    return p + (float)(a > 5) + (float)(a > 7) + (float)(a > 10) * 3;
}

static float mxfp4_error(const vug_quant_span *span, float s)
{
    float sum[8] = { 0 }, code;
    for (int i = 0; i < BLOCK; i += 8) {
        for (int j = 0; j < 8; j++) {
            const float x = span->x[i + j];
            const float e = fabsf(x) - s * round_e2m1(x / s, &code);
            sum[j] += span->w[i + j] * e * e;
        }
    }
    float total = 0;
    for (int j = 0; j < 8; j++)
        total += sum[j];
    return total;
}

/* With a larger byte the value 6 would be infinite in F32. */
enum { MAX_SCALE_BYTE = 252 };

/* The byte of the scale, for values with a largest magnitude from 1/2 up to 1, times
 * 2^exponent. The scale is 2^(byte - 128) in the units of round_e2m1. */
static int mxfp4_scale(const vug_quant_span *span, int exponent)
{
    /* 12 steps reach the largest magnitude at 2^-4 .. 2^-3; larger values are clamped. */
    int best = exponent + 128 - 4;
    float least = INFINITY;
    for (int k = -6; k <= -2; k++) {
        const float error = mxfp4_error(span, ldexpf(1, k));
        const int stored = exponent + k + 128;
        if (error < least && stored >= 0 && stored <= MAX_SCALE_BYTE) {
            least = error;
            best = stored;
        }
    }
    return best < 0 ? 0 : best < MAX_SCALE_BYTE ? best : MAX_SCALE_BYTE;
}

uint8_t vug_quantize_mxfp4(const float *x, const float *importance, int8_t *q)
{
    float scaled[BLOCK], to[BLOCK], w[BLOCK], largest = 0;
    int exponent = 0;
    for (int e = 0; e < BLOCK; e++) {
        to[e] = isfinite(x[e]) ? x[e] : 0;
        largest = fmaxf(largest, fabsf(to[e]));
    }
    (void)frexpf(largest, &exponent);
    for (int e = 0; e < BLOCK; e++)
        scaled[e] = ldexpf(to[e], -exponent);
    vug_span_prepare(scaled, importance, BLOCK, to, w);
    const int byte = mxfp4_scale(&(vug_quant_span){ to, w, BLOCK }, exponent);
    for (int e = 0; e < BLOCK; e++) {
        float code;
        (void)round_e2m1(ldexpf(to[e], exponent + 128 - byte), &code);
        q[e] = (int8_t)((int)code | (to[e] < 0 && code > 0 ? 8 : 0));
    }
    return (uint8_t)byte;
}

/* ---- rows --------------------------------------------------------------------------------- */

static bool is_super_block(vug_dtype dtype)
{
    return vug_dtype_of(dtype)->elements == VUG_SUPER_BLOCK;
}

bool vug_can_quantize(vug_dtype dtype)
{
    return recipes[dtype].grid.n > 0 || dtype == VUG_DTYPE_MXFP4 || is_super_block(dtype);
}

void vug_quantize_row(vug_dtype dtype, const float *x, const float *importance, int64_t n,
                      uint8_t *dst)
{
    const vug_dtype_info *info = vug_dtype_of(dtype);
    float to[VUG_SUPER_BLOCK], w[VUG_SUPER_BLOCK];
    for (int64_t at = 0; at < n; at += info->elements, dst += info->bytes) {
        const float *weight = importance ? importance + at : NULL;
        if (dtype == VUG_DTYPE_MXFP4) {
            int8_t q[BLOCK];
            dst[0] = vug_quantize_mxfp4(x + at, weight, q);
            put_nibbles(q, dst + 1);
            continue;
        }
        vug_span_prepare(x + at, weight, info->elements, to, w);
        if (is_super_block(dtype))
            vug_quantize_super_block(dtype, to, w, dst);
        else
            quantize_block(dtype, &(vug_quant_span){ to, w, BLOCK }, dst);
    }
}

int64_t vug_first_nonfinite(const float *x, int64_t n)
{
    int64_t i = 0;
    while (i < n && isfinite(x[i]))
        i++;
    return i;
}
