/* Compiling: checks of the graph, its constants on the device, and the sizes of a step. */
#include "backend/cuda/host_calls.h"
#include "backend/host_experts.h"

#include "quant/codec.h"

/* ---- what the device supports --------------------------------------------------------- */

static bool is_scale_format(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_F32 || dtype == VUG_DTYPE_F16 || dtype == VUG_DTYPE_BF16 ||
           dtype == VUG_DTYPE_E8M0;
}

static bool is_supported_weight(const vug_cuda_weights *w, size_t slot)
{
    const vug_weight *from = &w->weight[slot];
    const vug_codec *codec = vug_codec_of(from->dtype);
    if (!vug_cuda_reads_format(w->matrix[slot].dtype))
        return false;
    if (codec->block && !codec->decode)
        return vug_weight_has_mlx_scales(from);
    return !from->scales.scale || (!codec->block && is_scale_format(from->scales.dtype));
}

static vug_status check_weight(const vug_cuda_program *p, const vug_node *node, vug_err *err)
{
    const size_t first = (size_t)node->at.param.slot, n = (size_t)vug_param_slots(node);
    for (size_t i = first; i < first + n; i++) {
        const vug_weight *w = &p->weights->weight[i];
        const vug_dtype_info *info = vug_dtype_of(w->dtype);
        if (!is_supported_weight(p->weights, i))
            return VUG_FAIL(err, VUG_UNSUPPORTED, "cuda: tensor '%s' is %s, which is not supported",
                            w->name, info->name);
        if (w->columns % info->elements != 0)
            return VUG_FAIL(err, VUG_UNSUPPORTED,
                            "cuda: tensor '%s' has rows of %lld elements, %s needs a multiple of "
                            "%d",
                            w->name, (long long)w->columns, info->name, info->elements);
        if (w->dtype == VUG_DTYPE_E4M3 && w->scales.scale && w->scales.columns < w->columns &&
            w->scales.columns % VUG_CUDA_SUM_COLUMNS != 0)
            return VUG_FAIL(err, VUG_UNSUPPORTED,
                            "cuda: tensor '%s' has scales of %lld columns, expected a multiple of "
                            "%d",
                            w->name, (long long)w->scales.columns, VUG_CUDA_SUM_COLUMNS);
        if (w->dtype != p->weights->weight[first].dtype)
            return VUG_FAIL(err, VUG_UNSUPPORTED,
                            "cuda: tensors '%s' and '%s', weights of experts, "
                            "differ in format",
                            p->weights->weight[first].name, w->name);
    }
    return VUG_OK;
}

static vug_status check_nodes(const vug_cuda_program *p, vug_err *err)
{
    const vug_graph *g = p->graph;
    VUG_TRY(vug_check_graph("cuda", g, p->weights->weight, p->weights->n, err));
    VUG_TRY(vug_check_host_experts("cuda", g, p->plan, err));
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (node->op == VUG_OP_PARAM)
            VUG_TRY(check_weight(p, node, err));
        if (!vug_cuda_has_launch(node->op))
            return vug_reject_node("cuda", node, err, "the operation has no kernel");
        if (vug_node_fills_cache(node) && node->shape.dim[2] > VUG_CUDA_MAX_HEAD)
            return vug_reject_node("cuda", node, err, "heads are wider than 512 elements");
    }
    return VUG_OK;
}

/* ---- constants --------------------------------------------------------------------------- */

enum { PARTS = 3 }; /* of a weight: data, scales, biases; and weights of an expert */

static const vug_matrix *matrix_of(const vug_cuda_program *p, vug_val v)
{
    return &p->weights->matrix[vug_graph_at(p->graph, v)->at.param.slot];
}

static uint64_t constant_bytes(const vug_cuda_program *p, const vug_node *node)
{
    if (node->op == VUG_OP_ROPE_TABLE)
        return (uint64_t)node->at.table.dims / 2 * sizeof(float);
    if (node->op != VUG_OP_EXPERTS)
        return 0;
    const int64_t experts = vug_param_slots(vug_graph_at(p->graph, node->in[2]));
    return (uint64_t)experts * PARTS * PARTS * sizeof(uint8_t *);
}

