/* From products to the launches of their kernels. */
#include "backend/cuda/launch.h"

/* ---- products ---------------------------------------------------------------------------- */

void vug_cuda_launch_linear(const vug_cuda_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    const vug_matrix *w = matrix_at(s, node->in[1]);
    const vug_cuda_linear_job job = { .w = *w,
                                      .row_bytes = vug_cuda_row_bytes(w),
                                      .x = vug_cuda_input_at(s, node->in[0]),
                                      .y = vug_cuda_value_at(s, (vug_val){ id }),
                                      .rows = rows_of(s, node),
                                      .out = last_dim(node),
                                      .launch = vug_cuda_options_of(s) };
    if (job.rows > 0)
        vug_cuda_linear(stream_of(s), &job);
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
    if (product->shares_norm)
        row.normed = vug_cuda_value_at(s, value_of(product->norm));
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

/* Whether a product runs in batch_linear.cu or wide_linear.cu. With one term of x, codes are rounded to BF16 in
 * other kernels. */
static bool is_batch(const vug_cuda_step *s, const vug_cuda_product *product)
{
    const vug_node *linear = &s->program->graph->node[product->linear[0]];
    const int64_t rows = rows_of(s, node_at(s, linear->in[0]));
    return rows > 1 && rows <= VUG_CUDA_BATCH_ROWS && s->program->device->capability == 9 &&
           (vug_cuda_terms(s->program) > 1 || matrix_at(s, linear->in[1])->dtype == VUG_DTYPE_BF16);
}

/* Whether a product of many rows runs in wgmma_linear.cu. */
static bool is_wgmma(const vug_cuda_step *s, const vug_cuda_product *product)
{
    const vug_node *x = node_at(s, s->program->graph->node[product->linear[0]].in[0]);
    return rows_of(s, x) > VUG_CUDA_FEW_ROWS && !is_batch(s, product) &&
           s->program->device->capability == 9;
}

bool vug_cuda_computes_norm(const vug_cuda_step *s, const vug_cuda_product *product)
{
    const vug_node *x = node_at(s, s->program->graph->node[product->linear[0]].in[0]);
    const bool in_blocks = rows_of(s, x) > VUG_CUDA_FEW_ROWS || is_batch(s, product);
    return product->norm &&
           (is_single_row(s, product) ||
            (in_blocks && !product->shares_norm && vug_cuda_takes_normed_rows(last_dim(x))));
}

const vug_cuda_product *vug_cuda_product_of(const vug_cuda_step *s, uint32_t id)
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

/* Whether attention computes all tokens of a step as one run, in wgmma_attention.cu. */
static bool is_run_attention(const vug_cuda_step *s, const vug_node *node)
{
    const vug_cuda_kv_cache *cache = &s->program->cache[node->at.attn.layer];
    return s->in->n_spans == 1 && s->program->device->capability == 9 &&
           node->shape.dim[0] == s->program->token_dim &&
           vug_cuda_is_run(s->tokens, node->shape.dim[1] / cache->heads) &&
           vug_cuda_takes_wgmma_attention(cache) && last_dim(node) % 2 == 0 &&
           vug_cuda_rounds_attention(s->program, node);
}

/* Whether a product takes rows as terms alone, neither as integers nor with sums. */
static bool takes_plain_terms(const vug_cuda_step *s, const vug_cuda_product *product)
{
    const vug_node *linear = &s->program->graph->node[product->linear[0]];
    const vug_dtype format = matrix_at(s, linear->in[1])->dtype;
    return vug_cuda_terms(s->program) == 1 ||
           (!vug_cuda_takes_integers(format) && !vug_cuda_needs_sums(format));
}

/* Whether attention leaves its results to a product in blocks. */
static bool attends_for(const vug_cuda_step *s, const vug_node *node, const vug_cuda_product *to)
{
    if (!takes_plain_terms(s, to))
        return false;
    return is_batch(s, to) ? is_token_attention(s, node)
                           : is_wgmma(s, to) && is_run_attention(s, node);
}

bool vug_cuda_is_in_blocks(const vug_cuda_step *s, uint32_t id)
{
    const vug_cuda_program *p = s->program;
    const uint32_t reader = p->row_reader[id];
    const vug_cuda_product *product = vug_cuda_product_of(s, id),
                           *to = reader ? vug_cuda_product_of(s, reader) : NULL;
    if (!to)
        return false;
    const vug_node *node = &p->graph->node[id], *x = node_at(s, p->graph->node[reader].in[0]);
    bool stores = false;
    if (node->op == VUG_OP_ATTENTION)
        stores = attends_for(s, node, to);
    else if (product && product->activation == id)
        stores = is_batch(s, to) ? is_batch(s, product) && takes_plain_terms(s, to)
                                 : is_wgmma(s, product) && is_wgmma(s, to);
    return stores && last_dim(x) % VUG_CUDA_TILE_PAD == 0 &&
           vug_cuda_block_rows(rows_of(s, x)) * last_dim(x) <=
                   vug_shape_elements(&node->shape, p->limits.batch, p->limits.rows);
}

/* The rows that a product reads in blocks: in scratch memory, or where they are stored with the
 * activation that gives them. The sums of an activation lie in the place of its gate. */
static vug_cuda_blocks blocks_of(const vug_cuda_step *s, const vug_cuda_product *product)
{
    const vug_node *linear = &s->program->graph->node[product->linear[0]];
    const vug_node *x = node_at(s, linear->in[0]);
    const vug_dtype format = matrix_at(s, linear->in[1])->dtype;
    const int terms = vug_cuda_terms(s->program);
    vug_cuda_blocks of = { .rows = rows_of(s, x),
                           .columns = last_dim(x),
                           .terms = terms,
                           .integers = terms > 1 && vug_cuda_takes_integers(format),
                           .blocks = s->ws->scratch };
    const bool sums = terms > 1 && vug_cuda_needs_sums(format);
    if (product->source && vug_cuda_is_in_blocks(s, product->source)) {
        of.blocks = (uint8_t *)vug_cuda_value_at(s, value_of(product->source));
        if (sums)
            of.x_sums = vug_cuda_value_at(s, s->program->graph->node[product->gated].in[0]);
    } else if (sums) {
        of.x_sums =
                (float *)(void *)(of.blocks + vug_cuda_blocks_bytes(of.rows, of.columns, terms));
    }
    return of;
}

static void run_prefill(const vug_cuda_step *s, const vug_cuda_prefill_job *job)
{
    const vug_cuda_device *device = s->program->device;
    vug_cuda_prefill_linear(stream_of(s), job, device->capability == 9, device->processors);
}

/* Expands `n` rows of part `part` of a job to tiles of BF16, from row `first` on. */
static void expand_rows(const vug_cuda_step *s, const vug_cuda_tile_job *few, int part,
                        int64_t first, int64_t n, uint8_t *to)
{
    const vug_cuda_expand_job expand = {
        .tiles = few->part[part].tiles + first / VUG_CUDA_TILE * vug_cuda_padded(few->columns) /
                                                 VUG_CUDA_TILE_PAD *
                                                 vug_cuda_unit_bytes(few->format),
        .rows = n,
        .columns = few->columns,
        .to = to,
    };
    vug_cuda_expand_tiles(stream_of(s), few->format, &expand);
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
            expand_rows(s, few, i, first, n, to);
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

/* The same of a pair of parts with an activation, of which each has half of the memory. */
static void launch_expanded_pair(const vug_cuda_step *s, const vug_cuda_tile_job *few,
                                 const vug_cuda_prefill_job *rows, uint8_t *memory)
{
    const int64_t out = few->part[0].out, most = vug_cuda_expanded_rows(few->columns) / 2;
    const int64_t block = few->terms * vug_cuda_term_bytes(few->rows);
    vug_cuda_prefill_job job = *rows;
    job.parts = 2;
    for (int64_t first = 0, n; first < out; first += n) {
        n = out - first < most ? out - first : most;
        for (int i = 0; i < job.parts; i++) {
            uint8_t *to = memory + i * n * vug_cuda_expanded_row(few->columns);
            expand_rows(s, few, i, first, n, to);
            job.part[i].tiles = to;
            job.part[i].out = n;
        }
        job.to.blocks = rows->to.blocks + first / VUG_CUDA_TILE_PAD * block;
        run_prefill(s, &job);
    }
}

/* Brings the rows of a product into blocks, if they are not there yet. Those of a gated product are
 * computed on the way where the product before has left that to it (vug_cuda_launch_product). */
static void store_rows(const vug_cuda_step *s, const vug_cuda_product *product,
                       const vug_cuda_tile_job *few, const vug_cuda_blocks *to)
{
    const vug_graph *g = s->program->graph;
    vug_cuda_blocks_job x = { .to = *to, .launch = few->launch };
    if (product->source && vug_cuda_is_in_blocks(s, product->source))
        return;
    if (product->gated && few->rows > VUG_CUDA_FEW_ROWS &&
        !is_batch(s, vug_cuda_product_of(s, product->gated))) {
        x.activation = g->node[product->gated].op;
        x.x = vug_cuda_value_at(s, g->node[product->gated].in[0]);
        x.up = vug_cuda_value_at(s, g->node[product->gated].in[1]);
    } else if (vug_cuda_computes_norm(s, product)) {
        x.row = row_of_product(s, product);
    } else {
        x.x = vug_cuda_input_at(s, g->node[product->linear[0]].in[0]);
    }
    vug_cuda_store_blocks(stream_of(s), &x);
}

static void launch_batch(const vug_cuda_step *s, const vug_cuda_product *product,
                         vug_cuda_tile_job *job)
{
    const vug_cuda_blocks x = blocks_of(s, product);
    store_rows(s, product, job, &x);
    job->packed = x.blocks;
    job->x_sums = x.x_sums;
    if (vug_cuda_takes_wide_linear(job))
        vug_cuda_wide_linear(stream_of(s), job);
    else
        vug_cuda_batch_linear(stream_of(s), job);
}

/* Products of many rows. An activation is computed if the product that reads it takes it in
 * blocks. */
static void launch_many_rows(const vug_cuda_step *s, const vug_cuda_product *product,
                             const vug_cuda_tile_job *few)
{
    const vug_cuda_blocks x = blocks_of(s, product);
    vug_cuda_prefill_job job = { .format = few->format,
                                 .rows = few->rows,
                                 .columns = few->columns,
                                 .terms = few->terms,
                                 .any_order =
                                         s->program->plan->activations == VUG_ACTIVATIONS_BF16_FAST,
                                 .blocks = x.blocks,
                                 .x_sums = x.x_sums,
                                 .activation = VUG_OP_LINEAR };
    store_rows(s, product, few, &x);
    if (product->activation && vug_cuda_is_in_blocks(s, product->activation)) {
        job.activation = s->program->graph->node[product->activation].op;
        job.to = blocks_of(s, vug_cuda_product_of(s, s->program->row_reader[product->activation]));
    }
    if (few->format != VUG_DTYPE_BF16 && few->terms == 1) {
        uint8_t *after =
                s->ws->scratch + vug_cuda_blocks_bytes(few->rows, few->columns, few->terms);
        job.format = VUG_DTYPE_BF16;
        (job.activation == VUG_OP_LINEAR ? launch_expanded : launch_expanded_pair)(s, few, &job,
                                                                                   after);
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

void vug_cuda_launch_few_rows(const vug_cuda_step *s, const vug_cuda_rows *x,
                              vug_cuda_tile_job *job, uint8_t *memory)
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

void vug_cuda_launch_product(const vug_cuda_step *s, const vug_cuda_product *product)
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
                              .clusters = s->program->device->clusters,
                              .launch = vug_cuda_options_of(s) };
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
            vug_cuda_launch_elements(s, product->activation);
        return;
    }
    if (product->activation) {
        job.activation = g->node[product->activation].op;
        job.part[0].y = vug_cuda_value_at(s, value_of(product->activation));
        job.in_blocks = vug_cuda_is_in_blocks(s, product->activation);
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
    vug_cuda_launch_few_rows(s, &rows, &job, s->ws->scratch);
}
