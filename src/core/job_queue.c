#include "core/job_queue.h"

#include <pthread.h>

#include "core/mem.h"

struct vug_job_queue {
    pthread_t *thread; /* [n_threads] */
    int n_threads;
    vug_job_queue_waiting *on_waiting;
    void *user;
    pthread_mutex_t lock; /* guards what follows, and members of jobs */
    pthread_cond_t job_queued;
    vug_job *first; /* the queue, in the order in which jobs begin */
    int n_waiting;  /* admitted, neither begun nor cancelled */
    int max_waiting;
    int n_idle; /* threads that wait for a job */
    bool stop;
};

static void report_waiting(const vug_job_queue *q)
{
    if (q->on_waiting)
        q->on_waiting(q->n_waiting, q->user);
}

/* The job is not counted as waiting any more. */
static void stop_waiting(vug_job_queue *q, vug_job *job)
{
    q->n_waiting -= job->waiting;
    job->waiting = false;
    report_waiting(q);
}

/* NULL when the thread shall end. */
static vug_job *next_job(vug_job_queue *q)
{
    (void)pthread_mutex_lock(&q->lock);
    q->n_idle++;
    while (!q->first && !q->stop)
        (void)pthread_cond_wait(&q->job_queued, &q->lock);
    q->n_idle--;
    vug_job *job = q->first;
    if (job) {
        q->first = job->next;
        stop_waiting(q, job);
    }
    (void)pthread_mutex_unlock(&q->lock);
    return job;
}

static void *run_jobs(void *arg)
{
    for (vug_job *job; (job = next_job(arg));)
        job->run(job);
    return NULL;
}

vug_status vug_job_queue_create(int threads, int max_waiting, vug_job_queue_waiting *on_waiting,
                                void *user, vug_job_queue **out, vug_err *err)
{
    vug_job_queue *q = vug_alloc_zero(1, sizeof(*q));
    pthread_t *thread = vug_alloc((size_t)threads, sizeof(*thread));
    if (!q || !thread) {
        vug_free(q);
        vug_free(thread);
        return VUG_FAIL_NOMEM(err, "a queue of jobs", sizeof(*q));
    }
    q->thread = thread;
    q->max_waiting = max_waiting;
    q->on_waiting = on_waiting;
    q->user = user;
    (void)pthread_mutex_init(&q->lock, NULL);
    (void)pthread_cond_init(&q->job_queued, NULL);
    while (q->n_threads < threads &&
           pthread_create(&q->thread[q->n_threads], NULL, run_jobs, q) == 0)
        q->n_threads++;
    if (q->n_threads < threads) {
        vug_job_queue_destroy(q);
        return VUG_FAIL(err, VUG_NOMEM, "cannot start %d threads for requests", threads);
    }
    *out = q;
    return VUG_OK;
}

void vug_job_queue_destroy(vug_job_queue *q)
{
    if (!q)
        return;
    (void)pthread_mutex_lock(&q->lock);
    q->stop = true;
    (void)pthread_cond_broadcast(&q->job_queued);
    (void)pthread_mutex_unlock(&q->lock);
    for (int i = 0; i < q->n_threads; i++)
        (void)pthread_join(q->thread[i], NULL);
    (void)pthread_cond_destroy(&q->job_queued);
    (void)pthread_mutex_destroy(&q->lock);
    vug_free(q->thread);
    vug_free(q);
}

static bool admit(vug_job_queue *q, bool to_idle_thread)
{
    (void)pthread_mutex_lock(&q->lock);
    const bool ok = q->n_waiting < (to_idle_thread ? q->n_idle : q->max_waiting);
    q->n_waiting += ok;
    report_waiting(q);
    (void)pthread_mutex_unlock(&q->lock);
    return ok;
}

bool vug_job_queue_admit(vug_job_queue *q)
{
    return admit(q, false);
}

bool vug_job_queue_admit_idle(vug_job_queue *q)
{
    return admit(q, true);
}

bool vug_job_queue_is_awaited(vug_job_queue *q)
{
    (void)pthread_mutex_lock(&q->lock);
    const bool awaited = q->n_waiting > 0;
    (void)pthread_mutex_unlock(&q->lock);
    return awaited;
}

void vug_job_queue_release(vug_job_queue *q)
{
    (void)pthread_mutex_lock(&q->lock);
    q->n_waiting--;
    report_waiting(q);
    (void)pthread_mutex_unlock(&q->lock);
}

void vug_job_push(vug_job *job)
{
    vug_job_queue *q = job->queue;
    (void)pthread_mutex_lock(&q->lock);
    job->waiting = true;
    if (vug_job_is_cancelled(job))
        stop_waiting(q, job);
    vug_job **at = &q->first;
    while (*at && (*at)->priority <= job->priority)
        at = &(*at)->next;
    job->next = *at;
    *at = job;
    (void)pthread_cond_signal(&q->job_queued);
    (void)pthread_mutex_unlock(&q->lock);
}

void vug_job_cancel(void *arg)
{
    vug_job *job = arg;
    vug_job_queue *q = job->queue;
    (void)pthread_mutex_lock(&q->lock);
    vug_cancel_token_trigger(&job->cancel);
    stop_waiting(q, job);
    (void)pthread_mutex_unlock(&q->lock);
}

bool vug_job_withdraw(vug_job *job)
{
    vug_job_queue *q = job->queue;
    (void)pthread_mutex_lock(&q->lock);
    vug_job **at = &q->first;
    while (*at && *at != job)
        at = &(*at)->next;
    const bool found = *at != NULL;
    if (found) {
        *at = job->next;
        stop_waiting(q, job);
    }
    (void)pthread_mutex_unlock(&q->lock);
    return found;
}

bool vug_job_is_cancelled(const vug_job *job)
{
    return vug_is_cancelled(&job->cancel);
}
