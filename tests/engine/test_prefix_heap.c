/* The heap of what a prefix tree could give up, compared with a search through all entries. */
#include "test.h"

#include "engine/prefix_heap.h"
#include "kernel_help.h"

enum { ENTRIES = 100, OPERATIONS = 20000 };

/* Of the entries that are in the heap, none is to be given up before `first`. */
static void check_first(const vug_prefix_heap *heap, const vug_prefix_entry *entry)
{
    const vug_prefix_entry *first = vug_prefix_heap_first(heap);
    size_t n = 0;
    for (int i = 0; i < ENTRIES; i++) {
        if (entry[i].at == 0)
            continue;
        n++;
        assert_true(first->used < entry[i].used ||
                    (first->used == entry[i].used && first->position >= entry[i].position));
    }
    assert_int_equal(heap->n, n);
    assert_int_equal(first != NULL, n > 0);
}

static void test_the_first_is_the_least_recently_used(void **state)
{
    (void)state;
    rng r = { 3 };
    vug_prefix_heap heap = { 0 };
    vug_prefix_entry entry[ENTRIES] = { { 0 } };
    assert_null(vug_prefix_heap_first(&heap));
    assert_true(vug_prefix_heap_reserve(&heap, ENTRIES));
    for (int i = 0; i < OPERATIONS; i++) {
        vug_prefix_entry *e = &entry[rng_bits(&r) % ENTRIES];
        const uint32_t what = rng_bits(&r) % 4;
        if (e->at == 0) {
            e->used = rng_bits(&r) % 16;
            e->position = rng_bits(&r) % 16;
        }
        if (what < 2)
            vug_prefix_heap_push(&heap, e);
        else if (what == 2)
            vug_prefix_heap_remove(&heap, e);
        else if (heap.n > 0)
            vug_prefix_heap_remove(&heap, vug_prefix_heap_first(&heap));
        check_first(&heap, entry);
    }
    vug_prefix_heap_release(&heap);
}

static void test_an_entry_is_in_a_heap_once(void **state)
{
    (void)state;
    vug_prefix_heap heap = { 0 };
    vug_prefix_entry entry = { .used = 1 };
    assert_true(vug_prefix_heap_reserve(&heap, 1));
    vug_prefix_heap_push(&heap, &entry);
    vug_prefix_heap_push(&heap, &entry);
    assert_int_equal(heap.n, 1);
    vug_prefix_heap_remove(&heap, &entry);
    vug_prefix_heap_remove(&heap, &entry);
    assert_int_equal(heap.n, 0);
    vug_prefix_heap_release(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_is_the_least_recently_used),
        cmocka_unit_test(test_an_entry_is_in_a_heap_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
