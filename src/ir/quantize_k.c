/*
 * Super-blocks: 256 weights in spans of 16 or 32, each with a scale (and a minimum) that is
 * a whole number times one F16 of the super-block.
 *
 * First each span is fitted on its own. Then, for some values of the common factors, each
 * span takes the whole numbers near its fit that leave the least error; the best factors
 * are improved by least squares over all spans, and the numbers are chosen again.
 */
#include <math.h>

#include "core/status.h"
#include "ir/quantize_search.h"

enum { MAX_SPANS = 16 };

typedef struct {
    vug_levels levels;
    int width; /* weights of a span */
    bool affine;
    int least, most; /* of the whole numbers that scales are; minima: 0 to most */
    vug_grid grid;   /* for a span on its own */
    int factors;     /* values tried of each common factor */
    float spread;    /* how far below the largest that is needed they go, relative */
} recipe;

static const recipe *recipe_of(vug_dtype dtype)
{
    static const recipe recipes[VUG_DTYPE_COUNT] = {
        [VUG_DTYPE_Q2_K] = { { 0, 3, false },
                             16,
                             true,
                             0,
                             15,
                             { -0.3f, 0.9f, 4, 2, false },
                             3,
                             0.2f },
        [VUG_DTYPE_Q3_K] = { { -4, 3, false },
                             16,
                             false,
                             -32,
                             31,
                             { 3, 4.5f, 4, 1, true },
                             4,
                             0.12f },
        [VUG_DTYPE_Q4_K] = { { 0, 15, false },
                             32,
                             true,
                             0,
                             63,
                             { -0.7f, 0.7f, 4, 2, false },
                             1,
                             0 },
        [VUG_DTYPE_Q5_K] = { { 0, 31, false },
                             32,
                             true,
                             0,
                             63,
                             { -0.7f, 0.7f, 4, 2, false },
                             1,
                             0 },
        [VUG_DTYPE_Q6_K] = { { -32, 31, false },
                             16,
                             false,
                             -128,
                             127,
                             { 28, 35, 8, 0, true },
                             1,
                             0 },
        [VUG_DTYPE_IQ4_XS] = { { -127, 113, true },
                               32,
                               false,
                               -32,
                               31,
                               { 97, 139, 8, 1, true },
                               3,
                               0.1f },
    };
    return &recipes[dtype];
}

typedef struct {
    const recipe *recipe;
    int n; /* spans */
    vug_span span[MAX_SPANS];
    float sum_w[MAX_SPANS], sum_wx[MAX_SPANS];
} block;

/* A way to store the block: weight = d scale q - dmin minimum. */
typedef struct {
    float d, dmin;
    int scale[MAX_SPANS], minimum[MAX_SPANS];
    float mean_q[MAX_SPANS]; /* of a span, weighted */
    vug_fit fit[MAX_SPANS];
    float error;
} choice;

static void take_block(block *b, const recipe *r, const float *x, const float *w)
{
    VUG_ASSERT(r->width > 0);
    b->recipe = r;
    b->n = VUG_SUPER_BLOCK / r->width;
    for (int k = 0; k < b->n; k++) {
        b->span[k] = (vug_span){ x, w, r->width };
        x += r->width;
        w += r->width;
        b->sum_w[k] = b->sum_wx[k] = 0;
        for (int i = 0; i < r->width; i++) {
            b->sum_w[k] += b->span[k].w[i];
            b->sum_wx[k] += b->span[k].w[i] * b->span[k].x[i];
        }
    }
}

static int limit(float x, int least, int most)
{
    if (!(x > (float)least)) /* a NaN too */
        return least;
    return x < (float)most ? (int)lrintf(x) : most;
}

/* The sign that the minima of all spans share, from the offsets that spans want. */
static float sign_of_minima(const block *b, const choice *own)
{
    float below = 0, above = 0;
    for (int k = 0; k < b->n; k++) {
        const float o = own->fit[k].o;
        *(o < 0 ? &below : &above) += b->sum_w[k] * o * o;
    }
    return above > below ? -1 : 1;
}

/* Each span on its own; those that would want a minimum of the other sign go without. */
static void fit_spans(const block *b, choice *own)
{
    static const vug_grid without = { 0.75f, 1.1f, 8, 1, false };
    const recipe *r = b->recipe;
    for (int k = 0; k < b->n; k++)
        own->fit[k] = r->affine
                              ? vug_search_affine(&b->span[k], &r->levels, &r->grid, VUG_DTYPE_F32)
                              : vug_search_scale(&b->span[k], &r->levels, &r->grid, VUG_DTYPE_F32);
    own->dmin = sign_of_minima(b, own);
    vug_grid grid = without;
    grid.first *= r->levels.most;
    grid.last *= r->levels.most;
    for (int k = 0; r->affine && k < b->n; k++) {
        if (own->fit[k].o * own->dmin > 0)
            own->fit[k] = vug_search_scale(&b->span[k], &r->levels, &grid, VUG_DTYPE_F32);
    }
}

