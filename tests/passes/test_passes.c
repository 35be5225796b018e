/*
 * The passes. Fusion: where each pattern applies and where it must not, and that no graph,
 * random or of a published shape, computes anything else afterwards. The memory plan: a
 * second, simpler implementation finds the lifetimes here, and no two values that are
 * alive at the same time may share a byte.
 */
#include "test.h"

#include "engine_help.h"
#include "flow/builder.h"
#include "models/models.h"
#include "passes/passes.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { D = 8, HEADS = 2, V = 32 };

/* ---- graphs of this file ----------------------------------------------------------- */

/* The first letter of a weight's name decides what it is: a norm of rows or heads, a matrix, a
 * table. */
static vug_status find(const void *user, const char *name, int layer, vug_weight_spec *out,
                       vug_err *err)
{
    (void)user, (void)layer, (void)err;
    static const struct {
        char letter;
        vug_shape shape;
    } rows[] = {
        { 'n', { 1, { D } } },
        { 'h', { 1, { D / HEADS } } },
        { 'm', { 2, { D, D } } },
        { 'e', { 2, { V, D } } },
    };
    int slot = 0;
    while (rows[slot].letter != name[0])
        slot++;
    *out = (vug_weight_spec){ slot, VUG_DTYPE_F32, rows[slot].shape };
    return VUG_OK;
}

/* A flow that starts with one value [T,D]. */
typedef struct {
    vug_graph g;
    vug_flow f;
    vug_val x;
} sketch;

static void begin(sketch *s)
{
    s->g = (vug_graph){ .name = "sketch" };
    s->f = vug_flow_begin(&s->g, find, NULL);
    s->f.layer = 0;
    s->x = flow_embed(&s->f, flow_weight(&s->f, "embedding"), flow_input(&s->f, VUG_INPUT_TOKENS),
                      1);
}

static void assert_ok(vug_status st, const vug_err *err)
{
    if (st != VUG_OK)
        fail_msg("%s", err->msg);
}

/* The fused graph of a sketch, which is finished and released. */
static vug_graph fuse(sketch *s)
{
    vug_graph fused = { 0 };
    vug_err err = { 0 };
    assert_ok(vug_flow_finish(&s->f, &err), &err);
    assert_ok(vug_graph_verify(&s->g, &err), &err);
    assert_ok(vug_fuse(&s->g, &fused, &err), &err);
    assert_ok(vug_graph_verify(&fused, &err), &err);
    vug_graph_release(&s->g);
    return fused;
}

static uint32_t count_ops(const vug_graph *g, vug_op op)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < g->n; i++)
        n += g->node[i].op == op;
    return n;
}

static const vug_node *output_node(const vug_graph *g, uint32_t i)
{
    return vug_graph_at(g, g->output[i].value);
}

static vug_op op_of_input(const vug_graph *g, const vug_node *node, int k)
{
    return vug_graph_at(g, node->in[k])->op;
}

static const vug_attr_norm norm = { .eps = 0.25F, .bias = 1 };

static vug_val linear(sketch *s)
{
    return flow_linear(&s->f, s->x, "matrix");
}

static vug_val normed(sketch *s, vug_val x)
{
    return flow_rms_norm(&s->f, x, "norm", norm);
}

/* Heads of x, normed, and the table to rotate them by. */
static vug_val normed_heads(sketch *s)
{
    return flow_rms_norm(&s->f, flow_heads(&s->f, s->x, HEADS), "head_norm", norm);
}

static vug_val table(sketch *s)
{
    static const float inv[D / HEADS / 2] = { 1, 0.5F };
    return flow_rope_table(&s->f, flow_input(&s->f, VUG_INPUT_POSITIONS), "rope",
                           (vug_attr_table){ .dims = D / HEADS, .inv = inv, .factor = 1 });
}

/* ---- fusion: each row ---------------------------------------------------------------- */

