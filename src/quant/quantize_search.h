#ifndef VUG_QUANT_QUANTIZE_SEARCH_H
#define VUG_QUANT_QUANTIZE_SEARCH_H

/*
 * Shared by the quantizers. A span is a run of weights with one scale `s` and one offset `o`.
 * Weight x is stored as the integer (or table value) q nearest to (x - o) / s, and decodes to
 * s q + o.
 *
 * Sums use eight lanes that are added in a fixed order, so that compilers can vectorize them
 * and the result has the same bits everywhere.
 */

#include "ir/dtype.h"
#include "quant/codec.h"

typedef struct {
    const float *x; /* [n], finite */
    const float *w; /* [n], above 0 */
    int n;          /* a multiple of 8, at most 128 */
} vug_quant_span;

/* The possible q: integers from `least` to `most`, or the table of IQ4_NL. */
typedef struct {
    float least, most;
    bool table;
} vug_quant_levels;

/* The smallest and the largest x of a span. */
typedef struct {
    float least, most;
} vug_span_range;

/* Sums over a span, for the q that follow from s and o. */
typedef struct {
    float qq, q, qx; /* sums of w q q, w q, w q x */
} vug_span_sums;

/* Fills `to` [n] with finite values and `w` [n] with the importance (NULL: all equal) relative
 * to the largest of these n. */
void vug_span_prepare(const float *x, const float *importance, int n, float *to, float *w);
vug_span_range vug_span_find_range(const vug_quant_span *span);

vug_span_sums vug_span_compute_sums(const vug_quant_span *span, const vug_quant_levels *levels,
                                    float s, float o);
/* Writes the q; for a table their indices, 0 to 15. */
void vug_span_assign(const vug_quant_span *span, const vug_quant_levels *levels, float s, float o,
                     int8_t *q);

/* A scale and an offset, and the resulting error. */
typedef struct {
    float s, o, error;
} vug_scale_fit;

/* Eight candidates, tried together. */
typedef struct {
    float s[8], o[8];
} vug_fit_candidates;

/* Both replace `best` if a candidate has a smaller error, and return whether they did. A
 * candidate with scale 0 is never taken. */
bool vug_fit_try_candidates(vug_scale_fit *best, const vug_quant_span *span,
                            const vug_quant_levels *levels, const vug_fit_candidates *c);
bool vug_fit_try(vug_scale_fit *best, const vug_quant_span *span, const vug_quant_levels *levels,
                 float s, float o);
/* The fit without a scale: all weights decode to the offset. */
vug_scale_fit vug_fit_flat(const vug_quant_span *span, float o);

/* Candidates, evenly spaced from `first` to `last`. For a scale alone: the q of the largest
 * magnitude. For a scale with an offset: how many steps each end of the scale lies inside the
 * data, in all pairs. Then at most `polish` steps of least squares. */
typedef struct {
    float first, last;
    int n, polish;   /* n (n * n with an offset) is a multiple of 8, or of 4 with both signs */
    bool both_signs; /* try both signs of the scale, for asymmetric levels */
} vug_search_grid;

/* The best candidate, rounded as `format` stores it. */
vug_scale_fit vug_search_scale(const vug_quant_span *span, const vug_quant_levels *levels,
                               const vug_search_grid *grid, vug_dtype format);
vug_scale_fit vug_search_affine(const vug_quant_span *span, const vug_quant_levels *levels,
                                const vug_search_grid *grid, vug_dtype format);

/* Writes 32 weights as E2M1 codes to `q` and returns the byte of their common scale. */
enum { VUG_BLOCK = 32 };
uint8_t vug_quantize_mxfp4(const float *x, const float *importance, int8_t *q);

/* Super-blocks: 256 weights in spans of 16 or 32, whose scales are integers times an F16. */
enum { VUG_SUPER_BLOCK = 256, VUG_MAX_SPANS = 16 };

/* weight = d * scale * q - dmin * minimum */
typedef struct {
    float d, dmin; /* rounded to F16 */
    int scale[VUG_MAX_SPANS], minimum[VUG_MAX_SPANS];
    int8_t q[VUG_SUPER_BLOCK]; /* in the order of the weights; for a table indices */
} vug_super_block;

void vug_quantize_super_block(vug_dtype dtype, const float *x, const float *w, uint8_t *dst);
/* Writes the bytes of a super-block; it may change `q`. */
void vug_pack_super_block(vug_dtype dtype, vug_super_block *block, uint8_t *dst);

static inline void vug_put_f16(float x, uint8_t *to)
{
    vug_codec_of(VUG_DTYPE_F16)->encode(&x, to, 1);
}

/* Rounds a scale to its format; values beyond the range become the largest. */
float vug_scale_round(vug_dtype format, float x);

#endif
