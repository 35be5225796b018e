/*
 * Memory runs out: the n-th allocation fails, for every n from opening to closing,
 * once and for good. Each time there is a clear failure, nothing is leaked, and the
 * next run works. And a step allocates nothing at all.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "alloc_hook.h"
#include "core/json.h"
#include "core/os.h"
#include "text/text.h"
#include "weights/weights.h"

#define MODEL "tests/golden/models/gemma3-text"

/* Something that allocates, from its beginning to its end: releases all of it,
 * whether it fails or not. */
typedef vug_status scenario(vug_err *err);

static void one_run(scenario *run, long n, alloc_failures how, bool *reached)
{
    vug_err err = { 0 };
    const long before = alloc_hook_live();
    alloc_hook_fail(n, how);
    const vug_status st = run(&err);
    *reached = alloc_hook_stop();
    if (alloc_hook_live() != before)
        fail_msg("%ld blocks leaked when allocation %ld failed", alloc_hook_live() - before, n);
    if (!*reached && st != VUG_OK)
        fail_msg("failed with all the memory it wanted: %s", err.msg);
    if (st == VUG_OK) {
        /* One missing block may be made do without; none at all may not. */
        assert_true(!*reached || how == ALLOC_ONCE);
        return;
    }
    if (st != VUG_NOMEM)
        fail_msg("allocation %ld failed and the status is '%s': %s", n, vug_status_text(st),
                 err.msg);
    assert_int_equal(err.code, VUG_NOMEM);
    assert_true(err.msg[0] != '\0');
}

static void every_allocation_fails(void **state)
{
    if (!alloc_hook_works()) {
        print_message("the linker of this system has no --wrap\n");
        skip();
    }
    scenario *const *run = *state;
    for (int how = ALLOC_ONCE; how <= ALLOC_FROM_THEN_ON; how++) {
        bool reached = true;
        long n = 0;
        for (; reached; n++)
            one_run(*run, n, (alloc_failures)how, &reached);
        assert_true(n > 1); /* it allocated at all */
    }
}

/* ---- scenarios ------------------------------------------------------------- */

static vug_status json(vug_err *err)
{
    static const char text[] = "{\"a\\n\":[1,2.5,\"\\u00e9\"],\"b\":{\"c\":null}}";
    vug_arena arena = { 0 };
    const vug_jv *root = NULL;
    vug_buf buf = { 0 };
    vug_status st = vug_json_tree(vug_str_of(text), "text", &arena, &root, err);
    if (st == VUG_OK) {
        for (int i = 0; i < 100; i++)
            vug_json_write_string(&buf, text, sizeof(text) - 1);
        st = vug_buf_ok(&buf, err);
    }
    vug_buf_release(&buf);
    vug_arena_release(&arena);
    return st;
}

static vug_status weights(vug_err *err)
{
    vug_weights *w = NULL;
    vug_status st = vug_weights_open(MODEL, &w, err);
    vug_weights_close(w);
    return st;
}

/* The JSON of a fuzz input ends at its NUL. */
static vug_status tokenizer(vug_err *err)
{
    static const char text[] = "<bos>hi hi\n\n\xe2\x82\xac";
    vug_text file = { 0 };
    vug_tokenizer *t = NULL;
    vug_tokens tokens = { 0 };
    vug_text back = { 0 };
    vug_status st =
            vug_read_file("tests/fuzz/regressions/tokenizer/small-gemma.bin", 1 << 20, &file, err);
    if (st == VUG_OK)
        st = vug_tokenizer_read(vug_str_of(file.ptr), "small", &t, err);
    if (st == VUG_OK)
        st = vug_tokenizer_encode(t, text, sizeof(text) - 1, VUG_ENCODE_PARSE_SPECIAL, &tokens,
                                  err);
    if (st == VUG_OK)
        st = vug_tokenizer_decode(t, tokens.id, tokens.n, false, &back, err);
    if (st == VUG_OK) {
        assert_int_equal(back.len, sizeof(text) - 1);
        assert_memory_equal(back.ptr, text, back.len);
    }
    vug_text_release(&back);
    vug_tokens_release(&tokens);
    vug_tokenizer_close(t);
    vug_text_release(&file);
    return st;
}

static const int32_t prompt[] = { 2, 5, 7, 11, 13, 17, 19, 23 };
enum { N_PROMPT = sizeof(prompt) / sizeof(prompt[0]) };

