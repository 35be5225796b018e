/* Opens models. */
#include "engine/draft_model.h"

enum {
    DEFAULT_CONTEXT = 4096,
    DEFAULT_BATCH = 512,
    MAX_BATCH = 1 << 16,
    MAX_CONTEXT = 1 << 24,
    DEFAULT_SNAPSHOT_PERCENT = 25,
};

#define DEFAULT_CACHE_SIZE ((uint64_t)10 << 30)
#define DISK_QUEUE_BYTES   ((size_t)256 << 20) /* of pages that wait to be written */

/* ---- options --------------------------------------------------------------------- */

vug_status vug_limits_choose(const vug_model_options *o, const vug_config *c, vug_limits *out,
                             vug_err *err)
{
    int64_t context = o->context;
    if (context == 0)
        context = c->context < DEFAULT_CONTEXT ? c->context : DEFAULT_CONTEXT;
    int64_t batch = o->batch ? o->batch : DEFAULT_BATCH;
    if (context < 1 || context > MAX_CONTEXT)
        return VUG_FAIL(err, VUG_ARGUMENT, "context: %lld, expected 1 to %d tokens",
                        (long long)context, MAX_CONTEXT);
    if (batch < 1 || batch > MAX_BATCH)
        return VUG_FAIL(err, VUG_ARGUMENT, "batch: %lld, expected 1 to %d tokens", (long long)batch,
                        MAX_BATCH);
    if (batch > context)
        batch = context;
    const int64_t slots = o->slots ? o->slots : 1;
    if (slots < 1 || slots > MAX_BATCH)
        return VUG_FAIL(err, VUG_ARGUMENT, "slots: %lld, expected 1 to %d", (long long)slots,
                        MAX_BATCH);
    *out = (vug_limits){ .context = context,
                         .batch = batch,
                         .rows = slots < batch ? slots : batch };
    return VUG_OK;
}

/* ---- opening ------------------------------------------------------------------------ */

/* Reads the bound tensors in the order of the file, which is fastest for disks. */
static vug_status read_ahead(const vug_model *m, const vug_model_options *o, vug_err *err)
{
    const vug_checkpoint *c = &m->checkpoint;
    uint64_t done = 0;
    for (size_t i = 0; i < vug_weights_count(c->weights); i++) {
        const vug_tensor *t = vug_weights_at(c->weights, i);
        if (!vug_checkpoint_uses(c, t) || vug_model_is_table(m, t))
            continue;
        if (!vug_weights_populate(c->weights, t, &done, m->info.memory.weights_mapped, o->progress,
                                  o->user))
            return VUG_FAIL(err, VUG_CANCELLED, "%s: loading was cancelled", m->path);
    }
    return VUG_OK;
}

/* With a memory limit the copy of the head could be what passes it. */
static vug_status choose_head_screen(vug_model *m, const vug_model_options *o, vug_err *err)
{
    const char *choice = o->head_screen ? o->head_screen : "auto";
    const bool is_limited = o->memory_limit || m->profile.budget;
    if (strcmp(choice, "on") == 0)
        m->head_screen = VUG_HEAD_SCREEN_ON;
    else if (strcmp(choice, "auto") == 0)
        m->head_screen = is_limited ? VUG_HEAD_SCREEN_OFF : VUG_HEAD_SCREEN_AUTO;
    else if (strcmp(choice, "off") != 0)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "head_screen: '%s', expected \"auto\", \"on\" or \"off\"", choice);
    return VUG_OK;
}

/* Loads the profile and applies the options that override it. */
static vug_status load_profile(vug_model *m, const char *folder, const vug_model_options *o,
                               vug_err *err)
{
    VUG_TRY(vug_profile_load(o->profile, folder, "prefill", &m->profile, err));
    m->kv_given = o->kv != NULL;
    m->activations_given = o->activations != NULL;
    if (o->kv)
        m->profile.kv = vug_kv_format_find(vug_str_of(o->kv));
    if (m->profile.kv == VUG_KV_COUNT)
        return VUG_FAIL(err, VUG_ARGUMENT, "kv: '%s', expected %s", o->kv, VUG_KV_FORMAT_NAMES);
    if (o->activations)
        m->profile.activations = vug_activations_find(vug_str_of(o->activations));
    if (m->profile.activations == VUG_ACTIVATIONS_COUNT)
        return VUG_FAIL(err, VUG_ARGUMENT, "activations: '%s', expected %s", o->activations,
                        VUG_ACTIVATIONS_NAMES);
    return choose_head_screen(m, o, err);
}

