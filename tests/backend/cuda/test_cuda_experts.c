/* Mixtures of experts on a machine with a GPU: a row alone has the bits of the row among others; and the result is
 * that of the kernels in F32. Choices are multiplied one by one, in groups of 4 (row_linear.cu), of 8
 * (tile_linear.cu) or of 64 (wgmma_linear.cu), by their number and the formats. */
#include "test.h"

#include "backend/cuda/cuda.h"
#include "engine_help.h"
#include "linear_help.h"

enum { EXPERTS = 16, CHOSEN = 4 };

typedef struct {
    vug_dtype gate, down;
    int64_t width, hidden;
} expert_case;

/* y [rows,width] of x [rows,width]. */
static void run_experts(const expert_case *c, vug_activations activations, const float *x,
                        int64_t rows, float *y)
{
    help_graph m = { .r = { 23 }, .layer = -1 };
    vug_err err = { 0 };
    const vug_val in = help_data(&m, (vug_shape){ 2, { rows, c->width } });
    const vug_val route =
            help_append(&m, (vug_node){ .op = VUG_OP_ROUTER,
                                        .in = { help_linear(&m, in, EXPERTS, c->width) },
                                        .at.router = { CHOSEN, true } });
    const vug_val gate = help_experts_weight(&m, c->gate, EXPERTS, c->hidden, c->width),
                  up = help_experts_weight(&m, c->gate, EXPERTS, c->hidden, c->width),
                  down = help_experts_weight(&m, c->down, EXPERTS, c->width, c->hidden);
    const vug_val out = help_append(&m, (vug_node){ .op = VUG_OP_EXPERTS,
                                                    .in = { in, route, gate, up, down },
                                                    .at.experts.activation = VUG_OP_SILU });
    help_ok(vug_graph_output(&m.graph, "y", out, &err), &err);
    help_plan(&m, 1);
    m.plan.activations = activations;
    help_run_graph(&vug_backend_cuda, &m, (size_t)m.n_weights, x, y, (size_t)(rows * c->width));
    help_graph_release(&m);
}

static void check_experts(const expert_case *c, int64_t rows)
{
    rng r = { 7 };
    const size_t n = (size_t)(rows * c->width);
    float *x = vug_alloc(n, sizeof(*x)), *whole = vug_alloc(n, sizeof(*whole)),
          *exact = vug_alloc(n, sizeof(*exact)), *alone = vug_alloc(n, sizeof(*alone));
    assert_true(x && whole && exact && alone);
    rng_fill(&r, x, n);
    static const vug_activations activations[] = { VUG_ACTIVATIONS_BF16, VUG_ACTIVATIONS_Q8 };
    for (size_t i = 0; i < 2; i++) {
        run_experts(c, activations[i], x, rows, whole);
        for (int64_t row = 0; row < rows; row += 1 + rows / 4) {
            run_experts(c, activations[i], x + row * c->width, 1, alone);
            check_bits(alone, whole + row * c->width, (size_t)c->width, "rows of experts");
        }
    }
    run_experts(c, VUG_ACTIVATIONS_F32, x, rows, exact);
    /* With 16 bits of x in each of three products, results differ by much less, and with a wrong expert by
     * much more. */
    help_check_near(whole, exact, (int64_t)n);
    vug_free(alone);
    vug_free(exact);
    vug_free(whole);
    vug_free(x);
}

static void test_rows_of_experts_do_not_depend_on_others(void **state)
{
    (void)state;
    if (!vug_backend_cuda.describe(NULL).available)
        skip();
    static const vug_dtype formats[] = { VUG_DTYPE_BF16, VUG_DTYPE_Q4_0, VUG_DTYPE_Q8_0,
                                         VUG_DTYPE_Q4_K, VUG_DTYPE_Q6_K, VUG_DTYPE_MLX4,
                                         VUG_DTYPE_MLX8, VUG_DTYPE_MXFP4 };
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        check_experts(&(expert_case){ formats[i], formats[i], 512, 256 }, 2);
        check_experts(&(expert_case){ formats[i], formats[i], 2048, 768 }, 9);
    }
    check_experts(&(expert_case){ VUG_DTYPE_Q4_K, VUG_DTYPE_Q6_K, 1536, 256 }, 40);
    /* So many rows that wgmma_linear.cu multiplies them. */
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        check_experts(&(expert_case){ formats[i], formats[i], 512, 256 }, 70);
    check_experts(&(expert_case){ VUG_DTYPE_Q4_K, VUG_DTYPE_Q6_K, 1536, 512 }, 700);
    check_experts(&(expert_case){ VUG_DTYPE_BF16, VUG_DTYPE_BF16, 150, 192 }, 300);
    /* Tiles, units and quads that are not whole, and slices without a unit. */
    check_experts(&(expert_case){ VUG_DTYPE_BF16, VUG_DTYPE_BF16, 150, 38 }, 5);
    check_experts(&(expert_case){ VUG_DTYPE_Q8_0, VUG_DTYPE_Q8_0, 1056, 96 }, 5);
    check_experts(&(expert_case){ VUG_DTYPE_Q4_0, VUG_DTYPE_Q4_0, 96, 32 }, 6);
    /* Rows that leave no memory for rings of groups. */
    check_experts(&(expert_case){ VUG_DTYPE_MLX8, VUG_DTYPE_Q4_0, 6144, 64 }, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_experts_do_not_depend_on_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
