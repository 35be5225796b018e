#ifndef VUG_TESTS_SUPPORT_RESPONSE_PARSER_HELP_H
#define VUG_TESTS_SUPPORT_RESPONSE_PARSER_HELP_H

/* Collects the parts of an answer, as a server would. */

#include "core/mem.h"
#include "text/chat/response_parser.h"

enum { MAX_PARSED_CALLS = 64 };

typedef struct {
    vug_buf content, thinking;
    struct {
        vug_buf name, args;
        bool ended;
    } call[MAX_PARSED_CALLS];
    size_t n_calls; /* without dropped ones */
    bool broken;    /* the parts came in an impossible order */
    bool cut;       /* one ended inside a character */
} answer_parts;

/* A vug_part_fn; `user` is an answer_parts. */
bool answer_parts_add(const vug_part *part, void *user);
/* A line "T:thinking", "C:content" and "F:name arguments" for each call, "F:name arguments.." for an
 * incomplete one; empty ones are left out. The caller releases it. */
vug_buf answer_parts_spell(const answer_parts *f);
void answer_parts_release(answer_parts *f);

#endif
