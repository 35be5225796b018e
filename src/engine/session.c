/*
 * Sessions: one sequence and the steps that extend it.
 *
 * The caller always passes the whole prefix. A session continues its own sequence in place, or
 * gives it up and begins anew with what the model's prefix tree has, which includes what it has
 * just given up.
 */
#include "engine/session.h"

#include "core/cancel.h"

/* ---- lifetime ------------------------------------------------------------------------ */

vug_status vug_session_create(vug_model *model, vug_session **out, vug_err *err)
{
    vug_session *s = vug_alloc_zero(1, sizeof(*s));
    if (!s)
        return VUG_FAIL_NOMEM(err, "a session", sizeof(*s));
    s->model = model;
    s->hidden = vug_alloc_zero((size_t)model->info.n_layers + 1, sizeof(*s->hidden));
    vug_status st = vug_logits_row_init(&s->logits[0], (size_t)model->info.n_vocab, err);
    if (st == VUG_OK && !s->hidden)
        st = VUG_FAIL_NOMEM(err, "a session", (size_t)model->info.n_layers * sizeof(*s->hidden));
    if (st == VUG_OK)
        st = vug_scheduler_add(model->scheduler, &s->sequence, (size_t)model->limits.context, err);
    s->sequence.root = model->prefix_key;
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
    vug_step_runner_release(&s->all_rows);
    vug_scheduler_remove(s->model->scheduler, &s->sequence);
    for (size_t i = 0; i < 1 + VUG_MAX_DRAFT; i++)
        vug_logits_row_release(&s->logits[i]);
    vug_free(s->hidden);
    vug_free(s);
}

static void drop_logits(vug_session *s)
{
    s->has_logits = false;
    s->n_draft = s->n_accepted = 0;
}

void vug_session_reset(vug_session *s)
{
    vug_scheduler_end(s->model->scheduler, &s->sequence);
    drop_logits(s);
    s->ignore_tree = true;
}

vug_status vug_session_set_namespace(vug_session *s, const void *name, size_t n, vug_err *err)
{
    const vug_prefix_key *model = &s->model->prefix_key;
    const vug_bytes part[] = { { model->byte, sizeof(model->byte) }, { name, n } };
    vug_prefix_key root = *model;
    if (n > 0)
        VUG_TRY(vug_prefix_key_root(part, 2, &root, err));
    vug_scheduler_end(s->model->scheduler, &s->sequence);
    s->has_logits = false;
    s->sequence.root = root;
    return VUG_OK;
}

size_t vug_session_length(const vug_session *s)
{
    return s->sequence.kv.n_tokens;
}

const float *vug_session_logits(const vug_session *s)
{
    return s->has_logits ? s->logits[s->n_accepted].logit : NULL;
}

const vug_logits_row *vug_session_row(const vug_session *s)
{
    return s->has_logits ? &s->logits[s->n_accepted] : NULL;
}

int32_t vug_session_best_token(const vug_session *s)
{
    return s->has_logits ? vug_logits_row_best(&s->logits[s->n_accepted]) : -1;
}

vug_cache_stats vug_model_cache_stats(const vug_model *model)
{
    return vug_scheduler_get_cache_stats(model->scheduler);
}

/* ---- reusing what is cached -------------------------------------------------------------- */

