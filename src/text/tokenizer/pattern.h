#ifndef VUG_TEXT_TOKENIZER_PATTERN_H
#define VUG_TEXT_TOKENIZER_PATTERN_H

/* What tokenizer files look for in a text: a literal or a regular expression. */

#include "text/tokenizer/regex.h"

typedef struct {
    vug_str literal; /* not empty, unless there is a `regex` */
    const vug_regex *regex;
} vug_pattern;

/* Walks over the matches in a text, as the reference does (onig's FindMatches): an
 * empty match right after the match before it is passed over. */
typedef struct {
    const vug_pattern *pattern;
    vug_regex_work *work;
    vug_str text;
    size_t at;   /* the search goes on here */
    size_t last; /* end of the last match */
    bool any;    /* there was one */
} vug_matches;

VUG_MUST_CHECK vug_status vug_matches_next(vug_matches *m, size_t hit[2], bool *found,
                                           vug_err *err);

/* `to` becomes the text with every match replaced. `*changed` is false, and `to` is
 * untouched, where there is none. Memory that runs out is noted in `to`. */
VUG_MUST_CHECK vug_status vug_pattern_replace(const vug_pattern *pattern, vug_regex_work *work,
                                              vug_str text, vug_str with, vug_buf *to,
                                              bool *changed, vug_err *err);

#endif
