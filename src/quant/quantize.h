#ifndef VUG_QUANT_QUANTIZE_H
#define VUG_QUANT_QUANTIZE_H

/*
 * Quantizing F32 to block formats. A search chooses scales (and minima) so that the sum of
 * importance * (x - decoded)^2 is small. Every candidate is judged by what it decodes to,
 * with its scales rounded as they are stored.
 *
 * The same row gives the same bytes on every machine. Values beyond the range of a block are
 * clamped, and NaN becomes some finite value. Callers that must reject such rows check them
 * with vug_first_nonfinite.
 */

#include "ir/dtype.h"

/* Whether vug_quantize_row supports the format. */
bool vug_can_quantize(vug_dtype dtype);
/* Quantizes a row of `n` weights, a whole number of blocks. `importance` [n], each >= 0, says
 * how much an error matters relative to the others of its block; NULL: all equal. */
void vug_quantize_row(vug_dtype dtype, const float *x, const float *importance, int64_t n,
                      uint8_t *dst);

/* A format of MLX, with a scale (and a bias) for each `group` of consecutive weights. */
typedef struct {
    vug_dtype dtype;  /* MLX2 .. MLX8, or MLX_FP4 */
    vug_dtype scales; /* F32, F16 or BF16; E8M0 for MLX_FP4 */
    int group;        /* 32, 64 or 128; 32 for MLX_FP4 */
    bool plain;       /* round as MLX does, without a search, for comparisons */
} vug_mlx_format;

bool vug_mlx_format_valid(const vug_mlx_format *format);
/* Quantizes a row of `n` weights, a whole number of groups: the bit stream to `dst`, a scale
 * and a bias per group to `scale` and `bias` (unused for MLX_FP4). */
void vug_quantize_mlx(const vug_mlx_format *format, const float *x, const float *importance,
                      int64_t n, uint8_t *dst, uint8_t *scale, uint8_t *bias);

/* The index of the first value that is infinite or NaN, or `n`. */
int64_t vug_first_nonfinite(const float *x, int64_t n);

#endif
