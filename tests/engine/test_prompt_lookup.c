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

static void test_draft_is_what_followed_the_same_tokens(void **state)
{
    (void)state;
    const int32_t id[] = { 1, 2, 3, 4, 5, 6, 9, 3, 7, 8, 2, 3, 4 };
    enum { N = sizeof(id) / sizeof(*id) };
    vug_prompt_lookup lookup = open_lookup(N);
    int32_t draft[4];
    assert_int_equal(vug_prompt_lookup_draft(&lookup, id, 6, draft, 4), 0);
    /* 3 alone: its last place, not the end itself. */
    assert_int_equal(vug_prompt_lookup_draft(&lookup, id, 8, draft, 2), 1);
    assert_memory_equal(draft, ((int32_t[]){ 4, 5 }), 2 * sizeof(*draft));
    /* 2, 3, 4: a longer match before the later one of 3 and of 4. */
    assert_int_equal(vug_prompt_lookup_draft(&lookup, id, N, draft, 4), 3);
    assert_memory_equal(draft, ((int32_t[]){ 5, 6, 9, 3 }), sizeof(draft));
    vug_prompt_lookup_release(&lookup);
}

static void test_draft_continues_a_period(void **state)
{
    (void)state;
    const int32_t id[] = { 7, 5, 6, 7, 5, 6, 7, 5, 6, 7, 5, 6, 7, 5 };
    enum { N = sizeof(id) / sizeof(*id) };
    vug_prompt_lookup lookup = open_lookup(N);
    int32_t draft[8];
    assert_int_equal(vug_prompt_lookup_draft(&lookup, id, N, draft, 8), VUG_MOST_MATCH);
    assert_memory_equal(draft, ((int32_t[]){ 6, 7, 5, 6, 7, 5, 6, 7 }), sizeof(draft));
    vug_prompt_lookup_release(&lookup);
}

/* A table that is far too small loses places, and nothing else. Every match is a real one, and
 * without collisions the longest key is found. */
static void test_matches_are_real(void **state)
{
    (void)state;
    enum { N = 6000, V = 9, DRAFT = 8 };
    static int32_t id[N];
    uint64_t random = 4;
    for (size_t i = 0; i < N; i++)
        id[i] = (int32_t)help_random(&random, V);
    for (size_t expected = 1; expected <= N; expected *= N) {
        vug_prompt_lookup lookup = open_lookup(expected);
        size_t n_long = 0;
        for (size_t n = 1; n < N; n += 1 + help_random(&random, 3)) {
            int32_t draft[DRAFT] = { 0 };
            const size_t match = vug_prompt_lookup_draft(&lookup, id, n, draft, DRAFT);
            assert_in_range(match, 0, VUG_MOST_MATCH);
            n_long += match >= 4;
            bool found = match == 0;
            for (size_t from = match; from < n && !found; from++) {
                const size_t left = n - from < DRAFT ? n - from : DRAFT;
                found = memcmp(id + from - match, id + n - match, match * sizeof(*id)) == 0 &&
                        memcmp(id + from, draft, left * sizeof(*id)) == 0;
            }
            assert_true(found);
        }
        assert_true(n_long > (expected == N ? 500 : 0));
        vug_prompt_lookup_release(&lookup);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draft_is_what_followed_the_same_tokens),
        cmocka_unit_test(test_draft_continues_a_period),
        cmocka_unit_test(test_matches_are_real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
