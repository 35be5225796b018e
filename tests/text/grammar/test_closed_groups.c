#include "test.h"

#include "grammar_help.h"
#include "text/grammar/closed_groups.h"
#include "text/grammar/regex_grammar.h"
#include "text/tokenizer/token_trie.h"

/* Which groups of characters are allowed in any order after a position in a text. */

static uint64_t groups_after(const char *regex, const char *text)
{
    vug_automaton *a = automaton_of(vug_grammar_parse_regex, regex);
    vug_grammar_matcher m;
    assert_int_equal(vug_grammar_matcher_init(&m, a, NULL), VUG_OK);
    vug_stack_set at = vug_grammar_matcher_start(&m);
    for (; *text; text++)
        at = vug_grammar_matcher_step(&m, at, (uint8_t)*text);
    vug_closed_groups closed;
    vug_closed_groups_find(&closed, &m, at);
    assert_int_equal(closed.at[0], at);
    vug_grammar_matcher_release(&m);
    vug_automaton_destroy(a);
    return closed.groups;
}

static uint64_t group_of(char c)
{
    return (uint64_t)1 << vug_byte_group_of_ascii((unsigned char)c);
}

static void test_groups_differ(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 0x80; c++) {
        assert_true(vug_byte_group_of_ascii(c) < VUG_BYTE_GROUP_ASCII);
        for (unsigned d = ' '; d < c && c < 0x7f; d++) {
            const bool both_letters = (d >= 'a' && c <= 'z') || (d >= 'A' && c <= 'Z');
            const bool together = both_letters || (d >= '0' && c <= '9');
            assert_int_equal(vug_byte_group_of_ascii(c) == vug_byte_group_of_ascii(d), together);
        }
    }
}

static void test_one_position(void **state)
{
    (void)state;
    const uint64_t ascii = ((uint64_t)1 << VUG_BYTE_GROUP_ASCII) - 1;
    const uint64_t text = groups_after("\"[^\"\\\\]*\"", "\"");
    assert_true(text == ((ascii | VUG_BYTE_GROUP_BEYOND) & ~group_of('"') & ~group_of('\\')));
    assert_true(groups_after("[a-z0-9]*!", "") == (group_of('q') | group_of('5')));
    assert_true(groups_after("[A-Z_]*!", "") == (group_of('Q') | group_of('_')));
    assert_true(groups_after("[a-c]*!", "") == 0);
    /* Almost all characters beyond ASCII are not all. */
    assert_true(groups_after("[^!\\u20ac]*!", "") == (ascii & ~group_of('!')));
}

static void test_several_positions(void **state)
{
    (void)state;
    const uint64_t letters = group_of('a') | group_of('A') | group_of('0') | group_of(' ');
    /* What has been found of the words matters to '!' only. */
    assert_true((groups_after("[^!]*(bold|normal)[^!]*!", "") & letters) == letters);
    assert_true((groups_after("[^!]*(bold|normal)[^!]*!", "bo") & letters) == letters);
    assert_true((groups_after("[^!]*(bold|normal)[^!]*!", "") & group_of('!')) == 0);
    assert_true(groups_after("([a-z][0-9])*!", "") == 0);
    assert_true(groups_after("[a-z]{9}", "a") == 0);
    /* Too many positions: the last 7 letters. */
    assert_true(groups_after("[a-z]*b[a-z]{7}!", "") == 0);
}

/* Characters that count lead to ever more positions: one text shows it. */
static void test_counting_is_found_early(void **state)
{
    (void)state;
    vug_automaton *a = automaton_of(vug_grammar_parse_regex, "[^!]{500}");
    vug_grammar_matcher m;
    vug_closed_groups closed;
    assert_int_equal(vug_grammar_matcher_init(&m, a, NULL), VUG_OK);
    vug_closed_groups_find(&closed, &m, vug_grammar_matcher_start(&m));
    assert_true(closed.groups == 0);
    assert_true(m.n_closures < 8 * VUG_CLOSED_GROUPS_MAX_POSITIONS);
    vug_grammar_matcher_release(&m);
    vug_automaton_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_differ),
        cmocka_unit_test(test_one_position),
        cmocka_unit_test(test_several_positions),
        cmocka_unit_test(test_counting_is_found_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
