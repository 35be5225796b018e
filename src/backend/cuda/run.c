/* Running a step. */
#include "backend/cuda/internal.h"
#include "core/cancel.h"

/* ---- workspace ------------------------------------------------------------------------- */

static vug_status fill_workspace(vug_cuda_workspace *ws, vug_err *err)
{
    const vug_cuda_program *p = ws->program;
    uint64_t end = 0, values, scratch, done;
    void *block, *outputs = NULL;
    ws->n_data = vug_graph_data_count(p->graph);
    ws->data = vug_arena_alloc(&ws->arena, (size_t)ws->n_data, sizeof(*ws->data));
    if (!ws->data)
        return VUG_FAIL_NOMEM(err, "the buffers of a step", (size_t)ws->n_data * sizeof(*ws->data));
    if (!vug_cuda_add_part(p->value_bytes, &end, &values) ||
        !vug_cuda_add_part(p->scratch_bytes, &end, &scratch) ||
        !vug_cuda_add_part(vug_cuda_pages_done_bytes(p), &end, &done))
        return VUG_FAIL(err, VUG_LIMIT, "cuda: the buffers of a step are too large");
    VUG_TRY(vug_cuda_alloc(end, "the buffers of a step", &block, err));
    ws->block = block;
    ws->scratch = ws->block + scratch;
    ws->pages_done = (uint32_t *)(void *)(ws->block + done);
    VUG_TRY(vug_cuda_check(cudaMemset(ws->pages_done, 0, vug_cuda_pages_done_bytes(p)),
                           "allocating the buffers of a step", err));
    if (p->output_bytes > 0)
        VUG_TRY(vug_cuda_check(cudaHostAlloc(&outputs, p->output_bytes, cudaHostAllocDefault),
                               "allocating the outputs of a step", err));
    ws->outputs = outputs;
    return vug_cuda_graphs_create(&ws->graphs, err);
}

vug_status vug_cuda_workspace_create(const vug_program *program, vug_workspace **out, vug_err *err)
{
    vug_cuda_workspace *ws = vug_alloc_zero(1, sizeof(*ws));
    if (!ws)
        return VUG_FAIL_NOMEM(err, "the buffers of a step", sizeof(*ws));
    ws->program = (const vug_cuda_program *)(const void *)program;
    const vug_status st = fill_workspace(ws, err);
    if (st != VUG_OK) {
        vug_cuda_workspace_destroy((vug_workspace *)(void *)ws);
        return st;
    }
    *out = (vug_workspace *)(void *)ws;
    return VUG_OK;
}

void vug_cuda_workspace_destroy(vug_workspace *workspace)
{
    vug_cuda_workspace *ws = (vug_cuda_workspace *)(void *)workspace;
    if (!ws)
        return;
    for (int i = 0; ws->data && i < ws->n_data; i++)
        vug_cuda_buffer_release(&ws->data[i]);
    vug_cuda_graphs_destroy(ws->graphs);
    vug_cuda_buffer_release(&ws->inputs);
    (void)cudaFree(ws->block);
    (void)cudaFreeHost(ws->outputs);
    vug_arena_release(&ws->arena);
    vug_free(ws);
}

/* ---- checks --------------------------------------------------------------------------------- */

/* Pages of another layout would be read out of bounds. */
static vug_status check_kv(const vug_cuda_program *p, const vug_step_in *in, vug_err *err)
{
    const vug_kv_layout *layout = &p->kv_layout;
    const vug_cuda_kv *kv = (const vug_cuda_kv *)(const void *)in->kv;
    if (layout->n_groups > 0 && !kv)
        return VUG_FAIL(err, VUG_ARGUMENT, "a step lacks the cache of the graph");
    for (int g = 0; g < layout->n_groups; g++) {
        if (g >= kv->n_groups || kv->group[g].page_bytes != vug_cuda_kv_page_bytes(NULL, layout, g))
            return VUG_FAIL(err, VUG_ARGUMENT, "a step has a cache of another layout");
    }
    return VUG_OK;
}

/* ---- the step --------------------------------------------------------------------------------- */

/* A step that can be cancelled waits for the device now and then: launches run far ahead. */
enum { NODES_AHEAD = 32, TOKENS_TO_WAIT = 64 };

static vug_status launch_step(const vug_cuda_step *s, vug_err *err)
{
    const bool waits = s->in->cancel && s->tokens >= TOKENS_TO_WAIT;
    bool launched = false;
    if (vug_cuda_repeats(s->ws, s->tokens))
        VUG_TRY(vug_cuda_launch_graph(s, &launched, err));
    if (launched)
        return VUG_OK;
    for (uint32_t i = 1; i < s->program->graph->n && !vug_is_cancelled(s->in->cancel); i++) {
        vug_cuda_launch_node(s, i);
        if (waits && i % NODES_AHEAD == 0)
            VUG_TRY(vug_cuda_check(cudaStreamSynchronize(s->stream), "a step", err));
    }
    return vug_cuda_check(cudaGetLastError(), "launching a step", err);
}

static vug_status copy_outputs(const vug_cuda_step *s, const float **output, vug_err *err)
{
    const vug_graph *g = s->program->graph;
    uint64_t end = 0, at;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const vug_val v = g->output[i].value;
        const uint64_t bytes =
                (uint64_t)vug_cuda_elements_of(&vug_graph_at(g, v)->shape, s->in, s->tokens) *
                sizeof(float);
        if (!vug_cuda_add_part(bytes, &end, &at) || end > s->program->output_bytes)
            return VUG_FAIL(err, VUG_LIMIT, "cuda: the outputs of a step are too large");
        output[i] = (const float *)(const void *)(s->ws->outputs + at);
        VUG_TRY(vug_cuda_check(cudaMemcpyAsync(s->ws->outputs + at,
                                               s->ws->block + s->program->offset[v.id], bytes,
                                               cudaMemcpyDeviceToHost, s->stream),
                               "copying the outputs of a step", err));
    }
    return VUG_OK;
}

vug_status vug_cuda_run(const vug_program *program, vug_workspace *workspace, const vug_step_in *in,
                        const float **output, vug_err *err)
{
    vug_cuda_workspace *ws = (vug_cuda_workspace *)(void *)workspace;
    const vug_cuda_program *p = (const vug_cuda_program *)(const void *)program;
    vug_cuda_step s = { .program = p, .ws = ws, .in = in, .stream = p->device->stream };
    VUG_TRY(vug_check_step(p->graph, &p->limits, in, &s.tokens, err));
    VUG_TRY(check_kv(p, in, err));
    VUG_TRY(vug_check_masks(p->graph, in, err));
    vug_status st = vug_cuda_upload(ws, in, s.tokens, &s.inputs, err);
    if (st == VUG_OK)
        st = launch_step(&s, err);
    if (st == VUG_OK && !vug_is_cancelled(in->cancel))
        st = copy_outputs(&s, output, err);
    /* Also after a failure: the next step reuses what this one may still read. */
    const cudaError_t waited = cudaStreamSynchronize(p->device->stream);
    VUG_TRY(st);
    VUG_TRY(vug_cuda_check(waited, "a step", err));
    if (vug_is_cancelled(in->cancel))
        return VUG_FAIL(err, VUG_CANCELLED, "cancelled");
    return VUG_OK;
}
