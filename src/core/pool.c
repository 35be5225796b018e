/*
 * The worker threads.
 *
 * A job has a part for each thread. A thread runs its own part first and then every
 * part that no thread has begun. On an idle machine each thread runs its own part, so
 * that a core finds in its caches what it read in the last job. On a busy machine
 * the system may leave a worker without a core for milliseconds; then the other threads
 * run its part, and nobody waits for a thread that does not run.
 *
 * A decode step is some hundred short jobs with microseconds between them, so workers
 * spin for some hundred microseconds before they sleep: a wake-up through the kernel
 * costs more than most of those jobs. They yield every few spins, because the thread
 * that they wait for may need this very core.
 *
 * Workers are not pinned to cores. With as many threads as cores a scheduler spreads
 * them by itself, and the caller's thread, which is not ours to pin, may be moved onto
 * the core of a pinned worker. A user who wants fixed cores starts the process on them
 * (taskset, numactl); threads inherit that, and vug_cpu_count counts only those.
 */
#include "core/pool.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "core/mem.h"

#if defined(__linux__)
#include <sched.h>
#endif

enum { SPINS = 100, YIELDS = 39 }; /* a spin takes 20 to 100 ns */

typedef struct {
    vug_pool *pool;
    int index;
} pool_worker;

/* The last job in which a thread began this part; apart from the others' cache lines. */
typedef struct {
    alignas(64) atomic_uint job;
} part_claim;

struct vug_pool {
    int n; /* threads, including the caller's */
    vug_pool_work *work;
    void *arg;
    atomic_uint job;        /* counts jobs; a change starts one */
    atomic_int n_unclaimed; /* parts of the job that no thread has begun */
    atomic_int n_running;   /* parts that are not finished */
    atomic_int asleep;      /* threads waiting on `wake` */
    atomic_bool stop;
    part_claim *claim;    /* [n] */
    pthread_mutex_t lock; /* guards sleeping, not the job */
    pthread_cond_t wake;
    int n_started;
    pthread_t *thread; /* [n - 1] */
    pool_worker *self; /* [n - 1] */
};

static void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void yield_cpu(void)
{
#if defined(__linux__)
    (void)sched_yield();
#endif
}

/* True when the wait is over: a worker waits for a new job, the caller for the last
 * part. */
static bool is_over(vug_pool *pool, bool caller, unsigned seen)
{
    if (caller)
        return atomic_load(&pool->n_running) == 0;
    return atomic_load(&pool->job) != seen || atomic_load(&pool->stop);
}

static void wait_until_over(vug_pool *pool, bool caller, unsigned seen)
{
    for (int y = 0; y <= YIELDS; y++) {
        for (int i = 0; i < SPINS; i++) {
            if (is_over(pool, caller, seen))
                return;
            pause_cpu();
        }
        yield_cpu();
    }
    (void)pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->asleep, 1);
    while (!is_over(pool, caller, seen))
        (void)pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->asleep, 1);
    (void)pthread_mutex_unlock(&pool->lock);
}

/* Call it after making the condition true. A sleeper has either counted itself before this
 * load, or sees the condition when it takes the lock. */
static void wake_sleepers(vug_pool *pool)
{
    if (atomic_load(&pool->asleep) == 0)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    (void)pthread_cond_broadcast(&pool->wake);
    (void)pthread_mutex_unlock(&pool->lock);
}

/* Begins a part of the job unless a thread has begun it, or the job is over. A part is
 * claimed once in every job, so its claim stands at the job before. */
static bool claim_part(vug_pool *pool, unsigned job, int part)
{
    unsigned before = job - 1;
    if (!atomic_compare_exchange_strong(&pool->claim[part].job, &before, job))
        return false;
    atomic_fetch_sub(&pool->n_unclaimed, 1);
    return true;
}

/* Runs the thread's own part, and then what is left of the job. `work` and `arg` stay as
 * they are while a claimed part runs: the caller waits for it. */