/* Whichever operand is the activated one, it comes first in the fused node. */
static void test_activation_and_mul_are_fused(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        const bool swap = way % 2, silu = way / 2;
        sketch s;
        begin(&s);
        const vug_val up = linear(&s);
        const vug_val gate = silu ? flow_silu(&s.f, s.x) : flow_gelu(&s.f, s.x);
        flow_output(&s.f, "y", swap ? flow_mul(&s.f, up, gate) : flow_mul(&s.f, gate, up));
        vug_graph g = fuse(&s);
        const vug_node *y = output_node(&g, 0);
        assert_int_equal(y->op, silu ? VUG_OP_SWIGLU : VUG_OP_GEGLU);
        assert_int_equal(op_of_input(&g, y, 0), VUG_OP_EMBED);
        assert_int_equal(op_of_input(&g, y, 1), VUG_OP_LINEAR);
        assert_int_equal(y->layer, 0);
        assert_int_equal(count_ops(&g, VUG_OP_GELU) + count_ops(&g, VUG_OP_SILU), 0);
        assert_int_equal(count_ops(&g, VUG_OP_MUL), 0);
        vug_graph_release(&g);
    }
}

static void test_norm_and_add_are_fused(void **state)
{
    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        sketch s;
        begin(&s);
        const vug_val h = normed(&s, linear(&s));
        flow_output(&s.f, "y", swap ? flow_add(&s.f, h, s.x) : flow_add(&s.f, s.x, h));
        vug_graph g = fuse(&s);
        const vug_node *y = output_node(&g, 0);
        assert_int_equal(y->op, VUG_OP_ADD_NORM);
        assert_int_equal(op_of_input(&g, y, 0), VUG_OP_EMBED);
        assert_int_equal(op_of_input(&g, y, 1), VUG_OP_LINEAR);
        assert_int_equal(op_of_input(&g, y, 2), VUG_OP_PARAM);
        assert_true(y->at.norm.eps == norm.eps && y->at.norm.bias == norm.bias);
        assert_int_equal(count_ops(&g, VUG_OP_RMS_NORM) + count_ops(&g, VUG_OP_ADD), 0);
        vug_graph_release(&g);
    }
}

static void test_norm_and_rope_are_fused(void **state)
{
    (void)state;
    sketch s;
    begin(&s);
    flow_output(&s.f, "y", flow_rope(&s.f, normed_heads(&s), table(&s)));
    vug_graph g = fuse(&s);
    const vug_node *y = output_node(&g, 0);
    assert_int_equal(y->op, VUG_OP_NORM_ROPE);
    assert_int_equal(op_of_input(&g, y, 0), VUG_OP_HEADS);
    assert_int_equal(op_of_input(&g, y, 1), VUG_OP_PARAM);
    assert_int_equal(op_of_input(&g, y, 2), VUG_OP_ROPE_TABLE);
    assert_true(y->at.norm.eps == norm.eps && y->at.norm.bias == norm.bias);
    assert_int_equal(count_ops(&g, VUG_OP_RMS_NORM) + count_ops(&g, VUG_OP_ROPE), 0);
    vug_graph_release(&g);
}

/* An inner value that something else needs stays, and the root with it. */
static void test_needed_inner_values_are_kept(void **state)
{
    (void)state;
    enum { USED_TWICE, AN_OUTPUT, WAYS };
    for (int way = 0; way < WAYS; way++) {
        sketch s;
        begin(&s);
        const vug_val gate = flow_gelu(&s.f, s.x), h = normed(&s, s.x), q = normed_heads(&s);
        flow_output(&s.f, "geglu", flow_mul(&s.f, gate, linear(&s)));
        flow_output(&s.f, "add_norm", flow_add(&s.f, linear(&s), h));
        flow_output(&s.f, "norm_rope", flow_rope(&s.f, q, table(&s)));
        static const char *const names[] = { "gate", "h", "q" };
        const vug_val inner[] = { gate, h, q };
        for (size_t i = 0; i < COUNT(inner); i++)
            flow_output(&s.f, names[i], way == USED_TWICE ? flow_gelu(&s.f, inner[i]) : inner[i]);
        vug_graph g = fuse(&s);
        assert_int_equal(output_node(&g, 0)->op, VUG_OP_MUL);
        assert_int_equal(output_node(&g, 1)->op, VUG_OP_ADD);
        assert_int_equal(output_node(&g, 2)->op, VUG_OP_ROPE);
        assert_int_equal(count_ops(&g, VUG_OP_RMS_NORM), 2);
        assert_int_equal(count_ops(&g, VUG_OP_GELU), way == USED_TWICE ? 4 : 1);
        vug_graph_release(&g);
    }
}