/* The addresses that an EXPERTS node needs. */
static void fill_addresses(const vug_cuda_program *p, const vug_node *node, const uint8_t **to)
{
    for (int part = 0; part < PARTS; part++) {
        const vug_matrix *m = matrix_of(p, node->in[2 + part]);
        const int64_t experts = vug_param_slots(vug_graph_at(p->graph, node->in[2 + part]));
        for (int64_t e = 0; e < experts; e++, to += PARTS) {
            to[0] = m[e].data;
            to[1] = m[e].scales.scale;
            to[2] = m[e].scales.bias;
        }
    }
}

/* Makes the constants in host memory, where `constant` gives their offsets, and copies them. */
static vug_status copy_constants(vug_cuda_program *p, const uint64_t *offset, uint64_t bytes,
                                 vug_err *err)
{
    void *device;
    VUG_TRY(vug_cuda_alloc(bytes, "a program's constants", &device, err));
    p->constants = device;
    p->constant_bytes = bytes;
    uint8_t *host = vug_alloc_aligned(bytes);
    if (!host)
        return VUG_FAIL_NOMEM(err, "a program's constants", bytes);
    for (uint32_t i = 1; i < p->graph->n; i++) {
        const vug_node *node = &p->graph->node[i];
        const uint64_t n = constant_bytes(p, node);
        if (n == 0)
            continue;
        p->constant[i] = p->constants + offset[i];
        if (node->op == VUG_OP_ROPE_TABLE)
            memcpy(host + offset[i], node->at.table.inv, n);
        else
            fill_addresses(p, node, (const uint8_t **)(void *)(host + offset[i]));
    }
    const vug_status st =
            vug_cuda_check(cudaMemcpy(p->constants, host, bytes, cudaMemcpyHostToDevice),
                           "copying constants", err);
    vug_free(host);
    return st;
}

static vug_status make_constants(vug_cuda_program *p, vug_err *err)
{
    const uint32_t n = p->graph->n;
    uint64_t *offset = vug_arena_alloc(&p->arena, n, sizeof(*offset)), bytes = 0;
    p->constant = vug_arena_alloc(&p->arena, n, sizeof(const uint8_t *));
    if (!offset || !p->constant)
        return VUG_FAIL_NOMEM(err, "the program", n * sizeof(*offset));
    for (uint32_t i = 1; i < n; i++) {
        if (!vug_cuda_add_part(constant_bytes(p, &p->graph->node[i]), &bytes, &offset[i]))
            return VUG_FAIL(err, VUG_LIMIT, "cuda: a program's constants are too large");
    }
    return bytes > 0 ? copy_constants(p, offset, bytes, err) : VUG_OK;
}

/* ---- sizes ------------------------------------------------------------------------------- */

static vug_status place_caches(vug_cuda_program *p, vug_err *err)
{
    const size_t n = (size_t)p->graph->n_layers;
    VUG_TRY(vug_kv_layout_init(&p->kv_layout, p->graph, p->plan->kv, err));
    p->cache = vug_arena_alloc(&p->arena, n, sizeof(*p->cache));
    if (!p->cache)
        return VUG_FAIL_NOMEM(err, "the program", n * sizeof(*p->cache));
    for (size_t i = 0; i < n; i++) {
        const vug_kv_place at = p->kv_layout.layer[i];
        if (at.group >= 0 && !vug_cuda_kv_cache_init(&p->cache[i], &p->kv_layout.group[at.group],
                                                     at.index, p->plan->kv))
            return VUG_FAIL(err, VUG_LIMIT, "the key/value cache of layer %zu is too large", i);
    }
    return VUG_OK;
}

/* Weights that products of many rows expand. */
static uint64_t expanded_bytes(const vug_cuda_program *p, const vug_cuda_product *product,
                               int64_t columns)
{
    const int64_t most = vug_cuda_expanded_rows(columns);
    int64_t out = 0;
    for (int i = 0; i < product->n; i++) {
        const vug_shape *y = &p->graph->node[product->linear[i]].shape;
        out += vug_cuda_padded(y->dim[y->rank - 1]);
    }
    return (uint64_t)((out < most ? out : most) * vug_cuda_expanded_row(columns));
}

