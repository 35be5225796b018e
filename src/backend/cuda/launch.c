/* From a node of the graph to the launch of its kernels. */
#include "backend/cuda/host_calls.h"

/* ---- addresses ------------------------------------------------------------------------ */

static const vug_node *node_at(const vug_cuda_step *s, vug_val v)
{
    return vug_graph_at(s->program->graph, v);
}

static const vug_matrix *matrix_at(const vug_cuda_step *s, vug_val v)
{
    return &s->program->weights->matrix[node_at(s, v)->at.param.slot];
}

/* A weight vector is stored in F32. */
static const float *vector_at(const vug_cuda_step *s, vug_val v)
{
    return (const float *)(const void *)matrix_at(s, v)->data;
}

static int64_t last_dim(const vug_node *node)
{
    return node->shape.dim[node->shape.rank - 1];
}

/* Rows of the last dimension. */
static int64_t rows_of(const vug_cuda_step *s, const vug_node *node)
{
    return vug_cuda_elements_of(&node->shape, s->in, s->tokens) / last_dim(node);
}

static cudaStream_t stream_of(const vug_cuda_step *s)
{
    return s->stream;
}

/* ---- elements ---------------------------------------------------------------------------- */

static void launch_elements(const vug_cuda_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    const char *kinds = vug_node_operands(node);
    vug_cuda_element_job job = { .op = node->op,
                                 .a = vug_cuda_input_at(s, node->in[0]),
                                 .out = vug_cuda_value_at(s, (vug_val){ id }),
                                 .n = rows_of(s, node) * last_dim(node),
                                 .width = last_dim(node) };
    if (kinds[1] == 'x')
        job.b = vug_cuda_input_at(s, node->in[1]);
    else if (kinds[1] == 'v')
        job.b = vector_at(s, node->in[1]);
    if (node->op == VUG_OP_SCALE || node->op == VUG_OP_SOFTCAP)
        job.by = node->at.scale.by;
    vug_cuda_elements(stream_of(s), &job);
}

/* ---- products ---------------------------------------------------------------------------- */

static void launch_linear(const vug_cuda_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    const vug_matrix *w = matrix_at(s, node->in[1]);
    const vug_cuda_linear_job job = { .w = *w,
                                      .row_bytes = vug_cuda_row_bytes(w),
                                      .x = vug_cuda_input_at(s, node->in[0]),
                                      .y = vug_cuda_value_at(s, (vug_val){ id }),
                                      .rows = rows_of(s, node),
                                      .out = last_dim(node) };
    if (job.rows > 0)
        vug_cuda_linear(stream_of(s), &job);
}

static vug_val value_of(uint32_t id)
{
    return (vug_val){ id };
}

/* The first row of a product that begins with a norm, or with a sum and a norm. */
static vug_cuda_row row_of_product(const vug_cuda_step *s, const vug_cuda_product *product)
{
    const vug_graph *g = s->program->graph;
    const vug_node *linear = &g->node[product->linear[0]], *norm = &g->node[product->norm];
    vug_cuda_row row = { .x = vug_cuda_input_at(s, linear->in[0]) };
    if (!product->norm)
        return row;
    row.x = vug_cuda_input_at(s, norm->in[0]);
    row.norm = vector_at(s, norm->in[1]);
    row.eps = norm->at.norm.eps;
    row.bias = norm->at.norm.bias;
    if (!product->add)
        return row;
    const vug_node *add = &g->node[product->add];
    row.add = vug_cuda_input_at(s, add->in[0]);
    row.x = vug_cuda_input_at(s, add->in[1]);
    row.sum = vug_cuda_value_at(s, value_of(product->add));
    if (add->op == VUG_OP_ADD)
        return row;
    row.add_norm = vector_at(s, add->in[2]);
    row.add_eps = add->at.norm.eps;
    row.add_bias = add->at.norm.bias;
    return row;
}

static bool is_single_row(const vug_cuda_step *s, const vug_cuda_product *product)
{
    const vug_node *x = node_at(s, s->program->graph->node[product->linear[0]].in[0]);
    return rows_of(s, x) == 1 && vug_cuda_takes_single_row(last_dim(x), product->norm != 0);
}

