/* Rows of logits of which only some are wanted, or of which a token is drawn, on a machine with a GPU: a
 * step of the CUDA backend lists them. */
#include "test.h"

#include <math.h>

#include "backend/cuda/cuda.h"
#include "engine_help.h"
#include "graph_help.h"
#include "started_steps.h"

enum { V = 40003, IDS = 39990, ROWS = 4, MOST_TOP = VUG_MAX_TOP_LOGPROBS };

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

/* ---- draws ------------------------------------------------------------------------------------- */

/* The report of a row has the best of the model's logits and the mass of all. */
static void check_report(const logits_step *s, int row)
{
    vug_candidate top[MOST_TOP];
    uint64_t mass;
    const vug_logits_wanted *wanted = &s->wanted[row];
    const vug_found_logits *found = &s->found[row];
    help_report(s->logits[row], wanted, top, &mass);
    assert_true(found->mass == mass);
    assert_in_range(found->n_top, wanted->top, VUG_MOST_FOUND);
    for (int64_t i = 0; i < wanted->top; i++) {
        size_t j = 0;
        while (j < found->n_top && found->top[j].id != top[i].id)
            j++;
        assert_true(j < found->n_top && found->top[j].logit == top[i].logit);
    }
}

static void check_draws(const logits_step *s)
{
    for (int i = 0; i < ROWS; i++) {
        const vug_logits_wanted *wanted = &s->wanted[i];
        assert_int_equal(s->found[i].n, 1);
        const vug_candidate one = s->found[i].logit[0];
        assert_int_equal(one.id, help_draw(s->logits[i], wanted));
        assert_true(one.logit == s->logits[i][one.id]);
        if (wanted->top > 0)
            check_report(s, i);
        else
            assert_int_equal(s->found[i].n_top, 0);
    }
}

/* Chains of samplers, each with what it wants. */
static const vug_logits_wanted chains[] = {
    { .best = 1, .margin = INFINITY, .draw = { .temperature = 1, .top_p = 1 } },
    { .best = 1, .margin = INFINITY, .draw = { .temperature = 0.01, .top_p = 1 } },
    { .best = 1, .margin = INFINITY, .draw = { .temperature = 30, .top_p = 1 } },
    { .best = 64, .draw = { .temperature = 1, .top_k = 64, .top_p = 0.95, .min_p = 0.05 } },
    { .best = 20, .draw = { .temperature = 0.6, .top_k = 20, .top_p = 1 } },
    { .best = 200, .draw = { .temperature = 3, .top_k = 200, .top_p = 0.99 } },
    { .best = 1, .margin = 3, .draw = { .temperature = 1, .top_p = 1, .min_p = 0.05 } },
    { .best = 1, .margin = 0.5, .draw = { .temperature = 0.05, .top_p = 0.9, .min_p = 0.001 } },
};

/* Logits of which few are near the best: the smaller, the fewer, by a factor of e for `width`. */
static void fill_draws(logits_step *s, uint64_t seed, float width)
{
    fill(s, seed);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < V; j++)
            s->logits[i][j] = -width * logf(fabsf(s->logits[i][j]) + 1e-7F);
        s->wanted[i] = chains[(seed + (uint64_t)i * 3) % (sizeof(chains) / sizeof(*chains))];
        s->wanted[i].n_ids = IDS;
        s->wanted[i].draw.noise = (vug_noise){ seed * 77, seed + (uint64_t)i };
    }
}

static void test_tokens_are_drawn(void **state)
{
    (void)state;
    static logits_step s;
    if (skips())
        skip();
    for (uint64_t seed = 1; seed <= 64; seed++) {
        fill_draws(&s, seed, seed % 2 ? 1 : 4);
        /* Equal logits, whose ids decide. */
        for (int i = 0; i < 300; i++)
            s.logits[seed % ROWS][i * 100 + (int)seed] = 8;
        run_step(&s, check_draws);
    }
}

/* Masks that allow half of the ids, some or three. */
static void test_only_allowed_tokens_are_drawn(void **state)
{
    (void)state;
    static logits_step s;
    static uint32_t allowed[ROWS][(V + 31) / 32];
    if (skips())
        skip();
    for (uint64_t seed = 1; seed <= 32; seed++) {
        fill_draws(&s, seed, 2);
        uint64_t random = seed;
        for (size_t i = 0; i < sizeof(allowed) / sizeof(uint32_t); i++) {
            const uint64_t bits = help_bits(&random);
            const size_t row = i / (sizeof(allowed[0]) / sizeof(uint32_t));
            allowed[row][i % ((V + 31) / 32)] =
                    (uint32_t)(row == 1 ? bits & bits >> 32 & bits >> 16 & bits >> 8 : bits);
        }
        memset(allowed[2], 0, sizeof(allowed[2]));
        for (int i = 0; i < 3; i++)
            allowed[2][help_random(&random, IDS / 32)] |= 1u << help_random(&random, 32);
        for (int i = 0; i < ROWS - 1; i++)
            s.wanted[i].allowed = allowed[i];
        if (seed % 4 == 0)
            s.wanted[0] = (vug_logits_wanted){ .best = 1, .n_ids = IDS, .allowed = allowed[0] };
        run_step(&s, check_draws);
    }
}

