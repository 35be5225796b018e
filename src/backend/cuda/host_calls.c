/* Experts that the host computes in the middle of a step. */
#include "backend/cuda/host_calls.h"

#include "backend/host_experts.h"

/* The call for a node. As a node of a graph it is recorded once for many steps, so the device tells which
 * step it is. */
typedef struct {
    vug_cuda_host_calls *of;
    const vug_node *node;
} host_call;

/* The parts of `block`, which nodes use one after the other. */
struct vug_cuda_host_calls {
    vug_cuda_workspace *ws;
    uint8_t *block; /* pinned */
    vug_cuda_step_id *id;
    float *x, *route, *out; /* [rows,D], [rows,2k], [rows,D] */
    host_call *call;        /* [nodes], of HOST_EXPERTS nodes; in the workspace's arena */
};

/* ---- memory ------------------------------------------------------------------------------ */

/* Where the parts of the block begin, in bytes. */
typedef struct {
    uint64_t id, x, route, out, end;
} host_layout;

static uint64_t most_bytes(const vug_cuda_program *p, vug_val v)
{
    const vug_shape *shape = &vug_graph_at(p->graph, v)->shape;
    return (uint64_t)vug_shape_elements(shape, p->limits.batch, p->limits.rows) * sizeof(float);
}

/* False if the program has no such experts. Sizes do not overflow: the values of a step have larger ones,
 * which were added up before. */
static bool lay_out(const vug_cuda_program *p, host_layout *l)
{
    uint64_t x = 0, route = 0;
    *l = (host_layout){ 0 };
    for (uint32_t i = 1; i < p->graph->n; i++) {
        const vug_node *node = &p->graph->node[i];
        if (node->op != VUG_OP_HOST_EXPERTS)
            continue;
        const uint64_t own_x = most_bytes(p, node->in[0]), own_route = most_bytes(p, node->in[1]);
        x = own_x > x ? own_x : x;
        route = own_route > route ? own_route : route;
    }
    return x > 0 && vug_cuda_add_part(sizeof(vug_cuda_step_id), &l->end, &l->id) &&
           vug_cuda_add_part(x, &l->end, &l->x) && vug_cuda_add_part(route, &l->end, &l->route) &&
           vug_cuda_add_part(x, &l->end, &l->out);
}

uint64_t vug_cuda_host_calls_bytes(const vug_cuda_program *p)
{
    host_layout l;
    return lay_out(p, &l) ? l.end : 0;
}

static vug_status prepare_calls(vug_cuda_host_calls *calls, vug_err *err)
{
    const vug_graph *g = calls->ws->program->graph;
    calls->call = vug_arena_alloc(&calls->ws->arena, g->n, sizeof(*calls->call));
    if (!calls->call)
        return VUG_FAIL_NOMEM(err, "the buffers of a step", g->n * sizeof(*calls->call));
    for (uint32_t i = 1; i < g->n; i++)
        calls->call[i] = (host_call){ .of = calls, .node = &g->node[i] };
    return VUG_OK;
}

vug_status vug_cuda_host_calls_create(vug_cuda_workspace *ws, vug_err *err)
{
    host_layout l;
    void *block;
    if (!lay_out(ws->program, &l))
        return VUG_OK;
    vug_cuda_host_calls *calls = vug_alloc_zero(1, sizeof(*calls));
    if (!calls)
        return VUG_FAIL_NOMEM(err, "the buffers of a step", sizeof(*calls));
    ws->host_calls = calls;
    calls->ws = ws;
    VUG_TRY(vug_cuda_check(cudaHostAlloc(&block, l.end, cudaHostAllocDefault),
                           "allocating the buffers of a step", err));
    calls->block = block;
    memset(block, 0, l.end);
    calls->id = (vug_cuda_step_id *)(void *)(calls->block + l.id);
    calls->x = (float *)(void *)(calls->block + l.x);
    calls->route = (float *)(void *)(calls->block + l.route);
    calls->out = (float *)(void *)(calls->block + l.out);
    return prepare_calls(calls, err);
}

void vug_cuda_host_calls_destroy(vug_cuda_host_calls *calls)
{
    if (calls)
        (void)cudaFreeHost(calls->block);
    vug_free(calls);
}

/* ---- the function of the host ---------------------------------------------------------------- */

static int64_t rows_of(const vug_node *node, const vug_step_in *in, int64_t tokens, int64_t rows)
{
    vug_step_in of = *in;
    of.n_rows = rows;
    return vug_cuda_elements_of(&node->shape, &of, tokens) / node->shape.dim[1];
}

/* Sequences of padding are the last one again, and write what it writes (step_padding.c): they get its
 * bits. */
static void CUDART_CB compute(void *arg)
{
    const host_call *call = arg;
    const vug_cuda_host_calls *calls = call->of;
    vug_cuda_started *started = &calls->ws->started[calls->id->started];
    const vug_step_in *in = &started->in;
    const int64_t width = call->node->shape.dim[1];
    int64_t tokens = 0;
    for (int i = 0; i < in->n_spans; i++)
        tokens += in->span[i].n;
    const int64_t rows = rows_of(call->node, in, tokens, in->n_rows);
    const int64_t padded = rows_of(call->node, in, calls->id->tokens, calls->id->rows);
    const vug_host_experts_job job = {
        .x = calls->x, .route = calls->route, .rows = rows, .cancel = in->cancel, .out = calls->out
    };
    if (started->failure.code != VUG_OK || rows == 0)
        return; /* nobody reads the step's results */
    started->failure.code =
            vug_host_experts_compute(calls->ws->program->plan->host_experts,
                                     call->node->at.host_experts.index, &job, &started->failure);
    for (int64_t r = rows; r < padded; r++)
        memcpy(calls->out + r * width, calls->out + (rows - 1) * width,
               (size_t)width * sizeof(float));
}

/* Errors are those of the launches, which the step's end reports. */
void vug_cuda_launch_host_call(const vug_cuda_step *s, uint32_t id)
{
    const vug_cuda_host_calls *calls = s->ws->host_calls;
    const vug_node *node = &s->program->graph->node[id];
    const vug_shape *route = &vug_graph_at(s->program->graph, node->in[1])->shape;
    const size_t rows = (size_t)rows_of(node, s->in, s->tokens, s->in->n_rows);
    const size_t x_bytes = rows * (size_t)node->shape.dim[1] * sizeof(float);
    const size_t route_bytes = rows * (size_t)route->dim[1] * sizeof(float);
    (void)cudaMemcpyAsync(calls->id, s->inputs.id, sizeof(*calls->id), cudaMemcpyDeviceToHost,
                          s->stream);
    (void)cudaMemcpyAsync(calls->x, vug_cuda_input_at(s, node->in[0]), x_bytes,
                          cudaMemcpyDeviceToHost, s->stream);
    (void)cudaMemcpyAsync(calls->route, vug_cuda_input_at(s, node->in[1]), route_bytes,
                          cudaMemcpyDeviceToHost, s->stream);
    (void)cudaLaunchHostFunc(s->stream, compute, &calls->call[id]);
    (void)cudaMemcpyAsync(vug_cuda_value_at(s, (vug_val){ id }), calls->out, x_bytes,
                          cudaMemcpyHostToDevice, s->stream);
}
