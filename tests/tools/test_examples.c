/*
 * What the documentation shows works: the examples need vug.h and the library
 * alone, say what they should, and the header is C++ too.
 */
#include "test.h"

#include <math.h>
#include <unistd.h>

#include "capture.h"
#include "engine_help.h"
#include "sanitized.h"
#include "tiny_model.h"

static const char *environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

/* $CC or $CXX, which may be several words. */
#define COMPILER(variable, otherwise) \
    "sh", "-c", "exec ${" variable ":-" otherwise "} \"$@\"", variable

static bool has_cpp(void)
{
    captured c =
            capture(NULL, NULL, (const char *const[]){ COMPILER("CXX", "c++"), "--version", NULL });
    const bool ok = c.code == 0;
    captured_release(&c);
    return ok;
}

#define MODEL "tests/golden/models/gemma3-text"

static void must_compile(const char *const *argv)
{
    captured c = capture(NULL, NULL, argv);
    if (c.code != 0 || c.err.len > 0)
        fail_msg("%s: exit code %d: %s", argv[3], c.code, c.err.ptr);
    captured_release(&c);
}

/* The program of docs/examples/NAME.c, in `dir`. */
static scratch_path build_example(const scratch *dir, const char *name)
{
    const char *build = environment("VUG_BUILD", VUG_BUILD);
    scratch_path program, library, source;
    if (SANITIZED) { /* The library wants its runtime: make has built the example with it. */
        (void)snprintf(program.path, sizeof(program.path), "%s/examples/%s", build, name);
        return program;
    }
    (void)snprintf(library.path, sizeof(library.path), "%s/libvug.a", build);
    (void)snprintf(source.path, sizeof(source.path), "docs/examples/%s.c", name);
    program = scratch_at(dir, name);
    must_compile((const char *const[]){ COMPILER("CC", "cc"), "-std=c17", "-Wall", "-Wextra",
                                        "-Wpedantic", "-Werror", "-Iinclude", source.path,
                                        library.path, "-lpcre2-8", "-lutf8proc", "-lcrypto", "-lm",
                                        "-pthread", "-o", program.path, NULL });
    return program;
}

/* ---- the chat ------------------------------------------------------------------- */

typedef struct {
    scratch dir; /* a model that can chat, and the program */
    scratch_path program;
} fixture;

static int set_up(void **state)
{
    fixture *f = vug_alloc_zero(1, sizeof(*f));
    assert_non_null(f);
    f->dir = scratch_make_for_programs();
    tiny_model(&f->dir, TINY_VOCAB);
    f->program = build_example(&f->dir, "chat");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    scratch_remove(&f->dir);
    vug_free(f);
    return 0;
}

static captured chat(const fixture *f, const char *model, const char *input)
{
    return capture(input, NULL, (const char *const[]){ f->program.path, model, NULL });
}

/* What the chat must say: the same conversation, without the chat. */
static void expect(const fixture *f, const char *const *line, size_t n, vug_buf *out)
{
    vug_model *m = help_model(f->dir.path, (vug_model_options){ 0 });
    vug_session *s = help_session(m);
    const vug_generate_options o = { .max_tokens = 500 };
    vug_message talk[8];
    vug_generation answer[4];
    vug_err err = { 0 };
    for (size_t i = 0; i < n; i++) {
        talk[2 * i] = (vug_message){ "user", line[i] };
        help_ok(vug_generate_chat(s, talk, 2 * i + 1, &o, &answer[i], &err), &err);
        talk[2 * i + 1] = (vug_message){ "assistant", answer[i].text.ptr };
        vug_buf_append(out, answer[i].text.ptr, answer[i].text.len);
        vug_buf_puts(out, "\n");
    }
    for (size_t i = 0; i < n; i++)
        vug_generation_release(&answer[i]);
    vug_session_destroy(s);
    vug_model_close(m);
}

static void the_chat_answers_and_remembers(void **state)
{
    const fixture *f = *state;
    static const char *const lines[] = { "hello", "hello" };
    vug_buf expected = { 0 };
    expect(f, lines, 2, &expected);
    captured c = chat(f, f->dir.path, "hello\nhello\n");
    assert_string_equal(c.err.ptr, "");
    assert_int_equal(c.code, 0);
    assert_int_equal(c.out.len, expected.len);
    assert_memory_equal(c.out.ptr, expected.ptr, expected.len);
    captured_release(&c);
    vug_buf_release(&expected);
    c = chat(f, f->dir.path, "");
    assert_int_equal(c.code, 0);
    assert_int_equal(c.out.len, 0);
    captured_release(&c);
}

static void the_chat_says_what_is_wrong(void **state)
{
    const fixture *f = *state;
    captured c = chat(f, "no/such/folder", "hello\n");
    assert_int_equal(c.code, 1);
    assert_string_equal(c.err.ptr, "chat: no/such/folder: no such file or folder\n");
    captured_release(&c);
    c = chat(f, MODEL, "hello\n");
    assert_int_equal(c.code, 1);
    assert_non_null(strstr(c.err.ptr, "tokenizer.json: missing"));
    captured_release(&c);
}

