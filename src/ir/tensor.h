#ifndef VUG_IR_TENSOR_H
#define VUG_IR_TENSOR_H

/* A tensor of a checkpoint, as its directory lists it. */

#include "ir/dtype.h"

#define VUG_TENSOR_MAX_RANK 8

/* What a weight of a format without scales in it is multiplied with: each scale (and
 * each bias, added afterwards) belongs to `rows` x `columns` neighbouring weights. */
typedef struct {
    const uint8_t *scale; /* [.., stride]; of any alignment; NULL: there are none */
    const uint8_t *bias;  /* likewise, in the same format; NULL: none */
    vug_dtype dtype;      /* F32, F16 or BF16; of MLX_FP4, and of some FP8, E8M0 */
    int64_t rows, columns;
    int64_t stride; /* scales of a row of them */
} vug_scales;

/* How many belong to a tensor of two dimensions or more: each of its matrices has its own. */
int64_t vug_scale_count(const vug_scales *s, int rank, const int64_t *dim);

/* A weight [rows,columns] in memory, borrowed. */
typedef struct {
    vug_dtype dtype;
    const uint8_t *data; /* of any alignment */
    int64_t columns;
    vug_scales scales;
} vug_matrix;

/* Weights 0 .. columns - 1 of a row, to the bit as the format's reference has them. */
void vug_matrix_decode(const vug_matrix *m, int64_t row, float *dst);
/* Block `i` of 32 of them, of a format that has blocks; see vug_block. */
void vug_matrix_block(const vug_matrix *m, int64_t row, int64_t i, vug_block *out);

typedef struct {
    vug_str name; /* as the file has it; NUL-terminated as well */
    vug_dtype dtype;
    int rank; /* 0: a scalar */
    int64_t dim[VUG_TENSOR_MAX_RANK];
    const uint8_t *data;  /* of any alignment */
    uint64_t bytes;       /* at data */
    vug_scales scales;    /* of a tensor of two dimensions or more, whose leading ones are rows */
    uint64_t scale_bytes; /* of scales and biases together, wherever they lie */
    const char *file;     /* base name */
    uint64_t offset;      /* of data in the file, in bytes */
} vug_tensor;

/* The matrix that begins at row `row` of a tensor of two dimensions or more, its scales
 * with it: each matrix of a stack [..,out,in] has scales of its own. */
vug_matrix vug_tensor_from(const vug_tensor *t, int64_t row);
/* Whether scales begin at that row, so that vug_tensor_from has an answer. */
bool vug_tensor_begins(const vug_tensor *t, int64_t row);

#endif
