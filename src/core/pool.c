/*
 * The worker threads.
 *
 * A job has a part for each thread. A thread runs its own part first and then every
 * part that no thread has begun. On an idle machine each thread runs its own part, so
 * that a core finds in its caches what it read in the last job. On a busy machine
 * the system may leave a worker without a core for milliseconds; then the other threads
 * run its part. A job is over when its parts are finished: a thread that comes later finds
 * nothing to claim, and touches neither `work` nor `arg`.
 *
 * A decode step is some hundred short jobs with microseconds between them, so a waiting
 * thread spins before it sleeps: a wake-up through the kernel costs more than most of those
 * jobs. It never yields its core. To the scheduler a thread that yields has used up its time
 * slice; one that sleeps keeps what is left of it, so that it runs soon after it is woken. While
 * a worker with unfinished work is without a core, the caller sleeps, and later both run at the
 * same time: this keeps a pool near its fair share of a busy machine.
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
#include "core/os.h"
#include "core/thread_limit.h"

enum { SPINS = 64 }; /* between two looks at the clock; a spin takes 10 to 50 ns */

/* How long threads spin. On a busy machine each spin takes from the pool's share of the cores. */
static const double spin_s = 100e-6, contended_spin_s = 20e-6;

typedef struct {
    vug_pool *pool;
    int index;
} pool_worker;

/* The last job in which a thread began this part; apart from the others' cache lines. */
typedef struct {
    alignas(64) atomic_uint job;
} part_claim;

/* Threads that sleep until something happens. */
typedef struct {
    pthread_cond_t cond;
    atomic_int n;
} sleepers;

/* What threads change within a job; apart from what those that wait for a job read all the time. */
typedef struct {
    alignas(64) atomic_int n;
} part_count;

struct vug_pool {
    part_count unclaimed; /* parts of the job that no thread has begun */
    part_count running;   /* parts that are not finished */
    atomic_uint job;      /* counts jobs; a change starts one */
    atomic_int n_active;  /* threads that take part in jobs; those with lower indices */
    atomic_bool stop;
    atomic_bool contended; /* other programs use the cores */
    atomic_bool in_use;    /* a job runs */
    int n;                 /* threads, including the caller's */
    vug_pool_work *work;
    void *arg;
    part_claim *claim; /* [n] */
    pthread_t *thread; /* [n - 1] */
    pool_worker *self; /* [n - 1] */
    int n_started;
    sleepers caller;
    sleepers workers;     /* that the next job wakes */
    sleepers inactive;    /* workers that take no part for now */
    pthread_mutex_t lock; /* guards sleeping, not the job */
    vug_thread_limit limit;
    double round_start, round_cpu_start; /* the time, and that of the caller's thread */
};

static void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* True when thread `index` need not wait any more: a worker for a job, the caller (thread 0) for
 * the last part of it. */
static bool is_over(vug_pool *pool, int index, unsigned seen)
{
    if (index == 0)
        return atomic_load(&pool->running.n) == 0;
    return (atomic_load(&pool->job) != seen && index < atomic_load(&pool->n_active)) ||
           atomic_load(&pool->stop);
}

static bool spin_until_over(vug_pool *pool, int index, unsigned seen)
{
    double start = 0;
    for (;;) {
        for (int i = 0; i < SPINS; i++) {
            if (is_over(pool, index, seen))
                return true;
            pause_cpu();
        }
        const double now = vug_now();
        if (start == 0)
            start = now;
        if (now - start > (atomic_load(&pool->contended) ? contended_spin_s : spin_s))
            return false;
    }
}

static sleepers *sleepers_of(vug_pool *pool, int index)
{
    if (index == 0)
        return &pool->caller;
    return index < atomic_load(&pool->n_active) ? &pool->workers : &pool->inactive;
}

static void wait_until_over(vug_pool *pool, int index, unsigned seen)
{
    bool over = spin_until_over(pool, index, seen);
    if (over)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    while (!over) {
        sleepers *s = sleepers_of(pool, index);
        atomic_fetch_add(&s->n, 1);
        over = is_over(pool, index, seen);
        if (!over)
            (void)pthread_cond_wait(&s->cond, &pool->lock);
        atomic_fetch_sub(&s->n, 1);
    }
    (void)pthread_mutex_unlock(&pool->lock);
}

/* Call it after making the condition true. A sleeper has either counted itself before this
 * load, or sees the condition when it takes the lock. */