/* A reader that no output needs does not prevent fusion. */
static void test_dead_readers_do_not_count(void **state)
{
    (void)state;
    sketch s;
    begin(&s);
    const vug_val gate = flow_gelu(&s.f, s.x);
    (void)flow_add(&s.f, gate, s.x);
    flow_output(&s.f, "y", flow_mul(&s.f, gate, linear(&s)));
    vug_graph g = fuse(&s);
    assert_int_equal(output_node(&g, 0)->op, VUG_OP_GEGLU);
    assert_int_equal(count_ops(&g, VUG_OP_ADD), 0);
    vug_graph_release(&g);
}

static void test_one_value_on_both_sides(void **state)
{
    (void)state;
    sketch s;
    begin(&s);
    const vug_val gate = flow_gelu(&s.f, s.x), h = normed(&s, s.x);
    flow_output(&s.f, "square", flow_mul(&s.f, gate, gate));
    flow_output(&s.f, "double", flow_add(&s.f, h, h));
    /* Two candidates: one is absorbed, the other stays. */
    flow_output(&s.f, "two", flow_mul(&s.f, flow_gelu(&s.f, linear(&s)), flow_gelu(&s.f, s.x)));
    vug_graph g = fuse(&s);
    assert_int_equal(output_node(&g, 0)->op, VUG_OP_MUL);
    assert_int_equal(output_node(&g, 1)->op, VUG_OP_ADD);
    assert_int_equal(output_node(&g, 2)->op, VUG_OP_GEGLU);
    assert_int_equal(op_of_input(&g, output_node(&g, 2), 1), VUG_OP_GELU);
    assert_int_equal(count_ops(&g, VUG_OP_GELU), 2);
    vug_graph_release(&g);
}

static void test_dead_nodes_are_dropped(void **state)
{
    (void)state;
    sketch s;
    begin(&s);
    const vug_val dead = flow_mul(&s.f, normed(&s, linear(&s)), s.x);
    (void)flow_gelu(&s.f, dead);
    (void)flow_input(&s.f, VUG_INPUT_ROWS);
    flow_output(&s.f, "y", s.x);
    flow_output(&s.f, "again", s.x);
    vug_graph g = fuse(&s);
    assert_int_equal(g.n - 1, 3); /* the tokens, the table, the embedding */
    assert_int_equal(g.n_outputs, 2);
    assert_string_equal(g.output[0].name, "y");
    assert_string_equal(g.output[1].name, "again");
    assert_int_equal(g.output[0].value.id, g.output[1].value.id);
    vug_graph_release(&g);
}

/* ---- fusion: what a graph means ------------------------------------------------------ */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t state = a * 3 + b;
    return help_bits(&state);
}

static uint64_t hash_op(vug_op op, uint64_t a, uint64_t b)
{
    /* The order of what is added or multiplied changes no bit. */
    const bool either = op == VUG_OP_ADD || op == VUG_OP_MUL;
    return mix((uint64_t)op, either ? (a ^ b) + mix(a, 0) + mix(b, 0) : mix(mix(a, 1), b));
}

