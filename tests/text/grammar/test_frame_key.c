#include "test.h"

#include "grammar_help.h"
#include "text/grammar/frame_key.h"
#include "text/grammar/regex_grammar.h"

/* Keys of frames are equal exactly if the frames can do the same. */

static uint32_t state_after(const vug_automaton *a, const char *text)
{
    uint32_t state = a->rule[0].start;
    for (; *text; text++) {
        uint32_t e = a->state[state].edge;
        while (e < a->state[state + 1].edge &&
               (a->edge[e].from > (uint8_t)*text || a->edge[e].to < (uint8_t)*text))
            e++;
        assert_true(e < a->state[state + 1].edge);
        state = a->edge[e].state;
    }
    return state;
}

/* Whether the keys of the frame {state after `text`, 1, max} in two grammars are equal. */
static bool same_key(const char *regex, const char *text, const char *other, const char *other_text,
                     uint32_t max)
{
    vug_automaton *a = automaton_of(vug_grammar_parse_regex, regex);
    vug_automaton *b = automaton_of(vug_grammar_parse_regex, other);
    vug_buf x = { 0 }, y = { 0 };
    const uint32_t here[3] = { state_after(a, text), 1, max };
    const uint32_t there[3] = { state_after(b, other_text), 1, max };
    assert_true(vug_frame_key_write(a, here, &x));
    assert_true(vug_frame_key_write(b, there, &y));
    const bool same = x.len == y.len && memcmp(x.ptr, y.ptr, x.len) == 0;
    vug_buf_release(&x);
    vug_buf_release(&y);
    vug_automaton_destroy(a);
    vug_automaton_destroy(b);
    return same;
}

static void test_equal_frames(void **state)
{
    (void)state;
    assert_true(same_key("x[a-c]*y", "x", "[0-9]{3}q[a-c]*y", "012q", 1));
    assert_true(same_key("x[a-c]*y", "x", "x[a-c]*y", "xabc", 1));
    assert_true(same_key("x(ab){70}y", "x", "zz(ab){70}y", "zz", 1));
}

static void test_different_frames(void **state)
{
    (void)state;
    assert_false(same_key("x[a-c]*y", "x", "x[a-d]*y", "x", 1));
    assert_false(same_key("x[a-c]*y", "x", "x[a-c]*yy?", "x", 1));
    assert_false(same_key("xab", "x", "x(ab)?", "x", 1));
    assert_false(same_key("x(ab){70}y", "x", "x(ab){71}y", "x", 1));
    assert_false(same_key("x(ab){70}y", "x", "x(ac){70}y", "x", 1));
    /* A body that runs again begins at its start. */
    assert_true(same_key("xy", "x", "zy", "z", 1));
    assert_false(same_key("xy", "x", "zy", "z", 2));
}

static void test_large_frame(void **state)
{
    (void)state;
    char regex[400];
    memset(regex, 'a', sizeof(regex) - 1);
    regex[sizeof(regex) - 1] = '\0';
    vug_automaton *a = automaton_of(vug_grammar_parse_regex, regex);
    vug_buf key = { 0 };
    assert_false(vug_frame_key_write(a, (const uint32_t[3]){ a->rule[0].start, 1, 1 }, &key));
    vug_buf_release(&key);
    vug_automaton_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_frames),
        cmocka_unit_test(test_different_frames),
        cmocka_unit_test(test_large_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
