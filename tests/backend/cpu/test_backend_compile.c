/* Compiling a small model on the CPU: the sizes that are reported, and rejected weights. */
#include "test.h"

#include "backend_help.h"

static void test_reported_sizes(void **state)
{
    (void)state;
    help_graph m = help_small_model(true);
    backend_setup s = help_backend_setup(&m, NULL, 1);
    const vug_program_sizes sizes = s.b->sizes(s.program);
    /* 100 tokens in blocks of 64; windows of 20 with steps of 80 need 99 slots. */
    uint64_t bytes = 0;
    for (int i = 0; i < LAYERS; i++) {
        assert_int_equal(sizes.cache[i].window, i == 1 ? 0 : 20);
        assert_int_equal(sizes.cache[i].slots, 128);
        assert_int_equal(sizes.cache[i].bytes, 128 * KV * (E + 16) * 4);
        bytes += sizes.cache[i].bytes;
    }
    assert_int_equal(sizes.state_bytes, bytes);
    assert_true(sizes.workspace_bytes > m.plan.bytes);
    for (int i = 0; i < LAYERS + 2; i++)
        assert_int_equal(sizes.cache[i].source, i < LAYERS ? i : 0);
    for (int i = LAYERS; i < LAYERS + 2; i++) {
        assert_int_equal(sizes.cache[i].window, 20);
        assert_int_equal(sizes.cache[i].slots, 128);
        assert_int_equal(sizes.cache[i].bytes, 0);
    }
    /* Per layer four norms of D and two of E; per shared attention a norm of D and a scale; the
     * last norm and one bias. */
    assert_int_equal(sizes.copied_bytes, (LAYERS * (4 * D + 2 * E) + 3 * D + 2 + HEADS * E) * 4);
    help_backend_teardown(&s);
    help_graph_release(&m);
}

/* Compiling with this weight in `slot` must fail. */
static void check_rejected(const vug_backend *b, vug_device *device, help_graph *m, int slot,
                           vug_weight weight, const char *why)
{
    const vug_limits limits = { CONTEXT, BATCH, BATCH };
    const vug_weight good = m->weight[slot];
    vug_program *program;
    vug_err err;
    m->weight[slot] = weight;
    assert_int_equal(b->compile(device, &m->graph, &m->plan, m->weight, &limits, &program, &err),
                     VUG_UNSUPPORTED);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not hold '%s'", err.msg, why);
    m->weight[slot] = good;
}

static void test_bad_weights_are_rejected(void **state)
{
    (void)state;
    help_graph m = help_small_model(true);
    const vug_backend *b = vug_backend_at(0);
    vug_device *device;
    vug_program *program;
    vug_err err;
    assert_int_equal(b->open(&(vug_device_options){ NULL, 1 }, &device, &err), VUG_OK);
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
    assert_int_equal(b->compile(device, &m.graph, &m.plan, m.weight, &(vug_limits){ 0, 1, 1 },
                                &program, &err),
                     VUG_ARGUMENT);
    b->close(device);
    assert_int_equal(b->open(&(vug_device_options){ "abacus", 1 }, &device, &err), VUG_ARGUMENT);
    assert_non_null(strstr(err.msg, "'abacus'"));
    assert_non_null(strstr(err.msg, "ref"));
    help_graph_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reported_sizes),
        cmocka_unit_test(test_bad_weights_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
