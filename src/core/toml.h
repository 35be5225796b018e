#ifndef VUG_CORE_TOML_H
#define VUG_CORE_TOML_H

/*
 * A strict reader of a subset of TOML 1.0, enough for a file of settings that a
 * person writes: `[table]` headers and `key = value` lines with bare keys, values
 * that are a "string" without escapes, a decimal whole number or true and false,
 * and `# comments`. Everything else of TOML (dotted and quoted keys, arrays, inline
 * tables, escapes, numbers with a fraction, dates) is refused by name. Whether a
 * table or key came before is the caller's to know, who has the list of them.
 *
 * Errors are kept and carry the line: "FILE: line 3: ..".
 */

#include "core/bytes.h"
#include "core/status.h"

#define VUG_TOML_MAX_LINE 1000 /* bytes; a longer one is refused */

typedef enum { VUG_TOML_STRING, VUG_TOML_WHOLE, VUG_TOML_BOOL } vug_toml_type;

typedef struct {
    int line;
    vug_str table; /* "" before the first header; views of the text */
    vug_str key;   /* empty: the entry is a table's header */
    vug_toml_type type;
    vug_str string;
    int64_t whole;
    bool flag;
} vug_toml_entry;

typedef struct {
    vug_str rest;
    const char *file; /* for sentences */
    vug_str table;
    int line;
    vug_status st; /* sticky */
    vug_err err;
} vug_toml;

vug_toml vug_toml_over(vug_str text, const char *file);
/* False at the end and after a failure, which t->st tells apart. */
bool vug_toml_next(vug_toml *t, vug_toml_entry *out);
/* The caller's own complaint about an entry. */
void vug_toml_fail(vug_toml *t, int line, const char *fmt, ...) VUG_PRINTF(3, 4);

#endif
