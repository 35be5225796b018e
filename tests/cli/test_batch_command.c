/* `vug batch`: operands, report, exit code, and what happens to a batch that is killed. */
#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "core/mem.h"
#include "core/os.h"
#include "scratch.h"

#define MODEL "./models/pebble/."

static void write_requests(const scratch *dir, int n, int tokens)
{
    vug_buf text = { 0 };
    for (int i = 0; i < n; i++)
        vug_buf_printf(&text,
                       "{\"custom_id\":\"r%d\",\"method\":\"POST\",\"url\":\"/v1/completions\","
                       "\"body\":{\"model\":\"pebble\",\"prompt\":\"%d\",\"max_tokens\":%d,"
                       "\"ignore_eos\":true}}\n",
                       i, i, tokens);
    scratch_write(dir, "in", text.ptr, text.len);
    vug_buf_release(&text);
}

static void assert_has(const vug_text *text, const char *part)
{
    if (!strstr(text->ptr, part))
        fail_msg("no '%s' in: %s", part, text->ptr);
}

static void test_report(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path in = scratch_at(&dir, "in"), out = scratch_at(&dir, "out");
    write_requests(&dir, 3, 4);
    captured c = VUG("batch", MODEL, in.path, out.path);
    assert_int_equal(c.code, 0);
    assert_has(&c.out, "requests  3 answered, 0 failed, 0 kept\n");
    assert_has(&c.out, ", 12 generated\n");
    assert_has(&c.out, " generated tokens/s; ");
    assert_string_equal(c.err.ptr, "");
    captured_release(&c);
    c = VUG("batch", MODEL, in.path, out.path, "--json");
    assert_int_equal(c.code, 0);
    assert_has(&c.out, "{\"requests\":3,\"kept\":3,\"answered\":0,\"failed\":0,");
    captured_release(&c);
    scratch_remove(&dir);
}

static void test_schema_warnings(void **state)
{
    static const char line[] =
            "{\"custom_id\":\"%d\",\"method\":\"POST\",\"url\":\"/v1/completions\","
            "\"body\":{\"model\":\"pebble\",\"prompt\":\"x\",\"max_tokens\":1,\"json_schema\":"
            "{\"maxLenght\":5}}}\n";
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path in = scratch_at(&dir, "in"), out = scratch_at(&dir, "out"),
                       strict = scratch_at(&dir, "strict");
    vug_buf text = { 0 };
    vug_buf_printf(&text, line, 1);
    vug_buf_printf(&text, line, 2);
    scratch_write(&dir, "in", text.ptr, text.len);
    captured c = VUG("batch", MODEL, in.path, out.path, "-q", "--slots", "1");
    assert_int_equal(c.code, 0);
    assert_has(&c.err, "vug: warning: request batch-");
    assert_has(&c.err, ": schema: #: the keyword 'maxLenght' is unknown");
    captured_release(&c);
    c = VUG("batch", MODEL, in.path, strict.path, "-q", "--strict-schema");
    assert_int_equal(c.code, 1);
    assert_has(&c.out, "requests  0 answered, 2 failed, 0 kept\n");
    captured_release(&c);
    vug_buf_release(&text);
    scratch_remove(&dir);
}

/* The model is the first of three operands, and pebble without it. */
static void test_operands(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path in = scratch_at(&dir, "in"), out = scratch_at(&dir, "out");
    write_requests(&dir, 1, 1);
    captured c = VUG("batch", in.path, out.path);
    assert_int_equal(c.code, 0);
    assert_has(&c.out, "requests  1 answered");
    captured_release(&c);
    refuses(VUG("batch", in.path), "usage: vug batch [MODEL] INPUT OUTPUT");
    refuses(VUG("batch", MODEL, in.path), MODEL " is a model, not a file of requests");
    refuses(VUG("batch", MODEL, in.path, out.path, "more"), "");
    const scratch_path new = scratch_at(&dir, "new");
    refuses(VUG("batch", "no where", in.path, new.path), "no where");
    assert_int_equal(access(new.path, F_OK), -1);
    scratch_remove(&dir);
}

static void test_failed_requests(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path in = scratch_at(&dir, "in"), out = scratch_at(&dir, "out");
    scratch_puts(&dir, "in",
                 "\n{\"custom_id\":\"a\",\"method\":\"POST\",\"url\":\"/v1/completions\","
                 "\"body\":{\"prompt\":\"x\",\"n\":\"two\"}}\nno request\n");
    captured c = VUG("batch", MODEL, in.path, out.path);
    assert_int_equal(c.code, 1);
    assert_has(&c.out, "requests  0 answered, 2 failed, 0 kept\n");
    assert_has(&c.err, "/in:2: status 400: n must be a number, not a string; 2 requests failed, ");
    captured_release(&c);
    const scratch_path one = scratch_at(&dir, "one"), two = scratch_at(&dir, "two");
    scratch_puts(&dir, "one", "no request\n");
    c = VUG("batch", MODEL, one.path, two.path);
    assert_has(&c.err, "/one:1: the request: line 1, column 1: expected an object, found null\n");
    captured_release(&c);
    scratch_remove(&dir);
}

static size_t count_lines(const char *path)
{
    vug_text text;
    size_t n = 0;
    if (vug_read_file(path, (size_t)1 << 30, &text, NULL) != VUG_OK)
        return 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '\n';
    vug_text_release(&text);
    return n;
}

/* Runs a batch and sends it a signal after its first answers. Returns the status of waitpid. */
static int interrupt_batch(const char *in, const char *out, size_t answers, int signal_number)
{
    const char *const argv[] = { "vug", "batch", MODEL, in, out, "--quiet", NULL };
    const struct timespec moment = { .tv_nsec = 1000000 };
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        capture_reset_signals();
        (void)freopen("/dev/null", "w", stdout);
        (void)freopen("/dev/null", "w", stderr);
        (void)execv(capture_program(), (char *const *)argv);
        _exit(127);
    }
    while (count_lines(out) < answers) {
        if (waitpid(child, &status, WNOHANG) == child) /* it has failed, or answered all */
            return status;
        (void)nanosleep(&moment, NULL);
    }
    assert_int_equal(kill(child, signal_number), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_interrupted(void **state)
{
    (void)state;
    enum { N = 60 };
    const scratch dir = scratch_make();
    const scratch_path in = scratch_at(&dir, "in"), out = scratch_at(&dir, "out");
    write_requests(&dir, N, 100);
    int status = interrupt_batch(in.path, out.path, 2, SIGINT);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
    const size_t first = count_lines(out.path);
    assert_in_range(first, 2, N - 1);
    status = interrupt_batch(in.path, out.path, first + 2, SIGKILL);
    assert_true(WIFSIGNALED(status));
    const size_t killed = count_lines(out.path);
    assert_in_range(killed, first + 2, N - 1);
    status = interrupt_batch(in.path, out.path, killed + 2, SIGTERM);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
    const size_t second = count_lines(out.path);
    assert_in_range(second, killed + 2, N - 1);
    captured c = VUG("batch", MODEL, in.path, out.path);
    char kept[64];
    (void)snprintf(kept, sizeof(kept), "requests  %zu answered, 0 failed, %zu kept\n", N - second,
                   second);
    assert_int_equal(c.code, 0);
    assert_has(&c.out, kept);
    captured_release(&c);
    assert_int_equal(count_lines(out.path), N);
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report),      cmocka_unit_test(test_schema_warnings),
        cmocka_unit_test(test_operands),    cmocka_unit_test(test_failed_requests),
        cmocka_unit_test(test_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
