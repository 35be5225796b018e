#ifndef VUG_WEIGHTS_DIRECTORY_H
#define VUG_WEIGHTS_DIRECTORY_H

/* The tensor directory itself, for the files of this folder only. */

#include "weights/weights.h"

/* Far above any published checkpoint, and low enough that no file can make a directory of
 * more than 64 MB. docs/limits.md lists them. */
enum {
    VUG_MAX_TENSORS = 5 << 15,
    VUG_MAX_TENSOR_NAME = 1024,           /* bytes */
    VUG_MAX_DIRECTORY = 40 * 1024 * 1024, /* bytes of all names and entries */
    VUG_MAX_WEIGHT_FILES = 4096,
    VUG_MAX_SAFETENSORS_HEADER = 100000000, /* bytes; the format's own limit */
    VUG_GGUF_MAX_TENSORS = 65536,
    VUG_GGUF_MAX_NAME = 64, /* bytes of a tensor name */
    VUG_GGUF_MAX_RANK = 4,
    VUG_GGUF_ALIGNMENT = 32, /* default */
    VUG_GGUF_MAX_ALIGNMENT = 65536,
};

typedef struct vug_entry vug_entry;

struct vug_entry {
    vug_tensor tensor;
    void *owned;     /* the memory of an added tensor; NULL when the bytes are in a file */
    void *scales;    /* the memory of the scales and biases of an added tensor */
    bool folded;     /* its bytes have become the scales of another tensor */
    vug_entry *next; /* in the list of folded entries */
};

/* Entries are allocated one by one, so that a vug_tensor never moves when others are added. */
struct vug_weights {
    vug_arena arena;     /* entries, names of files and tensors */
    const char *name;    /* of what was opened, for error messages */
    vug_entry **order;   /* [n], as vug_weights_at counts */
    vug_entry **by_name; /* [n], sorted, after vug_weights_seal */
    size_t n, cap;
    vug_entry *folded; /* entries that are no longer listed */
    vug_mapping *file; /* [n_files] */
    size_t n_files, cap_files;
    vug_gguf gguf;   /* all-zero unless the file is GGUF */
    uint64_t mapped; /* bytes of all files */
    uint64_t added;  /* bytes of all added tensors */
};

/* Adds an all-zero entry at the end of `order`. */
VUG_MUST_CHECK vug_status vug_weights_append(vug_weights *weights, vug_entry **out, vug_err *err);
/* Sorts the entries by name after the last one was appended. Duplicate names are an error. */
VUG_MUST_CHECK vug_status vug_weights_seal(vug_weights *weights, vug_err *err);
/* Ends opening: seals the directory and returns it or, when `st` is a failure, closes it. */
VUG_MUST_CHECK vug_status vug_weights_finish(vug_weights *weights, vug_status st, vug_weights **out,
                                             vug_err *err);
/* Maps a file. `file` and `name`, its base name, live as long as the directory. */
VUG_MUST_CHECK vug_status vug_weights_map(vug_weights *weights, const char *path, vug_bytes *file,
                                          const char **name, vug_err *err);
/* NULL when no tensor has that name. */
vug_entry *vug_weights_entry(const vug_weights *weights, vug_str name);
/* Moves the folded entries from `order` and `by_name` to `folded`. */
void vug_weights_drop_folded(vug_weights *weights);
/* Maps a safetensors file and appends its tensors. */
VUG_MUST_CHECK vug_status vug_safetensors_load(vug_weights *weights, const char *path,
                                               vug_err *err);

/* Appends the tensors of one safetensors file, ordered by offset. `name` and the bytes must
 * outlive the directory. */
VUG_MUST_CHECK vug_status vug_safetensors_read(vug_weights *weights, vug_bytes file,
                                               const char *name, vug_err *err);

/* Appends the tensors of one GGUF file, in its order. The caller releases `metadata`. `name`
 * and the bytes must outlive both. */
VUG_MUST_CHECK vug_status vug_gguf_read_file(vug_weights *weights, vug_bytes file, const char *name,
                                             vug_gguf *metadata, vug_err *err);
/* The alignment of a GGUF file's tensors, a power of two. */
VUG_MUST_CHECK vug_status vug_gguf_alignment(const vug_gguf *metadata, uint64_t *out, vug_err *err);

/* Sorts rows of `size` bytes by the vug_str that each begins with. Returns a row whose name
 * occurs twice, or NULL. */
const vug_str *vug_sort_names(void *row, size_t n, size_t size);
/* Bytes of a tensor of that format and shape; false when that is not a whole number of bytes
 * or overflows. */
bool vug_tensor_size(vug_dtype dtype, int rank, const int64_t *dim, uint64_t *bytes);

/* Fails unless the names are UTF-8 and unique. `path` is for error messages. */
VUG_MUST_CHECK vug_status vug_stream_check_names(const vug_tensor_stream *s, const char *path,
                                                 vug_err *err);
/* Writes the tensors, each padded to the alignment (a power of two up to
 * VUG_GGUF_MAX_ALIGNMENT), then commits or abandons `out`. Shapes have been checked. */
VUG_MUST_CHECK vug_status vug_stream_write(const vug_tensor_stream *s, uint64_t alignment,
                                           vug_out *out, vug_err *err);

/* "[4,4]" */
typedef struct {
    char text[VUG_TENSOR_MAX_RANK * 21 + 3];
} vug_dims_text;
vug_dims_text vug_dims_print(int rank, const int64_t *dim);

#endif
