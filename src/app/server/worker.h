#ifndef VUG_APP_SERVER_WORKER_H
#define VUG_APP_SERVER_WORKER_H

/*
 * The one thread that owns the model, and the queue in front of it.
 *
 *     vug_worker_admit     a place in the queue, or there is none
 *     vug_worker_push      the job waits
 *     job->run             on the worker, in order of arrival
 *         vug_worker_enter, vug_worker_leave     around each call on a session
 *     vug_worker_abandon   from any thread: the client has left
 *
 * A job that was abandoned runs all the same, to end its call; vug_worker_enter then refuses,
 * and a session that computes for it is cancelled.
 */

#include "app/server/metrics.h"
#include "vug/vug.h"

typedef struct vug_worker vug_worker;
typedef struct vug_job vug_job;

struct vug_job {
    void (*run)(vug_job *job); /* frees it */
    vug_worker *worker;        /* set by who makes it */
    /* behind the worker's lock */
    vug_job *next;
    vug_session *session; /* that computes for it */
    bool waiting, gone;
    bool cancelled; /* the session was told so */
};

/* Nothing runs before the first job. `metrics` is borrowed and may be NULL. */
VUG_MUST_CHECK vug_status vug_worker_create(int max_waiting, vug_metrics *metrics, vug_worker **out,
                                            vug_err *err);
/* Waits for all jobs. */
void vug_worker_destroy(vug_worker *worker);

/* False when the queue is full; otherwise one vug_worker_push or _dismiss must follow. */
VUG_MUST_CHECK bool vug_worker_admit(vug_worker *worker);
/* Gives the place back. */
void vug_worker_dismiss(vug_worker *worker);
void vug_worker_push(vug_job *job);
/* A `vug_http_on_gone` function; `arg` is a job that will be or was pushed. */
void vug_worker_abandon(void *arg);
bool vug_worker_is_gone(vug_job *job);

/* False when the job was abandoned: then there is no call to make, nor to leave. */
VUG_MUST_CHECK bool vug_worker_enter(vug_job *job, vug_session *session);
/* True when the session was told to end: where the call had ended before, the next one will. */
bool vug_worker_leave(vug_job *job);

#endif