static uint64_t hash_norm(uint64_t x, uint64_t w, vug_attr_norm at)
{
    uint32_t eps;
    memcpy(&eps, &at.eps, sizeof(eps));
    return mix(hash_op(VUG_OP_RMS_NORM, x, w), eps);
}

/* The hash of the expression that a node computes, in which fused operations are replaced by
 * their definitions in ops.def; `of` has the hashes of earlier nodes. */
static uint64_t hash_node(const vug_node *n, const uint64_t *of)
{
    const uint64_t a = of[n->in[0].id], b = of[n->in[1].id], c = of[n->in[2].id];
    switch (n->op) {
    case VUG_OP_PARAM:
        return mix(1000, (uint64_t)n->at.param.slot);
    case VUG_OP_INPUT:
        return mix(2000, (uint64_t)n->at.input.which);
    case VUG_OP_RMS_NORM:
        return hash_norm(a, b, n->at.norm);
    case VUG_OP_GEGLU:
        return hash_op(VUG_OP_MUL, hash_op(VUG_OP_GELU, a, 0), b);
    case VUG_OP_SWIGLU:
        return hash_op(VUG_OP_MUL, hash_op(VUG_OP_SILU, a, 0), b);
    case VUG_OP_ADD_NORM:
        return hash_op(VUG_OP_ADD, a, hash_norm(b, c, n->at.norm));
    case VUG_OP_NORM_ROPE:
        return hash_op(VUG_OP_ROPE, hash_norm(a, b, n->at.norm), c);
    case VUG_OP_HEAD:
        return mix(hash_op(n->op, a, 0), (uint64_t)n->at.head.index);
    case VUG_OP_ATTENTION:
        return mix(hash_op(n->op, mix(a, b), c), (uint64_t)n->at.attn.shared << 63 |
                                                         (uint64_t)n->at.attn.layer << 32 |
                                                         (uint64_t)n->at.attn.window);
    case VUG_OP_ROPE_TABLE:
        return mix(hash_op(n->op, a, 0), (uint64_t)(n->at.table.inv[1] * 1e6F));
    default:
        return hash_op(n->op, a, b);
    }
}

/* [n_outputs], for vug_free. */
static uint64_t *hash_outputs(const vug_graph *g)
{
    uint64_t *of = vug_alloc_zero(g->n, sizeof(*of));
    uint64_t *out = vug_alloc_zero(g->n_outputs, sizeof(*out));
    assert_true(of && out);
    for (uint32_t i = 1; i < g->n; i++)
        of[i] = hash_node(&g->node[i], of);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        out[i] = of[g->output[i].value.id];
    vug_free(of);
    return out;
}

static void assert_same_meaning(const vug_graph *a, const vug_graph *b)
{
    uint64_t *x = hash_outputs(a), *y = hash_outputs(b);
    assert_int_equal(a->n_outputs, b->n_outputs);
    assert_memory_equal(x, y, a->n_outputs * sizeof(*x));
    for (uint32_t i = 0; i < a->n_outputs; i++)
        assert_string_equal(a->output[i].name, b->output[i].name);
    vug_free(x);
    vug_free(y);
}

static void output_numbered(vug_flow *f, vug_val x)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "out.%u", f->g->n_outputs);
    flow_output(f, name, x);
}

