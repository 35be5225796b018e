/* Prompt lookup: a draft is what followed the longest earlier match, or none. */
#include "test.h"

#include "engine/prompt_lookup.h"
#include "engine_help.h"

static vug_prompt_lookup open_lookup(size_t n_tokens)
{
    vug_prompt_lookup lookup;
    vug_err err = { 0 };
    help_ok(vug_prompt_lookup_init(&lookup, n_tokens, &err), &err);
    return lookup;
}

/* The last place of the longest match, with positions below `n` in the table. */
static size_t find(vug_prompt_lookup *lookup, const int32_t *id, size_t n, size_t *position)
{
    vug_prompt_lookup_add(lookup, id, n);
    return vug_prompt_lookup_find(lookup, id, id, n, position);
}

static void test_place_follows_the_same_tokens(void **state)
{
    (void)state;
    const int32_t id[] = { 1, 2, 3, 4, 5, 6, 9, 3, 7, 8, 2, 3, 4 };
    enum { N = sizeof(id) / sizeof(*id) };
    vug_prompt_lookup lookup = open_lookup(N);
    size_t position;
    assert_int_equal(find(&lookup, id, 6, &position), 0);
    /* 3 alone: its last place, not the end itself. */
    assert_int_equal(find(&lookup, id, 8, &position), 1);
    assert_int_equal(position, 3);
    /* 2, 3, 4: a longer match before the later one of 3 and of 4. */
    assert_int_equal(find(&lookup, id, N, &position), 3);
    assert_int_equal(position, 4);
    vug_prompt_lookup_release(&lookup);
}

static void test_place_is_found_in_another_text(void **state)
{
    (void)state;
    const int32_t text[] = { 5, 1, 2, 3, 4 }, id[] = { 9, 9, 1, 2 };
    vug_prompt_lookup lookup = open_lookup(5);
    size_t position;
    vug_prompt_lookup_add(&lookup, text, 5);
    assert_int_equal(vug_prompt_lookup_find(&lookup, text, id, 4, &position), 2);
    assert_int_equal(position, 3);
    assert_int_equal(vug_prompt_lookup_find(&lookup, text, id, 2, &position), 0);
    vug_prompt_lookup_release(&lookup);
}

static void test_long_matches_are_counted_up_to_a_limit(void **state)
{
    (void)state;
    enum { N = 60 };
    int32_t id[N];
    for (int i = 0; i < N; i++)
        id[i] = i % 3;
    vug_prompt_lookup lookup = open_lookup(N);
    size_t position;
    assert_int_equal(find(&lookup, id, N, &position), VUG_MOST_MATCH);
    assert_int_equal(position, N - 3);
    vug_prompt_lookup_release(&lookup);
}

/* A table that is far too small loses places, and nothing else. Every match is a real one, and
 * without collisions the longest key is found. */
static void test_matches_are_real(void **state)
{
    (void)state;
    enum { N = 6000, V = 9 };
    static int32_t id[N];
    uint64_t random = 4;
    for (size_t i = 0; i < N; i++)
        id[i] = (int32_t)help_random(&random, V);
    for (size_t expected = 1; expected <= N; expected *= N) {
        vug_prompt_lookup lookup = open_lookup(expected);
        size_t n_long = 0;
        for (size_t n = 1; n < N; n += 1 + help_random(&random, 3)) {
            size_t position;
            const size_t match = find(&lookup, id, n, &position);
            assert_in_range(match, 0, VUG_MOST_MATCH);
            n_long += match >= 4;
            assert_true(match == 0 || (position >= match && position < n));
            if (match > 0)
                assert_memory_equal(id + position - match, id + n - match, match * sizeof(*id));
        }
        assert_true(n_long > (expected == N ? 500 : 0));
        vug_prompt_lookup_release(&lookup);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place_follows_the_same_tokens),
        cmocka_unit_test(test_place_is_found_in_another_text),
        cmocka_unit_test(test_long_matches_are_counted_up_to_a_limit),
        cmocka_unit_test(test_matches_are_real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
