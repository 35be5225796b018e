/*
 * Requests to an engine: each is a job of a queue, runs as a generation of a session of its own, and
 * sends its events to its stream.
 *
 * An engine is freed when it was destroyed and its last stream is destroyed, so that streams may be
 * used after their engine. Its lock is taken before those of its queue and of event queues.
 */
#include <stdatomic.h>
#include <string.h>

#include "core/job_queue.h"
#include "engine/event_queue.h"
#include "engine/session.h"

enum {
    DEFAULT_WAITING = 1000,
    DEFAULT_UNREAD = 64,
    MAX_RUNNING = 1024,
    MAX_WAITING = 1 << 24,
    MAX_UNREAD = 1 << 24,
};

struct vug_engine {
    vug_model *model;
    int max_waiting;
    size_t max_unread;
    _Atomic size_t n_waiting;
    vug_mutex *lock;      /* guards what follows */
    vug_job_queue *queue; /* NULL: the engine was destroyed */
    vug_stream *first;    /* the requests that have not ended */
    size_t n_references;  /* the streams, and the owner of the engine */
    vug_engine_stats stats;
};

struct vug_stream {
    vug_job job; /* first */
    vug_engine *engine;
    vug_stream *next, **link; /* guarded by the engine's lock */
    vug_tokens prompt;
    vug_chat_marks marks;  /* of messages, unless the options have marks */
    char *cache_namespace; /* [namespace_len] */
    size_t namespace_len;
    vug_generate_options options;
    vug_event_fn *on_event;
    void *user;
    vug_session *session; /* while the request runs */
    vug_generation generation;
    vug_status st; /* of the request */
    vug_err err;
    vug_event_queue events;
};

/* ---- engines ------------------------------------------------------------------------- */

static vug_status check_range(const char *name, int n, int max, vug_err *err)
{
    if (n >= 0 && n <= max)
        return VUG_OK;
    return VUG_FAIL(err, VUG_ARGUMENT, "engine: %s is %d, expected 0 to %d", name, n, max);
}

static void release_engine(vug_engine *e)
{
    vug_mutex_lock(e->lock);
    const bool is_last = --e->n_references == 0;
    vug_mutex_unlock(e->lock);
    if (!is_last)
        return;
    vug_mutex_destroy(e->lock);
    vug_free(e);
}

static void set_waiting(int n, void *user)
{
    atomic_store(&((vug_engine *)user)->n_waiting, (size_t)n);
}

vug_status vug_engine_create(vug_model *model, const vug_engine_options *options, vug_engine **out,
                             vug_err *err)
{
    const vug_engine_options o = options ? *options : (vug_engine_options){ 0 };
    VUG_TRY(check_range("running", o.running, MAX_RUNNING, err));
    VUG_TRY(check_range("waiting", o.waiting, MAX_WAITING, err));
    VUG_TRY(check_range("unread", o.unread, MAX_UNREAD, err));
    vug_engine *e = vug_alloc_zero(1, sizeof(*e));
    if (!e)
        return VUG_FAIL_NOMEM(err, "an engine", sizeof(*e));
    const int64_t slots = model->limits.rows < MAX_RUNNING ? model->limits.rows : MAX_RUNNING;
    e->model = model;
    e->max_waiting = o.waiting ? o.waiting : DEFAULT_WAITING;
    e->max_unread = (size_t)(o.unread ? o.unread : DEFAULT_UNREAD);
    e->n_references = 1;
    vug_status st = vug_mutex_create(&e->lock, err);
    if (st == VUG_OK)
        st = vug_job_queue_create(o.running ? o.running : (int)slots, e->max_waiting, set_waiting,
                                  e, &e->queue, err);
    if (st != VUG_OK) {
        vug_mutex_destroy(e->lock);
        vug_free(e);
        return st;
    }
    *out = e;
    return VUG_OK;
}

void vug_engine_destroy(vug_engine *e)
{
    if (!e)
        return;
    vug_mutex_lock(e->lock);
    vug_job_queue *queue = e->queue;
    e->queue = NULL;
    for (vug_stream *s = e->first; s; s = s->next) {
        vug_cancel_token_trigger(&s->job.cancel);
        vug_event_queue_wake(&s->events);
    }
    vug_mutex_unlock(e->lock);
    vug_job_queue_destroy(queue);
    release_engine(e);
}

vug_engine_stats vug_engine_get_stats(vug_engine *e)
{
    vug_mutex_lock(e->lock);
    vug_engine_stats stats = e->stats;
    vug_mutex_unlock(e->lock);
    stats.waiting = atomic_load(&e->n_waiting);
    stats.cache = vug_model_cache_stats(e->model);
    return stats;
}

/* ---- events -------------------------------------------------------------------------- */

