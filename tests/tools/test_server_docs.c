/* The examples of docs/server.md do what it says: each `$ curl` is run, in order, against one
 * server, and its output compared; only ids, times, speeds and drafts may differ. */
#include "test.h"

#include "capture.h"
#include "core/os.h"
#include "serve_help.h"

static bool starts_with(const char *text, size_t n, const char *start)
{
    return n >= strlen(start) && memcmp(text, start, strlen(start)) == 0;
}

/* The length of ,"draft_n":6,"draft_n_accepted":4 at the start of the text, which timings have if
 * they made drafts worth their time; else 0. */
static size_t drafts_length(const char *text, size_t n)
{
    size_t i = 0;
    if (!starts_with(text, n, ",\"draft_n\":"))
        return 0;
    while (i < n && text[i] != '}')
        i++;
    return i;
}

/* "id":"chatcmpl-.." and "created":12 with what differs taken out. */
static void mask(const char *text, size_t n, vug_buf *to)
{
    static const char *const volatile_keys[] = {
        "\"id\":\"chatcmpl-", "\"id\":\"cmpl-", "\"id\":\"call_",
        "\"created\":",       "_ms\":",         "_per_second\":"
    };
    for (size_t i = 0; i < n;) {
        size_t skip = 0;
        i += drafts_length(text + i, n - i);
        for (size_t k = 0; k < sizeof(volatile_keys) / sizeof(volatile_keys[0]); k++) {
            if (starts_with(text + i, n - i, volatile_keys[k]))
                skip = strlen(volatile_keys[k]);
        }
        vug_buf_append(to, text + i, skip ? skip : 1);
        i += skip ? skip : 1;
        while (skip && i < n && strchr("0123456789abcdef.", text[i]))
            i++;
    }
}

static void append_with_port(vug_buf *to, const char *text, size_t n, int port)
{
    static const char given[] = "http://127.0.0.1:8080";
    const size_t len = sizeof(given) - 1;
    for (size_t i = 0; i < n;) {
        if (n - i >= len && memcmp(text + i, given, len) == 0) {
            vug_buf_printf(to, "http://127.0.0.1:%d", port);
            i += len;
        } else {
            vug_buf_append(to, text + i++, 1);
        }
    }
}

/* Up to the line before which the quotes of the shell are closed. */
static const char *end_of_command(const char *at)
{
    bool quoted = false;
    for (; *at && (quoted || *at != '\n'); at++)
        quoted ^= *at == '\'';
    return at;
}

/* The next command or the end of the block. */
static const char *end_of_output(const char *at)
{
    while (strncmp(at, "\n$ ", 3) != 0 && strncmp(at, "\n```", 4) != 0)
        assert_true(*at++);
    return at;
}

static void run_example(const char *command, const char *end, const char *out_end, int port)
{
    vug_buf line = { 0 }, expected = { 0 }, got = { 0 };
    /* Ignores the proxies and settings of the user who runs this. */
    vug_buf_puts(&line, "curl() { command curl -q --noproxy '*' \"$@\"; }\n");
    append_with_port(&line, command, (size_t)(end - command), port);
    captured c = capture(NULL, NULL, (const char *const[]){ "/bin/sh", "-c", line.ptr, NULL });
    mask(end + 1, (size_t)(out_end - end - 1), &expected);
    while (c.out.len && c.out.ptr[c.out.len - 1] == '\n')
        c.out.len--;
    mask(c.out.ptr, c.out.len, &got);
    vug_buf_append(&got, "", 0);
    vug_buf_append(&expected, "", 0);
    if (got.len != expected.len || memcmp(got.ptr, expected.ptr, got.len) != 0)
        fail_msg("%s\nsays\n%s\nbut is documented as\n%s", line.ptr, got.ptr, expected.ptr);
    captured_release(&c);
    vug_buf_release(&line);
    vug_buf_release(&expected);
    vug_buf_release(&got);
}

/* --json came with curl 7.82. */
static bool has_curl(void)
{
    captured c = capture(NULL, NULL,
                         (const char *const[]){ "/bin/sh", "-c",
                                                "curl --help all 2>/dev/null | "
                                                "grep -q -e --json",
                                                NULL });
    const bool ok = c.code == 0;
    captured_release(&c);
    return ok;
}

static void test_examples(void **state)
{
    vug_text page;
    int n = 0;
    (void)state;
    if (!has_curl()) {
        print_message("curl is missing, or older than 7.82 and without --json\n");
        skip();
    }
    assert_int_equal(vug_read_file("docs/server.md", 1 << 20, &page, NULL), VUG_OK);
    server_process s = SERVE("--threads", "1");
    for (const char *at = page.ptr; (at = strstr(at, "\n$ curl "));) {
        const char *end = end_of_command(at + 1);
        const char *out_end = end_of_output(end);
        run_example(at + 3, end, out_end, s.at.port);
        at = out_end;
        n++;
    }
    assert_true(n >= 10);
    vug_text_release(&page);
    assert_int_equal(serve_end(&s), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
