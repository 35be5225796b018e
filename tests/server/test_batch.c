/* A batch with pebble: what is answered, what is kept, what is refused. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/os.h"
#include "scratch.h"
#include "serve_help.h"
#include "server/batch_input.h"

#define BODY "{\"model\":\"pebble\",\"prompt\":\"a\",\"max_tokens\":3,\"seed\":1}"
#define REQUEST(id, body)                                                                          \
    "{\"custom_id\":\"" id "\",\"method\":\"POST\",\"url\":\"/v1/completions\",\"body\":" body "}" \
    "\n"

/* Stops after this many calls; below 0: never. */
static bool stop_after(uint64_t done, uint64_t total, void *user)
{
    int *left = user;
    assert_true(done <= total);
    return *left < 0 || (*left)-- > 0;
}

typedef struct {
    scratch dir;
    scratch_path input, output;
    vug_batch_report report;
    vug_err err;
    int calls; /* of progress until it stops the batch */
} batch_test;

static batch_test begin(const char *input)
{
    batch_test t = { .dir = scratch_make(), .calls = -1 };
    t.input = scratch_at(&t.dir, "in");
    t.output = scratch_at(&t.dir, "out");
    scratch_puts(&t.dir, "in", input);
    return t;
}

static vug_status run_model(batch_test *t, const char *model)
{
    const vug_batch_options options = { .server = { .model_path = model },
                                        .input = t->input.path,
                                        .output = t->output.path,
                                        .progress = stop_after,
                                        .user = &t->calls };
    t->err = (vug_err){ 0 };
    return vug_batch_run(&options, &t->report, &t->err);
}

static void run(batch_test *t)
{
    if (run_model(t, SERVE_MODEL) != VUG_OK)
        fail_msg("%s", t->err.msg);
}

static void refused(batch_test *t, vug_status code, const char *part)
{
    assert_int_equal(run_model(t, SERVE_MODEL), code);
    if (!strstr(t->err.msg, part))
        fail_msg("'%s' does not contain '%s'", t->err.msg, part);
}

