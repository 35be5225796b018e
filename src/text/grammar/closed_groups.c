#include "text/grammar/closed_groups.h"

typedef struct {
    vug_closed_groups *closed;
    vug_grammar_matcher *m;
    uint64_t core; /* groups that lead on from each of the positions */
} closed_search;

static bool leads_on(vug_stack_set to)
{
    return to != VUG_STACK_SET_DEAD && to < VUG_STACK_SET_MIXED;
}

static bool is_in_group(unsigned c, unsigned group)
{
    return vug_byte_group_of_ascii(c) == group;
}

/* The groups of which every character leads on. */
static uint64_t find_live_groups(vug_grammar_matcher *m, vug_stack_set stacks)
{
    uint64_t live = 0;
    bool beyond = true;
    for (unsigned group = 0; group < VUG_BYTE_GROUP_ASCII; group++) {
        const vug_stack_set to = vug_group_step(m, stacks, group);
        bool all = leads_on(to) || to == VUG_STACK_SET_MIXED;
        for (unsigned c = 0; to == VUG_STACK_SET_MIXED && c < 0x80; c++)
            all = all && (!is_in_group(c, group) ||
                          leads_on(vug_grammar_matcher_step(m, stacks, (uint8_t)c)));
        live |= (uint64_t)all << group;
    }
    for (unsigned group = VUG_BYTE_GROUP_ASCII; group < VUG_GROUP_NOT_ASCII; group++)
        beyond = beyond && leads_on(vug_group_step(m, stacks, group));
    return live | (beyond ? VUG_BYTE_GROUP_BEYOND : 0);
}

/* Adds a position if the groups of the core lead on from it. Otherwise what leads there is left out:
 * the end of a string, for example. */
static bool add_position(closed_search *s, vug_stack_set to)
{
    vug_closed_groups *closed = s->closed;
    for (size_t i = 0; i < closed->n; i++)
        if (closed->at[i] == to)
            return true;
    if (closed->n == VUG_CLOSED_GROUPS_MAX_POSITIONS ||
        (find_live_groups(s->m, to) & s->core) != s->core)
        return false;
    closed->at[closed->n++] = to;
    return true;
}

/* Adds the positions to which the characters of a group lead. */
static bool follow_group(closed_search *s, vug_stack_set from, unsigned group)
{
    const vug_stack_set to = vug_group_step(s->m, from, group);
    if (to != VUG_STACK_SET_MIXED)
        return add_position(s, to);
    for (unsigned c = 0; c < 0x80; c++)
        if (is_in_group(c, group) &&
            !add_position(s, vug_grammar_matcher_step(s->m, from, (uint8_t)c)))
            return false;
    return true;
}

void vug_closed_groups_find(vug_closed_groups *closed, vug_grammar_matcher *m, vug_stack_set stacks)
{
    static const char common[] = "aA0 ";
    const uint64_t all = find_live_groups(m, stacks);
    closed_search s = { .closed = closed, .m = m, .core = all & VUG_BYTE_GROUP_BEYOND };
    closed->at[0] = stacks;
    closed->n = 1;
    closed->groups = all;
    for (size_t i = 0; common[i] != '\0'; i++)
        s.core |= all & (uint64_t)1 << vug_byte_group_of_ascii((unsigned char)common[i]);
    for (size_t i = 0; i < closed->n && s.core != 0; i++) {
        const vug_stack_set from = closed->at[i];
        closed->groups &= find_live_groups(m, from); /* so no step below is dead or fails */
        for (unsigned group = 0; group < VUG_GROUP_NOT_ASCII; group++) {
            const uint64_t bit =
                    group < VUG_BYTE_GROUP_ASCII ? (uint64_t)1 << group : VUG_BYTE_GROUP_BEYOND;
            if ((closed->groups & bit) && !follow_group(&s, from, group))
                closed->groups &= ~bit;
        }
    }
    if (s.core == 0 || vug_grammar_matcher_stopped(m))
        closed->groups = 0;
}
