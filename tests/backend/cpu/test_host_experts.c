/*
 * Experts that the CPU computes for a program on another device. Their results have the bits of an
 * EXPERTS node (also tests/engine/test_layer_split.c); what the device gives is checked.
 */
#include "test.h"

#include "backend/host_experts.h"
#include "backend_help.h"
#include "core/cancel.h"
#include "passes/passes.h"

enum { N = 5, CHOSEN = 2, ROWS = 7 };

static const vug_limits limits = { CONTEXT, ROWS, ROWS };

/* A mixture in each of two layers over the same data [T,D], and their sum. */
static help_graph two_mixtures(void)
{
    help_graph m = { .r = { 61 }, .layer = -1 };
    vug_val y[2];
    const vug_val x = help_data(&m, (vug_shape){ 2, { VUG_DIM_T, D } });
    for (m.layer = 0; m.layer < 2; m.layer++) {
        const vug_val route = help_append(&m, (vug_node){ .op = VUG_OP_ROUTER,
                                                          .in = { help_linear(&m, x, N, D) },
                                                          .at.router = { CHOSEN, true } });
        const vug_val gate = help_experts_weight(&m, VUG_DTYPE_F32, N, FFN, D);
        const vug_val up = help_experts_weight(&m, VUG_DTYPE_F32, N, FFN, D);
        const vug_val down = help_experts_weight(&m, VUG_DTYPE_F32, N, D, FFN);
        y[m.layer] = help_append(&m, (vug_node){ .op = VUG_OP_EXPERTS,
                                                 .in = { x, route, gate, up, down },
                                                 .at.experts = { VUG_OP_SILU } });
    }
    m.layer = -1;
    const vug_val sum = help_op2(&m, VUG_OP_ADD, y[0], y[1]);
    assert_int_equal(vug_graph_output(&m.graph, "sum", sum, NULL), VUG_OK);
    help_plan(&m, ROWS);
    return m;
}

/* The CPU with the weights of a graph. */
typedef struct {
    const vug_backend *b;
    vug_device *device;
    vug_device_weights *weights;
} host_setup;

static host_setup open_host(const help_graph *m)
{
    host_setup s = { .b = vug_backend_host() };
    vug_err err = { 0 };
    vug_status st = s.b->open(&(vug_device_options){ .threads = 2 }, &s.device, &err);
    if (st == VUG_OK)
        st = s.b->weights_create(s.device, m->weight, (size_t)m->n_weights, &s.weights, &err);
    if (st != VUG_OK)
        fail_msg("%s", err.msg);
    return s;
}

static void close_host(host_setup *s)
{
    s->b->weights_destroy(s->weights);
    s->b->close(s->device);
}

static vug_status try_experts(const host_setup *s, const help_graph *m, int first, int end,
                              vug_host_experts **out, vug_err *err)
{
    const vug_host_experts_spec spec = { .cpu = s->device,
                                         .weights = s->weights,
                                         .graph = &m->graph,
                                         .first = first,
                                         .end = end,
                                         .activations = VUG_ACTIVATIONS_F32,
                                         .limits = limits };
    return vug_host_experts_create(&spec, out, err);
}

