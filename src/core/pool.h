#ifndef VUG_CORE_POOL_H
#define VUG_CORE_POOL_H

/*
 * Worker threads, a mutex and a condition variable.
 *
 * A pool runs one job at a time: `work` is called once for each `part` 0 .. n-1, on any of
 * the pool's threads, the caller's among them. Parts may run at the same time or one after
 * the other, so a part never waits for another one. Idle workers spin for some microseconds
 * and then sleep.
 */

#include "core/status.h"

typedef struct vug_pool vug_pool;
typedef void vug_pool_work(void *arg, int part, int n_parts);

VUG_MUST_CHECK vug_status vug_pool_create(int threads, vug_pool **out, vug_err *err);
void vug_pool_destroy(vug_pool *pool);
int vug_pool_threads(const vug_pool *pool);
/* Returns when all parts are done. Not reentrant. */
void vug_pool_run(vug_pool *pool, vug_pool_work *work, void *arg);

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
