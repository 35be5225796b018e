#ifndef VUG_TEXT_GRAMMAR_REGEX_RULES_H
#define VUG_TEXT_GRAMMAR_REGEX_RULES_H

/* The two halves of the front end of regular expressions; private to them. */

#include "text/grammar/rule_nodes.h"

#define VUG_REGEX_MAX_GROUPS 100 /* in each other */
#define VUG_REGEX_MAX_RANGES ((uint32_t)1 << 16)

typedef struct {
    vug_rules *rules;
    const vug_regex_use *use;
    vug_str text;
    size_t at;
    int depth;  /* of groups */
    bool looks; /* ahead, somewhere */
    vug_status st;
    vug_err *err;
} vug_regex;

/* Keeps the first failure, with the byte at which it is. */
void vug_regex_fail(vug_regex *r, vug_status st, size_t at, const char *what);

static inline bool vug_regex_looking_at(const vug_regex *r, const char *text)
{
    return r->st == VUG_OK && vug_str_starts(vug_str_from(r->text, r->at), text);
}

static inline bool vug_regex_skip(vug_regex *r, const char *text)
{
    const bool is = vug_regex_looking_at(r, text);
    r->at += is ? strlen(text) : 0;
    return is;
}

/* regex_class.c: a class in brackets, an escape, a dot or a character; as a node. */
vug_node vug_regex_character(vug_regex *r);
/* Any character whatever. */
vug_node vug_regex_any(vug_regex *r);

#endif
