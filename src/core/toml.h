#ifndef VUG_CORE_TOML_H
#define VUG_CORE_TOML_H

/*
 * A strict reader of a subset of TOML 1.0, enough for settings files: `[table]`
 * headers and `key = value` lines with bare keys, values that are a "string"
 * without escapes, a decimal integer, true or false, and `# comments`. Other TOML
 * (dotted and quoted keys, arrays, inline tables, escapes, fractions, dates) gives
 * an error that says so. The caller checks for duplicate tables and keys.
 *
 * The reader is sticky; errors name the line: "FILE: line 3: ..".
 */

#include "core/bytes.h"
#include "core/status.h"

#define VUG_TOML_MAX_LINE 1000 /* bytes; a longer line is an error */

typedef enum { VUG_TOML_STRING, VUG_TOML_INTEGER, VUG_TOML_BOOL } vug_toml_type;

typedef struct {
    int line;
    vug_str table; /* "" before the first header; views of the text */
    vug_str key;   /* empty: the entry is a table header */
    vug_toml_type type;
    vug_str string;
    int64_t integer;
    bool boolean;
} vug_toml_entry;

typedef struct {
    vug_str rest;
    const char *file; /* for error messages */
    vug_str table;
    int line;
    vug_status st; /* sticky */
    vug_err err;
} vug_toml;

vug_toml vug_toml_over(vug_str text, const char *file);
/* False at the end and after a failure; t->st distinguishes them. */
bool vug_toml_next(vug_toml *t, vug_toml_entry *out);
/* Records an error that the caller found in an entry. */
void vug_toml_fail(vug_toml *t, int line, const char *fmt, ...) VUG_PRINTF(3, 4);

#endif
