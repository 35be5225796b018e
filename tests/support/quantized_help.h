#ifndef VUG_TESTS_SUPPORT_QUANTIZED_HELP_H
#define VUG_TESTS_SUPPORT_QUANTIZED_HELP_H

/*
 * Building safetensors files tensor by tensor, with weights from a simple quantizer and the
 * values they represent. Include after cmocka.h.
 */

#include "scratch.h"

#include "weights/weights.h"

typedef struct {
    char name[128];
    vug_dtype dtype;
    int rank;
    int64_t dim[4];
    uint8_t *bytes; /* [n], zeroed by made_add */
    size_t n;
} made_tensor;

/* All-zero is empty. */
typedef struct {
    made_tensor tensor[320];
    size_t n;
} made_file;

typedef struct {
    int64_t n[4];
} made_dims;

made_tensor *made_add(made_file *f, vug_dtype dtype, int rank, made_dims dim, const char *format,
                      ...) __attribute__((format(printf, 5, 6)));
/* The tensor of that name; fails the test when it does not exist. */
made_tensor *made_find(made_file *f, const char *name);
typedef struct {
    uint8_t *ptr; /* the caller calls free */
    size_t len;
} made_block;

/* The bytes of the file. The header has no padding, so that the data begins at an odd byte. */
made_block made_bytes(const made_file *f);
void made_write(const made_file *f, const scratch *dir, const char *name);
void made_release(made_file *f);

typedef struct {
    vug_quant_mode mode;
    int bits;
    int64_t rows, columns; /* that share a scale */
    vug_dtype scales;
    const char *tail; /* suffix of the name of FP8 scales; NULL: "_scale_inv" */
} made_how;

/* Adds a matrix or a stack of matrices [..,in] as `name`, with its scales and biases, and
 * replaces `x` by the decoded values: by the definition of the format, each operation rounded
 * to F32. Without quantization the format is that of `how->scales`: BF16, F16 or F32. */
void made_matrix(made_file *f, const char *name, int rank, made_dims dim, float *x,
                 const made_how *how);

#endif
