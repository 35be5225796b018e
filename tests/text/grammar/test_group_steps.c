#include "test.h"

#include "core/utf8.h"
#include "grammar_help.h"
#include "text/grammar/group_steps.h"

/* A step by a group of characters is the step by each of them. */

static uint32_t group_of(uint32_t c)
{
    if (c < 0x80)
        return vug_byte_group_of_ascii(c);
    if (c == 0x2028 || c == 0x2029)
        return VUG_GROUP_LINE_END;
    const bool space = c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x202f ||
                       c == 0x205f || c == 0x3000 || c == 0xfeff;
    return space ? VUG_GROUP_SPACE : VUG_GROUP_OTHER;
}

static vug_stack_set step_char(vug_grammar_matcher *m, vug_stack_set at, uint32_t c)
{
    char byte[4];
    const size_t n = vug_utf8_encode(c, byte);
    for (size_t i = 0; i < n; i++)
        at = vug_grammar_matcher_step(m, at, (uint8_t)byte[i]);
    return at;
}

/* Tries every character. */
static void check_steps(vug_grammar_matcher *m, vug_stack_set at)
{
    vug_stack_set expected[VUG_GROUP_N_CACHED];
    bool any_mixed = false;
    for (uint32_t group = 0; group < VUG_GROUP_N_CACHED; group++)
        expected[group] = VUG_STACK_SET_UNKNOWN;
    for (uint32_t c = 0; c < 0x110000; c++) {
        if (c >= 0xd800 && c < 0xe000)
            continue;
        const vug_stack_set to = step_char(m, at, c);
        vug_stack_set *joined = &expected[group_of(c)];
        *joined = *joined == VUG_STACK_SET_UNKNOWN || *joined == to ? to : VUG_STACK_SET_MIXED;
    }
    for (uint32_t group = 0; group < VUG_GROUP_NOT_ASCII; group++) {
        any_mixed = any_mixed ||
                    (group >= VUG_BYTE_GROUP_ASCII && expected[group] == VUG_STACK_SET_MIXED);
        if (vug_group_step(m, at, group) != expected[group])
            fail_msg("group %u: %u instead of %u", group, vug_group_step(m, at, group),
                     expected[group]);
    }
    const vug_stack_set not_ascii = vug_group_step(m, at, VUG_GROUP_NOT_ASCII);
    if (not_ascii != (any_mixed ? VUG_STACK_SET_MIXED : at))
        assert_int_equal(not_ascii, VUG_STACK_SET_DEAD); /* nothing beyond ASCII is read */
    for (unsigned byte = 0x80; byte < 0x100; byte++)
        assert_int_equal(vug_group_step(m, at, VUG_GROUP_FIRST_BYTE + byte - 0x80),
                         vug_grammar_matcher_step(m, at, (uint8_t)byte));
}

static void test_steps(void **state)
{
    (void)state;
    static const char *const regex[] = {
        "[^!]*!",       "a.*",
        "(\\S+\\s){3}", "[a-f0-9]{8}-[A-Z]",
        "[^\\u00e9]*x", "[\\u0400-\\u04ff]+|[\\u2028 ]",
        "(?!.*foo).*",  "(.|\\n){3,70}b",
    };
    for (size_t i = 0; i < sizeof(regex) / sizeof(*regex); i++) {
        vug_automaton *a = automaton_of(vug_grammar_parse_regex, regex[i]);
        vug_grammar_matcher m;
        assert_int_equal(vug_grammar_matcher_init(&m, a, NULL), VUG_OK);
        const vug_stack_set start = vug_grammar_matcher_start(&m);
        const vug_stack_set later = vug_grammar_matcher_step(&m, start, 'a');
        check_steps(&m, start);
        if (later != VUG_STACK_SET_DEAD)
            check_steps(&m, later);
        vug_grammar_matcher_release(&m);
        vug_automaton_destroy(a);
    }
}

/* One character of a group leads elsewhere: those where the first and the last byte changes. */
static void test_single_characters(void **state)
{
    (void)state;
    static const uint32_t chars[] = {
        0x80,   0x9f,   0xa0,    0xa1,    0xbf,    0xc0,    0x7ff,    0x800,    0xfff,  0x1000,
        0x167f, 0x1680, 0x1681,  0x16bf,  0x16c0,  0x1fff,  0x2000,   0x200a,   0x200b, 0x2027,
        0x2028, 0x2029, 0x202a,  0x202e,  0x202f,  0x2030,  0x203f,   0x2040,   0x205e, 0x205f,
        0x2060, 0x207f, 0x2080,  0x2fff,  0x3000,  0x3001,  0x303f,   0x3040,   0x3fff, 0x4000,
        0xcfff, 0xd000, 0xd7ff,  0xe000,  0xefff,  0xf000,  0xfebf,   0xfec0,   0xfefe, 0xfeff,
        0xff00, 0xffff, 0x10000, 0x3ffff, 0x40000, 0xfffff, 0x100000, 0x10ffff,
    };
    for (size_t i = 0; i < sizeof(chars) / sizeof(*chars); i++) {
        char regex[32];
        (void)snprintf(regex, sizeof(regex), "[^\\u{%x}]*x", (unsigned)chars[i]);
        vug_automaton *a = automaton_of(vug_grammar_parse_regex, regex);
        vug_grammar_matcher m;
        assert_int_equal(vug_grammar_matcher_init(&m, a, NULL), VUG_OK);
        const vug_stack_set start = vug_grammar_matcher_start(&m);
        for (uint32_t group = VUG_BYTE_GROUP_ASCII; group < VUG_GROUP_NOT_ASCII; group++)
            if ((vug_group_step(&m, start, group) == VUG_STACK_SET_MIXED) !=
                (group == group_of(chars[i])))
                fail_msg("U+%04X: group %u", (unsigned)chars[i], group);
        assert_int_equal(vug_group_step(&m, start, VUG_GROUP_NOT_ASCII), VUG_STACK_SET_MIXED);
        vug_grammar_matcher_release(&m);
        vug_automaton_destroy(a);
    }
}

/* A group whose members lead nowhere, everywhere or to different positions. */
static void test_kinds_of_steps(void **state)
{
    (void)state;
    vug_automaton *a = automaton_of(vug_grammar_parse_regex, "[A-Za-f]x|[0-9]");
    vug_grammar_matcher m;
    assert_int_equal(vug_grammar_matcher_init(&m, a, NULL), VUG_OK);
    const vug_stack_set start = vug_grammar_matcher_start(&m);
    assert_int_equal(vug_group_step(&m, start, vug_byte_group_of_ascii('q')), VUG_STACK_SET_MIXED);
    assert_int_equal(vug_group_step(&m, start, vug_byte_group_of_ascii('!')), VUG_STACK_SET_DEAD);
    assert_int_equal(vug_group_step(&m, start, VUG_GROUP_NOT_ASCII), VUG_STACK_SET_DEAD);
    const vug_stack_set to = vug_group_step(&m, start, vug_byte_group_of_ascii('Q'));
    assert_int_equal(to, vug_grammar_matcher_step(&m, start, 'Q'));
    assert_true(to != VUG_STACK_SET_DEAD);
    vug_grammar_matcher_release(&m);
    vug_automaton_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_single_characters),
        cmocka_unit_test(test_kinds_of_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
