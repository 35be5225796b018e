#ifndef VUG_CORE_GGUF_H
#define VUG_CORE_GGUF_H

/*
 * The metadata of a GGUF file: keys with values, as they lie in the file. Models read
 * sizes from it, text reads tokenizers, weights reads and writes the file around it.
 *
 * Values are views into the file, which must outlive them. Nothing is copied and no
 * array is indexed beforehand: a vocabulary is read once, in order.
 */

#include "core/bytes.h"
#include "core/mem.h"

/* The numbers of the format. */
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
    VUG_GGUF_ARRAY = 9, /* never a value's `type`: `is_array` says it */
    VUG_GGUF_U64 = 10,
    VUG_GGUF_I64 = 11,
    VUG_GGUF_F64 = 12,
} vug_gguf_type;

typedef struct {
    vug_str key;        /* not NUL-terminated */
    vug_gguf_type type; /* of an array that of its elements */
    bool is_array;
    uint64_t count;  /* elements; 1 when it is no array */
    vug_bytes bytes; /* the elements, of any alignment; strings with their lengths */
    uint64_t offset; /* of the elements in the file, in bytes */
} vug_gguf_value;

typedef struct {
    const char *file;              /* base name, for sentences; borrowed */
    vug_gguf_value *value;         /* [n], in the order of the file */
    const vug_gguf_value **by_key; /* [n], ascending */
    size_t n;
} vug_gguf;

/* NULL when there is none, also when `gguf` is NULL. */
const vug_gguf_value *vug_gguf_find(const vug_gguf *gguf, vug_str key);
/* The same for the key "PREFIX.NAME", as in "gemma3.block_count". */
const vug_gguf_value *vug_gguf_find_in(const vug_gguf *gguf, vug_str prefix, const char *name);

/* Element `i` of an array, or the value itself with `i` = 0. False, and nothing is
 * written, when `i` is past the end or the value cannot be held: integers of every
 * type are taken where they fit, f64 takes floats and integers, bool only bools. */
bool vug_gguf_u64(const vug_gguf_value *value, uint64_t i, uint64_t *out);
bool vug_gguf_i64(const vug_gguf_value *value, uint64_t i, int64_t *out);
bool vug_gguf_f64(const vug_gguf_value *value, uint64_t i, double *out);
bool vug_gguf_bool(const vug_gguf_value *value, uint64_t i, bool *out);
/* A string that is not in an array; its bytes may be anything, NUL too. */
bool vug_gguf_string(const vug_gguf_value *value, vug_str *out);

/* The strings of an array, one after another:
 *
 *     vug_gguf_strings it = vug_gguf_strings_of(value);
 *     for (vug_str s; vug_gguf_next(&it, &s);) .. */
typedef struct {
    vug_reader reader;
    uint64_t left;
} vug_gguf_strings;

/* Of anything but an array of strings there are none. */
vug_gguf_strings vug_gguf_strings_of(const vug_gguf_value *value);
bool vug_gguf_next(vug_gguf_strings *strings, vug_str *out);

/* "u32", "an array of 262144 strings": for sentences. */
typedef struct {
    char text[48];
} vug_gguf_kind_text;
vug_gguf_kind_text vug_gguf_kind(const vug_gguf_value *value);

/* ---- reading -------------------------------------------------------------- */

enum {
    VUG_GGUF_MAX_KEYS = 65536,
    VUG_GGUF_MAX_KEY = 65535,                  /* bytes of one; the format's own limit */
    VUG_GGUF_MAX_METADATA = 256 * 1024 * 1024, /* bytes of all keys with their values */
};

/* `n` keys with their values, from where `r`, which reads the file from its first byte,
 * stands. `file` and the bytes must outlive `out`. */
VUG_MUST_CHECK vug_status vug_gguf_read(vug_reader *r, uint64_t n, const char *file, vug_gguf *out,
                                        vug_err *err);
void vug_gguf_release(vug_gguf *gguf);

/* ---- writing -------------------------------------------------------------- */

/* Keys with values, put one after another in the order they will have in the file.
 * Sticky: whoever writes the file hears of the first failure. All-zero is empty. */
typedef struct {
    vug_buf bytes; /* as in the file */
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
/* An array of which vug_gguf_put_element is called `n` times right after. */
void vug_gguf_begin_strings(vug_gguf_builder *b, const char *key, uint64_t n);
void vug_gguf_put_element(vug_gguf_builder *b, vug_str value);
/* A value of another file, as it is there. */
void vug_gguf_put_value(vug_gguf_builder *b, const vug_gguf_value *value);
void vug_gguf_builder_release(vug_gguf_builder *b);

#endif