/* False ends the generation: the request was cancelled, or fails. */
static bool send_event(vug_stream *s, const vug_event *event)
{
    if (s->st != VUG_OK)
        return false;
    if (s->on_event) {
        if (!s->on_event(event, s->user))
            vug_cancel_token_trigger(&s->job.cancel);
        return !vug_job_is_cancelled(&s->job);
    }
    /* Until there is room, its pages may go to others. */
    if (vug_event_queue_is_full(&s->events))
        vug_scheduler_pause(s->engine->model->scheduler, &s->session->sequence);
    s->st = vug_event_queue_push(&s->events, event, &s->job.cancel, &s->err);
    return s->st == VUG_OK && !vug_job_is_cancelled(&s->job);
}

static void on_prompt(size_t n_cached, void *user)
{
    vug_stream *s = user;
    vug_engine *e = s->engine;
    const vug_event event = { .kind = VUG_EVENT_PROMPT, .n_cached = n_cached };
    vug_mutex_lock(e->lock);
    e->stats.prompt_tokens += s->prompt.n;
    e->stats.cached_tokens += n_cached;
    e->stats.prefix_hits += n_cached > 0;
    vug_mutex_unlock(e->lock);
    (void)send_event(s, &event);
}

static bool on_piece(const vug_piece *piece, void *user)
{
    vug_stream *s = user;
    vug_engine *e = s->engine;
    const vug_event event = { .kind = VUG_EVENT_PIECE, .piece = *piece };
    vug_mutex_lock(e->lock);
    e->stats.generated_tokens += piece->token >= 0 && !piece->is_stop;
    vug_mutex_unlock(e->lock);
    return send_event(s, &event);
}

/* The last use of a stream by the engine. */
static void end_request(vug_stream *s)
{
    vug_engine *e = s->engine;
    const bool failed = s->st != VUG_OK;
    const bool cancelled = !failed && s->generation.finish == VUG_FINISH_CANCELLED;
    const vug_event event = { .kind = VUG_EVENT_END,
                              .status = s->st,
                              .err = failed ? &s->err : NULL,
                              .generation = failed ? NULL : &s->generation };
    vug_mutex_lock(e->lock);
    e->stats.failed += failed;
    e->stats.cancelled += cancelled;
    e->stats.answered += !failed && !cancelled;
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
    vug_mutex_unlock(e->lock);
    if (s->on_event)
        (void)s->on_event(&event, s->user);
    vug_event_queue_end(&s->events, &event);
}

/* ---- running ------------------------------------------------------------------------- */

static vug_status generate_answer(vug_stream *s, vug_generation *out)
{
    vug_generate_options options = s->options;
    options.cancel = &s->job.cancel;
    options.on_prompt = on_prompt;
    options.on_piece = on_piece;
    options.user = s;
    VUG_TRY(vug_session_create(s->engine->model, &s->session, &s->err));
    vug_status st =
            vug_session_set_namespace(s->session, s->cache_namespace, s->namespace_len, &s->err);
    if (st == VUG_OK)
        st = vug_generate(s->session, s->prompt.id, s->prompt.n, &options, out, &s->err);
    vug_session_destroy(s->session);
    s->session = NULL;
    return st;
}

static void count_running(vug_engine *e, bool more)
{
    vug_mutex_lock(e->lock);
    e->stats.running = more ? e->stats.running + 1 : e->stats.running - 1;
    vug_mutex_unlock(e->lock);
}

static void run_request(vug_job *job)
{
    vug_stream *s = (vug_stream *)job;
    vug_engine *e = s->engine;
    vug_generation answer = { 0 };
    count_running(e, true);
    if (!vug_job_is_cancelled(job)) {
        const vug_status st = generate_answer(s, &answer);
        s->st = s->st != VUG_OK ? s->st : st;
    }
    if (s->st == VUG_OK && answer.text.ptr) {
        vug_generation_release(&s->generation);
        s->generation = answer;
    } else {
        vug_generation_release(&answer);
    }
    if (vug_job_is_cancelled(job) && s->generation.finish == VUG_FINISH_CALLBACK)
        s->generation.finish = VUG_FINISH_CANCELLED;
    count_running(e, false);
    end_request(s);
}

/* ---- submitting ---------------------------------------------------------------------- */

static vug_status check_request(const vug_request *r, vug_err *err)
{
    const vug_generate_options *o = r->options;
    if ((r->id != NULL) + (r->text != NULL) + (r->message != NULL) != 1)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "a request has exactly one prompt: ids, a text or messages");
    if (o && (o->cancel || o->on_prompt || o->on_piece))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "a request has no cancel token, on_prompt and on_piece: its stream reports "
                        "events, and vug_stream_cancel cancels it");
    return VUG_OK;
}

