#include "server/worker.h"

#include <pthread.h>

#include "core/mem.h"

struct vug_worker {
    pthread_t *thread; /* [n_threads] */
    int n_threads;
    pthread_mutex_t lock; /* guards what follows, and members of jobs */
    pthread_cond_t job_queued;
    vug_worker_job *first; /* the queue, in the order in which jobs begin */
    int n_waiting;         /* admitted, neither started nor cancelled */
    int max_waiting;
    bool stop;
    vug_metrics *metrics;
};

static void update_queue_metric(const vug_worker *w)
{
    vug_metrics_set(w->metrics, VUG_METRIC_QUEUE, w->n_waiting);
}

/* NULL when the thread shall end. */
static vug_worker_job *next_job(vug_worker *w)
{
    (void)pthread_mutex_lock(&w->lock);
    while (!w->first && !w->stop)
        (void)pthread_cond_wait(&w->job_queued, &w->lock);
    vug_worker_job *job = w->first;
    if (job) {
        w->first = job->next;
        w->n_waiting -= job->waiting;
        job->waiting = false;
        update_queue_metric(w);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return job;
}

static void *run_jobs(void *arg)
{
    for (vug_worker_job *job; (job = next_job(arg));)
        job->run(job);
    return NULL;
}

vug_status vug_worker_create(int threads, int max_waiting, vug_metrics *metrics, vug_worker **out,
                             vug_err *err)
{
    vug_worker *w = vug_alloc_zero(1, sizeof(*w));
    pthread_t *thread = vug_alloc((size_t)threads, sizeof(*thread));
    if (!w || !thread) {
        vug_free(w);
        vug_free(thread);
        return VUG_FAIL_NOMEM(err, "the worker", sizeof(*w));
    }
    w->thread = thread;
    w->max_waiting = max_waiting;
    w->metrics = metrics;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->job_queued, NULL);
    while (w->n_threads < threads &&
           pthread_create(&w->thread[w->n_threads], NULL, run_jobs, w) == 0)
        w->n_threads++;
    if (w->n_threads < threads) {
        vug_worker_destroy(w);
        return VUG_FAIL(err, VUG_NOMEM, "cannot start %d threads for requests", threads);
    }
    *out = w;
    return VUG_OK;
}

void vug_worker_destroy(vug_worker *w)
{
    if (!w)
        return;
    (void)pthread_mutex_lock(&w->lock);
    w->stop = true;
    (void)pthread_cond_broadcast(&w->job_queued);
    (void)pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->n_threads; i++)
        (void)pthread_join(w->thread[i], NULL);
    (void)pthread_cond_destroy(&w->job_queued);
    (void)pthread_mutex_destroy(&w->lock);
    vug_free(w->thread);
    vug_free(w);
}

bool vug_worker_admit(vug_worker *w)
{
    (void)pthread_mutex_lock(&w->lock);
    const bool ok = w->n_waiting < w->max_waiting;
    w->n_waiting += ok;
    update_queue_metric(w);
    (void)pthread_mutex_unlock(&w->lock);
    return ok;
}

void vug_worker_release(vug_worker *w)
{
    (void)pthread_mutex_lock(&w->lock);
    w->n_waiting--;
    update_queue_metric(w);
    (void)pthread_mutex_unlock(&w->lock);
}

void vug_worker_push(vug_worker_job *job)
{
    vug_worker *w = job->worker;
    (void)pthread_mutex_lock(&w->lock);
    job->waiting = !vug_worker_is_cancelled(job);
    w->n_waiting -= !job->waiting;
    vug_worker_job **at = &w->first;
    while (*at && (*at)->priority <= job->priority)
        at = &(*at)->next;
    job->next = *at;
    *at = job;
    (void)pthread_cond_signal(&w->job_queued);
    (void)pthread_mutex_unlock(&w->lock);
}

void vug_worker_cancel(void *arg)
{
    vug_worker_job *job = arg;
    vug_worker *w = job->worker;
    (void)pthread_mutex_lock(&w->lock);
    vug_cancel_token_trigger(&job->cancel);
    w->n_waiting -= job->waiting;
    job->waiting = false;
    update_queue_metric(w);
    (void)pthread_mutex_unlock(&w->lock);
}

bool vug_worker_is_cancelled(const vug_worker_job *job)
{
    return vug_is_cancelled(&job->cancel);
}
