#ifndef VUG_TEXT_GRAMMAR_GROUP_STEPS_H
#define VUG_TEXT_GRAMMAR_GROUP_STEPS_H

#include "text/grammar/group_trie.h"
#include "text/grammar/matcher.h"

/* The characters of the group lead to different stack sets. */
#define VUG_STACK_SET_MIXED (UINT32_MAX - 2)

/* Computes a step that is not cached yet. */
vug_stack_set vug_group_compute_step(vug_grammar_matcher *matcher, vug_stack_set stacks,
                                     uint32_t group);

/*
 * The stacks after any one character of a group, or VUG_STACK_SET_MIXED. VUG_GROUP_NOT_ASCII reads
 * nothing and is mixed if one of the groups below it is. Each step is computed once.
 *
 * Within a character, only its own next bytes lead anywhere, and no rule ends: grammars consist of
 * whole characters.
 */
static inline vug_stack_set vug_group_step(vug_grammar_matcher *matcher, vug_stack_set stacks,
                                           uint32_t group)
{
    if (group >= VUG_GROUP_FIRST_BYTE)
        return vug_grammar_matcher_step(matcher, stacks,
                                        (uint8_t)(0x80 + (group - VUG_GROUP_FIRST_BYTE)));
    if (vug_row_table_has(&matcher->group_rows, stacks)) {
        const vug_stack_set to = vug_row_table_get(&matcher->group_rows, stacks)[group];
        if (to != VUG_STACK_SET_UNKNOWN)
            return to;
    }
    return vug_group_compute_step(matcher, stacks, group);
}

#endif
