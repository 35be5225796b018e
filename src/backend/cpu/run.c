/* One step: the program's nodes in order, each a job of linear.c, attention.c,
 * experts.c or elementwise.c. A step allocates nothing. */
#include "backend/cpu/program.h"

/* ---- workspace ------------------------------------------------------------ */

vug_status vug_cpu_workspace_create(const vug_program *program, vug_workspace **out, vug_err *err)
{
    const uint64_t bytes = program->sizes.workspace_bytes;
    vug_workspace *ws = vug_alloc_zero(1, sizeof(*ws));
    uint8_t *block = vug_alloc_aligned(bytes);
    if (!ws || !block) {
        vug_free(ws);
        vug_free(block);
        return VUG_FAIL_NOMEM(err, "the buffers of a step", bytes);
    }
    const vug_cpu_parts *at = &program->at;
    ws->program = program;
    ws->block = block;
    ws->env = (vug_cpu_env){ .kernels = program->device->kernels,
                             .pool = program->device->pool,
                             .scratch = (float *)(void *)(block + at->scratch),
                             .scratch_floats = program->scratch_floats,
                             .shared = (float *)(void *)(block + at->shared),
                             .exact = program->plan->exact_activations };
    ws->seen = (vug_cpu_range *)(void *)(block + at->seen);
    ws->position = (int32_t *)(void *)(block + at->position);
    ws->query = (vug_span *)(void *)(block + at->query);
    *out = ws;
    return VUG_OK;
}

void vug_cpu_workspace_destroy(vug_workspace *workspace)
{
    if (!workspace)
        return;
    vug_free(workspace->block);
    vug_free(workspace);
}

/* ---- the step ------------------------------------------------------------- */

typedef struct {
    const vug_program *program;
    const vug_workspace *ws;
    const vug_step_in *in;
    int64_t tokens;
    int n_queries;
} run;

/* In the block; of no input. */
static float *value_at(const run *r, vug_val v)
{
    return (float *)(void *)(r->ws->block + r->program->plan->offset[v.id]);
}

static const float *input_at(const run *r, vug_val v)
{
    const vug_node *node = vug_graph_at(r->program->graph, v);
    return node->op == VUG_OP_INPUT ? r->in->data[node->at.input.index] : value_at(r, v);
}

static const vug_weight *weight_at(const run *r, vug_val v)
{
    return &r->program->weight[vug_graph_at(r->program->graph, v)->at.param.slot];
}

static vug_matrix matrix_at(const run *r, vug_val v, int64_t columns)
{
    const vug_weight *w = weight_at(r, v);
    return (vug_matrix){ w->dtype, w->data, columns, w->scales };
}

static int64_t first_dim(const run *r, const vug_shape *shape)
{
    const int64_t d = shape->dim[0];
    return d == VUG_DIM_T ? r->tokens : d == VUG_DIM_R ? r->in->n_rows : d;
}

static void run_linears(const run *r, const vug_cpu_step *step)
{
    const vug_graph *g = r->program->graph;
    const vug_node *first = &g->node[step->node[0]];
    const int64_t in = vug_graph_at(g, first->in[0])->shape.dim[1];
    vug_cpu_matrix matrix[VUG_CPU_MATRICES];
    for (int i = 0; i < step->n; i++) {
        const vug_node *node = &g->node[step->node[i]];
        matrix[i] = (vug_cpu_matrix){ matrix_at(r, node->in[1], in), node->shape.dim[1],
                                      value_at(r, (vug_val){ step->node[i] }) };
    }
    vug_cpu_linear(&r->ws->env, &(vug_cpu_linear_job){ .x = input_at(r, first->in[0]),
                                                       .rows = first_dim(r, &first->shape),
                                                       .in = in,
                                                       .matrix = matrix,
                                                       .n = step->n });
}

