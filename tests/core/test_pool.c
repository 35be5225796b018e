/* The worker threads and the mutex. */
#include "test.h"

#include "core/pool.h"

#include <stdatomic.h>
#include <string.h>
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

/* ---- nested jobs, rounds, late threads ------------------------------------------------- */

enum { CHUNKS = 64 };

/* A job whose parts share chunks, as products do. It lives on the caller's stack, and is gone
 * when the call returns. */
typedef struct {
    atomic_int next;
    int done[CHUNKS]; /* not atomic on purpose, as above */
    bool sleeps;      /* a part that took a chunk pauses, as if it had lost its core */
    vug_pool *inner;  /* runs another job on it from each part */
} chunk_job;

static void run_chunk_job(void *arg, int part, int n_parts)
{
    chunk_job *j = arg;
    for (int i; (i = atomic_fetch_add(&j->next, 1)) < CHUNKS;) {
        if (j->sleeps && i % 16 == part)
            (void)usleep(200);
        j->done[i]++;
    }
    if (j->inner) {
        round_counter inner = { .round = 1, .n_threads = vug_pool_threads(j->inner) };
        vug_pool_run(j->inner, count_round, &inner);
        for (int t = 0; t < inner.n_threads; t++)
            assert_int_equal(inner.calls[t], 1);
    }
    assert_true(part < n_parts);
}

static void run_one(vug_pool *pool, bool sleeps, vug_pool *inner)
{
    chunk_job j = { .sleeps = sleeps, .inner = inner };
    vug_pool_run(pool, run_chunk_job, &j);
    for (int i = 0; i < CHUNKS; i++)
        assert_int_equal(j.done[i], 1);
    memset(&j, 0xa5, sizeof(j)); /* a late thread would find nonsense */
}

static void test_pool_many_short_jobs(void **state)
{
    (void)state;
    vug_pool *pool = NULL;
    assert_int_equal(vug_pool_create(MAX_THREADS, &pool, NULL), VUG_OK);
    for (int r = 0; r < 3000; r++)
        run_one(pool, r % 300 == 0, NULL);
    vug_pool_destroy(pool);
}

static void test_pool_nested(void **state)
{
    (void)state;
    vug_pool *pool = NULL, *other = NULL;
    assert_int_equal(vug_pool_create(4, &pool, NULL), VUG_OK);
    assert_int_equal(vug_pool_create(3, &other, NULL), VUG_OK);
    for (int r = 0; r < 200; r++) {
        run_one(pool, false, pool);
        run_one(pool, r % 50 == 0, other);
    }
    vug_pool_destroy(pool);
    vug_pool_destroy(other);
}

/* Within rounds fewer threads may take part, down to one, and the jobs stay complete. */
static void test_pool_rounds_of_jobs(void **state)
{
    (void)state;
    vug_pool *pool = NULL;
    assert_int_equal(vug_pool_create(MAX_THREADS, &pool, NULL), VUG_OK);
    for (int r = 0; r < 300; r++) {
        vug_pool_begin_round(pool);
        for (int i = 0; i < 10; i++)
            run_one(pool, i == 0 && r % 3 == 0, NULL);
        vug_pool_end_round(pool, 1 + r % 2);
        if (r % 100 == 0)
            (void)usleep(2000);
    }
    run_one(pool, true, NULL);
    vug_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_rounds),
        cmocka_unit_test(test_pool_sleeps_and_wakes),
        cmocka_unit_test(test_pool_life),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_pool_many_short_jobs),
        cmocka_unit_test(test_pool_nested),
        cmocka_unit_test(test_pool_rounds_of_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
