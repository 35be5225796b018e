#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/grammar/sets.h"
#include "text/tokenizer/index.h"

static void test_equal_lists(void **state)
{
    (void)state;
    vug_sets sets = { 0 };
    uint32_t list[3] = { 0 };
    assert_int_equal(vug_sets_find(&sets, list, 0), VUG_SETS_NONE);
    assert_int_equal(vug_sets_intern(&sets, list, 0), 0);
    for (uint32_t i = 0; i < 3000; i++) {
        for (size_t k = 0; k < 3; k++)
            list[k] = i + (uint32_t)k * (i % 7);
        assert_int_equal(vug_sets_intern(&sets, list, 3), i + 1);
        assert_int_equal(vug_sets_intern(&sets, list, 3), i + 1);
        assert_int_equal(vug_sets_find(&sets, list, 2), VUG_SETS_NONE);
    }
    size_t n;
    list[0] = 7, list[1] = 7, list[2] = 7;
    const uint32_t *found = vug_sets_get(&sets, vug_sets_find(&sets, list, 3), &n);
    assert_int_equal(n, 3);
    assert_memory_equal(found, list, sizeof(list));
    assert_false(sets.crowded);
    vug_sets_release(&sets);
}

/* Numbers that all want one place: a few hundred are kept, and then no more, so that nobody
 * makes each of them look at all others. */
static void test_collisions(void **state)
{
    (void)state;
    enum { PLACES = 4096 };
    vug_sets sets = { 0 };
    size_t n = 0;
    for (uint32_t i = 0; n < PLACES / 2; i++) {
        const uint64_t home = vug_hash_step(1, i) * VUG_HASH_FACTOR >> 32;
        if (home % PLACES != 0)
            continue;
        const uint32_t id = vug_sets_intern(&sets, &i, 1);
        if (id == VUG_SETS_NONE)
            break;
        assert_int_equal(id, n++);
    }
    assert_int_equal(n, VUG_INDEX_MAX_PROBES);
    assert_true(sets.crowded);
    vug_sets_release(&sets);
}

static void test_sorting(void **state)
{
    (void)state;
    uint32_t list[40];
    for (uint32_t i = 0; i < 40; i++)
        list[i] = (i * 7) % 10;
    assert_int_equal(vug_sort_unique(list, 40), 10);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(list[i], i);
    uint32_t few[] = { 3, 1, 3 };
    assert_int_equal(vug_sort_unique(few, 3), 2);
    assert_int_equal(few[0], 1);
    assert_int_equal(few[1], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_lists),
        cmocka_unit_test(test_collisions),
        cmocka_unit_test(test_sorting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