/* Of a node that has one; its columns are the most keys of a span. */
static vug_status find_mask(const run *r, const vug_node *node, vug_cpu_mask *mask, vug_err *err)
{
    if (!vug_op_has_mask(node->op))
        return VUG_OK;
    const vug_val v = node->in[vug_op_inputs(node->op) - 1];
    for (int i = 0; i < r->in->n_spans; i++) {
        const int64_t keys = r->in->span[i].past + r->in->span[i].n;
        mask->columns = keys > mask->columns ? keys : mask->columns;
    }
    const int64_t columns = vug_graph_at(r->program->graph, v)->shape.dim[1];
    if (columns > 0 && columns != mask->columns)
        return VUG_FAIL(err, VUG_ARGUMENT, "a mask of %lld columns in a step of %lld keys",
                        (long long)columns, (long long)mask->columns);
    mask->add = input_at(r, v);
    return vug_cpu_mask_init(mask, r->in->span, r->in->n_spans, r->ws->seen, err);
}

/* All that does not depend on what the node fills its cache with. */
static vug_cpu_attention_job attention_job(const run *r, uint32_t id)
{
    const vug_node *node = &r->program->graph->node[id];
    return (vug_cpu_attention_job){ .cache = &r->program->cache[node->at.attn.layer],
                                    .span = r->in->span,
                                    .n_spans = r->in->n_spans,
                                    .heads = node->shape.dim[1],
                                    .q = input_at(r, node->in[0]),
                                    .out = value_at(r, (vug_val){ id }),
                                    .score = { node->at.attn.scale, node->at.attn.softcap },
                                    .tile_rows = r->program->plan->tile_rows };
}

static vug_status run_attention(const run *r, uint32_t id, vug_err *err)
{
    const vug_node *node = &r->program->graph->node[id];
    vug_cpu_attention_job job = attention_job(r, id);
    job.k = input_at(r, node->in[1]);
    job.v = input_at(r, node->in[2]);
    VUG_TRY(find_mask(r, node, &job.mask, err));
    if (vug_op_has_past(node->op))
        vug_cpu_cache_load(&r->ws->env, &job, input_at(r, node->in[3]), input_at(r, node->in[4]));
    vug_cpu_cache_append(&r->ws->env, &job);
    vug_cpu_attention(&r->ws->env, &job);
    return VUG_OK;
}

/* Queries of all tokens, or of those whose outputs are wanted. A graph for equal fixed
 * numbers of both does not tell them apart, nor is there a difference: the outputs of each
 * sequence's one token are wanted. */
static vug_status run_attend(const run *r, uint32_t id, vug_err *err)
{
    const vug_node *node = &r->program->graph->node[id];
    vug_cpu_attention_job job = attention_job(r, id);
    if (node->shape.dim[0] != r->program->token_dim) {
        job.span = r->ws->query;
        job.n_spans = r->n_queries;
    }
    VUG_TRY(find_mask(r, node, &job.mask, err));
    if (job.n_spans > 0)
        vug_cpu_attention(&r->ws->env, &job);
    return VUG_OK;
}

static void run_experts(const run *r, uint32_t id)
{
    const vug_node *node = &r->program->graph->node[id];
    vug_cpu_experts_job job = vug_cpu_experts_of(r->program->graph, node, r->program->weight,
                                                 first_dim(r, &node->shape));
    job.x = input_at(r, node->in[0]);
    job.route = input_at(r, node->in[1]);
    job.out = value_at(r, (vug_val){ id });
    vug_cpu_experts(&r->ws->env, &job);
}

