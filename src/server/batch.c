#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "core/os.h"
#include "core/random.h"
#include "server/batch_output.h"
#include "server/internal.h"

/*
 * Runs a batch. Each of some threads takes the next line of the input, runs its request as a call of
 * the service, waits for the response and appends it to the output. The thread that called reports
 * progress and stops the others.
 */

enum { POLL_MS = 100 };

typedef struct batch_run batch_run;

typedef struct {
    batch_run *run;
    pthread_t thread;
    vug_server_call *call;
    vug_buf line, out;
} batch_worker;

struct batch_run {
    const vug_batch_options *opt;
    vug_service *service;
    uint64_t seed;        /* of the ids of output lines */
    batch_worker *worker; /* [slots + 1]: while all slots run, the next request is parsed */
    size_t max_workers, n_workers; /* n_workers are started */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by the lock: */
    vug_line_reader lines;
    vug_batch_index index;
    vug_batch_output output;
    vug_batch_report report;
    size_t n_running; /* workers */
    bool loaded;
    bool stop;
    vug_err error; /* why the batch must end; VUG_OK: none */
};

/* ---- a worker ------------------------------------------------------------------------ */

/* Ends the batch. Under the lock. */
static void stop_with(batch_run *run, const vug_err *err)
{
    if (run->error.code == VUG_OK)
        run->error = *err;
    run->stop = true;
    (void)pthread_cond_broadcast(&run->changed);
}

/* Copies the next line into the worker's buffer. False at the end, and when the batch stops. */
static bool take_line(batch_worker *w, vug_batch_line *line)
{
    batch_run *run = w->run;
    vug_err err = { 0 };
    vug_status st = VUG_OK;
    (void)pthread_mutex_lock(&run->lock);
    *line = (vug_batch_line){ 0 };
    if (!run->stop)
        st = vug_batch_next_line(&run->lines, line, &err);
    w->line.len = 0;
    vug_buf_append(&w->line, line->text.ptr, line->text.len);
    if (st == VUG_OK)
        st = vug_buf_ok(&w->line, &err);
    if (st != VUG_OK)
        stop_with(run, &err);
    line->text = (vug_str){ w->line.ptr, w->line.len };
    (void)pthread_mutex_unlock(&run->lock);
    return st == VUG_OK && line->number > 0;
}

static void count_failure(batch_run *run, uint64_t line, const vug_err *reason)
{
    vug_batch_report *report = &run->report;
    report->failed++;
    if (report->first_failed == 0 || line < report->first_failed) {
        report->first_failed = line;
        report->first_failure = *reason;
    }
}

/* Writes the worker's output line, and counts. `reason`: why the request failed; NULL: it did not. */
static vug_status finish_line(batch_worker *w, uint64_t line, const vug_err *reason, vug_err *err)
{
    batch_run *run = w->run;
    (void)pthread_mutex_lock(&run->lock);
    const vug_status st = vug_batch_output_append(&run->output, &w->out, err);
    run->report.answered += st == VUG_OK;
    if (st == VUG_OK && reason)
        count_failure(run, line, reason);
    (void)pthread_cond_broadcast(&run->changed);
    (void)pthread_mutex_unlock(&run->lock);
    return st;
}

/* The message of an error of the API. */
static void read_failure(const vug_call_response *response, vug_arena *arena, vug_err *reason)
{
    const vug_jv *root = NULL;
    const vug_jv *message = NULL;
    if (vug_json_tree(response->body, "the response", arena, &root, NULL) == VUG_OK)
        message = vug_jv_get(vug_jv_get(root, "error"), "message");
    const vug_str text = message ? message->str : vug_str_of("");
    (void)VUG_FAIL(reason, VUG_FORMAT, "status %d: %.*s", response->status, VUG_STR_ARG(text));
}

