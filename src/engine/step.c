/* Runs steps: describes the sequences to the backend and runs the program. */
#include "engine/step.h"

static vug_status init_tables(vug_step_tables *t, const vug_limits *limits, vug_err *err)
{
    t->span = vug_alloc((size_t)limits->batch, sizeof(*t->span));
    t->token = vug_alloc((size_t)limits->batch, sizeof(*t->token));
    t->follows = vug_alloc((size_t)limits->batch, sizeof(*t->follows));
    t->row = vug_alloc((size_t)limits->rows, sizeof(*t->row));
    t->wanted = vug_alloc((size_t)limits->rows, sizeof(*t->wanted));
    t->found = vug_alloc((size_t)limits->rows, sizeof(*t->found));
    if (!t->span || !t->token || !t->follows || !t->row || !t->wanted || !t->found)
        return VUG_FAIL_NOMEM(err, "the tables of a step",
                              (size_t)limits->batch * sizeof(*t->span));
    return VUG_OK;
}

vug_status vug_step_runner_init(vug_step_runner *r, vug_model *m, int64_t rows, bool hidden,
                                vug_err *err)
{
    vug_limits limits = m->limits;
    limits.rows = rows;
    *r = (vug_step_runner){ .model = m };
    VUG_TRY(vug_compile_model(m, &limits, hidden, &r->compiled, err));
    for (int i = 0; i < VUG_STEPS_STARTED; i++)
        VUG_TRY(init_tables(&r->tables[i], &limits, err));
    r->output = vug_alloc_zero(VUG_MAX_OUTPUTS, sizeof(*r->output));
    if (!r->output)
        return VUG_FAIL_NOMEM(err, "the outputs of a step", VUG_MAX_OUTPUTS * sizeof(*r->output));
    return m->backend->workspace_create(r->compiled.program, &r->workspace, err);
}

void vug_step_runner_release(vug_step_runner *r)
{
    if (r->workspace)
        r->model->backend->workspace_destroy(r->workspace);
    vug_compiled_release(&r->compiled);
    for (int i = 0; i < VUG_STEPS_STARTED; i++) {
        vug_free(r->tables[i].span);
        vug_free(r->tables[i].token);
        vug_free(r->tables[i].follows);
        vug_free(r->tables[i].row);
        vug_free(r->tables[i].wanted);
        vug_free(r->tables[i].found);
    }
    vug_free(r->output);
    *r = (vug_step_runner){ 0 };
}

/* Describes a step in its tables. */
static void fill_tables(const vug_step_runner *r, vug_step_tables *t, const vug_step_part *part,
                        size_t n_parts, bool follows)
{
    size_t tokens = 0, rows = 0;
    bool wants_all = true;
    for (size_t i = 0; i < n_parts; i++) {
        const vug_kv_sequence *s = part[i].sequence;
        t->span[i] = (vug_span){ vug_kv_sequence_table(s), (int64_t)(s->n + part[i].n_before),
                                 (int64_t)part[i].n };
        t->follows[i] = (int32_t)part[i].follows;
        if (follows)
            t->token[tokens] = 0;
        else
            memcpy(t->token + tokens, part[i].token, part[i].n * sizeof(*part[i].token));
        tokens += part[i].n;
        for (size_t j = 0; j < part[i].rows; j++) {
            wants_all = wants_all && part[i].wanted.best == 0;
            t->found[rows] = (vug_found_logits){ 0 };
            t->wanted[rows] = part[i].wanted;
            t->row[rows++] = (int32_t)(tokens - part[i].rows + j);
        }
    }
    t->in = (vug_step_in){ .kv = vug_kv_pool_kv(r->model->kv_pool),
                           .span = t->span,
                           .n_spans = (int)n_parts,
                           .token = t->token,
                           .row = t->row,
                           .n_rows = (int64_t)rows,
                           .cost = r->model->times_ops ? r->model->op_cost : NULL,
                           .wanted = wants_all ? NULL : t->wanted,
                           .found = wants_all ? NULL : t->found,
                           .head_stats = &r->model->head_stats,
                           .follows = follows ? t->follows : NULL };
}

/* ---- steps --------------------------------------------------------------------------------- */

vug_status vug_step_start(vug_step_runner *r, const vug_step_part *part, size_t n_parts,
                          bool follows, const vug_cancel_token *cancel, vug_err *err)
{
    const vug_compiled *c = &r->compiled;
    vug_step_tables *t = &r->tables[r->next];
    VUG_ASSERT(r->n_started < VUG_STEPS_STARTED);
    fill_tables(r, t, part, n_parts, follows);
    t->in.cancel = cancel;
    if (c->backend->start) {
        const vug_status st = c->backend->start(c->program, r->workspace, &t->in, err);
        atomic_store(&r->model->device_failed, st == VUG_DEVICE);
        VUG_TRY(st);
    }
    r->next = (r->next + 1) % VUG_STEPS_STARTED;
    r->n_started++;
    return VUG_OK;
}

vug_status vug_step_finish(vug_step_runner *r, vug_err *err)
{
    const vug_compiled *c = &r->compiled;
    vug_step_tables *t =
            &r->tables[(r->next + VUG_STEPS_STARTED - r->n_started) % VUG_STEPS_STARTED];
    VUG_ASSERT(r->n_started > 0);
    r->n_started--;
    /* A device that only runs steps does so now. */
    const vug_status st =
            c->backend->start ? c->backend->finish(c->program, r->workspace, r->output, err)
                              : c->backend->run(c->program, r->workspace, &t->in, r->output, err);
    r->last = t;
    atomic_store(&r->model->device_failed, st == VUG_DEVICE);
    return st;
}

vug_status vug_step_run(vug_step_runner *r, const vug_step_part *part, size_t n_parts,
                        const vug_cancel_token *cancel, vug_err *err)
{
    VUG_TRY(vug_step_start(r, part, n_parts, false, cancel, err));
    return vug_step_finish(r, err);
}

const float *vug_step_logits(const vug_step_runner *r)
{
    const vug_graph *g = &r->compiled.fused;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (strcmp(g->output[i].name, "logits") == 0)
            return r->output[i];
    }
    return NULL;
}

vug_logits_source vug_step_row(const vug_step_runner *r, size_t row)
{
    const size_t n_vocab = (size_t)r->model->info.n_vocab;
    return (vug_logits_source){ vug_step_logits(r) + row * n_vocab, r->last->found[row] };
}

/* Whether each number's exponent has a bit that is not set. In blocks, which compilers vectorize. */
static bool is_finite_row(const float *row, size_t n)
{
    enum { BLOCK = 64 };
    const uint32_t exponent = UINT32_C(0x7f800000);
    for (size_t at = 0; at < n; at += BLOCK) {
        uint32_t bits[BLOCK] = { 0 }, found = 0;
        memcpy(bits, row + at, (n - at < BLOCK ? n - at : BLOCK) * sizeof(*row));
        for (size_t i = 0; i < BLOCK; i++)
            found |= (bits[i] & exponent) == exponent;
        if (found)
            return false;
    }
    return true;
}

size_t vug_step_count_finite(const vug_step_runner *r, size_t first, size_t rows)
{
    size_t n = 0;
    while (n < rows) {
        const vug_logits_source row = vug_step_row(r, first + n);
        VUG_ASSERT(row.all);
        if (row.found.n == 0 && !is_finite_row(row.all, (size_t)r->model->info.n_vocab))
            break;
        n++;
    }
    return n;
}
