/*
 * Cutting a graph before a layer: which part has which node, what crosses, where data and outputs are,
 * and which graphs cannot be cut. tests/engine/test_layer_split.c runs the parts.
 */
#include "test.h"

#include "engine_help.h"
#include "flow/builder.h"
#include "passes/passes.h"

enum { D = 8, HEADS = 2, V = 32, LAYERS = 3 };

/* The first letter of a weight's name decides what it is: a matrix, or a table. */
static vug_status find_weight(const void *user, const char *name, int layer, vug_weight_spec *out,
                              vug_err *err)
{
    (void)user, (void)err;
    const int64_t rows = name[0] == 'e' ? V : D;
    *out = (vug_weight_spec){ name[0] == 'e' ? 0 : layer + 1, VUG_DTYPE_F32, { 2, { rows, D } } };
    return VUG_OK;
}

/* A model of three layers: rotation, attention, and the addition of data that the caller gives. */
typedef struct {
    vug_graph g;
    vug_flow f;
    vug_val x, table, data[LAYERS];
} model_sketch;

static void begin_model(model_sketch *s)
{
    static const float inv[D / HEADS / 2] = { 1, 0.5F };
    static const char *const names[LAYERS] = { "data 0", "data 1", "data 2" };
    s->g = (vug_graph){ .name = "sketch" };
    s->f = vug_flow_begin(&s->g, find_weight, NULL);
    s->x = flow_embed(&s->f, flow_weight(&s->f, "embedding"), flow_input(&s->f, VUG_INPUT_TOKENS),
                      1);
    s->table = flow_rope_table(&s->f, flow_input(&s->f, VUG_INPUT_POSITIONS), "rope",
                               (vug_attr_table){ .dims = D / HEADS, .inv = inv, .factor = 1 });
    for (int i = 0; i < LAYERS; i++)
        s->data[i] = flow_data(&s->f, names[i], (vug_shape){ 2, { VUG_DIM_T, D } });
}

static void add_layer(model_sketch *s, int i)
{
    s->f.layer = i;
    const vug_val h = flow_heads(&s->f, flow_linear(&s->f, s->x, "matrix"), HEADS);
    const vug_val q = flow_rope(&s->f, h, s->table);
    const vug_attr_attn attn = { .scale = 1 };
    s->x = flow_merge(&s->f, flow_attention(&s->f, q, h, h, attn));
    s->x = flow_add(&s->f, s->x, s->data[i]);
    s->f.layer = -1;
}

static vug_graph finish_model(model_sketch *s)
{
    const vug_val x = flow_gather(&s->f, s->x, flow_input(&s->f, VUG_INPUT_ROWS));
    vug_err err = { 0 };
    flow_output(&s->f, "logits", flow_linear(&s->f, x, "embedding"));
    help_ok(vug_flow_finish(&s->f, &err), &err);
    help_ok(vug_graph_verify(&s->g, &err), &err);
    return s->g;
}

static vug_cut cut_graph(const vug_graph *g, int layer)
{
    vug_cut cut;
    vug_err err = { 0 };
    help_ok(vug_cut_layers(g, layer, &cut, &err), &err);
    return cut;
}

static int count_ops(const vug_graph *g, vug_op op)
{
    int n = 0;
    for (uint32_t i = 1; i < g->n; i++)
        n += g->node[i].op == op;
    return n;
}

static void test_layers_are_in_their_part(void **state)
{
    (void)state;
    model_sketch s;
    begin_model(&s);
    for (int i = 0; i < LAYERS; i++) {
        add_layer(&s, i);
        if (i == 0)
            flow_output(&s.f, "early", s.x);
    }
    vug_graph g = finish_model(&s);
    for (int layer = 0; layer <= LAYERS; layer++) {
        vug_cut cut = cut_graph(&g, layer);
        const vug_cut_part *first = &cut.part[0], *second = &cut.part[1];
        assert_int_equal(count_ops(&first->graph, VUG_OP_ATTENTION), layer);
        assert_int_equal(count_ops(&second->graph, VUG_OP_ATTENTION), LAYERS - layer);
        assert_int_equal(count_ops(&first->graph, VUG_OP_EMBED), 1);
        assert_int_equal(count_ops(&second->graph, VUG_OP_EMBED), 0);
        /* Tables are in each part that rotates, and nowhere else. */
        assert_int_equal(count_ops(&first->graph, VUG_OP_ROPE_TABLE), layer > 0);
        assert_int_equal(count_ops(&second->graph, VUG_OP_ROPE_TABLE), layer < LAYERS);
        assert_string_equal(first->graph.name, "sketch");
        vug_cut_release(&cut);
    }
    vug_graph_release(&g);
}

