/* The ring buffer of pages that wait to be written. */
#include "test.h"

#include <pthread.h>

#include "core/random.h"
#include "engine/page_queue.h"
#include "scratch.h"

#include "page_help.h"

#define ENTRY ((size_t)64)

static bool put(vug_page_queue *queue, uint32_t i, size_t n)
{
    uint8_t bytes[2048];
    const vug_page_id id = page_id_of(i);
    page_fill(i, bytes, n);
    return vug_page_queue_put(queue, &id, bytes, n);
}

/* The first page is page `i` of `n` bytes; takes it. */
static void assert_next(vug_page_queue *queue, uint32_t i, size_t n)
{
    const vug_page_id expected = page_id_of(i);
    vug_page_id id;
    vug_bytes contents;
    assert_true(vug_page_queue_front(queue, &id, &contents));
    assert_memory_equal(&id.key, &expected.key, sizeof(id.key));
    assert_int_equal(id.part, expected.part);
    assert_int_equal(contents.len, n);
    assert_true(page_is(i, contents.ptr, n));
    vug_page_queue_pop(queue);
}

static vug_page_queue *create(size_t bytes)
{
    vug_page_queue *queue = NULL;
    assert_int_equal(vug_page_queue_create(bytes, &queue, NULL), VUG_OK);
    return queue;
}

/* A page has room exactly while the ring has it, also when the page would cross the ring's end. */
static void test_room(void **state)
{
    (void)state;
    vug_page_queue *queue = create(10 * ENTRY);
    assert_false(put(queue, 0, 9 * ENTRY + 1));
    assert_true(put(queue, 0, 9 * ENTRY));
    assert_int_equal(vug_page_queue_bytes(queue), 10 * ENTRY);
    assert_false(put(queue, 1, 0));
    assert_next(queue, 0, 9 * ENTRY);
    assert_true(put(queue, 1, 3 * ENTRY) && put(queue, 2, 3 * ENTRY)); /* 8 entries in use */
    assert_next(queue, 1, 3 * ENTRY); /* the first 4 and the last 2 are free */
    assert_false(put(queue, 3, 4 * ENTRY));
    assert_true(put(queue, 3, 3 * ENTRY));
    assert_false(put(queue, 4, 0));
    assert_next(queue, 2, 3 * ENTRY);
    assert_next(queue, 3, 3 * ENTRY);
    assert_true(put(queue, 4, 9 * ENTRY));
    assert_next(queue, 4, 9 * ENTRY);
    assert_int_equal(vug_page_queue_bytes(queue), 0);
    vug_page_queue_destroy(queue);
}

/* Many sizes, at every distance from the ring's end. */
static void test_order(void **state)
{
    (void)state;
    enum { ROUNDS = 5000 };
    size_t size[ROUNDS];
    vug_page_queue *queue = create(4096 + 17);
    uint32_t first = 0, last = 0;
    uint64_t random = 1;
    while (first < ROUNDS) {
        size_t n = vug_splitmix64(&random) % 2048;
        if (last < ROUNDS && vug_splitmix64(&random) % 8 && put(queue, last, n)) {
            size[last++] = n;
        } else if (first < last) {
            assert_next(queue, first, size[first]);
            first++;
        }
    }
    vug_page_queue_destroy(queue);
}

static void test_end(void **state)
{
    (void)state;
    vug_page_queue *queue = create(1024);
    vug_page_id id;
    vug_bytes contents;
    assert_true(put(queue, 1, 5));
    vug_page_queue_end(queue);
    assert_false(put(queue, 2, 5));
    assert_next(queue, 1, 5);
    assert_false(vug_page_queue_front(queue, &id, &contents));
    vug_page_queue_wait(queue);
    vug_page_queue_destroy(queue);
}

static void test_without_room(void **state)
{
    (void)state;
    vug_page_queue *queue = create(ENTRY - 1);
    assert_false(put(queue, 1, 0));
    vug_page_queue_wait(queue);
    vug_page_queue_destroy(queue);
}

enum { PRODUCERS = 3, PAGES = 300 };

typedef struct {
    vug_page_queue *queue;
    uint32_t first;
} producer;

static void *produce(void *arg)
{
    const producer *self = arg;
    for (uint32_t i = 0; i < PAGES; i++) {
        while (!put(self->queue, self->first + i, 100))
            vug_page_queue_wait(self->queue);
    }
    return NULL;
}

/* The pages of each thread arrive once and in its order. */
static void test_threads(void **state)
{
    (void)state;
    vug_page_queue *queue = create(2048);
    pthread_t thread[PRODUCERS];
    producer self[PRODUCERS];
    uint32_t next[PRODUCERS] = { 0 };
    for (uint32_t t = 0; t < PRODUCERS; t++) {
        self[t] = (producer){ queue, t * PAGES };
        assert_int_equal(pthread_create(&thread[t], NULL, produce, &self[t]), 0);
    }
    for (int i = 0; i < PRODUCERS * PAGES; i++) {
        vug_page_id id;
        vug_bytes contents;
        uint32_t t = 0;
        assert_true(vug_page_queue_front(queue, &id, &contents));
        for (; t < PRODUCERS; t++) {
            const vug_page_id expected = page_id_of(t * PAGES + next[t]);
            /* After its last page the next number is that of another producer. */
            if (next[t] < PAGES && memcmp(&id.key, &expected.key, sizeof(id.key)) == 0)
                break;
        }
        assert_true(t < PRODUCERS);
        assert_true(page_is(t * PAGES + next[t], contents.ptr, 100));
        next[t]++;
        vug_page_queue_pop(queue);
    }
    for (uint32_t t = 0; t < PRODUCERS; t++) {
        assert_int_equal(pthread_join(thread[t], NULL), 0);
        assert_int_equal(next[t], PAGES);
    }
    vug_page_queue_destroy(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room),    cmocka_unit_test(test_order),
        cmocka_unit_test(test_end),     cmocka_unit_test(test_without_room),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
