/*
 * Rows of x times panels of quantized weights, with the instruction that multiplies 2 by 8 bytes with
 * 8 by 2 (FEAT_I8MM).
 *
 * A vector has eight elements of two rows, so a sum of products, a square, belongs to two rows of x and
 * two of weights: x[0] w[0], x[0] w[1], x[1] w[0], x[1] w[1]. One lane is computed after the other, so
 * that its sums stay in registers.
 */
#if defined(__ARM_FEATURE_MATMUL_INT8)
#include "backend/cpu/arm/neon_panels.h"

enum {
    EIGHTS = BLOCK / 8,
    HALVES = 2,
    X_PAIRS = 2, /* pairs of rows of x and of weights whose squares stay in registers: */
    W_PAIRS = 4, /* 8 of lanes and 8 or 16 of products */
    X_ROWS = 2 * X_PAIRS,
    W_ROWS = 2 * W_PAIRS,
};

typedef struct {
    float32x4_t at[X_PAIRS][W_PAIRS];
} lane_squares;

typedef struct {
    int32x4_t at[X_PAIRS][W_PAIRS];
} product_squares;

/* What belongs to a block of a pair of rows of x, in the order of squares. */
typedef struct {
    int8x16_t q[EIGHTS];
    float32x4_t scale;
    int32x4_t both; /* the sums of the whole block */
    int16x8_t sums; /* of its halves */
} x_pair;

/* The two numbers at `p`, twice. */
INLINE float32x4_t two_floats(const float *p)
{
    const float32x2_t two = vld1_f32(p);
    return vcombine_f32(two, two);
}

INLINE x_pair load_x_pair(const vug_cpu_q8_tile *x, int64_t row)
{
    x_pair p;
    for (int h = 0; h < HALVES; h++) {
        const int64x2_t a = vreinterpretq_s64_s8(vld1q_s8(x->q[row] + (ptrdiff_t)h * HALF));
        const int64x2_t b = vreinterpretq_s64_s8(vld1q_s8(x->q[row + 1] + (ptrdiff_t)h * HALF));
        p.q[2 * h] = vreinterpretq_s8_s64(vzip1q_s64(a, b));
        p.q[2 * h + 1] = vreinterpretq_s8_s64(vzip2q_s64(a, b));
    }
    const float32x4_t scale = two_floats(x->scale + row);
    p.scale = vzip1q_f32(scale, scale);
    const int32x2_t sums = vreinterpret_s32_s16(vld1_s16(x->sum[row]));
    const int32x4_t twice_each = vcombine_s32(vzip1_s32(sums, sums), vzip2_s32(sums, sums));
    p.sums = vreinterpretq_s16_s32(twice_each);
    p.both = vpaddlq_s16(p.sums);
    return p;
}

/* Adds the products of half `half` of a block, of rows row .. row + 7 of weights. */
INLINE void multiply_half(const vug_cpu_q8_panel_block *w, int64_t row, const x_pair *x,
                          const int half, product_squares *p)
{
#pragma GCC unroll 2
    for (int64_t i = half * EIGHTS / HALVES; i < (half + 1) * EIGHTS / HALVES; i++) {
#pragma GCC unroll 4
        for (int n = 0; n < W_PAIRS; n++) {
            const int8x16_t q = vld1q_s8(w->eights[i][row + (ptrdiff_t)2 * n]);
#pragma GCC unroll 2
            for (int m = 0; m < X_PAIRS; m++)
                p->at[m][n] = vmmlaq_s32(p->at[m][n], x[m].q[i], q);
        }
    }
}

/* The sums of x, each multiplied by the minimum of its half. */
INLINE int32x4_t multiply_minimums(const vug_cpu_q8_panel_block *w, int64_t row, const x_pair *x)
{
    const int16x4_t two = vld1_s16(w->minimum[row]);
    return vpaddq_s32(vmull_s16(two, vget_low_s16(x->sums)),
                      vmull_s16(two, vget_high_s16(x->sums)));
}

/* What a block adds to the lanes of a square, before the scale of x: `first` has its products, or those
 * of its first half. */
INLINE float32x4_t square_terms(const vug_cpu_q8_block_terms t, const vug_cpu_q8_panel_block *w,
                                int64_t row, const x_pair *x, int32x4_t first, int32x4_t second)
{
    const float32x4_t scale = two_floats(w->scale + row);
    float32x4_t p = vcvtq_f32_s32(first);
    if (t.factors)
        p = vfmaq_f32(vmulq_f32(two_floats(w->factor[1] + row), vcvtq_f32_s32(second)),
                      two_floats(w->factor[0] + row), p);
    if (!t.offset)
        return vmulq_f32(scale, p);
    const int32x4_t m = t.factors ? multiply_minimums(w, row, x) : x->both;
    return vfmaq_f32(vmulq_f32(two_floats(w->offset + row), vcvtq_f32_s32(m)), scale, p);
}