vug_status vug_model_check_tokens(const vug_model *m, const int32_t *id, size_t n, vug_err *err)
{
    if (n == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "the prompt is empty: there is nothing to continue");
    if (n > (size_t)m->info.context && m->info.context >= m->info.context_trained)
        return VUG_FAIL(err, VUG_LIMIT,
                        "the prompt has %zu tokens, the context holds %lld; the model was trained "
                        "for %lld: shorten the prompt",
                        n, (long long)m->info.context, (long long)m->info.context_trained);
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

vug_status vug_session_prepare(vug_session *s, const int32_t *id, size_t n,
                               const vug_cancel_token *cancel, size_t *cached, vug_err *err)
{
    VUG_TRY(vug_model_check_tokens(s->model, id, n, err));
    drop_logits(s);
    vug_scheduler_begin(s->model->scheduler, &s->sequence, id, n, s->ignore_tree, cancel);
    s->ignore_tree = false;
    *cached = s->sequence.kv.n_tokens;
    return VUG_OK;
}

void vug_session_mark(vug_session *s, size_t at, vug_mark_kind kind)
{
    /* Every conversation with this system turn goes through its last whole block. */
    if (kind == VUG_MARK_SYSTEM)
        at -= at % VUG_KV_PAGE;
    vug_scheduler_mark(s->model->scheduler, &s->sequence, (vug_mark){ at, kind });
}

/* ---- steps --------------------------------------------------------------------------- */

/* Compiles the session's program with at least `rows` rows of logits or hidden states, unless
 * it has one already. */
static vug_status compile_all_rows(vug_session *s, int64_t rows, bool hidden, vug_err *err)
{
    const int64_t had = s->all_rows.workspace ? s->all_rows.compiled.limits.rows : 0;
    if (had >= rows && (s->all_rows_hidden || !hidden))
        return VUG_OK;
    hidden = hidden || (had && s->all_rows_hidden);
    vug_step_runner_release(&s->all_rows);
    s->all_rows_hidden = hidden;
    const vug_status st =
            vug_step_runner_init(&s->all_rows, s->model, had > rows ? had : rows, hidden, err);
    if (st != VUG_OK)
        vug_step_runner_release(&s->all_rows);
    return st;
}

/* Hidden states are the outputs before the logits, in order. */
static void collect_hidden(const vug_session *s)
{
    const vug_graph *g = &s->all_rows.compiled.fused;
    size_t n = 0;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (strcmp(g->output[i].name, "logits") != 0)
            s->hidden[n++] = s->all_rows.output[i];
    }
}

/* Steps of the session's own program, one chunk after the other, with what `o` asks for. */
static vug_status extend_alone(vug_session *s, const int32_t *id, size_t n, size_t chunk,
                               const vug_forward_options *o, vug_err *err)
{
    const size_t n_vocab = (size_t)s->model->info.n_vocab;
    VUG_TRY(compile_all_rows(s, o->all_logits ? (int64_t)chunk : 1, o->hidden, err));
    for (size_t at = 0; at < n;) {
        const size_t take = n - at < chunk ? n - at : chunk;
        const size_t rows = o->all_logits ? take : at + take == n;
        const vug_extension job = {
            .token = id + at, .n = take, .rows = rows, .cancel = o->cancel
        };
        if (vug_is_cancelled(o->cancel))
            return VUG_FAIL(err, VUG_CANCELLED, "cancelled after %zu of %zu tokens", at, n);
        VUG_TRY(vug_scheduler_run_alone(s->model->scheduler, &s->sequence, &s->all_rows, &job,
                                        err));
        at += take;
        const float *logits = rows > 0 ? vug_step_logits(&s->all_rows) : NULL;
        s->has_logits = at == n;
        if (s->has_logits) {
            const vug_logits_source last = { .all = logits + (rows - 1) * n_vocab };
            vug_logits_row_set(&s->logits[0], &last);
        }
        if (!o->on_step)
            continue;
        if (o->hidden)
            collect_hidden(s);
        const vug_step seen = { .first = (int64_t)(s->sequence.kv.n_tokens - take),
                                .n = (int64_t)take,
                                .n_logits = (int64_t)rows,
                                .logits = logits,
                                .hidden = o->hidden ? s->hidden : NULL };
        if (!o->on_step(&seen, o->user))
            return VUG_OK;
    }
    return VUG_OK;
}

/* The tokens go through the steps that the model's sessions share. */
static vug_status extend_shared(vug_session *s, const int32_t *id, size_t n, size_t chunk,
                                const vug_forward_options *o, vug_err *err)
{
    for (size_t at = 0; at < n;) {
        const size_t take = n - at < chunk ? n - at : chunk;
        const bool is_last = at + take == n;
        const vug_extension job = { .token = id + at,
                                    .n = take,
                                    .logits = s->logits,
                                    .rows = is_last,
                                    .wanted = s->wanted,
                                    .priority = o->priority,
                                    .n_more = is_last ? s->n_more : 0,
                                    .cancel = o->cancel };
        VUG_TRY(vug_scheduler_extend(s->model->scheduler, &s->sequence, &job, err));
        at += take;
        s->has_logits = is_last;
        const vug_step seen = { .first = (int64_t)(s->sequence.kv.n_tokens - take),
                                .n = (int64_t)take,
                                .n_logits = is_last,
                                .logits = is_last ? s->logits[0].logit : NULL };
        if (o->on_step && !o->on_step(&seen, o->user))
            return VUG_OK;
    }
    return VUG_OK;
}

