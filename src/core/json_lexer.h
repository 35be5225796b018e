#ifndef VUG_CORE_JSON_LEXER_H
#define VUG_CORE_JSON_LEXER_H

/*
 * Tokens of JSON, for json_reader.c only. Each function expects the reader before a token
 * and advances past it. When the token is malformed the reader keeps the failure.
 */

#include "core/json.h"

/* NUL at the end; no token begins with it. */
static inline char vug_json_next_char(const vug_json_reader *j)
{
    if (j->pos < j->src.len)
        return j->src.ptr[j->pos];
    return '\0';
}

/* The slow path of vug_json_skip_space. */
void vug_json_skip_space_run(vug_json_reader *j);
static inline void vug_json_skip_space(vug_json_reader *j)
{
    /* Most tokens follow each other directly. */
    if (j->pos >= j->src.len || j->src.ptr[j->pos] <= ' ')
        vug_json_skip_space_run(j);
}
/* Keeps the failure "expected `what`, found ..", with the byte at the current position. */
void vug_json_fail_expected(vug_json_reader *j, const char *what);

/* The string whose opening quote is next. `raw` is what lies between the quotes. */
bool vug_json_scan_string(vug_json_reader *j, vug_str *raw, bool *escaped);
/* The text of a string that has been scanned, in the reader's arena. */
vug_str vug_json_unescape(vug_json_reader *j, vug_str raw);

/* A number: [-] int [. digits] [(e|E) [+-] digits], as RFC 8259 section 6. */
typedef struct {
    vug_str text;
    bool whole; /* neither fraction nor exponent */
} vug_json_number;

vug_json_number vug_json_scan_number(vug_json_reader *j);
/* `text` is true, false or null. */
bool vug_json_scan_literal(vug_json_reader *j, const char *text);

#endif