static vug_status load_generate_close(vug_err *err)
{
    const vug_model_options options = { .context = 32, .batch = 4, .threads = 2 };
    const vug_generate_options generate = { .max_tokens = 3, .n_top = 2, .ignore_stop = true };
    vug_model *model = NULL;
    vug_session *session = NULL;
    vug_generation out = { 0 };
    vug_status st = vug_model_open(MODEL, &options, &model, err);
    if (st == VUG_OK)
        st = vug_session_create(model, &session, err);
    if (st == VUG_OK)
        st = vug_generate(session, prompt, N_PROMPT, &generate, &out, err);
    if (st == VUG_OK)
        assert_int_equal(out.tokens.n, 3);
    vug_generation_release(&out);
    vug_session_destroy(session);
    vug_model_close(model);
    return st;
}

static vug_status graph(vug_err *err)
{
    const vug_model_options options = { .context = 32 };
    vug_model *model = NULL;
    vug_text out = { 0 };
    vug_status st = vug_model_open(MODEL, &options, &model, err);
    for (int format = VUG_GRAPH_TEXT; st == VUG_OK && format <= VUG_GRAPH_SVG; format++) {
        st = vug_model_graph(model, (vug_graph_format)format, true, &out, err);
        vug_text_release(&out);
    }
    vug_model_close(model);
    return st;
}

/* ---- the guard of a step ----------------------------------------------------- */

static void a_step_allocates_nothing(void **state)
{
    (void)state;
    if (!alloc_hook_works()) {
        print_message("the linker of this system has no --wrap\n");
        skip();
    }
    const vug_model_options options = { .context = 64, .batch = 4, .threads = 2 };
    vug_model *model = NULL;
    vug_session *session = NULL;
    vug_err err = { 0 };
    if (vug_model_open(MODEL, &options, &model, &err) != VUG_OK ||
        vug_session_create(model, &session, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    alloc_hook_forbid();
    vug_status st = vug_session_forward(session, prompt, 5, NULL, &err);
    for (size_t n = 6; st == VUG_OK && n <= N_PROMPT; n++)
        st = vug_session_forward(session, prompt, n, NULL, &err);
    (void)alloc_hook_stop();
    if (st != VUG_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(alloc_hook_count(), 0);
    vug_session_destroy(session);
    vug_model_close(model);
}

/* ---- the hook itself --------------------------------------------------------- */

static void the_hook_counts_and_refuses(void **state)
{
    (void)state;
    if (!alloc_hook_works()) {
        print_message("the linker of this system has no --wrap\n");
        skip();
    }
    const long before = alloc_hook_live();
    alloc_hook_fail(1, ALLOC_ONCE);
    void *a = vug_alloc(1, 1), *b = vug_alloc_zero(1, 1), *c = vug_alloc_aligned(1);
    assert_true(alloc_hook_stop());
    assert_non_null(a);
    assert_null(b);
    assert_non_null(c);
    assert_int_equal(alloc_hook_count(), 3);
    assert_int_equal(alloc_hook_refused(), 1);
    assert_int_equal(alloc_hook_live(), before + 2);

    alloc_hook_fail(0, ALLOC_FROM_THEN_ON);
    assert_null(vug_alloc(1, 1));
    assert_null(vug_realloc(a, 100, 1));
    assert_true(alloc_hook_stop());
    a = vug_realloc(a, 100, 1);
    assert_non_null(a);
    vug_free(a);
    vug_free(c);
    vug_free(NULL);
    assert_int_equal(alloc_hook_live(), before);

    alloc_hook_forbid();
    assert_false(alloc_hook_stop());
}

int main(void)
{
    static scenario *const runs[] = { json, weights, tokenizer, load_generate_close, graph };
    static const char *const names[] = { "json", "weights", "tokenizer", "load_generate_close",
                                         "graph" };
    enum { N = sizeof(runs) / sizeof(runs[0]) };
    scenario *run[N];
    struct CMUnitTest tests[N + 2] = { cmocka_unit_test(the_hook_counts_and_refuses),
                                       cmocka_unit_test(a_step_allocates_nothing) };
    for (int i = 0; i < N; i++) {
        run[i] = runs[i];
        tests[2 + i] = (struct CMUnitTest){
            .name = names[i],
            .test_func = every_allocation_fails,
            .initial_state = &run[i],
        };
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
