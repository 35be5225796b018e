/*
 * The formats of MLX: integers of 2 to 8 bits as one bit stream per row, with the scale and the
 * bias of each group in separate tensors; and its mxfp4. MLX's own code is quantize in
 * mlx/ops.cpp.
 */
#include <math.h>

#include "quant/codec.h"
#include "quant/quantize.h"
#include "quant/quantize_search.h"

enum { MAX_GROUP = 128 };

static int bits_of(vug_dtype dtype)
{
    return vug_dtype_of(dtype)->bytes * 8 / vug_dtype_of(dtype)->elements;
}

bool vug_mlx_format_valid(const vug_mlx_format *f)
{
    const bool sizes = f->group == 32 || f->group == 64 || f->group == MAX_GROUP;
    if (f->dtype == VUG_DTYPE_MLX_FP4)
        return f->group == VUG_BLOCK && f->scales == VUG_DTYPE_E8M0;
    return f->dtype >= VUG_DTYPE_MLX2 && f->dtype <= VUG_DTYPE_MLX8 && sizes &&
           (f->scales == VUG_DTYPE_F32 || f->scales == VUG_DTYPE_F16 ||
            f->scales == VUG_DTYPE_BF16);
}

/* MLX's own rounding: the end of the data that is farther from 0 is represented exactly, the
 * other end approximately. */
static void fit_as_mlx(const vug_quant_span *span, float most, float *s, float *o)
{
    const vug_span_range e = vug_span_find_range(span);
    const bool low = fabsf(e.least) > fabsf(e.most);
    const float edge = low ? e.least : e.most;
    *s = fmaxf((e.most - e.least) / most, 1e-7f);
    if (!low)
        *s = -*s;
    const float q = rintf(edge / *s);
    *o = 0;
    if (q != 0) {
        *s = edge / q;
        *o = edge;
    }
}

/* Rounding to a format with few bits moves a scale or a bias by a good part of a step, so the
 * eight neighbours are tried, too. */
static void try_neighbours(vug_scale_fit *best, const vug_quant_span *span,
                           const vug_quant_levels *levels, vug_dtype format)
{
    const float near = format == VUG_DTYPE_BF16 ? 0x1.7p-8f : 0x1.7p-11f;
    for (int round = 0; round < 4; round++) {
        vug_fit_candidates c;
        for (int i = 0, at = 0; i < 9; i++) {
            if (i == 4)
                continue; /* the current fit */
            const int s = i / 3 - 1, o = i % 3 - 1;
            c.s[at] = vug_scale_round(format, best->s * (1 + near * (float)s));
            c.o[at++] = vug_scale_round(format, best->o * (1 + near * (float)o));
        }
        if (!vug_fit_try_candidates(best, span, levels, &c))
            return;
    }
}

static vug_scale_fit search_group(const vug_quant_span *span, const vug_quant_levels *levels,
                                  vug_dtype format)
{
    /* With few levels the ends of the best range lie well inside the data. */
    const bool few = levels->most < 8;
    const vug_search_grid grid = { few ? 0 : -0.7f, few ? 1 : 0.7f, 4, 3, false };
    float s, o;
    fit_as_mlx(span, levels->most, &s, &o);
    vug_scale_fit best = vug_search_affine(span, levels, &grid, format);
    (void)vug_fit_try(&best, span, levels, vug_scale_round(format, s), vug_scale_round(format, o));
    if (format != VUG_DTYPE_F32)
        try_neighbours(&best, span, levels, format);
    return best;
}

/* Element k of the group takes bits [k b, (k + 1) b) from `to` on. A group ends at a byte. */
static void put_bits(const int8_t *q, int n, int bits, uint8_t *to)
{
    uint32_t held = 0;
    int n_held = 0;
    for (int k = 0; k < n; k++) {
        held |= (uint32_t)(uint8_t)q[k] << n_held;
        n_held += bits;
        for (; n_held >= 8; n_held -= 8, held >>= 8)
            *to++ = (uint8_t)held;
    }
}

/* With 8 bits q does not fit int8_t, so it is computed shifted by half the levels. */
static void assign_unsigned(const vug_quant_span *span, const vug_quant_levels *levels, float s,
                            float o, int8_t *q)
{
    const float middle = rintf((levels->most + 1) / 2);
    const vug_quant_levels shifted = { -middle, levels->most - middle, false };
    vug_span_assign(span, &shifted, s, o + middle * s, q);
    for (int k = 0; k < span->n; k++)
        q[k] = (int8_t)(uint8_t)(q[k] + (int)middle);
}

void vug_quantize_mlx(const vug_mlx_format *f, const float *x, const float *importance, int64_t n,
                      uint8_t *dst, uint8_t *scale, uint8_t *bias)
{
    const int bits = bits_of(f->dtype);
    const vug_quant_levels levels = { 0, (float)((1 << bits) - 1), false };
    const vug_codec *stored = vug_codec_of(f->scales);
    const int stored_bytes = vug_dtype_of(f->scales)->bytes;
    for (int64_t at = 0; at < n; at += f->group) {
        float to[MAX_GROUP], w[MAX_GROUP];
        int8_t q[MAX_GROUP];
        const float *weight = importance ? importance + at : NULL;
        if (f->dtype == VUG_DTYPE_MLX_FP4) {
            *scale++ = vug_quantize_mxfp4(x + at, weight, q);
        } else {
            vug_span_prepare(x + at, weight, f->group, to, w);
            const vug_quant_span span = { to, w, f->group };
            vug_scale_fit fit = { 0 };
            if (f->plain)
                fit_as_mlx(&span, levels.most, &fit.s, &fit.o);
            else
                fit = search_group(&span, &levels, f->scales);
            assign_unsigned(&span, &levels, fit.s, fit.o, q);
            stored->encode(&fit.s, scale, 1);
            stored->encode(&fit.o, bias, 1);
            scale += stored_bytes;
            bias += stored_bytes;
        }
        put_bits(q, f->group, bits, dst);
        dst += f->group * bits / 8;
    }
}
