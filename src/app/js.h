#ifndef VUG_APP_JS_H
#define VUG_APP_JS_H

/*
 * JSON as it is printed: commas, nesting and line end are looked after here.
 * `key` is NULL for elements of an array. Failures stay in the buffer until
 * vug_js_print.
 */

#include "app/ui.h"

typedef struct {
    vug_buf buf;
    bool more; /* a sibling stands before */
} vug_js;

/* `bracket` is '{' or '['. */
void vug_js_open(vug_js *js, const char *key, char bracket);
void vug_js_close(vug_js *js, char bracket); /* '}' or ']' */
void vug_js_text(vug_js *js, const char *key, const char *text, size_t len);
void vug_js_str(vug_js *js, const char *key, const char *text); /* NULL: null */
void vug_js_int(vug_js *js, const char *key, int64_t v);
void vug_js_u64(vug_js *js, const char *key, uint64_t v);
void vug_js_f64(vug_js *js, const char *key, double v);
void vug_js_bool(vug_js *js, const char *key, bool v);
/* A value that is JSON already. */
void vug_js_raw(vug_js *js, const char *key, const char *json, size_t len);
void vug_js_ids(vug_js *js, const char *key, const int32_t *id, size_t n);
/* Prints a line and releases; as vug_ui_print. */
int vug_js_print(vug_js *js, vug_ui *ui, int code);

#endif
