/* Running a step: the program's nodes in order, each a job of linear.c, attention.c, experts.c
 * or row_ops.c. A step allocates nothing. */
#include "backend/checks.h"
#include "backend/cpu/program.h"
#include "backend/host_experts.h"
#include "core/os.h"

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
    const vug_cpu_workspace_layout *layout = &program->layout;
    ws->program = program;
    ws->block = block;
    ws->env = (vug_cpu_env){ .kernels = program->device->kernels,
                             .pool = program->device->pool,
                             .scratch = (float *)(void *)(block + layout->scratch),
                             .scratch_floats = program->scratch_floats,
                             .shared = (float *)(void *)(block + layout->shared),
                             .activations = program->plan->activations };
    ws->visible = (vug_cpu_range *)(void *)(block + layout->visible);
    ws->position = (int32_t *)(void *)(block + layout->position);
    ws->query = (vug_span *)(void *)(block + layout->query);
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
} step_run;

/* A computed value; inputs are not in the block. */
static float *value_at(const step_run *r, vug_val v)
{
    return (float *)(void *)(r->ws->block + r->program->plan->offset[v.id]);
}

static const float *input_at(const step_run *r, vug_val v)
{
    const vug_node *node = vug_graph_at(r->program->graph, v);
    return node->op == VUG_OP_INPUT ? r->in->data[node->at.input.index] : value_at(r, v);
}

static const vug_weight *weight_at(const step_run *r, vug_val v)
{
    return &r->program->weight[vug_graph_at(r->program->graph, v)->at.param.slot];
}

static vug_matrix weight_matrix(const step_run *r, vug_val v, int64_t columns)
{
    const vug_weight *w = weight_at(r, v);
    return (vug_matrix){ w->dtype, w->data, columns, w->scales };
}

static int64_t row_count(const step_run *r, const vug_shape *shape)
{
    const int64_t d = shape->dim[0];
    return d == VUG_DIM_T ? r->tokens : d == VUG_DIM_R ? r->in->n_rows : d;
}

static void run_linears(const step_run *r, const vug_cpu_step *step)
{
    const vug_graph *g = r->program->graph;
    const vug_node *first = &g->node[step->node[0]];
    const int64_t in = vug_graph_at(g, first->in[0])->shape.dim[1];
    vug_cpu_projection projection[VUG_CPU_MAX_PROJECTIONS];
    for (int i = 0; i < step->n; i++) {
        const vug_node *node = &g->node[step->node[i]];
        projection[i] = (vug_cpu_projection){ weight_matrix(r, node->in[1], in), node->shape.dim[1],
                                              value_at(r, (vug_val){ step->node[i] }) };
    }
    vug_cpu_linear(&r->ws->env, &(vug_cpu_linear_job){ .x = input_at(r, first->in[0]),
                                                       .rows = row_count(r, &first->shape),
                                                       .in = in,
                                                       .projection = projection,
                                                       .n = step->n });
}

static void run_head(const step_run *r)
{
    const vug_node *node = &r->program->graph->node[r->program->head];
    const vug_cpu_head_job job = { .x = input_at(r, node->in[0]),
                                   .rows = row_count(r, &node->shape),
                                   .logits = value_at(r, (vug_val){ r->program->head }),
                                   .wanted = r->in->wanted,
                                   /* Somebody waits for the first token of a prompt. */
                                   .may_build = r->tokens == r->in->n_rows,
                                   .cost = r->in->head_stats };
    vug_cpu_head_product(&r->ws->env, r->program->screen, &job);
}

/* Sets the mask of a node that has one. */
static vug_status init_mask(const step_run *r, const vug_node *node, vug_cpu_attention_mask *mask,
                            vug_err *err)
{
    if (!vug_node_has_mask(node))
        return VUG_OK;
    const vug_val v = node->in[vug_node_inputs(node) - 1];
    const int64_t fixed = vug_graph_at(r->program->graph, v)->shape.dim[1];
    VUG_TRY(vug_check_mask_columns(r->in, fixed, &mask->columns, err));
    mask->add = input_at(r, v);
    return vug_cpu_attention_mask_init(mask, r->in->span, r->in->n_spans, r->ws->visible, err);
}

