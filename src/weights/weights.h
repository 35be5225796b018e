#ifndef VUG_WEIGHTS_WEIGHTS_H
#define VUG_WEIGHTS_WEIGHTS_H

/*
 * A checkpoint's tensors as one directory, whatever the container: name ->
 * format, shape, bytes. The bytes stay in the mapped files and may have any
 * alignment (MLX writes headers without padding).
 *
 * Everything in a file is untrusted: names, counts, shapes and offsets are
 * checked before an entry is made (docs/limits.md lists the limits), so that
 * `bytes` bytes at `data` are readable and agree with format and shape.
 */

#include "core/gguf.h"
#include "core/mem.h"
#include "core/os.h"
#include "ir/tensor.h"

typedef struct vug_weights vug_weights;

/* The safetensors of a folder: the shards that model.safetensors.index.json
 * names, else model.safetensors, else all model*.safetensors in name order. */
VUG_MUST_CHECK vug_status vug_weights_open(const char *folder, vug_weights **out, vug_err *err);
/* One safetensors file, or the same from memory that outlives the directory. */
VUG_MUST_CHECK vug_status vug_weights_open_file(const char *path, vug_weights **out, vug_err *err);
VUG_MUST_CHECK vug_status vug_weights_over(vug_bytes file, const char *name, vug_weights **out,
                                           vug_err *err);
/* A GGUF file; of a split one any part, the others lie beside it. */
VUG_MUST_CHECK vug_status vug_weights_open_gguf(const char *path, vug_weights **out, vug_err *err);
/* One that is not split, from memory that outlives the directory. */
VUG_MUST_CHECK vug_status vug_weights_over_gguf(vug_bytes file, const char *name, vug_weights **out,
                                                vug_err *err);
/* An empty directory, to which tensors in memory of its own are added. */
VUG_MUST_CHECK vug_status vug_weights_create(const char *name, vug_weights **out, vug_err *err);
/* `data` is zeroed, writable and owned by the directory. `name` is copied. */
VUG_MUST_CHECK vug_status vug_weights_add(vug_weights *weights, vug_str name, vug_dtype dtype,
                                          int rank, const int64_t *dim, uint8_t **data,
                                          vug_err *err);
/* Gives an added tensor of two dimensions or more scales, of the format and for as many
 * `rows` and `columns` as `how` says, and biases unless `bias` is NULL: zeroed likewise. */
VUG_MUST_CHECK vug_status vug_weights_add_scales(vug_weights *weights, vug_str name,
                                                 const vug_scales *how, uint8_t **scale,
                                                 uint8_t **bias, vug_err *err);
void vug_weights_close(vug_weights *weights);

size_t vug_weights_count(const vug_weights *weights);
/* In the order of the files and, within one, of offsets. `i` < count. */
const vug_tensor *vug_weights_at(const vug_weights *weights, size_t i);
/* NULL when there is none. */
const vug_tensor *vug_weights_find(const vug_weights *weights, vug_str name);
/* The metadata of GGUF, of a split file that of its first part; NULL for every other
 * container. Lives as long as the directory. */
const vug_gguf *vug_weights_gguf(const vug_weights *weights);
/* Bytes mapped from files. */
uint64_t vug_weights_mapped(const vug_weights *weights);

/* Reads one tensor's bytes into memory ahead of use, in pieces; `done` advances
 * and `progress` (may be NULL) hears of it. False when progress said stop. */
bool vug_weights_populate(const vug_weights *weights, const vug_tensor *tensor, uint64_t *done,
                          uint64_t total, vug_progress_fn *progress, void *user);

/* Begins to read `n` of its bytes from `at` on, as far as there are so many; does not wait. */
void vug_weights_expect(const vug_weights *weights, const vug_tensor *tensor, uint64_t at,
                        uint64_t n);
/* Gives the memory of a tensor's bytes back, which are read from the file again when they
 * are needed again. */
void vug_weights_forget(const vug_weights *weights, const vug_tensor *tensor);

/* ---- scales in tensors of their own -------------------------------------- */

typedef enum {
    VUG_SCALED_NOT,    /* nothing is said */
    VUG_SCALED_AFFINE, /* of MLX: weight = scale * q + bias */
    VUG_SCALED_MXFP4,  /* of MLX */
    VUG_SCALED_FP8,    /* E4M3 */
} vug_scaled_mode;

/* How weights are quantized. */
typedef struct {
    vug_scaled_mode mode;
    int bits;              /* affine, mxfp4 */
    int64_t rows, columns; /* that share a scale; fp8: 0 where it is not said */
} vug_scaled;

/* What a config says of that, for all modules and for some: a module is the name of a
 * weight without ".weight". */
typedef struct {
    vug_str name; /* first: they are sorted by it */
    vug_scaled how;
} vug_scaled_module;

typedef struct {
    const char *file; /* of the config, for sentences */
    vug_scaled all;
    vug_scaled_module *module; /* [n], of different names; vug_weights_fold sorts them */
    size_t n;
} vug_quantization;

/* Makes one tensor of each weight and the tensors with its scales and biases: `P.weight`
 * with `P.scales` and `P.biases` of MLX, E4M3 with `P.weight_scale_inv` or
 * `P.weight_scale`. Which weights have scales the files say, not the config. Pointers
 * to tensors that were taken before are no longer valid. */
VUG_MUST_CHECK vug_status vug_weights_fold(vug_weights *weights, vug_quantization *said,
                                           vug_err *err);

/* ---- writing ----------------------------------------------------------------- */

typedef struct {
    vug_str name;
    vug_dtype dtype;
    int rank;
    int64_t dim[VUG_TENSOR_MAX_RANK];
} vug_tensor_spec;

enum { VUG_PIECE = 4 * 1024 * 1024 }; /* bytes */

/* Called from the caller's thread for tensor `i` in pieces, in order: fill `n` bytes that
 * begin `at` bytes into the tensor. A piece has at most VUG_PIECE bytes and is whole rows,
 * or whole blocks where a row is larger. */
typedef vug_status vug_fill_fn(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user,
                               vug_err *err);

/* What becomes the tensors of a file. */
typedef struct {
    const vug_tensor_spec *tensor; /* [n] */
    size_t n;
    vug_fill_fn *fill;
    void *user;                /* of fill */
    vug_progress_fn *progress; /* may be NULL */
    void *progress_user;
} vug_tensor_stream;

/* Writes one safetensors file with the tensors in the order given, aligned as the
 * reference writer does, with metadata {"format":"pt"}; beside the target and
 * renamed at the end. */
VUG_MUST_CHECK vug_status vug_safetensors_write(const char *path, const vug_tensor_stream *tensors,
                                                vug_err *err);

/* Writes one GGUF file, version 3, aligned as general.alignment of the metadata says or
 * by 32; beside the target and renamed at the end. */
VUG_MUST_CHECK vug_status vug_gguf_write(const char *path, const vug_gguf_builder *metadata,
                                         const vug_tensor_stream *tensors, vug_err *err);

#endif
