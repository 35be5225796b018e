/*
 * Compiling graphs for the CPU: which graphs and weights are rejected although their shapes
 * are valid, and the memory of a program.
 */
#include "test.h"

#include "backend/cpu/cpu.h"
#include "backend/cpu/ref.h"
#include "core/os.h"
#include "graph_help.h"

enum { D = 40, V = 90, FFN = 72, CONTEXT = 100, BATCH = 80 };

/* An embedding of the tokens, and the output rows. */
typedef struct {
    vug_val x, rows;
} graph_start;

static graph_start begin_graph(help_graph *m)
{
    const vug_val tokens = help_input(m, VUG_INPUT_TOKENS), table = help_weight(m, V, D);
    const vug_val x = help_append(
            m, (vug_node){ .op = VUG_OP_EMBED, .in = { table, tokens }, .at.scale = { 1 } });
    return (graph_start){ x, help_input(m, VUG_INPUT_ROWS) };
}

/* `mask` 0: none. */
static vug_val attention(help_graph *m, vug_val q, vug_val mask, int64_t window)
{
    return help_append(
            m, (vug_node){ .op = VUG_OP_ATTENTION,
                           .in = { q, q, q, mask },
                           .at.attn = { .window = window, .scale = 1, .mask = mask.id > 0 } });
}

static vug_val shared_attention(help_graph *m, vug_val q, vug_val mask)
{
    return help_append(
            m, (vug_node){ .op = VUG_OP_ATTENTION,
                           .in = { q, mask },
                           .at.attn = { .scale = 1, .shared = true, .mask = mask.id > 0 } });
}

typedef struct {
    const vug_backend *b;
    vug_device *device;
    vug_device_weights *weights;
    vug_program *program; /* NULL: rejected */
    vug_status st;
    vug_err err;
} compiled_graph;

static compiled_graph compile(const help_graph *m)
{
    compiled_graph p = { .b = &vug_backend_cpu };
    const vug_limits limits = { CONTEXT, BATCH, BATCH };
    const vug_device_options one = { .threads = 1 };
    assert_int_equal(p.b->open(&one, &p.device, NULL), VUG_OK);
    assert_int_equal(
            p.b->weights_create(p.device, m->weight, (size_t)m->n_weights, &p.weights, NULL),
            VUG_OK);
    p.st = p.b->compile(p.weights, &m->graph, &m->plan, &limits, &p.program, &p.err);
    return p;
}

static void compiled_release(compiled_graph *p)
{
    p->b->release(p->program);
    p->b->weights_destroy(p->weights);
    p->b->close(p->device);
}

/* Compiling must fail with this reason. Releases the graph. */
static void check_rejected(help_graph *m, const char *why)
{
    help_plan(m, BATCH);
    compiled_graph p = compile(m);
    assert_int_equal(p.st, VUG_UNSUPPORTED);
    if (!strstr(p.err.msg, why))
        fail_msg("'%s' does not say '%s'", p.err.msg, why);
    compiled_release(&p);
    help_graph_release(m);
}

/* Graphs with valid shapes whose steps would access rows that do not exist. */
static void test_wrong_rows_are_rejected(void **state)
{
    (void)state;
    const vug_shape every = { 2, { VUG_DIM_T, VUG_DIM_S } }, some = { 2, { VUG_DIM_R, VUG_DIM_S } };
    help_graph m = { .r = { 31 } };
    graph_start s = begin_graph(&m);
    (void)help_op2(&m, VUG_OP_GATHER, help_op2(&m, VUG_OP_GATHER, s.x, s.rows), s.rows);
    check_rejected(&m, "does not have a row for each token");
    m = (help_graph){ .r = { 31 } };
    s = begin_graph(&m);
    (void)help_op2(&m, VUG_OP_GATHER, help_data(&m, (vug_shape){ 2, { 3, D } }), s.rows);
    check_rejected(&m, "does not have a row for each token");
    m = (help_graph){ .r = { 31 } };
    s = begin_graph(&m);
    (void)attention(&m, help_heads(&m, help_op2(&m, VUG_OP_GATHER, s.x, s.rows), 2), (vug_val){ 0 },
                    0);
    check_rejected(&m, "a query for each token");
    m = (help_graph){ .r = { 31 } };
    s = begin_graph(&m);
    (void)attention(&m, help_heads(&m, s.x, 2), (vug_val){ 0 }, 0);
    (void)shared_attention(&m, help_heads(&m, help_data(&m, (vug_shape){ 2, { 3, D } }), 2),
                           (vug_val){ 0 });
    check_rejected(&m, "or for each output row");
    m = (help_graph){ .r = { 31 } };
    s = begin_graph(&m);
    (void)attention(&m, help_heads(&m, s.x, 2), (vug_val){ 0 }, 0);
    (void)shared_attention(&m, help_heads(&m, help_op2(&m, VUG_OP_GATHER, s.x, s.rows), 2),
                           help_data(&m, some));
    check_rejected(&m, "a query for each token");
    m = (help_graph){ .r = { 31 } };
    s = begin_graph(&m);
    (void)attention(&m, help_heads(&m, s.x, 2), help_data(&m, every), 5);
    check_rejected(&m, "both a window and a mask");
}

