#ifndef VUG_WEIGHTS_WEIGHTS_H
#define VUG_WEIGHTS_WEIGHTS_H

/*
 * The tensors of a checkpoint as one directory, the same for every container: name ->
 * format, shape, bytes. The bytes stay in the mapped files and may be unaligned (MLX
 * writes headers without padding).
 *
 * Everything in a file is untrusted. Names, counts, shapes and offsets are checked before
 * an entry is made (docs/limits.md lists the limits): `bytes` bytes at `data` are readable
 * and agree with format and shape.
 */

#include "core/gguf.h"
#include "core/mem.h"
#include "core/os.h"
#include "ir/tensor.h"

typedef struct vug_weights vug_weights;

/* The safetensors files of a folder: the shards that model.safetensors.index.json names,
 * otherwise model.safetensors, otherwise all model*.safetensors in name order. */
VUG_MUST_CHECK vug_status vug_weights_open(const char *folder, vug_weights **out, vug_err *err);
/* One safetensors file, from disk or from memory that outlives the directory. */
VUG_MUST_CHECK vug_status vug_weights_open_file(const char *path, vug_weights **out, vug_err *err);
VUG_MUST_CHECK vug_status vug_weights_open_memory(vug_bytes file, const char *name,
                                                  vug_weights **out, vug_err *err);
/* A GGUF file, or any part of a split model whose other parts are in the same folder. */
VUG_MUST_CHECK vug_status vug_weights_open_gguf(const char *path, vug_weights **out, vug_err *err);
/* An unsplit GGUF file in memory that outlives the directory. */
VUG_MUST_CHECK vug_status vug_weights_open_gguf_memory(vug_bytes file, const char *name,
                                                       vug_weights **out, vug_err *err);
/* An empty directory, for tensors that vug_weights_add allocates. */
VUG_MUST_CHECK vug_status vug_weights_create(const char *name, vug_weights **out, vug_err *err);
/* `data` is zeroed, writable and owned by the directory. `name` is copied. */
VUG_MUST_CHECK vug_status vug_weights_add(vug_weights *weights, vug_str name, vug_dtype dtype,
                                          int rank, const int64_t *dim, uint8_t **data,
                                          vug_err *err);
/* Gives an added tensor of two or more dimensions scales, and biases unless `bias` is NULL.
 * `how` says their format and how many rows and columns share one. They are zeroed. */
VUG_MUST_CHECK vug_status vug_weights_add_scales(vug_weights *weights, vug_str name,
                                                 const vug_scales *how, uint8_t **scale,
                                                 uint8_t **bias, vug_err *err);
void vug_weights_close(vug_weights *weights);

size_t vug_weights_count(const vug_weights *weights);
/* In the order of the files and, within one, of offsets. `i` < count. */
const vug_tensor *vug_weights_at(const vug_weights *weights, size_t i);
/* NULL when no tensor has that name. */
const vug_tensor *vug_weights_find(const vug_weights *weights, vug_str name);
/* The metadata of a GGUF file, or of the first part of a split one; NULL for other containers.
 * It lives as long as the directory. */
const vug_gguf *vug_weights_gguf(const vug_weights *weights);
/* Bytes mapped from files. */
uint64_t vug_weights_mapped(const vug_weights *weights);

/* Reads the bytes of one tensor into memory, in pieces. It advances `done` and calls
 * `progress` (may be NULL) after each; false when that returned false. */
bool vug_weights_populate(const vug_weights *weights, const vug_tensor *tensor, uint64_t *done,
                          uint64_t total, vug_progress_fn *progress, void *user);

/* Starts reading up to `n` bytes of a tensor from `at` on and does not wait. */
void vug_weights_prefetch(const vug_weights *weights, const vug_tensor *tensor, uint64_t at,
                          uint64_t n);
/* Frees the memory of the tensor's pages; the next access reads the file again. */
void vug_weights_evict(const vug_weights *weights, const vug_tensor *tensor);

/* ---- scales in separate tensors ------------------------------------------ */

typedef enum {
    VUG_QUANT_NONE,       /* the config does not say */
    VUG_QUANT_MLX_AFFINE, /* weight = scale * q + bias */
    VUG_QUANT_MLX_MXFP4,
    VUG_QUANT_FP8, /* E4M3 */
} vug_quant_mode;

/* How weights are quantized. */
typedef struct {
    vug_quant_mode mode;
    int bits;              /* affine, mxfp4 */
    int64_t rows, columns; /* that share a scale; fp8: 0 when the config does not say */
} vug_quant_scheme;

/* The scheme of one module: a weight's name without ".weight". */
typedef struct {
    vug_str name; /* first, for vug_sort_names */
    vug_quant_scheme how;
} vug_quant_module;

/* What a config says about quantization: a default, and modules that differ. */
typedef struct {
    const char *file; /* name of the config, for error messages */
    vug_quant_scheme all;
    vug_quant_module *module; /* [n], unique names; vug_weights_fold_scales sorts them */
    size_t n;
} vug_quant_config;

/* Joins each weight with the tensors of its scales and biases: `P.weight` with `P.scales` and
 * `P.biases` (MLX), E4M3 with `P.weight_scale_inv` or `P.weight_scale`. The files decide which
 * weights have scales, not the config. Invalidates pointers to tensors taken before. */
VUG_MUST_CHECK vug_status vug_weights_fold_scales(vug_weights *weights, vug_quant_config *config,
                                                  vug_err *err);

/* ---- writing ----------------------------------------------------------------- */

typedef struct {
    vug_str name;
    vug_dtype dtype;
    int rank;
    int64_t dim[VUG_TENSOR_MAX_RANK];
} vug_tensor_spec;

enum { VUG_STREAM_PIECE = 4 * 1024 * 1024 }; /* bytes */

/* Fills the `n` bytes at offset `at` of tensor `i`. It is called on the caller's thread, in
 * order. A piece has at most VUG_STREAM_PIECE bytes and consists of whole rows, or of whole
 * blocks when a row is larger. */
typedef vug_status vug_fill_fn(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user,
                               vug_err *err);

/* The tensors of a file that is written. */
typedef struct {
    const vug_tensor_spec *tensor; /* [n] */
    size_t n;
    vug_fill_fn *fill;
    void *user;                /* of fill */
    vug_progress_fn *progress; /* may be NULL */
    void *progress_user;
} vug_tensor_stream;

/* Writes one safetensors file with the tensors in the given order, aligned as by the
 * reference writer, with metadata {"format":"pt"}. Replaces the target atomically. */
VUG_MUST_CHECK vug_status vug_safetensors_write(const char *path, const vug_tensor_stream *tensors,
                                                vug_err *err);

/* Writes one GGUF file, version 3, aligned as general.alignment of the metadata says or to 32
 * bytes. Replaces the target atomically. */
VUG_MUST_CHECK vug_status vug_gguf_write(const char *path, const vug_gguf_builder *metadata,
                                         const vug_tensor_stream *tensors, vug_err *err);

#endif
