#ifndef VUG_TESTS_QUANTIZED_HELP_H
#define VUG_TESTS_QUANTIZED_HELP_H

/*
 * Safetensors files that are put together tensor by tensor, with weights that a plain
 * quantizer made, and the values that they stand for. Include after cmocka.h.
 */

#include "scratch.h"

#include "weights/weights.h"

typedef struct {
    char name[128];
    vug_dtype dtype;
    int rank;
    int64_t dim[4];
    uint8_t *bytes; /* [n], zeroed at first */
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
/* The tensor of that name; fails the test when there is none. */
made_tensor *made_find(made_file *f, const char *name);
typedef struct {
    uint8_t *ptr; /* for free */
    size_t len;
} made_block;

/* A header without padding, so that the data begins at an odd byte. */
made_block made_bytes(const made_file *f);
void made_write(const made_file *f, const scratch *dir, const char *name);
void made_release(made_file *f);

typedef struct {
    vug_scaled_mode mode;
    int bits;
    int64_t rows, columns; /* that share a scale */
    vug_dtype scales;
    const char *tail; /* of the name of FP8's scales; NULL: "_scale_inv" */
} made_how;

/* Adds a matrix, or a stack of them, [..,in] as `name` with what belongs to it, and leaves
 * in `x` the values that it has now: those of the format's definition, each operation
 * rounded to F32. Not quantized it is BF16, F16 or F32 as `how->scales` says. */
void made_matrix(made_file *f, const char *name, int rank, made_dims dim, float *x,
                 const made_how *how);

#endif
