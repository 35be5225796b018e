/*
 * The model that comes with vug: found from where the program lies, meant when no MODEL
 * is given and by its name. A tiny checkpoint stands in for it, beside a copy of the
 * program; the last test asks the real one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "capture.h"
#include "core/os.h"
#include "tiny_model.h"

#define REAL "models/pebble"

/* Whatever the prompt, the answer is AAA. */
#define ALWAYS_A "-q", "-n", "3", "--temperature", "0", "--logit-bias", "296=1000"

/* ---- trees ----------------------------------------------------------------------------- */

/* The folder `name` of the tree, with those above it. */
static scratch folder(const scratch *tree, const char *name)
{
    scratch made;
    const scratch_path path = scratch_at(tree, name);
    assert_true(strlen(path.path) < sizeof(made.path));
    memcpy(made.path, path.path, strlen(path.path) + 1);
    for (char *at = made.path + strlen(tree->path) + 1;; at++) {
        if (*at && *at != '/')
            continue;
        const char cut = *at;
        *at = '\0';
        if (!vug_is_folder(made.path))
            assert_int_equal(mkdir(made.path, 0777), 0);
        *at = cut;
        if (!cut)
            return made;
    }
}

/* A copy of the program in the folder `name`. */
static scratch_path program_in(const scratch *tree, const char *name)
{
    const scratch in = folder(tree, name);
    const scratch_path path = scratch_at(&in, "vug");
    vug_text bytes;
    assert_int_equal(vug_read_file(capture_program(), (size_t)1 << 30, &bytes, NULL), VUG_OK);
    scratch_write(&in, "vug", bytes.ptr, bytes.len);
    vug_text_release(&bytes);
    assert_int_equal(chmod(path.path, 0755), 0);
    return path;
}

static void model_in(const scratch *tree, const char *name)
{
    const scratch in = folder(tree, name);
    tiny_model(&in, TINY_VOCAB);
}

#define RUN(program, ...) \
    capture(NULL, NULL, (const char *const[]){ (program).path, __VA_ARGS__, NULL })
#define RUN_IN(text, program, ...) \
    capture((text), NULL, (const char *const[]){ (program).path, __VA_ARGS__, NULL })

/* ---- where it lies --------------------------------------------------------------------- */

