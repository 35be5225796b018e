/* The mutex and the condition variable, over those of POSIX threads. */
#include <pthread.h>

#include "core/mem.h"
#include "core/os.h"
#include "core/pool.h"

/* ---- mutex --------------------------------------------------------------- */

struct vug_mutex {
    pthread_mutex_t handle;
};

vug_status vug_mutex_create(vug_mutex **out, vug_err *err)
{
    vug_mutex *mutex = vug_alloc_zero(1, sizeof(*mutex));
    if (!mutex)
        return VUG_FAIL_NOMEM(err, "a mutex", sizeof(*mutex));
    pthread_mutexattr_t attributes;
    (void)pthread_mutexattr_init(&attributes);
#if defined(__GLIBC__)
    /* Locks are held for less time than it takes to sleep and to be woken: spin for a while. */
    (void)pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    (void)pthread_mutex_init(&mutex->handle, &attributes);
    (void)pthread_mutexattr_destroy(&attributes);
    *out = mutex;
    return VUG_OK;
}

void vug_mutex_destroy(vug_mutex *mutex)
{
    if (!mutex)
        return;
    (void)pthread_mutex_destroy(&mutex->handle);
    vug_free(mutex);
}

void vug_mutex_lock(vug_mutex *mutex)
{
    (void)pthread_mutex_lock(&mutex->handle);
}

void vug_mutex_unlock(vug_mutex *mutex)
{
    (void)pthread_mutex_unlock(&mutex->handle);
}

/* ---- condition variable ------------------------------------------------------------------ */

struct vug_cond {
    pthread_cond_t handle;
};

vug_status vug_cond_create(vug_cond **out, vug_err *err)
{
    vug_cond *cond = vug_alloc_zero(1, sizeof(*cond));
    if (!cond)
        return VUG_FAIL_NOMEM(err, "a condition variable", sizeof(*cond));
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
#if !defined(__APPLE__)
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
    (void)pthread_cond_init(&cond->handle, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    *out = cond;
    return VUG_OK;
}

void vug_cond_destroy(vug_cond *cond)
{
    if (!cond)
        return;
    (void)pthread_cond_destroy(&cond->handle);
    vug_free(cond);
}

void vug_cond_wait(vug_cond *cond, vug_mutex *mutex)
{
    (void)pthread_cond_wait(&cond->handle, &mutex->handle);
}

void vug_cond_wait_until(vug_cond *cond, vug_mutex *mutex, double time)
{
#if defined(__APPLE__)
    const double left = time - vug_now();
    if (left <= 0)
        return;
    const struct timespec relative = { .tv_sec = (time_t)left,
                                       .tv_nsec = (long)((left - (double)(time_t)left) * 1e9) };
    (void)pthread_cond_timedwait_relative_np(&cond->handle, &mutex->handle, &relative);
#else
    const struct timespec at = { .tv_sec = (time_t)time,
                                 .tv_nsec = (long)((time - (double)(time_t)time) * 1e9) };
    (void)pthread_cond_timedwait(&cond->handle, &mutex->handle, &at);
#endif
}

void vug_cond_broadcast(vug_cond *cond)
{
    (void)pthread_cond_broadcast(&cond->handle);
}