/* Whether a product runs in batch_linear.cu or wide_linear.cu. */
static bool is_batch(const vug_cuda_step *s, const vug_cuda_product *product)
{
    const vug_node *linear = &s->program->graph->node[product->linear[0]];
    const int64_t rows = rows_of(s, node_at(s, linear->in[0]));
    return rows > VUG_CUDA_TILE_ROWS && rows <= VUG_CUDA_BATCH_ROWS &&
           s->program->device->capability == 9 &&
           matrix_at(s, linear->in[1])->dtype == VUG_DTYPE_BF16;
}

/* Whether the launches of a product compute the norm, and the sum before it. */
static bool computes_norm(const vug_cuda_step *s, const vug_cuda_product *product)
{
    const vug_node *x = node_at(s, s->program->graph->node[product->linear[0]].in[0]);
    const bool in_blocks = rows_of(s, x) > VUG_CUDA_FEW_ROWS || is_batch(s, product);
    return product->norm &&
           (is_single_row(s, product) || (in_blocks && vug_cuda_takes_normed_rows(last_dim(x))));
}

static const vug_cuda_product *product_of(const vug_cuda_step *s, uint32_t id)
{
    const int32_t index = s->program->product_of[id];
    return index < 0 ? NULL : &s->program->product[index];
}

/* Whether attention computes single tokens on tensor cores, each with all of its pages: the kernel for
 * that stores columns in pairs. */
static bool is_token_attention(const vug_cuda_step *s, const vug_node *node)
{
    const int64_t queries = node->shape.dim[1] / s->program->cache[node->at.attn.layer].heads;
    return s->tokens == s->in->n_spans && s->tokens > VUG_CUDA_DECODE_TOKENS &&
           node->shape.dim[0] == s->program->token_dim && queries <= VUG_CUDA_PRODUCT_QUERIES &&
           last_dim(node) % 2 == 0 && vug_cuda_rounds_attention(s->program, node);
}

/* Whether the kernel that gives a value stores its terms in blocks for the product that reads it: they
 * fit in the place of the value if they are whole. */
static bool is_in_blocks(const vug_cuda_step *s, uint32_t id)
{
    const uint32_t reader = s->program->row_reader[id];
    if (!reader || !is_batch(s, product_of(s, reader)))
        return false;
    const vug_node *node = &s->program->graph->node[id];
    const vug_node *x = node_at(s, s->program->graph->node[reader].in[0]);
    const vug_cuda_product *product = product_of(s, id);
    const bool stores = node->op == VUG_OP_ATTENTION
                                ? is_token_attention(s, node)
                                : product && product->activation == id && is_batch(s, product);
    return stores && rows_of(s, x) % 8 == 0 && last_dim(x) % VUG_CUDA_TILE_PAD == 0;
}

static void run_prefill(const vug_cuda_step *s, const vug_cuda_prefill_job *job)
{
    const vug_cuda_device *device = s->program->device;
    vug_cuda_prefill_linear(stream_of(s), job, device->capability == 9, device->processors);
}

/* Expands matrices in codes to tiles of BF16 in `memory`, as many rows at a time as it has room
 * for, and multiplies; `rows` are the rows of x. */
static void launch_expanded(const vug_cuda_step *s, const vug_cuda_tile_job *few,
                            const vug_cuda_prefill_job *rows, uint8_t *memory)
{
    const int64_t row = vug_cuda_expanded_row(few->columns);
    const int64_t most = vug_cuda_expanded_rows(few->columns);
    int64_t used = 0;
    vug_cuda_prefill_job job = *rows;
    for (int i = 0; i < few->parts; i++) {
        for (int64_t first = 0, n; first < few->part[i].out; first += n) {
            const int64_t left = few->part[i].out - first;
            uint8_t *to = memory + used * row;
            n = left < most - used ? left : most - used;
            const vug_cuda_expand_job expand = {
                .tiles = few->part[i].tiles +
                         first / VUG_CUDA_TILE * vug_cuda_padded(few->columns) / VUG_CUDA_TILE_PAD *
                                 vug_cuda_unit_bytes(few->format),
                .rows = n,
                .columns = few->columns,
                .to = to,
            };
            vug_cuda_expand_tiles(stream_of(s), few->format, &expand);
            job.part[job.parts].tiles = to;
            job.part[job.parts].y = few->part[i].y + first;
            job.part[job.parts].out = n;
            job.part[job.parts++].stride = few->part[i].out;
            used += vug_cuda_padded(n);
            if (used < most && (n < left || i + 1 < few->parts))
                continue;
            run_prefill(s, &job);
            job.parts = 0;
            used = 0;
        }
    }
}

