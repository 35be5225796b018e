#ifndef VUG_SERVER_WORKER_H
#define VUG_SERVER_WORKER_H

/*
 * The threads that run the model for requests, and the queue in front of them. What the requests
 * compute at the same time is joined by the engine.
 *
 *     vug_worker_admit     reserves a place in the queue
 *     vug_worker_push      queues the job
 *     job->run             runs on one of the threads; jobs begin in order of priority, then of arrival
 *     vug_worker_cancel    from any thread: the client has disconnected
 *
 * A cancelled job still runs, to end its request. The calls of a job take its cancel token, which
 * vug_worker_cancel triggers.
 */

#include "core/cancel.h"
#include "server/metrics.h"
#include "vug/vug.h"

typedef struct vug_worker vug_worker;
typedef struct vug_worker_job vug_worker_job;

struct vug_worker_job {
    void (*run)(vug_worker_job *job); /* frees it */
    vug_worker *worker;               /* set by the creator */
    int priority;                     /* set by the creator; lower numbers go first */
    vug_cancel_token cancel;          /* triggered when the client has disconnected */
    /* guarded by the worker's lock: */
    vug_worker_job *next;
    bool waiting;
};

/* `threads` jobs may run at the same time. `metrics` is borrowed and may be NULL. */
VUG_MUST_CHECK vug_status vug_worker_create(int threads, int max_waiting, vug_metrics *metrics,
                                            vug_worker **out, vug_err *err);
/* Runs all queued jobs first. */
void vug_worker_destroy(vug_worker *worker);

/* False when the queue is full; otherwise one vug_worker_push or _release must follow. */
VUG_MUST_CHECK bool vug_worker_admit(vug_worker *worker);
/* Gives the reserved place back. */
void vug_worker_release(vug_worker *worker);
void vug_worker_push(vug_worker_job *job);
/* A vug_http_on_disconnect function; `arg` is a job, pushed or not yet. */
void vug_worker_cancel(void *arg);
bool vug_worker_is_cancelled(const vug_worker_job *job);

#endif
