#include "test.h"

#include "text/grammar/unique_items.h"
#include "vug/grammar.h"

/*
 * Arrays whose items differ: which bytes repeat an item, and that masks leave out exactly the tokens
 * after which no other item is possible.
 */

/* ---- values -------------------------------------------------------------------------------- */

/* How many bytes of a unique array are read before an item is repeated. */
static size_t read_array(const char *text)
{
    vug_unique_items u = { 0 };
    size_t n = 0;
    while (text[n] != '\0' && vug_unique_items_read(&u, text[n], n == 0))
        n++;
    if (text[n] == '\0' && strchr(text, '[') == text)
        assert_false(vug_unique_items_inside(&u));
    vug_unique_items_release(&u);
    return n;
}

static void test_values(void **state)
{
    (void)state;
    /* `*` stands before the byte that repeats an item. */
    static const char *const table[] = {
        "[]",
        "[\"a\", \"b\"]",
        "[\"a\", \"a*\"]",
        "[\"a\", \"\\u0061*\"]",
        "[\"\\\"\", \"\\\\\", \"\\u0022*\"]",
        "[1, 10, 1.5, 1*, 2]",
        "[1, 1.0*]",
        "[1,10e-1* ]",
        "[0, -0.0*]",
        "[true, false, nul, null, \"true\", tru*e]",
        "[1, true, \"1\", [1], {\"1\": 1}]",
        "[{\"a\": 1, \"b\": [2]}, {\"b\":[2.0], \"a\":1*}]",
        "[{\"a\": 1}, {\"a\": 2}, {}]",
        "[[], [[]], [ []*]]",
        "[[1, 2], [2, 1], [1, 2*]]",
        "[{\"a\": 1, \"a\": 1}, {\"a\": 1}]",
        "[\"],\", \"]\", \"],*\"]",
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        char text[128];
        size_t n = 0, star = SIZE_MAX;
        for (const char *c = table[i]; *c; c++) {
            if (*c == '*')
                star = n;
            else
                text[n++] = *c;
        }
        text[n] = '\0';
        const size_t got = read_array(text);
        if (got != (star == SIZE_MAX ? n : star))
            fail_msg("%s: %zu bytes", table[i], got);
    }
}

static void test_marks(void **state)
{
    (void)state;
    vug_unique_items u = { 0 };
    for (const char *c = "[\"a\""; *c; c++)
        assert_true(vug_unique_items_read(&u, *c, *c == '['));
    const vug_unique_mark mark = vug_unique_items_mark(&u);
    for (const char *c = ",\"b\"]"; *c; c++)
        assert_true(vug_unique_items_read(&u, *c, false));
    assert_false(vug_unique_items_inside(&u));
    vug_unique_items_return(&u, mark);
    for (const char *c = ",\"b\",\"a"; *c; c++)
        assert_true(vug_unique_items_read(&u, *c, false));
    assert_false(vug_unique_items_read(&u, '"', false));
    vug_unique_items_release(&u);
}

/* ---- masks --------------------------------------------------------------------------------- */

static bool has_bit(const uint32_t *word, int32_t id)
{
    return word[id / 32] >> (id % 32) & 1;
}

/* Writes random texts: in every mask there is a token until the text may end, and a token is
 * accepted if its bit is set. */
static void check_masks(const vug_tokenizer *t, const char *schema, uint64_t seed)
{
    enum { WORDS = 4096 / 32, STEPS = 60 };
    uint32_t word[WORDS];
    vug_grammar *g = NULL;
    vug_grammar_state *s = NULL;
    vug_err err = { 0 };
    if (vug_grammar_create(VUG_GRAMMAR_SCHEMA, schema, strlen(schema), t, &g, &err) != VUG_OK)
        fail_msg("%s: %s", schema, err.msg);
    assert_int_equal(vug_grammar_state_create(g, &s, NULL), VUG_OK);
    for (int step = 0; step < STEPS; step++) {
        assert_int_equal(vug_grammar_mask(s, word, WORDS, NULL), VUG_OK);
        int32_t chosen = -1;
        uint32_t n = 0;
        for (int32_t id = 0; id < 32 * WORDS; id++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            if (has_bit(word, id) && (uint32_t)(seed >> 33) % ++n == 0)
                chosen = id;
        }
        if (chosen < 0 && !vug_grammar_may_end(s))
            fail_msg("%s: step %d: no token", schema, step);
        if (chosen < 0)
            break;
        if (vug_grammar_accept(s, chosen, &err) != VUG_OK)
            fail_msg("%s: step %d: %s", schema, step, err.msg);
    }
    vug_grammar_state_destroy(s);
    vug_grammar_destroy(g);
}

