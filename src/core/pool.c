/*
 * The worker threads.
 *
 * A decode step is some hundred short jobs with microseconds between them, so
 * workers spin a little before they sleep: a wake-up through the kernel costs
 * more than most of those jobs. The spin is bounded, to some hundred microseconds,
 * and yields every few, because on a crowded machine the thread that is waited for
 * may not be running at all, or worse, wait for this very core. Yielding seldom
 * showed: two threads on two cores with builds beside them took twice as long per
 * job (0.63 ms where 0.32 were possible), and the same on a quiet machine.
 *
 * Workers are not pinned to cores. With as many threads as cores a scheduler
 * spreads them by itself: on a quiet machine pinning changed nothing (93 us per job
 * either way). On a crowded one it was slower in most runs, by up to 2 times with
 * builds beside: a pinned worker waits for its core while another one is free, and
 * the caller's thread, which is not ours to pin, may be moved onto it. Whoever wants
 * fixed cores starts the process on them (taskset, numactl); threads inherit that,
 * and vug_cpu_count counts only those.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "core/os.h"

#if defined(__linux__)
#include <sched.h>
#endif

enum { SPINS = 100, YIELDS = 39 }; /* a spin takes 20 to 100 ns */

typedef struct {
    vug_pool *pool;
    int index;
} worker;

struct vug_pool {
    int n; /* threads, the caller's included */
    vug_work *work;
    void *arg;
    atomic_uint round;  /* counts jobs; a change starts one */
    atomic_int running; /* workers that have not finished the round */
    atomic_int asleep;  /* threads waiting on `wake` */
    atomic_bool stop;
    pthread_mutex_t lock; /* guards sleeping, not the job */
    pthread_cond_t wake;
    int n_started;
    pthread_t *thread; /* [n - 1] */
    worker *self;      /* [n - 1] */
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

/* True when the wait is over: a worker waits for a new round, the caller for
 * the last worker. */
static bool is_over(vug_pool *pool, bool caller, unsigned seen)
{
    if (caller)
        return atomic_load(&pool->running) == 0;
    return atomic_load(&pool->round) != seen || atomic_load(&pool->stop);
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

/* After the condition was made true: a sleeper either has counted itself before
 * this load, or sees the condition when it takes the lock. */
static void wake_sleepers(vug_pool *pool)
{
    if (atomic_load(&pool->asleep) == 0)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    (void)pthread_cond_broadcast(&pool->wake);
    (void)pthread_mutex_unlock(&pool->lock);
}

static void *serve(void *arg)
{
    const worker *self = arg;
    vug_pool *pool = self->pool;
    unsigned seen = 0;
    for (;;) {
        wait_until_over(pool, false, seen);
        if (atomic_load(&pool->stop))
            return NULL;
        seen = atomic_load(&pool->round);
        pool->work(pool->arg, self->index, pool->n);
        if (atomic_fetch_sub(&pool->running, 1) == 1)
            wake_sleepers(pool);
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
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->wake, NULL);
    vug_status st = VUG_OK;
    if (!pool->thread || !pool->self)
        st = VUG_FAIL_NOMEM(err, "worker threads", (size_t)threads * sizeof(pthread_t));
    for (int i = 0; st == VUG_OK && i < threads - 1; i++) {
        pool->self[i] = (worker){ pool, i + 1 };
        if (pthread_create(&pool->thread[i], NULL, serve, &pool->self[i]) != 0)
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
    vug_free(pool);
}

int vug_pool_threads(const vug_pool *pool)
{
    return pool->n;
}

void vug_pool_run(vug_pool *pool, vug_work *work, void *arg)
{
    if (pool->n > 1) {
        pool->work = work;
        pool->arg = arg;
        atomic_store(&pool->running, pool->n - 1);
        atomic_fetch_add(&pool->round, 1);
        wake_sleepers(pool);
    }
    work(arg, 0, pool->n);
    if (pool->n > 1)
        wait_until_over(pool, true, 0);
}

/* ---- lock ---------------------------------------------------------------- */

struct vug_lock {
    pthread_mutex_t mutex;
};

vug_status vug_lock_create(vug_lock **out, vug_err *err)
{
    vug_lock *lock = vug_alloc_zero(1, sizeof(*lock));
    if (!lock)
        return VUG_FAIL_NOMEM(err, "a lock", sizeof(*lock));
    (void)pthread_mutex_init(&lock->mutex, NULL);
    *out = lock;
    return VUG_OK;
}

void vug_lock_destroy(vug_lock *lock)
{
    if (!lock)
        return;
    (void)pthread_mutex_destroy(&lock->mutex);
    vug_free(lock);
}

void vug_lock_take(vug_lock *lock)
{
    (void)pthread_mutex_lock(&lock->mutex);
}

void vug_lock_leave(vug_lock *lock)
{
    (void)pthread_mutex_unlock(&lock->mutex);
}
