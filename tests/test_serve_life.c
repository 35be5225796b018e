/* Requests that live and die: clients that leave, many at once, a full queue, the end. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os.h"
#include "scratch.h"
#include "serve_help.h"

#define CHAT(text, more) \
    "{\"model\":\"pebble\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]" more "}"
/* Goes on until the context is full as often as ENDLESS_N: many seconds, whatever the machine. */
enum { ENDLESS_N = 32, CONTEXT = 2048 };
#define ENDLESS CHAT("Tell me a story", ",\"ignore_eos\":true,\"stream\":true,\"n\":32")

static void ask(http_client *c, const serving *s, const char *body)
{
    *c = http_connect(&s->at);
    http_ask(c, "/v1/chat/completions", body);
}

static double metric(const serving *s, const char *name)
{
    said a = serve_ask(s, "/metrics", NULL);
    char line[96];
    (void)snprintf(line, sizeof(line), "\n%s ", name);
    const char *at = strstr(a.text.ptr, line);
    assert_non_null(at);
    const double value = strtod(at + strlen(line), NULL);
    said_release(&a);
    return value;
}

static void await_metric(const serving *s, const char *name, double value)
{
    for (int i = 0; i < 6000; i++) { /* a minute */
        if (metric(s, name) == value)
            return;
        (void)usleep(10000);
    }
    fail_msg("%s does not become %g", name, value);
}

static void assert_serves(const serving *s)
{
    said a = serve_ask(s, "/v1/chat/completions", CHAT("What is vug?", ",\"max_tokens\":1"));
    assert_int_equal(a.status, 200);
    said_release(&a);
}

static void test_client_leaves_stream(void **state)
{
    serving s = SERVE("--threads", "1");
    (void)state;
    for (int i = 0; i < 3; i++) {
        http_client c;
        ask(&c, &s, ENDLESS);
        http_expect_text(&c, "\"delta\":{\"content\":\"");
        http_close(&c);
        assert_serves(&s);
    }
    await_metric(&s, "vug_http_requests_running", 1); /* this one */
    /* None was generated to its end. */
    assert_true(metric(&s, "vug_generated_tokens_total") < 0.5 * ENDLESS_N * CONTEXT);
    assert_int_equal(serve_end(&s), 0);
}

static void test_client_leaves_prefill(void **state)
{
    serving s = SERVE("--threads", "1");
    vug_buf body = { 0 };
    (void)state;
    vug_buf_puts(&body, "{\"model\":\"pebble\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\","
                        "\"content\":\"");
    for (int i = 0; i < 1800; i++)
        vug_buf_puts(&body, "story ");
    vug_buf_puts(&body, "\"}]}");
    for (int i = 0; i < 3; i++) {
        http_client before, c; /* that c waits, and then does not, is seen however fast it is */
        ask(&before, &s, ENDLESS);
        http_expect_text(&before, "\"delta\":{\"content\":\"");
        ask(&c, &s, body.ptr);
        await_metric(&s, "vug_queue_requests", 1);
        http_close(&before);
        await_metric(&s, "vug_queue_requests", 0);
        http_close(&c);
        assert_serves(&s);
    }
    vug_buf_release(&body);
    assert_int_equal(serve_end(&s), 0);
}

static void test_client_leaves_queue(void **state)
{
    enum { N = 5 };
    serving s = SERVE("--threads", "1");
    http_client first, c[N];
    (void)state;
    ask(&first, &s, ENDLESS);
    http_expect_text(&first, "\"delta\":{\"content\":\"");
    for (int i = 0; i < N; i++)
        ask(&c[i], &s, ENDLESS);
    await_metric(&s, "vug_queue_requests", N);
    for (int i = 0; i < N; i++)
        http_close(&c[i]);
    await_metric(&s, "vug_queue_requests", 0);
    http_close(&first);
    assert_serves(&s);
    assert_true(metric(&s, "vug_generated_tokens_total") < 0.5 * ENDLESS_N * CONTEXT);
    assert_int_equal(serve_end(&s), 0);
}