/* ---- the engine ------------------------------------------------------------------ */

/* Three prompts that are answered at once have the answers of three sessions. */
static void three_prompts_at_once(void **state)
{
    const fixture *f = *state;
    static const char *const line[] = { "hello", "hi", "hello there" };
    const scratch_path program = build_example(&f->dir, "engine");
    const vug_generate_options o = { .max_tokens = 60 };
    vug_model *m = help_model(f->dir.path, (vug_model_options){ 0 });
    vug_buf expected = { 0 };
    vug_err err = { 0 };
    for (size_t i = 0; i < 3; i++) {
        const vug_message message = { "user", line[i] };
        vug_session *s = help_session(m);
        vug_generation answer;
        help_ok(vug_generate_chat(s, &message, 1, &o, &answer, &err), &err);
        vug_buf_append(&expected, answer.text.ptr, answer.text.len);
        vug_buf_puts(&expected, "\n");
        vug_generation_release(&answer);
        vug_session_destroy(s);
    }
    vug_model_close(m);
    captured c = capture(
            NULL, NULL,
            (const char *const[]){ program.path, f->dir.path, line[0], line[1], line[2], NULL });
    assert_string_equal(c.err.ptr, "");
    assert_int_equal(c.code, 0);
    assert_int_equal(c.out.len, expected.len);
    assert_memory_equal(c.out.ptr, expected.ptr, expected.len);
    captured_release(&c);
    vug_buf_release(&expected);
    c = capture(NULL, NULL, (const char *const[]){ program.path, f->dir.path, "", NULL });
    assert_int_equal(c.code, 0); /* the template makes a prompt of an empty message, too */
    captured_release(&c);
    c = capture(NULL, NULL, (const char *const[]){ program.path, MODEL, "hello", NULL });
    assert_int_equal(c.code, 1);
    assert_non_null(strstr(c.err.ptr, "tokenizer.json: missing"));
    captured_release(&c);
}

/* ---- flows ---------------------------------------------------------------------- */

enum { PROMPT = 4, STEPS = 20, WIDTH = 64, LAYERS = 8 };
static const int32_t prompt[PROMPT] = { 5, 17, 99, 200 };

static bool put_hidden(const vug_step *step, void *user)
{
    for (int i = 0; i <= LAYERS; i++) {
        const float *x = step->hidden[i] + (step->n - 1) * WIDTH;
        double squares = 0;
        char name[16] = "hidden";
        for (int k = 0; k < WIDTH; k++)
            squares += (double)x[k] * (double)x[k];
        if (i < LAYERS)
            (void)snprintf(name, sizeof(name), "hidden.%d", i);
        vug_buf_printf(user, "%-10s 4 x 64, last row %.4f\n", name, sqrt(squares / WIDTH));
    }
    return true;
}

static void hidden_states_of_every_layer(void **state)
{
    (void)state;
    scratch dir = scratch_make_for_programs();
    const scratch_path program = build_example(&dir, "hidden");
    vug_buf expected = { 0 };
    vug_err err = { 0 };
    vug_model *m = help_model(MODEL, (vug_model_options){ 0 });
    vug_session *s = help_session(m);
    const vug_forward_options how = { .hidden = true, .on_step = put_hidden, .user = &expected };
    help_ok(vug_session_forward(s, prompt, PROMPT, &how, &err), &err);
    captured c = capture(
            NULL, NULL, (const char *const[]){ program.path, MODEL, "5", "17", "99", "200", NULL });
    assert_string_equal(c.err.ptr, "");
    assert_string_equal(c.out.ptr, expected.ptr);
    captured_release(&c);
    c = capture(NULL, NULL, (const char *const[]){ program.path, MODEL, NULL });
    assert_int_equal(c.code, 1);
    assert_string_equal(c.err.ptr, "hidden: program: no tokens\n");
    captured_release(&c);
    vug_buf_release(&expected);
    vug_session_destroy(s);
    vug_model_close(m);
    scratch_remove(&dir);
}

static int32_t best_of(const float *logits)
{
    int32_t at = 0;
    for (int32_t i = 1; i < TINY_VOCAB; i++)
        at = logits[i] > logits[at] ? i : at;
    return at;
}

/* Every line that starts with `sign` is of layer `layer`, but for the first, or is one
 * of the `more` others. */
static void count_lines(const char *text, char sign, const char *layer, int in_layer, int more)
{
    int inside = 0, outside = 0;
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        const char *found = strstr(line, layer);
        if (*line == sign)
            *(found && found < end ? &inside : &outside) += 1;
        line = end + 1;
    }
    assert_int_equal(inside, in_layer);
    assert_int_equal(outside, more);
}

