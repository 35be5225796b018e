#ifndef VUG_IR_QUANTIZE_H
#define VUG_IR_QUANTIZE_H

/*
 * From F32 to formats whose rounding takes a search: scales (and minima) are chosen so
 * that the sum of importance * (x - decoded)^2 is small, where every candidate is judged
 * by what it would decode to, its scales rounded as they are stored.
 *
 * Numbers alone decide: the same row gives the same bytes on every machine. Values that
 * no block can hold are cut off at its largest; a NaN is taken for some finite value.
 * Whoever wants such rows refused looks before (vug_finite).
 */

#include "ir/dtype.h"

/* Whether this is a format whose blocks vug_quantize_row makes. */
bool vug_quantizes(vug_dtype dtype);
/* A row of `n` weights, a whole number of blocks. `importance` [n], each >= 0: how much an
 * error there matters, relative to the others of its block; NULL: all alike. */
void vug_quantize_row(vug_dtype dtype, const float *x, const float *importance, int64_t n,
                      uint8_t *dst);

/* How MLX's formats are cut: a scale (and a bias) for each `group` of neighbours. */
typedef struct {
    vug_dtype dtype;  /* MLX2 .. MLX8, or MLX_FP4 */
    vug_dtype scales; /* F32, F16 or BF16; of MLX_FP4 E8M0 */
    int group;        /* 32, 64 or 128; of MLX_FP4 32 */
    bool plain;       /* as MLX itself rounds, without a search: to compare with */
} vug_mlx_format;

bool vug_mlx_format_valid(const vug_mlx_format *format);
/* A row of `n` weights, a whole number of groups: the stream of bits to `dst`, a scale and
 * a bias per group to `scale` and `bias` (not used by MLX_FP4). */
void vug_quantize_mlx(const vug_mlx_format *format, const float *x, const float *importance,
                      int64_t n, uint8_t *dst, uint8_t *scale, uint8_t *bias);

/* The first of `n` values that is infinite or a NaN, or `n`. */
int64_t vug_finite(const float *x, int64_t n);

#endif