static vug_host_experts *make_experts(const host_setup *s, const help_graph *m, int first, int end)
{
    vug_host_experts *experts = NULL;
    vug_err err = { 0 };
    if (try_experts(s, m, first, end, &experts, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return experts;
}

/* ---- moving ------------------------------------------------------------------------ */

static void test_experts_of_chosen_layers_are_moved(void **state)
{
    (void)state;
    help_graph m = two_mixtures();
    vug_graph moved;
    vug_err err = { 0 };
    assert_int_equal(vug_move_experts(&m.graph, 1, 2, &moved, &err), VUG_OK);
    assert_int_equal(moved.n, m.graph.n);
    int n = 0;
    for (uint32_t i = 1; i < moved.n; i++) {
        const vug_node *from = &m.graph.node[i], *to = &moved.node[i];
        const bool is_moved = from->op == VUG_OP_EXPERTS && from->layer == 1;
        assert_int_equal(to->op, is_moved ? VUG_OP_HOST_EXPERTS : from->op);
        assert_int_equal(to->layer, from->layer);
        if (is_moved) {
            assert_int_equal(to->at.host_experts.index, n++);
            assert_int_equal(to->in[0].id, from->in[0].id);
            assert_int_equal(to->in[1].id, from->in[1].id);
        }
    }
    assert_int_equal(n, 1);
    assert_int_equal(moved.n_outputs, 1);
    assert_int_equal(moved.output[0].value.id, m.graph.output[0].value.id);
    vug_graph_release(&moved);
    assert_int_equal(vug_move_experts(&m.graph, 0, 2, &moved, &err), VUG_OK);
    n = 0;
    for (uint32_t i = 1; i < moved.n; i++) {
        if (moved.node[i].op == VUG_OP_HOST_EXPERTS)
            assert_int_equal(moved.node[i].at.host_experts.index, n++);
    }
    assert_int_equal(n, 2);
    vug_graph_release(&moved);
    help_graph_release(&m);
}

/* ---- computing ---------------------------------------------------------------------- */

/* Runs a graph over x [ROWS,D]; the result [ROWS,D] is copied to `out`. */
static void run_graph(const host_setup *s, const vug_graph *g, const vug_plan *plan, const float *x,
                      float *out)
{
    vug_program *program = NULL;
    vug_workspace *workspace = NULL;
    vug_err err = { 0 };
    const vug_span span = { NULL, 0, ROWS };
    const vug_step_in step = {
        .span = &span, .n_spans = 1, .token = (int32_t[ROWS]){ 0 }, .data = (const float *[]){ x }
    };
    const float *output;
    vug_status st = s->b->compile(s->weights, g, plan, &limits, &program, &err);
    if (st == VUG_OK)
        st = s->b->workspace_create(program, &workspace, &err);
    if (st == VUG_OK)
        st = s->b->run(program, workspace, &step, &output, &err);
    if (st == VUG_OK)
        memcpy(out, output, (size_t)ROWS * D * sizeof(float));
    else
        fail_msg("%s", err.msg);
    s->b->workspace_destroy(workspace);
    s->b->release(program);
}

static void test_moved_experts_have_the_same_bits(void **state)
{
    (void)state;
    help_graph m = two_mixtures();
    host_setup s = open_host(&m);
    vug_graph moved;
    vug_err err = { 0 };
    float x[ROWS * D], want[ROWS * D], got[ROWS * D];
    rng_fill(&m.r, x, (size_t)ROWS * D);
    m.plan.activations = VUG_ACTIVATIONS_F32;
    run_graph(&s, &m.graph, &m.plan, x, want);
    for (int first = 0; first < 2; first++) {
        vug_host_experts *experts = make_experts(&s, &m, first, 2);
        assert_int_equal(vug_host_experts_count(experts), 2 - first);
        assert_int_equal(vug_move_experts(&m.graph, first, 2, &moved, &err), VUG_OK);
        vug_plan plan = m.plan; /* nodes have the same numbers */
        plan.host_experts = experts;
        run_graph(&s, &moved, &plan, x, got);
        check_bits(got, want, (size_t)ROWS * D, "experts on the host");
        vug_graph_release(&moved);
        vug_host_experts_destroy(experts);
    }
    close_host(&s);
    help_graph_release(&m);
}

static void test_a_program_needs_its_experts(void **state)
{
    (void)state;
    help_graph m = two_mixtures();
    host_setup s = open_host(&m);
    vug_host_experts *one = make_experts(&s, &m, 1, 2);
    vug_graph moved;
    vug_program *program;
    vug_err err = { 0 };
    assert_int_equal(vug_move_experts(&m.graph, 0, 2, &moved, &err), VUG_OK);
    for (int i = 0; i < 2; i++) {
        m.plan.host_experts = i == 0 ? NULL : one;
        assert_int_equal(s.b->compile(s.weights, &moved, &m.plan, &limits, &program, &err),
                         VUG_UNSUPPORTED);
        assert_non_null(
                strstr(err.msg, i == 0 ? "(layer 0): the host does not have these experts"
                                       : "(layer 1): the host does not have these experts"));
    }
    vug_graph_release(&moved);
    vug_host_experts_destroy(one);
    close_host(&s);
    help_graph_release(&m);
}

static void test_weights_that_the_host_lacks_are_refused(void **state)
{
    (void)state;
    help_graph m = two_mixtures();
    const vug_weight last = m.weight[m.n_weights - 1];
    m.weight[m.n_weights - 1].data = NULL;
    host_setup s = open_host(&m);
    vug_host_experts *experts = make_experts(&s, &m, 0, 1);
    vug_host_experts_destroy(experts);
    vug_err err = { 0 };
    assert_int_equal(try_experts(&s, &m, 0, 2, &experts, &err), VUG_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "(layer 1): the device has a weight of another shape"));
    close_host(&s);
    m.weight[m.n_weights - 1] = last;
    help_graph_release(&m);
}

/* ---- what the device gives ------------------------------------------------------------ */

/* [ROWS,2 CHOSEN] the first experts for each row, with equal weights. */
static void fill_route(float *route)
{
    for (int r = 0; r < ROWS; r++) {
        for (int j = 0; j < CHOSEN; j++) {
            route[r * 2 * CHOSEN + j] = (float)j;
            route[r * 2 * CHOSEN + CHOSEN + j] = 0.5F;
        }
    }
}

static void test_a_wrong_route_is_refused(void **state)
{
    (void)state;
    static const float wrong[] = { -1, N, 1e9F, -INFINITY, INFINITY, NAN };
    help_graph m = two_mixtures();
    host_setup s = open_host(&m);
    vug_host_experts *experts = make_experts(&s, &m, 0, 2);
    float x[ROWS * D], route[ROWS * 2 * CHOSEN], out[ROWS * D];
    vug_host_experts_job job = { .x = x, .route = route, .out = out };
    vug_err err = { 0 };
    rng_fill(&m.r, x, (size_t)ROWS * D);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        fill_route(route);
        route[5 * 2 * CHOSEN + 1] = wrong[i];
        job.rows = ROWS;
        assert_int_equal(vug_host_experts_compute(experts, 1, &job, &err), VUG_UNSUPPORTED);
        assert_non_null(strstr(err.msg, "experts: row 5 of the step has expert "));
        job.rows = 5; /* those before it */
        assert_int_equal(vug_host_experts_compute(experts, 1, &job, &err), VUG_OK);
    }
    vug_host_experts_destroy(experts);
    close_host(&s);
    help_graph_release(&m);
}

