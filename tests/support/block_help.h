#ifndef VUG_TESTS_SUPPORT_BLOCK_HELP_H
#define VUG_TESTS_SUPPORT_BLOCK_HELP_H

/* Random weights for tests of backends, most of them quantized. */

#include "kernel_help.h"

/* The quantized formats that have kernels; `i` < count. */
int block_format_count(void);
vug_dtype block_format(int i);

/* A random weight [rows,columns], `shift` bytes off any alignment, with elements of about
 * 1/sqrt(columns). Separate scales are for 32 or 64 elements each. `columns` is rounded up to
 * whole blocks. */
vug_matrix block_weights(rng *r, vug_dtype dtype, int64_t rows, int64_t columns, size_t shift);
/* The same of a quantized format, or of another one without scales. */
vug_matrix random_matrix(rng *r, vug_dtype dtype, int64_t rows, int64_t columns, size_t shift);
/* Frees a matrix of either function. */
void block_weights_free(const vug_matrix *m, size_t shift);
/* The weight decoded to F32, for vug_free. */
float *block_weights_decoded(const vug_matrix *m, int64_t rows);

#endif
