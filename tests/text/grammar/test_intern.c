

#include "test.h"

#include "text/grammar/intern.h"
#include "text/tokenizer/hash_index.h"

static void test_equal_lists_share_an_id(void **state)
{
    (void)state;
    vug_intern_table table = { 0 };
    uint32_t list[3] = { 0 };
    assert_int_equal(vug_intern_find(&table, list, 0), VUG_INTERN_NONE);
    assert_int_equal(vug_intern_add(&table, list, 0), 0);
    for (uint32_t i = 0; i < 3000; i++) {
        for (size_t k = 0; k < 3; k++)
            list[k] = i + (uint32_t)k * (i % 7);
        assert_int_equal(vug_intern_add(&table, list, 3), i + 1);
        assert_int_equal(vug_intern_add(&table, list, 3), i + 1);
        assert_int_equal(vug_intern_find(&table, list, 2), VUG_INTERN_NONE);
    }
    size_t n;
    list[0] = 7, list[1] = 7, list[2] = 7;
    const uint32_t *found = vug_intern_get(&table, vug_intern_find(&table, list, 3), &n);
    assert_int_equal(n, 3);
    assert_memory_equal(found, list, sizeof(list));
    assert_false(table.too_many_collisions);
    vug_intern_release(&table);
}

/* Lists that all hash to one slot: after a few hundred the table refuses more, so that a hostile
 * grammar cannot make every insertion probe all others. */
static void test_collisions_are_limited(void **state)
{
    (void)state;
    enum { SLOTS = 4096 };
    vug_intern_table table = { 0 };
    size_t n = 0;
    for (uint32_t i = 0; n < SLOTS / 2; i++) {
        const uint64_t home = vug_hash_step(1, i) * VUG_HASH_FACTOR >> 32;
        if (home % SLOTS != 0)
            continue;
        const uint32_t id = vug_intern_add(&table, &i, 1);
        if (id == VUG_INTERN_NONE)
            break;
        assert_int_equal(id, n++);
    }
    assert_int_equal(n, VUG_HASH_INDEX_MAX_PROBES);
    assert_true(table.too_many_collisions);
    vug_intern_release(&table);
}

static void test_sort_unique(void **state)
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
        cmocka_unit_test(test_equal_lists_share_an_id),
        cmocka_unit_test(test_collisions_are_limited),
        cmocka_unit_test(test_sort_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