/* Adds a block to the lanes of rows w_row .. w_row + 7 of weights and x_row .. x_row + 3 of x. */
INLINE void multiply_block(const vug_cpu_q8_block_terms t, int zero,
                           const vug_cpu_q8_panel_block *w, int64_t w_row, const vug_cpu_q8_tile *x,
                           int64_t x_row, lane_squares *lane)
{
    x_pair pair[X_PAIRS];
    product_squares first, second;
#pragma GCC unroll 2
    for (int m = 0; m < X_PAIRS; m++) {
        pair[m] = load_x_pair(x, x_row + (ptrdiff_t)2 * m);
#pragma GCC unroll 4
        for (int n = 0; n < W_PAIRS; n++) {
            first.at[m][n] = vmulq_n_s32(pair[m].both, -zero);
            second.at[m][n] = vdupq_n_s32(0);
        }
    }
    multiply_half(w, w_row, pair, 0, &first);
    multiply_half(w, w_row, pair, 1, t.factors ? &second : &first);
#pragma GCC unroll 2
    for (int m = 0; m < X_PAIRS; m++) {
#pragma GCC unroll 4
        for (int n = 0; n < W_PAIRS; n++) {
            const float32x4_t terms = square_terms(t, w, w_row + (ptrdiff_t)2 * n, &pair[m],
                                                   first.at[m][n], second.at[m][n]);
            lane->at[m][n] = vfmaq_f32(lane->at[m][n], pair[m].scale, terms);
        }
    }
}

/* Four columns of y of two rows of x: y + lanes, or 0 + lanes. */
INLINE void add_squares(float32x4_t a, float32x4_t b, bool is_first, float *y)
{
    const float64x2_t left = vreinterpretq_f64_f32(a), right = vreinterpretq_f64_f32(b);
    const float32x4_t row[2] = { vreinterpretq_f32_f64(vzip1q_f64(left, right)),
                                 vreinterpretq_f32_f64(vzip2q_f64(left, right)) };
    for (int r = 0; r < 2; r++) {
        float *to = y + (ptrdiff_t)r * PANEL;
        vst1q_f32(to, vaddq_f32(is_first ? vdupq_n_f32(0) : vld1q_f32(to), row[r]));
    }
}

/* The blocks of a lane. */
typedef struct {
    const vug_cpu_q8_panel_block *w;
    const vug_cpu_q8_tile *x;
    int64_t n;
    bool is_first; /* of the lanes */
    int zero;
} panel_lane;

/* Adds a lane of rows w_row .. w_row + 7 and x_row .. x_row + 3 to y. */
INLINE void multiply_lane(const vug_cpu_q8_block_terms t, const panel_lane *b, int64_t w_row,
                          int64_t x_row, float *y)
{
    lane_squares lane;
    for (int k = 0; k < X_PAIRS * W_PAIRS; k++)
        lane.at[k / W_PAIRS][k % W_PAIRS] = vdupq_n_f32(0);
    for (int64_t i = 0; i < b->n; i++)
        multiply_block(t, b->zero, b->w + i, w_row, b->x + i, x_row, &lane);
#pragma GCC unroll 2
    for (ptrdiff_t m = 0; m < X_PAIRS; m++) {
#pragma GCC unroll 2
        for (ptrdiff_t n = 0; n < W_PAIRS; n += 2)
            add_squares(lane.at[m][n], lane.at[m][n + 1], b->is_first,
                        y + 2 * m * PANEL + w_row + 2 * n);
    }
}

INLINE void multiply_job(const vug_cpu_q8_block_terms t, int zero, const vug_cpu_q8_panel_job *job)
{
    for (int64_t j = 0; j < LANES && j < job->blocks; j++) {
        const int64_t first = vug_cpu_lane_start(job->blocks, j);
        panel_lane b = { .w = job->w + first,
                         .n = vug_cpu_lane_size(job->blocks, j),
                         .is_first = j == 0,
                         .zero = zero };
        for (int64_t r = 0; r < job->rows; r += X_ROWS) {
            b.x = job->x + first * job->tiles + r / PANEL * b.n;
            for (int64_t o = 0; o < PANEL; o += W_ROWS)
                multiply_lane(t, &b, o, r % PANEL, job->y + r * PANEL);
        }
    }
}

void vug_neon_i8mm_multiply(vug_cpu_q8_block_terms t, int zero, const vug_cpu_q8_panel_job *job)
{
    WITH_CONSTANT_TERMS(t, multiply_job, zero, job);
}

#else
typedef int vug_neon_i8mm_multiply_is_empty; /* ISO C forbids an empty file */
#endif
