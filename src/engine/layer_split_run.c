/* Layers on two devices: a step runs the first program and then the second. */
#include "engine/layer_split_state.h"

static vug_split_workspace *workspace_of(vug_workspace *workspace)
{
    return (vug_split_workspace *)(void *)workspace;
}

void vug_split_workspace_destroy(vug_workspace *workspace)
{
    vug_split_workspace *ws = workspace_of(workspace);
    for (int p = 0; ws && p < 2; p++) {
        if (ws->part[p])
            ws->program->weights->device->part[p].backend->workspace_destroy(ws->part[p]);
        vug_free(ws->data[p]);
        vug_free(ws->output[p]);
    }
    if (ws)
        vug_free(ws->span);
    vug_free(ws);
}

static vug_status create_part(vug_split_workspace *ws, int p, vug_err *err)
{
    const vug_split_program *program = ws->program;
    const vug_cut_part *part = &program->cut.part[p];
    ws->data[p] = vug_alloc_zero((size_t)part->n_data, sizeof(float *));
    ws->output[p] = vug_alloc_zero(part->graph.n_outputs, sizeof(float *));
    if (!ws->data[p] || !ws->output[p])
        return VUG_FAIL_NOMEM(err, "the tables of a step", part->graph.n_outputs * sizeof(float *));
    if (!program->part[p])
        return VUG_OK;
    return program->weights->device->part[p].backend->workspace_create(program->part[p],
                                                                       &ws->part[p], err);
}

vug_status vug_split_workspace_create(const vug_program *program, vug_workspace **out, vug_err *err)
{
    vug_split_workspace *ws = vug_alloc_zero(1, sizeof(*ws));
    if (!ws)
        return VUG_FAIL_NOMEM(err, "the buffers of a step", sizeof(*ws));
    ws->program = vug_split_program_of(program);
    const size_t batch = (size_t)ws->program->limits.batch;
    ws->span = vug_alloc(batch, sizeof(*ws->span));
    vug_status st =
            ws->span ? VUG_OK
                     : VUG_FAIL_NOMEM(err, "the tables of a step", batch * sizeof(*ws->span));
    for (int p = 0; p < 2 && st == VUG_OK; p++)
        st = create_part(ws, p, err);
    if (st != VUG_OK) {
        vug_split_workspace_destroy((vug_workspace *)(void *)ws);
        return st;
    }
    *out = (vug_workspace *)(void *)ws;
    return VUG_OK;
}

/* The tables of a sequence begin with those of the first part's groups. */
static void skip_tables(const vug_split_workspace *ws, const vug_step_in *in)
{
    const vug_split_program *p = ws->program;
    const vug_kv_layout *first =
            p->part[0] ? p->weights->device->part[0].backend->kv_layout(p->part[0]) : NULL;
    for (int i = 0; i < in->n_spans; i++) {
        ws->span[i] = in->span[i];
        if (in->span[i].table && first)
            ws->span[i].table += first->n_groups;
    }
}

/* `step` is that of the whole graph. */
static vug_status run_part(vug_split_workspace *ws, int p, vug_step_in step, vug_err *err)
{
    const vug_split_program *program = ws->program;
    const vug_cut_part *part = &program->cut.part[p];
    if (!program->part[p])
        return VUG_OK;
    for (int i = 0; i < part->n_data; i++) {
        const vug_cut_data from = part->data[i];
        if (!from.crosses && !step.data)
            return VUG_FAIL(err, VUG_ARGUMENT, "a step lacks the data inputs of the graph");
        ws->data[p][i] = from.crosses ? ws->output[0][from.index] : step.data[from.index];
    }
    step.kv = step.kv ? vug_split_kv_of(step.kv)->part[p] : NULL;
    step.data = ws->data[p];
    if (p == 0) { /* the logits are the second part's */
        step.wanted = NULL;
        step.found = NULL;
    }
    const vug_backend *backend = program->weights->device->part[p].backend;
    return backend->run(program->part[p], ws->part[p], &step, ws->output[p], err);
}

vug_status vug_split_run(const vug_program *program, vug_workspace *workspace,
                         const vug_step_in *in, const float **output, vug_err *err)
{
    const vug_split_program *p = vug_split_program_of(program);
    vug_split_workspace *ws = workspace_of(workspace);
    vug_step_in second = *in;
    if (in->n_spans > p->limits.batch)
        return VUG_FAIL(err, VUG_LIMIT, "a step has more than %lld tokens",
                        (long long)p->limits.batch);
    VUG_TRY(run_part(ws, 0, *in, err));
    skip_tables(ws, in);
    second.span = ws->span;
    VUG_TRY(run_part(ws, 1, second, err));
    for (int i = 0; i < p->n_outputs; i++)
        output[i] = ws->output[p->cut.output[i].part][p->cut.output[i].index];
    return VUG_OK;
}
