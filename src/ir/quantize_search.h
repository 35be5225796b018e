#ifndef VUG_IR_QUANTIZE_SEARCH_H
#define VUG_IR_QUANTIZE_SEARCH_H

/*
 * What the quantizers share. A span is a run of weights with one scale `s` and offset `o`;
 * weight x is stored as the whole number (or table value) q nearest to (x - o) / s and
 * reads back as s q + o.
 *
 * Sums run in eight lanes that are joined in a fixed order, so that compilers can use
 * vectors and still give the same bits everywhere.
 */

#include "ir/dtype.h"

typedef struct {
    const float *x; /* [n], finite */
    const float *w; /* [n], above 0 */
    int n;          /* a multiple of 8, at most 128 */
} vug_span;

/* Which q there are: whole numbers from `least` to `most`, or IQ4_NL's table. */
typedef struct {
    float least, most;
    bool table;
} vug_levels;

/* The least and the largest x of a span. */
typedef struct {
    float least, most;
} vug_extent;

/* Sums over a span for the q that s and o give. */
typedef struct {
    float qq, q, qx; /* of w q q, w q, w q x */
} vug_moments;

/* Fills `to` and `w` [n]: values made finite, importance (NULL: all alike) relative to the
 * largest of these n. */
void vug_span_take(const float *x, const float *importance, int n, float *to, float *w);
vug_extent vug_span_extent(const vug_span *span);

vug_moments vug_span_moments(const vug_span *span, const vug_levels *levels, float s, float o);
/* The q themselves; of a table their places, 0 to 15. */
void vug_span_assign(const vug_span *span, const vug_levels *levels, float s, float o, int8_t *q);

/* A scale and an offset with the error that they leave. */
typedef struct {
    float s, o, error;
} vug_fit;

/* Eight candidates at once. */
typedef struct {
    float s[8], o[8];
} vug_eight;

/* Takes the candidate that leaves the least error where that is less; says whether. One
 * whose scale is 0 is never taken. */
bool vug_fit_best(vug_fit *best, const vug_span *span, const vug_levels *levels,
                  const vug_eight *c);
bool vug_fit_try(vug_fit *best, const vug_span *span, const vug_levels *levels, float s, float o);
/* What there is without a scale: all weights read back as the offset. */
vug_fit vug_fit_flat(const vug_span *span, float o);

/* Candidates, evenly from first to last: of a scale, the q that the largest magnitude would
 * have; of a scale with an offset, how many steps each end of the scale lies inside the
 * data (all pairs). Then at most `polish` steps of least squares. */
typedef struct {
    float first, last;
    int n, polish;   /* n: a multiple of 8 (of 4 with both signs); with an offset n * n is */
    bool both_signs; /* of the scale: levels are not the same on both sides of 0 */
} vug_grid;

/* The best of them as `format` stores it (F32: before it is stored). */
vug_fit vug_search_scale(const vug_span *span, const vug_levels *levels, const vug_grid *grid,
                         vug_dtype format);
vug_fit vug_search_affine(const vug_span *span, const vug_levels *levels, const vug_grid *grid,
                          vug_dtype format);

/* 32 weights as E2M1: their places to `q`, and the byte of the scale that they share. */
enum { VUG_BLOCK = 32 };
uint8_t vug_quantize_mxfp4(const float *x, const float *importance, int8_t *q);

/* Blocks of 256 weights whose scales are whole numbers times an F16 (quantize_k.c). */
enum { VUG_SUPER_BLOCK = 256 };
void vug_quantize_super_block(vug_dtype dtype, const float *x, const float *w, uint8_t *dst);

/* The nearest value that a format of scales holds, at most its largest in magnitude. */
float vug_scale_round(vug_dtype format, float x);

#endif
