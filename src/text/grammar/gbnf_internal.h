#ifndef VUG_TEXT_GRAMMAR_GBNF_INTERNAL_H
#define VUG_TEXT_GRAMMAR_GBNF_INTERNAL_H

/* Shared by gbnf.c, the parser, and gbnf_scanner.c, the lexical elements below it. */

#include "core/number.h"
#include "text/grammar/grammar_builder.h"
#include "text/tokenizer/hash_index.h"

typedef struct {
    vug_grammar_builder *builder;
    vug_str text;
    size_t at;
    vug_hash_index index; /* of rules by name */
    vug_buf rules;        /* gbnf_rule */
    vug_status st;
    vug_err *err;
} vug_gbnf_parser;

/* Keeps the first failure, with its line and column. `name` is appended to the message. */
void vug_gbnf_fail_at(vug_gbnf_parser *p, size_t at, vug_status st, const char *what, vug_str name);
void vug_gbnf_fail(vug_gbnf_parser *p, vug_status st, const char *what);

/* The next byte; NUL at the end, and after a failure. */
char vug_gbnf_peek(const vug_gbnf_parser *p);
/* Skips `text` if it comes next. */
bool vug_gbnf_skip(vug_gbnf_parser *p, const char *text);
/* Skips spaces, tabs and comments; with `lines` line breaks, too. */
void vug_gbnf_skip_space(vug_gbnf_parser *p, bool lines);
/* A character of a literal or a class. */
uint32_t vug_gbnf_parse_character(vug_gbnf_parser *p);

static inline bool vug_gbnf_is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || vug_is_digit(c) || c == '-';
}

#endif
