/* Spans with a scale and an offset: errors, sums for least squares, rounding, and the search for
 * the best scale and offset. */
#include "quant/quantize_search.h"

#include <math.h>

enum { LANES = 8 };

/* Values are clamped to this magnitude, so that sums of squares over a span are finite. */
#define MAX_WEIGHT 0x1p60f

static inline float clamp(float x, float least, float most)
{
    const float up = x > least ? x : least; /* `least` for NaN */
    return up < most ? up : most;
}

/* Rounds magnitudes below 2^22 to integers, ties to even: the sum has no bits for fractions. */
static inline float round_even(float x)
{
    return (x + 0x1.8p23f) - 0x1.8p23f;
}

/* `gap` for values above `edge`. */
static inline float step_at(float x, float edge, float gap)
{
    return x > edge ? gap : 0;
}

/* The nearest value of IQ4_NL: from -127 on, the points halfway to the next value and the gaps. */
static inline float round_to_table(float x)
{
    return -127 + step_at(x, -115.5f, 23) + step_at(x, -93.5f, 21) + step_at(x, -74, 18) +
           step_at(x, -57, 16) + step_at(x, -42, 14) + step_at(x, -28.5f, 13) +
           step_at(x, -16, 12) + step_at(x, -4.5f, 11) + step_at(x, 7, 12) + step_at(x, 19, 12) +
           step_at(x, 31.5f, 13) + step_at(x, 45.5f, 15) + step_at(x, 61, 16) + step_at(x, 79, 20) +
           step_at(x, 101, 24);
}

/* The index of that value. */
static inline int table_index(float x)
{
    return (x > -115.5f) + (x > -93.5f) + (x > -74) + (x > -57) + (x > -42) + (x > -28.5f) +
           (x > -16) + (x > -4.5f) + (x > 7) + (x > 19) + (x > 31.5f) + (x > 45.5f) + (x > 61) +
           (x > 79) + (x > 101);
}

static inline float reciprocal(float s)
{
    return s != 0 ? 1 / s : 0;
}

/* The eight lanes are two groups of four: a loop over four fits a vector of every processor,
 * and its sums stay in registers. */
enum { FOUR = LANES / 2 };

static float add_lanes(const float lo[FOUR], const float hi[FOUR])
{
    return ((lo[0] + hi[0]) + (lo[2] + hi[2])) + ((lo[1] + hi[1]) + (lo[3] + hi[3]));
}

/* The errors of four candidates, in units of their scales. With a scale of 0 the error is not
 * finite, so no comparison prefers it. */
static void errors_of_four(const vug_quant_span *span, const vug_quant_levels *levels,
                           const float s[FOUR], const float o[FOUR], float sum[FOUR])
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
                const float e = x * r[j] - round_to_table(x * r[j]);
                total[j] += w * e * e;
            }
        }
    } else {
        for (int i = 0; i < span->n; i++) {
            const float x = span->x[i], w = span->w[i];
            for (int j = 0; j < FOUR; j++) {
                const float v = x * r[j] - shift[j];
                const float e = v - round_even(clamp(v, least, most));
                total[j] += w * e * e;
            }
        }
    }
    memcpy(sum, total, sizeof(total));
}

bool vug_fit_try_candidates(vug_scale_fit *best, const vug_quant_span *span,
                            const vug_quant_levels *levels, const vug_fit_candidates *c)
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
    *best = (vug_scale_fit){ c->s[least], c->o[least], error };
    return true;
}

static inline void add_errors(const float *x, const float *w, const vug_quant_levels *levels,
                              float r, float shift, float sum[FOUR])
{
    const float least = levels->least, most = levels->most;
    if (levels->table) {
        for (int j = 0; j < FOUR; j++) {
            const float e = x[j] * r - round_to_table(x[j] * r);
            sum[j] += w[j] * e * e;
        }
    } else {
        for (int j = 0; j < FOUR; j++) {
            const float v = x[j] * r - shift;
            const float e = v - round_even(clamp(v, least, most));
            sum[j] += w[j] * e * e;
        }
    }
}

