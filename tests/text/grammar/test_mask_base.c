#include "test.h"

#include <stdlib.h>

#include "grammar_help.h"
#include "text/grammar/frame_mask.h"
#include "text/grammar/schema.h"
#include "text/tokenizer/token_trie.h"
#include "vug/vug.h"

/* Masks that are made from those of a base equal those for which every token was tried. */

typedef struct {
    vug_tokenizer *tokenizer;
    const vug_token_trie *trie;
    vug_group_trie groups;
    size_t n_words;
    vug_grammar_matcher matcher;
} mask_maker;

static vug_frame_mask *make(mask_maker *m, const uint32_t key[3], const vug_frame_mask_base *base)
{
    vug_frame_mask *mask = NULL;
    vug_err err = { 0 };
    if (vug_frame_mask_create(&m->groups, m->n_words, &m->matcher, key, base, &mask, &err) !=
        VUG_OK)
        fail_msg("%s", err.msg);
    return mask;
}

static bool has_token(const vug_frame_mask *mask, uint32_t id)
{
    bool found = mask->word && (mask->word[id / 32] >> (id % 32) & 1);
    for (size_t i = 0; i < mask->n_ids && !found; i++)
        found = mask->id[i] == id;
    return found;
}

static int compare_nodes(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Whether a mask has all tokens at a node and below it. Then an exit there adds nothing. */
static bool has_subtree(const mask_maker *m, const vug_frame_mask *mask, uint32_t node)
{
    uint32_t from = node, end = node + 1;
    while (from < end) {
        for (uint32_t i = m->trie->node[from].first; i < m->trie->node[end].first; i++)
            if (!has_token(mask, (uint32_t)m->trie->id[i]))
                return false;
        from = m->trie->node[from].child;
        end = m->trie->node[end].child;
    }
    return true;
}

static void list_exit(const mask_maker *m, const vug_frame_mask *mask, uint32_t node, vug_buf *to)
{
    if (!has_subtree(m, mask, node))
        vug_buf_append(to, &node, sizeof(node));
}

/* The nodes of the token trie that the exits of a mask stand for, but for those that add nothing. The
 * caller releases it. */
static vug_buf list_exits(const mask_maker *m, const vug_frame_mask *mask)
{
    vug_buf nodes = { 0 };
    for (uint32_t i = 0; i < mask->exits.n; i++)
        list_exit(m, mask, mask->exits.exit[i].node, &nodes);
    for (uint32_t i = 0; i < mask->group_exits.n; i++) {
        const vug_group_trie_node *node = &m->groups.node[mask->group_exits.exit[i].node];
        for (uint32_t k = node[0].member; k < node[1].member; k++)
            list_exit(m, mask, m->groups.member[k], &nodes);
    }
    if (nodes.len > 0)
        qsort(nodes.ptr, nodes.len / sizeof(uint32_t), sizeof(uint32_t), compare_nodes);
    return nodes;
}

static void check_equal(const mask_maker *m, const vug_frame_mask *a, const vug_frame_mask *b)
{
    vug_buf of_a = list_exits(m, a), of_b = list_exits(m, b);
    for (uint32_t id = 0; id < 32 * m->n_words; id++)
        if (has_token(a, id) != has_token(b, id))
            fail_msg("token %u is allowed by one mask only", id);
    assert_int_equal(of_a.len, of_b.len);
    if (of_a.len > 0)
        assert_memory_equal(of_a.ptr, of_b.ptr, of_a.len);
    vug_buf_release(&of_a);
    vug_buf_release(&of_b);
}

/* Returns whether the state has a base. */
static bool check_state(mask_maker *m, uint32_t state)
{
    const uint32_t key[3] = { state, 1, 1 };
    vug_frame_mask_base b;
    bool forgotten;
    vug_stack_set none = VUG_STACK_SET_DEAD;
    assert_int_equal(vug_grammar_matcher_begin_call(&m->matcher, &none, &forgotten, NULL), VUG_OK);
    if (!vug_mask_base_find(&m->matcher, key, &b.base))
        return false;
    for (size_t i = 0; i < b.base.n; i++) {
        const vug_stack_frame f = vug_stack_frame_get(&m->matcher, b.base.frame[i]);
        b.mask[i] = make(m, (uint32_t[3]){ f.state, 1, 1 }, NULL);
    }
    vug_frame_mask *from_base = make(m, key, &b), *tried = make(m, key, NULL);
    check_equal(m, from_base, tried);
    vug_frame_mask_release(from_base);
    vug_frame_mask_release(tried);
    for (size_t i = 0; i < b.base.n; i++)
        vug_frame_mask_release(b.mask[i]);
    return true;
}

/* Checks all states of a grammar. Returns how many have a base. */
static size_t check_grammar(grammar_parser *parse, const char *text)
{
    mask_maker m = { 0 };
    size_t n = 0;
    vug_automaton *a = automaton_of(parse, text);
    assert_int_equal(vug_tokenizer_open("models/pebble", &m.tokenizer, NULL), VUG_OK);
    assert_int_equal(vug_token_trie_get(m.tokenizer, &m.trie, NULL), VUG_OK);
    assert_int_equal(vug_group_trie_init(&m.groups, m.trie, NULL), VUG_OK);
    m.n_words = ((size_t)vug_tokenizer_size(m.tokenizer) + 31) / 32;
    assert_int_equal(vug_grammar_matcher_init(&m.matcher, a, NULL), VUG_OK);
    for (uint32_t state = 0; state < a->n_states; state++)
        n += check_state(&m, state);
    vug_grammar_matcher_release(&m.matcher);
    vug_group_trie_release(&m.groups);
    vug_tokenizer_close(m.tokenizer);
    vug_automaton_destroy(a);
    return n;
}

static void test_masks_from_bases(void **state)
{
    (void)state;
    /* What follows most first letters is in the same body, ... */
    assert_true(check_grammar(vug_grammar_parse_regex, "(th[^!]|on|[^to!]|o[^n!])[^!]*! [a-z]") >
                0);
    assert_true(check_grammar(vug_grammar_parse_regex,
                              "([a-s](x[^u\"]|[^x\"])[^\"]*|t[a-z]*)(\", [a-z]*)?") > 0);
    /* ... or in the body of a rule, after which that of the object goes on. */
    assert_true(check_grammar(vug_grammar_parse_schema,
                              "{\"properties\":{\"the\":{\"type\":\"integer\"},\"that\":true,"
                              "\"other\":{\"additionalProperties\":{\"type\":\"string\"}}},"
                              "\"additionalProperties\":{\"enum\":[\"other\",7]}}") > 5);
}

static void test_states_without_a_base(void **state)
{
    (void)state;
    assert_int_equal(check_grammar(vug_grammar_parse_regex, "[^!]*!"), 0);
    assert_int_equal(check_grammar(vug_grammar_parse_regex, "([a-z]{9}|[A-Z]{9})!"), 0);
    /* The frame of the repetition counts. */
    assert_int_equal(check_grammar(vug_grammar_parse_regex, "[a-c][^!]{0,90}!"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masks_from_bases),
        cmocka_unit_test(test_states_without_a_base),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
