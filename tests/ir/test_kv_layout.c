/* The layout of a key/value cache: which layers form a group, where each layer's cache lies, and
 * the graphs that have no layout. */
#include "test.h"

#include "ir/kv_layout.h"

static vug_val append(vug_graph *g, vug_node node)
{
    vug_val out = { 0 };
    vug_err err = { 0 };
    if (vug_graph_append(g, &node, &out, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return out;
}

static vug_val input(vug_graph *g, int64_t heads, int64_t width)
{
    return append(g, (vug_node){ .op = VUG_OP_INPUT,
                                 .layer = -1,
                                 .shape = { 3, { VUG_DIM_T, heads, width } } });
}

/* An attention of `layer` that fills its own cache: K = heads, E = width. */
static uint32_t fill_cache(vug_graph *g, int layer, int64_t window, int64_t heads, int64_t width)
{
    const vug_val q = input(g, 2 * heads, width), k = input(g, heads, width);
    return append(g, (vug_node){ .op = VUG_OP_ATTENTION,
                                 .layer = layer,
                                 .in = { q, k, k },
                                 .at.attn = { .layer = layer, .window = window, .scale = 1 } })
            .id;
}

/* An attention of `layer` over the cache of `source`. */
static void share_cache(vug_graph *g, int layer, int source, int64_t window, int64_t heads,
                        int64_t width)
{
    const vug_val q = input(g, heads, width);
    append(g,
           (vug_node){
                   .op = VUG_OP_ATTENTION,
                   .layer = layer,
                   .in = { q },
                   .at.attn = { .layer = source, .window = window, .scale = 1, .shared = true } });
}

static vug_kv_layout layout_of(const vug_graph *g, vug_kv_format format)
{
    vug_kv_layout layout;
    vug_err err = { 0 };
    if (vug_kv_layout_init(&layout, g, format, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return layout;
}

static void assert_group(const vug_kv_layout *layout, int g, vug_kv_group expected)
{
    const vug_kv_group *group = &layout->group[g];
    assert_int_equal(group->window, expected.window);
    assert_int_equal(group->heads, expected.heads);
    assert_int_equal(group->width, expected.width);
    assert_int_equal(group->n_layers, expected.n_layers);
}

static void assert_place(const vug_kv_layout *layout, int layer, int group, int index)
{
    assert_int_equal(layout->layer[layer].group, group);
    if (group >= 0)
        assert_int_equal(layout->layer[layer].index, index);
}

static void assert_refused(const vug_graph *g, vug_status st, const char *message)
{
    vug_kv_layout layout;
    vug_err err = { 0 };
    assert_int_equal(vug_kv_layout_init(&layout, g, VUG_KV_F32, &err), st);
    assert_string_equal(err.msg, message);
    assert_null(layout.layer); /* nothing to release */
}

/* ---- groups --------------------------------------------------------------------- */

static void test_layers_with_equal_caches_form_a_group(void **state)
{
    (void)state;
    vug_graph g = { 0 };
    fill_cache(&g, 0, 512, 4, 256);
    fill_cache(&g, 1, 512, 4, 256);
    fill_cache(&g, 2, 0, 4, 256);
    fill_cache(&g, 3, 512, 4, 256);
    fill_cache(&g, 4, 0, 4, 256);
    vug_kv_layout layout = layout_of(&g, VUG_KV_Q8);
    assert_int_equal(layout.format, VUG_KV_Q8);
    assert_int_equal(layout.n_layers, 5);
    assert_int_equal(layout.n_groups, 2);
    assert_group(&layout, 0,
                 (vug_kv_group){ .window = 512, .heads = 4, .width = 256, .n_layers = 3 });
    assert_group(&layout, 1,
                 (vug_kv_group){ .window = 0, .heads = 4, .width = 256, .n_layers = 2 });
    assert_place(&layout, 0, 0, 0);
    assert_place(&layout, 1, 0, 1);
    assert_place(&layout, 2, 1, 0);
    assert_place(&layout, 3, 0, 2);
    assert_place(&layout, 4, 1, 1);
    vug_kv_layout_release(&layout);
    vug_graph_release(&g);
}

static void test_window_heads_and_width_each_separate_groups(void **state)
{
    (void)state;
    vug_graph g = { 0 };
    fill_cache(&g, 0, 8, 4, 32);
    fill_cache(&g, 1, 9, 4, 32);
    fill_cache(&g, 2, 8, 2, 32);
    fill_cache(&g, 3, 8, 4, 64);
    vug_kv_layout layout = layout_of(&g, VUG_KV_F32);
    assert_int_equal(layout.n_groups, 4);
    for (int i = 0; i < 4; i++)
        assert_place(&layout, i, i, 0);
    vug_kv_layout_release(&layout);
    vug_graph_release(&g);
}

/* Layer 1 has no attention, layers 2 and 4 read the cache of an earlier layer. */
static void test_layers_without_a_cache_of_their_own_have_no_place(void **state)
{
    (void)state;
    vug_graph g = { 0 };
    fill_cache(&g, 0, 0, 1, 8);
    share_cache(&g, 2, 0, 0, 1, 8);
    fill_cache(&g, 3, 0, 1, 8);
    share_cache(&g, 4, 3, 0, 1, 8);
    vug_kv_layout layout = layout_of(&g, VUG_KV_F32);
    assert_int_equal(layout.n_layers, 5);
    assert_int_equal(layout.n_groups, 1);
    assert_int_equal(layout.group[0].n_layers, 2);
    assert_place(&layout, 0, 0, 0);
    assert_place(&layout, 1, -1, 0);
    assert_place(&layout, 2, -1, 0);
    assert_place(&layout, 3, 0, 1);
    assert_place(&layout, 4, -1, 0);
    vug_kv_layout_release(&layout);
    vug_graph_release(&g);
}

static void test_a_graph_without_attention_has_no_groups(void **state)
{
    (void)state;
    const vug_graph g = { 0 };
    vug_kv_layout layout = layout_of(&g, VUG_KV_F32);
    assert_int_equal(layout.n_groups, 0);
    assert_int_equal(layout.n_layers, 0);
    vug_kv_layout_release(&layout);
    vug_kv_layout_release(&(vug_kv_layout){ 0 });
}

/* ---- refusals ------------------------------------------------------------------- */

static void test_two_attentions_cannot_fill_one_cache(void **state)
{
    (void)state;
    vug_graph g = { 0 };
    fill_cache(&g, 0, 0, 1, 8);
    const uint32_t second = fill_cache(&g, 1, 0, 1, 8);
    g.node[second].at.attn.layer = 0; /* appending it would fail */
    assert_refused(&g, VUG_ARGUMENT, "graph: two attentions fill the cache of layer 0");
    g.node[second].at.attn.layer = 2;
    assert_refused(&g, VUG_ARGUMENT,
                   "graph: an attention fills the cache of layer 2, but the graph has 2 layers");
    g.node[second].at.attn.layer = -1;
    assert_refused(&g, VUG_ARGUMENT,
                   "graph: an attention fills the cache of layer -1, but the graph has 2 layers");
    vug_graph_release(&g);
}

static void test_there_are_at_most_16_groups(void **state)
{
    (void)state;
    assert_int_equal(VUG_KV_MAX_GROUPS, 16);
    vug_graph g = { 0 };
    for (int i = 0; i < VUG_KV_MAX_GROUPS; i++)
        fill_cache(&g, i, i, 1, 8);
    vug_kv_layout layout = layout_of(&g, VUG_KV_F32);
    assert_int_equal(layout.n_groups, VUG_KV_MAX_GROUPS);
    vug_kv_layout_release(&layout);
    fill_cache(&g, VUG_KV_MAX_GROUPS, VUG_KV_MAX_GROUPS, 1, 8);
    assert_refused(&g, VUG_LIMIT,
                   "graph: the layers have more than 16 different kinds of key/value caches");
    vug_graph_release(&g);
}

static void test_pages_of_positions(void **state)
{
    (void)state;
    assert_int_equal(vug_kv_pages_of(0), 0);
    assert_int_equal(vug_kv_pages_of(1), 1);
    assert_int_equal(vug_kv_pages_of(VUG_KV_PAGE), 1);
    assert_int_equal(vug_kv_pages_of(VUG_KV_PAGE + 1), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_with_equal_caches_form_a_group),
        cmocka_unit_test(test_window_heads_and_width_each_separate_groups),
        cmocka_unit_test(test_layers_without_a_cache_of_their_own_have_no_place),
        cmocka_unit_test(test_a_graph_without_attention_has_no_groups),
        cmocka_unit_test(test_two_attentions_cannot_fill_one_cache),
        cmocka_unit_test(test_there_are_at_most_16_groups),
        cmocka_unit_test(test_pages_of_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