static void wake_sleepers(vug_pool *pool, sleepers *s)
{
    if (atomic_load(&s->n) == 0)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    (void)pthread_cond_broadcast(&s->cond);
    (void)pthread_mutex_unlock(&pool->lock);
}

/* Begins a part of the job unless a thread has begun it, or the job is over. A part is
 * claimed once in every job, so its claim stands at the job before. */
static bool claim_part(vug_pool *pool, unsigned job, int part)
{
    unsigned before = job - 1;
    if (!atomic_compare_exchange_strong(&pool->claim[part].job, &before, job))
        return false;
    atomic_fetch_sub(&pool->unclaimed.n, 1);
    return true;
}

/* Runs the thread's own part, and then what is left of the job. `work` and `arg` stay as
 * they are while a claimed part runs: the caller waits for it. */
static void run_parts(vug_pool *pool, unsigned job, int thread)
{
    for (int i = 0; i < pool->n; i++) {
        const int part = (thread + i) % pool->n;
        if (i > 0 && atomic_load(&pool->unclaimed.n) == 0)
            return;
        if (!claim_part(pool, job, part))
            continue;
        pool->work(pool->arg, part, pool->n);
        if (atomic_fetch_sub(&pool->running.n, 1) == 1)
            wake_sleepers(pool, &pool->caller);
    }
}

static void *run_worker(void *arg)
{
    const pool_worker *self = arg;
    vug_pool *pool = self->pool;
    unsigned seen = 0;
    for (;;) {
        wait_until_over(pool, self->index, seen);
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
    vug_pool *pool = vug_alloc_aligned(sizeof(*pool));
    if (!pool)
        return VUG_FAIL_NOMEM(err, "worker threads", sizeof(*pool));
    pool->n = threads;
    atomic_init(&pool->n_active, threads);
    const int cpus = vug_logical_cpu_count();
    vug_thread_limit_init(&pool->limit, threads < cpus ? threads : cpus);
    pool->thread = vug_alloc_zero((size_t)threads, sizeof(*pool->thread));
    pool->self = vug_alloc_zero((size_t)threads, sizeof(*pool->self));
    pool->claim = vug_alloc_aligned((size_t)threads * sizeof(*pool->claim));
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->workers.cond, NULL);
    (void)pthread_cond_init(&pool->inactive.cond, NULL);
    (void)pthread_cond_init(&pool->caller.cond, NULL);
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
    wake_sleepers(pool, &pool->workers);
    wake_sleepers(pool, &pool->inactive);
    for (int i = 0; i < pool->n_started; i++)
        (void)pthread_join(pool->thread[i], NULL);
    (void)pthread_cond_destroy(&pool->workers.cond);
    (void)pthread_cond_destroy(&pool->inactive.cond);
    (void)pthread_cond_destroy(&pool->caller.cond);
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
    const bool nested = atomic_exchange(&pool->in_use, true);
    if (nested || atomic_load(&pool->n_active) == 1) {
        for (int part = 0; part < pool->n; part++)
            work(arg, part, pool->n);
    } else {
        pool->work = work;
        pool->arg = arg;
        atomic_store(&pool->unclaimed.n, pool->n);
        atomic_store(&pool->running.n, pool->n);
        const unsigned job = atomic_fetch_add(&pool->job, 1) + 1;
        wake_sleepers(pool, &pool->workers);
        run_parts(pool, job, 0);
        wait_until_over(pool, 0, 0);
    }
    if (!nested)
        atomic_store(&pool->in_use, false);
}

static void set_active(vug_pool *pool, int n)
{
    if (n == atomic_load(&pool->n_active))
        return;
    (void)pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->n_active, n);
    (void)pthread_cond_broadcast(&pool->inactive.cond);
    (void)pthread_mutex_unlock(&pool->lock);
}

void vug_pool_begin_round(vug_pool *pool)
{
    set_active(pool, pool->limit.active);
    pool->round_start = vug_now();
    pool->round_cpu_start = vug_thread_cpu_time();
}

void vug_pool_end_round(vug_pool *pool, int kind)
{
    const double seconds = vug_now() - pool->round_start;
    const double cpu_s = vug_thread_cpu_time() - pool->round_cpu_start;
    vug_thread_limit_add(&pool->limit, kind, seconds, seconds - cpu_s);
    atomic_store(&pool->contended, pool->limit.contended);
}