/* Elementwise operations, norms and views over any earlier values, any of them outputs. */
static void random_sketch(sketch *s, uint64_t *random)
{
    enum { STEPS = 40 };
    vug_val flat[STEPS + 1], in_heads[STEPS + 1];
    begin(s);
    const vug_val rope = table(s);
    uint64_t n_flat = 1, n_heads = 1;
    flat[0] = s->x;
    in_heads[0] = flow_heads(&s->f, s->x, HEADS);
    for (int i = 0; i < STEPS; i++) {
        const vug_val a = flat[help_random(random, n_flat)], b = flat[help_random(random, n_flat)];
        const vug_val h = in_heads[help_random(random, n_heads)];
        switch (help_random(random, 8)) {
        case 0:
            flat[n_flat++] = flow_add(&s->f, a, b);
            break;
        case 1:
            flat[n_flat++] = flow_mul(&s->f, a, b);
            break;
        case 2:
            flat[n_flat++] = help_random(random, 2) ? flow_silu(&s->f, a) : flow_gelu(&s->f, a);
            break;
        case 3:
            flat[n_flat++] = normed(s, a);
            break;
        case 4:
            flat[n_flat++] = flow_merge(&s->f, h);
            break;
        case 5:
            in_heads[n_heads++] = flow_heads(&s->f, a, HEADS);
            break;
        case 6:
            in_heads[n_heads++] = flow_rms_norm(&s->f, h, "head_norm", norm);
            break;
        default:
            in_heads[n_heads++] = flow_rope(&s->f, h, rope);
            break;
        }
        if (help_random(random, 6) == 0)
            output_numbered(&s->f, help_random(random, 2) ? a : h);
    }
    flow_output(&s->f, "flat", flat[n_flat - 1]);
    flow_output(&s->f, "heads", in_heads[n_heads - 1]);
}

static void test_fusion_keeps_the_meaning(void **state)
{
    (void)state;
    uint64_t random = 5;
    uint32_t n_fused = 0;
    for (int i = 0; i < 500; i++) {
        sketch s;
        vug_graph fused = { 0 };
        vug_err err = { 0 };
        random_sketch(&s, &random);
        assert_ok(vug_flow_finish(&s.f, &err), &err);
        assert_ok(vug_fuse(&s.g, &fused, &err), &err);
        assert_same_meaning(&s.g, &fused);
        n_fused += count_ops(&fused, VUG_OP_GEGLU) + count_ops(&fused, VUG_OP_SWIGLU) +
                   count_ops(&fused, VUG_OP_ADD_NORM) + count_ops(&fused, VUG_OP_NORM_ROPE);
        vug_graph_release(&fused);
        vug_graph_release(&s.g);
    }
    assert_true(n_fused > 100);
}

/* ---- published shapes ------------------------------------------------------------------ */

/* The graph of a published shape, without a checkpoint: only the formats of weights
 * are asked for. */
static vug_graph published(size_t shape, bool hidden)
{
    static const vug_tensor some = { .dtype = VUG_DTYPE_BF16 };
    static vug_config const empty;
    vug_config config = empty;
    vug_graph g = { 0 };
    vug_err err = { 0 };
    assert_ok(
            vug_config_read(vug_str_of(vug_model_shape_at(shape)->config), "shape", &config, &err),
            &err);
    vug_binding b = { .n_slots = vug_weight_slot_count(&config),
                      .tied = config.tied,
                      .config = &config };
    b.tensor = vug_alloc(b.n_slots, sizeof(const vug_tensor *));
    assert_non_null(b.tensor);
    for (size_t i = 0; i < b.n_slots; i++) {
        const vug_weight_slot slot = vug_weight_slot_at(&config, i);
        const bool head = strcmp(slot.row->name, "output") == 0 && !config.tied;
        b.tensor[i] = slot.presence == VUG_TENSOR_USED && (slot.row->need != VUG_OPTIONAL || head)
                              ? &some
                              : NULL;
    }
    assert_ok(vug_model_build_graph(&b, hidden, &g, &err), &err);
    vug_binding_release(&b);
    return g;
}

/* Fusions per layer of each architecture. */
static const struct {
    const char *arch;
    uint32_t geglu, swiglu, add_norm, norm_rope;
} fusions[] = {
    { "gemma", 1, 0, 0, 0 },     { "gemma2", 1, 0, 2, 0 }, { "gemma3", 1, 0, 2, 2 },
    { "llama", 0, 1, 0, 0 },     { "qwen2", 0, 1, 0, 0 },  { "qwen3", 0, 1, 0, 2 },
    { "qwen3_moe", 0, 0, 0, 2 },
};

