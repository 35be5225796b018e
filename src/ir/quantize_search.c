/* Spans under a scale and an offset: errors, sums for least squares, the rounding itself. */
#include "ir/quantize_search.h"

#include <math.h>

enum { LANES = 8 };

/* Largest magnitude that takes part: squares of it, summed over a span, are finite. */
#define HUGE_WEIGHT 0x1p60f

static inline float clamp(float x, float least, float most)
{
    const float up = x > least ? x : least; /* least for a NaN */
    return up < most ? up : most;
}

/* To whole numbers, ties to even, of anything below 2^22: what the sum has no bits for is
 * rounded off. */
static inline float nearest(float x)
{
    return (x + 0x1.8p23f) - 0x1.8p23f;
}

/* What a value above `edge` has more than one below. */
static inline float above(float x, float edge, float gap)
{
    return x > edge ? gap : 0;
}

/* IQ4_NL's values from -127 on: where the next one is nearer, and how much more it is. */
static inline float nearest_of_table(float x)
{
    return -127 + above(x, -115.5f, 23) + above(x, -93.5f, 21) + above(x, -74, 18) +
           above(x, -57, 16) + above(x, -42, 14) + above(x, -28.5f, 13) + above(x, -16, 12) +
           above(x, -4.5f, 11) + above(x, 7, 12) + above(x, 19, 12) + above(x, 31.5f, 13) +
           above(x, 45.5f, 15) + above(x, 61, 16) + above(x, 79, 20) + above(x, 101, 24);
}

/* Which of them it is. */
static inline int place_in_table(float x)
{
    return (x > -115.5f) + (x > -93.5f) + (x > -74) + (x > -57) + (x > -42) + (x > -28.5f) +
           (x > -16) + (x > -4.5f) + (x > 7) + (x > 19) + (x > 31.5f) + (x > 45.5f) + (x > 61) +
           (x > 79) + (x > 101);
}

static inline float reciprocal(float s)
{
    return s != 0 ? 1 / s : 0;
}

static float join(const float lane[LANES])
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* Errors in units of the scale. With a scale of 0 nothing here is finite, and no comparison
 * prefers it. */
static void errors_of_eight(const vug_span *span, const vug_levels *levels, const vug_eight *c,
                            float sum[LANES])
{
    const float least = levels->least, most = levels->most;
    float r[LANES], shift[LANES];
    for (int j = 0; j < LANES; j++) {
        sum[j] = 0;
        r[j] = 1 / c->s[j];
        shift[j] = c->o[j] * r[j];
    }
    if (levels->table) {
        for (int i = 0; i < span->n; i++) {
            const float x = span->x[i], w = span->w[i];
            for (int j = 0; j < LANES; j++) {
                const float e = x * r[j] - nearest_of_table(x * r[j]);
                sum[j] += w * e * e;
            }
        }
    } else {
        for (int i = 0; i < span->n; i++) {
            const float x = span->x[i], w = span->w[i];
            for (int j = 0; j < LANES; j++) {
                const float v = x * r[j] - shift[j];
                const float e = v - nearest(clamp(v, least, most));
                sum[j] += w * e * e;
            }
        }
    }
}

bool vug_fit_best(vug_fit *best, const vug_span *span, const vug_levels *levels, const vug_eight *c)
{
    float sum[LANES];
    errors_of_eight(span, levels, c, sum);
    int least = -1;
    for (int j = 0; j < LANES; j++) {
        const float error = sum[j] * (c->s[j] * c->s[j]);
        if (error < best->error) {
            best->error = error;
            least = j;
        }
    }
    if (least < 0)
        return false;
    best->s = c->s[least];
    best->o = c->o[least];
    return true;
}

bool vug_fit_try(vug_fit *best, const vug_span *span, const vug_levels *levels, float s, float o)
{
    const float r = 1 / s, shift = o * r, least = levels->least, most = levels->most;
    float sum[LANES] = { 0 };
    for (int i = 0; i < span->n; i += LANES) {
        const float *x = span->x + i, *w = span->w + i;
        if (levels->table) {
            for (int j = 0; j < LANES; j++) {
                const float e = x[j] * r - nearest_of_table(x[j] * r);
                sum[j] += w[j] * e * e;
            }
        } else {
            for (int j = 0; j < LANES; j++) {
                const float v = x[j] * r - shift;
                const float e = v - nearest(clamp(v, least, most));
                sum[j] += w[j] * e * e;
            }
        }
    }
    const float error = join(sum) * (s * s);
    if (!(error < best->error))
        return false;
    *best = (vug_fit){ s, o, error };
    return true;
}

