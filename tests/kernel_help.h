#ifndef VUG_TESTS_KERNEL_HELP_H
#define VUG_TESTS_KERNEL_HELP_H

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

/* Room for n floats with guard bytes around it that no kernel may touch; filled
 * with NaN, so that what is read before it is written shows. */
float *guarded_floats(size_t n);
/* Fails the test when a guard was written to. */
void check_guards(const float *x, size_t n);
void free_guarded(float *x);

/* Random weights in `dtype`, `shift` bytes off any alignment, between bytes that
 * decode to NaN. */
uint8_t *random_weights(rng *r, vug_dtype dtype, size_t n, size_t shift);
void free_weights(const uint8_t *w, size_t shift);
/* [..,columns] of a format without scales. */
vug_matrix matrix_over(vug_dtype dtype, const uint8_t *data, int64_t columns);

/* Fails with `what` and the index of the first difference; +0 and -0 differ. */
void check_bits(const float *got, const float *want, size_t n, const char *what);

#endif
