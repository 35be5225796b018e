/*
 * The graph of every golden checkpoint is kept as text, for prefill as it is written
 * and for decode as it runs: a change of an architecture, of a word or of a pass
 * shows as a difference that somebody has to look at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "core/os.h"

#define MODELS "tests/golden/models"
#define GRAPHS "tests/golden/graphs"

typedef struct {
    const char *mode;
    bool fused;
    char model[256], file[320], command[768];
} kept;

static kept kept_of(const char *model, bool decode)
{
    kept k = { .mode = decode ? "decode" : "prefill", .fused = decode };
    (void)snprintf(k.model, sizeof(k.model), MODELS "/%s", model);
    (void)snprintf(k.file, sizeof(k.file), GRAPHS "/%s-%s.txt", model, k.mode);
    (void)snprintf(k.command, sizeof(k.command), "build/vug graph %s --mode %s%s --out %s", k.model,
                   k.mode, k.fused ? " --fused" : "", k.file);
    return k;
}

/* The first line that differs. */
static void report(const kept *k, const char *want, const char *is)
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

static bool same_as_kept(const kept *k)
{
    char program[256];
    const char *build = getenv("VUG_BUILD");
    (void)snprintf(program, sizeof(program), "%s/vug", build && *build ? build : VUG_BUILD);
    captured c = capture(NULL, NULL,
                         (const char *const[]){ program, "graph", k->model, "--mode", k->mode,
                                                k->fused ? "--fused" : NULL, NULL });
    if (c.code != 0)
        print_error("%s: %s", k->model, c.err.ptr);
    vug_text want = { 0 };
    bool same = false;
    if (vug_read_file(k->file, 1 << 20, &want, NULL) != VUG_OK)
        print_error("%s is missing; to make it:\n    %s\n", k->file, k->command);
    else
        same = c.code == 0 && strcmp(want.ptr, c.out.ptr) == 0;
    if (want.ptr && !same)
        report(k, want.ptr, c.out.ptr);
    vug_text_release(&want);
    captured_release(&c);
    return same;
}

static void every_graph(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_str *name;
    size_t n, bad = 0;
    assert_int_equal(vug_list_folder(MODELS, &arena, &name, &n, NULL), VUG_OK);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        const kept prefill = kept_of(name[i].ptr, false), decode = kept_of(name[i].ptr, true);
        bad += !same_as_kept(&prefill);
        bad += !same_as_kept(&decode);
    }
    assert_int_equal(bad, 0);
    vug_arena_release(&arena);
}

/* A text whose model is gone is kept for nobody. */
static void no_text_is_left_over(void **state)
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

/* The drawing says where its parts stand: of Gemma 4 E rows are taken between layers. */
static void parts_of_drawings(void **state)
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
    char program[256];
    const char *build = getenv("VUG_BUILD");
    (void)snprintf(program, sizeof(program), "%s/vug", build && *build ? build : VUG_BUILD);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        captured c = capture(
                NULL, NULL,
                (const char *const[]){ program, "graph", rows[i].model, "--format", "svg", NULL });
        assert_int_equal(c.code, 0);
        if (!strstr(c.out.ptr, rows[i].heading))
            fail_msg("%s has no %s", rows[i].model, rows[i].heading);
        captured_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_graph),
        cmocka_unit_test(no_text_is_left_over),
        cmocka_unit_test(parts_of_drawings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
