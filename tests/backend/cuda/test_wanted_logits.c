/* Rows of logits of which only some are wanted, on a machine with a GPU: a step of the CUDA backend
 * lists them. */
#include "test.h"

#include <math.h>

#include "backend/cuda/cuda.h"
#include "engine_help.h"
#include "graph_help.h"

enum { V = 40003, IDS = 39990, ROWS = 4 };

typedef struct {
    float logits[ROWS][V];
    vug_logits_wanted wanted[ROWS];
    vug_found_logits found[ROWS];
    const float *output;
} logits_step;

/* Runs a step whose logits are those of `s` and passes what it lists to `check`. */
static void run_step(logits_step *s, void check(const logits_step *s))
{
    const vug_backend *b = &vug_backend_cuda;
    const vug_limits limits = { 64, ROWS, ROWS };
    const vug_page *table[1] = { NULL };
    const vug_span span = { table, 0, ROWS };
    help_graph m = { .layer = -1 };
    vug_device *device;
    vug_device_weights *weights;
    vug_program *program;
    vug_workspace *workspace;
    vug_err err = { 0 };
    const vug_val in = help_data(&m, (vug_shape){ 2, { VUG_DIM_R, V } });
    const vug_val out = help_append(&m, (vug_node){ .op = VUG_OP_SCALE,
                                                    .shape = { 2, { VUG_DIM_R, V } },
                                                    .in = { in },
                                                    .at.scale = { 1 } });
    help_ok(vug_graph_output(&m.graph, "logits", out, &err), &err);
    help_plan(&m, ROWS);
    help_ok(b->open(&(vug_device_options){ 0 }, &device, &err), &err);
    help_ok(b->weights_create(device, m.weight, 0, &weights, &err), &err);
    help_ok(b->compile(weights, &m.graph, &m.plan, &limits, &program, &err), &err);
    help_ok(b->workspace_create(program, &workspace, &err), &err);
    const vug_step_in step = { .span = &span,
                               .n_spans = 1,
                               .token = (int32_t[ROWS]){ 0 },
                               .row = (int32_t[]){ 0, 1, 2, 3 },
                               .n_rows = ROWS,
                               .data = (const float *[]){ s->logits[0] },
                               .wanted = s->wanted,
                               .found = s->found };
    for (int run = 0; run < 2; run++) {
        memset(s->found, 0, sizeof(s->found));
        help_ok(b->run(program, workspace, &step, &s->output, &err), &err);
        check(s);
    }
    b->workspace_destroy(workspace);
    b->release(program);
    b->weights_destroy(weights);
    b->close(device);
    help_graph_release(&m);
}

static int compare_descending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* The least logit that is wanted. */
static double least_wanted(const float *logits, const vug_logits_wanted *wanted)
{
    static float sorted[V];
    memcpy(sorted, logits, sizeof(sorted));
    qsort(sorted, (size_t)wanted->n_ids, sizeof(*sorted), compare_descending);
    return (double)sorted[wanted->best - 1] - wanted->margin;
}

static void check_list(const logits_step *s, int row)
{
    const vug_found_logits *found = &s->found[row];
    const double least = least_wanted(s->logits[row], &s->wanted[row]);
    size_t n_wanted = 0, n_found = 0;
    assert_in_range(found->n, 1, VUG_MOST_FOUND);
    for (int64_t i = 0; i < s->wanted[row].n_ids; i++)
        n_wanted += (double)s->logits[row][i] >= least;
    for (size_t i = 0; i < found->n; i++) {
        const vug_candidate one = found->logit[i];
        assert_in_range(one.id, 0, s->wanted[row].n_ids - 1);
        assert_true(one.logit == s->logits[row][one.id]);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(found->logit[j].id, one.id);
        n_found += (double)one.logit >= least;
    }
    assert_int_equal(n_found, n_wanted);
}

static void check_row(const logits_step *s, int row)
{
    assert_int_equal(s->found[row].n, 0);
    assert_memory_equal(s->output + (ptrdiff_t)row * V, s->logits[row], sizeof(s->logits[row]));
}

static void fill(logits_step *s, uint64_t seed)
{
    rng r = { seed };
    rng_fill(&r, s->logits[0], (size_t)ROWS * V);
    for (int i = 0; i < ROWS; i++) {
        s->logits[i][V - 1] = 99; /* no token has it */
        s->wanted[i] = (vug_logits_wanted){ .best = 1, .n_ids = IDS };
    }
}

static void check_lists(const logits_step *s)
{
    for (int i = 0; i < ROWS; i++)
        check_list(s, i);
}

static bool skips(void)
{
    return !vug_backend_cuda.describe(NULL).available;
}

static void test_wanted_logits_are_listed(void **state)
{
    (void)state;
    static logits_step s;
    if (skips())
        skip();
    fill(&s, 1);
    s.logits[0][123] = s.logits[0][39000] = 50; /* two are the best */
    s.wanted[1].best = 40;
    s.wanted[2].margin = 0.001;
    s.wanted[3] = (vug_logits_wanted){ .best = 300, .n_ids = V - 1 };
    run_step(&s, check_lists);
}

static void check_rows(const logits_step *s)
{
    check_list(s, 0);
    for (int i = 1; i < ROWS; i++)
        check_row(s, i);
}

/* Rows that want all, that have too many wanted logits, or whose logits are not all finite. */
static void test_other_rows_are_given_in_full(void **state)
{
    (void)state;
    static logits_step s;
    if (skips())
        skip();
    fill(&s, 2);
    s.wanted[1].best = 0;
    s.wanted[2].margin = 100;
    s.logits[3][V - 2] = INFINITY;
    run_step(&s, check_rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wanted_logits_are_listed),
        cmocka_unit_test(test_other_rows_are_given_in_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
