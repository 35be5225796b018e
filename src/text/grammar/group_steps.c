#include "text/grammar/group_steps.h"

typedef struct {
    uint8_t from, to;
} byte_range;

/* Characters beyond ASCII by their bytes (RFC 3629, section 4), without white space and line ends. */
static const byte_range others[][4] = {
    { { 0xc2, 0xc2 }, { 0x80, 0x9f } },
    { { 0xc2, 0xc2 }, { 0xa1, 0xbf } },
    { { 0xc3, 0xdf }, { 0x80, 0xbf } },
    { { 0xe0, 0xe0 }, { 0xa0, 0xbf }, { 0x80, 0xbf } },
    { { 0xe1, 0xe1 }, { 0x80, 0x99 }, { 0x80, 0xbf } },
    { { 0xe1, 0xe1 }, { 0x9a, 0x9a }, { 0x81, 0xbf } },
    { { 0xe1, 0xe1 }, { 0x9b, 0xbf }, { 0x80, 0xbf } },
    { { 0xe2, 0xe2 }, { 0x80, 0x80 }, { 0x8b, 0xa7 } },
    { { 0xe2, 0xe2 }, { 0x80, 0x80 }, { 0xaa, 0xae } },
    { { 0xe2, 0xe2 }, { 0x80, 0x80 }, { 0xb0, 0xbf } },
    { { 0xe2, 0xe2 }, { 0x81, 0x81 }, { 0x80, 0x9e } },
    { { 0xe2, 0xe2 }, { 0x81, 0x81 }, { 0xa0, 0xbf } },
    { { 0xe2, 0xe2 }, { 0x82, 0xbf }, { 0x80, 0xbf } },
    { { 0xe3, 0xe3 }, { 0x80, 0x80 }, { 0x81, 0xbf } },
    { { 0xe3, 0xe3 }, { 0x81, 0xbf }, { 0x80, 0xbf } },
    { { 0xe4, 0xec }, { 0x80, 0xbf }, { 0x80, 0xbf } },
    { { 0xed, 0xed }, { 0x80, 0x9f }, { 0x80, 0xbf } },
    { { 0xee, 0xee }, { 0x80, 0xbf }, { 0x80, 0xbf } },
    { { 0xef, 0xef }, { 0x80, 0xba }, { 0x80, 0xbf } },
    { { 0xef, 0xef }, { 0xbb, 0xbb }, { 0x80, 0xbe } },
    { { 0xef, 0xef }, { 0xbc, 0xbf }, { 0x80, 0xbf } },
    { { 0xf0, 0xf0 }, { 0x90, 0xbf }, { 0x80, 0xbf }, { 0x80, 0xbf } },
    { { 0xf1, 0xf3 }, { 0x80, 0xbf }, { 0x80, 0xbf }, { 0x80, 0xbf } },
    { { 0xf4, 0xf4 }, { 0x80, 0x8f }, { 0x80, 0xbf }, { 0x80, 0xbf } },
};

/* U+00A0, U+1680, U+2000 to U+200A, U+202F, U+205F, U+3000, U+FEFF. */
static const byte_range spaces[][4] = {
    { { 0xc2, 0xc2 }, { 0xa0, 0xa0 } },
    { { 0xe1, 0xe1 }, { 0x9a, 0x9a }, { 0x80, 0x80 } },
    { { 0xe2, 0xe2 }, { 0x80, 0x80 }, { 0x80, 0x8a } },
    { { 0xe2, 0xe2 }, { 0x80, 0x80 }, { 0xaf, 0xaf } },
    { { 0xe2, 0xe2 }, { 0x81, 0x81 }, { 0x9f, 0x9f } },
    { { 0xe3, 0xe3 }, { 0x80, 0x80 }, { 0x80, 0x80 } },
    { { 0xef, 0xef }, { 0xbb, 0xbb }, { 0xbf, 0xbf } },
};

static const byte_range line_ends[][4] = {
    { { 0xe2, 0xe2 }, { 0x80, 0x80 }, { 0xa8, 0xa9 } },
};

/* Joins where the members of a group lead. `UNKNOWN` before the first. */
static vug_stack_set join(vug_stack_set a, vug_stack_set b)
{
    if (a == VUG_STACK_SET_UNKNOWN || a == b)
        return b;
    return a == VUG_STACK_SET_FAILED || b == VUG_STACK_SET_FAILED ? VUG_STACK_SET_FAILED
                                                                  : VUG_STACK_SET_MIXED;
}

static vug_stack_set step_range(vug_grammar_matcher *m, vug_stack_set stacks, byte_range range)
{
    const uint8_t *class_of = m->a->class_of;
    vug_stack_set to = vug_grammar_matcher_step(m, stacks, range.from);
    for (unsigned byte = range.from + 1U; byte <= range.to; byte++)
        if (class_of[byte] != class_of[byte - 1])
            to = join(to, vug_grammar_matcher_step(m, stacks, (uint8_t)byte));
    return to;
}