static void test_full_queue(void **state)
{
    serving s = SERVE("--threads", "1", "--queue", "1");
    http_client first, second;
    (void)state;
    ask(&first, &s, ENDLESS);
    http_expect_text(&first, "\"delta\":{\"content\":\"");
    ask(&second, &s, ENDLESS);
    await_metric(&s, "vug_queue_requests", 1);
    said a = serve_ask(&s, "/v1/chat/completions", CHAT("x", ""));
    assert_int_equal(a.status, 429);
    said_is(&a, "error.type", "rate_limit_error");
    assert_non_null(strstr(a.head.ptr, "Retry-After: "));
    said_release(&a);
    http_close(&second);
    http_close(&first);
    assert_serves(&s);
    assert_int_equal(serve_end(&s), 0);
}

/* Each answer of many at once is that of the same seed alone. */
static void test_many(void **state)
{
    enum { N = 20 };
    serving s = SERVE("--threads", "2");
    http_client c[N];
    vug_text alone[N];
    char body[512];
    (void)state;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            (void)snprintf(body, sizeof(body),
                           CHAT("Tell me a story about number %d",
                                ",\"seed\":%d,\"temperature\":1.5,\"max_tokens\":12"),
                           i % 7, i);
            ask(&c[i], &s, body);
            if (round == 1)
                continue;
            said a = serve_read(&c[i]);
            const vug_str text = said_at(&a, "choices.0.message.content")->str;
            vug_buf copy = { 0 };
            vug_buf_append(&copy, text.ptr, text.len);
            assert_int_equal(vug_buf_take(&copy, &alone[i], NULL), VUG_OK);
            said_release(&a);
            http_close(&c[i]);
        }
    }
    for (int i = 0; i < N; i++) {
        said a = serve_read(&c[i]);
        said_is(&a, "choices.0.message.content", alone[i].ptr);
        said_release(&a);
        http_close(&c[i]);
        vug_text_release(&alone[i]);
    }
    assert_int_equal(serve_end(&s), 0);
}

/* What runs is finished; what is new is refused. */
static void test_drains(void **state)
{
    serving s = SERVE("--threads", "1", "--drain", "600");
    http_client c, idle = http_connect(&s.at);
    int status = -1;
    (void)state;
    ask(&c, &s,
        CHAT("Tell me a story", ",\"ignore_eos\":true,\"max_tokens\":300,\"stream\":true,"
                                "\"stream_options\":{\"include_usage\":true}"));
    http_expect_text(&c, "\"delta\":{\"content\":\"");
    assert_int_equal(kill(s.process, SIGTERM), 0);
    http_expect_text(&c, "\"finish_reason\":\"length\"");
    http_expect_text(&c, "\"completion_tokens\":300,");
    http_expect_text(&c, "data: [DONE]\n\n\r\n0\r\n\r\n");
    http_expect_end(&c);
    assert_int_equal(waitpid(s.process, &status, 0), s.process);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    http_close(&c);
    http_close(&idle);
    assert_int_equal(close(s.out), 0);
}

/* A stream that is given up at the end says so, and does not say [DONE]. */
static void test_gives_up(void **state)
{
    serving s = SERVE("--threads", "1", "--drain", "0.1");
    http_client c;
    int status = -1;
    (void)state;
    ask(&c, &s, ENDLESS);
    http_expect_text(&c, "\"delta\":{\"content\":\"");
    assert_int_equal(kill(s.process, SIGTERM), 0);
    assert_int_equal(waitpid(s.process, &status, 0), s.process);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    http_close(&c);
    assert_int_equal(close(s.out), 0);
}

/* ---- while the model loads --------------------------------------------------------------- */

static void expect_loading(const serving *s, const char *path, const char *body)
{
    said a = serve_ask(s, path, body);
    assert_int_equal(a.status, 503);
    said_is(&a, "error.type", "overloaded_error");
    assert_non_null(strstr(a.text.ptr, "being loaded"));
    assert_non_null(strstr(a.head.ptr, "\r\nRetry-After: "));
    said_release(&a);
}

/* A service loads once it is started, which happens here only after all was asked. */
static void test_while_it_loads(void **state)
{
    served l;
    (void)state;
    serve_inside(&l, SERVE_MODEL, &(vug_http_options){ 0 });
    said a = serve_ask(&l.at, "/health", NULL);
    assert_int_equal(a.status, 503);
    said_is(&a, "status", "loading");
    assert_non_null(strstr(a.head.ptr, "\r\nRetry-After: "));
    said_release(&a);
    assert_true(metric(&l.at, "vug_queue_requests") == 0);
    for (size_t i = 1; i < l.n_routes; i++) {
        const vug_http_route *r = &l.route[i];
        if (strcmp(r->path, "/metrics") != 0)
            expect_loading(&l.at, r->path, *r->method == 'P' ? CHAT("Hi", "") : NULL);
    }
    vug_service_start(l.service);
    http_await(&l.loaded, 1);
    a = serve_ask(&l.at, "/health", NULL);
    assert_int_equal(a.status, 200);
    said_release(&a);
    assert_serves(&l.at);
    serve_inside_end(&l);
}

