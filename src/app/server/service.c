#include "app/server/service_own.h"

#include <time.h>

#include "core/os.h"

/* ---- the model ---------------------------------------------------------------------- */

static bool go_on(uint64_t done, uint64_t total, void *user)
{
    vug_service *s = user;
    (void)done;
    (void)total;
    return !atomic_load(&s->given_up);
}

/* How it speaks. A model without a template, or with one that is not read, can still
 * continue texts. */
static vug_status open_chat(vug_service *s, vug_err *err)
{
    if (s->opt.chat_template)
        VUG_TRY(vug_chat_open(s->opt.path, s->opt.chat_template, &s->own_chat, err));
    s->chat = s->own_chat ? s->own_chat : vug_model_chat(s->model, &s->no_chat);
    return VUG_OK;
}

static vug_status load(vug_service *s, vug_err *err)
{
    vug_model_options how = s->opt.model;
    how.progress = go_on;
    how.user = s;
    VUG_TRY(vug_model_open(s->opt.path, &how, &s->model, err));
    s->info = vug_model_describe(s->model);
    s->tokenizer = vug_model_tokenizer(s->model, err);
    if (!s->tokenizer)
        return VUG_UNSUPPORTED;
    VUG_TRY(open_chat(s, err));
    s->sampling = vug_model_sampling(s->model);
    return vug_sessions_init(&s->sessions, s->model, s->opt.max_sessions, how.memory_limit,
                             s->opt.metrics, err);
}

static void run_loading(vug_job *job)
{
    vug_service *s = (vug_service *)((char *)job - offsetof(vug_service, loading));
    vug_err err;
    const vug_status st = load(s, &err);
    if (st == VUG_OK)
        vug_metrics_set(s->opt.metrics, VUG_METRIC_MODEL_BYTES,
                        (double)(s->info.memory.total - s->sessions.bytes));
    atomic_store(&s->state, st == VUG_OK ? VUG_SERVICE_READY : VUG_SERVICE_FAILED);
    if (s->opt.loaded)
        s->opt.loaded(s->name, s->model, s->sessions.max, st == VUG_OK ? NULL : &err, s->opt.user);
}

/* The folder's or the file's name, without slashes behind it. */
static vug_str name_of(const char *path)
{
    vug_str name = vug_str_of(path);
    while (name.len > 1 && name.ptr[name.len - 1] == '/')
        name.len--;
    for (size_t i = name.len; i > 0; i--) {
        if (name.ptr[i - 1] == '/' && i < name.len)
            return (vug_str){ name.ptr + i, name.len - i };
    }
    return name;
}

vug_status vug_service_create(const vug_service_options *options, vug_service **out, vug_err *err)
{
    struct timespec now = { 0 };
    for (size_t i = 0; i < options->aliases.n; i++) {
        if (!*options->aliases.item[i])
            return VUG_FAIL(err, VUG_ARGUMENT, "--alias: expected a name, or * for any");
    }
    vug_service *s = vug_alloc_zero(1, sizeof(*s));
    if (!s)
        return VUG_FAIL_NOMEM(err, "the service", sizeof(*s));
    (void)timespec_get(&now, TIME_UTC);
    s->opt = *options;
    s->name = name_of(options->path);
    if (vug_str_is(s->name, ".") || vug_str_is(s->name, ".."))
        s->plain_path = vug_path_plain(options->path);
    if (s->plain_path)
        s->name = name_of(s->plain_path);
    s->created = (int64_t)now.tv_sec;
    s->seed = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    s->loading.run = run_loading;
    vug_status st = vug_grammars_create(options->metrics, &s->grammars, err);
    if (st == VUG_OK)
        st = vug_worker_create(options->max_waiting, options->metrics, &s->worker, err);
    if (st != VUG_OK) {
        vug_free(s->plain_path);
        vug_grammars_destroy(s->grammars);
        vug_free(s);
        return st;
    }
    *out = s;
    return VUG_OK;
}

void vug_service_start(vug_service *s)
{
    s->loading.worker = s->worker;
    if (vug_worker_admit(s->worker)) /* it is the first */
        vug_worker_push(&s->loading);
}

void vug_service_serve(vug_service *s, vug_http *http)
{
    atomic_store(&s->http, http);
}

void vug_service_give_up(vug_service *s)
{
    atomic_store(&s->given_up, true);
}

void vug_service_destroy(vug_service *s)
{
    if (!s)
        return;
    vug_worker_destroy(s->worker);
    vug_sessions_release(&s->sessions);
    vug_grammars_destroy(s->grammars);
    vug_chat_close(s->own_chat);
    vug_model_close(s->model);
    vug_free(s->plain_path);
    vug_free(s);
}