static vug_stack_set step_sequences(vug_grammar_matcher *m, vug_stack_set stacks,
                                    const byte_range (*sequence)[4], size_t n)
{
    vug_stack_set to = VUG_STACK_SET_UNKNOWN;
    for (size_t i = 0; i < n && to != VUG_STACK_SET_MIXED; i++) {
        vug_stack_set at = stacks;
        for (size_t k = 0; k < 4 && sequence[i][k].to > 0 && at < VUG_STACK_SET_MIXED; k++)
            at = step_range(m, at, sequence[i][k]);
        to = join(to, at);
    }
    return to;
}

static vug_stack_set *row_of(const vug_grammar_matcher *m, vug_stack_set stacks)
{
    return vug_row_table_get(&m->group_rows, stacks);
}

typedef struct {
    uint64_t word[4];
} byte_set;

static bool has_byte(const byte_set *set, unsigned byte)
{
    return set->word[byte / 64] >> (byte % 64) & 1;
}

/* The bytes that a stack set reads. */
static byte_set find_live_bytes(const vug_grammar_matcher *m, vug_stack_set stacks)
{
    const vug_automaton *a = m->a;
    byte_set live = { 0 };
    size_t n;
    const uint32_t *frame = vug_stack_set_frames(m, stacks, &n);
    for (size_t i = 0; i < n; i++) {
        const vug_automaton_state *s = &a->state[vug_stack_frame_get(m, frame[i]).state];
        for (uint32_t e = s[0].edge; e < s[1].edge; e++)
            for (unsigned byte = a->edge[e].from; byte <= a->edge[e].to; byte++)
                live.word[byte / 64] |= (uint64_t)1 << (byte % 64);
    }
    return live;
}

/* The steps by all groups of ASCII characters, and by the others if nothing beyond ASCII leads on.
 * False on failure. */
static bool step_ascii(vug_grammar_matcher *m, vug_stack_set stacks)
{
    const byte_set live = find_live_bytes(m, stacks);
    for (unsigned c = 0; c < 0x80; c++) {
        const vug_stack_set to = has_byte(&live, c)
                                         ? vug_grammar_matcher_step(m, stacks, (uint8_t)c)
                                         : VUG_STACK_SET_DEAD;
        vug_stack_set *joined = row_of(m, stacks) + vug_byte_group_of_ascii(c);
        if (to == VUG_STACK_SET_FAILED)
            return false;
        *joined = join(*joined, to);
    }
    if ((live.word[2] | live.word[3]) == 0)
        for (uint32_t group = VUG_BYTE_GROUP_ASCII; group < VUG_GROUP_N_CACHED; group++)
            row_of(m, stacks)[group] = VUG_STACK_SET_DEAD;
    return true;
}

static vug_stack_set step_not_ascii(vug_grammar_matcher *m, vug_stack_set stacks)
{
    vug_stack_set to = stacks;
    for (uint32_t group = VUG_BYTE_GROUP_ASCII; group < VUG_GROUP_NOT_ASCII; group++) {
        const vug_stack_set step = vug_group_step(m, stacks, group);
        if (step == VUG_STACK_SET_FAILED)
            return step;
        to = step == VUG_STACK_SET_MIXED ? step : to;
    }
    return to;
}

static vug_stack_set step_beyond_ascii(vug_grammar_matcher *m, vug_stack_set stacks, uint32_t group)
{
    switch (group) {
    case VUG_GROUP_LINE_END:
        return step_sequences(m, stacks, line_ends, sizeof(line_ends) / sizeof(*line_ends));
    case VUG_GROUP_SPACE:
        return step_sequences(m, stacks, spaces, sizeof(spaces) / sizeof(*spaces));
    case VUG_GROUP_OTHER:
        return step_sequences(m, stacks, others, sizeof(others) / sizeof(*others));
    default:
        return step_not_ascii(m, stacks);
    }
}

vug_stack_set vug_group_compute_step(vug_grammar_matcher *m, vug_stack_set stacks, uint32_t group)
{
    if (!vug_row_table_reserve(&m->group_rows, stacks)) {
        m->nomem = true;
        m->work = VUG_MATCHER_MAX_WORK;
        return VUG_STACK_SET_FAILED;
    }
    if (row_of(m, stacks)[0] == VUG_STACK_SET_UNKNOWN && !step_ascii(m, stacks)) {
        for (uint32_t i = 0; i < VUG_GROUP_N_CACHED; i++)
            row_of(m, stacks)[i] = VUG_STACK_SET_UNKNOWN;
        return VUG_STACK_SET_FAILED;
    }
    vug_stack_set to = row_of(m, stacks)[group];
    if (to != VUG_STACK_SET_UNKNOWN)
        return to;
    to = step_beyond_ascii(m, stacks, group);
    if (to != VUG_STACK_SET_FAILED)
        row_of(m, stacks)[group] = to;
    return to;
}