/* The part of the job that does not depend on the node's keys and values. */
static vug_cpu_attention_job attention_job(const step_run *r, uint32_t id)
{
    const vug_node *node = &r->program->graph->node[id];
    return (vug_cpu_attention_job){ .cache = &r->program->cache[node->at.attn.layer],
                                    .kv = r->in->kv,
                                    .span = r->in->span,
                                    .n_spans = r->in->n_spans,
                                    .heads = node->shape.dim[1],
                                    .q = input_at(r, node->in[0]),
                                    .out = value_at(r, (vug_val){ id }),
                                    .score = { node->at.attn.scale, node->at.attn.softcap },
                                    .tile_rows = r->program->plan->tile_rows };
}

static vug_status run_attention(const step_run *r, uint32_t id, vug_err *err)
{
    const vug_node *node = &r->program->graph->node[id];
    vug_cpu_attention_job job = attention_job(r, id);
    job.k = input_at(r, node->in[1]);
    job.v = input_at(r, node->in[2]);
    VUG_TRY(init_mask(r, node, &job.mask, err));
    if (vug_node_has_past(node))
        vug_cpu_kv_cache_load(&r->ws->env, &job, input_at(r, node->in[3]),
                              input_at(r, node->in[4]));
    vug_cpu_kv_cache_append(&r->ws->env, &job);
    vug_cpu_attention(&r->ws->env, &job);
    return VUG_OK;
}

/* The queries belong to all tokens or to the output rows. In a graph with equal fixed numbers
 * of both it does not matter which: every token is an output row. */
static vug_status run_shared_attention(const step_run *r, uint32_t id, vug_err *err)
{
    const vug_node *node = &r->program->graph->node[id];
    vug_cpu_attention_job job = attention_job(r, id);
    if (node->shape.dim[0] != r->program->token_dim) {
        job.span = r->ws->query;
        job.n_spans = r->n_queries;
    }
    VUG_TRY(init_mask(r, node, &job.mask, err));
    if (job.n_spans > 0)
        vug_cpu_attention(&r->ws->env, &job);
    return VUG_OK;
}

static void run_experts(const step_run *r, uint32_t id)
{
    const vug_node *node = &r->program->graph->node[id];
    vug_cpu_experts_job job = vug_cpu_make_experts_job(r->program->graph, node, r->program->weight,
                                                       row_count(r, &node->shape));
    job.x = input_at(r, node->in[0]);
    job.route = input_at(r, node->in[1]);
    job.out = value_at(r, (vug_val){ id });
    vug_cpu_experts(&r->ws->env, &job);
}

static vug_status run_host_experts(const step_run *r, uint32_t id, vug_err *err)
{
    const vug_node *node = &r->program->graph->node[id];
    const vug_host_experts_job job = { .x = input_at(r, node->in[0]),
                                       .route = input_at(r, node->in[1]),
                                       .rows = row_count(r, &node->shape),
                                       .cancel = r->in->cancel,
                                       .out = value_at(r, (vug_val){ id }) };
    return vug_host_experts_compute(r->program->plan->host_experts, node->at.host_experts.index,
                                    &job, err);
}

static void run_rows(const step_run *r, uint32_t id)
{
    const vug_graph *g = r->program->graph;
    const vug_node *node = &g->node[id];
    const int64_t width = node->shape.dim[node->shape.rank - 1];
    vug_cpu_row_job job = {
        .node = node,
        .rows = vug_shape_elements(&node->shape, r->tokens, r->in->n_rows) / width,
        .width = width,
        .out = value_at(r, (vug_val){ id }),
        .w = r->program->vector[id],
    };
    const char *kinds = vug_node_operands(node);
    for (int i = 0; kinds[i]; i++) {
        job.in_shape[i] = &vug_graph_at(g, node->in[i])->shape;
        if (kinds[i] == 'x')
            job.in[i] = input_at(r, node->in[i]);
        else if (kinds[i] == 'e')
            job.table = weight_matrix(r, node->in[i], width);
        else if (kinds[i] == 't')
            job.index = r->in->token;
        else if (kinds[i] == 'p')
            job.index = r->in->position ? r->in->position : r->ws->position;
        else if (kinds[i] == 'r')
            job.index = r->in->row;
    }
    vug_cpu_run_rows(&r->ws->env, &job);
}

/* ---- checking a step ------------------------------------------------------- */

