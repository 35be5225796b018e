/* The worker threads and the mutex. */
#include "test.h"

#include "core/pool.h"

#include <unistd.h>

enum { MAX_THREADS = 8 };

/* Not atomic on purpose: the pool itself must order a job after the one before
 * and the caller after all, or a thread sanitizer complains here. */
typedef struct {
    long round;             /* written by the caller only */
    long seen[MAX_THREADS]; /* rounds, one slot per thread */
    long calls[MAX_THREADS];
    int n_threads;
} round_counter;

static void count_round(void *arg, int thread, int n_threads)
{
    round_counter *j = arg;
    j->seen[thread] += j->round;
    j->calls[thread]++;
    if (n_threads != j->n_threads)
        j->seen[thread] = -1;
}

static void test_pool_rounds(void **state)
{
    (void)state;
    enum { ROUNDS = 2000 };
    for (int threads = 1; threads <= MAX_THREADS; threads++) {
        vug_pool *pool = NULL;
        assert_int_equal(vug_pool_create(threads, &pool, NULL), VUG_OK);
        assert_int_equal(vug_pool_threads(pool), threads);
        round_counter j = { .n_threads = threads };
        long sum = 0;
        for (long r = 1; r <= ROUNDS; r++) {
            j.round = r;
            sum += r;
            vug_pool_run(pool, count_round, &j);
            for (int t = 0; t < threads; t++) {
                assert_int_equal(j.calls[t], r);
                assert_int_equal(j.seen[t], sum);
            }
        }
        for (int t = threads; t < MAX_THREADS; t++)
            assert_int_equal(j.calls[t], 0);
        vug_pool_destroy(pool);
    }
}

/* Pauses long enough that workers fall asleep, and jobs that end at different
 * times, so that the caller sleeps too. */
static void linger(void *arg, int thread, int n_threads)
{
    if (thread == n_threads - 1)
        (void)usleep(3000);
    count_round(arg, thread, n_threads);
}

static void test_pool_sleeps_and_wakes(void **state)
{
    (void)state;
    vug_pool *pool = NULL;
    assert_int_equal(vug_pool_create(4, &pool, NULL), VUG_OK);
    round_counter j = { .n_threads = 4 };
    for (int r = 0; r < 30; r++) {
        j.round = 1;
        vug_pool_run(pool, r % 2 ? linger : count_round, &j);
        if (r % 3 == 0)
            (void)usleep(8000);
        for (int t = 0; t < 4; t++)
            assert_int_equal(j.calls[t], r + 1);
    }
    vug_pool_destroy(pool);
}

static void test_pool_life(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        vug_pool *pool = NULL;
        assert_int_equal(vug_pool_create(1 + i % 5, &pool, NULL), VUG_OK);
        round_counter j = { .n_threads = 1 + i % 5, .round = 1 };
        if (i % 2)
            vug_pool_run(pool, count_round, &j);
        vug_pool_destroy(pool);
    }
    vug_pool_destroy(NULL);
    vug_pool *pool = NULL;
    vug_err err = { 0 };
    assert_int_equal(vug_pool_create(0, &pool, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, "threads: 0, expected 1 to 1024");
    assert_int_equal(vug_pool_create(1025, &pool, &err), VUG_ARGUMENT);
    assert_null(pool);
}

typedef struct {
    vug_mutex *lock;
    long count;
} shared_counter;

static void add_under_lock(void *arg, int thread, int n_threads)
{
    shared_counter *s = arg;
    (void)thread, (void)n_threads;
    for (int i = 0; i < 1000; i++) {
        vug_mutex_lock(s->lock);
        s->count++;
        vug_mutex_unlock(s->lock);
    }
}

static void test_lock(void **state)
{
    (void)state;
    vug_pool *pool = NULL;
    shared_counter s = { 0 };
    assert_int_equal(vug_mutex_create(&s.lock, NULL), VUG_OK);
    assert_int_equal(vug_pool_create(4, &pool, NULL), VUG_OK);
    vug_pool_run(pool, add_under_lock, &s);
    assert_int_equal(s.count, 4000);
    vug_pool_destroy(pool);
    vug_mutex_destroy(s.lock);
    vug_mutex_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_rounds),
        cmocka_unit_test(test_pool_sleeps_and_wakes),
        cmocka_unit_test(test_pool_life),
        cmocka_unit_test(test_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