/* Answers one line, unless the output has its answer. */
static vug_status answer_line(batch_worker *w, const vug_batch_line *line, vug_arena *arena,
                              vug_err *err)
{
    batch_run *run = w->run;
    const uint64_t number = vug_splitmix64_at(run->seed, line->number);
    vug_batch_request request;
    vug_call_response response = { 0 };
    vug_batch_entry *entry;
    vug_err reason;
    char id[40];
    const vug_status parsed = vug_batch_line_parse(line, arena, &request, &reason);
    VUG_TRY(vug_batch_index_find(&run->index, request.custom_id, line->number, &entry, err));
    /* Without an entry the line was appended to the input since it was read first. */
    if (!entry || entry->answered)
        return VUG_OK;
    w->out.len = 0;
    if (parsed == VUG_OK) {
        (void)snprintf(id, sizeof(id), "batch-%llu", (unsigned long long)line->number);
        VUG_TRY(vug_server_call_run(w->call, request.endpoint, request.body, id, &response, err));
        vug_batch_response_write(&request, number, response.status, response.body, &w->out);
        if (response.status != VUG_HTTP_OK)
            read_failure(&response, arena, &reason);
    } else {
        vug_batch_error_write(request.custom_id, number, line->number, reason.msg, &w->out);
    }
    return finish_line(w, line->number, response.status == VUG_HTTP_OK ? NULL : &reason, err);
}

static void *run_batch_worker(void *arg)
{
    batch_worker *w = arg;
    batch_run *run = w->run;
    vug_batch_line line;
    while (take_line(w, &line)) {
        vug_arena arena = { .budget = VUG_API_MAX_JSON_MEMORY };
        vug_err err = { 0 };
        const vug_status st = answer_line(w, &line, &arena, &err);
        vug_arena_release(&arena);
        if (st != VUG_OK) {
            (void)pthread_mutex_lock(&run->lock);
            stop_with(run, &err);
            (void)pthread_mutex_unlock(&run->lock);
        }
    }
    (void)pthread_mutex_lock(&run->lock);
    run->n_running--;
    (void)pthread_cond_broadcast(&run->changed);
    (void)pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* ---- the thread that called ------------------------------------------------------------ */

static void on_loaded(const vug_err *err, void *user)
{
    batch_run *run = user;
    (void)pthread_mutex_lock(&run->lock);
    run->loaded = true;
    if (err)
        stop_with(run, err);
    (void)pthread_cond_broadcast(&run->changed);
    (void)pthread_mutex_unlock(&run->lock);
}

/* Waits for a change, at most POLL_MS. Under the lock. */
static void wait_a_moment(batch_run *run)
{
    struct timespec until;
    (void)timespec_get(&until, TIME_UTC);
    until.tv_nsec += POLL_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&run->changed, &run->lock, &until);
}

/* Reports progress, and stops the batch when the caller wants that. Under the lock. */
static void report_progress(batch_run *run)
{
    const vug_batch_options *opt = run->opt;
    const vug_batch_report *r = &run->report;
    vug_err err;
    if (run->stop || !opt->progress || opt->progress(r->answered, r->requests - r->kept, opt->user))
        return;
    (void)VUG_FAIL(&err, VUG_CANCELLED, "interrupted");
    stop_with(run, &err);
}

/* Loads the model. */
static void load_model(batch_run *run)
{
    vug_service_start(run->service, on_loaded, run);
    (void)pthread_mutex_lock(&run->lock);
    while (!run->loaded) {
        wait_a_moment(run);
        report_progress(run);
        if (run->stop)
            vug_service_cancel_loading(run->service);
    }
    (void)pthread_mutex_unlock(&run->lock);
}

static vug_status start_workers(batch_run *run, vug_err *err)
{
    run->max_workers = (size_t)run->service->opt.model.slots + 1;
    run->worker = vug_alloc_zero(run->max_workers, sizeof(*run->worker));
    if (!run->worker)
        return VUG_FAIL_NOMEM(err, "requests", run->max_workers * sizeof(*run->worker));
    for (size_t i = 0; i < run->max_workers; i++) {
        batch_worker *w = &run->worker[i];
        w->run = run;
        VUG_TRY(vug_server_call_create(run->service, &w->call, err));
        (void)pthread_mutex_lock(&run->lock);
        run->n_running++;
        (void)pthread_mutex_unlock(&run->lock);
        if (pthread_create(&w->thread, NULL, run_batch_worker, w) != 0) {
            (void)pthread_mutex_lock(&run->lock);
            run->n_running--;
            (void)pthread_mutex_unlock(&run->lock);
            return VUG_FAIL(err, VUG_NOMEM, "cannot start a thread for requests");
        }
        run->n_workers++;
    }
    return VUG_OK;
}

