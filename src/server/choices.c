#include "server/choices.h"

/* The thread of the request takes choices as long as there are any. Jobs take some on threads that
 * would be idle, and end as soon as another request waits for a thread. */
typedef struct {
    vug_job job; /* first */
    vug_server_choices *choices;
    bool is_pushed; /* it waits or runs */
} choice_job;

struct vug_server_choices {
    vug_server_request *request;
    vug_choice_fn *generate;
    void *user;
    size_t n, n_each; /* choices; of each prompt */
    vug_cond *changed;
    /* guarded by the request's lock: */
    bool *is_taken; /* [n] */
    bool *is_ready; /* [prompts]: the choices after the first may be taken */
    size_t n_running;
    choice_job *job; /* [n_jobs] */
    size_t n_jobs, n_pushed;
    size_t n_waiting; /* jobs that were pushed and have not begun */
    vug_status st;    /* the first failure */
    vug_err err;
};

/* ---- choosing -------------------------------------------------------------------------- */

static bool is_available(const vug_server_choices *c, size_t i)
{
    return c->st == VUG_OK && !c->is_taken[i] && (i % c->n_each == 0 || c->is_ready[i / c->n_each]);
}

static size_t count_available(const vug_server_choices *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += is_available(c, i);
    return n;
}

static void fail(vug_server_choices *c, vug_status st, const vug_err *err)
{
    if (c->st != VUG_OK)
        return;
    c->st = st;
    c->err = *err;
    vug_cancel_token_trigger(&c->request->job.cancel); /* for the other choices */
}

/* Lets idle threads take what can begin. */
static void push_jobs(vug_server_choices *c)
{
    const size_t n = count_available(c);
    for (size_t i = 0; i < c->n_jobs && c->n_waiting < n; i++) {
        choice_job *job = &c->job[i];
        if (job->is_pushed)
            continue;
        if (!vug_job_queue_admit_idle(job->job.queue))
            return;
        job->is_pushed = true;
        c->n_pushed++;
        c->n_waiting++;
        vug_job_push(&job->job);
    }
}

/* Generates the first choice that can begin. False: there is none now. */
static bool take_choice(vug_server_choices *c)
{
    vug_err err = { 0 };
    size_t i = 0;
    while (i < c->n && !is_available(c, i))
        i++;
    if (i == c->n)
        return false;
    c->is_taken[i] = true;
    c->n_running++;
    push_jobs(c);
    vug_mutex_unlock(c->request->lock);
    const vug_status st = c->generate(c->user, i, &err);
    vug_mutex_lock(c->request->lock);
    c->n_running--;
    if (st != VUG_OK)
        fail(c, st, &err);
    vug_server_choices_ready(c, i / c->n_each);
    vug_cond_broadcast(c->changed);
    return true;
}

/* ---- jobs ------------------------------------------------------------------------------ */

static void run_choice_job(vug_job *arg)
{
    choice_job *job = (choice_job *)arg;
    vug_server_choices *c = job->choices;
    vug_mutex *lock = c->request->lock;
    vug_mutex_lock(lock);
    c->n_waiting--;
    while (take_choice(c) && !vug_job_queue_is_awaited(job->job.queue))
        ;
    job->is_pushed = false;
    c->n_pushed--;
    vug_cond_broadcast(c->changed);
    vug_mutex_unlock(lock);
}

void vug_server_choices_ready(vug_server_choices *c, size_t prompt)
{
    if (c->is_ready[prompt])
        return;
    c->is_ready[prompt] = true;
    push_jobs(c);
    vug_cond_broadcast(c->changed);
}

static void end_jobs(vug_server_choices *c)
{
    for (size_t i = 0; i < c->n_jobs; i++) {
        if (c->job[i].is_pushed && vug_job_withdraw(&c->job[i].job)) {
            c->job[i].is_pushed = false;
            c->n_pushed--;
            c->n_waiting--;
        }
    }
    while (c->n_pushed > 0)
        vug_cond_wait(c->changed, c->request->lock);
}

/* ---- all choices ----------------------------------------------------------------------- */

static void run_all(vug_server_choices *c)
{
    vug_mutex_lock(c->request->lock);
    while (take_choice(c) || c->n_running > 0) {
        if (count_available(c) == 0 && c->n_running > 0)
            vug_cond_wait(c->changed, c->request->lock);
    }
    end_jobs(c);
    vug_mutex_unlock(c->request->lock);
}

vug_status vug_server_run_choices(vug_server_request *request, vug_choice_fn *generate, void *user,
                                  vug_err *err)
{
    const size_t n_each = (size_t)request->api.n, n = request->n_prompts * n_each;
    const size_t threads = (size_t)request->service->opt.model.slots;
    vug_server_choices c = { .request = request,
                             .generate = generate,
                             .user = user,
                             .n = n,
                             .n_each = n_each,
                             .n_jobs = (n < threads ? n : threads) - 1 };
    c.is_taken = vug_arena_alloc(&request->arena, n, sizeof(*c.is_taken));
    c.is_ready = vug_arena_alloc(&request->arena, request->n_prompts, sizeof(*c.is_ready));
    c.job = vug_arena_alloc(&request->arena, c.n_jobs + 1, sizeof(*c.job));
    if (!c.is_taken || !c.is_ready || !c.job)
        return VUG_FAIL_NOMEM(err, "choices", n * sizeof(*c.job));
    for (size_t i = 0; i < c.n_jobs; i++) {
        c.job[i].choices = &c;
        c.job[i].job.run = run_choice_job;
        c.job[i].job.queue = request->service->queue;
        c.job[i].job.priority = request->job.priority;
    }
    VUG_TRY(vug_mutex_create(&request->lock, err));
    vug_status st = vug_cond_create(&c.changed, err);
    if (st == VUG_OK) {
        request->choices = &c;
        run_all(&c);
        request->choices = NULL;
        vug_cond_destroy(c.changed);
        st = c.st;
        *err = st != VUG_OK ? c.err : *err;
    }
    vug_mutex_destroy(request->lock);
    request->lock = NULL;
    return st;
}
