#ifndef VUG_TEXT_TOKENIZER_PATTERN_H
#define VUG_TEXT_TOKENIZER_PATTERN_H

/* A pattern of a tokenizer file: a literal or a regular expression. */

#include "text/tokenizer/regex.h"

typedef struct {
    vug_str literal; /* not empty, unless there is a `regex` */
    const vug_regex *regex;
} vug_pattern;

/* Iterates over the matches in a text as the reference does (onig's FindMatches): an empty
 * match right after the previous match is skipped. */
typedef struct {
    const vug_pattern *pattern;
    vug_regex_work *work;
    vug_str text;
    size_t at;   /* where the search continues */
    size_t last; /* end of the last match */
    bool any;    /* there was a match */
} vug_pattern_matches;

VUG_MUST_CHECK vug_status vug_pattern_next(vug_pattern_matches *m, size_t hit[2], bool *found,
                                           vug_err *err);

/* Writes the text to `to` with every match replaced. Without a match `*changed` is false and
 * `to` is untouched. `to` records a lack of memory. */
VUG_MUST_CHECK vug_status vug_pattern_replace(const vug_pattern *pattern, vug_regex_work *work,
                                              vug_str text, vug_str with, vug_buf *to,
                                              bool *changed, vug_err *err);

#endif