static vug_status open_disk(vug_model *m, const vug_model_options *o, vug_err *err)
{
    const vug_page_store_options options = {
        .folder = o->cache_dir,
        .budget = o->cache_size ? o->cache_size : DEFAULT_CACHE_SIZE,
        .queue = DISK_QUEUE_BYTES,
        .warn = o->warn,
        .user = o->user,
    };
    VUG_TRY(vug_model_fingerprint(m, &m->prefix_key, err));
    return vug_kv_disk_open(&options, m->kv_pool, m->prefix_tree, &m->kv_disk, err);
}

static vug_status create_cache(vug_model *m, const vug_model_options *o, vug_err *err)
{
    if (o->snapshot_percent < -1 || o->snapshot_percent > 100)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "snapshot_percent: %d, expected 1 to 100, or -1 for none",
                        o->snapshot_percent);
    const int percent = o->snapshot_percent == 0  ? DEFAULT_SNAPSHOT_PERCENT
                        : o->snapshot_percent < 0 ? 0
                                                  : o->snapshot_percent;
    VUG_TRY(vug_kv_pool_create(m->backend, m->device,
                               m->backend->kv_layout(m->main.compiled.program),
                               vug_model_kv_budget(m, o), &m->kv_pool, err));
    VUG_TRY(vug_prefix_tree_create(m->kv_pool, percent / 100.0, &m->prefix_tree, err));
    if (o->cache_dir)
        VUG_TRY(open_disk(m, o, err));
    return vug_scheduler_create(m, &m->scheduler, err);
}

/* Compiles the model's program, and describes the model. */
static vug_status compile_main(vug_model *m, vug_err *err)
{
    const int64_t rows = m->limits.rows + VUG_MAX_DRAFT;
    VUG_TRY(vug_step_runner_init(&m->main, m, rows < m->limits.batch ? rows : m->limits.batch,
                                 false, err));
    vug_model_fill_info(m);
    return VUG_OK;
}

/* The longest context whose keys and values fit `budget` bytes; 0: none. */
static int64_t longest_context(const vug_model *m, uint64_t budget)
{
    const vug_kv_layout *layout = m->backend->kv_layout(m->main.compiled.program);
    int64_t fits = 0, too_long = vug_kv_pages_of(m->limits.context); /* pages */
    while (too_long - fits > 1) {
        const int64_t pages = fits + (too_long - fits) / 2, context = pages * VUG_KV_PAGE;
        const vug_limits limits = { .context = context,
                                    .batch =
                                            m->limits.batch < context ? m->limits.batch : context };
        const bool ok = vug_kv_sequence_bytes(m->backend, m->device, layout, &limits) <= budget;
        *(ok ? &fits : &too_long) = pages;
    }
    return fits * VUG_KV_PAGE;
}

/* A context that the memory for keys and values does not hold is shortened, unless the caller chose
 * it. A draft model's has been chosen already. */
static vug_status fit_context(vug_model *m, const vug_model_options *o, vug_err *err)
{
    const uint64_t needed = m->info.memory.session_cache;
    vug_model_options fitting = *o;
    if (m->is_draft || o->kv_memory == 0 || needed <= o->kv_memory)
        return VUG_OK;
    fitting.context = (int)longest_context(m, o->kv_memory);
    if (o->context > 0 || fitting.context == 0)
        return VUG_FAIL(err, VUG_LIMIT,
                        "%s: the keys and values of a context of %lld tokens need %llu bytes, but "
                        "%llu are allowed, which hold %d tokens",
                        m->path, (long long)m->limits.context, (unsigned long long)needed,
                        (unsigned long long)o->kv_memory, fitting.context);
    VUG_TRY(vug_limits_choose(&fitting, &m->checkpoint.config, &m->limits, err));
    vug_step_runner_release(&m->main);
    return compile_main(m, err);
}

/* Closes the device and what is on it. */
static void close_program(vug_model *m)
{
    vug_step_runner_release(&m->main);
    if (m->weights)
        m->backend->weights_destroy(m->weights);
    if (m->experts.weights)
        vug_backend_host()->weights_destroy(m->experts.weights);
    m->weights = NULL;
    vug_model_close_device(m);
}

/* Opens the model's device, with `backend` for what is not on the CPU, compiles the program for the
 * checkpoint, and checks that there is memory for it. */