static void a_patch_in_30_lines(void **state)
{
    (void)state;
    scratch dir = scratch_make_for_programs();
    const scratch_path program = build_example(&dir, "patch");
    vug_model *m = help_model(MODEL, (vug_model_options){ 0 });
    float *logits = help_alone(m, prompt, PROMPT);
    char last[64];
    captured c = capture(NULL, NULL,
                         (const char *const[]){ program.path, MODEL, "2", "4", "0.5", "5", "17",
                                                "99", "200", NULL });
    assert_string_equal(c.err.ptr, "");
    /* All 37 nodes of layer 2 are gone; in layer 4 a scale stands before the sum. */
    count_lines(c.out.ptr, '-', " layer 2", 37, 2);
    count_lines(c.out.ptr, '+', " layer 2", 0, 3);
    assert_non_null(strstr(c.out.ptr, "\n+ scale(post_attn_norm) [T,64] {by 0.5} layer 4\n"
                                      "+ add(add, scale) [T,64] layer 4\n"));
    (void)snprintf(last, sizeof(last), "\nbest token %d, patched ", best_of(logits));
    assert_non_null(strstr(c.out.ptr, last));
    captured_release(&c);
    c = capture(NULL, NULL,
                (const char *const[]){ program.path, MODEL, "2", "9", "0.5", "5", NULL });
    assert_string_equal(
            c.err.ptr,
            "patch: flow: no value 'attn_output' in layer 9, where the names are: none\n");
    captured_release(&c);
    vug_free(logits);
    vug_model_close(m);
    scratch_remove(&dir);
}

static void decoding_without_a_cache(void **state)
{
    (void)state;
    scratch dir = scratch_make_for_programs();
    const scratch_path program = build_example(&dir, "stateless");
    vug_model *m = help_model(MODEL, (vug_model_options){ 0 });
    vug_session *s = help_session(m);
    vug_buf expected = { 0 };
    int32_t id[PROMPT + STEPS + 1];
    memcpy(id, prompt, sizeof(prompt));
    for (int i = 0; i < PROMPT + STEPS; i++) {
        const int32_t next = best_of(help_forward(s, id, (size_t)i + 1));
        if (i + 1 >= PROMPT)
            id[i + 1] = next;
        vug_buf_printf(&expected, "position %d: token %d, then %d; the same bits as with a cache\n",
                       i, id[i], next);
    }
    captured c = capture(
            NULL, NULL,
            (const char *const[]){ program.path, MODEL, "20", "5", "17", "99", "200", NULL });
    assert_string_equal(c.err.ptr, "");
    assert_string_equal(c.out.ptr, expected.ptr);
    captured_release(&c);
    vug_buf_release(&expected);
    vug_session_destroy(s);
    vug_model_close(m);
    scratch_remove(&dir);
}

/* ---- C++ ---------------------------------------------------------------------------- */

static void the_header_is_cpp_too(void **state)
{
    (void)state;
    static const char program[] =
            "#include <vug/engine.h>\n"
            "#include <vug/flow.h>\n"
            "#include <vector>\n"
            "class Model {\n"
            "public:\n"
            "    explicit Model(const char *path)\n"
            "    {\n"
            "        vug_model_options options{};\n"
            "        options.threads = 2;\n"
            "        if (vug_model_open(path, &options, &model_, &err_) != VUG_OK)\n"
            "            model_ = nullptr;\n"
            "    }\n"
            "    ~Model() { vug_model_close(model_); }\n"
            "    Model(const Model &) = delete;\n"
            "    Model &operator=(const Model &) = delete;\n"
            "    vug_status step(vug_session *session, const std::vector<int32_t> &id)\n"
            "    {\n"
            "        return vug_session_forward(session, id.data(), id.size(), nullptr, &err_);\n"
            "    }\n"
            "private:\n"
            "    vug_model *model_ = nullptr;\n"
            "    vug_err err_{};\n"
            "};\n"
            "static vug_val twice(vug_flow *f, const vug_flow_phase *stage, void *)\n"
            "{\n"
            "    return flow_scale(f, flow_default(f, stage->x), 2);\n"
            "}\n"
            "vug_flow_options doubled()\n"
            "{\n"
            "    vug_flow_options options{};\n"
            "    options.layer = twice;\n"
            "    return options;\n"
            "}\n"
            "int main() { return Model(\".\").step(nullptr, { 1, 2 }) == VUG_OK; }\n";
    if (!has_cpp()) {
        print_message("there is no C++ compiler here\n");
        skip();
    }
    scratch dir = scratch_make();
    scratch_puts(&dir, "user.cc", program);
    must_compile((const char *const[]){ COMPILER("CXX", "c++"), "-std=c++17", "-Wall", "-Wextra",
                                        "-pedantic", "-Werror", "-Iinclude", "-fsyntax-only",
                                        scratch_at(&dir, "user.cc").path, NULL });
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_chat_answers_and_remembers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_chat_says_what_is_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(three_prompts_at_once, set_up, tear_down),
        cmocka_unit_test(hidden_states_of_every_layer),
        cmocka_unit_test(a_patch_in_30_lines),
        cmocka_unit_test(decoding_without_a_cache),
        cmocka_unit_test(the_header_is_cpp_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