vug_fit vug_fit_flat(const vug_span *span, float o)
{
    float sum[LANES] = { 0 };
    for (int i = 0; i < span->n; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            const float e = span->x[i + j] - o;
            sum[j] += span->w[i + j] * e * e;
        }
    }
    return (vug_fit){ 0, o, join(sum) };
}

vug_moments vug_span_moments(const vug_span *span, const vug_levels *levels, float s, float o)
{
    const float r = reciprocal(s), least = levels->least, most = levels->most;
    float qq[LANES] = { 0 }, q1[LANES] = { 0 }, qx[LANES] = { 0 };
    for (int i = 0; i < span->n; i += LANES) {
        const float *x = span->x + i, *w = span->w + i;
        float q[LANES];
        if (levels->table) {
            for (int j = 0; j < LANES; j++)
                q[j] = nearest_of_table((x[j] - o) * r);
        } else {
            for (int j = 0; j < LANES; j++)
                q[j] = nearest(clamp((x[j] - o) * r, least, most));
        }
        for (int j = 0; j < LANES; j++) {
            const float wq = w[j] * q[j];
            q1[j] += wq;
            qq[j] += wq * q[j];
            qx[j] += wq * x[j];
        }
    }
    return (vug_moments){ .qq = join(qq), .q = join(q1), .qx = join(qx) };
}

void vug_span_assign(const vug_span *span, const vug_levels *levels, float s, float o, int8_t *q)
{
    const float r = reciprocal(s);
    for (int i = 0; i < span->n; i++) {
        const float x = (span->x[i] - o) * r;
        q[i] = (int8_t)(levels->table ? place_in_table(x)
                                      : (int)nearest(clamp(x, levels->least, levels->most)));
    }
}

/* ---- what is rounded first ------------------------------------------------------------ */

void vug_span_take(const float *x, const float *importance, int n, float *to, float *w)
{
    for (int i = 0; i < n; i++)
        to[i] = clamp(x[i], -HUGE_WEIGHT, HUGE_WEIGHT);
    if (!importance) {
        for (int i = 0; i < n; i++)
            w[i] = 1;
        return;
    }
    float most = 0;
    for (int i = 0; i < n; i++)
        most = importance[i] > most ? importance[i] : most;
    /* Relative to the block's largest, and never nothing: what matters to nobody is still
     * rounded to something near it. */
    const float r = most > 0 && most < INFINITY ? 1 / most : 0;
    for (int i = 0; i < n; i++)
        w[i] = clamp(importance[i] * r, 0x1p-20f, 1);
}

vug_extent vug_span_extent(const vug_span *span)
{
    float lo[LANES], hi[LANES];
    for (int j = 0; j < LANES; j++)
        lo[j] = hi[j] = span->x[j];
    for (int i = LANES; i < span->n; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            const float x = span->x[i + j];
            lo[j] = x < lo[j] ? x : lo[j];
            hi[j] = x > hi[j] ? x : hi[j];
        }
    }
    vug_extent e = { lo[0], hi[0] };
    for (int j = 1; j < LANES; j++) {
        e.least = lo[j] < e.least ? lo[j] : e.least;
        e.most = hi[j] > e.most ? hi[j] : e.most;
    }
    return e;
}

/* ---- scales as they are stored ----------------------------------------------------------- */

static float round_f16(float x)
{
    const float magnitude = fabsf(x);
    if (!(magnitude < 65504)) /* 65504 itself is as good */
        return copysignf(65504, x);
    if (magnitude < 0x1p-14f) /* subnormal: a multiple of 2^-24 */
        return copysignf((magnitude + 0x1.8p-1f) - 0x1.8p-1f, x);
    uint32_t u;
    memcpy(&u, &x, sizeof(u));
    u = (u + 0xfff + (u >> 13 & 1)) & ~(uint32_t)0x1fff;
    memcpy(&x, &u, sizeof(x));
    return x;
}

static float round_bf16(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof(u));
    u = (u + 0x7fff + (u >> 16 & 1)) & ~(uint32_t)0xffff;
    memcpy(&x, &u, sizeof(x));
    return x;
}

float vug_scale_round(vug_dtype format, float x)
{
    if (format == VUG_DTYPE_F16)
        return round_f16(x);
    return format == VUG_DTYPE_BF16 ? round_bf16(x) : x;
}