/* Pages of another layout would be read out of bounds. */
static vug_status check_kv(const step_run *r, vug_err *err)
{
    const vug_kv_layout *layout = &r->program->kv_layout;
    const vug_kv *kv = r->in->kv;
    if (layout->n_groups > 0 && !kv)
        return VUG_FAIL(err, VUG_ARGUMENT, "a step lacks the cache of the graph");
    for (int g = 0; g < layout->n_groups; g++) {
        if (g >= kv->n_groups ||
            kv->group[g].page_bytes != vug_cpu_kv_page_bytes(r->program->device, layout, g))
            return VUG_FAIL(err, VUG_ARGUMENT, "a step has a cache of another layout");
    }
    return VUG_OK;
}

static vug_status run_nodes_of(const step_run *r, const vug_cpu_step *step, vug_err *err)
{
    const vug_node *node = &r->program->graph->node[step->node[0]];
    if (vug_node_shares_cache(node))
        return run_shared_attention(r, step->node[0], err);
    if (node->op == VUG_OP_ATTENTION)
        return run_attention(r, step->node[0], err);
    if (r->in->wanted && r->program->screen && step->n == 1 && step->node[0] == r->program->head)
        run_head(r);
    else if (node->op == VUG_OP_LINEAR)
        run_linears(r, step);
    else if (node->op == VUG_OP_EXPERTS)
        run_experts(r, step->node[0]);
    else if (node->op == VUG_OP_HOST_EXPERTS)
        return run_host_experts(r, step->node[0], err);
    else
        run_rows(r, step->node[0]);
    return VUG_OK;
}

static void add_cost(const step_run *r, const vug_cpu_step *step, double seconds)
{
    const vug_graph *g = r->program->graph;
    vug_op_cost *cost = &r->in->cost[g->node[step->node[0]].op];
    cost->seconds += seconds;
    for (int i = 0; i < step->n; i++) {
        const vug_node *node = &g->node[step->node[i]];
        vug_step_add_cost(g, r->program->plan, r->program->weight, node, row_count(r, &node->shape),
                          cost);
    }
}

/* Runs nodes, and adds what they cost. */
static vug_status time_nodes_of(const step_run *r, const vug_cpu_step *step, vug_err *err)
{
    const vug_head_stats *head = r->in->head_stats;
    const double start = vug_now(), saved = head ? head->saved_bytes : 0;
    VUG_TRY(run_nodes_of(r, step, err));
    add_cost(r, step, vug_now() - start);
    if (head)
        r->in->cost[VUG_OP_LINEAR].weight_bytes -= head->saved_bytes - saved;
    return VUG_OK;
}

static vug_status run_nodes(const step_run *r, vug_err *err)
{
    const vug_program *p = r->program;
    for (uint32_t i = 0; i < p->n_steps && !vug_is_cancelled(r->in->cancel); i++)
        VUG_TRY(r->in->cost ? time_nodes_of(r, &p->step[i], err)
                            : run_nodes_of(r, &p->step[i], err));
    return VUG_OK;
}

vug_status vug_cpu_run(const vug_program *program, vug_workspace *workspace, const vug_step_in *in,
                       const float **output, vug_err *err)
{
    step_run r = { .program = program, .ws = workspace, .in = in };
    VUG_TRY(vug_check_step(program->graph, &program->limits, in, &r.tokens, err));
    VUG_TRY(check_kv(&r, err));
    vug_step_positions(in, workspace->position);
    r.n_queries = vug_step_queries(in, workspace->query);
    workspace->env.cancel = in->cancel;
    const double start = vug_now();
    vug_pool_begin_round(workspace->env.pool);
    VUG_TRY(run_nodes(&r, err));      /* a round that fails is not ended (core/pool.h) */
    if (vug_is_cancelled(in->cancel)) /* some chunks of the last node may not have run */
        return VUG_FAIL(err, VUG_CANCELLED, "cancelled");
    vug_pool_end_round(workspace->env.pool, (int)r.tokens);
    if (program->screen)
        vug_cpu_head_screen_add_step(program->screen, vug_now() - start);
    for (uint32_t i = 0; i < program->graph->n_outputs; i++)
        output[i] = value_at(&r, program->graph->output[i].value);
    return VUG_OK;
}
