#include "text/grammar/mask_base.h"

#include <limits.h>

enum { FIRST_TEXT = ' ', END_TEXT = 0x7f }; /* the printable characters of ASCII */

/* Where most printable characters lead (the vote of Boyer and Moore 1981 finds the only candidate),
 * or the dead stack set. */
static vug_stack_set most_frequent_step(vug_grammar_matcher *m, vug_stack_set stacks)
{
    vug_stack_set most = VUG_STACK_SET_DEAD;
    unsigned votes = 0, n = 0;
    for (unsigned c = FIRST_TEXT; c < END_TEXT; c++) {
        const vug_stack_set to = vug_grammar_matcher_step(m, stacks, (uint8_t)c);
        if (votes == 0)
            most = to;
        votes += to == most ? 1U : UINT_MAX;
    }
    for (unsigned c = FIRST_TEXT; c < END_TEXT; c++)
        n += vug_grammar_matcher_step(m, stacks, (uint8_t)c) == most;
    return 2 * n > END_TEXT - FIRST_TEXT && most != VUG_STACK_SET_FAILED ? most
                                                                         : VUG_STACK_SET_DEAD;
}

bool vug_mask_base_find(vug_grammar_matcher *m, const uint32_t state_min_max[3],
                        vug_mask_base *base)
{
    const vug_stack_set alone = vug_grammar_matcher_single_frame(
            m, (vug_stack_frame){ state_min_max[0], state_min_max[1], state_min_max[2], 0 });
    if (alone == VUG_STACK_SET_FAILED)
        return false;
    base->stacks = most_frequent_step(m, alone);
    if (base->stacks == VUG_STACK_SET_DEAD || most_frequent_step(m, base->stacks) != base->stacks)
        return false;
    const uint32_t *frame = vug_stack_set_frames(m, base->stacks, &base->n);
    bool useful = base->n <= VUG_MASK_BASE_MAX_FRAMES;
    for (size_t i = 0; i < base->n && useful; i++) {
        const vug_stack_frame f = vug_stack_frame_get(m, frame[i]);
        base->frame[i] = frame[i];
        useful = f.max <= 1 && f.state != state_min_max[0];
    }
    return useful;
}

/* The nodes of a level are consecutive: those below the children of the root, level by level. */
static void list_ranges(vug_mask_difference *d, const vug_token_trie *trie)
{
    const size_t n = d->nodes.len / sizeof(uint32_t);
    for (size_t i = 0; i < n; i++) {
        const uint32_t node = ((const uint32_t *)(const void *)d->nodes.ptr)[i];
        const vug_trie_range range = { node, node + 1 };
        vug_buf_push(&d->ranges, &range, sizeof(range));
    }
    for (size_t i = 0; i < d->ranges.len / sizeof(vug_trie_range) && !d->ranges.bad; i++) {
        const vug_trie_range above = ((const vug_trie_range *)(const void *)d->ranges.ptr)[i];
        const vug_trie_range range = { trie->node[above.from].child, trie->node[above.end].child };
        if (range.from < range.end)
            vug_buf_push(&d->ranges, &range, sizeof(range));
    }
}

/* The children of the root of the group trie for which `differs` is set. */
static void list_groups(vug_mask_difference *d, const vug_group_trie *groups,
                        const bool differs[VUG_N_GROUPS])
{
    for (uint32_t c = 1; c < groups->n_nodes; c = groups->node[c].end) {
        const vug_trie_range range = { c, groups->node[c].end };
        if (differs[groups->node[c].group])
            vug_buf_push(&d->groups, &range, sizeof(range));
    }
}

bool vug_mask_difference_init(vug_mask_difference *d, const vug_group_trie *groups,
                              vug_grammar_matcher *m, vug_stack_set a, vug_stack_set b)
{
    const vug_token_trie *trie = groups->trie;
    bool differs[VUG_N_GROUPS] = { false };
    *d = (vug_mask_difference){ 0 };
    for (uint32_t c = trie->node[0].child; c < trie->node[1].child; c++) {
        const uint8_t byte = (uint8_t)trie->node[c].byte;
        if (vug_grammar_matcher_step(m, a, byte) == vug_grammar_matcher_step(m, b, byte))
            continue;
        vug_buf_push(&d->nodes, &c, sizeof(c));
        differs[byte < 0x80 ? vug_byte_group_of_ascii(byte) : VUG_GROUP_NOT_ASCII] = true;
    }
    list_ranges(d, trie);
    list_groups(d, groups, differs);
    return !d->nodes.bad && !d->ranges.bad && !d->groups.bad;
}

void vug_mask_difference_release(vug_mask_difference *d)
{
    vug_buf_release(&d->nodes);
    vug_buf_release(&d->ranges);
    vug_buf_release(&d->groups);
}

static bool is_in_ranges(const vug_buf *ranges, uint32_t node)
{
    const vug_trie_range *range = (const void *)ranges->ptr;
    size_t low = 0, high = ranges->len / sizeof(*range);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (node < range[middle].from)
            high = middle;
        else if (node >= range[middle].end)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

bool vug_mask_difference_has(const vug_mask_difference *d, uint32_t node)
{
    return is_in_ranges(&d->ranges, node);
}

bool vug_mask_difference_has_group(const vug_mask_difference *d, uint32_t node)
{
    return is_in_ranges(&d->groups, node);
}
