/*
 * Sessions: a cache, what it holds, and the steps that extend it.
 *
 * The caller always names the whole prefix. What the cache shares with it is
 * kept; a sliding layer's ring forgets, so going back is possible only while the
 * window before the new end is still in every ring, or to a snapshot of it.
 */
#include "engine/session.h"

/* ---- life ------------------------------------------------------------------------- */

vug_status vug_session_create(vug_model *model, vug_session **out, vug_err *err)
{
    const vug_limits *limits = &model->main.limits;
    vug_session *s = vug_alloc_zero(1, sizeof(*s));
    if (!s)
        return VUG_FAIL_NOMEM(err, "a session", sizeof(*s));
    s->model = model;
    atomic_init(&s->cancel, false);
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
    if (s->wide_workspace)
        backend->workspace_destroy(s->wide_workspace);
    vug_compiled_release(&s->wide);
    vug_snapshots_release(s);
    if (s->workspace)
        backend->workspace_destroy(s->workspace);
    if (s->state)
        backend->state_destroy(s->state);
    vug_free(s->span);
    vug_free(s->ragged);
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

void vug_session_cancel(vug_session *s)
{
    atomic_store(&s->cancel, true);
}

const float *vug_session_logits(const vug_session *s)
{
    return s->logits;
}

/* ---- going back --------------------------------------------------------------------- */

bool vug_session_can_go_back(const vug_session *s, size_t n)
{
    const vug_program_sizes sizes = s->model->backend->sizes(s->model->main.program);
    const int64_t end = (int64_t)n, written = (int64_t)s->written;
    for (int64_t i = 0; i < s->model->info.n_layers; i++) {
        const vug_cache_size *c = &sizes.cache[i];
        const int64_t first_needed = end - c->window + 1, first_held = written - c->slots;
        if (c->window && first_held > 0 && first_needed < first_held)
            return false;
    }
    return n >= s->floor;
}

/* Of the prefix the tokens that a call finds in the cache, if it restores `back`, which may be
 * NULL; `common` are those that the session has. */
static size_t find_common(const vug_session *s, const int32_t *id, size_t n, size_t *common,
                          const vug_snapshot **back)
{
    size_t keep = 0;
    while (keep < s->n && keep < n && s->token[keep] == id[keep])
        keep++;
    *common = keep;
    if (keep == n && n > 0)
        keep--; /* the last token's logits are wanted */
    *back = NULL;
    if (keep == s->n || vug_session_can_go_back(s, keep))
        return keep;
    *back = vug_snapshot_before(s, keep);
    return *back ? (*back)->at : 0;
}

size_t vug_session_cached(const vug_session *s, const int32_t *id, size_t n, size_t *common)
{
    const vug_snapshot *back;
    return find_common(s, id, n, common, &back);
}

void vug_session_copy(vug_session *to, const vug_session *of, const int32_t *id, size_t n)
{
    size_t common;
    const vug_snapshot *back;
    VUG_ASSERT(to != of && to->model == of->model);
    const size_t keep = find_common(of, id, n, &common, &back);
    const vug_model *m = to->model;
    vug_session_reset(to);
    if (keep == 0)
        return;
    m->backend->state_copy(m->main.program, to->state, of->state, (int64_t)keep);
    memcpy(to->token, id, keep * sizeof(*id));
    to->n = keep;
    to->written = of->written; /* rings are as full as they were */
    to->floor = of->floor;
    if (back)
        vug_snapshot_restore(to, back);
}

static size_t reuse(vug_session *s, const int32_t *id, size_t n)
{
    size_t common;
    const vug_snapshot *back;
    const size_t keep = find_common(s, id, n, &common, &back);
    if (keep == 0)
        vug_session_reset(s);
    else if (back)
        vug_snapshot_restore(s, back);
    s->n = keep;
    vug_snapshots_forget(s, keep);
    return keep;
}

/* ---- steps --------------------------------------------------------------------------- */

/* The session's program for at least `rows` rows of logits or hidden states, made
 * anew only when it is asked for more than before. */
static vug_status need_wide(vug_session *s, size_t rows, bool hidden, vug_err *err)
{
    const vug_model *m = s->model;
    const int64_t had = s->wide_workspace ? s->wide.limits.rows : 0;
    if (had >= (int64_t)rows && (s->wide_hidden || !hidden))
        return VUG_OK;
    hidden = hidden || (had && s->wide_hidden);
    if (s->wide_workspace)
        m->backend->workspace_destroy(s->wide_workspace);
    s->wide_workspace = NULL;
    vug_compiled_release(&s->wide);
    vug_limits limits = m->main.limits;
    limits.rows = had > (int64_t)rows ? had : (int64_t)rows;
    VUG_TRY(vug_compile(m, &limits, hidden, &s->wide, err));
    s->wide_hidden = hidden;
    return m->backend->workspace_create(s->wide.program, &s->wide_workspace, err);
}

static const float *find_output(const vug_session *s, const vug_compiled *c, const char *name)
{
    for (uint32_t i = 0; i < c->fused.n_outputs; i++) {
        if (strcmp(c->fused.output[i].name, name) == 0)
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

/* One step of `n` tokens; `rows` of its last tokens get logits. */
static vug_status step(vug_session *s, const vug_compiled *c, vug_workspace *workspace,
                       const int32_t *id, size_t n, size_t rows, vug_err *err)
{
    const vug_span span = { .state = s->state, .past = (int64_t)s->n, .n = (int64_t)n };
    for (size_t i = 0; i < rows; i++)
        s->row[i] = (int32_t)(n - rows + i);
    const vug_step_in in = { .span = &span,
                             .n_spans = 1,
                             .token = id,
                             .row = s->row,
                             .n_rows = (int64_t)rows,
                             .cancel = &s->cancel };
    vug_lock_take(s->model->turn);
    const vug_status st = c->backend->run(c->program, workspace, &in, s->output, err);
    vug_lock_leave(s->model->turn);
    /* A step that broke off may have written over the oldest of a ring as well. */
    if (s->n + n > s->written)
        s->written = s->n + n;
    if (st != VUG_OK)
        return st;
    memcpy(s->token + s->n, id, n * sizeof(*id));
    s->n += n;
    const float *logits = find_output(s, c, "logits");
    s->logits = rows ? logits + (rows - 1) * (size_t)s->model->info.n_vocab : NULL;
    return VUG_OK;
}

/* True when someone asked to stop; the wish is used up by being heard. */
static bool heard_cancel(vug_session *s)
{
    return atomic_exchange(&s->cancel, false);
}

void vug_session_end_call(vug_session *s)
{
    (void)heard_cancel(s);
}

vug_status vug_session_extend(vug_session *s, const int32_t *id, size_t n,
                              const vug_forward_options *o, vug_err *err)
{
    const size_t batch = (size_t)s->model->info.batch;
    const size_t chunk = o->chunk > 0 && (size_t)o->chunk < batch ? (size_t)o->chunk : batch;
    const bool wide = o->all_logits || o->hidden;
    VUG_ASSERT(n <= (size_t)s->model->info.context - s->n);
    if (wide)
        VUG_TRY(need_wide(s, o->all_logits ? chunk : 1, o->hidden, err));
    const vug_compiled *c = wide ? &s->wide : &s->model->main;
    vug_workspace *workspace = wide ? s->wide_workspace : s->workspace;
    for (size_t at = 0; at < n;) {
        const size_t take = n - at < chunk ? n - at : chunk;
        const size_t rows = o->all_logits ? take : at + take == n;
        vug_status st = VUG_CANCELLED;
        if (!heard_cancel(s))
            st = step(s, c, workspace, id + at, take, rows, err);
        if (st != VUG_OK)
            s->logits = NULL; /* of an earlier step, perhaps written over by this one */
        if (st == VUG_CANCELLED) {
            (void)heard_cancel(s);
            return VUG_FAIL(err, VUG_CANCELLED, "cancelled after %zu of %zu tokens", at, n);
        }
        VUG_TRY(st);
        at += take;
        if (at < n)
            vug_snapshot_take(s, s->n);
        if (!o->on_step)
            continue;
        if (o->hidden)
            collect_hidden(s, c);
        const vug_step seen = { .first = (int64_t)(s->n - take),
                                .n = (int64_t)take,
                                .n_logits = (int64_t)rows,
                                .logits = rows ? find_output(s, c, "logits") : NULL,
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
                        "the prompt has %zu tokens, the context holds %lld; a larger one can be "
                        "asked for, the model was trained for %lld",
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
    *cached = reuse(s, id, n);
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
    const vug_status st = vug_session_extend(s, id + cached, n - cached, o, err);
    vug_session_end_call(s);
    return st;
}

/* ---- several sessions in one step ------------------------------------------------------ */

/* What a ragged step needs beyond one session's: made once. */
static vug_status need_ragged(vug_session *s, vug_err *err)
{
    const size_t batch = (size_t)s->model->info.batch;
    VUG_TRY(need_wide(s, batch, false, err));
    if (!s->span)
        s->span = vug_alloc(batch, sizeof(*s->span));
    if (!s->ragged)
        s->ragged = vug_alloc(batch, sizeof(*s->ragged));
    if (!s->span || !s->ragged)
        return VUG_FAIL_NOMEM(err, "a step of several sessions",
                              batch * (sizeof(*s->span) + sizeof(*s->ragged)));
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
            return VUG_FAIL(err, VUG_LIMIT, "%zu tokens behind %zu, the context holds %lld",
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
    VUG_TRY(need_ragged(first, err));
    size_t at = 0;
    for (size_t i = 0; i < n_parts; i++) {
        vug_session *s = part[i].session;
        first->span[i] = (vug_span){ s->state, (int64_t)s->n, (int64_t)part[i].n };
        memcpy(first->ragged + at, part[i].token, part[i].n * sizeof(*part[i].token));
        at += part[i].n;
        first->row[i] = (int32_t)at - 1;
        s->logits = NULL;
        s->written = s->n + part[i].n > s->written ? s->n + part[i].n : s->written;
    }
    const vug_step_in in = { .span = first->span,
                             .n_spans = (int)n_parts,
                             .token = first->ragged,
                             .row = first->row,
                             .n_rows = (int64_t)n_parts };
    vug_lock_take(m->turn);
    const vug_status st =
            m->backend->run(first->wide.program, first->wide_workspace, &in, first->output, err);
    vug_lock_leave(m->turn);
    VUG_TRY(st);
    const float *logits = find_output(first, &first->wide, "logits");
    for (size_t i = 0; i < n_parts; i++) {
        vug_session *s = part[i].session;
        memcpy(s->token + s->n, part[i].token, part[i].n * sizeof(*part[i].token));
        s->n += part[i].n;
        s->logits = logits + i * (size_t)m->info.n_vocab;
    }
    return VUG_OK;
}
