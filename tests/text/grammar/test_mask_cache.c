#include "test.h"

#include "text/grammar/grammar_internal.h"
#include "tokenizer_help.h"

/* Masks that the grammars of a tokenizer share, and which of them are dropped. */

enum { N_WORDS = 2, N_OTHERS = 60 };

static vug_grammar *regex_grammar(const vug_tokenizer *t, const char *text)
{
    vug_grammar *g = NULL;
    vug_err err = { 0 };
    if (vug_grammar_create(VUG_GRAMMAR_REGEX, text, strlen(text), t, &g, &err) != VUG_OK)
        fail_msg("%s: %s", text, err.msg);
    return g;
}

/* The end of a JSON string. Each call makes another grammar. */
static vug_grammar *string_grammar(const vug_tokenizer *t)
{
    return regex_grammar(t, "[^\"]*\"");
}

/* The mask of the first step. */
static void fill_first_mask(const vug_grammar *g, uint32_t word[N_WORDS])
{
    vug_grammar_state *s = NULL;
    assert_int_equal(vug_grammar_state_create(g, &s, NULL), VUG_OK);
    assert_int_equal(vug_grammar_mask(s, word, N_WORDS, NULL), VUG_OK);
    vug_grammar_state_destroy(s);
}

/* The cache of the tokenizer, which now keeps masks however cheap they are. */
static vug_mask_cache *shared_cache(const vug_grammar *g)
{
    g->cache->shared->min_work = 0;
    return g->cache->shared;
}

static vug_frame_mask *only_mask(const vug_mask_cache *cache)
{
    assert_int_equal(cache->keys.n, 1);
    return *(vug_frame_mask **)(void *)cache->masks.ptr;
}

/* A grammar that has computed its only mask, `first`, which its tokenizer shares. The first three
 * are owned by the caller, who closes the tokenizer last. */
typedef struct {
    vug_tokenizer *tokenizer;
    vug_grammar *grammar;
    vug_mask_cache *shared;
    uint32_t first[N_WORDS];
} shared_mask;

static shared_mask share_mask(void)
{
    shared_mask m = { .tokenizer = tokenizer_of((tokenizer_parts){ 0 }) };
    m.grammar = string_grammar(m.tokenizer);
    m.shared = shared_cache(m.grammar);
    fill_first_mask(m.grammar, m.first);
    return m;
}

static void release_shared_mask(shared_mask *m)
{
    vug_grammar_destroy(m->grammar);
    vug_tokenizer_close(m->tokenizer);
}

/* One of many grammars whose masks differ. */
static void use_other_grammar(const vug_tokenizer *t, int i)
{
    char text[64];
    uint32_t word[N_WORDS];
    (void)snprintf(text, sizeof(text), "[a-z]{0,%d}c[^\"]{%d}", i, 2 * i + 1);
    vug_grammar *g = regex_grammar(t, text);
    fill_first_mask(g, word);
    vug_grammar_destroy(g);
}

static void test_grammars_share_masks(void **state)
{
    (void)state;
    shared_mask m = share_mask();
    vug_grammar *same = string_grammar(m.tokenizer);
    uint32_t second[N_WORDS];
    fill_first_mask(same, second);
    assert_ptr_equal(only_mask(m.grammar->cache), only_mask(m.shared));
    assert_ptr_equal(only_mask(same->cache), only_mask(m.shared));
    assert_memory_equal(m.first, second, sizeof(m.first));
    assert_true(m.first[0] != 0 && m.shared->bytes > 0);
    assert_int_equal(vug_mask_cache_bytes(m.grammar->cache), 0);
    vug_grammar_destroy(same);
    release_shared_mask(&m);
}

static void test_full_cache_keeps_what_is_used(void **state)
{
    (void)state;
    shared_mask m = share_mask();
    vug_frame_mask *mask = only_mask(m.grammar->cache);
    m.shared->max_bytes = 5 * m.shared->bytes;
    bool dropped = false;
    for (int i = 1; i <= N_OTHERS; i++) {
        uint32_t later[N_WORDS];
        const size_t before = m.shared->keys.n;
        use_other_grammar(m.tokenizer, i);
        dropped = dropped || m.shared->keys.n < before;
        assert_true(m.shared->bytes <= m.shared->max_bytes);
        vug_grammar *same = string_grammar(m.tokenizer);
        fill_first_mask(same, later);
        assert_ptr_equal(only_mask(same->cache), mask);
        vug_grammar_destroy(same);
    }
    assert_true(dropped);
    release_shared_mask(&m);
}

static void test_dropped_masks_stay_with_grammars(void **state)
{
    (void)state;
    shared_mask m = share_mask();
    uint32_t later[N_WORDS];
    const vug_frame_mask *mask = only_mask(m.grammar->cache);
    m.shared->max_bytes = 5 * m.shared->bytes;
    for (int i = 1; i <= N_OTHERS; i++)
        use_other_grammar(m.tokenizer, i);
    /* Another grammar computes the mask again; this one has kept it. */
    vug_grammar *same = string_grammar(m.tokenizer);
    fill_first_mask(same, later);
    assert_memory_equal(m.first, later, sizeof(m.first));
    assert_ptr_not_equal(only_mask(same->cache), mask);
    fill_first_mask(m.grammar, later);
    assert_memory_equal(m.first, later, sizeof(m.first));
    assert_ptr_equal(only_mask(m.grammar->cache), mask);
    vug_grammar_destroy(same);
    release_shared_mask(&m);
}

static void test_masks_that_do_not_fit(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    vug_grammar *g = string_grammar(t);
    uint32_t first[N_WORDS], later[N_WORDS];
    vug_mask_cache *shared = shared_cache(g);
    shared->max_bytes = g->cache->max_bytes = 1;
    fill_first_mask(g, first);
    fill_first_mask(g, later);
    assert_memory_equal(first, later, sizeof(first));
    assert_true(first[0] != 0 && shared->keys.n == 0 && g->cache->keys.n == 0);
    vug_grammar_destroy(g);
    vug_tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grammars_share_masks),
        cmocka_unit_test(test_full_cache_keeps_what_is_used),
        cmocka_unit_test(test_dropped_masks_stay_with_grammars),
        cmocka_unit_test(test_masks_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