static void found_from_the_program(void **state)
{
    static const struct {
        const char *program, *model;
    } trees[] = {
        { "vug-0.1", "vug-0.1/models/pebble" },
        { "repo/build", "repo/models/pebble" },
        { "repo/build/san", "repo/models/pebble" },
        { "usr/bin", "usr/share/vug/models/pebble" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++) {
        const scratch tree = scratch_make_for_programs();
        const scratch_path vug = program_in(&tree, trees[i].program);
        char sentence[700];
        (void)snprintf(sentence, sizeof(sentence),
                       "vug: pebble, the model that comes with vug, is not there: looked for "
                       "models/pebble in %s/%s and the two folders above it, and for "
                       "../share/vug/models/pebble; name the folder of a MODEL instead\n",
                       tree.path, trees[i].program);
        refuses(RUN(vug, "run", "What is vug?"), sentence);
        refuses(RUN(vug, "run"), sentence);
        refuses(RUN(vug, "inspect", "pebble"), sentence);
        model_in(&tree, trees[i].model);
        gives(RUN(vug, "run", "What is vug?", ALWAYS_A), "AAA\n", "");
        captured c = RUN(vug, "inspect", "pebble");
        assert_int_equal(c.code, 0);
        assert_non_null(strstr(c.out.ptr, scratch_at(&tree, trees[i].model).path));
        captured_release(&c);
        scratch_remove(&tree);
    }
}

/* What lies nearer is taken, and it is the real place of the program that counts. */
static void the_nearest_and_the_real_place(void **state)
{
    (void)state;
    const scratch tree = scratch_make_for_programs();
    const scratch_path vug = program_in(&tree, "a/b");
    static const char *const nearer[] = { "models/pebble", "a/share/vug/models/pebble",
                                          "a/models/pebble", "a/b/models/pebble" };
    for (size_t i = 0; i < sizeof(nearer) / sizeof(*nearer); i++) {
        model_in(&tree, nearer[i]);
        captured c = RUN(vug, "inspect", "pebble");
        assert_non_null(strstr(c.out.ptr, scratch_at(&tree, nearer[i]).path));
        captured_release(&c);
    }
    (void)folder(&tree, "elsewhere");
    const scratch_path link = scratch_at(&tree, "elsewhere/vug");
    assert_int_equal(symlink(vug.path, link.path), 0);
    gives(RUN(link, "run", "What is vug?", ALWAYS_A), "AAA\n", "");
    char path[600];
    (void)snprintf(path, sizeof(path), "PATH=%s/a/b", tree.path);
    gives(capture(NULL, (const char *const[]){ path, NULL },
                  (const char *const[]){ "vug", "run", "What is vug?", ALWAYS_A, NULL }),
          "AAA\n", "");
    scratch_remove(&tree);
}

/* ---- who means it ---------------------------------------------------------------------- */

static void what_a_single_operand_is(void **state)
{
    (void)state;
    const scratch tree = scratch_make_for_programs();
    const scratch_path vug = program_in(&tree, "build");
    model_in(&tree, "models/pebble");
    model_in(&tree, "my model");
    const scratch_path mine = scratch_at(&tree, "my model");
    char command[900];
    (void)snprintf(command, sizeof(command), "cd '%s' && '%s' run 'my model' </dev/null", tree.path,
                   vug.path);
    refuses(capture(NULL, NULL, (const char *const[]){ "sh", "-c", command, NULL }),
            "vug: the prompt is empty\n");
    /* Texts. */
    gives(RUN(vug, "run", "What is 1/2 + 1/2?", ALWAYS_A), "AAA\n", "");
    gives(RUN(vug, "run", "two\nlines", ALWAYS_A), "AAA\n", "");
    gives(RUN_IN("hello\n", vug, "run", ALWAYS_A), "AAA\n", "");
    gives(RUN_IN("hello\n", vug, "run", "-", ALWAYS_A), "AAA\n", "");
    refuses(RUN(vug, "run", ""), "vug: the prompt is empty\n");
    refuses(RUN(vug, "run", " "), "vug: the prompt is empty\n");
    refuses(RUN(vug, "run"), "vug: the prompt is empty\n");
    /* Models. */
    gives(RUN_IN("hello", vug, "run", mine.path, ALWAYS_A), "AAA\n", "");
    gives(RUN_IN("hello", vug, "run", "pebble", ALWAYS_A), "AAA\n", "");
    gives(RUN(vug, "run", "pebble", "hello", ALWAYS_A), "AAA\n", "");
    gives(RUN(vug, "run", "pebble", "pebble", ALWAYS_A), "AAA\n", "");
    refuses(RUN(vug, "run", "nowhere"),
            "vug: nowhere: no such folder; a prompt of one word needs a "
            "MODEL before it, such as pebble\n");
    /* What looks like a name of a hub's is no prompt, and no folder that is only missing. */
    static const char at_hub[] =
            "vug: no/where: no such folder; if it is a repository of Hugging Face, fetch it first: "
            "hf download no/where --local-dir where\n";
    refuses(RUN(vug, "run", "no/where"), at_hub);
    refuses(RUN(vug, "run", "no/where", "hi"), at_hub);
    refuses(RUN(vug, "serve", "no/where"), at_hub);
    refuses(RUN(vug, "inspect", "models/nowhere"), "vug: models/nowhere: no such folder\n");
    refuses(RUN(vug, "inspect", "no/where/here"), "vug: no/where/here: no such folder\n");
    refuses(RUN(vug, "inspect", "no/where.gguf"),
            "vug: no/where.gguf: cannot open: No such file or directory\n");
    static const char *const paths[] = { "./no where", "../no where", "/no where", "~/no where" };
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        captured c = RUN(vug, "run", paths[i]);
        assert_int_equal(c.code, 2);
        assert_non_null(strstr(c.err.ptr, "no where: no such folder"));
        captured_release(&c);
    }
    refuses(RUN(vug, "run", "nowhere", "hi"), "vug: nowhere: no such folder\n");
    /* A command without a prompt takes its operand for a model, blank or not. */
    captured served = RUN(vug, "serve", "no where", "--port", "0");
    assert_int_equal(served.code, 2);
    assert_string_equal(served.err.ptr, "vug: no where: no such folder\n");
    captured_release(&served);
    scratch_remove(&tree);
}