static void test_one_hidden_state_crosses(void **state)
{
    (void)state;
    model_sketch s;
    begin_model(&s);
    for (int i = 0; i < LAYERS; i++) {
        add_layer(&s, i);
        if (i == 0)
            flow_output(&s.f, "early", s.x);
    }
    vug_graph g = finish_model(&s);
    vug_cut cut = cut_graph(&g, 1);
    /* The first part's data is that of layer 0; the second part's the hidden state and the others. */
    assert_int_equal(cut.part[0].n_data, 1);
    assert_int_equal(cut.part[0].data[0].index, 0);
    assert_false(cut.part[0].data[0].crosses);
    assert_int_equal(cut.part[1].n_data, 3);
    assert_int_equal(vug_graph_data_count(&cut.part[1].graph), 3);
    int n_crossing = 0;
    for (int i = 0; i < 3; i++) {
        const vug_cut_data *from = &cut.part[1].data[i];
        n_crossing += from->crosses;
        if (from->crosses)
            assert_string_equal(cut.part[0].graph.output[from->index].name, "crossing");
        else
            assert_int_equal(from->index, i + 1);
    }
    assert_int_equal(n_crossing, 1);
    /* Outputs keep their order. */
    assert_int_equal(cut.output[0].part, 0);
    assert_string_equal(cut.part[0].graph.output[cut.output[0].index].name, "early");
    assert_int_equal(cut.output[1].part, 1);
    assert_string_equal(cut.part[1].graph.output[cut.output[1].index].name, "logits");
    vug_cut_release(&cut);
    vug_graph_release(&g);
}

/* No layer is left for the second part, and the graph ends with the last one. */
static void test_a_part_may_be_empty(void **state)
{
    (void)state;
    model_sketch s;
    begin_model(&s);
    s.x = flow_scale(&s.f, s.data[0], 2);
    add_layer(&s, 0);
    flow_output(&s.f, "x", s.x);
    vug_err err = { 0 };
    help_ok(vug_flow_finish(&s.f, &err), &err);
    vug_cut cut = cut_graph(&s.g, 1);
    assert_int_equal(cut.part[0].graph.n_outputs, 1);
    assert_int_equal(cut.part[1].graph.n_outputs, 0);
    assert_int_equal(cut.part[1].n_data, 0);
    vug_cut_release(&cut);
    vug_graph_release(&s.g);
}

static void test_shared_caches_stay_on_their_side(void **state)
{
    (void)state;
    model_sketch s;
    begin_model(&s);
    add_layer(&s, 0);
    add_layer(&s, 1);
    s.f.layer = 2;
    const vug_val q = flow_heads(&s.f, flow_linear(&s.f, s.x, "matrix"), HEADS);
    s.x = flow_merge(&s.f,
                     flow_shared_kv_attention(&s.f, q, (vug_attr_attn){ .layer = 1, .scale = 1 }));
    s.f.layer = -1;
    vug_graph g = finish_model(&s);
    vug_cut cut = cut_graph(&g, 1);
    vug_cut_release(&cut);
    vug_err err = { 0 };
    help_refused(
            vug_cut_layers(&g, 2, &cut, &err), &err, VUG_ARGUMENT, NULL,
            "layer 2 reads the keys and values of layer 1, so both must be on the same device");
    vug_cut_release(&cut);
    vug_graph_release(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_are_in_their_part),
        cmocka_unit_test(test_one_hidden_state_crosses),
        cmocka_unit_test(test_a_part_may_be_empty),
        cmocka_unit_test(test_shared_caches_stay_on_their_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
