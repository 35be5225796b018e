#ifndef VUG_CORE_POOL_H
#define VUG_CORE_POOL_H

/*
 * Worker threads, a mutex and a condition variable.
 *
 * A pool runs one job at a time: `work` is called once for each `part` 0 .. n-1, on any of
 * the pool's threads, the caller's among them. Parts may run at the same time or one after
 * the other, so a part never waits for another one. A part that shares work with the others
 * takes it in small chunks from a common queue. Idle workers spin for some microseconds and
 * then sleep.
 */

#include "core/status.h"

typedef struct vug_pool vug_pool;
typedef void vug_pool_work(void *arg, int part, int n_parts);

VUG_MUST_CHECK vug_status vug_pool_create(int threads, vug_pool **out, vug_err *err);
void vug_pool_destroy(vug_pool *pool);
int vug_pool_threads(const vug_pool *pool);
/* Returns when all parts are done. While the pool runs a job, the parts of another one, from
 * within a part or from another thread, run one after the other on the calling thread. */
void vug_pool_run(vug_pool *pool, vug_pool_work *work, void *arg);
/* A round is a sequence of jobs, such as a step of a model. Rounds of the same `kind` take about
 * the same time on an idle machine. The pool compares their times to find out how many of its
 * threads should take part in jobs while other programs use the cores (core/thread_limit.h). It is
 * never more than the CPUs that the process may use. Without rounds all take part. Rounds of a
 * pool do not overlap. A round that fails or is cancelled is not ended: its time says nothing, and
 * the next one begins anew. */
void vug_pool_begin_round(vug_pool *pool);
void vug_pool_end_round(vug_pool *pool, int kind);

/* For work that takes milliseconds; kernels synchronize through the pool. */
typedef struct vug_mutex vug_mutex;
VUG_MUST_CHECK vug_status vug_mutex_create(vug_mutex **out, vug_err *err);
void vug_mutex_destroy(vug_mutex *mutex);
void vug_mutex_lock(vug_mutex *mutex);
void vug_mutex_unlock(vug_mutex *mutex);

typedef struct vug_cond vug_cond;
VUG_MUST_CHECK vug_status vug_cond_create(vug_cond **out, vug_err *err);
void vug_cond_destroy(vug_cond *cond);
/* Unlocks the mutex, waits for a broadcast, and locks it again. May also return without one. */
void vug_cond_wait(vug_cond *cond, vug_mutex *mutex);
/* The same, at most until a time of vug_now. */
void vug_cond_wait_until(vug_cond *cond, vug_mutex *mutex, double time);
void vug_cond_broadcast(vug_cond *cond);

#endif
