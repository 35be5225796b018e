#include "test.h"

#include "grammar_help.h"
#include "text/grammar/regex_grammar.h"
#include "text/grammar/self_loops.h"
#include "text/tokenizer/token_trie.h"

/* After which bytes a position in a text stays the same. */

static uint64_t loops_after(const char *regex, const char *text)
{
    vug_automaton *a = automaton_of(vug_grammar_parse_regex, regex);
    vug_grammar_matcher m;
    assert_int_equal(vug_grammar_matcher_init(&m, a, NULL), VUG_OK);
    vug_stack_set at = vug_grammar_matcher_start(&m);
    for (; *text; text++)
        at = vug_grammar_matcher_step(&m, at, (uint8_t)*text);
    const uint64_t groups = vug_self_loop_groups(&m, at);
    vug_grammar_matcher_release(&m);
    vug_automaton_destroy(a);
    return groups;
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

static void test_loops(void **state)
{
    (void)state;
    const uint64_t ascii = ((uint64_t)1 << VUG_BYTE_GROUP_ASCII) - 1;
    const uint64_t text = loops_after("\"[^\"\\\\]*\"", "\"");
    assert_true(text == ((ascii | VUG_BYTE_GROUP_BEYOND) & ~group_of('"') & ~group_of('\\')));
    assert_true(loops_after("[a-z0-9]*x!", "") == (group_of('5')));
    assert_true(loops_after("[A-Z_]*!", "") == (group_of('Q') | group_of('_')));
    assert_true(loops_after("[a-c]*!", "") == 0);
    /* Almost all characters beyond ASCII are not all. */
    assert_true(loops_after("[^!\\u20ac]*!", "") == (ascii & ~group_of('!')));
    /* Where the text may end, what follows is not known. */
    assert_true(loops_after("[^!]*", "") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_differ),
        cmocka_unit_test(test_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