static void remember_means(const block *b, choice *c)
{
    for (int k = 0; k < b->n; k++) {
        const vug_moments m =
                vug_span_moments(&b->span[k], &b->recipe->levels, c->fit[k].s, c->fit[k].o);
        c->mean_q[k] = m.q / b->sum_w[k];
    }
}

/* The numbers of span `k` near what `from` has, for the factors d and dmin. */
static void choose_span(const block *b, const choice *from, int k, choice *c)
{
    const recipe *r = b->recipe;
    vug_eight e = { 0 };
    int scale[8], minimum[8] = { 0 };
    const float wanted = from->fit[k].s / c->d;
    const int middle = limit(wanted, r->least, r->most);
    const int low = limit(wanted - 0.5f, r->least, r->most);
    for (int j = 0; j < 8; j++) {
        if (r->affine) {
            /* The offset that keeps the mean where it is, for each of four scales. */
            const int near = low - 1 + j / 2;
            scale[j] = limit((float)near, r->least, r->most);
            e.s[j] = c->d * (float)scale[j];
            const float o = b->sum_wx[k] / b->sum_w[k] - e.s[j] * from->mean_q[k];
            minimum[j] = c->dmin != 0 ? limit(-o / c->dmin - 0.5f + (float)(j % 2), 0, r->most) : 0;
            e.o[j] = -(c->dmin * (float)minimum[j]);
        } else {
            scale[j] = limit((float)(middle - 4 + j), r->least, r->most);
            e.s[j] = c->d * (float)scale[j];
        }
    }
    const int flat = c->dmin != 0 ? limit(-b->sum_wx[k] / b->sum_w[k] / c->dmin, 0, r->most) : 0;
    vug_fit best = vug_fit_flat(&b->span[k], -(c->dmin * (float)flat));
    c->scale[k] = 0;
    c->minimum[k] = flat;
    if (vug_fit_best(&best, &b->span[k], &r->levels, &e)) {
        int j = 0;
        while (e.s[j] != best.s || e.o[j] != best.o)
            j++;
        c->scale[k] = scale[j];
        c->minimum[k] = minimum[j];
    }
    c->fit[k] = best;
    c->error += best.error;
}

static void choose(const block *b, const choice *from, float d, float dmin, choice *c)
{
    c->d = d;
    c->dmin = dmin;
    c->error = 0;
    for (int k = 0; k < b->n; k++)
        choose_span(b, from, k, c);
}

