/* Runs steps: describes the sequences to the backend and runs the program. */
#include "engine/step.h"

vug_status vug_step_runner_init(vug_step_runner *r, vug_model *m, int64_t rows, bool hidden,
                                vug_err *err)
{
    vug_limits limits = m->limits;
    limits.rows = rows;
    *r = (vug_step_runner){ .model = m };
    VUG_TRY(vug_compile_model(m, &limits, hidden, &r->compiled, err));
    r->span = vug_alloc((size_t)limits.batch, sizeof(*r->span));
    r->token = vug_alloc((size_t)limits.batch, sizeof(*r->token));
    r->row = vug_alloc((size_t)limits.rows, sizeof(*r->row));
    r->wanted = vug_alloc((size_t)limits.rows, sizeof(*r->wanted));
    r->found = vug_alloc((size_t)limits.rows, sizeof(*r->found));
    r->output = vug_alloc_zero(VUG_MAX_OUTPUTS, sizeof(*r->output));
    if (!r->span || !r->token || !r->row || !r->wanted || !r->found || !r->output)
        return VUG_FAIL_NOMEM(err, "the tables of a step", (size_t)limits.batch * sizeof(*r->span));
    return m->backend->workspace_create(r->compiled.program, &r->workspace, err);
}

void vug_step_runner_release(vug_step_runner *r)
{
    if (r->workspace)
        r->model->backend->workspace_destroy(r->workspace);
    vug_compiled_release(&r->compiled);
    vug_free(r->span);
    vug_free(r->token);
    vug_free(r->row);
    vug_free(r->wanted);
    vug_free(r->found);
    vug_free(r->output);
    *r = (vug_step_runner){ 0 };
}

vug_status vug_step_run(vug_step_runner *r, const vug_step_part *part, size_t n_parts,
                        const vug_cancel_token *cancel, vug_err *err)
{
    size_t tokens = 0, rows = 0;
    bool wants_all = true;
    for (size_t i = 0; i < n_parts; i++) {
        vug_kv_sequence *s = part[i].sequence;
        r->span[i] = (vug_span){ vug_kv_sequence_table(s), (int64_t)s->n, (int64_t)part[i].n };
        memcpy(r->token + tokens, part[i].token, part[i].n * sizeof(*part[i].token));
        tokens += part[i].n;
        for (size_t j = 0; j < part[i].rows; j++) {
            wants_all = wants_all && part[i].wanted.best == 0;
            r->found[rows] = (vug_found_logits){ 0 };
            r->wanted[rows] = part[i].wanted;
            r->row[rows++] = (int32_t)(tokens - part[i].rows + j);
        }
    }
    const vug_step_in in = { .kv = vug_kv_pool_kv(r->model->kv_pool),
                             .span = r->span,
                             .n_spans = (int)n_parts,
                             .token = r->token,
                             .row = r->row,
                             .n_rows = (int64_t)rows,
                             .cancel = cancel,
                             .cost = r->model->times_ops ? r->model->op_cost : NULL,
                             .wanted = wants_all ? NULL : r->wanted,
                             .found = wants_all ? NULL : r->found,
                             .head_stats = &r->model->head_stats };
    const vug_compiled *c = &r->compiled;
    const vug_status st = c->backend->run(c->program, r->workspace, &in, r->output, err);
    atomic_store(&r->model->device_failed, st == VUG_DEVICE);
    return st;
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
    return (vug_logits_source){ vug_step_logits(r) + row * n_vocab, r->found[row] };
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