static vug_text read_output(const batch_test *t)
{
    vug_text text;
    assert_int_equal(vug_read_file(t->output.path, (size_t)1 << 30, &text, NULL), VUG_OK);
    return text;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

/* How often `part` occurs in the output. */
static void assert_output(const batch_test *t, const char *part, size_t n)
{
    vug_text text = read_output(t);
    if (count(text.ptr, part) != n)
        fail_msg("%zu times '%s' in: %s", count(text.ptr, part), part, text.ptr);
    vug_text_release(&text);
}

/* ---- answers -------------------------------------------------------------------------- */

/* Every line is valid JSON and ends with a newline; errors end nothing. */
static void test_answers(void **state)
{
    (void)state;
    batch_test t = begin(REQUEST("one", BODY) "\n  \n" REQUEST(
            "two",
            "{\"model\":\"x\",\"prompt\":"
            "\"a\"}") "no request\n" REQUEST("three", BODY) "{\"custom_id\":\"four\"}\n"
                                                            "{\"custom_id\":\"chat\",\"method\":"
                                                            "\"POST\",\"url\":\"/v1/chat/"
                                                            "completions\","
                                                            "\"body\":{\"model\":\"pebble\","
                                                            "\"max_tokens\":3,"
                                                            "\"messages\":[{\"role\":\"user\","
                                                            "\"content\":\"a\"}]}}");
    run(&t);
    assert_int_equal(t.report.requests, 6);
    assert_int_equal(t.report.answered, 6);
    assert_int_equal(t.report.failed, 3);
    assert_int_equal(t.report.kept, 0);
    assert_int_equal(t.report.generated_tokens, 9);
    assert_true(t.report.prompt_tokens >= 3 && t.report.seconds > 0);
    assert_output(&t, "\n", 6);
    assert_output(&t, "\"status_code\":200", 3);
    assert_output(&t, "\"status_code\":404", 1);
    assert_output(&t, "\"object\":\"chat.completion\"", 1);
    assert_output(&t, "\"object\":\"text_completion\"", 2);
    assert_output(&t, "\"custom_id\":null,\"response\":null,\"error\":{", 1);
    assert_output(&t, "\"line\":5}", 1);
    assert_output(&t, "\"custom_id\":\"four\",\"response\":null,\"error\":{", 1);
    assert_output(&t, "the line has no method\",\"line\":7}", 1);
    vug_text text = read_output(&t);
    for (char *line = text.ptr, *next; *line; line = next) {
        vug_arena arena = { 0 };
        const vug_jv *json;
        next = strchr(line, '\n') + 1;
        assert_int_equal(vug_json_tree((vug_str){ line, (size_t)(next - line) }, "line", &arena,
                                       &json, NULL),
                         VUG_OK);
        vug_arena_release(&arena);
    }
    vug_text_release(&text);
    scratch_remove(&t.dir);
}

static void test_too_long_line(void **state)
{
    (void)state;
    batch_test t = begin("");
    char *text = malloc(VUG_BATCH_MAX_LINE + 1000);
    assert_non_null(text);
    memset(text, ' ', VUG_BATCH_MAX_LINE + 1);
    text[0] = '{';
    (void)snprintf(text + VUG_BATCH_MAX_LINE + 1, 900, "\n%s", REQUEST("after", BODY));
    scratch_puts(&t.dir, "in", text);
    free(text);
    run(&t);
    assert_int_equal(t.report.answered, 2);
    assert_output(&t, "the line is longer than 33619968 bytes\",\"line\":1}", 1);
    assert_output(&t, "\"custom_id\":\"after\",\"response\":{\"status_code\":200", 1);
    scratch_remove(&t.dir);
}

static void test_empty_input(void **state)
{
    (void)state;
    batch_test t = begin("\n");
    refused(&t, VUG_FORMAT, "in: has no requests, expected one per line");
    assert_false(vug_file_exists(t.output.path));
    scratch_remove(&t.dir);
}

/* ---- continuing ------------------------------------------------------------------------- */

/* An output is cut after every number of bytes of its last line, and continued. Whole lines stay as
 * they are, so nothing is answered twice. The model is not even loaded when nothing is missing. */
static void test_continue(void **state)
{
    (void)state;
    batch_test t = begin(REQUEST("one", BODY) "bad\n" REQUEST("two", BODY));
    run(&t);
    vug_text whole = read_output(&t);
    assert_int_equal(run_model(&t, "no/model"), VUG_OK);
    assert_int_equal(t.report.kept, 3);
    assert_int_equal(t.report.answered, 0);
    size_t last = whole.len - 1;
    while (whole.ptr[last - 1] != '\n')
        last--;
    for (size_t n = last; n < whole.len; n += 97) {
        assert_int_equal(truncate(t.output.path, (off_t)n), 0);
        run(&t);
        assert_int_equal(t.report.kept, 2);
        assert_int_equal(t.report.answered, 1);
        vug_text text = read_output(&t);
        assert_memory_equal(text.ptr, whole.ptr, last);
        assert_int_equal(count(text.ptr, "\n"), 3);
        assert_int_equal(count(text.ptr, "\"id\":\"batch_req_"), 3);
        vug_text_release(&text);
        vug_text_release(&whole);
        whole = read_output(&t);
    }
    vug_text_release(&whole);
    assert_output(&t, "\"custom_id\":\"one\"", 1);
    assert_output(&t, "\"custom_id\":\"two\"", 1);
    assert_output(&t, "\"line\":2", 1);
    scratch_remove(&t.dir);
}

/* Stopped at once, while the first request runs, and then continued. */
static void test_stopped(void **state)
{
    (void)state;
    batch_test t =
            begin(REQUEST("long", "{\"model\":\"pebble\",\"prompt\":\"a\",\"max_tokens\":100,"
                                  "\"n\":20,\"ignore_eos\":true}") REQUEST("short", BODY));
    for (t.calls = 0; t.calls < 4; t.calls += 3) {
        const int calls = t.calls;
        refused(&t, VUG_CANCELLED, "interrupted");
        assert_int_equal(t.report.requests, 2);
        t.calls = calls;
    }
    t.calls = -1;
    run(&t);
    assert_int_equal(t.report.kept + t.report.answered, 2);
    assert_int_equal(t.report.failed, 0);
    assert_output(&t, "\"custom_id\":\"long\"", 1);
    assert_output(&t, "\"custom_id\":\"short\"", 1);
    scratch_remove(&t.dir);
}

/* ---- what is refused -------------------------------------------------------------------- */

static void test_duplicates(void **state)
{
    (void)state;
    batch_test t = begin(REQUEST("a", BODY) REQUEST("b", BODY) "\n" REQUEST("\\u0061", BODY));
    refused(&t, VUG_FORMAT, "/in: lines 1 and 4 have the same custom_id");
    assert_false(vug_file_exists(t.output.path));
    scratch_remove(&t.dir);
}

/* A file that is no output is not touched. */
static void test_wrong_output(void **state)
{
    (void)state;
    batch_test t = begin(REQUEST("a", BODY));
    scratch_puts(&t.dir, "out", "{\"custom_id\":\"a\",\"response\":{},\"error\":null}\nmy notes\n");
    refused(&t, VUG_FORMAT, "/out:2: JSON: line 1, column 1: expected an object");
    assert_output(&t, "my notes\n", 1);
    t.output = t.input;
    refused(&t, VUG_ARGUMENT, "/in: the output must not be the input");
    t.output = scratch_at(&t.dir, "copy");
    scratch_puts(&t.dir, "copy", REQUEST("a", BODY));
    refused(&t, VUG_FORMAT, "/copy:1: the line is not from the output of a batch");
    t.output = scratch_at(&t.dir, ".");
    refused(&t, VUG_WRITE, "cannot write: Is a directory");
    t.output = scratch_at(&t.dir, "pipe");
    assert_int_equal(mkfifo(t.output.path, 0600), 0);
    refused(&t, VUG_IO, "/pipe: the output must be a regular file");
    scratch_remove(&t.dir);
}

static void test_locked_output(void **state)
{
    (void)state;
    batch_test t = begin(REQUEST("a", BODY));
    const int fd = open(t.output.path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    refused(&t, VUG_IO, "/out: another process writes to it");
    assert_int_equal(close(fd), 0);
    run(&t);
    scratch_remove(&t.dir);
}

static void test_missing_files(void **state)
{
    (void)state;
    batch_test t = begin(REQUEST("a", BODY));
    assert_int_not_equal(run_model(&t, "no/model"), VUG_OK);
    assert_non_null(strstr(t.err.msg, "no/model"));
    t.input = scratch_at(&t.dir, "none");
    refused(&t, VUG_IO, "/none: cannot open: No such file or directory");
    scratch_remove(&t.dir);
}

/* The output cannot grow, as on a full disk: the batch ends, and the file has whole lines only. */
static void test_full_disk(void **state)
{
    (void)state;
    batch_test t = begin(REQUEST("a", BODY) REQUEST("b", BODY) REQUEST("c", BODY));
    run(&t);
    vug_text text = read_output(&t);
    const size_t first = (size_t)(strchr(text.ptr, '\n') + 1 - text.ptr);
    vug_text_release(&text);
    assert_int_equal(truncate(t.output.path, (off_t)first), 0);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = first + 10;
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const vug_status st = run_model(&t, SERVE_MODEL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(st, VUG_WRITE);
    assert_non_null(strstr(t.err.msg, "/out: cannot write: File too large"));
    assert_output(&t, "\n", 1);
    text = read_output(&t);
    assert_int_equal(text.len, first);
    vug_text_release(&text);
    run(&t);
    assert_int_equal(t.report.kept, 1);
    assert_output(&t, "\n", 3);
    scratch_remove(&t.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),       cmocka_unit_test(test_too_long_line),
        cmocka_unit_test(test_empty_input),   cmocka_unit_test(test_continue),
        cmocka_unit_test(test_stopped),       cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_wrong_output),  cmocka_unit_test(test_locked_output),
        cmocka_unit_test(test_missing_files), cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
