#include "text/grammar/self_loops.h"

#include "text/grammar/group_steps.h"

uint64_t vug_self_loop_groups(vug_grammar_matcher *m, vug_stack_set stacks)
{
    uint64_t groups = 0;
    if (vug_stack_set_accepts(m, stacks))
        return 0;
    for (unsigned group = 0; group < VUG_BYTE_GROUP_ASCII; group++)
        if (vug_group_step(m, stacks, group) == stacks)
            groups |= (uint64_t)1 << group;
    if (vug_group_step(m, stacks, VUG_GROUP_LINE_END) == stacks &&
        vug_group_step(m, stacks, VUG_GROUP_SPACE) == stacks &&
        vug_group_step(m, stacks, VUG_GROUP_OTHER) == stacks)
        groups |= VUG_BYTE_GROUP_BEYOND;
    return groups;
}
