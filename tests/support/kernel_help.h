#ifndef VUG_TESTS_SUPPORT_KERNEL_HELP_H
#define VUG_TESTS_SUPPORT_KERNEL_HELP_H

/* Numbers, weights and guarded buffers for tests of the CPU kernels. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/tensor.h"

/* A small generator (xorshift64*); any seed but 0. */
typedef struct {
    uint64_t state;
} rng;

uint32_t rng_bits(rng *r);
/* In [-1, 1). */
float rng_float(rng *r);
void rng_fill(rng *r, float *x, size_t n);

/* n floats between guard bytes that no kernel may write to. They are NaN, so that reading one
 * before it is written changes results. */
float *guarded_floats(size_t n);
/* Fails if a guard byte has changed. */
void check_guards(const float *x, size_t n);
void free_guarded(float *x);

/* Random weights in `dtype`, `shift` bytes off any alignment, between bytes that decode to
 * NaN. */
uint8_t *random_weights(rng *r, vug_dtype dtype, size_t n, size_t shift);
void free_weights(const uint8_t *w, size_t shift);
/* A weight [..,columns] in a format without scales. */
vug_matrix matrix_over(vug_dtype dtype, const uint8_t *data, int64_t columns);

/* Fails with `what` and the index of the first difference; +0 and -0 differ. */
void check_bits(const float *got, const float *want, size_t n, const char *what);

#endif