bool vug_fit_try(vug_scale_fit *best, const vug_quant_span *span, const vug_quant_levels *levels,
                 float s, float o)
{
    const float r = 1 / s, shift = o * r;
    float lo[FOUR] = { 0 }, hi[FOUR] = { 0 };
    for (int i = 0; i < span->n; i += LANES) {
        add_errors(span->x + i, span->w + i, levels, r, shift, lo);
        add_errors(span->x + i + FOUR, span->w + i + FOUR, levels, r, shift, hi);
    }
    const float error = add_lanes(lo, hi) * (s * s);
    if (!(error < best->error))
        return false;
    *best = (vug_scale_fit){ s, o, error };
    return true;
}

static inline void add_squares(const float *x, const float *w, float o, float sum[FOUR])
{
    for (int j = 0; j < FOUR; j++) {
        const float e = x[j] - o;
        sum[j] += w[j] * e * e;
    }
}

vug_scale_fit vug_fit_flat(const vug_quant_span *span, float o)
{
    float lo[FOUR] = { 0 }, hi[FOUR] = { 0 };
    for (int i = 0; i < span->n; i += LANES) {
        add_squares(span->x + i, span->w + i, o, lo);
        add_squares(span->x + i + FOUR, span->w + i + FOUR, o, hi);
    }
    return (vug_scale_fit){ 0, o, add_lanes(lo, hi) };
}

typedef struct {
    float qq[FOUR], q[FOUR], qx[FOUR];
} four_sums;

static inline void add_moments(const float *x, const float *w, const vug_quant_levels *levels,
                               float r, float o, four_sums *sum)
{
    float q[FOUR];
    if (levels->table) {
        for (int j = 0; j < FOUR; j++)
            q[j] = round_to_table((x[j] - o) * r);
    } else {
        for (int j = 0; j < FOUR; j++)
            q[j] = round_even(clamp((x[j] - o) * r, levels->least, levels->most));
    }
    for (int j = 0; j < FOUR; j++) {
        const float wq = w[j] * q[j];
        sum->q[j] += wq;
        sum->qq[j] += wq * q[j];
        sum->qx[j] += wq * x[j];
    }
}

vug_span_sums vug_span_compute_sums(const vug_quant_span *span, const vug_quant_levels *levels,
                                    float s, float o)
{
    const float r = reciprocal(s);
    four_sums lo = { 0 }, hi = { 0 };
    for (int i = 0; i < span->n; i += LANES) {
        add_moments(span->x + i, span->w + i, levels, r, o, &lo);
        add_moments(span->x + i + FOUR, span->w + i + FOUR, levels, r, o, &hi);
    }
    return (vug_span_sums){ .qq = add_lanes(lo.qq, hi.qq),
                            .q = add_lanes(lo.q, hi.q),
                            .qx = add_lanes(lo.qx, hi.qx) };
}

void vug_span_assign(const vug_quant_span *span, const vug_quant_levels *levels, float s, float o,
                     int8_t *q)
{
    const float r = reciprocal(s);
    for (int i = 0; i < span->n; i++) {
        const float x = (span->x[i] - o) * r;
        q[i] = (int8_t)(levels->table ? table_index(x)
                                      : (int)round_even(clamp(x, levels->least, levels->most)));
    }
}

/* ---- preparing spans -------------------------------------------------------- */