/* The layers of one Gemma 4 model differ. */
static void check_fusions(const vug_graph *g, const vug_graph *fused)
{
    const uint32_t layers = (uint32_t)g->n_layers;
    size_t a = 0;
    while (a < COUNT(fusions) && strcmp(fusions[a].arch, g->name) != 0)
        a++;
    assert_true(a < COUNT(fusions) || strcmp(g->name, "gemma4") == 0);
    if (a == COUNT(fusions))
        return;
    assert_int_equal(count_ops(fused, VUG_OP_GEGLU), fusions[a].geglu * layers);
    assert_int_equal(count_ops(fused, VUG_OP_SWIGLU), fusions[a].swiglu * layers);
    assert_int_equal(count_ops(fused, VUG_OP_ADD_NORM), fusions[a].add_norm * layers);
    assert_int_equal(count_ops(fused, VUG_OP_NORM_ROPE), fusions[a].norm_rope * layers);
    assert_int_equal(fused->n, g->n - layers * (fusions[a].geglu + fusions[a].swiglu +
                                                fusions[a].add_norm + fusions[a].norm_rope));
}

static void test_fusions_of_published_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < vug_model_shape_count(); i++) {
        vug_graph g = published(i, i % 2 == 1), fused = { 0 }, twice = { 0 };
        vug_buf before = { 0 }, after = { 0 }, once_text = { 0 }, twice_text = { 0 };
        vug_err err = { 0 };
        const uint32_t layers = (uint32_t)g.n_layers;
        vug_graph_text(&g, &before);
        assert_ok(vug_fuse(&g, &fused, &err), &err);
        vug_graph_text(&g, &after);
        assert_string_equal(before.ptr, after.ptr);
        assert_same_meaning(&g, &fused);
        assert_int_equal(fused.n_layers, layers);
        check_fusions(&g, &fused);
        /* Fusing a fused graph changes nothing. */
        assert_ok(vug_fuse(&fused, &twice, &err), &err);
        vug_graph_text(&fused, &once_text);
        vug_graph_text(&twice, &twice_text);
        assert_string_equal(once_text.ptr, twice_text.ptr);
        vug_buf_release(&before);
        vug_buf_release(&after);
        vug_buf_release(&once_text);
        vug_buf_release(&twice_text);
        vug_graph_release(&g);
        vug_graph_release(&fused);
        vug_graph_release(&twice);
    }
}

/* ---- the memory plan -------------------------------------------------------------------- */

static bool is_view(const vug_node *n)
{
    return n->op == VUG_OP_HEADS || n->op == VUG_OP_MERGE;
}

/* The node whose memory holds a value. */
static uint32_t owner(const vug_graph *g, vug_val v)
{
    while (is_view(&g->node[v.id]))
        v = g->node[v.id].in[0];
    return v.id;
}

