#ifndef VUG_IR_TENSOR_H
#define VUG_IR_TENSOR_H

/* A tensor of a checkpoint, as its directory lists it. */

#include "ir/dtype.h"

#define VUG_TENSOR_MAX_RANK 8

/* The scales of a format that stores them outside its blocks. Each scale, and each bias,
 * which is added afterwards, belongs to `rows` x `columns` neighbouring weights. */
typedef struct {
    const uint8_t *scale; /* [.., stride]; of any alignment; NULL: no scales */
    const uint8_t *bias;  /* of the same shape and format; NULL: no biases */
    vug_dtype dtype;      /* F32, F16 or BF16; E8M0 for MLX_FP4 and some FP8 weights */
    int64_t rows, columns;
    int64_t stride; /* scales per row of scales */
} vug_scales;

/* The number of scales of a tensor of two dimensions or more, over all its matrices. */
int64_t vug_scale_count(const vug_scales *s, int rank, const int64_t *dim);

/* A weight [rows,columns] in memory, borrowed. */
typedef struct {
    vug_dtype dtype;
    const uint8_t *data; /* of any alignment */
    int64_t columns;
    vug_scales scales;
} vug_matrix;

typedef struct {
    vug_str name; /* as in the file, and NUL-terminated */
    vug_dtype dtype;
    int rank; /* 0: a scalar */
    int64_t dim[VUG_TENSOR_MAX_RANK];
    const uint8_t *data;  /* of any alignment */
    uint64_t bytes;       /* at data */
    vug_scales scales;    /* only of a tensor of two dimensions or more */
    uint64_t scale_bytes; /* of scales and biases together, wherever they are stored */
    const char *file;     /* base name */
    uint64_t offset;      /* of data in the file, in bytes */
} vug_tensor;

/* The matrix that begins at row `row` of a tensor of two dimensions or more, with its
 * scales: each matrix of a stack [..,out,in] has its own. */
vug_matrix vug_tensor_matrix_at(const vug_tensor *t, int64_t row);
/* Whether a scale begins at that row, which vug_tensor_matrix_at requires. */
bool vug_tensor_has_matrix_at(const vug_tensor *t, int64_t row);

#endif
