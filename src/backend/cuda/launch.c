/* From a node of the graph to the launch of its kernels. */
#include "backend/cuda/launch.h"

#include "backend/cuda/host_calls.h"

/* ---- rows of a table ---------------------------------------------------------------------- */

static void launch_embed(const vug_cuda_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    const vug_matrix *table = matrix_at(s, node->in[0]);
    const vug_cuda_embed_job job = { .table = *table,
                                     .row_bytes = vug_cuda_row_bytes(table),
                                     .index = s->inputs.token,
                                     .out = vug_cuda_value_at(s, (vug_val){ id }),
                                     .rows = s->tokens,
                                     .by = node->at.scale.by,
                                     .launch = vug_cuda_options_of(s) };
    vug_cuda_embed(stream_of(s), &job);
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* RMS_NORM, UNIT_NORM, ADD_NORM, NORM_ROPE and ROPE. */
static vug_cuda_norm_job norm_job(const vug_cuda_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    const char *kinds = vug_node_operands(node);
    const size_t w = strcspn(kinds, "n");
    const bool adds = node->op == VUG_OP_ADD_NORM;
    const bool rotates = vug_op_class_of(node->op) == VUG_CLASS_ROPE;
    vug_cuda_norm_job job = { .x = vug_cuda_input_at(s, node->in[adds ? 1 : 0]),
                              .out = vug_cuda_value_at(s, (vug_val){ id }),
                              .rows = rows_of(s, node),
                              .width = last_dim(node),
                              .heads = node->shape.rank > 2 ? node->shape.dim[1] : 1,
                              .launch = vug_cuda_options_of(s) };
    if (node->op != VUG_OP_ROPE) {
        job.eps = node->at.norm.eps;
        job.bias = node->at.norm.bias;
    }
    if (kinds[w])
        job.w = vector_at(s, node->in[w]);
    if (adds)
        job.add = vug_cuda_input_at(s, node->in[0]);
    if (rotates) {
        const vug_val table = node->in[vug_node_inputs(node) - 1];
        job.table = vug_cuda_input_at(s, table);
        job.dims = node_at(s, table)->shape.dim[1];
    }
    return job;
}

/* ---- attention ------------------------------------------------------------------------------ */

/* The past that the graph is given fills the pages before each sequence's tokens. */
static void load_past(const vug_cuda_step *s, const vug_node *node,
                      const vug_cuda_append_job *append)
{
    const int64_t width = append->cache.heads * append->cache.width;
    int64_t first = 0, table = 0;
    for (int i = 0; i < s->in->n_spans; i++) {
        const vug_span *span = &s->in->span[i];
        vug_cuda_append_job job = *append;
        job.token = NULL;
        job.table = table;
        job.tokens = span->past;
        job.k = vug_cuda_input_at(s, node->in[3]) + first * width;
        job.v = vug_cuda_input_at(s, node->in[4]) + first * width;
        if (job.tokens > 0)
            vug_cuda_append(stream_of(s), &job);
        first += span->past;
        table += vug_kv_pages_of(span->past + span->n);
    }
}

static vug_cuda_append_job append_job(const vug_cuda_step *s, const vug_node *node)
{
    const int layer = node->at.attn.layer;
    return (vug_cuda_append_job){
        .cache = s->program->cache[layer],
        .page = s->inputs.page[s->program->kv_layout.layer[layer].group],
        .token = s->inputs.query,
        .k = vug_cuda_input_at(s, node->in[1]),
        .v = vug_cuda_input_at(s, node->in[2]),
        .tokens = s->tokens,
    };
}

/* Of attention that rotates queries and keys itself. */
static vug_cuda_attention_inputs_job inputs_job(const vug_cuda_step *s, const vug_node *node)
{
    return (vug_cuda_attention_inputs_job){
        .q = norm_job(s, node->in[0].id),
        .k = norm_job(s, node->in[1].id),
        .q_norms = node_at(s, node->in[0])->op == VUG_OP_NORM_ROPE,
        .k_norms = node_at(s, node->in[1])->op == VUG_OP_NORM_ROPE,
        .store = append_job(s, node),
        .launch = vug_cuda_options_of(s),
    };
}

/* Stores keys and values, and rotates queries and keys if the attention does so itself. */
static void launch_append(const vug_cuda_step *s, const vug_node *node)
{
    const vug_cuda_append_job job = append_job(s, node);
    if (vug_node_has_past(node))
        load_past(s, node, &job);
    if (s->program->rotated_by[node->in[0].id]) {
        const vug_cuda_attention_inputs_job inputs = inputs_job(s, node);
        vug_cuda_attention_inputs(stream_of(s), &inputs);
    } else {
        vug_cuda_append(stream_of(s), &job);
    }
}

/* Pages that are computed side by side, of `tokens` tokens each by itself. */
static int side_pages(const vug_cuda_step *s, const vug_node *node, int64_t tokens)
{
    const int pages = (int)vug_cuda_side_pages(node, tokens, s->inputs.keys);
    return pages <= VUG_CUDA_BLOCK_PAGES ? 0 : pages;
}

/* Whether the attention of a step may prepare queries and keys itself: each sequence has one token. */
static bool may_prepare_inputs(const vug_cuda_step *s, const vug_node *node)
{
    return s->tokens == s->in->n_spans && !node->at.attn.shared &&
           s->program->rotated_by[node->in[0].id];
}

/* Launches all of the attention of a step in which each sequence has one token; false: there is no
 * kernel for it. */
static bool launch_decode_attention(const vug_cuda_step *s, uint32_t id,
                                    const vug_cuda_attention_job *attention)
{
    const vug_cuda_program *p = s->program;
    const vug_node *node = &p->graph->node[id];
    if (!may_prepare_inputs(s, node) || vug_cuda_rounds_attention(p, node) ||
        !vug_cuda_takes_decode_attention(attention))
        return false;
    const vug_cuda_decode_attention_job job = { .inputs = inputs_job(s, node),
                                                .attention = *attention,
                                                .pages_done = s->ws->pages_done,
                                                .processors = p->device->processors };
    vug_cuda_decode_attention(stream_of(s), &job);
    return true;
}

/* The same over caches of 16 bits, on tensor cores. */
static bool launch_token_attention(const vug_cuda_step *s, const vug_node *node,
                                   const vug_cuda_attention_job *attention)
{
    vug_cuda_token_attention_job job = { .attention = *attention,
                                         .processors = s->program->device->processors };
    if (!may_prepare_inputs(s, node) || vug_node_has_past(node) ||
        attention->token != s->inputs.query || !vug_cuda_rounds_attention(s->program, node))
        return false;
    job.inputs = inputs_job(s, node);
    if (!vug_cuda_takes_attention_inputs(&job.inputs))
        return false;
    job.attention.pages = side_pages(s, node, attention->tokens);
    vug_cuda_token_attention(stream_of(s), &job, true);
    return true;
}

/* `n` tokens of a job; `run`: they follow one another in a sequence. */
static void launch_tokens(const vug_cuda_step *s, const vug_node *node,
                          const vug_cuda_attention_job *all, int64_t first, int64_t n, bool run)
{
    const int64_t values = all->heads * all->cache.width;
    const vug_cuda_device *device = s->program->device;
    vug_cuda_attention_job job = *all;
    job.token += first;
    job.q += first * values;
    job.out += first * values;
    job.tokens = n;
    job.pages = run ? 0 : side_pages(s, node, n);
    if (!run)
        vug_cuda_token_attention(stream_of(s),
                                 &(vug_cuda_token_attention_job){
                                         .attention = job, .processors = device->processors },
                                 false);
    else if (device->capability == 9 && vug_cuda_takes_wgmma_attention(&job.cache))
        vug_cuda_wgmma_attention(stream_of(s), &job);
    else
        vug_cuda_mma_attention(stream_of(s), &job);
}

/* Attention on tensor cores. Tokens of a sequence that fill a product with the heads that share
 * keys are computed together. */
static void launch_rounded_attention(const vug_cuda_step *s, const vug_node *node,
                                     const vug_cuda_attention_job *job)
{
    const int64_t per_kv = job->heads / job->cache.heads;
    int64_t first = 0, waiting = 0; /* the first token that no launch has taken */
    for (int i = 0; job->token == s->inputs.query && i < s->in->n_spans; i++) {
        const int64_t n = s->in->span[i].n;
        if (vug_cuda_is_run(n, per_kv)) {
            launch_tokens(s, node, job, waiting, first - waiting, false);
            launch_tokens(s, node, job, first, n, true);
            waiting = first + n;
        }
        first += n;
    }
    launch_tokens(s, node, job, waiting, job->tokens - waiting, false);
}

static void launch_attention(const vug_cuda_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    const vug_attr_attention *at = &node->at.attn;
    const bool rows = node->shape.dim[0] != s->program->token_dim;
    const int group = s->program->kv_layout.layer[at->layer].group;
    const int64_t tokens = rows ? s->in->n_rows : s->tokens;
    const vug_cuda_attention_job job = {
        .cache = s->program->cache[at->layer],
        .page = s->inputs.page[group],
        .token = rows ? s->inputs.row_query : s->inputs.query,
        .q = vug_cuda_input_at(s, node->in[0]),
        .out = vug_cuda_value_at(s, (vug_val){ id }),
        .partial = (float *)(void *)s->ws->scratch,
        .mask = at->mask ? vug_cuda_input_at(s, node->in[vug_node_inputs(node) - 1]) : NULL,
        .mask_columns = s->inputs.keys,
        .tokens = tokens,
        .heads = node->shape.dim[1],
        .window = s->program->kv_layout.group[group].window,
        .pages = (int)vug_cuda_side_pages(node, tokens, s->inputs.keys),
        .terms = vug_cuda_terms(s->program),
        .launch = vug_cuda_options_of(s),
        .single_tokens = s->tokens == s->in->n_spans,
        .in_blocks = vug_cuda_is_in_blocks(s, id),
        .scale = at->scale,
        .softcap = at->softcap,
    };
    if (launch_decode_attention(s, id, &job) || launch_token_attention(s, node, &job))
        return;
    if (!at->shared)
        launch_append(s, node);
    if (vug_cuda_rounds_attention(s->program, node))
        launch_rounded_attention(s, node, &job);
    else
        vug_cuda_attention(stream_of(s), &job);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* GATHER takes the rows that the step wants, HEAD one head of each row. */
static void launch_gather(const vug_cuda_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    const bool head = node->op == VUG_OP_HEAD;
    const vug_cuda_gather_job job = { .x = vug_cuda_input_at(s, node->in[0]),
                                      .index = head ? NULL : s->inputs.row,
                                      .out = vug_cuda_value_at(s, (vug_val){ id }),
                                      .rows = head ? rows_of(s, node) : s->in->n_rows,
                                      .width = head ? last_dim(node)
                                                    : vug_cuda_elements_of(&node->shape, s->in,
                                                                           s->tokens) /
                                                               (s->in->n_rows ? s->in->n_rows : 1),
                                      .stride = head ? node_at(s, node->in[0])->shape.dim[1] : 0,
                                      .first = head ? node->at.head.index : 0 };
    vug_cuda_gather(stream_of(s), &job);
}

static void launch_router(const vug_cuda_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    const vug_node *logits = node_at(s, node->in[0]);
    vug_cuda_router(stream_of(s), vug_cuda_input_at(s, node->in[0]), rows_of(s, logits),
                    last_dim(logits), &node->at.router, vug_cuda_options_of(s),
                    vug_cuda_value_at(s, (vug_val){ id }));
}

static void launch_route_scale(const vug_cuda_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    vug_cuda_route_scale(stream_of(s), vug_cuda_input_at(s, node->in[0]), vector_at(s, node->in[1]),
                         rows_of(s, node), (int)(last_dim(node) / 2),
                         vug_cuda_value_at(s, (vug_val){ id }));
}

static void launch_rope_table(const vug_cuda_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    vug_attr_table at = node->at.table;
    at.inv = (const float *)(const void *)s->program->constant[id];
    vug_cuda_rope_table(stream_of(s), s->inputs.position, s->tokens, &at, vug_cuda_options_of(s),
                        vug_cuda_value_at(s, (vug_val){ id }));
}

static void launch_norm(const vug_cuda_step *s, uint32_t id)
{
    const vug_cuda_norm_job job = norm_job(s, id);
    if (s->program->graph->node[id].op == VUG_OP_ROPE)
        vug_cuda_rope(stream_of(s), &job);
    else
        vug_cuda_norm(stream_of(s), &job);
}

static void launch_deinterleave(const vug_cuda_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    vug_cuda_deinterleave(stream_of(s), vug_cuda_input_at(s, node->in[0]), rows_of(s, node),
                          last_dim(node), vug_cuda_value_at(s, (vug_val){ id }));
}

/* ---- by operation ------------------------------------------------------------------------------ */

typedef void launch_fn(const vug_cuda_step *step, uint32_t id);

/* Operations of class LEAF and VIEW compute nothing. */
static launch_fn *const launch_of[VUG_OP_COUNT] = {
    [VUG_OP_EMBED] = launch_embed,
    [VUG_OP_LINEAR] = vug_cuda_launch_linear,
    [VUG_OP_RMS_NORM] = launch_norm,
    [VUG_OP_ROPE_TABLE] = launch_rope_table,
    [VUG_OP_ROPE] = launch_norm,
    [VUG_OP_ATTENTION] = launch_attention,
    [VUG_OP_ADD] = vug_cuda_launch_elements,
    [VUG_OP_MUL] = vug_cuda_launch_elements,
    [VUG_OP_GELU] = vug_cuda_launch_elements,
    [VUG_OP_SILU] = vug_cuda_launch_elements,
    [VUG_OP_BIAS] = vug_cuda_launch_elements,
    [VUG_OP_SCALE] = vug_cuda_launch_elements,
    [VUG_OP_SOFTCAP] = vug_cuda_launch_elements,
    [VUG_OP_GATHER] = launch_gather,
    [VUG_OP_ROUTER] = launch_router,
    [VUG_OP_ROUTE_SCALE] = launch_route_scale,
    [VUG_OP_EXPERTS] = vug_cuda_launch_experts,
    [VUG_OP_HOST_EXPERTS] = vug_cuda_launch_host_call,
    [VUG_OP_UNIT_NORM] = launch_norm,
    [VUG_OP_DEINTERLEAVE] = launch_deinterleave,
    [VUG_OP_SCALE_BY] = vug_cuda_launch_elements,
    [VUG_OP_HEAD] = launch_gather,
    [VUG_OP_GEGLU] = vug_cuda_launch_elements,
    [VUG_OP_SWIGLU] = vug_cuda_launch_elements,
    [VUG_OP_ADD_NORM] = launch_norm,
    [VUG_OP_NORM_ROPE] = launch_norm,
};

bool vug_cuda_has_launch(vug_op op)
{
    return launch_of[op] || vug_op_class_of(op) == VUG_CLASS_LEAF ||
           vug_op_class_of(op) == VUG_CLASS_VIEW;
}

/* The launch of a node on its own; NULL: it has none, or runs in the launch of another. What gives
 * the rows of a product may run before it. */
static launch_fn *own_launch(const vug_cuda_step *s, uint32_t id)
{
    const vug_cuda_product *product = vug_cuda_product_of(s, id);
    const bool is_before = product && (id == product->norm || id == product->add);
    if ((product && (!is_before || vug_cuda_computes_norm(s, product))) ||
        s->program->rotated_by[id])
        return NULL;
    return launch_of[s->program->graph->node[id].op];
}

bool vug_cuda_launches(const vug_cuda_step *step, uint32_t id)
{
    const vug_cuda_product *product = vug_cuda_product_of(step, id);
    return (product && id == product->at) || own_launch(step, id);
}

void vug_cuda_launch_node(const vug_cuda_step *step, uint32_t id)
{
    const vug_cuda_product *product = vug_cuda_product_of(step, id);
    launch_fn *launch = own_launch(step, id);
    if (product && id == product->at)
        vug_cuda_launch_product(step, product);
    if (launch)
        launch(step, id);
}