/* Of the rows that a product reads, rounded for the tensor cores, of their sums, and of weights
 * that are expanded. */
static uint64_t product_bytes(const vug_cuda_program *p, const vug_cuda_product *product)
{
    const vug_node *node = &p->graph->node[product->linear[0]];
    const vug_shape *x = &vug_graph_at(p->graph, node->in[0])->shape;
    const vug_dtype format = matrix_of(p, node->in[1])->dtype;
    const int terms = vug_cuda_terms(p);
    const int64_t columns = x->dim[x->rank - 1];
    const int64_t rows = vug_shape_elements(x, p->limits.batch, p->limits.rows) / columns;
    const int64_t few = rows < VUG_CUDA_FEW_ROWS ? rows : VUG_CUDA_FEW_ROWS;
    uint64_t packed = vug_cuda_packed_bytes(few, columns, terms);
    uint64_t blocks = (uint64_t)vug_cuda_blocks_bytes(rows, columns, terms);
    if (terms > 1 && vug_cuda_needs_sums(format)) {
        packed += (uint64_t)vug_cuda_x_sums_bytes(few, columns);
        blocks += (uint64_t)vug_cuda_x_sums_bytes(rows, columns);
    }
    if (terms == 1 && rows > VUG_CUDA_FEW_ROWS && format != VUG_DTYPE_BF16)
        blocks += expanded_bytes(p, product, columns);
    return packed > blocks ? packed : blocks;
}

static uint64_t scratch_of(const vug_cuda_program *p, const vug_node *node)
{
    if (node->op == VUG_OP_ATTENTION) {
        const int64_t tokens =
                p->limits.batch < VUG_CUDA_DECODE_TOKENS ? p->limits.batch : VUG_CUDA_DECODE_TOKENS;
        const int64_t pages = vug_cuda_side_pages(node, tokens, vug_cuda_most_keys(p));
        const int64_t row = vug_cuda_partial_row(node->shape.dim[2]);
        return (uint64_t)(pages * tokens * node->shape.dim[1] * row) * sizeof(float);
    }
    if (node->op != VUG_OP_EXPERTS)
        return 0;
    const int64_t outputs =
            vug_shape_elements(&node->shape, p->limits.batch, p->limits.rows); /* rows x width */
    return vug_cuda_expert_bytes(p, node, outputs / node->shape.dim[1]);
}

uint64_t vug_cuda_pages_done_bytes(const vug_cuda_program *p)
{
    int64_t heads = 0;
    for (int i = 0; i < p->kv_layout.n_groups; i++)
        heads = p->kv_layout.group[i].heads > heads ? p->kv_layout.group[i].heads : heads;
    return (uint64_t)heads * VUG_CUDA_DECODE_HEADS * VUG_CUDA_DECODE_TOKENS * sizeof(uint32_t);
}

uint64_t vug_cuda_row_words_bytes(const vug_cuda_program *p)
{
    return p->logits < 0 ? 0 : (uint64_t)p->limits.rows * sizeof(uint32_t);
}

/* The output "logits", if it has a row for each that the step wants. */
static int32_t find_logits(const vug_cuda_program *p)
{
    const vug_graph *g = p->graph;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const vug_shape *shape = &vug_graph_at(g, g->output[i].value)->shape;
        if (strcmp(g->output[i].name, "logits") == 0 && shape->rank == 2 &&
            shape->dim[0] == VUG_DIM_R)
            return (int32_t)i;
    }
    return -1;
}

