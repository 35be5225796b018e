/*
 * Sessions: the KV cache of a sequence and the steps that extend it.
 *
 * The caller always passes the whole prefix; the session keeps the part that the
 * cache has in common with it. The ring of a sliding layer overwrites old tokens, so
 * a session can go back only while every ring still holds the window before the new
 * end, or to a snapshot of that window.
 */
#include "engine/session.h"

#include "core/cancel.h"

/* ---- lifetime ------------------------------------------------------------------------ */

vug_status vug_session_create(vug_model *model, vug_session **out, vug_err *err)
{
    const vug_limits *limits = &model->main.limits;
    vug_session *s = vug_alloc_zero(1, sizeof(*s));
    if (!s)
        return VUG_FAIL_NOMEM(err, "a session", sizeof(*s));
    s->model = model;
    s->token = vug_alloc((size_t)limits->context, sizeof(*s->token));
    s->row = vug_alloc((size_t)limits->batch, sizeof(*s->row));
    s->output = vug_alloc_zero(VUG_MAX_OUTPUTS, sizeof(*s->output));
    s->hidden = vug_alloc_zero((size_t)model->info.n_layers + 1, sizeof(*s->hidden));
    vug_status st = VUG_OK;
    if (!s->token || !s->row || !s->output || !s->hidden)
        st = VUG_FAIL_NOMEM(err, "a session", (size_t)limits->context * sizeof(*s->token));
    if (st == VUG_OK)
        st = model->backend->state_create(model->main.program, &s->state, err);
    if (st == VUG_OK)
        st = model->backend->workspace_create(model->main.program, &s->workspace, err);
    if (st == VUG_OK)
        st = vug_snapshots_init(s, err);
    if (st != VUG_OK) {
        vug_session_destroy(s);
        return st;
    }
    *out = s;
    return VUG_OK;
}

void vug_session_destroy(vug_session *s)
{
    if (!s)
        return;
    const vug_backend *backend = s->model->backend;
    if (s->all_logits_workspace)
        backend->workspace_destroy(s->all_logits_workspace);
    vug_compiled_release(&s->all_logits);
    vug_snapshots_release(s);
    if (s->workspace)
        backend->workspace_destroy(s->workspace);
    if (s->state)
        backend->state_destroy(s->state);
    vug_free(s->batch_span);
    vug_free(s->batch_token);
    vug_free(s->token);
    vug_free(s->row);
    vug_free(s->output);
    vug_free(s->hidden);
    vug_free(s);
}

void vug_session_reset(vug_session *s)
{
    s->n = 0;
    s->written = s->floor = 0;
    s->n_snapshots = 0;
    s->logits = NULL;
}

size_t vug_session_length(const vug_session *s)
{
    return s->n;
}

const float *vug_session_logits(const vug_session *s)
{
    return s->logits;
}

/* ---- going back --------------------------------------------------------------------- */

/* Returns the number of tokens of the prefix that a call can reuse, after it has restored
 * `*snapshot` unless that is NULL. `*common`: the tokens that cache and prefix share. */
static size_t find_common(const vug_session *s, const int32_t *id, size_t n, size_t *common,
                          const vug_snapshot **snapshot)
{
    size_t keep = 0;
    while (keep < s->n && keep < n && s->token[keep] == id[keep])
        keep++;
    *common = keep;
    if (keep == n && n > 0)
        keep--; /* recompute the last token for its logits */
    *snapshot = NULL;
    if (keep == s->n || vug_session_can_go_back(s, keep))
        return keep;
    *snapshot = vug_snapshot_before(s, keep);
    return *snapshot ? (*snapshot)->at : 0;
}

size_t vug_session_cached(const vug_session *s, const int32_t *id, size_t n, size_t *common)
{
    const vug_snapshot *snapshot;
    return find_common(s, id, n, common, &snapshot);
}

void vug_session_copy(vug_session *to, const vug_session *from, const int32_t *id, size_t n)
{
    size_t common;
    const vug_snapshot *snapshot;
    VUG_ASSERT(to != from && to->model == from->model);
    const size_t keep = find_common(from, id, n, &common, &snapshot);
    const vug_model *m = to->model;
    vug_session_reset(to);
    if (keep == 0)
        return;
    m->backend->state_copy(m->main.program, to->state, from->state, (int64_t)keep);
    memcpy(to->token, id, keep * sizeof(*id));
    to->n = keep;
    to->written = from->written; /* the copied rings are equally full */
    to->floor = from->floor;
    if (snapshot)
        vug_snapshot_restore(to, snapshot);
}

static size_t reuse_cache(vug_session *s, const int32_t *id, size_t n)
{
    size_t common;
    const vug_snapshot *snapshot;
    const size_t keep = find_common(s, id, n, &common, &snapshot);
    if (keep == 0)
        vug_session_reset(s);
    else if (snapshot)
        vug_snapshot_restore(s, snapshot);
    s->n = keep;
    vug_snapshots_drop_after(s, keep);
    return keep;
}

/* ---- steps --------------------------------------------------------------------------- */