/* The rows of a product, in blocks. Those of a gated product are computed on the way where the
 * product before has left that to it (launch_product). */
static vug_cuda_blocks_job rows_in_blocks(const vug_cuda_step *s, const vug_cuda_product *product,
                                          const vug_cuda_tile_job *few)
{
    const vug_graph *g = s->program->graph;
    vug_cuda_blocks_job x = {
        .rows = few->rows,
        .columns = few->columns,
        .terms = few->terms,
        .integers = few->terms > 1 && vug_cuda_takes_integers(few->format),
        .blocks = s->ws->scratch,
        .early = few->early,
    };
    if (product->gated && few->rows > VUG_CUDA_FEW_ROWS &&
        !is_batch(s, &s->program->product[s->program->product_of[product->gated]])) {
        x.activation = g->node[product->gated].op;
        x.x = vug_cuda_value_at(s, g->node[product->gated].in[0]);
        x.up = vug_cuda_value_at(s, g->node[product->gated].in[1]);
    } else if (computes_norm(s, product)) {
        x.row = row_of_product(s, product);
    } else {
        x.x = vug_cuda_input_at(s, g->node[product->linear[0]].in[0]);
    }
    return x;
}

static void launch_batch(const vug_cuda_step *s, const vug_cuda_product *product,
                         vug_cuda_tile_job *job)
{
    if (product->source && is_in_blocks(s, product->source)) {
        job->packed = (const uint8_t *)vug_cuda_value_at(s, value_of(product->source));
    } else {
        const vug_cuda_blocks_job x = rows_in_blocks(s, product, job);
        vug_cuda_store_blocks(stream_of(s), &x);
        job->packed = x.blocks;
    }
    if (vug_cuda_takes_wide_linear(job))
        vug_cuda_wide_linear(stream_of(s), job);
    else
        vug_cuda_batch_linear(stream_of(s), job);
}

/* Products of many rows, without an activation. */
static void launch_many_rows(const vug_cuda_step *s, const vug_cuda_product *product,
                             const vug_cuda_tile_job *few)
{
    vug_cuda_blocks_job x = rows_in_blocks(s, product, few);
    uint8_t *const after =
            s->ws->scratch + vug_cuda_blocks_bytes(few->rows, few->columns, few->terms);
    vug_cuda_prefill_job job = { .format = few->format,
                                 .rows = few->rows,
                                 .columns = few->columns,
                                 .terms = few->terms,
                                 .blocks = x.blocks };
    if (few->terms > 1 && vug_cuda_needs_sums(few->format))
        job.x_sums = x.x_sums = (float *)(void *)after;
    vug_cuda_store_blocks(stream_of(s), &x);
    if (few->format != VUG_DTYPE_BF16 && few->terms == 1) {
        job.format = VUG_DTYPE_BF16;
        launch_expanded(s, few, &job, after);
        return;
    }
    for (job.parts = 0; job.parts < few->parts; job.parts++) {
        job.part[job.parts].tiles = few->part[job.parts].tiles;
        job.part[job.parts].y = few->part[job.parts].y;
        job.part[job.parts].out = few->part[job.parts].out;
        job.part[job.parts].stride = few->part[job.parts].out;
    }
    run_prefill(s, &job);
}

/* Products of a few rows, or of rows of experts, whose terms are stored in `memory`. */
static void launch_few_rows(const vug_cuda_step *s, const vug_cuda_rows *x, vug_cuda_tile_job *job,
                            uint8_t *memory)
{
    uint8_t *const sums_at = memory + vug_cuda_packed_bytes(x->rows, x->columns, job->terms);
    job->rows = x->rows;
    job->columns = x->columns;
    job->packed = memory;
    vug_cuda_pack_rows(stream_of(s), x, job->terms, job->format, memory);
    if (job->terms > 1 && vug_cuda_needs_sums(job->format)) {
        float *sums = (float *)(void *)sums_at;
        vug_cuda_sum_rows(stream_of(s), x, sums);
        job->x_sums = sums;
    }
    vug_cuda_tile_linear(stream_of(s), job);
}

