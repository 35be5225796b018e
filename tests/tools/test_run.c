/*
 * The runner of the tests, tests/run: what it makes of programs that behave and of
 * programs that do not. The last line and the exit status are a contract.
 */
#include "test.h"

#include "capture.h"
#include "scratch.h"

/* A test program that is a shell script, and what the runner must say of it. */
typedef struct {
    const char *script;
    int code;
    const char *summary;
    const char *sentence; /* anywhere in the output; NULL: nothing more */
} program;

static const program programs[] = {
    { "echo 1..2; echo ok 1 - a; echo ok 2 - b", 0, "2 passed, 0 failed, 0 skipped", NULL },
    { "echo 1..1; echo ok 1 - a; echo 1..1; echo ok 1 - b", 0, "2 passed, 0 failed, 0 skipped",
      NULL },
    { "echo 1..2; echo ok 1 - a; echo the reason; echo 'not ok 2 # SKIP b'", 0,
      "1 passed, 0 failed, 1 skipped", "skipped b\n    | the reason\n" },
    { "echo 1..2; echo printed before; echo 'not ok 1 - a'; echo '# 1 != 2'; echo ok 2 - b; exit 1",
      1, "1 passed, 1 failed, 0 skipped", "FAILED a\n    | printed before\n    | 1 != 2\n" },
    { "true", 1, "0 passed, 1 failed, 0 skipped", "FAILED printed no result" },
    { "echo 1..3; echo ok 1 - a", 1, "1 passed, 1 failed, 0 skipped", "gave 1 results of 3" },
    { "echo 1..1; echo ok 1 - a; exit 3", 1, "1 passed, 1 failed, 0 skipped", "exit status 3" },
    { "echo 1..2; echo ok 1 - a; kill -9 $$", 1, "1 passed, 1 failed, 0 skipped",
      "ended by signal 9" },
};

enum { N_PROGRAMS = sizeof(programs) / sizeof(programs[0]) };

static const char *last_line(const char *text)
{
    const char *end = strrchr(text, '\n');
    assert_non_null(end);
    while (end > text && end[-1] != '\n')
        end--;
    return end;
}

static scratch_path write_program(const scratch *dir, const char *name, const program *p)
{
    char text[4096];
    const int n = snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", p->script);
    assert_in_range(n, 1, sizeof(text) - 1);
    scratch_puts(dir, name, text);
    const scratch_path path = scratch_at(dir, name);
    assert_int_equal(chmod(path.path, 0755), 0);
    return path;
}

static void test_each_kind_of_program(void **state)
{
    (void)state;
    const scratch dir = scratch_make_for_programs();
    for (size_t i = 0; i < N_PROGRAMS; i++) {
        const program *p = &programs[i];
        const scratch_path path = write_program(&dir, "test", p);
        captured c = capture(NULL, NULL, (const char *const[]){ "tests/run", path.path, NULL });
        char expected[64];
        (void)snprintf(expected, sizeof(expected), "%s\n", p->summary);
        assert_string_equal(last_line(c.out.ptr), expected);
        assert_int_equal(c.code, p->code);
        if (p->sentence && !strstr(c.out.ptr, p->sentence))
            fail_msg("wanted: %s\ngot: %s", p->sentence, c.out.ptr);
        captured_release(&c);
    }
    scratch_remove(&dir);
}

static void test_sums_up(void **state)
{
    (void)state;
    const scratch dir = scratch_make_for_programs();
    const scratch_path good = write_program(&dir, "good", &programs[0]);
    const scratch_path skips = write_program(&dir, "skips", &programs[2]);
    const scratch_path bad = write_program(&dir, "bad", &programs[3]);
    const scratch_path missing = scratch_at(&dir, "missing");
    captured c = capture(NULL, NULL,
                         (const char *const[]){ "tests/run", bad.path, good.path, skips.path,
                                                missing.path, NULL });
    assert_string_equal(last_line(c.out.ptr), "4 passed, 2 failed, 1 skipped\n");
    assert_int_equal(c.code, 1);
    captured_release(&c);
    scratch_remove(&dir);
}

static void test_no_programs_is_no_success(void **state)
{
    (void)state;
    captured c = capture(NULL, NULL, (const char *const[]){ "tests/run", NULL });
    assert_int_equal(c.code, 1);
    assert_string_equal(last_line(c.out.ptr), "0 passed, 1 failed, 0 skipped\n");
    captured_release(&c);
}

static void test_a_hanging_program_is_ended(void **state)
{
    (void)state;
    static const program sleeper = { "echo 1..1; exec sleep 60", 1, NULL, NULL };
    const scratch dir = scratch_make_for_programs();
    const scratch_path path = write_program(&dir, "sleeper", &sleeper);
    captured c = capture(NULL, (const char *const[]){ "LIMIT=1", NULL },
                         (const char *const[]){ "tests/run", path.path, NULL });
    assert_int_equal(c.code, 1);
    assert_non_null(strstr(c.out.ptr, "still running after 1 seconds"));
    captured_release(&c);
    scratch_remove(&dir);
}

/* Each program waits for the file of the other, for at most a minute. */
static void test_programs_run_at_once(void **state)
{
    (void)state;
    const scratch dir = scratch_make_for_programs();
    char text[2][2048];
    scratch_path path[2];
    for (int i = 0; i < 2; i++) {
        const char *at = dir.path;
        (void)snprintf(text[i], sizeof(text[i]),
                       "touch %s/%d; n=0; while [ ! -f %s/%d ] && [ $n -lt 600 ]; do sleep 0.1; "
                       "n=$((n+1)); done; [ -f %s/%d ] && echo 1..1 && echo ok 1 - a",
                       at, i, at, 1 - i, at, 1 - i);
        path[i] = write_program(&dir, i ? "second" : "first", &(program){ .script = text[i] });
    }
    captured c = capture(NULL, (const char *const[]){ "JOBS=2", NULL },
                         (const char *const[]){ "tests/run", path[0].path, path[1].path, NULL });
    assert_string_equal(last_line(c.out.ptr), "2 passed, 0 failed, 0 skipped\n");
    assert_int_equal(c.code, 0);
    captured_release(&c);
    scratch_remove(&dir);
}

/* The program that runs alone comes last, and sees the result of the one listed after it. */
static void test_alone_runs_after_all_others(void **state)
{
    (void)state;
    const scratch dir = scratch_make_for_programs();
    char text[512];
    (void)snprintf(text, sizeof(text), "[ -f %s/good.counts ] && echo 1..1 && echo ok 1 - a",
                   dir.path);
    const scratch_path alone = write_program(&dir, "alone", &(program){ .script = text });
    const scratch_path good = write_program(&dir, "good", &programs[0]);
    captured c = capture(NULL, (const char *const[]){ "ALONE=alone", NULL },
                         (const char *const[]){ "tests/run", alone.path, good.path, NULL });
    assert_string_equal(last_line(c.out.ptr), "3 passed, 0 failed, 0 skipped\n");
    captured_release(&c);
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind_of_program),
        cmocka_unit_test(test_sums_up),
        cmocka_unit_test(test_no_programs_is_no_success),
        cmocka_unit_test(test_a_hanging_program_is_ended),
        cmocka_unit_test(test_programs_run_at_once),
        cmocka_unit_test(test_alone_runs_after_all_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
