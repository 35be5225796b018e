#ifndef VUG_TEXT_GRAMMAR_CLOSED_GROUPS_H
#define VUG_TEXT_GRAMMAR_CLOSED_GROUPS_H

#include "text/grammar/group_steps.h"

#define VUG_CLOSED_GROUPS_MAX_POSITIONS 64

/*
 * Positions that characters of some groups never leave, and from which each of these leads on: in a
 * JSON string, for example, all but '"' and '\', whatever a pattern looks for in it. A text of such
 * characters is allowed and need not be tried.
 */
typedef struct {
    vug_stack_set at[VUG_CLOSED_GROUPS_MAX_POSITIONS]; /* [n]; the first is the given one */
    size_t n;
    uint64_t groups; /* bits as in `below` of a vug_token_trie; 0 if there are none */
} vug_closed_groups;

void vug_closed_groups_find(vug_closed_groups *closed, vug_grammar_matcher *matcher,
                            vug_stack_set stacks);

#endif
