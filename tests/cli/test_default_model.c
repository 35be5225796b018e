/*
 * pebble, the model that comes with vug: found relative to the program, used without a MODEL and
 * by its name. A tiny checkpoint next to a copy of the program replaces it; the last tests use
 * pebble itself.
 */
#include "test.h"

#include <unistd.h>

#include "capture.h"
#include "core/os.h"
#include "tiny_model.h"

#define REAL "models/pebble"

/* The bias makes every answer AAA. */
#define ALWAYS_A "-q", "-n", "3", "--temperature", "0", "--logit-bias", "296=1000"

/* ---- helpers --------------------------------------------------------------------------- */

/* Creates the folder `name` in the tree, with its parents. */
static scratch make_folder(const scratch *tree, const char *name)
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

/* Copies the program to the folder `name`. */
static scratch_path copy_program(const scratch *tree, const char *name)
{
    const scratch in = make_folder(tree, name);
    const scratch_path path = scratch_at(&in, "vug");
    vug_text bytes;
    assert_int_equal(vug_read_file(capture_program(), (size_t)1 << 30, &bytes, NULL), VUG_OK);
    scratch_write(&in, "vug", bytes.ptr, bytes.len);
    vug_text_release(&bytes);
    assert_int_equal(chmod(path.path, 0755), 0);
    return path;
}

static void make_model(const scratch *tree, const char *name)
{
    const scratch in = make_folder(tree, name);
    tiny_model(&in, TINY_VOCAB);
}

#define RUN(program, ...) \
    capture(NULL, NULL, (const char *const[]){ (program).path, __VA_ARGS__, NULL })
#define RUN_IN(text, program, ...) \
    capture((text), NULL, (const char *const[]){ (program).path, __VA_ARGS__, NULL })

/* ---- location -------------------------------------------------------------------------- */

static void test_is_found_from_the_program(void **state)
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
        const scratch_path vug = copy_program(&tree, trees[i].program);
        char sentence[700];
        (void)snprintf(sentence, sizeof(sentence),
                       "vug: cannot find pebble, the model that comes with vug: looked for "
                       "models/pebble in %s/%s and the two folders above it, and for "
                       "../share/vug/models/pebble; specify a MODEL instead\n",
                       tree.path, trees[i].program);
        refuses(RUN(vug, "run", "What is vug?"), sentence);
        refuses(RUN(vug, "run"), sentence);
        refuses(RUN(vug, "inspect", "pebble"), sentence);
        make_model(&tree, trees[i].model);
        gives(RUN(vug, "run", "What is vug?", ALWAYS_A), "AAA\n", "");
        captured c = RUN(vug, "inspect", "pebble");
        assert_int_equal(c.code, 0);
        assert_non_null(strstr(c.out.ptr, scratch_at(&tree, trees[i].model).path));
        captured_release(&c);
        scratch_remove(&tree);
    }
}

static void test_nearest_folder_wins_and_links_are_followed(void **state)
{
    (void)state;
    const scratch tree = scratch_make_for_programs();
    const scratch_path vug = copy_program(&tree, "a/b");
    static const char *const nearer[] = { "models/pebble", "a/share/vug/models/pebble",
                                          "a/models/pebble", "a/b/models/pebble" };
    for (size_t i = 0; i < sizeof(nearer) / sizeof(*nearer); i++) {
        make_model(&tree, nearer[i]);
        captured c = RUN(vug, "inspect", "pebble");
        assert_non_null(strstr(c.out.ptr, scratch_at(&tree, nearer[i]).path));
        captured_release(&c);
    }
    (void)make_folder(&tree, "elsewhere");
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

/* ---- operands -------------------------------------------------------------------------- */

static void test_single_operand_is_prompt_or_model(void **state)
{
    (void)state;
    const scratch tree = scratch_make_for_programs();
    const scratch_path vug = copy_program(&tree, "build");
    make_model(&tree, "models/pebble");
    make_model(&tree, "my model");
    const scratch_path mine = scratch_at(&tree, "my model");
    char command[900];
    (void)snprintf(command, sizeof(command), "cd '%s' && '%s' run 'my model' </dev/null", tree.path,
                   vug.path);
    refuses(capture(NULL, NULL, (const char *const[]){ "sh", "-c", command, NULL }),
            "vug: the prompt is empty\n");
    /* Prompts. */
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
            "vug: nowhere: no such file or folder; put a MODEL, such as pebble, before a one-word "
            "prompt\n");
    /* What looks like a name of a hub's is no prompt, and no folder that is only missing. */
    static const char at_hub[] =
            "vug: no/where: no such folder; if it is a Hugging Face repository, download it first: "
            "hf download no/where --local-dir where\n";
    refuses(RUN(vug, "run", "no/where"), at_hub);
    refuses(RUN(vug, "run", "no/where", "hi"), at_hub);
    refuses(RUN(vug, "serve", "no/where"), at_hub);
    refuses(RUN(vug, "inspect", "models/nowhere"), "vug: models/nowhere: no such file or folder\n");
    refuses(RUN(vug, "inspect", "no/where/here"), "vug: no/where/here: no such file or folder\n");
    refuses(RUN(vug, "inspect", "no/where.gguf"),
            "vug: no/where.gguf: cannot open: No such file or directory\n");
    static const char *const paths[] = { "./no where", "../no where", "/no where", "~/no where" };
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        captured c = RUN(vug, "run", paths[i]);
        assert_int_equal(c.code, 2);
        assert_non_null(strstr(c.err.ptr, "no where: no such file or folder"));
        captured_release(&c);
    }
    refuses(RUN(vug, "run", "nowhere", "hi"), "vug: nowhere: no such file or folder\n");
    /* Commands without a prompt read an operand with a space as a model, too. */
    captured served = RUN(vug, "serve", "no where", "--port", "0");
    assert_int_equal(served.code, 2);
    assert_string_equal(served.err.ptr, "vug: no where: no such file or folder\n");
    assert_int_equal(served.out.len, 0); /* not that it listens */
    captured_release(&served);
    scratch_remove(&tree);
}