static vug_status try_placement(vug_model *m, const vug_model_options *o,
                                const vug_backend *backend, vug_placement placement, vug_err *err)
{
    const vug_device_options device = { .isa = o->isa,
                                        .threads = o->threads,
                                        .memory_limit = vug_model_memory_limit(m, o) };
    close_program(m);
    VUG_TRY(vug_limits_choose(o, &m->checkpoint.config, &m->limits, err));
    VUG_TRY(vug_model_open_device(m, backend, &device, placement, err));
    VUG_TRY(vug_model_create_weights(m, err));
    VUG_TRY(compile_main(m, err));
    VUG_TRY(fit_context(m, o, err));
    return vug_model_check_memory(m, o, err);
}

/* Places as much on the device as it has memory for. Whether a placement fits is found by planning it, as
 * all of it is: nothing is read. `whole`: what placing all of it failed with. */
static vug_status fit_placement(vug_model *m, const vug_model_options *o,
                                const vug_backend *backend, const vug_err *whole, vug_err *err)
{
    int64_t too_much = 0, fits = vug_model_placements(m, o->cpu_experts) - 1;
    while (fits - too_much > 1) {
        const int64_t i = too_much + (fits - too_much) / 2;
        const vug_placement tried = vug_model_placement(m, o->cpu_experts, i);
        *(try_placement(m, o, backend, tried, NULL) == VUG_OK ? &fits : &too_much) = i;
    }
    const vug_placement placement = vug_model_placement(m, o->cpu_experts, fits);
    if (try_placement(m, o, backend, placement, NULL) == VUG_OK) {
        vug_model_describe_placement(m, backend, placement.layers, true);
        return VUG_OK;
    }
    if (err)
        *err = *whole;
    return whole->code;
}

/* Two CPU devices are a test of what is on two devices, which one asks for by the name "cpu". */
static vug_status check_placement(const vug_model *m, const vug_model_options *o,
                                  const vug_backend *backend, vug_err *err)
{
    const bool is_alone = !o->device && backend == vug_backend_host();
    if (o->gpu_layers < -1)
        return VUG_FAIL(err, VUG_ARGUMENT, "gpu_layers: %d, expected -1 or more", o->gpu_layers);
    if (o->gpu_layers > 0 && is_alone)
        return VUG_FAIL(
                err, VUG_ARGUMENT,
                "gpu_layers: %d, expected none: no GPU is available (`vug devices` lists the "
                "devices)",
                o->gpu_layers);
    if (o->cpu_experts < 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "cpu_experts: %d, expected 0 or more", o->cpu_experts);
    if (o->cpu_experts > 0 && m->checkpoint.config.n_experts == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "cpu_experts: %d, expected 0: the model has no experts",
                        o->cpu_experts);
    if (o->cpu_experts > 0 && is_alone)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "cpu_experts: %d, expected 0: no GPU is available (`vug devices` lists the "
                        "devices)",
                        o->cpu_experts);
    return VUG_OK;
}

/* Opens the devices and compiles the program for the checkpoint, which is open already. `folder` may
 * contain a profile. */
static vug_status open_program(vug_model *m, const char *folder, const vug_model_options *o,
                               vug_err *err)
{
    vug_placement placement = vug_model_placement(m, o->cpu_experts, 0); /* all there */
    vug_err whole;
    VUG_TRY(load_profile(m, folder, o, err));
    const vug_backend *backend = vug_backend_select(o->device, err);
    if (!backend)
        return VUG_ARGUMENT;
    VUG_TRY(check_placement(m, o, backend, err));
    if (o->gpu_layers != 0)
        placement.layers = o->gpu_layers > 0 ? o->gpu_layers : 0;
    const vug_status st = try_placement(m, o, backend, placement, &whole);
    const bool lacks_memory = st == VUG_NOMEM || st == VUG_LIMIT;
    if (lacks_memory && o->gpu_layers == 0 && backend != vug_backend_host())
        return fit_placement(m, o, backend, &whole, err);
    if (st == VUG_OK)
        vug_model_describe_placement(m, backend, placement.layers, false);
    else if (err)
        *err = whole;
    return st;
}