static void run_parts(vug_pool *pool, unsigned job, int thread)
{
    for (int i = 0; i < pool->n; i++) {
        const int part = (thread + i) % pool->n;
        if (i > 0 && atomic_load(&pool->n_unclaimed) == 0)
            return;
        if (!claim_part(pool, job, part))
            continue;
        pool->work(pool->arg, part, pool->n);
        if (atomic_fetch_sub(&pool->n_running, 1) == 1)
            wake_sleepers(pool);
    }
}

static void *run_worker(void *arg)
{
    const pool_worker *self = arg;
    vug_pool *pool = self->pool;
    unsigned seen = 0;
    for (;;) {
        wait_until_over(pool, false, seen);
        if (atomic_load(&pool->stop))
            return NULL;
        seen = atomic_load(&pool->job);
        run_parts(pool, seen, self->index);
    }
}

vug_status vug_pool_create(int threads, vug_pool **out, vug_err *err)
{
    if (threads < 1 || threads > 1024)
        return VUG_FAIL(err, VUG_ARGUMENT, "threads: %d, expected 1 to 1024", threads);
    vug_pool *pool = vug_alloc_zero(1, sizeof(*pool));
    if (!pool)
        return VUG_FAIL_NOMEM(err, "worker threads", sizeof(*pool));
    pool->n = threads;
    pool->thread = vug_alloc_zero((size_t)threads, sizeof(*pool->thread));
    pool->self = vug_alloc_zero((size_t)threads, sizeof(*pool->self));
    pool->claim = vug_alloc_aligned((size_t)threads * sizeof(*pool->claim));
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->wake, NULL);
    vug_status st = VUG_OK;
    if (!pool->thread || !pool->self || !pool->claim)
        st = VUG_FAIL_NOMEM(err, "worker threads", (size_t)threads * sizeof(pthread_t));
    for (int i = 0; st == VUG_OK && i < threads - 1; i++) {
        pool->self[i] = (pool_worker){ pool, i + 1 };
        if (pthread_create(&pool->thread[i], NULL, run_worker, &pool->self[i]) != 0)
            st = VUG_FAIL(err, VUG_NOMEM, "cannot start worker thread %d of %d", i + 1, threads);
        else
            pool->n_started++;
    }
    if (st != VUG_OK) {
        vug_pool_destroy(pool);
        return st;
    }
    *out = pool;
    return VUG_OK;
}

void vug_pool_destroy(vug_pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->stop, true);
    wake_sleepers(pool);
    for (int i = 0; i < pool->n_started; i++)
        (void)pthread_join(pool->thread[i], NULL);
    (void)pthread_cond_destroy(&pool->wake);
    (void)pthread_mutex_destroy(&pool->lock);
    vug_free(pool->thread);
    vug_free(pool->self);
    vug_free(pool->claim);
    vug_free(pool);
}

int vug_pool_threads(const vug_pool *pool)
{
    return pool->n;
}

void vug_pool_run(vug_pool *pool, vug_pool_work *work, void *arg)
{
    if (pool->n == 1) {
        work(arg, 0, 1);
        return;
    }
    pool->work = work;
    pool->arg = arg;
    atomic_store(&pool->n_unclaimed, pool->n);
    atomic_store(&pool->n_running, pool->n);
    const unsigned job = atomic_fetch_add(&pool->job, 1) + 1;
    wake_sleepers(pool);
    run_parts(pool, job, 0);
    wait_until_over(pool, true, 0);
}

/* ---- mutex --------------------------------------------------------------- */

struct vug_mutex {
    pthread_mutex_t handle;
};

vug_status vug_mutex_create(vug_mutex **out, vug_err *err)
{
    vug_mutex *mutex = vug_alloc_zero(1, sizeof(*mutex));
    if (!mutex)
        return VUG_FAIL_NOMEM(err, "a mutex", sizeof(*mutex));
    (void)pthread_mutex_init(&mutex->handle, NULL);
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
