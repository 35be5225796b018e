#include "text/grammar/closed_groups.h"

/* Characters of the groups that most tokens consist of. */
static const char common[] = "aA0 ";

typedef struct {
    vug_closed_groups *closed;
    vug_grammar_matcher *m;
    uint64_t core; /* groups that lead on from each of the positions */
    bool full;     /* there are more positions than `closed` has room for */
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

/* Whether a text of common characters of the core leads to more positions than are stored: each
 * character counts, for example, up to the greatest length of a string. Steps along one text take far
 * less time than those by all groups from all of these positions. */
static bool leads_to_many(const closed_search *s)
{
    enum { N_STEPS = VUG_CLOSED_GROUPS_MAX_POSITIONS * (sizeof(common) - 1) };
    vug_stack_set seen[VUG_CLOSED_GROUPS_MAX_POSITIONS + 1] = { s->closed->at[0] };
    vug_stack_set at = seen[0];
    size_t n = 1;
    for (size_t i = 0; i < N_STEPS && n <= VUG_CLOSED_GROUPS_MAX_POSITIONS; i++) {
        const uint8_t c = (uint8_t)common[i % (sizeof(common) - 1)];
        const vug_stack_set to = s->core >> vug_byte_group_of_ascii(c) & 1
                                         ? vug_grammar_matcher_step(s->m, at, c)
                                         : at;
        size_t k = 0;
        at = leads_on(to) ? to : at;
        while (k < n && seen[k] != at)
            k++;
        seen[k] = at;
        n += k == n;
    }
    return n > VUG_CLOSED_GROUPS_MAX_POSITIONS;
}

/* Adds a position if the groups of the core lead on from it. Otherwise what leads there is left out:
 * the end of a string, for example. */
static bool add_position(closed_search *s, vug_stack_set to)
{
    vug_closed_groups *closed = s->closed;
    for (size_t i = 0; i < closed->n; i++)
        if (closed->at[i] == to)
            return true;
    if ((find_live_groups(s->m, to) & s->core) != s->core)
        return false;
    s->full = closed->n == VUG_CLOSED_GROUPS_MAX_POSITIONS;
    if (s->full)
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
    const uint64_t all = find_live_groups(m, stacks);
    closed_search s = { .closed = closed, .m = m, .core = all & VUG_BYTE_GROUP_BEYOND };
    closed->at[0] = stacks;
    closed->n = 1;
    closed->groups = all;
    for (size_t i = 0; common[i] != '\0'; i++)
        s.core |= all & (uint64_t)1 << vug_byte_group_of_ascii((unsigned char)common[i]);
    s.full = s.core != 0 && leads_to_many(&s);
    for (size_t i = 0; i < closed->n && s.core != 0 && !s.full; i++) {
        const vug_stack_set from = closed->at[i];
        closed->groups &= find_live_groups(m, from); /* so no step below is dead or fails */
        for (unsigned group = 0; group < VUG_GROUP_NOT_ASCII && !s.full; group++) {
            const uint64_t bit =
                    group < VUG_BYTE_GROUP_ASCII ? (uint64_t)1 << group : VUG_BYTE_GROUP_BEYOND;
            if ((closed->groups & bit) && !follow_group(&s, from, group))
                closed->groups &= ~bit;
        }
    }
    if (s.core == 0 || s.full || vug_grammar_matcher_stopped(m))
        closed->groups = 0;
}
