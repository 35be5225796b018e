/* The queue in front of the threads that answer requests. */
#include "test.h"

#include <limits.h>
#include <pthread.h>

#include "server/worker.h"

enum { JOBS = 6 };

typedef struct {
    vug_worker *worker;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by the lock: */
    bool begun, open; /* the first job runs, and may end */
    int order[JOBS];
    int n;
} job_log;

typedef struct {
    vug_worker_job job; /* first */
    job_log *log;
    int number;
} logged_job;

/* Keeps the only thread until all jobs are queued. */
static void hold_thread(vug_worker_job *job)
{
    job_log *log = ((logged_job *)job)->log;
    (void)pthread_mutex_lock(&log->lock);
    log->begun = true;
    (void)pthread_cond_broadcast(&log->changed);
    while (!log->open)
        (void)pthread_cond_wait(&log->changed, &log->lock);
    (void)pthread_mutex_unlock(&log->lock);
}

static void log_job(vug_worker_job *job)
{
    const logged_job *j = (logged_job *)job;
    (void)pthread_mutex_lock(&j->log->lock);
    j->log->order[j->log->n++] = j->number;
    (void)pthread_mutex_unlock(&j->log->lock);
}

static void push(logged_job *j)
{
    j->job.worker = j->log->worker;
    assert_true(vug_worker_admit(j->log->worker));
    vug_worker_push(&j->job);
}

static void test_priority_before_arrival(void **state)
{
    static const int priority[JOBS] = { 0, 5, -1, 0, INT_MIN, -1 };
    static const int expected[JOBS] = { 4, 2, 5, 0, 3, 1 };
    (void)state;
    job_log log = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
    logged_job first = { .job = { .run = hold_thread }, .log = &log };
    logged_job job[JOBS];
    vug_err err;
    assert_int_equal(vug_worker_create(1, JOBS, NULL, &log.worker, &err), VUG_OK);
    push(&first);
    (void)pthread_mutex_lock(&log.lock);
    while (!log.begun)
        (void)pthread_cond_wait(&log.changed, &log.lock);
    (void)pthread_mutex_unlock(&log.lock);
    for (int i = 0; i < JOBS; i++) {
        job[i] = (logged_job){ .job = { .run = log_job, .priority = priority[i] },
                               .log = &log,
                               .number = i };
        push(&job[i]);
    }
    assert_false(vug_worker_admit(log.worker)); /* the queue is full */
    (void)pthread_mutex_lock(&log.lock);
    log.open = true;
    (void)pthread_cond_broadcast(&log.changed);
    (void)pthread_mutex_unlock(&log.lock);
    vug_worker_destroy(log.worker);
    assert_int_equal(log.n, JOBS);
    assert_memory_equal(log.order, expected, sizeof(expected));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_priority_before_arrival),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
