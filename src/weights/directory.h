#ifndef VUG_WEIGHTS_DIRECTORY_H
#define VUG_WEIGHTS_DIRECTORY_H

/* The inside of a directory, shared by the readers of this folder only. */

#include "weights/weights.h"

/* Far above any published checkpoint, and low enough that no file, whatever it says,
 * makes a directory of more than 64 MB. docs/limits.md. */
enum {
    VUG_MAX_TENSORS = 5 << 15,
    VUG_MAX_TENSOR_NAME = 1024,           /* bytes */
    VUG_MAX_DIRECTORY = 40 * 1024 * 1024, /* bytes of all names and entries */
    VUG_MAX_WEIGHT_FILES = 4096,
    VUG_MAX_SAFETENSORS_HEADER = 100000000, /* bytes; the format's own limit */
    VUG_GGUF_MAX_TENSORS = 65536,
    VUG_GGUF_MAX_NAME = 64, /* bytes of a tensor's */
    VUG_GGUF_MAX_RANK = 4,
    VUG_GGUF_ALIGNMENT = 32, /* when a file does not say it */
    VUG_GGUF_MAX_ALIGNMENT = 65536,
};

typedef struct vug_entry vug_entry;

struct vug_entry {
    vug_tensor tensor;
    void *owned;     /* the memory of an added tensor; NULL when the bytes lie in a file */
    void *scales;    /* likewise, of its scales and biases */
    bool folded;     /* its bytes are another tensor's scales now */
    vug_entry *next; /* of those */
};

/* Entries are single allocations, so that a vug_tensor never moves while others
 * are added. */
struct vug_weights {
    vug_arena arena;     /* entries, names of files and tensors */
    const char *name;    /* of what was opened, for sentences */
    vug_entry **order;   /* [n], as vug_weights_at counts */
    vug_entry **by_name; /* [n], ascending, once sealed */
    size_t n, cap;
    vug_entry *folded; /* no longer listed */
    vug_mapping *file; /* [n_files] */
    size_t n_files, cap_files;
    vug_gguf gguf;   /* all-zero: not from GGUF */
    uint64_t mapped; /* bytes */
    uint64_t added;  /* bytes */
};

/* An all-zero entry at the end of `order`. */
VUG_MUST_CHECK vug_status vug_weights_append(vug_weights *weights, vug_entry **out, vug_err *err);
/* Sorts the names once all entries are there; a name in two files is an error. */
VUG_MUST_CHECK vug_status vug_weights_seal(vug_weights *weights, vug_err *err);
/* The end of opening: seals the directory and hands it out or, after a failure `st`, closes it. */
VUG_MUST_CHECK vug_status vug_weights_finish(vug_weights *weights, vug_status st, vug_weights **out,
                                             vug_err *err);
/* Maps one file more; `file` and `name`, which is its base name, live as long as the
 * directory. */
VUG_MUST_CHECK vug_status vug_weights_map(vug_weights *weights, const char *path, vug_bytes *file,
                                          const char **name, vug_err *err);
/* NULL when there is none. */
vug_entry *vug_weights_entry(const vug_weights *weights, vug_str name);
/* Lists the folded entries no longer. */
void vug_weights_drop_folded(vug_weights *weights);
/* Maps a safetensors file and appends its tensors. */
VUG_MUST_CHECK vug_status vug_weights_load(vug_weights *weights, const char *path, vug_err *err);

/* Appends the tensors of one safetensors file, ordered by offset. `name` and the
 * bytes live as long as the directory. */
VUG_MUST_CHECK vug_status vug_safetensors_read(vug_weights *weights, vug_bytes file,
                                               const char *name, vug_err *err);

/* Appends the tensors of one GGUF file, in its order; `metadata` is then the caller's to
 * release. `name` and the bytes live as long as both. */
VUG_MUST_CHECK vug_status vug_gguf_read_file(vug_weights *weights, vug_bytes file, const char *name,
                                             vug_gguf *metadata, vug_err *err);
/* The power of two by which a GGUF file's tensors are aligned. */
VUG_MUST_CHECK vug_status vug_gguf_alignment(const vug_gguf *metadata, uint64_t *out, vug_err *err);

/* Sorts rows of `size` bytes that begin with a vug_str by it. Returns a row whose
 * name another row has too, or NULL. */
const vug_str *vug_sort_names(void *row, size_t n, size_t size);
/* `ptr` with room for one more than `n` items, or NULL (then `ptr` is untouched).
 * `cap` counts items. */
void *vug_make_room(void *ptr, size_t *cap, size_t n, size_t size);
/* Bytes of a tensor of that format and shape; false when that is no whole number
 * of bytes or does not fit. */
bool vug_tensor_size(vug_dtype dtype, int rank, const int64_t *dim, uint64_t *bytes);

/* Names that every reader takes: UTF-8, none twice. `path` is for sentences. */
VUG_MUST_CHECK vug_status vug_stream_check_names(const vug_tensor_stream *s, const char *path,
                                                 vug_err *err);
/* Writes the tensors, each padded to the alignment (a power of two up to
 * VUG_GGUF_MAX_ALIGNMENT), then commits or abandons `out`. Shapes have been checked. */
VUG_MUST_CHECK vug_status vug_stream_write(const vug_tensor_stream *s, uint64_t alignment,
                                           vug_out *out, vug_err *err);

/* "[4,4]" */
typedef struct {
    char text[VUG_TENSOR_MAX_RANK * 21 + 3];
} vug_shape_text;
vug_shape_text vug_shape_print(int rank, const int64_t *dim);

#endif
