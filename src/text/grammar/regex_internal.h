#ifndef VUG_TEXT_GRAMMAR_REGEX_INTERNAL_H
#define VUG_TEXT_GRAMMAR_REGEX_INTERNAL_H

/* Shared by regex_parser.c and regex_class.c. */

#include "text/grammar/regex_grammar.h"

#define VUG_REGEX_MAX_GROUPS 100 /* nested */
#define VUG_REGEX_MAX_RANGES ((uint32_t)1 << 16)

typedef struct {
    vug_grammar_builder *builder;
    const vug_regex_options *options;
    vug_str text;
    size_t at;
    int depth;          /* of groups */
    bool has_lookahead; /* found so far */
    vug_status st;
    vug_err *err;
} vug_regex_parser;

/* Keeps the first failure, with the byte offset where it happened. */
static inline void vug_regex_parser_fail(vug_regex_parser *p, vug_status st, size_t at,
                                         const char *what)
{
    if (p->st == VUG_OK)
        p->st = VUG_FAIL(p->err, st, "regular expression '%.*s': byte %zu: %s",
                         VUG_STR_ARG(p->text), at, what);
}

static inline bool vug_regex_parser_looking_at(const vug_regex_parser *p, const char *text)
{
    return p->st == VUG_OK && vug_str_starts(vug_str_from(p->text, p->at), text);
}

static inline bool vug_regex_parser_skip(vug_regex_parser *p, const char *text)
{
    const bool found = vug_regex_parser_looking_at(p, text);
    p->at += found ? strlen(text) : 0;
    return found;
}

/* regex_class.c: parses what stands for one character: a bracketed class, an escape, a dot or
 * the character itself. */
vug_grammar_expr vug_regex_parse_character(vug_regex_parser *p);
/* Matches any one character. */
vug_grammar_expr vug_regex_any_character(vug_regex_parser *p);

#endif