/* Compiles the session's program with at least `rows` rows of logits or hidden states, unless
 * it has one already. */
static vug_status compile_all_logits(vug_session *s, size_t rows, bool hidden, vug_err *err)
{
    const vug_model *m = s->model;
    const int64_t had = s->all_logits_workspace ? s->all_logits.limits.rows : 0;
    if (had >= (int64_t)rows && (s->all_logits_hidden || !hidden))
        return VUG_OK;
    hidden = hidden || (had && s->all_logits_hidden);
    if (s->all_logits_workspace)
        m->backend->workspace_destroy(s->all_logits_workspace);
    s->all_logits_workspace = NULL;
    vug_compiled_release(&s->all_logits);
    vug_limits limits = m->main.limits;
    limits.rows = had > (int64_t)rows ? had : (int64_t)rows;
    VUG_TRY(vug_compile_model(m, &limits, hidden, &s->all_logits, err));
    s->all_logits_hidden = hidden;
    return m->backend->workspace_create(s->all_logits.program, &s->all_logits_workspace, err);
}

static const float *find_logits(const vug_session *s, const vug_compiled *c)
{
    for (uint32_t i = 0; i < c->fused.n_outputs; i++) {
        if (strcmp(c->fused.output[i].name, "logits") == 0)
            return s->output[i];
    }
    return NULL;
}

/* Hidden states are the outputs before the logits, in order. */
static void collect_hidden(const vug_session *s, const vug_compiled *c)
{
    size_t n = 0;
    for (uint32_t i = 0; i < c->fused.n_outputs; i++) {
        if (strcmp(c->fused.output[i].name, "logits") != 0)
            s->hidden[n++] = s->output[i];
    }
}

/* The program that runs the steps of a call. */
typedef struct {
    const vug_compiled *compiled;
    vug_workspace *workspace;
    const vug_cancel_token *cancel;
} step_runner;

/* Runs one step of `n` tokens, the last `rows` of which get logits. */
static vug_status run_step(vug_session *s, const step_runner *runner, const int32_t *id, size_t n,
                           size_t rows, vug_err *err)
{
    const vug_span span = { .state = s->state, .past = (int64_t)s->n, .n = (int64_t)n };
    for (size_t i = 0; i < rows; i++)
        s->row[i] = (int32_t)(n - rows + i);
    const vug_step_in in = { .span = &span,
                             .n_spans = 1,
                             .token = id,
                             .row = s->row,
                             .n_rows = (int64_t)rows,
                             .cancel = runner->cancel };
    const vug_compiled *c = runner->compiled;
    vug_mutex_lock(s->model->device_lock);
    const vug_status st = c->backend->run(c->program, runner->workspace, &in, s->output, err);
    vug_mutex_unlock(s->model->device_lock);
    /* Even a step that failed may have overwritten the oldest tokens of a ring. */
    if (s->n + n > s->written)
        s->written = s->n + n;
    if (st != VUG_OK)
        return st;
    memcpy(s->token + s->n, id, n * sizeof(*id));
    s->n += n;
    const float *logits = find_logits(s, c);
    s->logits = rows ? logits + (rows - 1) * (size_t)s->model->info.n_vocab : NULL;
    return VUG_OK;
}

vug_status vug_session_extend(vug_session *s, const int32_t *id, size_t n,
                              const vug_forward_options *o, vug_err *err)
{
    const size_t batch = (size_t)s->model->info.batch;
    const size_t chunk = o->chunk > 0 && (size_t)o->chunk < batch ? (size_t)o->chunk : batch;
    VUG_ASSERT(n <= (size_t)s->model->info.context - s->n);
    step_runner runner = { &s->model->main, s->workspace, o->cancel };
    if (o->all_logits || o->hidden) {
        VUG_TRY(compile_all_logits(s, o->all_logits ? chunk : 1, o->hidden, err));
        runner.compiled = &s->all_logits;
        runner.workspace = s->all_logits_workspace;
    }
    for (size_t at = 0; at < n;) {
        const size_t take = n - at < chunk ? n - at : chunk;
        const size_t rows = o->all_logits ? take : at + take == n;
        vug_status st = VUG_CANCELLED;
        if (!vug_is_cancelled(o->cancel))
            st = run_step(s, &runner, id + at, take, rows, err);
        if (st != VUG_OK)
            s->logits = NULL; /* the failed step may have overwritten them */
        if (st == VUG_CANCELLED)
            return VUG_FAIL(err, VUG_CANCELLED, "cancelled after %zu of %zu tokens", at, n);
        VUG_TRY(st);
        at += take;
        if (at < n)
            vug_snapshot_take(s, s->n);
        if (!o->on_step)
            continue;
        if (o->hidden)
            collect_hidden(s, runner.compiled);
        const vug_step seen = { .first = (int64_t)(s->n - take),
                                .n = (int64_t)take,
                                .n_logits = (int64_t)rows,
                                .logits = rows ? find_logits(s, runner.compiled) : NULL,
                                .hidden = o->hidden ? s->hidden : NULL };
        if (!o->on_step(&seen, o->user))
            return VUG_OK;
    }
    return VUG_OK;
}

