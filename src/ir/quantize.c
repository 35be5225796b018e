/*
 * Quantizers of blocks with one scale: the candidates for it, and how the blocks are put
 * together (layouts: the ggml block formats). Super-blocks are in quantize_k.c, MLX's
 * groups in quantize_mlx.c.
 */
#include "ir/quantize.h"

#include <math.h>

#include "ir/quantize_search.h"

/* ---- searches ---------------------------------------------------------------------------- */

vug_fit vug_search_scale(const vug_span *span, const vug_levels *levels, const vug_grid *grid,
                         vug_dtype format)
{
    const vug_extent extent = vug_span_extent(span);
    const float largest = fmaxf(-extent.least, extent.most);
    const float step = (grid->last - grid->first) / (float)(grid->n - 1);
    const int signs = grid->both_signs ? 2 : 1;
    vug_fit best = vug_fit_flat(span, 0);
    vug_eight c = { 0 };
    for (int i = 0, at = 0; i < grid->n; i++) {
        const float s = vug_scale_round(format, largest / (grid->first + (float)i * step));
        c.s[at++] = s;
        if (signs == 2)
            c.s[at++] = -s;
        if (at == 8) {
            (void)vug_fit_best(&best, span, levels, &c);
            at = 0;
        }
    }
    for (int i = 0; i < grid->polish; i++) {
        const vug_moments m = vug_span_moments(span, levels, best.s, 0);
        if (!(m.qq > 0) ||
            !vug_fit_try(&best, span, levels, vug_scale_round(format, m.qx / m.qq), 0))
            break;
    }
    return best;
}

/* Least squares for the q that `best` gives: the slope, rounded, and the offset that then
 * fits best, rounded. */
static bool polish_affine(vug_fit *best, const vug_span *span, const vug_levels *levels,
                          vug_dtype format, float sum_w, float sum_wx)
{
    const vug_moments m = vug_span_moments(span, levels, best->s, best->o);
    const float d = sum_w * m.qq - m.q * m.q;
    if (!(d > 0))
        return false;
    const float s = vug_scale_round(format, (sum_w * m.qx - m.q * sum_wx) / d);
    const float o = vug_scale_round(format, (sum_wx - s * m.q) / sum_w);
    return vug_fit_try(best, span, levels, s, o);
}

vug_fit vug_search_affine(const vug_span *span, const vug_levels *levels, const vug_grid *grid,
                          vug_dtype format)
{
    const vug_extent extent = vug_span_extent(span);
    const float range = extent.most - extent.least, most = levels->most;
    float sum_w = 0, sum_wx = 0;
    for (int i = 0; i < span->n; i++) {
        sum_w += span->w[i];
        sum_wx += span->w[i] * span->x[i];
    }
    vug_fit best = vug_fit_flat(span, vug_scale_round(format, sum_wx / sum_w));
    const float plain = vug_scale_round(format, range / most);
    (void)vug_fit_try(&best, span, levels, plain, vug_scale_round(format, extent.least));
    /* How far the ends of the scale lie inside those of the data, in steps. */
    const float step = (grid->last - grid->first) / (float)(grid->n - 1);
    vug_eight c;
    const int pairs = grid->n * grid->n;
    for (int i = 0; i < (pairs + 7) / 8 * 8; i++) {
        const int pair = i < pairs ? i : pairs - 1, row = pair / grid->n, column = pair % grid->n;
        const float a = grid->first + (float)row * step, b = grid->first + (float)column * step;
        const float s = vug_scale_round(format, range / (most + a + b));
        c.s[i % 8] = s;
        c.o[i % 8] = vug_scale_round(format, extent.least + a * s);
        if (i % 8 == 7)
            (void)vug_fit_best(&best, span, levels, &c);
    }
    for (int i = 0; i < grid->polish; i++) {
        if (!polish_affine(&best, span, levels, format, sum_w, sum_wx))
            break;
    }
    return best;
}

/* ---- blocks of 32 -------------------------------------------------------------------------- */

enum { BLOCK = VUG_BLOCK };

static void put_f16(float x, uint8_t *to)
{
    vug_dtype_of(VUG_DTYPE_F16)->encode(&x, to, 1);
}

/* Weights e and e + 16 share byte e. */
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
    vug_levels levels;
    vug_grid grid;
    bool affine;
} recipe;

static const recipe recipes[VUG_DTYPE_COUNT] = {
    [VUG_DTYPE_Q4_0] = { { -8, 7, false }, { 6, 9.5f, 8, 2, true }, false },
    [VUG_DTYPE_Q5_0] = { { -16, 15, false }, { 13, 16.5f, 8, 2, true }, false },
    [VUG_DTYPE_Q8_0] = { { -127, 127, false }, { 120, 127, 8, 1, false }, false },
    [VUG_DTYPE_IQ4_NL] = { { -127, 113, true }, { 97, 139, 8, 2, true }, false },
    [VUG_DTYPE_Q4_1] = { { 0, 15, false }, { -0.7f, 0.7f, 4, 3, false }, true },
    [VUG_DTYPE_Q5_1] = { { 0, 31, false }, { -0.7f, 0.7f, 4, 3, false }, true },
};