/* Takes the memory that the program needs. */
static vug_status open_memory(vug_model *m, const vug_model_options *o, vug_err *err)
{
    VUG_TRY(vug_model_check_memory(m, o, err));
    VUG_TRY(create_cache(m, o, err));
    if (o->lazy)
        return VUG_OK;
    if (vug_weights_mapped(m->checkpoint.weights) > 0)
        VUG_TRY(read_ahead(m, o, err));
    return m->backend->weights_load ? m->backend->weights_load(m->weights, err) : VUG_OK;
}

static vug_status create_model(const char *path, vug_model **out, vug_err *err)
{
    vug_model *m = vug_alloc_zero(1, sizeof(*m));
    if (!m || !(m->path = vug_strdup(path))) {
        vug_free(m);
        return VUG_FAIL_NOMEM(err, path, sizeof(*m));
    }
    *out = m;
    return VUG_OK;
}

static void close_one(vug_model *m)
{
    if (!m)
        return;
    vug_scheduler_destroy(m->scheduler);
    vug_kv_disk_close(m->kv_disk);
    vug_prefix_tree_destroy(m->prefix_tree);
    vug_kv_pool_destroy(m->kv_pool);
    close_program(m);
    vug_chat_close(m->chat);
    vug_checkpoint_release(&m->checkpoint);
    vug_free(m->path);
    vug_free(m);
}

void vug_model_close(vug_model *m)
{
    vug_model *draft = m ? m->draft : NULL;
    close_one(m);
    close_one(draft);
}

static vug_status open_checkpoint(vug_model *m, const vug_model_options *o, vug_err *err)
{
    VUG_TRY(vug_checkpoint_open(m->path, &m->checkpoint, err));
    return open_program(m, m->path, o, err);
}

/* What a draft model has in common with the model that it writes for. */
static vug_model_options draft_options(const vug_model *m, const vug_model_options *o)
{
    return (vug_model_options){ .device = o->device,
                                .gpu_layers = o->gpu_layers < 0 ? -1 : 0,
                                .context = (int)m->limits.context,
                                .batch = o->batch,
                                .threads = o->threads,
                                .slots = o->slots,
                                .snapshot_percent = o->snapshot_percent,
                                .isa = o->isa,
                                .kv = o->kv,
                                .activations = o->activations,
                                .head_screen = o->head_screen,
                                .lazy = o->lazy,
                                .progress = o->progress,
                                .user = o->user };
}

/* After the model's own program, which says how long the context is. */
static vug_status open_draft(vug_model *m, const vug_model_options *o, vug_err *err)
{
    const vug_model_options of_draft = draft_options(m, o);
    VUG_TRY(create_model(o->draft, &m->draft, err));
    m->draft->is_draft = true;
    VUG_TRY(open_checkpoint(m->draft, &of_draft, err));
    VUG_TRY(vug_draft_model_check(m, m->draft, err));
    VUG_TRY(open_memory(m->draft, &of_draft, err));
    vug_model_fill_info(m);
    return VUG_OK;
}

vug_status vug_model_open(const char *path, const vug_model_options *options, vug_model **out,
                          vug_err *err)
{
    const vug_model_options none = { 0 }, *o = options ? options : &none;
    vug_model *m;
    VUG_TRY(create_model(path, &m, err));
    vug_status st = open_checkpoint(m, o, err);
    if (st == VUG_OK && o->draft)
        st = open_draft(m, o, err);
    if (st == VUG_OK)
        st = open_memory(m, o, err);
    if (st == VUG_OK)
        st = vug_model_load_chat(m, path, err);
    if (st != VUG_OK) {
        vug_model_close(m);
        return st;
    }
    *out = m;
    return VUG_OK;
}

vug_status vug_model_from_weights(const vug_config *config, vug_weights *weights, const char *name,
                                  const vug_model_options *options, vug_model **out, vug_err *err)
{
    const vug_model_options none = { 0 };
    vug_model *m;
    vug_status st = create_model(name, &m, err);
    if (st != VUG_OK) {
        vug_weights_close(weights);
        return st;
    }
    (void)VUG_FAIL(&m->no_chat, VUG_UNSUPPORTED, "%s: made in memory, so there is no chat template",
                   name);
    st = vug_checkpoint_from_weights(config, weights, name, &m->checkpoint, err);
    if (st == VUG_OK)
        st = open_program(m, NULL, options ? options : &none, err);
    if (st == VUG_OK)
        st = open_memory(m, options ? options : &none, err);
    if (st != VUG_OK) {
        vug_model_close(m);
        return st;
    }
    *out = m;
    return VUG_OK;
}
