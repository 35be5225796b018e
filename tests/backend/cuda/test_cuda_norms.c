/* Norms that products compute with a single row, on a machine with a GPU: the product has the bits of the
 * row among others, whose norms a kernel of its own computes. */
#include "test.h"

#include "backend/cuda/cuda.h"
#include "engine_help.h"
#include "linear_help.h"

enum { OUT = 40 };

typedef struct {
    vug_dtype dtype; /* of the matrices */
    int64_t columns;
    bool adds;   /* the row that is normed is a sum with another normed row */
    bool gated;  /* the product of two matrices ends with an activation */
    bool shared; /* a product with a matrix of another format reads the norm, too, and is added */
} norm_case;

static vug_val norm(help_graph *m, vug_val x, int64_t columns)
{
    return help_append(m, (vug_node){ .op = VUG_OP_RMS_NORM,
                                      .in = { x, help_weight(m, 0, columns) },
                                      .at.norm = { 1e-6f, 1 } });
}

static vug_val sum_with_normed(help_graph *m, vug_val x, int64_t columns)
{
    const vug_val other = help_op2(m, VUG_OP_MUL, x, x);
    return help_append(m, (vug_node){ .op = VUG_OP_ADD_NORM,
                                      .in = { x, other, help_weight(m, 0, columns) },
                                      .at.norm = { 1e-6f, 1 } });
}

/* y [rows,OUT] of x [rows,columns] */
static void run_normed(const norm_case *c, const float *x, int64_t rows, float *y)
{
    help_graph m = { .r = { 19 }, .layer = -1 };
    vug_err err = { 0 };
    help_add_weight(&m, c->dtype, OUT, c->columns);
    help_add_weight(&m, c->dtype, OUT, c->columns);
    help_add_weight(&m, c->dtype == VUG_DTYPE_BF16 ? VUG_DTYPE_Q8_0 : VUG_DTYPE_BF16, OUT,
                    c->columns);
    vug_val in = help_data(&m, (vug_shape){ 2, { rows, c->columns } });
    if (c->adds)
        in = sum_with_normed(&m, in, c->columns);
    in = norm(&m, in, c->columns);
    vug_val out = help_product(&m, in, 0);
    if (c->gated)
        out = help_op2(&m, VUG_OP_GEGLU, out, help_product(&m, in, 1));
    if (c->shared)
        out = help_op2(&m, VUG_OP_ADD, out, help_product(&m, in, 2));
    help_ok(vug_graph_output(&m.graph, "y", out, &err), &err);
    help_plan(&m, 1);
    m.plan.activations = VUG_ACTIVATIONS_Q8;
    help_run_graph(&vug_backend_cuda, &m, (size_t)m.n_weights, x, y, (size_t)(rows * OUT));
    help_graph_release(&m);
}

static void check_rows(const norm_case *c, int64_t rows)
{
    rng r = { 5 };
    float *x = vug_alloc((size_t)(rows * c->columns), sizeof(*x));
    float *whole = vug_alloc((size_t)(rows * OUT), sizeof(*whole));
    assert_true(x && whole);
    rng_fill(&r, x, (size_t)(rows * c->columns));
    run_normed(c, x, rows, whole);
    for (int64_t row = 0; row < rows; row += rows - 1) {
        float alone[OUT];
        run_normed(c, x + row * c->columns, 1, alone);
        check_bits(alone, whole + row * OUT, OUT, "normed rows");
    }
    vug_free(whole);
    vug_free(x);
}

static void test_normed_rows_do_not_depend_on_others(void **state)
{
    (void)state;
    if (!vug_backend_cuda.describe(NULL).available)
        skip();
    static const vug_dtype formats[] = { VUG_DTYPE_BF16, VUG_DTYPE_Q4_0, VUG_DTYPE_Q4_K,
                                         VUG_DTYPE_Q6_K, VUG_DTYPE_Q8_0, VUG_DTYPE_MLX8 };
    /* With 8 bits, row_linear.cu keeps norms of 2560 columns in registers. The last rows leave too little
     * memory for rings where others are added to them. */
    static const int64_t columns[] = { 256, 2560, 4352, 5376, 9984 };
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        for (size_t j = 0; j < sizeof(columns) / sizeof(columns[0]); j++) {
            for (int kind = 0; kind < 8; kind++)
                check_rows(&(norm_case){ formats[i], columns[j], kind & 1, kind & 2, kind & 4 }, 5);
        }
    }
    /* Half a unit of 64 columns, and rows without whole quads. */
    check_rows(&(norm_case){ VUG_DTYPE_Q8_0, 2528, true, true, true }, 12);
    check_rows(&(norm_case){ VUG_DTYPE_BF16, 2562, true, true, false }, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normed_rows_do_not_depend_on_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
