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

/* Sums in eight lanes, in two fours: a loop over four is one vector of every processor, and
 * its sums stay in registers. */
enum { FOUR = LANES / 2 };

static float join(const float lo[FOUR], const float hi[FOUR])
{
    return ((lo[0] + hi[0]) + (lo[2] + hi[2])) + ((lo[1] + hi[1]) + (lo[3] + hi[3]));
}

/* Errors in units of the scale of four candidates. With a scale of 0 nothing here is finite,
 * and no comparison prefers it. */
static void errors_of_four(const vug_span *span, const vug_levels *levels, const float s[FOUR],
                           const float o[FOUR], float sum[FOUR])
{
    const float least = levels->least, most = levels->most;
    float r[FOUR], shift[FOUR], total[FOUR] = { 0 };
    for (int j = 0; j < FOUR; j++) {
        r[j] = 1 / s[j];
        shift[j] = o[j] * r[j];
    }
    if (levels->table) {
        for (int i = 0; i < span->n; i++) {
            const float x = span->x[i], w = span->w[i];
            for (int j = 0; j < FOUR; j++) {
                const float e = x * r[j] - nearest_of_table(x * r[j]);
                total[j] += w * e * e;
            }
        }
    } else {
        for (int i = 0; i < span->n; i++) {
            const float x = span->x[i], w = span->w[i];
            for (int j = 0; j < FOUR; j++) {
                const float v = x * r[j] - shift[j];
                const float e = v - nearest(clamp(v, least, most));
                total[j] += w * e * e;
            }
        }
    }
    memcpy(sum, total, sizeof(total));
}

bool vug_fit_best(vug_fit *best, const vug_span *span, const vug_levels *levels, const vug_eight *c)
{
    float sum[LANES];
    errors_of_four(span, levels, c->s, c->o, sum);
    errors_of_four(span, levels, c->s + FOUR, c->o + FOUR, sum + FOUR);
    float error = best->error;
    int least = -1;
    for (int j = 0; j < LANES; j++) {
        const float e = sum[j] * (c->s[j] * c->s[j]);
        least = e < error ? j : least;
        error = e < error ? e : error;
    }
    if (least < 0)
        return false;
    *best = (vug_fit){ c->s[least], c->o[least], error };
    return true;
}

static inline void add_errors(const float *x, const float *w, const vug_levels *levels, float r,
                              float shift, float sum[FOUR])
{
    const float least = levels->least, most = levels->most;
    if (levels->table) {
        for (int j = 0; j < FOUR; j++) {
            const float e = x[j] * r - nearest_of_table(x[j] * r);
            sum[j] += w[j] * e * e;
        }
    } else {
        for (int j = 0; j < FOUR; j++) {
            const float v = x[j] * r - shift;
            const float e = v - nearest(clamp(v, least, most));
            sum[j] += w[j] * e * e;
        }
    }
}

bool vug_fit_try(vug_fit *best, const vug_span *span, const vug_levels *levels, float s, float o)
{
    const float r = 1 / s, shift = o * r;
    float lo[FOUR] = { 0 }, hi[FOUR] = { 0 };
    for (int i = 0; i < span->n; i += LANES) {
        add_errors(span->x + i, span->w + i, levels, r, shift, lo);
        add_errors(span->x + i + FOUR, span->w + i + FOUR, levels, r, shift, hi);
    }
    const float error = join(lo, hi) * (s * s);
    if (!(error < best->error))
        return false;
    *best = (vug_fit){ s, o, error };
    return true;
}

static inline void add_squares(const float *x, const float *w, float o, float sum[FOUR])
{
    for (int j = 0; j < FOUR; j++) {
        const float e = x[j] - o;
        sum[j] += w[j] * e * e;
    }
}

vug_fit vug_fit_flat(const vug_span *span, float o)
{
    float lo[FOUR] = { 0 }, hi[FOUR] = { 0 };
    for (int i = 0; i < span->n; i += LANES) {
        add_squares(span->x + i, span->w + i, o, lo);
        add_squares(span->x + i + FOUR, span->w + i + FOUR, o, hi);
    }
    return (vug_fit){ 0, o, join(lo, hi) };
}

typedef struct {
    float qq[FOUR], q[FOUR], qx[FOUR];
} four_moments;

static inline void add_moments(const float *x, const float *w, const vug_levels *levels, float r,
                               float o, four_moments *sum)
{
    float q[FOUR];
    if (levels->table) {
        for (int j = 0; j < FOUR; j++)
            q[j] = nearest_of_table((x[j] - o) * r);
    } else {
        for (int j = 0; j < FOUR; j++)
            q[j] = nearest(clamp((x[j] - o) * r, levels->least, levels->most));
    }
    for (int j = 0; j < FOUR; j++) {
        const float wq = w[j] * q[j];
        sum->q[j] += wq;
        sum->qq[j] += wq * q[j];
        sum->qx[j] += wq * x[j];
    }
}

vug_moments vug_span_moments(const vug_span *span, const vug_levels *levels, float s, float o)
{
    const float r = reciprocal(s);
    four_moments lo = { 0 }, hi = { 0 };
    for (int i = 0; i < span->n; i += LANES) {
        add_moments(span->x + i, span->w + i, levels, r, o, &lo);
        add_moments(span->x + i + FOUR, span->w + i + FOUR, levels, r, o, &hi);
    }
    return (vug_moments){ .qq = join(lo.qq, hi.qq),
                          .q = join(lo.q, hi.q),
                          .qx = join(lo.qx, hi.qx) };
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

static inline void widen(const float *x, float least[FOUR], float most[FOUR])
{
    for (int j = 0; j < FOUR; j++) {
        least[j] = x[j] < least[j] ? x[j] : least[j];
        most[j] = x[j] > most[j] ? x[j] : most[j];
    }
}

vug_extent vug_span_extent(const vug_span *span)
{
    float least[FOUR], most[FOUR];
    memcpy(least, span->x, sizeof(least));
    memcpy(most, span->x, sizeof(most));
    for (int i = FOUR; i < span->n; i += FOUR)
        widen(span->x + i, least, most);
    vug_extent e = { least[0], most[0] };
    for (int j = 1; j < FOUR; j++) {
        e.least = least[j] < e.least ? least[j] : e.least;
        e.most = most[j] > e.most ? most[j] : e.most;
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