static void put_block(vug_dtype dtype, const vug_fit *fit, int8_t *q, uint8_t *dst)
{
    put_f16(fit->s, dst);
    switch (dtype) {
    case VUG_DTYPE_Q4_0:
        for (int e = 0; e < BLOCK; e++)
            q[e] = (int8_t)(q[e] + 8);
        put_nibbles(q, dst + 2);
        break;
    case VUG_DTYPE_Q4_1:
        put_f16(fit->o, dst + 2);
        put_nibbles(q, dst + 4);
        break;
    case VUG_DTYPE_Q5_0:
        for (int e = 0; e < BLOCK; e++)
            q[e] = (int8_t)(q[e] + 16);
        put_fifth_bits(q, dst + 2);
        put_nibbles(q, dst + 6);
        break;
    case VUG_DTYPE_Q5_1:
        put_f16(fit->o, dst + 2);
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

static void quantize_block(vug_dtype dtype, const vug_span *span, uint8_t *dst)
{
    const recipe *r = &recipes[dtype];
    const vug_fit fit = r->affine ? vug_search_affine(span, &r->levels, &r->grid, VUG_DTYPE_F16)
                                  : vug_search_scale(span, &r->levels, &r->grid, VUG_DTYPE_F16);
    int8_t q[BLOCK];
    vug_span_assign(span, &r->levels, fit.s, fit.o, q);
    put_block(dtype, &fit, q, dst);
}

/* ---- MXFP4: the scale is a power of two ------------------------------------------------------ */

/* Twice the magnitudes that E2M1 has: 0 1 2 3 4 6 8 12, by their place. */
static inline float e2m1(float x, float *place)
{
    const float a = fabsf(x);
    const float p = (float)(a > 0.5f) + (float)(a > 1.5f) + (float)(a > 2.5f) + (float)(a > 3.5f) +
                    (float)(a > 5) + (float)(a > 7) + (float)(a > 10);
    *place = p;
    return p + (float)(a > 5) + (float)(a > 7) + (float)(a > 10) * 3;
}

static float mxfp4_error(const vug_span *span, float s)
{
    float sum[8] = { 0 }, place;
    for (int i = 0; i < BLOCK; i += 8) {
        for (int j = 0; j < 8; j++) {
            const float x = span->x[i + j];
            const float e = fabsf(x) - s * e2m1(x / s, &place);
            sum[j] += span->w[i + j] * e * e;
        }
    }
    float total = 0;
    for (int j = 0; j < 8; j++)
        total += sum[j];
    return total;
}

/* With a larger byte 6 would be infinite in F32. */
enum { MOST_BYTE = 252 };

/* Of values whose largest magnitude is from 1/2 up to 1, times 2^exponent: the byte of the
 * scale, 2^(byte - 128) of what e2m1 counts in. */
static int mxfp4_scale(const vug_span *span, int exponent)
{
    /* 12 levels reach the largest at 2^-4 .. 2^-3; what lies beyond is cut off. */
    int best = exponent + 128 - 4;
    float least = INFINITY;
    for (int k = -6; k <= -2; k++) {
        const float error = mxfp4_error(span, ldexpf(1, k));
        const int stored = exponent + k + 128;
        if (error < least && stored >= 0 && stored <= MOST_BYTE) {
            least = error;
            best = stored;
        }
    }
    return best < 0 ? 0 : best < MOST_BYTE ? best : MOST_BYTE;
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
    vug_span_take(scaled, importance, BLOCK, to, w);
    const int byte = mxfp4_scale(&(vug_span){ to, w, BLOCK }, exponent);
    for (int e = 0; e < BLOCK; e++) {
        float place;
        (void)e2m1(ldexpf(to[e], exponent + 128 - byte), &place);
        q[e] = (int8_t)((int)place | (to[e] < 0 && place > 0 ? 8 : 0));
    }
    return (uint8_t)byte;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static bool is_super_block(vug_dtype dtype)
{
    return vug_dtype_of(dtype)->elements == VUG_SUPER_BLOCK;
}

bool vug_quantizes(vug_dtype dtype)
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
        vug_span_take(x + at, weight, info->elements, to, w);
        if (is_super_block(dtype))
            vug_quantize_super_block(dtype, to, w, dst);
        else
            quantize_block(dtype, &(vug_span){ to, w, BLOCK }, dst);
    }
}

int64_t vug_finite(const float *x, int64_t n)
{
    int64_t i = 0;
    while (i < n && isfinite(x[i]))
        i++;
    return i;
}
