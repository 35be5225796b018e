#ifndef VUG_CORE_GGUF_H
#define VUG_CORE_GGUF_H

/*
 * The metadata of a GGUF file: its keys and values. src/models/ reads sizes from it, src/text/
 * reads tokenizers, and src/weights/ reads and writes the rest of the file.
 *
 * Values are views into the file, which must outlive them. Nothing is copied, and arrays of
 * strings are not indexed: a vocabulary is read once, in order.
 */

#include "core/bytes.h"
#include "core/mem.h"

/* The numbers are those of the file format. */
typedef enum {
    VUG_GGUF_U8 = 0,
    VUG_GGUF_I8 = 1,
    VUG_GGUF_U16 = 2,
    VUG_GGUF_I16 = 3,
    VUG_GGUF_U32 = 4,
    VUG_GGUF_I32 = 5,
    VUG_GGUF_F32 = 6,
    VUG_GGUF_BOOL = 7,
    VUG_GGUF_STRING = 8,
    VUG_GGUF_ARRAY = 9, /* never the `type` of a value, which has `is_array` */
    VUG_GGUF_U64 = 10,
    VUG_GGUF_I64 = 11,
    VUG_GGUF_F64 = 12,
} vug_gguf_type;

typedef struct {
    vug_str key;        /* not NUL-terminated */
    vug_gguf_type type; /* for arrays the type of the elements */
    bool is_array;
    uint64_t count;  /* elements; 1 when it is not an array */
    vug_bytes bytes; /* the elements, unaligned; each string with its length before it */
    uint64_t offset; /* of the elements in the file, in bytes */
} vug_gguf_value;

typedef struct {
    const char *file;              /* base name, for error messages; borrowed */
    vug_gguf_value *value;         /* [n], in the order of the file */
    const vug_gguf_value **by_key; /* [n], ascending */
    size_t n;
} vug_gguf;

/* NULL when there is no such key or `gguf` is NULL. */
const vug_gguf_value *vug_gguf_find(const vug_gguf *gguf, vug_str key);
/* The same for the key "PREFIX.NAME", as in "gemma3.block_count". */
const vug_gguf_value *vug_gguf_find_in(const vug_gguf *gguf, vug_str prefix, const char *name);

/* Element `i` of an array, or the value itself with `i` = 0. They return false and write
 * nothing when `i` is past the end or the value does not convert: integers of every type
 * convert where they fit, f64 takes floats and integers, bool takes only bools. */
bool vug_gguf_u64(const vug_gguf_value *value, uint64_t i, uint64_t *out);
bool vug_gguf_i64(const vug_gguf_value *value, uint64_t i, int64_t *out);
bool vug_gguf_f64(const vug_gguf_value *value, uint64_t i, double *out);
bool vug_gguf_bool(const vug_gguf_value *value, uint64_t i, bool *out);
/* A string that is not in an array. It may contain any bytes, also NUL. */
bool vug_gguf_string(const vug_gguf_value *value, vug_str *out);

/* The strings of an array, one after another:
 *
 *     vug_gguf_strings it = vug_gguf_strings_of(value);
 *     for (vug_str s; vug_gguf_next_string(&it, &s);) ... */
typedef struct {
    vug_reader reader;
    uint64_t left;
} vug_gguf_strings;

/* Empty unless `value` is an array of strings. */
vug_gguf_strings vug_gguf_strings_of(const vug_gguf_value *value);
bool vug_gguf_next_string(vug_gguf_strings *strings, vug_str *out);

/* For error messages: "u32", "an array of 262144 strings". */
typedef struct {
    char text[48];
} vug_gguf_description;
vug_gguf_description vug_gguf_describe(const vug_gguf_value *value);

/* ---- reading -------------------------------------------------------------- */

enum {
    VUG_GGUF_MAX_KEYS = 65536,
    VUG_GGUF_MAX_KEY = 65535,                  /* bytes of a key; the format's own limit */
    VUG_GGUF_MAX_METADATA = 256 * 1024 * 1024, /* bytes of all keys with their values */
};

/* Reads `n` keys with their values from the position of `r`, which is over the whole file.
 * `file` and the bytes must outlive `out`. */
VUG_MUST_CHECK vug_status vug_gguf_read(vug_reader *r, uint64_t n, const char *file, vug_gguf *out,
                                        vug_err *err);
void vug_gguf_release(vug_gguf *gguf);

/* ---- writing -------------------------------------------------------------- */

/* Collects keys and values in the order of the file. Sticky: writing the file reports the
 * first failure. All-zero is empty. */
typedef struct {
    vug_buf bytes; /* in the format of the file */
    uint64_t n;
} vug_gguf_builder;

void vug_gguf_put_u32(vug_gguf_builder *b, const char *key, uint32_t value);
void vug_gguf_put_u64(vug_gguf_builder *b, const char *key, uint64_t value);
void vug_gguf_put_i32(vug_gguf_builder *b, const char *key, int32_t value);
void vug_gguf_put_f32(vug_gguf_builder *b, const char *key, float value);
void vug_gguf_put_bool(vug_gguf_builder *b, const char *key, bool value);
void vug_gguf_put_string(vug_gguf_builder *b, const char *key, vug_str value);
/* Arrays of `n`; `values` may be NULL when n = 0. */
void vug_gguf_put_u32s(vug_gguf_builder *b, const char *key, const uint32_t *values, size_t n);
void vug_gguf_put_i32s(vug_gguf_builder *b, const char *key, const int32_t *values, size_t n);
void vug_gguf_put_f32s(vug_gguf_builder *b, const char *key, const float *values, size_t n);
void vug_gguf_put_bools(vug_gguf_builder *b, const char *key, const bool *values, size_t n);
void vug_gguf_put_strings(vug_gguf_builder *b, const char *key, const vug_str *values, size_t n);
/* Begins an array of `n` strings; vug_gguf_put_element must be called `n` times after it. */
void vug_gguf_begin_strings(vug_gguf_builder *b, const char *key, uint64_t n);
void vug_gguf_put_element(vug_gguf_builder *b, vug_str value);
/* Copies a key with its value from another file. */
void vug_gguf_put_value(vug_gguf_builder *b, const vug_gguf_value *value);
void vug_gguf_builder_release(vug_gguf_builder *b);

#endif