static vug_status copy_prompt(vug_stream *s, const vug_request *r, vug_err *err)
{
    const vug_model *m = s->engine->model;
    if (r->text) {
        VUG_TRY(vug_model_encode_text(m, r->text, r->text_len, &s->prompt, err));
    } else if (r->message) {
        const bool has_marks = r->options && r->options->n_marks > 0;
        VUG_TRY(vug_model_encode_chat(m, r->message, r->n_messages, &s->prompt,
                                      has_marks ? NULL : &s->marks, err));
    } else {
        s->prompt.id = vug_alloc(r->n_ids, sizeof(*r->id));
        if (!s->prompt.id)
            return VUG_FAIL_NOMEM(err, "a prompt", r->n_ids * sizeof(*r->id));
        memcpy(s->prompt.id, r->id, r->n_ids * sizeof(*r->id));
        s->prompt.n = r->n_ids;
    }
    return vug_model_check_tokens(m, s->prompt.id, s->prompt.n, err);
}

static vug_status fill_stream(vug_stream *s, const vug_request *r, vug_err *err)
{
    VUG_TRY(copy_prompt(s, r, err));
    s->cache_namespace = vug_alloc(r->namespace_len, 1);
    s->generation = (vug_generation){ .finish = VUG_FINISH_CANCELLED,
                                      .n_prompt = s->prompt.n,
                                      .text = { .ptr = vug_strdup("") } };
    if (!s->cache_namespace || !s->generation.text.ptr)
        return VUG_FAIL_NOMEM(err, "a request", r->namespace_len);
    if (r->namespace_len > 0)
        memcpy(s->cache_namespace, r->cache_namespace, r->namespace_len);
    s->namespace_len = r->namespace_len;
    if (r->options)
        s->options = *r->options;
    if (s->marks.n > 0) {
        s->options.mark = s->marks.mark;
        s->options.n_marks = s->marks.n;
    }
    s->on_event = r->on_event;
    s->user = r->user;
    s->job.run = run_request;
    s->job.priority = s->options.priority;
    return vug_event_queue_init(&s->events, s->engine->max_unread, err);
}

static void release_stream(vug_stream *s)
{
    vug_event_queue_release(&s->events);
    vug_generation_release(&s->generation);
    vug_tokens_release(&s->prompt);
    vug_free(s->cache_namespace);
    vug_free(s);
}

/* Counts a stream that will run; as cancelled if a callback submits it while the engine ends. */
static void link_stream(vug_engine *e, vug_stream *s)
{
    vug_mutex_lock(e->lock);
    if (!e->queue)
        vug_cancel_token_trigger(&s->job.cancel);
    e->n_references++;
    s->next = e->first;
    s->link = &e->first;
    if (s->next)
        s->next->link = &s->next;
    e->first = s;
    vug_mutex_unlock(e->lock);
}

vug_status vug_engine_submit(vug_engine *e, const vug_request *request, vug_stream **out,
                             vug_err *err)
{
    VUG_TRY(check_request(request, err));
    vug_mutex_lock(e->lock);
    vug_job_queue *queue = e->queue;
    vug_mutex_unlock(e->lock);
    if (!queue)
        return VUG_FAIL(err, VUG_CANCELLED, "the engine is being destroyed");
    if (!vug_job_queue_admit(queue))
        return VUG_FAIL(err, VUG_LIMIT, "%d requests already wait", e->max_waiting);
    vug_stream *s = vug_alloc_zero(1, sizeof(*s));
    vug_status st = VUG_OK;
    if (!s) {
        st = VUG_FAIL_NOMEM(err, "a request", sizeof(*s));
    } else {
        s->engine = e;
        s->job.queue = queue;
        st = fill_stream(s, request, err);
    }
    if (st != VUG_OK) {
        vug_job_queue_release(queue);
        if (s)
            release_stream(s);
        return st;
    }
    link_stream(e, s);
    *out = s; /* before the first event, whose callback may want it */
    vug_job_push(&s->job);
    return VUG_OK;
}

/* ---- streams ------------------------------------------------------------------------- */

bool vug_stream_next(vug_stream *s, double timeout, vug_event *out)
{
    return vug_event_queue_next(&s->events, timeout, out);
}

void vug_stream_cancel(vug_stream *s)
{
    vug_engine *e = s->engine;
    vug_mutex_lock(e->lock);
    const bool withdrawn = e->queue && vug_job_withdraw(&s->job);
    vug_cancel_token_trigger(&s->job.cancel);
    vug_mutex_unlock(e->lock);
    vug_event_queue_wake(&s->events);
    if (withdrawn)
        end_request(s);
}

void vug_stream_destroy(vug_stream *s)
{
    if (!s)
        return;
    vug_engine *e = s->engine;
    vug_stream_cancel(s);
    vug_event_queue_wait(&s->events);
    release_stream(s);
    release_engine(e);
}
