/*
 * Quantizing super-blocks, ggml's K formats: 256 weights in spans of 16 or 32, each with a
 * scale (and a minimum) that is an integer times one F16 of the super-block.
 *
 * First each span is fitted alone. Then, for several values of the common factors, each span
 * takes the integers near its fit that give the smallest error. The best factors are improved
 * by least squares over all spans, and the integers are chosen again.
 */
#include <math.h>
#include <string.h>

#include "core/status.h"
#include "quant/codec.h"
#include "quant/quantize_search.h"

typedef struct {
    vug_quant_levels levels;
    int width; /* weights of a span */
    bool affine;
    int least, most;      /* range of the integer scales; minima: 0 to most */
    vug_search_grid grid; /* for fitting a span alone */
    int factors;          /* number of values tried for each common factor */
    float spread;         /* their range below the largest that is needed, relative */
} k_recipe;

/* clang-format off */
/* levels; width; affine; least, most; grid; factors; spread */
static const k_recipe recipes[VUG_DTYPE_COUNT] = {
    [VUG_DTYPE_Q2_K] = { { 0, 3, false }, 16, true, 0, 15, { -0.3f, 0.9f, 4, 2, false }, 3, 0.2f },
    [VUG_DTYPE_Q3_K] = { { -4, 3, false }, 16, false, -32, 31, { 3, 4.5f, 4, 1, true }, 4, 0.12f },
    [VUG_DTYPE_Q4_K] = { { 0, 15, false }, 32, true, 0, 63, { -0.7f, 0.7f, 4, 2, false }, 1, 0 },
    [VUG_DTYPE_Q5_K] = { { 0, 31, false }, 32, true, 0, 63, { -0.7f, 0.7f, 4, 2, false }, 1, 0 },
    [VUG_DTYPE_Q6_K] = { { -32, 31, false }, 16, false, -128, 127, { 28, 35, 8, 0, true }, 1, 0 },
    [VUG_DTYPE_IQ4_XS] = { { -127, 113, true }, 32, false, -32, 31, { 97, 139, 8, 1, true },
                           3, 0.1f },
};
/* clang-format on */

typedef struct {
    const k_recipe *recipe;
    int n; /* spans */
    vug_quant_span span[VUG_MAX_SPANS];
    float sum_w[VUG_MAX_SPANS], sum_wx[VUG_MAX_SPANS];
} super_block_input;

/* A possible encoding, as in vug_super_block. */
typedef struct {
    float d, dmin;
    int scale[VUG_MAX_SPANS], minimum[VUG_MAX_SPANS];
    float mean_q[VUG_MAX_SPANS]; /* weighted mean of the q of a span */
    vug_scale_fit fit[VUG_MAX_SPANS];
    float error;
} k_candidate;

static void split_into_spans(super_block_input *in, const k_recipe *r, const float *x,
                             const float *w)
{
    VUG_ASSERT(r->width > 0);
    in->recipe = r;
    in->n = VUG_SUPER_BLOCK / r->width;
    for (int k = 0; k < in->n; k++) {
        in->span[k] = (vug_quant_span){ x, w, r->width };
        x += r->width;
        w += r->width;
        in->sum_w[k] = in->sum_wx[k] = 0;
        for (int i = 0; i < r->width; i++) {
            in->sum_w[k] += in->span[k].w[i];
            in->sum_wx[k] += in->span[k].w[i] * in->span[k].x[i];
        }
    }
}

static int round_clamped(float x, int least, int most)
{
    if (!(x > (float)least)) /* also for NaN */
        return least;
    return x < (float)most ? (int)lrintf(x) : most;
}

/* All minima have one sign: that of the larger weighted sum of squared offsets. */
static float choose_minimum_sign(const super_block_input *in, const k_candidate *own)
{
    float below = 0, above = 0;
    for (int k = 0; k < in->n; k++) {
        const float o = own->fit[k].o;
        *(o < 0 ? &below : &above) += in->sum_w[k] * o * o;
    }
    return above > below ? -1 : 1;
}

/* Fits each span alone. A span whose minimum would have the other sign gets none. */
static void fit_spans(const super_block_input *in, k_candidate *own)
{
    static const vug_search_grid without = { 0.75f, 1.1f, 8, 1, false };
    const k_recipe *r = in->recipe;
    for (int k = 0; k < in->n; k++)
        own->fit[k] = r->affine
                              ? vug_search_affine(&in->span[k], &r->levels, &r->grid, VUG_DTYPE_F32)
                              : vug_search_scale(&in->span[k], &r->levels, &r->grid, VUG_DTYPE_F32);
    own->dmin = choose_minimum_sign(in, own);
    vug_search_grid grid = without;
    grid.first *= r->levels.most;
    grid.last *= r->levels.most;
    for (int k = 0; r->affine && k < in->n; k++) {
        if (own->fit[k].o * own->dmin > 0)
            own->fit[k] = vug_search_scale(&in->span[k], &r->levels, &grid, VUG_DTYPE_F32);
    }
}

static void compute_means(const super_block_input *in, k_candidate *c)
{
    for (int k = 0; k < in->n; k++) {
        const vug_span_sums m =
                vug_span_compute_sums(&in->span[k], &in->recipe->levels, c->fit[k].s, c->fit[k].o);
        c->mean_q[k] = m.q / in->sum_w[k];
    }
}