/* A product with more rows than a step has tokens gets enough memory. */
static void test_more_rows_than_tokens(void **state)
{
    (void)state;
    enum { ROWS = 3 * BATCH };
    help_graph m = { .r = { 31 }, .layer = -1 };
    const vug_val x = help_data(&m, (vug_shape){ 2, { ROWS, D } });
    const vug_val y = help_linear(&m, x, FFN, D);
    assert_int_equal(vug_graph_output(&m.graph, "y", y, NULL), VUG_OK);
    help_plan(&m, BATCH);
    compiled_graph p = compile(&m);
    assert_int_equal(p.st, VUG_OK);
    assert_true(p.b->sizes(p.program).workspace_bytes > m.plan.bytes + (uint64_t)ROWS * D * 4);
    float *in = vug_alloc((size_t)ROWS * D, 4), *want = vug_alloc((size_t)ROWS * FFN, 4);
    assert_true(in && want);
    rng_fill(&m.r, in, (size_t)ROWS * D);
    vug_workspace *workspace;
    assert_int_equal(p.b->workspace_create(p.program, &workspace, NULL), VUG_OK);
    const vug_span span = { NULL, 0, 1 };
    const vug_step_in step = {
        .span = &span, .n_spans = 1, .token = (int32_t[]){ 0 }, .data = (const float *[]){ in }
    };
    const float *output;
    vug_err err = { 0 };
    if (p.b->run(p.program, workspace, &step, &output, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    const vug_matrix w = matrix_over(m.weight[0].dtype, m.weight[0].data, D);
    vug_ref_linear(in, ROWS, &w, FFN, want);
    check_bits(output, want, (size_t)ROWS * FFN, "more rows than tokens");
    vug_free(want);
    vug_free(in);
    p.b->workspace_destroy(workspace);
    compiled_release(&p);
    help_graph_release(&m);
}

/* So does a mixture: for rows of x in lane order, gate and up, and the experts' outputs. */
static void test_experts_of_more_rows_than_tokens(void **state)
{
    (void)state;
    enum { ROWS = 3 * BATCH, N = 4, CHOSEN = 2 };
    help_graph m = { .r = { 31 }, .layer = -1 };
    const vug_val x = help_data(&m, (vug_shape){ 2, { ROWS, D } });
    const vug_val route = help_append(&m, (vug_node){ .op = VUG_OP_ROUTER,
                                                      .in = { help_linear(&m, x, N, D) },
                                                      .at.router = { CHOSEN, true } });
    const vug_val gate = help_experts_weight(&m, VUG_DTYPE_F32, N, FFN, D),
                  up = help_experts_weight(&m, VUG_DTYPE_F32, N, FFN, D);
    const vug_val down = help_experts_weight(&m, VUG_DTYPE_F32, N, D, FFN);
    (void)help_append(&m, (vug_node){ .op = VUG_OP_EXPERTS,
                                      .in = { x, route, gate, up, down },
                                      .at.experts = { VUG_OP_SILU } });
    help_plan(&m, BATCH);
    compiled_graph p = compile(&m);
    assert_int_equal(p.st, VUG_OK);
    assert_true(p.b->sizes(p.program).workspace_bytes >
                m.plan.bytes + (uint64_t)ROWS * CHOSEN * (3 * FFN + D) * 4);
    compiled_release(&p);
    help_graph_release(&m);
}

/* Every operation has a definition in the documentation. */
static void test_operations_are_documented(void **state)
{
    (void)state;
    vug_text doc;
    vug_err err = { 0 };
    if (vug_read_file("docs/arithmetic.md", 1 << 20, &doc, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    for (int op = 0; op < VUG_OP_COUNT; op++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "`%s`", vug_op_name((vug_op)op));
        if (!strstr(doc.ptr, name))
            fail_msg("docs/arithmetic.md does not say what %s computes", name);
    }
    vug_text_release(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_rows_are_rejected),
        cmocka_unit_test(test_more_rows_than_tokens),
        cmocka_unit_test(test_experts_of_more_rows_than_tokens),
        cmocka_unit_test(test_operations_are_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