vug_status vug_session_extend(vug_session *s, const int32_t *id, size_t n,
                              const vug_forward_options *o, vug_err *err)
{
    const vug_model *m = s->model;
    const size_t batch = (size_t)m->info.batch, before = s->sequence.kv.n_tokens;
    const size_t chunk = o->chunk > 0 && (size_t)o->chunk < batch ? (size_t)o->chunk : batch;
    VUG_ASSERT(n <= (size_t)m->info.context - before);
    drop_logits(s);
    const vug_status st =
            o->all_logits || o->hidden
                    ? extend_alone(s, id, n, chunk, o, err)
                    : extend_shared(s, id, n, o->chunk || o->on_step ? chunk : n, o, err);
    if (st == VUG_CANCELLED)
        return VUG_FAIL(err, VUG_CANCELLED, "cancelled after %zu of %zu tokens",
                        s->sequence.kv.n_tokens - before, n);
    return st;
}

/* Provides memory for a row of logits after each draft. */
static vug_status reserve_draft_logits(vug_session *s, vug_err *err)
{
    for (size_t i = 1; i < 1 + VUG_MAX_DRAFT; i++) {
        if (!s->logits[i].logit)
            VUG_TRY(vug_logits_row_init(&s->logits[i], (size_t)s->model->info.n_vocab, err));
    }
    return VUG_OK;
}

vug_status vug_session_extend_with_drafts(vug_session *s, const int32_t *id, size_t n,
                                          size_t n_draft, const vug_forward_options *options,
                                          vug_err *err)
{
    VUG_ASSERT(n_draft < n && n_draft <= VUG_MAX_DRAFT &&
               n <= (size_t)s->model->info.context - s->sequence.kv.n_tokens);
    drop_logits(s);
    if (n_draft > 0)
        VUG_TRY(reserve_draft_logits(s, err));
    memcpy(s->draft, id + n - n_draft, n_draft * sizeof(*id));
    const vug_extension job = { .token = id,
                                .n = n,
                                .n_draft = n_draft,
                                .logits = s->logits,
                                .rows = 1,
                                .wanted = s->wanted,
                                .priority = options->priority,
                                .n_more = s->n_more,
                                .cancel = options->cancel };
    VUG_TRY(vug_scheduler_extend(s->model->scheduler, &s->sequence, &job, err));
    s->has_logits = true;
    s->n_draft = s->sequence.n_draft;
    return VUG_OK;
}

bool vug_session_accept_draft(vug_session *s, int32_t id)
{
    if (s->n_accepted == s->n_draft || s->draft[s->n_accepted] != id)
        return false;
    vug_scheduler_accept_draft(s->model->scheduler, &s->sequence, id);
    s->n_accepted++;
    return true;
}

vug_status vug_session_forward(vug_session *s, const int32_t *id, size_t n,
                               const vug_forward_options *options, vug_err *err)
{
    const vug_forward_options none = { 0 };
    const vug_forward_options *o = options ? options : &none;
    size_t cached;
    VUG_TRY(vug_model_check_tokens(s->model, id, n, err));
    if (o->all_logits || o->hidden)
        vug_session_reset(s);
    VUG_TRY(vug_session_prepare(s, id, n, o->cancel, &cached, err));
    s->wanted = (vug_logits_wanted){ .best = o->best_logits, .n_ids = s->model->info.n_vocab };
    const vug_status st = vug_session_extend(s, id + cached, n - cached, o, err);
    s->wanted = (vug_logits_wanted){ 0 };
    vug_scheduler_pause(s->model->scheduler, &s->sequence);
    return st;
}