void vug_span_prepare(const float *x, const float *importance, int n, float *to, float *w)
{
    for (int i = 0; i < n; i++)
        to[i] = clamp(x[i], -MAX_WEIGHT, MAX_WEIGHT);
    if (!importance) {
        for (int i = 0; i < n; i++)
            w[i] = 1;
        return;
    }
    float most = 0;
    for (int i = 0; i < n; i++)
        most = importance[i] > most ? importance[i] : most;
    /* Relative to the largest of the block and never 0, so that unimportant weights are still
     * rounded to a near value. */
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

vug_span_range vug_span_find_range(const vug_quant_span *span)
{
    float least[FOUR], most[FOUR];
    memcpy(least, span->x, sizeof(least));
    memcpy(most, span->x, sizeof(most));
    for (int i = FOUR; i < span->n; i += FOUR)
        widen(span->x + i, least, most);
    vug_span_range e = { least[0], most[0] };
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

/* ---- search ---------------------------------------------------------------------------- */

vug_scale_fit vug_search_scale(const vug_quant_span *span, const vug_quant_levels *levels,
                               const vug_search_grid *grid, vug_dtype format)
{
    const vug_span_range extent = vug_span_find_range(span);
    const float largest = fmaxf(-extent.least, extent.most);
    const float step = (grid->last - grid->first) / (float)(grid->n - 1);
    const int signs = grid->both_signs ? 2 : 1;
    vug_scale_fit best = vug_fit_flat(span, 0);
    vug_fit_candidates c = { 0 };
    for (int i = 0, at = 0; i < grid->n; i++) {
        const float s = vug_scale_round(format, largest / (grid->first + (float)i * step));
        c.s[at++] = s;
        if (signs == 2)
            c.s[at++] = -s;
        if (at == 8) {
            (void)vug_fit_try_candidates(&best, span, levels, &c);
            at = 0;
        }
    }
    for (int i = 0; i < grid->polish; i++) {
        const vug_span_sums m = vug_span_compute_sums(span, levels, best.s, 0);
        if (!(m.qq > 0) ||
            !vug_fit_try(&best, span, levels, vug_scale_round(format, m.qx / m.qq), 0))
            break;
    }
    return best;
}

/* One step of least squares for the q of `best`: the rounded slope, then the rounded offset
 * that fits best with it. */
static bool polish_affine(vug_scale_fit *best, const vug_quant_span *span,
                          const vug_quant_levels *levels, vug_dtype format, float sum_w,
                          float sum_wx)
{
    const vug_span_sums m = vug_span_compute_sums(span, levels, best->s, best->o);
    const float d = sum_w * m.qq - m.q * m.q;
    if (!(d > 0))
        return false;
    const float s = vug_scale_round(format, (sum_w * m.qx - m.q * sum_wx) / d);
    const float o = vug_scale_round(format, (sum_wx - s * m.q) / sum_w);
    return vug_fit_try(best, span, levels, s, o);
}

vug_scale_fit vug_search_affine(const vug_quant_span *span, const vug_quant_levels *levels,
                                const vug_search_grid *grid, vug_dtype format)
{
    const vug_span_range extent = vug_span_find_range(span);
    const float range = extent.most - extent.least, most = levels->most;
    float sum_w = 0, sum_wx = 0;
    for (int i = 0; i < span->n; i++) {
        sum_w += span->w[i];
        sum_wx += span->w[i] * span->x[i];
    }
    vug_scale_fit best = vug_fit_flat(span, vug_scale_round(format, sum_wx / sum_w));
    const float plain = vug_scale_round(format, range / most);
    (void)vug_fit_try(&best, span, levels, plain, vug_scale_round(format, extent.least));
    /* How far the ends of the range lie inside the data, in steps. */
    const float step = (grid->last - grid->first) / (float)(grid->n - 1);
    vug_fit_candidates c;
    const int pairs = grid->n * grid->n;
    for (int i = 0; i < (pairs + 7) / 8 * 8; i++) {
        const int pair = i < pairs ? i : pairs - 1, row = pair / grid->n, column = pair % grid->n;
        const float a = grid->first + (float)row * step, b = grid->first + (float)column * step;
        const float s = vug_scale_round(format, range / (most + a + b));
        c.s[i % 8] = s;
        c.o[i % 8] = vug_scale_round(format, extent.least + a * s);
        if (i % 8 == 7)
            (void)vug_fit_try_candidates(&best, span, levels, &c);
    }
    for (int i = 0; i < grid->polish; i++) {
        if (!polish_affine(&best, span, levels, format, sum_w, sum_wx))
            break;
    }
    return best;
}