/* The node's own attributes; what it does not have stays 0. */
static void set_attributes(const run *r, uint32_t id, vug_cpu_rows_job *job)
{
    const vug_program *p = r->program;
    const vug_node *node = &p->graph->node[id];
    switch (node->op) {
    case VUG_OP_EMBED:
        job->by = node->at.scale.by;
        job->table = matrix_at(r, node->in[0], job->width);
        job->index = r->in->token;
        break;
    case VUG_OP_UNIT_NORM:
        job->eps = node->at.norm.eps;
        break;
    case VUG_OP_RMS_NORM:
    case VUG_OP_ADD_NORM:
    case VUG_OP_NORM_ROPE:
        job->w = p->row_weight[id];
        job->eps = node->at.norm.eps;
        break;
    case VUG_OP_BIAS:
    case VUG_OP_ROUTE_SCALE:
        job->w = p->row_weight[id];
        break;
    case VUG_OP_ROPE_TABLE:
        job->angles = &node->at.table;
        job->index = r->in->position ? r->in->position : r->ws->position;
        break;
    case VUG_OP_SCALE:
    case VUG_OP_SOFTCAP:
        job->by = node->at.scale.by;
        break;
    case VUG_OP_GAIN:
        vug_matrix_decode(&(vug_matrix){ .dtype = weight_at(r, node->in[1])->dtype,
                                         .data = weight_at(r, node->in[1])->data,
                                         .columns = 1 },
                          0, &job->by);
        break;
    case VUG_OP_HEAD:
        job->heads = vug_graph_at(p->graph, node->in[0])->shape.dim[1];
        job->head = node->at.head.index;
        break;
    case VUG_OP_TAKE:
        job->index = r->in->row;
        break;
    case VUG_OP_ROUTER:
        job->router = &node->at.router;
        job->experts = vug_graph_at(p->graph, node->in[0])->shape.dim[1];
        break;
    default:
        break;
    }
    if (node->op == VUG_OP_ROPE || node->op == VUG_OP_NORM_ROPE) {
        const vug_val table = node->in[node->op == VUG_OP_ROPE ? 1 : 2];
        job->dims = vug_graph_at(p->graph, table)->shape.dim[1];
        job->heads = node->shape.dim[1];
    }
}

static void run_rows(const run *r, uint32_t id)
{
    const vug_graph *g = r->program->graph;
    const vug_node *node = &g->node[id];
    const int64_t width = node->shape.dim[node->shape.rank - 1];
    vug_cpu_rows_job job = {
        .op = node->op,
        .rows = vug_shape_elements(&node->shape, r->tokens, r->in->n_rows) / width,
        .width = width,
        .out = value_at(r, (vug_val){ id }),
    };
    for (int i = 0; i < vug_op_inputs(node->op); i++) {
        const vug_node *in = vug_graph_at(g, node->in[i]);
        if (in->op != VUG_OP_PARAM &&
            (in->op != VUG_OP_INPUT || in->at.input.which == VUG_INPUT_DATA))
            job.in[i] = input_at(r, node->in[i]);
    }
    set_attributes(r, id, &job);
    vug_cpu_rows(&r->ws->env, &job);
}

/* ---- checks --------------------------------------------------------------- */

static vug_status check_spans(const vug_program *p, const vug_step_in *in, int64_t *tokens,
                              vug_err *err)
{
    int64_t n = 0;
    for (int i = 0; i < in->n_spans; i++) {
        const vug_span *span = &in->span[i];
        if (span->n < 1 || span->past < 0 || span->n > p->limits.batch ||
            span->past > p->limits.context - span->n)
            return VUG_FAIL(err, VUG_LIMIT,
                            "a step of %lld tokens after %lld does not fit steps of %lld and a "
                            "context of %lld",
                            (long long)span->n, (long long)span->past, (long long)p->limits.batch,
                            (long long)p->limits.context);
        n += span->n;
        if (n > p->limits.batch)
            return VUG_FAIL(err, VUG_LIMIT, "a step of more than %lld tokens",
                            (long long)p->limits.batch);
    }
    if (n == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "a step without tokens");
    *tokens = n;
    return VUG_OK;
}

/* A graph that was made for a fixed number of tokens or rows runs so many. */
static vug_status check_inputs(const run *r, vug_err *err)
{
    const vug_graph *g = r->program->graph;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (node->op != VUG_OP_INPUT || node->shape.dim[0] < 0)
            continue;
        const vug_input which = node->at.input.which;
        const int64_t n = which == VUG_INPUT_ROWS ? r->in->n_rows : r->tokens;
        if (which != VUG_INPUT_DATA && node->shape.dim[0] != n)
            return VUG_FAIL(err, VUG_ARGUMENT, "a step of %lld %s, the graph is for %lld",
                            (long long)n, which == VUG_INPUT_ROWS ? "rows" : "tokens",
                            (long long)node->shape.dim[0]);
    }
    if (vug_graph_data_count(g) > 0 && !r->in->data)
        return VUG_FAIL(err, VUG_ARGUMENT, "a step without the data that the graph reads");
    return VUG_OK;
}

