#include "text/grammar/self_loops.h"

#include "text/tokenizer/token_trie.h"

/* Characters of UTF-8 by their first bytes (RFC 3629, section 4). */
static const struct {
    uint8_t first, last; /* of the first bytes */
    uint8_t from, to;    /* the second byte */
    unsigned n_more;     /* bytes of 0x80 to 0xbf after it */
} sequences[] = {
    { 0xc2, 0xdf, 0x80, 0xbf, 0 }, { 0xe0, 0xe0, 0xa0, 0xbf, 1 }, { 0xe1, 0xec, 0x80, 0xbf, 1 },
    { 0xed, 0xed, 0x80, 0x9f, 1 }, { 0xee, 0xef, 0x80, 0xbf, 1 }, { 0xf0, 0xf0, 0x90, 0xbf, 2 },
    { 0xf1, 0xf3, 0x80, 0xbf, 2 }, { 0xf4, 0xf4, 0x80, 0x8f, 2 },
};

/* Where all bytes of a range lead, if it is the same; else the dead stack set. */
static vug_stack_set step_range(vug_grammar_matcher *m, vug_stack_set stacks, unsigned from,
                                unsigned to)
{
    const vug_stack_set first = vug_grammar_matcher_step(m, stacks, (uint8_t)from);
    for (unsigned byte = from + 1; byte <= to; byte++)
        if (vug_grammar_matcher_step(m, stacks, (uint8_t)byte) != first)
            return VUG_STACK_SET_DEAD;
    return first == VUG_STACK_SET_FAILED || first == VUG_STACK_SET_DEAD ||
                           vug_stack_set_accepts(m, first)
                   ? VUG_STACK_SET_DEAD
                   : first;
}

static bool loops_beyond_ascii(vug_grammar_matcher *m, vug_stack_set stacks)
{
    for (size_t i = 0; i < sizeof(sequences) / sizeof(*sequences); i++) {
        vug_stack_set at = step_range(m, stacks, sequences[i].first, sequences[i].last);
        if (at != VUG_STACK_SET_DEAD)
            at = step_range(m, at, sequences[i].from, sequences[i].to);
        for (unsigned k = 0; k < sequences[i].n_more && at != VUG_STACK_SET_DEAD; k++)
            at = step_range(m, at, 0x80, 0xbf);
        if (at != stacks)
            return false;
    }
    return true;
}

uint64_t vug_self_loop_groups(vug_grammar_matcher *m, vug_stack_set stacks)
{
    const uint64_t all = ((uint64_t)1 << VUG_BYTE_GROUP_ASCII) - 1;
    uint64_t left = 0;
    if (vug_stack_set_accepts(m, stacks))
        return 0;
    for (unsigned c = 0; c < 0x80; c++)
        if (vug_grammar_matcher_step(m, stacks, (uint8_t)c) != stacks)
            left |= (uint64_t)1 << vug_byte_group_of_ascii(c);
    return (all & ~left) | (loops_beyond_ascii(m, stacks) ? VUG_BYTE_GROUP_BEYOND : 0);
}
