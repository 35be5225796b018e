/* The cache of answers: what it keeps, what it replaces, what it gives up. */
#include "test.h"

#include "server/answer_cache.h"

static vug_answer_key key_of(uint8_t first, uint8_t last)
{
    vug_answer_key key = { { 0 } };
    key.byte[0] = first; /* decides the bucket */
    key.byte[VUG_SHA256_BYTES - 1] = last;
    return key;
}

static void add(vug_answer_cache *c, uint8_t first, uint8_t last, int32_t id)
{
    const int32_t ids[] = { id, id + 1 };
    const vug_answer_key key = key_of(first, last);
    const vug_answer answer = {
        .id = ids, .n = 2, .opening = vug_str_of("<model>"), .thinking = vug_str_of("Hm")
    };
    vug_answer_cache_add(c, &key, &answer);
}

/* The first id of an answer; -1: it is not there. */
static int32_t get(vug_answer_cache *c, uint8_t first, uint8_t last)
{
    vug_arena arena = { 0 };
    vug_answer answer;
    const vug_answer_key key = key_of(first, last);
    const bool found = vug_answer_cache_get(c, &key, &arena, &answer);
    const int32_t id = found ? answer.id[0] : -1;
    if (found) {
        assert_int_equal(answer.n, 2);
        assert_int_equal(answer.id[1], id + 1);
        assert_true(vug_str_is(answer.opening, "<model>"));
        assert_true(vug_str_is(answer.thinking, "Hm"));
    }
    vug_arena_release(&arena);
    return id;
}

static void test_keys(void **state)
{
    vug_answer_cache *c;
    (void)state;
    assert_int_equal(vug_answer_cache_create(4096, &c, NULL), VUG_OK);
    assert_int_equal(get(c, 1, 1), -1);
    add(c, 1, 1, 10);
    add(c, 1, 2, 20); /* in the same bucket */
    add(c, 2, 1, 30);
    assert_int_equal(get(c, 1, 1), 10);
    assert_int_equal(get(c, 1, 2), 20);
    assert_int_equal(get(c, 2, 1), 30);
    assert_int_equal(get(c, 2, 2), -1);
    add(c, 1, 2, 40); /* replaces it */
    assert_int_equal(get(c, 1, 2), 40);
    assert_int_equal(get(c, 1, 1), 10);
    vug_answer_cache_destroy(c);
}

/* The answer that was used longest ago goes first, and memory stays bounded. */
static void test_limit(void **state)
{
    enum { N = 200 };
    vug_answer_cache *c;
    (void)state;
    assert_int_equal(vug_answer_cache_create(2048, &c, NULL), VUG_OK);
    for (int i = 0; i < N; i++) {
        add(c, (uint8_t)(i % 3), (uint8_t)i, i);
        assert_int_equal(get(c, 0, 0), 0); /* used all the time */
    }
    int kept = 0;
    for (int i = 0; i < N; i++)
        kept += get(c, (uint8_t)(i % 3), (uint8_t)i) >= 0;
    assert_int_equal(get(c, (N - 1) % 3, N - 1), N - 1);
    assert_int_equal(get(c, 1, 1), -1);
    assert_in_range(kept, 3, 20);
    vug_answer_cache_destroy(c);
    assert_int_equal(vug_answer_cache_create(16, &c, NULL), VUG_OK);
    add(c, 1, 1, 10); /* larger than the cache */
    assert_int_equal(get(c, 1, 1), -1);
    vug_answer_cache_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