static void launch_product(const vug_cuda_step *s, const vug_cuda_product *product)
{
    const vug_graph *g = s->program->graph;
    const vug_node *x = node_at(s, g->node[product->linear[0]].in[0]);
    vug_cuda_tile_job job = { .parts = product->n,
                              .format = matrix_at(s, g->node[product->linear[0]].in[1])->dtype,
                              .activation = VUG_OP_LINEAR,
                              .rows = rows_of(s, x),
                              .columns = last_dim(x),
                              .terms = vug_cuda_terms(s->program),
                              .processors = s->program->device->processors,
                              .early = s->program->device->capability >= 9 };
    if (job.rows == 0)
        return;
    for (int i = 0; i < product->n; i++) {
        const vug_node *linear = &g->node[product->linear[i]];
        job.part[i].tiles = matrix_at(s, linear->in[1])->data;
        job.part[i].out = last_dim(linear);
        job.part[i].y = vug_cuda_value_at(s, value_of(product->linear[i]));
    }
    const bool batch = is_batch(s, product);
    if (job.rows > VUG_CUDA_FEW_ROWS && !batch) {
        launch_many_rows(s, product, &job);
        if (product->activation && !s->program->row_reader[product->activation])
            launch_elements(s, product->activation);
        return;
    }
    if (product->activation) {
        job.activation = g->node[product->activation].op;
        job.part[0].y = vug_cuda_value_at(s, value_of(product->activation));
        job.in_blocks = is_in_blocks(s, product->activation);
    }
    if (batch) {
        launch_batch(s, product, &job);
        return;
    }
    if (is_single_row(s, product)) {
        job.row = row_of_product(s, product);
        vug_cuda_row_linear(stream_of(s), &job);
        return;
    }
    const vug_cuda_rows rows = { .x = vug_cuda_input_at(s, g->node[product->linear[0]].in[0]),
                                 .rows = job.rows,
                                 .columns = job.columns };
    launch_few_rows(s, &rows, &job, s->ws->scratch);
}

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
                                     .early = s->program->device->capability >= 9 };
    vug_cuda_embed(stream_of(s), &job);
}

/* ---- experts ------------------------------------------------------------------------------ */

/* The addresses of the experts' weights that are input `i` of the node. */
static const uint8_t *const *expert_weights(const vug_cuda_step *s, uint32_t id, int i,
                                            int *experts)
{
    const vug_node *node = &s->program->graph->node[id];
    *experts = (int)vug_param_slots(node_at(s, node->in[i]));
    return (const uint8_t *const *)(const void *)s->program->constant[id] +
           (ptrdiff_t)(i - 2) * 3 * *experts;
}

/* The product of rows of x with the chosen experts' weights that are input `i` of the node. */
static void launch_expert_linear(const vug_cuda_step *s, uint32_t id, int i,
                                 const vug_cuda_expert_job *rows)
{
    const vug_node *node = &s->program->graph->node[id];
    vug_cuda_expert_job job = *rows;
    job.w = *matrix_at(s, node->in[i]);
    job.row_bytes = vug_cuda_row_bytes(&job.w);
    job.data = expert_weights(s, id, i, &job.experts);
    job.out = node_at(s, node->in[i])->shape.dim[1];
    vug_cuda_expert_linear(stream_of(s), &job);
}

static float *scratch_floats(const vug_cuda_step *s, uint64_t at)
{
    return (float *)(void *)(s->ws->scratch + at);
}

/* The outputs [rows,k,width] of the chosen experts, on plain kernels. */
static void launch_plain_experts(const vug_cuda_step *s, uint32_t id, int64_t rows, int k,
                                 const vug_cuda_expert_space *at)
{
    const vug_node *node = &s->program->graph->node[id];
    const int64_t hidden = node_at(s, node->in[2])->shape.dim[1];
    vug_cuda_expert_job job = { .route = vug_cuda_input_at(s, node->in[1]),
                                .x = vug_cuda_input_at(s, node->in[0]),
                                .rows = rows * k,
                                .k = k,
                                .rows_per_x = k };
    float *const gate = scratch_floats(s, 0), *const up = scratch_floats(s, at->up);
    job.y = gate;
    launch_expert_linear(s, id, 2, &job);
    job.y = up;
    launch_expert_linear(s, id, 3, &job);
    const vug_cuda_element_job activate = { .op = vug_cuda_expert_activation(node),
                                            .a = gate,
                                            .b = up,
                                            .out = gate,
                                            .n = rows * k * hidden,
                                            .width = hidden };
    vug_cuda_elements(stream_of(s), &activate);
    job.x = gate;
    job.y = scratch_floats(s, at->down);
    job.rows_per_x = 1;
    launch_expert_linear(s, id, 4, &job);
}

