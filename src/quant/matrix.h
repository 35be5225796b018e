#ifndef VUG_QUANT_MATRIX_H
#define VUG_QUANT_MATRIX_H

/* Reading the weights of a matrix of any format. */

#include "ir/tensor.h"
#include "quant/codec.h"

/* Weights 0 .. columns - 1 of a row, to the bit as the format's reference has them. */
void vug_matrix_decode(const vug_matrix *m, int64_t row, float *dst);
/* Block `i` of 32 of them, of a format that has blocks; see vug_block. */
void vug_matrix_block(const vug_matrix *m, int64_t row, int64_t i, vug_block *out);

#endif
