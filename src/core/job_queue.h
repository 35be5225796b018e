#ifndef VUG_CORE_JOB_QUEUE_H
#define VUG_CORE_JOB_QUEUE_H

/*
 * Threads that run jobs, and a queue of limited length in front of them.
 *
 *     vug_job_queue_admit  reserves a place in the queue
 *     vug_job_push         queues the job
 *     job->run             runs on one of the threads; jobs begin in order of priority, then of arrival
 *     vug_job_cancel       from any thread: nobody waits for the result any more
 *     vug_job_withdraw     from any thread: the job shall not run at all
 *
 * A cancelled job still runs, to end what it belongs to. The calls of a job take its cancel token,
 * which vug_job_cancel triggers.
 */

#include "core/cancel.h"

typedef struct vug_job_queue vug_job_queue;
typedef struct vug_job vug_job;

struct vug_job {
    void (*run)(vug_job *job); /* frees it */
    vug_job_queue *queue;      /* set by the creator */
    int priority;              /* set by the creator; lower numbers go first */
    vug_cancel_token cancel;
    /* guarded by the queue's lock: */
    vug_job *next;
    bool waiting;
};

/* Told the number of admitted jobs that have neither begun nor been cancelled, when it changes. It
 * is called under the lock of the queue, which it must not use. */
typedef void vug_job_queue_waiting(int n, void *user);

/* `threads` jobs may run at the same time. `on_waiting` may be NULL. */
VUG_MUST_CHECK vug_status vug_job_queue_create(int threads, int max_waiting,
                                               vug_job_queue_waiting *on_waiting, void *user,
                                               vug_job_queue **out, vug_err *err);
/* Runs all queued jobs first. Accepts NULL. */
void vug_job_queue_destroy(vug_job_queue *queue);

/* False when the queue is full; otherwise one vug_job_push or vug_job_queue_release must follow. */
VUG_MUST_CHECK bool vug_job_queue_admit(vug_job_queue *queue);
/* The same for a job that a thread can begin at once: false if none is idle. */
VUG_MUST_CHECK bool vug_job_queue_admit_idle(vug_job_queue *queue);
/* Whether a job waits for a thread. */
bool vug_job_queue_is_awaited(vug_job_queue *queue);
/* Gives the reserved place back. */
void vug_job_queue_release(vug_job_queue *queue);
void vug_job_push(vug_job *job);
/* `arg` is a job, pushed or not yet, that has not ended. */
void vug_job_cancel(void *arg);
/* Takes a job out of the queue; it then belongs to the caller. False if it is not in the queue. */
bool vug_job_withdraw(vug_job *job);
bool vug_job_is_cancelled(const vug_job *job);

#endif