/* Chooses the integers of span `k` near the fit of `from`, for the factors of `c`. */
static void choose_span(const super_block_input *in, const k_candidate *from, int k, k_candidate *c)
{
    const k_recipe *r = in->recipe;
    vug_fit_candidates e = { 0 };
    int scale[8], minimum[8] = { 0 };
    const float wanted = from->fit[k].s / c->d;
    const int middle = round_clamped(wanted, r->least, r->most);
    const int low = round_clamped(wanted - 0.5f, r->least, r->most);
    for (int j = 0; j < 8; j++) {
        if (r->affine) {
            /* The offset that preserves the mean, rounded both ways, for each of four scales. */
            const int near = low - 1 + j / 2;
            scale[j] = round_clamped((float)near, r->least, r->most);
            e.s[j] = c->d * (float)scale[j];
            const float o = in->sum_wx[k] / in->sum_w[k] - e.s[j] * from->mean_q[k];
            minimum[j] = c->dmin != 0
                                 ? round_clamped(-o / c->dmin - 0.5f + (float)(j % 2), 0, r->most)
                                 : 0;
            e.o[j] = -(c->dmin * (float)minimum[j]);
        } else {
            scale[j] = round_clamped((float)(middle - 4 + j), r->least, r->most);
            e.s[j] = c->d * (float)scale[j];
        }
    }
    const int flat =
            c->dmin != 0 ? round_clamped(-in->sum_wx[k] / in->sum_w[k] / c->dmin, 0, r->most) : 0;
    vug_scale_fit best = vug_fit_flat(&in->span[k], -(c->dmin * (float)flat));
    c->scale[k] = 0;
    c->minimum[k] = flat;
    if (vug_fit_try_candidates(&best, &in->span[k], &r->levels, &e)) {
        int j = 0;
        while (e.s[j] != best.s || e.o[j] != best.o)
            j++;
        c->scale[k] = scale[j];
        c->minimum[k] = minimum[j];
    }
    c->fit[k] = best;
    c->error += best.error;
}

static void choose_spans(const super_block_input *in, const k_candidate *from, float d, float dmin,
                         k_candidate *c)
{
    c->d = d;
    c->dmin = dmin;
    c->error = 0;
    for (int k = 0; k < in->n; k++)
        choose_span(in, from, k, c);
}

/* The best factors for the q of `c`, by least squares. */
static void fit_factors(const super_block_input *in, k_candidate *c, float *d, float *dmin)
{
    double uu = 0, uv = 0, vv = 0, ux = 0, vx = 0;
    for (int k = 0; k < in->n; k++) {
        const vug_span_sums m =
                vug_span_compute_sums(&in->span[k], &in->recipe->levels, c->fit[k].s, c->fit[k].o);
        const double s = c->scale[k], o = -c->minimum[k];
        c->mean_q[k] = m.q / in->sum_w[k];
        uu += s * s * (double)m.qq;
        uv += s * o * (double)m.q;
        vv += o * o * (double)in->sum_w[k];
        ux += s * (double)m.qx;
        vx += o * (double)in->sum_wx[k];
    }
    const double det = uu * vv - uv * uv;
    double best_d = uu > 0 ? ux / uu : 0, best_dmin = 0;
    if (det > 1e-12 * uu * vv) {
        best_d = (ux * vv - vx * uv) / det;
        best_dmin = (vx * uu - ux * uv) / det;
    }
    *d = vug_scale_round(VUG_DTYPE_F16, (float)best_d);
    *dmin = vug_scale_round(VUG_DTYPE_F16, (float)best_dmin);
}

static void search_factors(const super_block_input *in, k_candidate *best)
{
    const k_recipe *r = in->recipe;
    k_candidate own = { 0 }, c;
    fit_spans(in, &own);
    compute_means(in, &own);
    float most_s = 0, most_o = 0;
    for (int k = 0; k < in->n; k++) {
        if (fabsf(own.fit[k].s) > fabsf(most_s))
            most_s = own.fit[k].s;
        most_o = fmaxf(most_o, fabsf(own.fit[k].o));
    }
    best->error = INFINITY;
    const int n = r->factors, m = r->affine ? n : 1;
    const float top = r->affine ? (float)r->most : (float)r->least;
    for (int i = 0; i < n * m; i++) {
        const int of_d = i % n, of_dmin = i / n;
        const float d = most_s / (top * (1 - r->spread * (float)of_d / (float)n));
        const float dmin =
                own.dmin * most_o / ((float)r->most * (1 - r->spread * (float)of_dmin / (float)n));
        choose_spans(in, &own, vug_scale_round(VUG_DTYPE_F16, d),
                     vug_scale_round(VUG_DTYPE_F16, dmin), &c);
        if (c.error < best->error)
            *best = c;
    }
    for (int i = 0; i < 3; i++) {
        float d, dmin;
        fit_factors(in, best, &d, &dmin);
        c = *best;
        choose_spans(in, best, d, dmin, &c);
        if (!(c.error < best->error))
            break;
        *best = c;
    }
}

void vug_quantize_super_block(vug_dtype dtype, const float *x, const float *w, uint8_t *dst)
{
    super_block_input in;
    k_candidate best = { 0 };
    vug_super_block out;
    split_into_spans(&in, &recipes[dtype], x, w);
    search_factors(&in, &best);
    out.d = best.d;
    out.dmin = best.dmin;
    memcpy(out.scale, best.scale, sizeof(out.scale));
    memcpy(out.minimum, best.minimum, sizeof(out.minimum));
    for (int k = 0; k < in.n; k++)
        vug_span_assign(&in.span[k], &in.recipe->levels, best.fit[k].s, best.fit[k].o,
                        out.q + (ptrdiff_t)k * in.recipe->width);
    vug_pack_super_block(dtype, &out, dst);
}