/* Whether a schema accepts a text, token by token as its bytes are. */
static bool accepts(const vug_tokenizer *t, const char *schema, const char *text)
{
    vug_grammar *g = NULL;
    vug_grammar_state *s = NULL;
    vug_tokens tokens = { 0 };
    uint32_t word[4096 / 32];
    assert_int_equal(vug_grammar_create(VUG_GRAMMAR_SCHEMA, schema, strlen(schema), t, &g, NULL),
                     VUG_OK);
    assert_int_equal(vug_grammar_state_create(g, &s, NULL), VUG_OK);
    assert_int_equal(vug_tokenizer_encode(t, text, strlen(text), VUG_ENCODE_PLAIN, &tokens, NULL),
                     VUG_OK);
    bool yes = true;
    for (size_t i = 0; i < tokens.n && yes; i++) {
        assert_int_equal(vug_grammar_mask(s, word, 4096 / 32, NULL), VUG_OK);
        yes = vug_grammar_accept(s, tokens.id[i], NULL) == VUG_OK;
        if (has_bit(word, tokens.id[i]) != yes)
            fail_msg("%s: %s: token %zu: the mask and accept differ", schema, text, i);
    }
    yes = yes && vug_grammar_may_end(s);
    vug_tokens_release(&tokens);
    vug_grammar_state_destroy(s);
    vug_grammar_destroy(g);
    return yes;
}

static const char any_items[] = "{\"type\":\"array\",\"uniqueItems\":true}";
static const char two_strings[] =
        "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"string\",\"pattern\":"
        "\"^[ab]c$\"}}";
static const char digits[] = "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":"
                             "\"integer\",\"minimum\":8,\"maximum\":11}}";
static const char nested[] =
        "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"array\",\"uniqueItems\":"
        "true,\"items\":{\"type\":\"string\"}}}";
/* What follows a unique array's bracket is what follows that of any array. */
static const char inner[] =
        "{\"type\":\"array\",\"items\":{\"type\":\"array\",\"uniqueItems\":true}}";
static const char outer[] =
        "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"array\"}}";
static const char objects[] =
        "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"object\",\"properties\":{"
        "\"k\":{\"enum\":[\"x\",\"y\"]}},\"required\":[\"k\"],\"additionalProperties\":false}}";

static void test_masks(void **state)
{
    const vug_tokenizer *t = *state;
    static const char *const schemas[] = { any_items, two_strings, digits, nested,
                                           inner,     outer,       objects };
    for (size_t i = 0; i < sizeof(schemas) / sizeof(*schemas); i++)
        for (uint64_t seed = 1; seed <= 10; seed++)
            check_masks(t, schemas[i], seed);
}

static void test_acceptance(void **state)
{
    const vug_tokenizer *t = *state;
    assert_true(accepts(t, any_items, "[1, \"1\", [1], {\"a\": 1}, null]"));
    assert_false(accepts(t, any_items, "[{\"a\": 1, \"b\": 2}, {\"b\": 2, \"a\": 1}]"));
    assert_true(accepts(t, two_strings, "[\"ac\", \"bc\"]"));
    assert_false(accepts(t, two_strings, "[\"ac\", \"ac\"]"));
    assert_false(accepts(t, two_strings, "[\"ac\", \"bc\", "));
    assert_true(accepts(t, digits, "[8, 11, 9, 10]"));
    assert_false(accepts(t, digits, "[8, 8]"));
    assert_true(accepts(t, nested, "[[\"a\", \"b\"], [\"a\"], []]"));
    assert_false(accepts(t, nested, "[[\"a\"], [\"b\"], [\"a\"]]"));
    assert_false(accepts(t, nested, "[[\"a\", \"a\"]]"));
    assert_true(accepts(t, inner, "[[1], [1], [[2, 2], [2]]]"));
    assert_false(accepts(t, inner, "[[1, 1]]"));
    assert_false(accepts(t, inner, "[[], [2], [[], []]]"));
    assert_true(accepts(t, outer, "[[1, 1], [1]]"));
    assert_false(accepts(t, outer, "[[1], [1]]"));
    assert_true(accepts(t, objects, "[{\"k\": \"x\"}, {\"k\": \"y\"}]"));
    assert_false(accepts(t, objects, "[{\"k\": \"x\"}, {\"k\": \"x\"}]"));
}

static int open_tokenizer(void **state)
{
    vug_tokenizer *t = NULL;
    if (vug_tokenizer_open("models/pebble", &t, NULL) != VUG_OK)
        return -1;
    *state = t;
    return 0;
}

static int close_tokenizer(void **state)
{
    vug_tokenizer_close(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_acceptance),
    };
    return cmocka_run_group_tests(tests, open_tokenizer, close_tokenizer);
}
