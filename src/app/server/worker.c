#include "app/server/worker.h"

#include <pthread.h>

#include "core/mem.h"

struct vug_worker {
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows, and of each job what says so */
    pthread_cond_t more;
    vug_job *first, **last;
    int n_waiting; /* admitted, neither begun nor abandoned */
    int max_waiting;
    bool stop;
    vug_metrics *metrics;
};

static void say_waiting(const vug_worker *w)
{
    vug_metrics_set(w->metrics, VUG_METRIC_QUEUE, w->n_waiting);
}

/* The next job, or NULL at the end. */
static vug_job *next_job(vug_worker *w)
{
    (void)pthread_mutex_lock(&w->lock);
    while (!w->first && !w->stop)
        (void)pthread_cond_wait(&w->more, &w->lock);
    vug_job *job = w->first;
    if (job) {
        w->first = job->next;
        if (!w->first)
            w->last = &w->first;
        w->n_waiting -= job->waiting;
        job->waiting = false;
        say_waiting(w);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return job;
}

static void *work(void *arg)
{
    for (vug_job *job; (job = next_job(arg));)
        job->run(job);
    return NULL;
}

vug_status vug_worker_create(int max_waiting, vug_metrics *metrics, vug_worker **out, vug_err *err)
{
    vug_worker *w = vug_alloc_zero(1, sizeof(*w));
    if (!w)
        return VUG_FAIL_NOMEM(err, "the worker", sizeof(*w));
    w->last = &w->first;
    w->max_waiting = max_waiting;
    w->metrics = metrics;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->more, NULL);
    if (pthread_create(&w->thread, NULL, work, w) != 0) {
        (void)pthread_cond_destroy(&w->more);
        (void)pthread_mutex_destroy(&w->lock);
        vug_free(w);
        return VUG_FAIL(err, VUG_NOMEM, "the system gives no thread for the model");
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
    (void)pthread_cond_signal(&w->more);
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_join(w->thread, NULL);
    (void)pthread_cond_destroy(&w->more);
    (void)pthread_mutex_destroy(&w->lock);
    vug_free(w);
}

bool vug_worker_admit(vug_worker *w)
{
    (void)pthread_mutex_lock(&w->lock);
    const bool ok = w->n_waiting < w->max_waiting;
    w->n_waiting += ok;
    say_waiting(w);
    (void)pthread_mutex_unlock(&w->lock);
    return ok;
}

void vug_worker_dismiss(vug_worker *w)
{
    (void)pthread_mutex_lock(&w->lock);
    w->n_waiting--;
    say_waiting(w);
    (void)pthread_mutex_unlock(&w->lock);
}

void vug_worker_push(vug_job *job)
{
    vug_worker *w = job->worker;
    (void)pthread_mutex_lock(&w->lock);
    job->waiting = !job->gone;
    w->n_waiting -= job->gone;
    *w->last = job;
    w->last = &job->next;
    (void)pthread_cond_signal(&w->more);
    (void)pthread_mutex_unlock(&w->lock);
}

void vug_worker_abandon(void *arg)
{
    vug_job *job = arg;
    vug_worker *w = job->worker;
    (void)pthread_mutex_lock(&w->lock);
    job->gone = true;
    w->n_waiting -= job->waiting;
    job->waiting = false;
    say_waiting(w);
    if (job->session) {
        job->cancelled = true;
        vug_session_cancel(job->session);
    }
    (void)pthread_mutex_unlock(&w->lock);
}

bool vug_worker_is_gone(vug_job *job)
{
    (void)pthread_mutex_lock(&job->worker->lock);
    const bool gone = job->gone;
    (void)pthread_mutex_unlock(&job->worker->lock);
    return gone;
}

bool vug_worker_enter(vug_job *job, vug_session *session)
{
    (void)pthread_mutex_lock(&job->worker->lock);
    const bool ok = !job->gone;
    job->session = ok ? session : NULL;
    (void)pthread_mutex_unlock(&job->worker->lock);
    return ok;
}

bool vug_worker_leave(vug_job *job)
{
    (void)pthread_mutex_lock(&job->worker->lock);
    const bool cancelled = job->cancelled;
    job->session = NULL;
    job->cancelled = false;
    (void)pthread_mutex_unlock(&job->worker->lock);
    return cancelled;
}
