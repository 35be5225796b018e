/* Steps of few tokens as CUDA graphs: the launches of a step are recorded when its like has been
 * seen before, and later steps of the same kind are one launch. */
#include "backend/cuda/step_graph.h"

/* All that goes into the launches of a step, beside its program and workspace. Steps take turns with two
 * buffers of the host for inputs and lists. */
typedef struct {
    vug_cuda_step_inputs inputs;
    const uint32_t *from;
    int64_t words, tokens, rows, spans;
    int64_t lists, draws, changes, reports; /* rows of lists; whether some want so */
} step_key;

enum { MAX_GRAPHS = 32 * VUG_STEPS_STARTED };

struct vug_cuda_graphs {
    struct {
        step_key key;
        cudaGraphExec_t graph; /* NULL: seen once */
        uint64_t used;         /* the last time */
    } entry[MAX_GRAPHS];
    uint64_t time;
};

vug_status vug_cuda_graphs_create(vug_cuda_graphs **out, vug_err *err)
{
    *out = vug_alloc_zero(1, sizeof(**out));
    return *out ? VUG_OK : VUG_FAIL_NOMEM(err, "the graphs of steps", sizeof(**out));
}

void vug_cuda_graphs_destroy(vug_cuda_graphs *graphs)
{
    for (int i = 0; graphs && i < MAX_GRAPHS; i++) {
        if (graphs->entry[i].graph)
            (void)cudaGraphExecDestroy(graphs->entry[i].graph);
    }
    vug_free(graphs);
}

/* The entry of a key, or else the one that was unused the longest, emptied. */
static int find_entry(vug_cuda_graphs *graphs, const step_key *key, bool *found)
{
    int oldest = 0;
    for (int i = 0; i < MAX_GRAPHS; i++) {
        *found = graphs->entry[i].used && memcmp(&graphs->entry[i].key, key, sizeof(*key)) == 0;
        if (*found)
            return i;
        if (graphs->entry[i].used < graphs->entry[oldest].used)
            oldest = i;
    }
    if (graphs->entry[oldest].graph)
        (void)cudaGraphExecDestroy(graphs->entry[oldest].graph);
    graphs->entry[oldest].graph = NULL;
    graphs->entry[oldest].key = *key;
    return oldest;
}

/* On a stream of its own: others may use the device's meanwhile. */
vug_status vug_cuda_record(const vug_cuda_step *step, vug_cuda_launch_fn *launch, const void *user,
                           cudaGraphExec_t *out, vug_err *err)
{
    vug_cuda_step recorded = *step;
    cudaGraph_t graph = NULL;
    recorded.stream = step->program->device->recording;
    VUG_TRY(vug_cuda_check(
            cudaStreamBeginCapture(recorded.stream, cudaStreamCaptureModeThreadLocal),
            "recording a step", err));
    launch(&recorded, user);
    vug_status st =
            vug_cuda_check(cudaStreamEndCapture(recorded.stream, &graph), "recording a step", err);
    if (st == VUG_OK)
        st = vug_cuda_check(cudaGraphInstantiate(out, graph, 0), "recording a step", err);
    if (graph)
        (void)cudaGraphDestroy(graph);
    return st;
}

vug_status vug_cuda_launch_graph(const vug_cuda_step *step, vug_cuda_launch_fn *launch,
                                 bool *launched, vug_err *err)
{
    vug_cuda_graphs *graphs = step->ws->graphs;
    step_key key;
    bool found;
    memset(&key, 0, sizeof(key)); /* also the padding, which is compared */
    key.inputs = step->inputs;
    key.from = step->copy.from;
    key.words = step->copy.words;
    key.tokens = step->tokens;
    key.rows = step->in->n_rows;
    key.spans = step->in->n_spans;
    key.lists = step->lists.rows;
    key.draws = step->lists.draws;
    key.changes = step->lists.changes;
    key.reports = step->lists.reports;
    const int i = find_entry(graphs, &key, &found);
    graphs->entry[i].used = ++graphs->time;
    *launched = found;
    if (!found)
        return VUG_OK;
    if (!graphs->entry[i].graph)
        VUG_TRY(vug_cuda_record(step, launch, NULL, &graphs->entry[i].graph, err));
    return vug_cuda_check(cudaGraphLaunch(graphs->entry[i].graph, step->stream), "launching a step",
                          err);
}
