/* How many threads take part: a simulated machine on which the time of a round depends on the
 * number of threads. */
#include "test.h"

#include "core/thread_limit.h"

enum { DECODE = 1, PREFILL = 512 };

/* Seconds of a round, and the part of them without a core, with n threads. */
typedef struct {
    double seconds[9];
    double idle;
} machine;

static const machine quiet = { .seconds = { 0, 8e-3, 4e-3, 3e-3, 2e-3, 1.8e-3, 1.6e-3, 1.4e-3,
                                            1.2e-3 } };
/* One core of four is taken: a fourth thread only makes the others wait. */
static const machine one_taken = { .seconds = { 0, 8e-3, 4e-3, 3e-3, 6e-3 }, .idle = 0.5 };
/* All cores but one are taken. */
static const machine one_left = {
    .seconds = { 0, 8e-3, 9e-3, 10e-3, 12e-3, 13e-3, 14e-3, 15e-3, 16e-3 }, .idle = 0.5
};
/* Busy, but each thread helps. */
static const machine shared = { .seconds = { 0, 16e-3, 8e-3, 6e-3, 4e-3 }, .idle = 0.5 };

static void run_for(vug_thread_limit *limit, const machine *m, double seconds)
{
    while (seconds > 0) {
        const double round = m->seconds[limit->active];
        assert_true(round > 0);
        vug_thread_limit_add(limit, DECODE, round, m->idle * round);
        assert_in_range(limit->active, 1, limit->max);
        seconds -= round;
    }
}

/* Nothing is tried while the caller always runs. */
static void test_quiet_machine(void **state)
{
    (void)state;
    vug_thread_limit limit;
    vug_thread_limit_init(&limit, 4);
    assert_int_equal(limit.active, 4);
    for (int i = 0; i < 100; i++) {
        run_for(&limit, &quiet, 0.1);
        assert_int_equal(limit.active, 4);
        assert_false(limit.contended);
    }
    assert_int_equal(limit.n_compared, 0);
}

static void test_one_stall_is_no_contention(void **state)
{
    (void)state;
    vug_thread_limit limit;
    vug_thread_limit_init(&limit, 4);
    run_for(&limit, &quiet, 5);
    run_for(&limit, &one_taken, 0.3);
    run_for(&limit, &quiet, 5);
    assert_int_equal(limit.n_compared, 0);
    assert_false(limit.contended);
}

static void test_drops_and_returns(void **state)
{
    (void)state;
    vug_thread_limit limit;
    vug_thread_limit_init(&limit, 4);
    run_for(&limit, &one_taken, 20);
    assert_int_equal(limit.best, 3);
    run_for(&limit, &quiet, 30);
    assert_int_equal(limit.best, 4);
}

static void test_drops_to_one(void **state)
{
    (void)state;
    for (int max = 2; max <= 8; max++) {
        vug_thread_limit limit;
        vug_thread_limit_init(&limit, max);
        run_for(&limit, &one_left, 60);
        assert_int_equal(limit.best, 1);
        run_for(&limit, &quiet, 100);
        assert_int_equal(limit.best, max);
    }
}

static void test_keeps_what_helps(void **state)
{
    (void)state;
    vug_thread_limit limit;
    vug_thread_limit_init(&limit, 4);
    run_for(&limit, &shared, 60);
    assert_int_equal(limit.best, 4);
    assert_true(limit.contended);
    assert_true(limit.n_compared > 1);
    assert_true(limit.n_compared < 12); /* they become rarer */
}

static void test_one_thread(void **state)
{
    (void)state;
    vug_thread_limit limit;
    vug_thread_limit_init(&limit, 1);
    run_for(&limit, &one_left, 20);
    assert_int_equal(limit.active, 1);
    assert_int_equal(limit.n_compared, 0);
}

/* Rounds of another kind take another time and say nothing about threads; when a comparison
 * meets only those it ends. */
static void test_other_kinds(void **state)
{
    (void)state;
    vug_thread_limit limit;
    vug_thread_limit_init(&limit, 4);
    while (!limit.comparing)
        run_for(&limit, &shared, 0.01);
    for (int i = 0; i < 10; i++)
        vug_thread_limit_add(&limit, PREFILL, 100, 0);
    assert_true(limit.comparing);
    assert_int_equal(limit.window, 0);
    for (int i = 0; i < 1000 && limit.comparing; i++)
        vug_thread_limit_add(&limit, PREFILL, 1e-3, 0);
    assert_false(limit.comparing);
    assert_int_equal(limit.best, 4);
    assert_int_equal(limit.active, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quiet_machine),     cmocka_unit_test(test_one_stall_is_no_contention),
        cmocka_unit_test(test_drops_and_returns), cmocka_unit_test(test_drops_to_one),
        cmocka_unit_test(test_keeps_what_helps),  cmocka_unit_test(test_one_thread),
        cmocka_unit_test(test_other_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