/* The same on tensor cores, in groups of rows that have one expert. */
static void launch_grouped_experts(const vug_cuda_step *s, uint32_t id, int64_t rows, int k,
                                   const vug_cuda_expert_space *at)
{
    const vug_node *node = &s->program->graph->node[id];
    const int64_t hidden = node_at(s, node->in[2])->shape.dim[1];
    float *const gate = scratch_floats(s, 0);
    int32_t *const expert = (int32_t *)(void *)(s->ws->scratch + at->expert),
                   *const choice = (int32_t *)(void *)(s->ws->scratch + at->choice);
    vug_cuda_sort_job sort = { .route = vug_cuda_input_at(s, node->in[1]),
                               .tokens = rows,
                               .k = k,
                               .groups = at->groups,
                               .expert = expert,
                               .choice = choice };
    vug_cuda_tile_job job = { .parts = 2,
                              .format = matrix_at(s, node->in[2])->dtype,
                              .activation = vug_cuda_expert_activation(node),
                              .terms = vug_cuda_terms(s->program),
                              .chosen = { .expert = expert, .choice = choice },
                              .processors = s->program->device->processors };
    vug_cuda_rows x = { .x = vug_cuda_input_at(s, node->in[0]),
                        .rows = at->groups * VUG_CUDA_GROUP_ROWS,
                        .columns = last_dim(node_at(s, node->in[0])),
                        .choice = choice,
                        .per_row = k };
    for (int i = 0; i < 2; i++) {
        job.chosen.data[i] = expert_weights(s, id, 2 + i, &sort.experts);
        job.part[i].out = hidden;
    }
    vug_cuda_sort_experts(stream_of(s), &sort);
    job.part[0].y = gate;
    launch_few_rows(s, &x, &job, s->ws->scratch + at->terms);
    job.parts = 1;
    job.format = matrix_at(s, node->in[4])->dtype;
    job.activation = VUG_OP_LINEAR;
    job.chosen.data[0] = expert_weights(s, id, 4, &sort.experts);
    job.part[0].y = scratch_floats(s, at->down);
    job.part[0].out = last_dim(node);
    x.x = gate;
    x.columns = hidden;
    x.per_row = 1;
    launch_few_rows(s, &x, &job, s->ws->scratch + at->terms);
}

static void launch_experts(const vug_cuda_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    const int64_t rows = rows_of(s, node);
    const int k = (int)(node_at(s, node->in[1])->shape.dim[1] / 2);
    if (rows == 0)
        return;
    const vug_cuda_expert_space at = vug_cuda_place_experts(s->program, node, rows);
    if (at.groups > 0)
        launch_grouped_experts(s, id, rows, k, &at);
    else
        launch_plain_experts(s, id, rows, k, &at);
    vug_cuda_mix_experts(stream_of(s), scratch_floats(s, at.down),
                         vug_cuda_input_at(s, node->in[1]), rows, last_dim(node), k,
                         vug_cuda_value_at(s, (vug_val){ id }));
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
                              .heads = node->shape.rank > 2 ? node->shape.dim[1] : 1 };
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
        .early = s->program->device->capability >= 9,
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

/* Launches all of the attention of a step in which each sequence has one token; false: there is no
 * kernel for it. */
static bool launch_decode_attention(const vug_cuda_step *s, uint32_t id,
                                    const vug_cuda_attention_job *attention)
{
    const vug_cuda_program *p = s->program;
    const vug_node *node = &p->graph->node[id];
    if (s->tokens != s->in->n_spans || node->at.attn.shared || !p->rotated_by[node->in[0].id] ||
        vug_cuda_rounds_attention(p, node) || !vug_cuda_takes_decode_attention(attention))
        return false;
    const vug_cuda_decode_attention_job job = { .inputs = inputs_job(s, node),
                                                .attention = *attention,
                                                .pages_done = s->ws->pages_done,
                                                .processors = p->device->processors };
    vug_cuda_decode_attention(stream_of(s), &job);
    return true;
}

