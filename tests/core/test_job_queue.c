/* Jobs and the queue in front of their threads. */
#include "test.h"

#include <limits.h>
#include <pthread.h>
#include <time.h>

#include "core/job_queue.h"

enum { JOBS = 6, PATIENCE_MS = 60000 };

typedef struct {
    vug_job_queue *queue;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by the lock: */
    bool begun, open; /* the first job runs, and may end */
    int order[JOBS + 1];
    int n;
    int n_waiting; /* guarded by the queue's lock */
} job_log;

typedef struct {
    vug_job job; /* first */
    job_log *log;
    int number;
} logged_job;

static void note_waiting(int n, void *user)
{
    ((job_log *)user)->n_waiting = n;
}

/* Keeps the only thread until all jobs are queued. */
static void hold_thread(vug_job *job)
{
    job_log *log = ((logged_job *)job)->log;
    (void)pthread_mutex_lock(&log->lock);
    log->begun = true;
    (void)pthread_cond_broadcast(&log->changed);
    while (!log->open)
        (void)pthread_cond_wait(&log->changed, &log->lock);
    (void)pthread_mutex_unlock(&log->lock);
}

static void log_job(vug_job *job)
{
    const logged_job *j = (logged_job *)job;
    (void)pthread_mutex_lock(&j->log->lock);
    j->log->order[j->log->n++] = j->number;
    (void)pthread_mutex_unlock(&j->log->lock);
}

/* False: the queue is full. Nothing is asserted while a thread uses a test's jobs: tests keep values
 * and check them when the queue is destroyed. */
static bool push(logged_job *j)
{
    j->job.queue = j->log->queue;
    const bool admitted = vug_job_queue_admit(j->log->queue);
    if (admitted)
        vug_job_push(&j->job);
    return admitted;
}

static void queue_and_hold(job_log *log, logged_job *first)
{
    vug_err err;
    *log = (job_log){ .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
    *first = (logged_job){ .job = { .run = hold_thread }, .log = log };
    assert_int_equal(vug_job_queue_create(1, JOBS, note_waiting, log, &log->queue, &err), VUG_OK);
    assert_true(push(first));
    (void)pthread_mutex_lock(&log->lock);
    while (!log->begun)
        (void)pthread_cond_wait(&log->changed, &log->lock);
    (void)pthread_mutex_unlock(&log->lock);
}

static void run_and_destroy(job_log *log)
{
    (void)pthread_mutex_lock(&log->lock);
    log->open = true;
    (void)pthread_cond_broadcast(&log->changed);
    (void)pthread_mutex_unlock(&log->lock);
    vug_job_queue_destroy(log->queue);
    assert_int_equal(log->n_waiting, 0);
}

static void test_priority_before_arrival(void **state)
{
    static const int priority[JOBS] = { 0, 5, -1, 0, INT_MIN, -1 };
    static const int expected[JOBS] = { 4, 2, 5, 0, 3, 1 };
    (void)state;
    job_log log;
    logged_job first, job[JOBS], last = { .job = { .run = log_job }, .log = &log };
    int n_pushed = 0;
    queue_and_hold(&log, &first);
    for (int i = 0; i < JOBS; i++) {
        job[i] = (logged_job){ .job = { .run = log_job, .priority = priority[i] },
                               .log = &log,
                               .number = i };
        n_pushed += push(&job[i]);
    }
    const int n_waiting = log.n_waiting;
    const bool is_full = !push(&last);
    run_and_destroy(&log);
    assert_int_equal(n_pushed, JOBS);
    assert_int_equal(n_waiting, JOBS);
    assert_true(is_full);
    assert_int_equal(log.n, JOBS);
    assert_memory_equal(log.order, expected, sizeof(expected));
}

/* A job that is withdrawn does not run and leaves its place; a cancelled one still runs. */
static void test_withdraw_and_cancel(void **state)
{
    static const int expected[] = { 0, 2 };
    (void)state;
    job_log log;
    logged_job first, job[3];
    int n_pushed = 0;
    queue_and_hold(&log, &first);
    const bool of_running = vug_job_withdraw(&first.job);
    for (int i = 0; i < 3; i++) {
        job[i] = (logged_job){ .job = { .run = log_job }, .log = &log, .number = i };
        n_pushed += push(&job[i]);
    }
    const bool withdrawn = vug_job_withdraw(&job[1].job), again = vug_job_withdraw(&job[1].job);
    const int n_left = log.n_waiting;
    vug_job_cancel(&job[2].job);
    const bool cancelled = vug_job_is_cancelled(&job[2].job);
    const int n_uncancelled = log.n_waiting;
    run_and_destroy(&log);
    assert_false(of_running);
    assert_int_equal(n_pushed, 3);
    assert_true(withdrawn && !again && cancelled);
    assert_int_equal(n_left, 2);
    assert_int_equal(n_uncancelled, 1);
    assert_int_equal(log.n, 2);
    assert_memory_equal(log.order, expected, sizeof(expected));
}

/* A client may disconnect while its request is read: after it is admitted, before it is queued. */
static void test_cancel_before_push(void **state)
{
    (void)state;
    job_log log;
    logged_job first, job = { .job = { .run = log_job }, .log = &log };
    queue_and_hold(&log, &first);
    job.job.queue = log.queue;
    const bool admitted = vug_job_queue_admit(log.queue);
    vug_job_cancel(&job.job);
    const int n_cancelled = log.n_waiting;
    vug_job_push(&job.job);
    const int n_pushed = log.n_waiting;
    run_and_destroy(&log);
    assert_true(admitted);
    assert_int_equal(n_cancelled, 1); /* its place stays reserved */
    assert_int_equal(n_pushed, 0);
    assert_int_equal(log.n, 1);
}

/* Such a place is for a thread that has nothing to do. */
static void test_places_of_idle_threads(void **state)
{
    (void)state;
    job_log log;
    logged_job first, second = { .job = { .run = log_job }, .log = &log };
    queue_and_hold(&log, &first);
    const bool idle_at_first = vug_job_queue_admit_idle(log.queue); /* the thread runs a job */
    const bool awaited_at_first = vug_job_queue_is_awaited(log.queue);
    const bool pushed = push(&second), awaited = vug_job_queue_is_awaited(log.queue);
    (void)pthread_mutex_lock(&log.lock);
    log.open = true;
    (void)pthread_cond_broadcast(&log.changed);
    (void)pthread_mutex_unlock(&log.lock);
    bool idle = false;
    for (long i = 0; i < PATIENCE_MS && !idle; i++) {
        const struct timespec ms = { .tv_nsec = 1000000 };
        idle = vug_job_queue_admit_idle(log.queue);
        (void)nanosleep(&ms, NULL);
    }
    const bool idle_again = vug_job_queue_admit_idle(log.queue); /* it has one thread */
    if (idle)
        vug_job_queue_release(log.queue);
    vug_job_queue_destroy(log.queue);
    assert_false(idle_at_first || awaited_at_first);
    assert_true(pushed && awaited);
    assert_true(idle);
    assert_false(idle_again);
    assert_int_equal(log.n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_priority_before_arrival),
        cmocka_unit_test(test_withdraw_and_cancel),
        cmocka_unit_test(test_cancel_before_push),
        cmocka_unit_test(test_places_of_idle_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