/* The factors that fit best, by least squares, for the q that `c` gives. */
static void refit(const block *b, choice *c, float *d, float *dmin)
{
    double uu = 0, uv = 0, vv = 0, ux = 0, vx = 0;
    for (int k = 0; k < b->n; k++) {
        const vug_moments m =
                vug_span_moments(&b->span[k], &b->recipe->levels, c->fit[k].s, c->fit[k].o);
        const double s = c->scale[k], o = -c->minimum[k];
        c->mean_q[k] = m.q / b->sum_w[k];
        uu += s * s * (double)m.qq;
        uv += s * o * (double)m.q;
        vv += o * o * (double)b->sum_w[k];
        ux += s * (double)m.qx;
        vx += o * (double)b->sum_wx[k];
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

static void search(const block *b, choice *best)
{
    const recipe *r = b->recipe;
    choice own = { 0 }, c;
    fit_spans(b, &own);
    remember_means(b, &own);
    float most_s = 0, most_o = 0;
    for (int k = 0; k < b->n; k++) {
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
        choose(b, &own, vug_scale_round(VUG_DTYPE_F16, d), vug_scale_round(VUG_DTYPE_F16, dmin),
               &c);
        if (c.error < best->error)
            *best = c;
    }
    for (int i = 0; i < 3; i++) {
        float d, dmin;
        refit(b, best, &d, &dmin);
        c = *best;
        choose(b, best, d, dmin, &c);
        if (!(c.error < best->error))
            break;
        *best = c;
    }
}

/* ---- layouts --------------------------------------------------------------------------------- */

static void put_f16(float x, uint8_t *to)
{
    vug_dtype_of(VUG_DTYPE_F16)->encode(&x, to, 1);
}

/* Bits `low` .. of 4 * 32 weights each, side by side: bit pair j of byte l is weight 32 j + l. */
static void put_pairs(const int8_t *q, int low, uint8_t *to)
{
    for (int l = 0; l < 32; l++) {
        int byte = 0;
        for (int j = 0; j < 4; j++)
            byte |= (q[32 * j + l] >> low & 3) << 2 * j;
        to[l] = (uint8_t)byte;
    }
}

/* Byte l of 32 holds weights l and l + 32. */
static void put_nibbles(const int8_t *q, uint8_t *to)
{
    for (int l = 0; l < 32; l++)
        to[l] = (uint8_t)((q[l] & 15) | (q[l + 32] & 15) << 4);
}

static void put_q2_k(const choice *c, const int8_t *q, uint8_t *dst)
{
    for (int k = 0; k < 16; k++)
        dst[k] = (uint8_t)(c->scale[k] | c->minimum[k] << 4);
    for (ptrdiff_t h = 0; h < 2; h++)
        put_pairs(q + 128 * h, 0, dst + 16 + 32 * h);
    put_f16(c->d, dst + 80);
    put_f16(c->dmin, dst + 82);
}

static void put_q3_k(const choice *c, int8_t *q, uint8_t *dst)
{
    memset(dst, 0, 110);
    for (int e = 0; e < VUG_SUPER_BLOCK; e++) {
        q[e] = (int8_t)(q[e] + 4); /* its third bit lies apart */
        dst[e % 32] = (uint8_t)(dst[e % 32] | (q[e] >> 2) << e / 32);
    }
    for (ptrdiff_t h = 0; h < 2; h++)
        put_pairs(q + 128 * h, 0, dst + 32 + 32 * h);
    for (int k = 0; k < 16; k++) {
        const int s = c->scale[k] + 32;
        uint8_t *low = dst + 96 + k % 8, *high = dst + 104 + k % 4;
        *low = (uint8_t)(*low | (s & 15) << (k < 8 ? 0 : 4));
        *high = (uint8_t)(*high | (s >> 4) << 2 * (k / 4));
    }
    put_f16(c->d, dst + 108);
}

/* Eight scales and eight minima of 6 bits in 12 bytes. */
static void put_six_bits(const choice *c, uint8_t *to)
{
    for (int k = 0; k < 4; k++) {
        to[k] = (uint8_t)(c->scale[k] | c->scale[k + 4] >> 4 << 6);
        to[k + 4] = (uint8_t)(c->minimum[k] | c->minimum[k + 4] >> 4 << 6);
        to[k + 8] = (uint8_t)((c->scale[k + 4] & 15) | (c->minimum[k + 4] & 15) << 4);
    }
}

static void put_q4_k(const choice *c, const int8_t *q, uint8_t *dst)
{
    put_f16(c->d, dst);
    put_f16(c->dmin, dst + 2);
    put_six_bits(c, dst + 4);
    for (ptrdiff_t p = 0; p < 4; p++)
        put_nibbles(q + 64 * p, dst + 16 + 32 * p);
}

static void put_q5_k(const choice *c, const int8_t *q, uint8_t *dst)
{
    put_f16(c->d, dst);
    put_f16(c->dmin, dst + 2);
    put_six_bits(c, dst + 4);
    for (int l = 0; l < 32; l++) {
        int byte = 0;
        for (int k = 0; k < 8; k++)
            byte |= (q[32 * k + l] >> 4) << k;
        dst[16 + l] = (uint8_t)byte;
    }
    for (ptrdiff_t p = 0; p < 4; p++)
        put_nibbles(q + 64 * p, dst + 48 + 32 * p);
}

static void put_q6_k(const choice *c, int8_t *q, uint8_t *dst)
{
    for (int e = 0; e < VUG_SUPER_BLOCK; e++)
        q[e] = (int8_t)(q[e] + 32);
    for (ptrdiff_t h = 0; h < 2; h++) {
        const int8_t *half = q + 128 * h;
        for (int l = 0; l < 64; l++)
            dst[64 * h + l] = (uint8_t)((half[l] & 15) | (half[l + 64] & 15) << 4);
        put_pairs(half, 4, dst + 128 + 32 * h);
    }
    for (int k = 0; k < 16; k++)
        dst[192 + k] = (uint8_t)c->scale[k];
    put_f16(c->d, dst + 208);
}

static void put_iq4_xs(const choice *c, const int8_t *q, uint8_t *dst)
{
    memset(dst, 0, 8);
    put_f16(c->d, dst);
    for (int k = 0; k < 8; k++) {
        const int s = c->scale[k] + 32;
        dst[2 + k / 4] = (uint8_t)(dst[2 + k / 4] | (s >> 4) << 2 * (k % 4));
        dst[4 + k / 2] = (uint8_t)(dst[4 + k / 2] | (s & 15) << 4 * (k % 2));
        for (int l = 0; l < 16; l++)
            dst[8 + 16 * k + l] = (uint8_t)(q[32 * k + l] | q[32 * k + l + 16] << 4);
    }
}

void vug_quantize_super_block(vug_dtype dtype, const float *x, const float *w, uint8_t *dst)
{
    block b;
    choice c = { 0 };
    int8_t q[VUG_SUPER_BLOCK];
    take_block(&b, recipe_of(dtype), x, w);
    search(&b, &c);
    for (int k = 0; k < b.n; k++)
        vug_span_assign(&b.span[k], &b.recipe->levels, c.fit[k].s, c.fit[k].o,
                        q + (ptrdiff_t)k * b.recipe->width);
    switch (dtype) {
    case VUG_DTYPE_Q2_K:
        put_q2_k(&c, q, dst);
        break;
    case VUG_DTYPE_Q3_K:
        put_q3_k(&c, q, dst);
        break;
    case VUG_DTYPE_Q4_K:
        put_q4_k(&c, q, dst);
        break;
    case VUG_DTYPE_Q5_K:
        put_q5_k(&c, q, dst);
        break;
    case VUG_DTYPE_Q6_K:
        put_q6_k(&c, q, dst);
        break;
    default:
        put_iq4_xs(&c, q, dst);
        break;
    }
}