/* [n]: the last node that reads a value's memory; n: it is an output. For vug_free. */
static uint32_t *last_readers(const vug_graph *g)
{
    uint32_t *last = vug_alloc_zero(g->n, sizeof(*last));
    assert_non_null(last);
    for (uint32_t i = 1; i < g->n; i++) {
        last[i] = i;
        for (int k = 0; k < vug_node_inputs(&g->node[i]); k++)
            last[owner(g, g->node[i].in[k])] = i;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        last[owner(g, g->output[i].value)] = g->n;
    return last;
}

static uint64_t size_of(const vug_graph *g, uint32_t i, int64_t tokens, int64_t rows)
{
    return (uint64_t)vug_shape_elements(&g->node[i].shape, tokens, rows) * sizeof(float);
}

static bool has_memory(const vug_graph *g, uint32_t i)
{
    return g->node[i].op != VUG_OP_PARAM && g->node[i].op != VUG_OP_INPUT;
}

/* The most bytes alive at once, each value rounded up to `align`: no plan is smaller. */
static uint64_t most_alive(const vug_graph *g, const uint32_t *last, int64_t tokens, int64_t rows,
                           uint64_t align)
{
    uint64_t most = 0;
    for (uint32_t now = 1; now < g->n; now++) {
        uint64_t sum = 0;
        for (uint32_t i = 1; i <= now; i++) {
            if (has_memory(g, i) && !is_view(&g->node[i]) && last[i] >= now)
                sum += (size_of(g, i, tokens, rows) + align - 1) / align * align;
        }
        most = sum > most ? sum : most;
    }
    return most;
}

static void assert_disjoint(const vug_graph *g, const vug_plan *p, const uint32_t *last,
                            int64_t tokens, int64_t rows)
{
    for (uint32_t j = 1; j < g->n; j++) {
        const uint64_t from = p->offset[j], to = from + size_of(g, j, tokens, rows);
        for (uint32_t i = 1; i < j && has_memory(g, j) && !is_view(&g->node[j]); i++) {
            if (!has_memory(g, i) || is_view(&g->node[i]) || last[i] < j)
                continue;
            const uint64_t other = p->offset[i], end = other + size_of(g, i, tokens, rows);
            if (from < end && other < to)
                fail_msg("nodes %u and %u share memory", i, j);
        }
    }
}

/* Returns the plan's bytes divided by the most bytes alive at once. */
static double check_plan(const vug_graph *g, int64_t tokens, int64_t rows, uint64_t align)
{
    vug_plan p = { 0 };
    vug_err err = { 0 };
    uint32_t *last = last_readers(g);
    assert_ok(vug_plan_init(g, tokens, rows, align, &p, &err), &err);
    assert_true(p.offset[0] == VUG_NO_OFFSET);
    for (uint32_t i = 1; i < g->n; i++) {
        if (!has_memory(g, i)) {
            assert_true(p.offset[i] == VUG_NO_OFFSET);
            continue;
        }
        assert_true(p.offset[i] % align == 0);
        assert_true(p.offset[i] + size_of(g, i, tokens, rows) <= p.bytes);
        if (is_view(&g->node[i]))
            assert_true(p.offset[i] == p.offset[owner(g, (vug_val){ i })]);
    }
    assert_disjoint(g, &p, last, tokens, rows);
    const uint64_t most = most_alive(g, last, tokens, rows, align);
    assert_true(p.bytes >= most);
    const double over = (double)p.bytes / (double)most;
    vug_free(last);
    vug_plan_release(&p);
    return over;
}

static void test_plans_of_published_shapes(void **state)
{
    (void)state;
    static const struct {
        int64_t tokens, rows;
        uint64_t align;
    } rows[] = { { 1, 1, 64 }, { 7, 1, 64 }, { 64, 64, 64 }, { 512, 1, 4 }, { 513, 2, 4096 } };
    for (size_t shape = 0; shape < vug_model_shape_count(); shape++) {
        for (int hidden = 0; hidden < 2; hidden++) {
            vug_graph g = published(shape, hidden), fused = { 0 };
            vug_err err = { 0 };
            assert_ok(vug_fuse(&g, &fused, &err), &err);
            for (size_t i = 0; i < COUNT(rows); i++) {
                /* Placing values in their order wastes little here. */
                const int64_t t = rows[i].tokens, r = rows[i].rows;
                assert_true(check_plan(&g, t, r, rows[i].align) <= 1.25);
                assert_true(check_plan(&fused, t, r, rows[i].align) <= 1.25);
            }
            vug_graph_release(&g);
            vug_graph_release(&fused);
        }
    }
}

static void test_plans_of_random_graphs(void **state)
{
    (void)state;
    uint64_t random = 11;
    for (int i = 0; i < 500; i++) {
        sketch s;
        random_sketch(&s, &random);
        const int64_t tokens = 1 + (int64_t)help_random(&random, 40);
        assert_true(check_plan(&s.g, tokens, 1, 16) <= 2);
        vug_graph fused = fuse(&s);
        assert_true(check_plan(&fused, tokens, 1, 16) <= 2);
        vug_graph_release(&fused);
    }
}

/* A chain needs two places, however long it is, and one more for an output early on. */
static void test_a_chain_takes_turns(void **state)
{
    (void)state;
    enum { T = 5 };
    const size_t place = (size_t)T * D * sizeof(float);
    for (int kept = 0; kept < 2; kept++) {
        sketch s;
        vug_plan p = { 0 };
        vug_err err = { 0 };
        begin(&s);
        vug_val x = s.x;
        for (int i = 0; i < 20; i++) {
            x = flow_gelu(&s.f, x);
            if (i == 3 && kept)
                flow_output(&s.f, "early", x);
        }
        flow_output(&s.f, "y", x);
        assert_ok(vug_flow_finish(&s.f, &err), &err);
        assert_ok(vug_plan_init(&s.g, T, 1, 1, &p, &err), &err);
        assert_int_equal(p.bytes, (kept ? 3 : 2) * place);
        vug_plan_release(&p);
        vug_graph_release(&s.g);
    }
}

/* Two views read the memory of x after the last node that reads x itself. */
static void test_views_keep_their_memory_alive(void **state)
{
    (void)state;
    sketch s;
    begin(&s);
    const vug_val heads = flow_heads(&s.f, s.x, HEADS), flat = flow_merge(&s.f, heads);
    const vug_val h = flow_gelu(&s.f, flow_gelu(&s.f, linear(&s)));
    flow_output(&s.f, "y", flow_add(&s.f, h, flat));
    flow_output(&s.f, "view", heads);
    (void)check_plan(&s.g, 3, 1, 64);
    vug_graph_release(&s.g);
}

/* The embedding, gelu [T,D] on which two views lie, and rows [R,D] where the embedding was. */
static void test_plan_report(void **state)
{
    (void)state;
    sketch s;
    vug_plan p = { 0 };
    vug_err err = { 0 };
    char expected[256];
    vug_buf text = { 0 };
    begin(&s);
    const vug_val x = flow_gelu(&s.f, s.x);
    const vug_val same = flow_merge(&s.f, flow_heads(&s.f, x, HEADS));
    flow_output(&s.f, "row", flow_gather(&s.f, same, flow_input(&s.f, VUG_INPUT_ROWS)));
    assert_ok(vug_flow_finish(&s.f, &err), &err);
    assert_ok(vug_plan_init(&s.g, 5, 2, 1, &p, &err), &err);
    vug_plan_report(&s.g, &p, 5, 2, &text);
    (void)snprintf(expected, sizeof(expected),
                   "memory plan (tokens in a step: 5)\n"
                   "  3 values share %d bytes; without sharing they would take %d\n"
                   "  2 views use the bytes of other values\n",
                   (5 + 5) * D * 4, (5 + 5 + 2) * D * 4);
    assert_string_equal(text.ptr, expected);
    vug_buf_release(&text);
    vug_plan_release(&p);
    vug_graph_release(&s.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activation_and_mul_are_fused),
        cmocka_unit_test(test_norm_and_add_are_fused),
        cmocka_unit_test(test_norm_and_rope_are_fused),
        cmocka_unit_test(test_needed_inner_values_are_kept),
        cmocka_unit_test(test_dead_readers_do_not_count),
        cmocka_unit_test(test_one_value_on_both_sides),
        cmocka_unit_test(test_dead_nodes_are_dropped),
        cmocka_unit_test(test_fusion_keeps_the_meaning),
        cmocka_unit_test(test_fusions_of_published_shapes),
        cmocka_unit_test(test_plans_of_published_shapes),
        cmocka_unit_test(test_plans_of_random_graphs),
        cmocka_unit_test(test_a_chain_takes_turns),
        cmocka_unit_test(test_views_keep_their_memory_alive),
        cmocka_unit_test(test_plan_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