static void test_computing_can_be_cancelled(void **state)
{
    (void)state;
    help_graph m = two_mixtures();
    host_setup s = open_host(&m);
    vug_host_experts *experts = make_experts(&s, &m, 0, 2);
    float x[ROWS * D], route[ROWS * 2 * CHOSEN], out[ROWS * D];
    vug_cancel_token cancel = { 0 };
    const vug_host_experts_job job = {
        .x = x, .route = route, .rows = ROWS, .cancel = &cancel, .out = out
    };
    vug_err err = { 0 };
    rng_fill(&m.r, x, (size_t)ROWS * D);
    fill_route(route);
    assert_int_equal(vug_host_experts_compute(experts, 0, &job, &err), VUG_OK);
    atomic_store(&cancel.triggered, true);
    assert_int_equal(vug_host_experts_compute(experts, 0, &job, &err), VUG_CANCELLED);
    vug_host_experts_destroy(experts);
    close_host(&s);
    help_graph_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_experts_of_chosen_layers_are_moved),
        cmocka_unit_test(test_moved_experts_have_the_same_bits),
        cmocka_unit_test(test_a_program_needs_its_experts),
        cmocka_unit_test(test_weights_that_the_host_lacks_are_refused),
        cmocka_unit_test(test_a_wrong_route_is_refused),
        cmocka_unit_test(test_computing_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
