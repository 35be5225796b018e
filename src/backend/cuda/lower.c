/* Which nodes run as one launch, and where the values of a step lie. */
#include "backend/cuda/internal.h"

#include "ir/live_blocks.h"

/* Nodes of a group are at most so far apart. */
enum { WINDOW = 64, VALUE_ALIGN = 256 };

/* ---- readers -------------------------------------------------------------------------- */

/* Who reads a value: how many nodes, and the last of them. An output counts as one. */
typedef struct {
    uint32_t n, last;
} value_readers;

static void count_readers(const vug_graph *g, value_readers *readers)
{
    for (uint32_t i = 1; i < g->n; i++) {
        for (int k = 0; k < vug_node_inputs(&g->node[i]); k++)
            readers[g->node[i].in[k].id] = (value_readers){ readers[g->node[i].in[k].id].n + 1, i };
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        readers[g->output[i].value.id] =
                (value_readers){ readers[g->output[i].value.id].n + 1, g->n };
}

/* ---- groups of products ------------------------------------------------------------------ */

static const vug_matrix *matrix_of_product(const vug_cuda_program *p, uint32_t id)
{
    const vug_val w = p->graph->node[id].in[1];
    return &p->weights->matrix[vug_graph_at(p->graph, w)->at.param.slot];
}

static bool is_tile_product(const vug_cuda_program *p, uint32_t id)
{
    if (p->graph->node[id].op != VUG_OP_LINEAR || p->plan->activations == VUG_ACTIVATIONS_F32)
        return false;
    const vug_matrix *w = matrix_of_product(p, id);
    return vug_cuda_unit_bytes(w->dtype) > 0 && !w->scales.scale;
}

/* Products of the same rows with matrices of one format that follow one another. */
static void find_parts(const vug_cuda_program *p, vug_cuda_product *product)
{
    const vug_graph *g = p->graph;
    const uint32_t first = product->linear[0];
    for (uint32_t i = first + 1; i < g->n && i - first < WINDOW; i++) {
        if (product->n < VUG_CUDA_MAX_PARTS && is_tile_product(p, i) && p->product_of[i] < 0 &&
            g->node[i].in[0].id == g->node[first].in[0].id &&
            matrix_of_product(p, i)->dtype == matrix_of_product(p, first)->dtype)
            product->linear[product->n++] = i;
    }
}

/* gelu(gate) * up, or silu, of values that nothing else reads. */
static void find_activation(const vug_cuda_program *p, const value_readers *readers,
                            vug_cuda_product *product)
{
    const uint32_t a = product->linear[0], b = product->linear[1];
    if (product->n != 2 || readers[a].n != 1 || readers[b].n != 1 ||
        readers[a].last != readers[b].last || readers[a].last >= p->graph->n)
        return;
    const vug_node *node = &p->graph->node[readers[a].last];
    if (node->op != VUG_OP_GEGLU && node->op != VUG_OP_SWIGLU)
        return;
    product->activation = readers[a].last;
    product->linear[0] = node->in[0].id;
    product->linear[1] = node->in[1].id;
}

/* Whether a node from `first` on and before the product reads a value, other than node `reader`. */
static bool is_read_before(const vug_graph *g, uint32_t value, uint32_t first,
                           const vug_cuda_product *product, uint32_t reader)
{
    for (uint32_t i = first; i < product->at; i++) {
        for (int k = 0; k < vug_node_inputs(&g->node[i]); k++) {
            if (g->node[i].in[k].id == value && i != reader)
                return true;
        }
    }
    return false;
}

/* The norm that gives the rows, and the sum before it, if nothing reads these before the products run. */
static void find_norm(const vug_cuda_program *p, const value_readers *readers,
                      vug_cuda_product *product)
{
    const vug_graph *g = p->graph;
    const uint32_t norm = g->node[product->linear[0]].in[0].id;
    if (g->node[norm].op != VUG_OP_RMS_NORM || g->node[norm].shape.rank != 2 ||
        p->product_of[norm] >= 0 || product->at - norm >= WINDOW ||
        is_read_before(g, norm, norm + 1, product, 0))
        return;
    product->norm = norm;
    product->shares_norm = readers[norm].n > (uint32_t)product->n;
    const uint32_t add = g->node[norm].in[0].id;
    if ((g->node[add].op != VUG_OP_ADD && g->node[add].op != VUG_OP_ADD_NORM) ||
        p->product_of[add] >= 0 || product->at - add >= WINDOW ||
        is_read_before(g, add, add + 1, product, norm))
        return;
    product->add = add;
}

/* What gives the rows, if nothing else reads it, and whether that is the activation of an earlier
 * product. */
static void find_source(vug_cuda_program *p, const value_readers *readers,
                        vug_cuda_product *product)
{
    const vug_graph *g = p->graph;
    uint32_t rows = g->node[product->linear[0]].in[0].id, n = (uint32_t)product->n;
    for (; vug_op_class_of(g->node[rows].op) == VUG_CLASS_VIEW; n = 1) {
        if (readers[rows].n != n)
            return;
        rows = g->node[rows].in[0].id;
    }
    if (readers[rows].n != n)
        return;
    const int32_t gate = p->product_of[rows];
    p->row_reader[rows] = product->linear[0];
    product->source = rows;
    if (gate >= 0 && p->product[gate].activation == rows)
        product->gated = rows;
}

static void add_to_product(vug_cuda_program *p, uint32_t node, int32_t product)
{
    if (node)
        p->product_of[node] = product;
}

static void find_product(vug_cuda_program *p, uint32_t id, const value_readers *readers)
{
    vug_cuda_product product = { .linear = { id }, .n = 1, .at = id };
    const int32_t index = p->n_products++;
    find_parts(p, &product);
    find_activation(p, readers, &product);
    find_norm(p, readers, &product);
    find_source(p, readers, &product);
    for (int i = 0; i < product.n; i++)
        add_to_product(p, product.linear[i], index);
    add_to_product(p, product.activation, index);
    add_to_product(p, product.norm, index);
    add_to_product(p, product.add, index);
    p->product[index] = product;
}

/* ---- inputs of attention ----------------------------------------------------------------- */

/* A rotation of all tokens that only the attention reads. */
static bool is_own_rotation(const vug_cuda_program *p, const value_readers *readers,
                            uint32_t attention, uint32_t id)
{
    const vug_node *node = &p->graph->node[id];
    return (node->op == VUG_OP_ROPE || node->op == VUG_OP_NORM_ROPE) && readers[id].n == 1 &&
           node->shape.dim[0] == p->token_dim && attention - id < WINDOW;
}

static void find_rotations(vug_cuda_program *p, uint32_t id, const value_readers *readers)
{
    const vug_node *node = &p->graph->node[id];
    if (node->op != VUG_OP_ATTENTION || node->at.attn.shared || node->at.attn.past)
        return;
    const uint32_t q = node->in[0].id, k = node->in[1].id;
    if (is_own_rotation(p, readers, id, q) && is_own_rotation(p, readers, id, k)) {
        p->rotated_by[q] = id;
        p->rotated_by[k] = id;
    }
}

/* ---- places ------------------------------------------------------------------------------- */

/* When a node may run, at the earliest and at the latest. */
typedef struct {
    uint32_t earliest, latest;
} run_time;

static run_time time_of(const vug_cuda_program *p, uint32_t id)
{
    if (p->rotated_by[id])
        return (run_time){ p->rotated_by[id], p->rotated_by[id] };
    if (p->product_of[id] < 0)
        return (run_time){ id, id };
    const vug_cuda_product *product = &p->product[p->product_of[id]];
    const bool before = id == product->norm || id == product->add;
    return (run_time){ before ? id : product->at, product->at };
}

/* last[i]: when value i is read for the last time. Backwards, so that a view's readers are known
 * before it extends its input's life. */
static void find_lifetimes(const vug_cuda_program *p, uint32_t *last)
{
    const vug_graph *g = p->graph;
    for (uint32_t i = 1; i < g->n; i++)
        last[i] = time_of(p, i).latest;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        last[g->output[i].value.id] = g->n;
    for (int32_t i = 0; i < p->n_products; i++) {
        const vug_node *gated = &g->node[p->product[i].gated];
        for (int k = 0; p->product[i].gated && k < 2; k++)
            last[gated->in[k].id] = p->product[i].at;
    }
    for (uint32_t i = g->n - 1; i > 0; i--) {
        const bool view = vug_op_class_of(g->node[i].op) == VUG_CLASS_VIEW;
        const uint32_t end = view ? last[i] : time_of(p, i).latest;
        for (int k = 0; k < vug_node_inputs(&g->node[i]); k++) {
            const uint32_t in = g->node[i].in[k].id;
            last[in] = last[in] < end ? end : last[in];
        }
    }
}

static uint64_t value_bytes(const vug_cuda_program *p, uint32_t id)
{
    const uint64_t bytes = (uint64_t)vug_shape_elements(&p->graph->node[id].shape, p->limits.batch,
                                                        p->limits.rows) *
                           sizeof(float);
    return (bytes + VALUE_ALIGN - 1) / VALUE_ALIGN * VALUE_ALIGN;
}

/* Places the values that may be written from time `now` on. */
static void place_from(vug_cuda_program *p, uint32_t now, const uint32_t *last,
                       vug_live_block *live, size_t *n)
{
    const uint32_t first = now > WINDOW ? now - WINDOW : 1;
    for (uint32_t i = first; i < p->graph->n && i < now + WINDOW; i++) {
        const vug_op_class class = vug_op_class_of(p->graph->node[i].op);
        if (time_of(p, i).earliest != now || class == VUG_CLASS_LEAF || class == VUG_CLASS_VIEW)
            continue;
        const uint64_t bytes = value_bytes(p, i);
        p->offset[i] = vug_live_place(live, n, bytes, now, last[i]);
        if (p->offset[i] + bytes > p->value_bytes)
            p->value_bytes = p->offset[i] + bytes;
    }
}

/* A view has no bytes of its own: it uses those of its input. */
static void place_values(vug_cuda_program *p, uint32_t *last, vug_live_block *live)
{
    const vug_graph *g = p->graph;
    size_t n = 0;
    find_lifetimes(p, last);
    for (uint32_t i = 1; i < g->n; i++)
        place_from(p, i, last, live, &n);
    for (uint32_t i = 1; i < g->n; i++) {
        if (vug_op_class_of(g->node[i].op) == VUG_CLASS_VIEW)
            p->offset[i] = p->offset[g->node[i].in[0].id];
    }
}

vug_status vug_cuda_lower(vug_cuda_program *p, vug_err *err)
{
    const size_t n = p->graph->n;
    value_readers *readers = vug_alloc_zero(n, sizeof(*readers));
    uint32_t *last = vug_alloc_zero(n, sizeof(*last));
    vug_live_block *live = vug_alloc(n, sizeof(*live));
    p->product = vug_arena_alloc(&p->arena, n, sizeof(*p->product));
    p->product_of = vug_arena_alloc(&p->arena, n, sizeof(*p->product_of));
    p->rotated_by = vug_arena_alloc(&p->arena, n, sizeof(*p->rotated_by));
    p->row_reader = vug_arena_alloc(&p->arena, n, sizeof(*p->row_reader));
    p->offset = vug_arena_alloc(&p->arena, n, sizeof(*p->offset));
    vug_status st = VUG_OK;
    if (!readers || !last || !live || !p->product || !p->product_of || !p->rotated_by ||
        !p->row_reader || !p->offset) {
        st = VUG_FAIL_NOMEM(err, "the program", n * sizeof(*p->product));
        goto release;
    }
    count_readers(p->graph, readers);
    for (uint32_t i = 0; i < n; i++)
        p->product_of[i] = -1;
    for (uint32_t i = 1; i < n; i++) {
        if (p->product_of[i] < 0 && is_tile_product(p, i))
            find_product(p, i, readers);
        find_rotations(p, i, readers);
    }
    place_values(p, last, live);
release:
    vug_free(readers);
    vug_free(last);
    vug_free(live);
    return st;
}