static vug_status check_tokens(const vug_model *m, const int32_t *id, size_t n, vug_err *err)
{
    if (n == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "the prompt is empty: there is nothing to continue");
    if (n > (size_t)m->info.context)
        return VUG_FAIL(err, VUG_LIMIT,
                        "the prompt has %zu tokens, the context holds %lld; open the model with a "
                        "larger context (it was trained for %lld)",
                        n, (long long)m->info.context, (long long)m->info.context_trained);
    for (size_t i = 0; i < n; i++) {
        if (id[i] < 0 || id[i] >= m->info.n_vocab)
            return VUG_FAIL(err, VUG_ARGUMENT, "token %zu is %d, ids are 0 to %lld", i, id[i],
                            (long long)m->info.n_vocab - 1);
    }
    return VUG_OK;
}

vug_status vug_session_prepare(vug_session *s, const int32_t *id, size_t n, size_t *cached,
                               vug_err *err)
{
    VUG_TRY(check_tokens(s->model, id, n, err));
    *cached = reuse_cache(s, id, n);
    return VUG_OK;
}

vug_status vug_session_forward(vug_session *s, const int32_t *id, size_t n,
                               const vug_forward_options *options, vug_err *err)
{
    const vug_forward_options none = { 0 };
    const vug_forward_options *o = options ? options : &none;
    size_t cached;
    VUG_TRY(vug_session_prepare(s, id, n, &cached, err));
    if (o->all_logits || o->hidden) {
        vug_session_reset(s);
        cached = 0;
    }
    return vug_session_extend(s, id + cached, n - cached, o, err);
}

/* ---- several sessions in one step ------------------------------------------------------ */

/* Creates, once, what a step over several sessions needs. */
static vug_status prepare_batch(vug_session *s, vug_err *err)
{
    const size_t batch = (size_t)s->model->info.batch;
    VUG_TRY(compile_all_logits(s, batch, false, err));
    if (!s->batch_span)
        s->batch_span = vug_alloc(batch, sizeof(*s->batch_span));
    if (!s->batch_token)
        s->batch_token = vug_alloc(batch, sizeof(*s->batch_token));
    if (!s->batch_span || !s->batch_token)
        return VUG_FAIL_NOMEM(err, "a step of several sessions",
                              batch * (sizeof(*s->batch_span) + sizeof(*s->batch_token)));
    return VUG_OK;
}

static vug_status check_parts(const vug_step_part *part, size_t n_parts, vug_err *err)
{
    const vug_model_info *info = &part[0].session->model->info;
    size_t total = 0;
    for (size_t i = 0; i < n_parts; i++) {
        const vug_session *s = part[i].session;
        VUG_ASSERT(part[i].n > 0 && s->model == part[0].session->model);
        if (part[i].n > (size_t)info->context - s->n)
            return VUG_FAIL(err, VUG_LIMIT, "%zu tokens after %zu, the context holds %lld",
                            part[i].n, s->n, (long long)info->context);
        total += part[i].n;
    }
    if (total > (size_t)info->batch)
        return VUG_FAIL(err, VUG_LIMIT, "a step of %zu tokens, the batch is %lld", total,
                        (long long)info->batch);
    return VUG_OK;
}

vug_status vug_sessions_step(const vug_step_part *part, size_t n_parts, vug_err *err)
{
    if (n_parts == 0)
        return VUG_OK;
    vug_session *first = part[0].session;
    vug_model *m = first->model;
    VUG_TRY(check_parts(part, n_parts, err));
    VUG_TRY(prepare_batch(first, err));
    size_t at = 0;
    for (size_t i = 0; i < n_parts; i++) {
        vug_session *s = part[i].session;
        first->batch_span[i] = (vug_span){ s->state, (int64_t)s->n, (int64_t)part[i].n };
        memcpy(first->batch_token + at, part[i].token, part[i].n * sizeof(*part[i].token));
        at += part[i].n;
        first->row[i] = (int32_t)at - 1;
        s->logits = NULL;
        s->written = s->n + part[i].n > s->written ? s->n + part[i].n : s->written;
    }
    const vug_step_in in = { .span = first->batch_span,
                             .n_spans = (int)n_parts,
                             .token = first->batch_token,
                             .row = first->row,
                             .n_rows = (int64_t)n_parts };
    vug_mutex_lock(m->device_lock);
    const vug_status st = m->backend->run(first->all_logits.program, first->all_logits_workspace,
                                          &in, first->output, err);
    vug_mutex_unlock(m->device_lock);
    VUG_TRY(st);
    const float *logits = find_logits(first, &first->all_logits);
    for (size_t i = 0; i < n_parts; i++) {
        vug_session *s = part[i].session;
        memcpy(s->token + s->n, part[i].token, part[i].n * sizeof(*part[i].token));
        s->n += part[i].n;
        s->logits = logits + i * (size_t)m->info.n_vocab;
    }
    return VUG_OK;
}
