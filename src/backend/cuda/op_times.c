/* The time of each operation of a step. The step runs as a graph with events between its nodes, so
 * that no launch waits for the host; none begins before the one before it has ended. */
#include "backend/cuda/step_graph.h"

/* The events of a step: one before each node that launches kernels, and one after the last. */
typedef struct {
    cudaEvent_t *at; /* [nodes + 1] */
    uint32_t *node;  /* [n] */
    uint32_t n;
} step_events;

static vug_status init_events(step_events *e, const vug_cuda_step *step, vug_err *err)
{
    const uint32_t nodes = step->program->graph->n;
    e->at = vug_alloc_zero(nodes + 1, sizeof(*e->at));
    e->node = vug_alloc(nodes, sizeof(*e->node));
    if (!e->at || !e->node)
        return VUG_FAIL_NOMEM(err, "the times of operations", nodes * sizeof(*e->at));
    for (uint32_t i = 1; i < nodes; i++) {
        if (vug_cuda_launches(step, i))
            e->node[e->n++] = i;
    }
    for (uint32_t i = 0; i <= e->n; i++)
        VUG_TRY(vug_cuda_check(cudaEventCreate(&e->at[i]), "timing a step", err));
    return VUG_OK;
}

static void release_events(step_events *e)
{
    for (uint32_t i = 0; e->at && i <= e->n; i++) {
        if (e->at[i])
            (void)cudaEventDestroy(e->at[i]);
    }
    vug_free(e->at);
    vug_free(e->node);
}

/* Errors are those of the capture, which its end reports. */
static void launch_timed(const vug_cuda_step *step, const void *events)
{
    const step_events *e = events;
    for (uint32_t i = 0; i <= e->n; i++) {
        (void)cudaEventRecordWithFlags(e->at[i], step->stream, cudaEventRecordExternal);
        if (i < e->n)
            vug_cuda_launch_node(step, e->node[i]);
    }
}

static vug_status add_times(const vug_cuda_step *step, const step_events *e, vug_err *err)
{
    const vug_graph *g = step->program->graph;
    for (uint32_t i = 0; i < e->n; i++) {
        float ms;
        VUG_TRY(vug_cuda_check(cudaEventElapsedTime(&ms, e->at[i], e->at[i + 1]), "timing a step",
                               err));
        step->in->cost[g->node[e->node[i]].op].seconds += (double)ms * 1e-3;
    }
    /* A node that runs in the launch of another one takes no time of its own. */
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        const vug_op_class class = vug_op_class_of(node->op);
        if (class == VUG_CLASS_LEAF || class == VUG_CLASS_VIEW)
            continue;
        const int64_t width = node->shape.dim[node->shape.rank - 1];
        const int64_t rows = vug_cuda_elements_of(&node->shape, step->in, step->tokens) / width;
        vug_step_add_cost(g, step->program->plan, step->program->weights->weight, node, rows,
                          &step->in->cost[node->op]);
    }
    return VUG_OK;
}

vug_status vug_cuda_time_step(const vug_cuda_step *step, vug_err *err)
{
    step_events events = { 0 };
    cudaGraphExec_t graph = NULL;
    vug_status st = init_events(&events, step, err);
    if (st == VUG_OK)
        st = vug_cuda_record(step, launch_timed, &events, &graph, err);
    if (st == VUG_OK)
        st = vug_cuda_check(cudaGraphLaunch(graph, step->stream), "launching a step", err);
    const cudaError_t waited = cudaStreamSynchronize(step->stream);
    if (st == VUG_OK)
        st = vug_cuda_check(waited, "a step", err);
    if (st == VUG_OK)
        st = add_times(step, &events, err);
    if (graph)
        (void)cudaGraphExecDestroy(graph);
    release_events(&events);
    return st;
}