static vug_status check_indices(const run *r, vug_err *err)
{
    const vug_graph *g = r->program->graph;
    for (uint32_t i = 1; i < g->n; i++) {
        if (g->node[i].op != VUG_OP_EMBED)
            continue;
        const int64_t n_vocab = vug_graph_at(g, g->node[i].in[0])->shape.dim[0];
        for (int64_t t = 0; t < r->tokens; t++) {
            if (r->in->token[t] < 0 || r->in->token[t] >= n_vocab)
                return VUG_FAIL(err, VUG_ARGUMENT, "token %d is outside the vocabulary of %lld",
                                r->in->token[t], (long long)n_vocab);
        }
    }
    if (r->in->n_rows < 0 || r->in->n_rows > r->program->limits.rows)
        return VUG_FAIL(err, VUG_LIMIT, "%lld rows of outputs, at most %lld",
                        (long long)r->in->n_rows, (long long)r->program->limits.rows);
    for (int64_t i = 0; i < r->in->n_rows; i++) {
        if (r->in->row[i] < 0 || r->in->row[i] >= r->tokens)
            return VUG_FAIL(err, VUG_ARGUMENT, "row %d of a step of %lld tokens", r->in->row[i],
                            (long long)r->tokens);
    }
    return VUG_OK;
}

/* The rows of outputs as spans of queries: neighbours of one sequence together. */
static int find_queries(const vug_step_in *in, vug_span *query)
{
    int64_t first = 0; /* token of the span `s` in the step */
    int n = 0, s = 0;
    for (int64_t i = 0; i < in->n_rows; i++) {
        if (in->row[i] < first) {
            first = 0;
            s = 0;
        }
        while (in->row[i] >= first + in->span[s].n)
            first += in->span[s++].n;
        const vug_span at = { in->span[s].state, in->span[s].past + in->row[i] - first, 1 };
        const vug_span *last = n > 0 ? &query[n - 1] : NULL;
        if (last && last->state == at.state && last->past + last->n == at.past)
            query[n - 1].n++;
        else
            query[n++] = at;
    }
    return n;
}

static bool is_cancelled(const vug_step_in *in)
{
    return in->cancel && atomic_load_explicit(in->cancel, memory_order_relaxed);
}

vug_status vug_cpu_run(const vug_program *program, vug_workspace *workspace, const vug_step_in *in,
                       const float **output, vug_err *err)
{
    run r = { .program = program, .ws = workspace, .in = in };
    VUG_TRY(check_spans(program, in, &r.tokens, err));
    VUG_TRY(check_inputs(&r, err));
    VUG_TRY(check_indices(&r, err));
    int32_t *position = workspace->position;
    for (int i = 0; i < in->n_spans; i++) {
        for (int64_t t = 0; t < in->span[i].n; t++)
            *position++ = (int32_t)(in->span[i].past + t);
    }
    r.n_queries = find_queries(in, workspace->query);
    const vug_graph *g = program->graph;
    workspace->env.cancel = in->cancel;
    for (uint32_t i = 0; i < program->n_steps && !is_cancelled(in); i++) {
        const vug_cpu_step *step = &program->step[i];
        const vug_op op = g->node[step->node[0]].op;
        if (op == VUG_OP_LINEAR)
            run_linears(&r, step);
        else if (vug_op_is_attention(op))
            VUG_TRY(run_attention(&r, step->node[0], err));
        else if (op == VUG_OP_EXPERTS)
            run_experts(&r, step->node[0]);
        else if (vug_op_is_attend(op))
            VUG_TRY(run_attend(&r, step->node[0], err));
        else
            run_rows(&r, step->node[0]);
    }
    if (is_cancelled(in)) /* perhaps in the last node, of which chunks were left out */
        return VUG_FAIL(err, VUG_CANCELLED, "cancelled");
    for (uint32_t i = 0; i < g->n_outputs; i++)
        output[i] = value_at(&r, g->output[i].value);
    return VUG_OK;
}