/* ---- records ----------------------------------------------------------------------------- */

static const vug_jv *read_record(const scratch *dir, const char *name, vug_arena *arena,
                                 vug_text *text)
{
    const vug_jv *root;
    assert_int_equal(vug_read_file(scratch_at(dir, name).path, 1 << 20, text, NULL), VUG_OK);
    assert_int_equal(vug_json_tree((vug_str){ text->ptr, text->len }, "record", arena, &root, NULL),
                     VUG_OK);
    return root;
}

static void test_trace(void **state)
{
    scratch dir = scratch_make();
    struct stat info;
    (void)state;
    serving s = SERVE("--trace", dir.path);
    said a = serve_ask(&s, "/v1/chat/completions", CHAT("What is vug?", ",\"max_tokens\":4"));
    assert_int_equal(a.status, 200);
    said_release(&a);
    assert_int_equal(serve_end(&s), 0);
    vug_arena arena = { 0 };
    vug_str *name;
    size_t n;
    vug_text text;
    const vug_jv *root;
    assert_int_equal(vug_list_folder(dir.path, &arena, &name, &n, NULL), VUG_OK);
    assert_int_equal(n, 1);
    assert_int_equal(stat(scratch_at(&dir, name[0].ptr).path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600); /* it holds what people wrote */
    root = read_record(&dir, name[0].ptr, &arena, &text);
    assert_true(vug_jv_get(root, "status")->i64 == 200);
    assert_true(vug_str_is(vug_jv_get(vug_jv_get(root, "request"), "model")->str, "pebble"));
    assert_non_null(vug_jv_get(vug_jv_get(root, "answer"), "choices"));
    vug_text_release(&text);
    vug_arena_release(&arena);
    scratch_remove(&dir);
}

/* What an answer ends with when it fails is in its record, too. */
static void test_trace_of_errors(void **state)
{
#define AMBIGUOUS ",\"grammar\":\"root ::= s{40}\\ns ::= \\\"x\\\" s{0,8}\""
    static const char *const requests[] = { CHAT("Hi", AMBIGUOUS),
                                            CHAT("Hi", AMBIGUOUS ",\"stream\":true") };
    (void)state;
    for (int stream = 0; stream < 2; stream++) {
        scratch dir = scratch_make();
        serving s = SERVE("--trace", dir.path);
        said a = serve_ask(&s, "/v1/chat/completions", requests[stream]);
        assert_non_null(strstr(a.text.ptr, "too ambiguous"));
        assert_int_equal(serve_end(&s), 0);
        vug_arena arena = { 0 };
        vug_str *name;
        size_t n;
        vug_text text;
        assert_int_equal(vug_list_folder(dir.path, &arena, &name, &n, NULL), VUG_OK);
        assert_int_equal(n, 1);
        const vug_jv *root = read_record(&dir, name[0].ptr, &arena, &text);
        assert_true(vug_jv_get(root, "status")->i64 == 400);
        assert_true(vug_str_equal(vug_jv_get(root, "answer")->str,
                                  (vug_str){ a.text.ptr, a.text.len }));
        vug_text_release(&text);
        vug_arena_release(&arena);
        said_release(&a);
        scratch_remove(&dir);
    }
}

/* A disk that is full, or a folder that is gone, is no client's business. */
static void test_trace_fails(void **state)
{
    scratch dir = scratch_make();
    (void)state;
    serving s = SERVE("--trace", dir.path);
    scratch_remove(&dir);
    assert_serves(&s);
    assert_serves(&s);
    assert_int_equal(serve_end(&s), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_client_leaves_stream),
        cmocka_unit_test(test_client_leaves_prefill),
        cmocka_unit_test(test_client_leaves_queue),
        cmocka_unit_test(test_full_queue),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_drains),
        cmocka_unit_test(test_gives_up),
        cmocka_unit_test(test_while_it_loads),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_trace_of_errors),
        cmocka_unit_test(test_trace_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
