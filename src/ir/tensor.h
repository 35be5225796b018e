#ifndef VUG_IR_TENSOR_H
#define VUG_IR_TENSOR_H

/* A tensor of a checkpoint, as its directory lists it. */

#include "ir/dtype.h"

#define VUG_TENSOR_MAX_RANK 8

typedef struct {
    vug_str name; /* as the file has it; NUL-terminated as well */
    vug_dtype dtype;
    int rank; /* 0: a scalar */
    int64_t dim[VUG_TENSOR_MAX_RANK];
    const uint8_t *data; /* of any alignment */
    uint64_t bytes;
    const char *file; /* base name */
    uint64_t offset;  /* of data in the file, in bytes */
} vug_tensor;

#endif
