/*
 * Golden files have the graph of every golden checkpoint as text: for prefill as it is
 * built, for decode after fusion. Any change of an architecture, of a builder function or of
 * a pass shows up as a difference to review.
 */
#include "test.h"

#include "capture.h"
#include "core/os.h"

#define MODELS "tests/golden/models"
#define GRAPHS "tests/golden/graphs"

typedef struct {
    const char *mode;
    bool fused;
    char model[256], file[320], command[768];
} golden_graph;

static golden_graph golden_graph_of(const char *model, bool decode)
{
    golden_graph k = { .mode = decode ? "decode" : "prefill", .fused = decode };
    (void)snprintf(k.model, sizeof(k.model), MODELS "/%s", model);
    (void)snprintf(k.file, sizeof(k.file), GRAPHS "/%s-%s.txt", model, k.mode);
    (void)snprintf(k.command, sizeof(k.command), "build/vug graph %s --mode %s%s --out %s", k.model,
                   k.mode, k.fused ? " --fused" : "", k.file);
    return k;
}

static void print_first_difference(const golden_graph *k, const char *want, const char *is)
{
    int line = 1;
    while (*want && *want == *is) {
        line += *want == '\n';
        want++;
        is++;
    }
    print_error("%s: line %d is not what the graph is now; when that is meant:\n    %s\n", k->file,
                line, k->command);
}

static bool matches_golden(const golden_graph *k)
{
    captured c = VUG("graph", k->model, "--mode", k->mode, k->fused ? "--fused" : NULL);
    if (c.code != 0)
        print_error("%s: %s", k->model, c.err.ptr);
    vug_text want = { 0 };
    bool same = false;
    if (vug_read_file(k->file, 1 << 20, &want, NULL) != VUG_OK)
        print_error("%s is missing; to make it:\n    %s\n", k->file, k->command);
    else
        same = c.code == 0 && strcmp(want.ptr, c.out.ptr) == 0;
    if (want.ptr && !same)
        print_first_difference(k, want.ptr, c.out.ptr);
    vug_text_release(&want);
    captured_release(&c);
    return same;
}

static void test_graphs_match_golden_files(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_str *name;
    size_t n, bad = 0;
    assert_int_equal(vug_list_folder(MODELS, &arena, &name, &n, NULL), VUG_OK);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        const golden_graph prefill = golden_graph_of(name[i].ptr, false),
                           decode = golden_graph_of(name[i].ptr, true);
        bad += !matches_golden(&prefill);
        bad += !matches_golden(&decode);
    }
    assert_int_equal(bad, 0);
    vug_arena_release(&arena);
}

static void test_every_golden_file_has_a_model(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_str *name, *model;
    size_t n, n_models;
    assert_int_equal(vug_list_folder(GRAPHS, &arena, &name, &n, NULL), VUG_OK);
    assert_int_equal(vug_list_folder(MODELS, &arena, &model, &n_models, NULL), VUG_OK);
    assert_int_equal(n, 2 * n_models);
    vug_arena_release(&arena);
}

/* The drawing labels its parts; Gemma 4 E gathers rows between layers. */
static void test_drawing_labels(void **state)
{
    (void)state;
    static const struct {
        const char *model, *heading;
    } rows[] = {
        { MODELS "/gemma3-text", ">after the layers<" },
        { MODELS "/gemma4-e", ">between and after the layers<" },
        { MODELS "/qwen3-moe", ">3 layers of 2 kinds<" },
        { MODELS "/llama3", ">3 layers, all alike<" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        captured c = VUG("graph", rows[i].model, "--format", "svg");
        assert_int_equal(c.code, 0);
        if (!strstr(c.out.ptr, rows[i].heading))
            fail_msg("%s has no %s", rows[i].model, rows[i].heading);
        captured_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graphs_match_golden_files),
        cmocka_unit_test(test_every_golden_file_has_a_model),
        cmocka_unit_test(test_drawing_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
