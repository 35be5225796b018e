#ifndef VUG_TESTS_BLOCK_HELP_H
#define VUG_TESTS_BLOCK_HELP_H

/* Weights in blocks for tests of the CPU backend. */

#include "kernel_help.h"

/* The formats that are computed with in 8 bits; `i` < count. */
int block_format_count(void);
vug_dtype block_format(int i);

/* A random weight [rows,columns], `shift` bytes off any alignment, with scales of groups of
 * 32 or 64 where they lie apart; about 1/sqrt(columns) each. `columns` is rounded up to what
 * the format takes. */
vug_matrix block_weights(rng *r, vug_dtype dtype, int64_t rows, int64_t columns, size_t shift);
void block_weights_free(const vug_matrix *m, size_t shift);
/* The same weight decoded: F32, to be freed by vug_free. */
float *block_weights_decoded(const vug_matrix *m, int64_t rows);

#endif
