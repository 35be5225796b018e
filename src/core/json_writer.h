#ifndef VUG_CORE_JSON_WRITER_H
#define VUG_CORE_JSON_WRITER_H

/*
 * Writing JSON: a writer that places commas, keys and brackets, and functions that append
 * one token to a buffer.
 *
 *     vug_json_writer w = { 0 };
 *     vug_json_begin(&w, NULL, '{');
 *     vug_json_put_i64(&w, "n", 3);
 *     vug_json_end(&w, '}');          // {"n":3}
 */

#include "core/mem.h"

/* All-zero is an empty writer. The buffer keeps the first failure. */
typedef struct {
    vug_buf *to; /* the caller's buffer, which is appended to; NULL: `buf` */
    vug_buf buf;
    bool more; /* the next member or element needs a comma before it */
} vug_json_writer;

/* `key` is NULL for elements of an array and for the root. `bracket` is '{' or '['. */
void vug_json_begin(vug_json_writer *w, const char *key, char bracket);
void vug_json_end(vug_json_writer *w, char bracket); /* '}' or ']' */
void vug_json_put_text(vug_json_writer *w, const char *key, const char *text, size_t len);
/* NUL-terminated; null when `text` is NULL. */
void vug_json_put_string(vug_json_writer *w, const char *key, const char *text);
void vug_json_put_i64(vug_json_writer *w, const char *key, int64_t v);
void vug_json_put_u64(vug_json_writer *w, const char *key, uint64_t v);
void vug_json_put_f64(vug_json_writer *w, const char *key, double v);
void vug_json_put_f32(vug_json_writer *w, const char *key, float v);
void vug_json_put_bool(vug_json_writer *w, const char *key, bool v);
/* A value that is JSON already. */
void vug_json_put_raw(vug_json_writer *w, const char *key, const char *json, size_t len);
void vug_json_put_i32s(vug_json_writer *w, const char *key, const int32_t *values, size_t n);

/* A string with quotes and escapes; bytes that are not UTF-8 become U+FFFD. */
void vug_json_append_string(vug_buf *to, const char *text, size_t len);
/* The shortest form that reads back to the same value; null for inf and nan. */
void vug_json_append_f64(vug_buf *to, double v);
void vug_json_append_f32(vug_buf *to, float v);

#endif