/* One of a row whose list is too short, and one whose logits are not all finite. */
static void check_undecided(const logits_step *s)
{
    check_row(s, 0);
    check_row(s, 1);
}

static void test_other_draws_are_left_to_the_host(void **state)
{
    (void)state;
    static logits_step s;
    if (skips())
        skip();
    fill_draws(&s, 3, 1);
    s.wanted[0] = (vug_logits_wanted){
        .best = 1, .n_ids = IDS, .margin = 1, .draw = { .temperature = 1, .top_p = 0.9 }
    };
    s.wanted[1] = chains[0];
    s.wanted[1].n_ids = IDS;
    s.logits[1][7] = INFINITY;
    run_step(&s, check_undecided);
}

/* ---- changes --------------------------------------------------------------------------------- */

enum { CHANGED = 700, STAGES = 3 };

typedef struct {
    vug_logit_change list[STAGES * CHANGED + 3];
    size_t n;
} change_list;

static void add_change(change_list *c, vug_logit_change change)
{
    c->list[c->n++] = change;
}

/* Repetition penalties, then biases of the same tokens and of others; the greatest logits get some. Then
 * the best token is excluded, twice. */
static void fill_changes(const logits_step *s, int row, uint64_t *random, change_list *c)
{
    const float *logits = s->logits[row];
    int32_t best = 0, from = (int32_t)help_random(random, V - CHANGED);
    for (int32_t i = 0; i < IDS; i++)
        best = logits[i] > logits[best] ? i : best;
    c->n = 0;
    for (int32_t i = from; i < from + CHANGED; i++)
        add_change(c, (vug_logit_change){ .id = i, .value = 1.3F, .is_repetition = true });
    if (best < from || best >= from + CHANGED)
        add_change(c, (vug_logit_change){ .id = best, .value = 1.01F, .is_repetition = true });
    for (int32_t stage = 1; stage < STAGES; stage++) {
        for (int32_t i = 0; i < CHANGED; i++)
            add_change(c, (vug_logit_change){ .id = (from + stage * 100 + 50 * i) % V,
                                              .value = (float)help_random(random, 60) / 8 - 5,
                                              .stage = stage });
    }
    for (int i = 0; i < 2; i++)
        add_change(c, (vug_logit_change){ .id = best, .value = INFINITY, .stage = STAGES });
}

static void test_changed_logits_are_drawn_from(void **state)
{
    (void)state;
    static logits_step s;
    static change_list changes[ROWS];
    if (skips())
        skip();
    for (uint64_t seed = 1; seed <= 64; seed++) {
        uint64_t random = seed;
        fill_draws(&s, seed, 2);
        if (seed % 4 == 0)
            s.wanted[0] = (vug_logits_wanted){ .best = 1, .n_ids = IDS };
        for (int i = seed % 3 == 0; i < ROWS; i++) {
            fill_changes(&s, i, &random, &changes[i]);
            s.wanted[i].change = changes[i].list;
            s.wanted[i].n_changes = changes[i].n;
        }
        s.wanted[1].top = 1;
        s.wanted[2].top = MOST_TOP;
        run_step(&s, check_draws);
    }
}

static void check_all_but_one(const logits_step *s)
{
    check_row(s, 0);
    check_row(s, 1);
    check_list(s, 2);
    check_row(s, 3);
}

/* A row whose only allowed tokens are excluded, and one that a penalty makes infinite: the host gets
 * the model's logits. Reports of too many equal logits are left to it, too. */
static void test_changes_of_undecided_rows_are_undone(void **state)
{
    (void)state;
    static logits_step s;
    static uint32_t allowed[(V + 31) / 32];
    const vug_logit_change excluded[] = { { .id = 40, .value = INFINITY },
                                          { .id = 41, .value = INFINITY } };
    const vug_logit_change infinite = { .id = 9, .value = -FLT_MAX };
    if (skips())
        skip();
    fill(&s, 7);
    allowed[40 / 32] = 3u << 40 % 32;
    s.wanted[0].allowed = allowed;
    s.wanted[0].change = excluded;
    s.wanted[0].n_changes = 2;
    s.logits[1][9] = FLT_MAX;
    s.wanted[1].change = &infinite;
    s.wanted[1].n_changes = 1;
    for (int i = 0; i < VUG_MOST_FOUND; i++)
        s.logits[3][(ptrdiff_t)i * 3] = 60;
    s.logits[3][20000] = 61;
    s.wanted[3].top = 2;
    run_step(&s, check_all_but_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_are_drawn),
        cmocka_unit_test(test_only_allowed_tokens_are_drawn),
        cmocka_unit_test(test_other_draws_are_left_to_the_host),
        cmocka_unit_test(test_changed_logits_are_drawn_from),
        cmocka_unit_test(test_changes_of_undecided_rows_are_undone),
        cmocka_unit_test(test_wanted_logits_are_listed),
        cmocka_unit_test(test_other_rows_are_given_in_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
