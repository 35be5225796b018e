/* Compiling a small model on the CPU: the sizes that are reported, and rejected weights. */
#include "test.h"

#include "backend/cpu/cpu.h"
#include "backend_help.h"

static void test_reported_sizes(void **state)
{
    (void)state;
    help_graph m = help_small_model(true);
    backend_setup s = help_backend_setup(&m, NULL, 1);
    const vug_program_sizes sizes = s.b->sizes(s.program);
    assert_true(sizes.workspace_bytes > m.plan.bytes);
    const vug_kv_layout *layout = s.b->kv_layout(s.program);
    assert_int_equal(layout->n_groups, 2);
    for (int g = 0; g < 2; g++) {
        assert_int_equal(layout->group[g].window, g == 1 ? 0 : 20);
        const int64_t layers = g == 1 ? 1 : LAYERS - 1;
        assert_int_equal(layout->group[g].n_layers, layers);
        assert_int_equal(s.b->kv_page_bytes(s.device, layout, g), layers * 64 * KV * (E + 16) * 4);
    }
    for (int i = 0; i < LAYERS + 2; i++) {
        assert_int_equal(layout->layer[i].group, i >= LAYERS ? -1 : i == 1);
        assert_int_equal(layout->layer[i].source, i < LAYERS ? i : 0);
    }
    /* Per layer four norms of D and two of E; per shared attention a norm of D and a scale; the
     * last norm and one bias. */
    assert_int_equal(s.b->weights_bytes(s.weights),
                     (LAYERS * (4 * D + 2 * E) + 3 * D + 2 + HEADS * E) * 4);
    help_backend_teardown(&s);
    help_graph_release(&m);
}

/* A second program over the same weights converts only what the first one did not. */
static void test_programs_share_weights(void **state)
{
    (void)state;
    help_graph m = help_small_model(true);
    backend_setup s = help_backend_setup(&m, NULL, 1);
    const uint64_t bytes = s.b->weights_bytes(s.weights);
    const vug_limits limits = { CONTEXT, 1, 1 };
    vug_program *second, *third;
    assert_int_equal(s.b->compile(s.weights, &m.graph, &m.plan, &limits, &second, NULL), VUG_OK);
    assert_int_equal(s.b->weights_bytes(s.weights), bytes);
    uint32_t norm = 1;
    while (m.graph.node[norm].op != VUG_OP_RMS_NORM)
        norm++;
    m.graph.node[norm].at.norm.bias += 1;
    assert_int_equal(s.b->compile(s.weights, &m.graph, &m.plan, &limits, &third, NULL), VUG_OK);
    assert_int_equal(s.b->weights_bytes(s.weights), bytes + D * sizeof(float));
    s.b->release(third);
    s.b->release(second);
    help_backend_teardown(&s);
    help_graph_release(&m);
}

/* Compiling with this weight in `slot` must fail. */
static void check_rejected(const vug_backend *b, vug_device *device, help_graph *m, int slot,
                           vug_weight weight, const char *why)
{
    const vug_limits limits = { CONTEXT, BATCH, BATCH };
    const vug_weight good = m->weight[slot];
    vug_device_weights *weights;
    vug_program *program;
    vug_err err;
    m->weight[slot] = weight;
    assert_int_equal(b->weights_create(device, m->weight, (size_t)m->n_weights, &weights, &err),
                     VUG_OK);
    assert_int_equal(b->compile(weights, &m->graph, &m->plan, &limits, &program, &err),
                     VUG_UNSUPPORTED);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not hold '%s'", err.msg, why);
    b->weights_destroy(weights);
    m->weight[slot] = good;
}

static void test_bad_weights_are_rejected(void **state)
{
    (void)state;
    help_graph m = help_small_model(true);
    const vug_backend *b = &vug_backend_cpu;
    vug_device *device;
    vug_device_weights *weights;
    vug_program *program;
    vug_err err;
    assert_int_equal(b->open(&(vug_device_options){ .threads = 1 }, &device, &err), VUG_OK);
    vug_weight w = m.weight[3];
    w.name = "layers.0.k";
    w.dtype = VUG_DTYPE_I8;
    check_rejected(b, device, &m, 3, w, "'layers.0.k' is I8");
    w.dtype = VUG_DTYPE_Q6_K;
    w.scales.scale = NULL;
    check_rejected(b, device, &m, 3, w,
                   "'layers.0.k' has rows of 64 elements, Q6_K needs a multiple of 256");
    w.dtype = VUG_DTYPE_MLX4; /* needs scales of whole blocks */
    check_rejected(b, device, &m, 3, w, "'layers.0.k' is MLX4");
    const vug_scales good = { w.data, w.data, VUG_DTYPE_BF16, 1, 32, 2 };
    vug_scales bad[4] = { good, good, good, good };
    bad[0].columns = 16;
    bad[1].rows = 2;
    bad[2].bias = NULL;
    bad[3].dtype = VUG_DTYPE_E8M0;
    for (int i = 0; i < 4; i++) {
        w.scales = bad[i];
        check_rejected(b, device, &m, 3, w, "'layers.0.k' is MLX4");
    }
    w.dtype = VUG_DTYPE_MLX_FP4;
    w.scales = good; /* with a bias */
    check_rejected(b, device, &m, 3, w, "'layers.0.k' is MLX_FP4");
    w = m.weight[3];
    w.rows++;
    check_rejected(b, device, &m, 3, w, "a weight of another shape");
    w = m.weight[3];
    w.data = NULL;
    check_rejected(b, device, &m, 3, w, "a weight of another shape");
    assert_int_equal(b->weights_create(device, m.weight, 3, &weights, &err), VUG_OK);
    assert_int_equal(
            b->compile(weights, &m.graph, &m.plan, &(vug_limits){ CONTEXT, 1, 1 }, &program, &err),
            VUG_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "no such weight"));
    assert_int_equal(
            b->compile(weights, &m.graph, &m.plan, &(vug_limits){ 0, 1, 1 }, &program, &err),
            VUG_ARGUMENT);
    b->weights_destroy(weights);
    b->close(device);
    assert_int_equal(b->open(&(vug_device_options){ .isa = "abacus", .threads = 1 }, &device, &err),
                     VUG_ARGUMENT);
    assert_non_null(strstr(err.msg, "'abacus'"));
    assert_non_null(strstr(err.msg, "ref"));
    help_graph_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reported_sizes),
        cmocka_unit_test(test_programs_share_weights),
        cmocka_unit_test(test_bad_weights_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
