/* The cost of a model's operations: what products read and compute agrees with the description of
 * the model, and costs are only added up while they are asked for. */
#include "test.h"

#include "engine_help.h"
#include "vug/stats.h"

static const int32_t ids[] = { 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };

typedef struct {
    uint64_t runs;
    double seconds, weight_bytes, flop;
} op_sums;

static op_sums sum_of_ops(const vug_model *m)
{
    op_sums s = { 0 };
    for (size_t i = 0; i < vug_op_count(); i++) {
        const vug_op_timing op = vug_model_op_timing(m, i);
        assert_true(op.seconds >= 0 && (op.runs > 0 || op.seconds == 0));
        s.runs += op.runs;
        s.seconds += op.seconds;
        s.weight_bytes += op.weight_bytes;
        s.flop += op.flop;
    }
    return s;
}

static vug_op_timing timing_of(const vug_model *m, const char *name)
{
    for (size_t i = 0; i < vug_op_count(); i++) {
        if (strcmp(vug_model_op_timing(m, i).name, name) == 0)
            return vug_model_op_timing(m, i);
    }
    fail_msg("no operation %s", name);
    return (vug_op_timing){ 0 };
}

/* Every product of the model runs once in a step, for each of its tokens. */
static void check_products(const char *folder, int cpu_experts, const char *product)
{
    const vug_model_options options = { .context = 64, .threads = 1, .cpu_experts = cpu_experts };
    vug_model *m = help_model(folder, options);
    const vug_model_info info = vug_model_describe(m);
    vug_session *s = help_session(m);
    help_forward(s, ids, 4);
    assert_int_equal(sum_of_ops(m).runs, 0);

    vug_model_time_ops(m, true);
    help_forward(s, ids, 9);
    const op_sums five = sum_of_ops(m);
    assert_true(five.seconds > 0 && timing_of(m, "attention").runs == (uint64_t)info.n_layers);
    assert_true(timing_of(m, product).flop > 0);
    assert_true(five.flop == 5.0 * (double)info.flop_per_token + (double)info.flop_per_logits);

    vug_model_time_ops(m, true);
    help_forward(s, ids, 10);
    const op_sums one = sum_of_ops(m);
    assert_true(one.runs == five.runs && one.weight_bytes > 0);
    assert_true(one.flop == (double)(info.flop_per_token + info.flop_per_logits));
    /* A token also reads vectors of weights, which are few, and no more than that. */
    assert_true(one.weight_bytes <= (double)info.bytes_per_token);
    assert_true(one.weight_bytes >= 0.97 * (double)info.bytes_per_token);

    vug_model_time_ops(m, false);
    help_forward(s, ids, 3);
    assert_true(sum_of_ops(m).runs == one.runs);
    vug_session_destroy(s);
    vug_model_close(m);
}

static void test_products_of_a_dense_model(void **state)
{
    (void)state;
    check_products(GOLDEN("gemma3-text"), 0, "linear");
}

static void test_products_of_experts(void **state)
{
    (void)state;
    check_products(GOLDEN("qwen3-moe"), 0, "experts");
    check_products(GOLDEN("qwen3-moe"), 3, "host_experts");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_a_dense_model),
        cmocka_unit_test(test_products_of_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
