#include <string.h>
#include <time.h>

#include "core/os.h"
#include "server/internal.h"

enum { DEFAULT_SLOTS = 16 };

static bool keep_loading(uint64_t done, uint64_t total, void *user)
{
    vug_service *s = user;
    (void)done;
    (void)total;
    return !atomic_load(&s->loading_cancelled);
}

/* A model without a usable chat template can still complete text. */
static vug_status open_chat(vug_service *s, vug_err *err)
{
    if (s->opt.chat_template)
        VUG_TRY(vug_chat_open(s->opt.model_path, s->opt.chat_template, &s->own_chat, err));
    s->chat = s->own_chat ? s->own_chat : vug_model_chat(s->model, &s->chat_error);
    return VUG_OK;
}

static vug_status load_model(vug_service *s, vug_err *err)
{
    vug_model_options options = s->opt.model;
    options.progress = keep_loading;
    options.user = s;
    VUG_TRY(vug_model_open(s->opt.model_path, &options, &s->model, err));
    s->info = vug_model_describe(s->model);
    s->tokenizer = vug_model_tokenizer(s->model, err);
    if (!s->tokenizer)
        return VUG_UNSUPPORTED;
    VUG_TRY(open_chat(s, err));
    s->sampling = vug_model_sampling(s->model);
    for (size_t i = 0; i < (size_t)s->info.n_layers; i++)
        s->has_windows |= vug_model_layer(s->model, i).window > 0;
    return VUG_OK;
}

static void run_load_job(vug_job *job)
{
    vug_service *s = (vug_service *)((char *)job - offsetof(vug_service, load_job));
    vug_err err;
    const vug_status st = load_model(s, &err);
    if (st == VUG_OK)
        vug_metrics_set(s->opt.http.metrics, VUG_METRIC_MODEL_BYTES,
                        (double)(s->info.memory.total - s->info.memory.cache));
    atomic_store(&s->state, st == VUG_OK ? VUG_SERVICE_READY : VUG_SERVICE_FAILED);
    if (s->loaded)
        s->loaded(st == VUG_OK ? NULL : &err, s->loaded_user);
}

/* The last component of a path, without trailing slashes. */
static vug_str base_name(const char *path)
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

static void set_queue_metric(int n, void *user)
{
    vug_metrics_set(user, VUG_METRIC_QUEUE, n);
}

vug_status vug_service_create(const vug_server_options *options, vug_service **out, vug_err *err)
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
    if (s->opt.model.slots == 0)
        s->opt.model.slots = DEFAULT_SLOTS;
    s->name = base_name(options->model_path);
    if (vug_str_is(s->name, ".") || vug_str_is(s->name, ".."))
        s->resolved_path = vug_path_real(options->model_path);
    if (s->resolved_path)
        s->name = base_name(s->resolved_path);
    s->created = (int64_t)now.tv_sec;
    s->seed = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    s->load_job.run = run_load_job;
    s->last_slot = &s->first_slot;
    vug_status st = vug_mutex_create(&s->slots_lock, err);
    if (st == VUG_OK)
        st = vug_mutex_create(&s->embedder_lock, err);
    if (st == VUG_OK)
        st = vug_grammar_cache_create(options->http.metrics, &s->grammars, err);
    if (st == VUG_OK)
        st = vug_answer_cache_create(VUG_ANSWER_CACHE_BYTES, &s->answers, err);
    if (st == VUG_OK)
        st = vug_job_queue_create(s->opt.model.slots, options->max_waiting, set_queue_metric,
                                  options->http.metrics, &s->queue, err);
    if (st != VUG_OK) {
        vug_service_destroy(s);
        return st;
    }
    *out = s;
    return VUG_OK;
}

void vug_service_start(vug_service *s, vug_service_loaded_fn *loaded, void *user)
{
    s->loaded = loaded;
    s->loaded_user = user;
    s->load_job.queue = s->queue;
    if (vug_job_queue_admit(s->queue)) /* true: it is the first job */
        vug_job_push(&s->load_job);
}

void vug_service_cancel_loading(vug_service *s)
{
    atomic_store(&s->loading_cancelled, true);
}

void vug_service_destroy(vug_service *s)
{
    if (!s)
        return;
    vug_job_queue_destroy(s->queue);
    vug_answer_cache_destroy(s->answers);
    vug_grammar_cache_destroy(s->grammars);
    vug_chat_close(s->own_chat);
    vug_embedder_destroy(s->embedder);
    vug_model_close(s->model);
    vug_mutex_destroy(s->slots_lock);
    vug_mutex_destroy(s->embedder_lock);
    vug_free(s->resolved_path);
    vug_free(s);
}

bool vug_service_has_name(const vug_service *s, vug_str name)
{
    const vug_string_list *aliases = &s->opt.aliases;
    if (vug_str_equal(name, s->name))
        return true;
    for (size_t i = 0; i < aliases->n; i++) {
        if (strcmp(aliases->item[i], "*") == 0 || vug_str_is(name, aliases->item[i]))
            return true;
    }
    return false;
}