/* `n` tokens of a job; `run`: they follow one another in a sequence. */
static void launch_tokens(const vug_cuda_step *s, const vug_node *node,
                          const vug_cuda_attention_job *all, int64_t first, int64_t n, bool run)
{
    const int64_t values = all->heads * all->cache.width;
    vug_cuda_attention_job job = *all;
    job.token += first;
    job.q += first * values;
    job.out += first * values;
    job.tokens = n;
    job.pages = run ? 0 : (int)vug_cuda_side_pages(node, n, s->inputs.keys);
    if (job.pages <= VUG_CUDA_BLOCK_PAGES)
        job.pages = 0;
    if (run && s->program->device->capability == 9 && vug_cuda_takes_wgmma_attention(&job))
        vug_cuda_wgmma_attention(stream_of(s), &job);
    else
        vug_cuda_mma_attention(stream_of(s), &job, run);
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
        if (n * per_kv > VUG_CUDA_PRODUCT_QUERIES && per_kv <= VUG_CUDA_RUN_HEADS) {
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
        .in_blocks = is_in_blocks(s, id),
        .scale = at->scale,
        .softcap = at->softcap,
    };
    if (launch_decode_attention(s, id, &job))
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
                    last_dim(logits), &node->at.router, vug_cuda_value_at(s, (vug_val){ id }));
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
    vug_cuda_rope_table(stream_of(s), s->inputs.position, s->tokens, &at,
                        s->program->device->capability >= 9, vug_cuda_value_at(s, (vug_val){ id }));
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
    [VUG_OP_EMBED] = launch_embed,       [VUG_OP_LINEAR] = launch_linear,
    [VUG_OP_RMS_NORM] = launch_norm,     [VUG_OP_ROPE_TABLE] = launch_rope_table,
    [VUG_OP_ROPE] = launch_norm,         [VUG_OP_ATTENTION] = launch_attention,
    [VUG_OP_ADD] = launch_elements,      [VUG_OP_MUL] = launch_elements,
    [VUG_OP_GELU] = launch_elements,     [VUG_OP_SILU] = launch_elements,
    [VUG_OP_BIAS] = launch_elements,     [VUG_OP_SCALE] = launch_elements,
    [VUG_OP_SOFTCAP] = launch_elements,  [VUG_OP_GATHER] = launch_gather,
    [VUG_OP_ROUTER] = launch_router,     [VUG_OP_ROUTE_SCALE] = launch_route_scale,
    [VUG_OP_EXPERTS] = launch_experts,   [VUG_OP_HOST_EXPERTS] = vug_cuda_launch_host_call,
    [VUG_OP_UNIT_NORM] = launch_norm,    [VUG_OP_DEINTERLEAVE] = launch_deinterleave,
    [VUG_OP_SCALE_BY] = launch_elements, [VUG_OP_HEAD] = launch_gather,
    [VUG_OP_GEGLU] = launch_elements,    [VUG_OP_SWIGLU] = launch_elements,
    [VUG_OP_ADD_NORM] = launch_norm,     [VUG_OP_NORM_ROPE] = launch_norm,
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
    const vug_cuda_product *product = product_of(s, id);
    const bool is_before = product && (id == product->norm || id == product->add);
    if ((product && (!is_before || computes_norm(s, product))) || s->program->rotated_by[id])
        return NULL;
    return launch_of[s->program->graph->node[id].op];
}

bool vug_cuda_launches(const vug_cuda_step *step, uint32_t id)
{
    const vug_cuda_product *product = product_of(step, id);
    return (product && id == product->at) || own_launch(step, id);
}

void vug_cuda_launch_node(const vug_cuda_step *step, uint32_t id)
{
    const vug_cuda_product *product = product_of(step, id);
    launch_fn *launch = own_launch(step, id);
    if (product && id == product->at)
        launch_product(step, product);
    if (launch)
        launch(step, id);
}