static void test_every_command_accepts_the_name(void **state)
{
    (void)state;
    const scratch tree = scratch_make_for_programs();
    const scratch_path vug = copy_program(&tree, "build");
    make_model(&tree, "models/pebble");
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

static void test_folder_of_the_same_name_wins(void **state)
{
    (void)state;
    const scratch tree = scratch_make_for_programs();
    const scratch_path vug = copy_program(&tree, "build");
    char command[900];
    make_model(&tree, "models/pebble");
    (void)make_folder(&tree, "here/pebble");
    (void)snprintf(command, sizeof(command), "cd '%s/here' && '%s' inspect pebble", tree.path,
                   vug.path);
    refuses(capture(NULL, NULL, (const char *const[]){ "sh", "-c", command, NULL }),
            "vug: pebble: has no config.json; expected a checkpoint folder with config.json and "
            "*.safetensors, or a GGUF file\n");
    scratch_remove(&tree);
}

/* ---- pebble itself ----------------------------------------------------------------------- */

static void assert_answer(const char *prompt, const char *expected)
{
    captured c = VUG("run", REAL, prompt, "--temperature", "0", "-q");
    if (c.code != 0 || !strstr(c.out.ptr, expected))
        fail_msg("%s\n%s%s", prompt, c.out.ptr, c.err.ptr);
    captured_release(&c);
}

static void test_pebble_answers(void **state)
{
    (void)state;
    assert_answer("What is vug?", "inference engine");
    assert_answer("What is 47 + 38?", "47 + 38 = 85");
    assert_answer("Sort 31, 7, 12.", "7, 12, 31");
    assert_answer("What is the capital of Norway?", "very small model");
}

static void test_pebble_matches_its_reference(void **state)
{
    (void)state;
    captured c = VUG("verify", REAL, "--reference", "tests/golden/pebble/reference.safetensors");
    if (c.code != 0)
        fail_msg("%s%s", c.out.ptr, c.err.ptr);
    captured_release(&c);
}

/* It has learned this kind of text: less than one bit per byte. */
static void test_pebble_predicts_held_out_text(void **state)
{
    enum { LENGTH = 32768 }; /* of text that is scored */
    (void)state;
    vug_text text;
    assert_int_equal(
            vug_read_file("tests/golden/pebble/held-out.txt", (size_t)1 << 20, &text, NULL),
            VUG_OK);
    assert_true(text.len > LENGTH);
    text.ptr[LENGTH] = '\0';
    captured c = capture(
            text.ptr, NULL,
            (const char *const[]){ capture_program(), "perplexity", REAL, "-", "--json", NULL });
    vug_text_release(&text);
    assert_int_equal(c.code, 0);
    const char *bits = strstr(c.out.ptr, "\"bits_per_byte\":0.");
    if (!bits)
        fail_msg("%s", c.out.ptr);
    captured_release(&c);
}

static void test_evaluation_accepts_the_training_text(void **state)
{
    (void)state;
    const char *const argv[] = {
        "python3", "models/pebble/training/evaluate", "--gold", "--failures", "--count", "150", NULL
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
        cmocka_unit_test(test_is_found_from_the_program),
        cmocka_unit_test(test_nearest_folder_wins_and_links_are_followed),
        cmocka_unit_test(test_single_operand_is_prompt_or_model),
        cmocka_unit_test(test_every_command_accepts_the_name),
        cmocka_unit_test(test_folder_of_the_same_name_wins),
        cmocka_unit_test(test_pebble_answers),
        cmocka_unit_test(test_pebble_matches_its_reference),
        cmocka_unit_test(test_pebble_predicts_held_out_text),
        cmocka_unit_test(test_evaluation_accepts_the_training_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
