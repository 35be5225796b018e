/*
 * What the documentation shows works: the examples need vug.h and the library
 * alone, say what they should, and the header is C++ too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "capture.h"
#include "engine_help.h"
#include "tiny_model.h"

/* A sanitized library wants its runtime: there the example is the one that make
 * has built beside it. */
#if defined(__has_feature)
#define FEATURE(name) __has_feature(name)
#else
#define FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || FEATURE(address_sanitizer) || \
        FEATURE(thread_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static const char *environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static bool runs(const char *program)
{
    captured c = capture(NULL, NULL, (const char *const[]){ program, "--version", NULL });
    const bool ok = c.code == 0;
    captured_release(&c);
    return ok;
}

static void must_compile(const char *const *argv)
{
    captured c = capture(NULL, NULL, argv);
    if (c.code != 0 || c.err.len > 0)
        fail_msg("%s: exit code %d: %s", argv[0], c.code, c.err.ptr);
    captured_release(&c);
}

/* ---- the chat ------------------------------------------------------------------- */

typedef struct {
    scratch dir; /* a model that can chat, and the program */
    scratch_path program;
} fixture;

static int set_up(void **state)
{
    const char *build = environment("VUG_BUILD", VUG_BUILD);
    fixture *f = vug_alloc_zero(1, sizeof(*f));
    assert_non_null(f);
    f->dir = scratch_make();
    tiny_model(&f->dir, TINY_VOCAB);
    *state = f;
    if (SANITIZED) {
        (void)snprintf(f->program.path, sizeof(f->program.path), "%s/examples/chat", build);
        return 0;
    }
    scratch_path library;
    (void)snprintf(library.path, sizeof(library.path), "%s/libvug.a", build);
    f->program = scratch_at(&f->dir, "chat");
    must_compile((const char *const[]){ environment("CC", "cc"), "-std=c17", "-Wall", "-Wextra",
                                        "-Wpedantic", "-Werror", "-Iinclude",
                                        "docs/examples/chat.c", library.path, "-lm", "-pthread",
                                        "-o", f->program.path, NULL });
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
    assert_string_equal(c.err.ptr, "chat: no/such/folder: no such folder\n");
    captured_release(&c);
    c = chat(f, GOLDEN("gemma3-text"), "hello\n");
    assert_int_equal(c.code, 1);
    assert_non_null(strstr(c.err.ptr, "has no tokenizer.json"));
    captured_release(&c);
}

/* ---- C++ ---------------------------------------------------------------------------- */

static void the_header_is_cpp_too(void **state)
{
    (void)state;
    static const char program[] =
            "#include <vug/vug.h>\n"
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
            "int main() { return Model(\".\").step(nullptr, { 1, 2 }) == VUG_OK; }\n";
    const char *compiler = environment("CXX", "c++");
    if (!runs(compiler)) {
        print_message("there is no C++ compiler here\n");
        skip();
    }
    scratch dir = scratch_make();
    scratch_puts(&dir, "user.cc", program);
    must_compile((const char *const[]){ compiler, "-std=c++17", "-Wall", "-Wextra", "-pedantic",
                                        "-Werror", "-Iinclude", "-fsyntax-only",
                                        scratch_at(&dir, "user.cc").path, NULL });
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_chat_answers_and_remembers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_chat_says_what_is_wrong, set_up, tear_down),
        cmocka_unit_test(the_header_is_cpp_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
