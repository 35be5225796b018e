/*
 * MLX's formats: whole numbers of 2 to 8 bits as one stream of bits per row, with a scale
 * and a bias for each group in tensors of their own; and its mxfp4. What MLX itself does is
 * in its mlx/ops.cpp, quantize.
 */
#include <math.h>

#include "ir/quantize.h"
#include "ir/quantize_search.h"

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

/* MLX's own choice. The end of the data that lies farther from 0 is met exactly, and the
 * other end nearly. */
static void plain_fit(const vug_span *span, float most, float *s, float *o)
{
    const vug_extent e = vug_span_extent(span);
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

/* Formats of scales with few bits move a scale or a bias by a good part of a step: their
 * neighbours are tried, all eight. */
static void try_neighbours(vug_fit *best, const vug_span *span, const vug_levels *levels,
                           vug_dtype format)
{
    const float near = format == VUG_DTYPE_BF16 ? 0x1.7p-8f : 0x1.7p-11f;
    for (int round = 0; round < 4; round++) {
        vug_eight c;
        for (int i = 0, at = 0; i < 9; i++) {
            if (i == 4)
                continue; /* itself */
            const int s = i / 3 - 1, o = i % 3 - 1;
            c.s[at] = vug_scale_round(format, best->s * (1 + near * (float)s));
            c.o[at++] = vug_scale_round(format, best->o * (1 + near * (float)o));
        }
        if (!vug_fit_best(best, span, levels, &c))
            return;
    }
}

static vug_fit search(const vug_span *span, const vug_levels *levels, vug_dtype format)
{
    /* With few levels the ends of the best scale lie well inside the data. */
    const bool few = levels->most < 8;
    const vug_grid grid = { few ? 0 : -0.7f, few ? 1 : 0.7f, 4, 3, false };
    float s, o;
    plain_fit(span, levels->most, &s, &o);
    vug_fit best = vug_search_affine(span, levels, &grid, format);
    (void)vug_fit_try(&best, span, levels, vug_scale_round(format, s), vug_scale_round(format, o));
    if (format != VUG_DTYPE_F32)
        try_neighbours(&best, span, levels, format);
    return best;
}

/* Element k of the group is bits [k b, (k + 1) b) of what begins at `to`. A group ends with
 * a byte. */
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

/* A span's q do not fit 8 signed bits with 8 bits: they are shifted by half the levels. */
static void assign(const vug_span *span, const vug_levels *levels, float s, float o, int8_t *q)
{
    const float middle = rintf((levels->most + 1) / 2);
    const vug_levels shifted = { -middle, levels->most - middle, false };
    vug_span_assign(span, &shifted, s, o + middle * s, q);
    for (int k = 0; k < span->n; k++)
        q[k] = (int8_t)(uint8_t)(q[k] + (int)middle);
}

void vug_quantize_mlx(const vug_mlx_format *f, const float *x, const float *importance, int64_t n,
                      uint8_t *dst, uint8_t *scale, uint8_t *bias)
{
    const int bits = bits_of(f->dtype);
    const vug_levels levels = { 0, (float)((1 << bits) - 1), false };
    const vug_dtype_info *stored = vug_dtype_of(f->scales);
    for (int64_t at = 0; at < n; at += f->group) {
        float to[MAX_GROUP], w[MAX_GROUP];
        int8_t q[MAX_GROUP];
        const float *weight = importance ? importance + at : NULL;
        if (f->dtype == VUG_DTYPE_MLX_FP4) {
            *scale++ = vug_quantize_mxfp4(x + at, weight, q);
        } else {
            vug_span_take(x + at, weight, f->group, to, w);
            const vug_span span = { to, w, f->group };
            vug_fit fit = { 0 };
            if (f->plain)
                plain_fit(&span, levels.most, &fit.s, &fit.o);
            else
                fit = search(&span, &levels, f->scales);
            assign(&span, &levels, fit.s, fit.o, q);
            stored->encode(&fit.s, scale, 1);
            stored->encode(&fit.o, bias, 1);
            scale += stored->bytes;
            bias += stored->bytes;
        }
        put_bits(q, f->group, bits, dst);
        dst += f->group * bits / 8;
    }
}