static vug_status size_step(vug_cuda_program *p, vug_err *err)
{
    const vug_graph *g = p->graph;
    uint64_t end = 0, at;
    p->logits = find_logits(p);
    if (p->logits >= 0)
        p->scratch_bytes = vug_cuda_wanted_bytes(p->limits.rows);
    for (uint32_t i = 1; i < g->n; i++) {
        const uint64_t bytes = scratch_of(p, &g->node[i]);
        p->scratch_bytes = bytes > p->scratch_bytes ? bytes : p->scratch_bytes;
    }
    p->plain_products = true;
    for (int32_t i = 0; i < p->n_products; i++) {
        const vug_node *linear = &g->node[p->product[i].linear[0]];
        const uint64_t bytes = product_bytes(p, &p->product[i]);
        p->plain_products =
                p->plain_products && matrix_of(p, linear->in[1])->dtype == VUG_DTYPE_BF16;
        p->scratch_bytes = bytes > p->scratch_bytes ? bytes : p->scratch_bytes;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const vug_shape *shape = &vug_graph_at(g, g->output[i].value)->shape;
        const int64_t n = vug_shape_elements(shape, p->limits.batch, p->limits.rows);
        if (!vug_cuda_add_part((uint64_t)n * sizeof(float), &p->output_bytes, &at))
            return VUG_FAIL(err, VUG_LIMIT, "cuda: the outputs of a step are too large");
    }
    if (!vug_cuda_add_part(p->value_bytes, &end, &at) ||
        !vug_cuda_add_part(p->scratch_bytes, &end, &at) ||
        !vug_cuda_add_part(vug_cuda_pages_done_bytes(p), &end, &at) ||
        !vug_cuda_add_part(vug_cuda_row_words_bytes(p), &end, &at) ||
        !vug_cuda_add_part(vug_cuda_row_words_bytes(p), &end, &at))
        return VUG_FAIL(err, VUG_LIMIT, "cuda: a step of %lld tokens needs too much memory",
                        (long long)p->limits.batch);
    p->sizes.workspace_bytes = end + p->output_bytes + vug_cuda_host_calls_bytes(p);
    p->sizes.device_bytes = end + p->constant_bytes;
    p->sizes.program_bytes = sizeof(*p) + p->arena.held;
    return VUG_OK;
}

/* ---- compile ------------------------------------------------------------------------------ */

/* Whether the data inputs of a graph have a row of fixed size for each token, as the values that the
 * first layers on another device give. */
static bool has_data_by_token(const vug_graph *g)
{
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (node->op != VUG_OP_INPUT || node->at.input.which != VUG_INPUT_DATA)
            continue;
        bool by_token = node->shape.rank > 0 && node->shape.dim[0] == VUG_DIM_T;
        for (int d = 1; d < node->shape.rank; d++)
            by_token = by_token && node->shape.dim[d] > 0;
        if (!by_token)
            return false;
    }
    return true;
}

static vug_status build_program(vug_cuda_program *p, vug_err *err)
{
    VUG_TRY(check_nodes(p, err));
    VUG_TRY(make_constants(p, err));
    VUG_TRY(vug_cuda_lower(p, err));
    VUG_TRY(place_caches(p, err));
    return size_step(p, err);
}

vug_status vug_cuda_compile(vug_device_weights *weights, const vug_graph *graph,
                            const vug_plan *plan, const vug_limits *limits, vug_program **out,
                            vug_err *err)
{
    VUG_TRY(vug_check_limits("cuda", limits, err));
    vug_cuda_program *p = vug_alloc_zero(1, sizeof(*p));
    if (!p)
        return VUG_FAIL_NOMEM(err, "the program", sizeof(*p));
    p->weights = (vug_cuda_weights *)(void *)weights;
    p->device = p->weights->device;
    p->graph = graph;
    p->plan = plan;
    p->limits = *limits;
    p->token_dim = vug_graph_step_dim(graph, VUG_DIM_T);
    p->data_by_token = has_data_by_token(graph);
    const vug_status st = build_program(p, err);
    if (st != VUG_OK) {
        vug_cuda_release((vug_program *)(void *)p);
        return st;
    }
    *out = (vug_program *)(void *)p;
    return VUG_OK;
}

void vug_cuda_release(vug_program *program)
{
    vug_cuda_program *p = (vug_cuda_program *)(void *)program;
    if (!p)
        return;
    vug_cuda_free(p->constants);
    vug_kv_layout_release(&p->kv_layout);
    vug_arena_release(&p->arena);
    vug_free(p);
}