static void its_name_in_every_command(void **state)
{
    (void)state;
    const scratch tree = scratch_make_for_programs();
    const scratch_path vug = program_in(&tree, "build");
    model_in(&tree, "models/pebble");
    scratch_puts(&tree, "text.txt", "hello hello hello");
    const scratch_path text = scratch_at(&tree, "text.txt");
    gives(RUN_IN("A", vug, "tokenize", "pebble"), "     296  \"A\"\n", "");
    gives(RUN_IN("[{\"role\":\"user\",\"content\":\"x\"}]", vug, "template", "pebble", "--messages",
                 "-"),
          "<bos><start_of_turn>user\nx<end_of_turn>\n<start_of_turn>model\n", "");
    static const char *const commands[] = { "inspect", "graph" };
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        captured c = RUN(vug, commands[i], "pebble");
        assert_int_equal(c.code, 0);
        captured_release(&c);
    }
    captured c = RUN(vug, "verify", "pebble");
    assert_non_null(strstr(c.err.ptr, "/models/pebble/reference.safetensors"));
    captured_release(&c);
    c = RUN(vug, "bench", "pebble", "-p", "4", "-n", "2", "-r", "1");
    assert_int_equal(c.code, 0);
    captured_release(&c);
    c = RUN(vug, "perplexity", "pebble", text.path, "--against", "pebble");
    assert_non_null(strstr(c.out.ptr, "100.00 %"));
    captured_release(&c);
    scratch_remove(&tree);
}

/* A folder of that name is what the user means, there and only there. */
static void a_folder_of_its_name(void **state)
{
    (void)state;
    const scratch tree = scratch_make_for_programs();
    const scratch_path vug = program_in(&tree, "build");
    char command[900];
    model_in(&tree, "models/pebble");
    (void)folder(&tree, "here/pebble");
    (void)snprintf(command, sizeof(command), "cd '%s/here' && '%s' inspect pebble", tree.path,
                   vug.path);
    refuses(capture(NULL, NULL, (const char *const[]){ "sh", "-c", command, NULL }),
            "vug: pebble/config.json: cannot open: No such file or directory\n");
    scratch_remove(&tree);
}

/* ---- the real one ------------------------------------------------------------------------ */

static void says(const char *prompt, const char *expected)
{
    captured c = VUG("run", REAL, prompt, "--temperature", "0", "-q");
    if (c.code != 0 || !strstr(c.out.ptr, expected))
        fail_msg("%s\n%s%s", prompt, c.out.ptr, c.err.ptr);
    captured_release(&c);
}

static void the_real_one_answers(void **state)
{
    (void)state;
    says("What is vug?", "inference engine");
    says("What is 47 + 38?", "47 + 38 = 85");
    says("Sort 31, 7, 12.", "7, 12, 31");
    says("What is the capital of Norway?", "very small model");
}

static void the_real_one_is_computed_right(void **state)
{
    (void)state;
    captured c = VUG("verify", REAL, "--reference", "tests/golden/pebble/reference.safetensors");
    if (c.code != 0)
        fail_msg("%s%s", c.out.ptr, c.err.ptr);
    captured_release(&c);
    /* Less than one bit a byte: text of its kind is what it knows. */
    c = VUG("perplexity", REAL, "tests/golden/pebble/held-out.txt", "--json");
    assert_int_equal(c.code, 0);
    const char *bits = strstr(c.out.ptr, "\"bits_per_byte\":0.");
    if (!bits)
        fail_msg("%s", c.out.ptr);
    captured_release(&c);
}

/* What the examination calls right is what the training text says. */
static void its_examination_is_fair(void **state)
{
    (void)state;
    const char *const argv[] = {
        "python3", "tools/pebble/evaluate", "--gold", "--failures", "--count", "150", NULL
    };
    const char *const env[] = { "PYTHONDONTWRITEBYTECODE=1", NULL };
    captured c = capture(NULL, env, argv);
    if (c.code != 0 || !strstr(c.out.ptr, "| questions about vug and pebble | 150 + 150 | 100.0 %"))
        fail_msg("%s%s", c.out.ptr, c.err.ptr);
    captured_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_from_the_program),
        cmocka_unit_test(the_nearest_and_the_real_place),
        cmocka_unit_test(what_a_single_operand_is),
        cmocka_unit_test(its_name_in_every_command),
        cmocka_unit_test(a_folder_of_its_name),
        cmocka_unit_test(the_real_one_answers),
        cmocka_unit_test(the_real_one_is_computed_right),
        cmocka_unit_test(its_examination_is_fair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