static void wait_for_workers(batch_run *run)
{
    bool cancelled = false;
    (void)pthread_mutex_lock(&run->lock);
    while (run->n_running > 0) {
        report_progress(run);
        for (size_t i = 0; run->stop && !cancelled && i < run->n_workers; i++)
            vug_server_call_cancel(run->worker[i].call);
        cancelled = run->stop;
        wait_a_moment(run);
    }
    (void)pthread_mutex_unlock(&run->lock);
    for (size_t i = 0; i < run->n_workers; i++)
        (void)pthread_join(run->worker[i].thread, NULL);
}

static void answer_all(batch_run *run)
{
    const double start = vug_now();
    vug_err err;
    if (start_workers(run, &err) != VUG_OK) {
        (void)pthread_mutex_lock(&run->lock);
        stop_with(run, &err);
        (void)pthread_mutex_unlock(&run->lock);
    }
    wait_for_workers(run);
    run->report.seconds = vug_now() - start;
    for (size_t i = 0; run->worker && i < run->max_workers; i++) {
        vug_server_call_destroy(run->worker[i].call);
        vug_buf_release(&run->worker[i].line);
        vug_buf_release(&run->worker[i].out);
    }
    vug_free(run->worker);
}

static void count_tokens(batch_run *run)
{
    vug_metrics *metrics = run->service->opt.http.metrics;
    vug_batch_report *r = &run->report;
    r->prompt_tokens = (uint64_t)vug_metrics_get(metrics, VUG_METRIC_PROMPT_TOKENS, NULL);
    r->cached_tokens = (uint64_t)vug_metrics_get(metrics, VUG_METRIC_CACHED_TOKENS, NULL);
    r->generated_tokens = (uint64_t)vug_metrics_get(metrics, VUG_METRIC_GENERATED_TOKENS, NULL);
}

/* Answers what the output does not answer yet. */
static vug_status run_requests(batch_run *run, vug_err *err)
{
    vug_server_options options = run->opt->server;
    options.max_waiting = INT_MAX; /* no more requests wait than there are workers */
    VUG_TRY(vug_lines_open(&run->lines, run->opt->input, run->opt->input, VUG_BATCH_MAX_LINE, err));
    vug_status st = vug_metrics_create(&options.http.metrics, err);
    if (st == VUG_OK)
        st = vug_service_create(&options, &run->service, err);
    if (st == VUG_OK) {
        load_model(run);
        if (!run->stop)
            answer_all(run);
        count_tokens(run);
    }
    vug_service_destroy(run->service);
    vug_metrics_destroy(options.http.metrics);
    vug_lines_close(&run->lines);
    if (st == VUG_OK && run->error.code != VUG_OK) {
        *err = run->error;
        st = err->code;
    }
    return st;
}

/* With the index of the input. */
static vug_status run_with_output(batch_run *run, vug_err *err)
{
    vug_err unsynced;
    VUG_TRY(vug_batch_output_open(&run->output, run->opt->output, run->opt->input, &run->index,
                                  err));
    run->report.kept = run->index.n_answered;
    vug_status st = VUG_OK;
    if (run->report.kept < run->report.requests)
        st = run_requests(run, err);
    const vug_status closed = vug_batch_output_close(&run->output, &unsynced);
    if (st == VUG_OK && closed != VUG_OK) {
        *err = unsynced;
        st = closed;
    }
    return st;
}

vug_status vug_batch_run(const vug_batch_options *options, vug_batch_report *report, vug_err *err)
{
    struct timespec now = { 0 };
    batch_run run = { .opt = options };
    (void)timespec_get(&now, TIME_UTC);
    run.seed = vug_hash64((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    (void)pthread_mutex_init(&run.lock, NULL);
    (void)pthread_cond_init(&run.changed, NULL);
    vug_status st = vug_batch_index_read(&run.index, options->input, err);
    run.report.requests = run.index.n;
    if (st == VUG_OK)
        st = run_with_output(&run, err);
    vug_batch_index_release(&run.index);
    (void)pthread_cond_destroy(&run.changed);
    (void)pthread_mutex_destroy(&run.lock);
    *report = run.report;
    return st;
}
