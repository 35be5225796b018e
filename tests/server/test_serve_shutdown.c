/* Disconnects, many clients, a full queue, loading, shutdown, traces. */
#include "test.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os.h"
#include "scratch.h"
#include "serve_help.h"

#define CHAT(text, more) \
    "{\"model\":\"pebble\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]" more "}"
/* Fills the context ENDLESS_N times: takes many seconds on any machine. */
enum { ENDLESS_N = 32, CONTEXT = 2048 };
#define ENDLESS CHAT("Tell me a story", ",\"ignore_eos\":true,\"stream\":true,\"n\":32")

static void ask(http_client *c, const server_process *s, const char *body)
{
    *c = http_connect(&s->at);
    http_send_request(c, "/v1/chat/completions", body);
}

static double metric(const server_process *s, const char *name)
{
    json_response a = serve_request(s, "/metrics", NULL);
    char line[96];
    (void)snprintf(line, sizeof(line), "\n%s ", name);
    const char *at = strstr(a.text.ptr, line);
    assert_non_null(at);
    const double value = strtod(at + strlen(line), NULL);
    response_release(&a);
    return value;
}

static void await_metric(const server_process *s, const char *name, double value)
{
    for (int i = 0; i < 6000; i++) { /* a minute */
        if (metric(s, name) == value)
            return;
        (void)usleep(10000);
    }
    fail_msg("%s does not become %g", name, value);
}

static void assert_serves(const server_process *s)
{
    json_response a =
            serve_request(s, "/v1/chat/completions", CHAT("What is vug?", ",\"max_tokens\":1"));
    assert_int_equal(a.status, 200);
    response_release(&a);
}

static void test_client_disconnects_in_stream(void **state)
{
    server_process s = SERVE("--threads", "1");
    (void)state;
    for (int i = 0; i < 3; i++) {
        http_client c;
        ask(&c, &s, ENDLESS);
        http_expect_text(&c, "\"delta\":{\"content\":\"");
        http_close(&c);
        assert_serves(&s);
    }
    await_metric(&s, "vug_http_requests_running", 1); /* this one */
    /* None was generated completely. */
    assert_true(metric(&s, "vug_generated_tokens_total") < 0.5 * ENDLESS_N * CONTEXT);
    assert_int_equal(serve_end(&s), 0);
}

static void test_client_disconnects_in_prefill(void **state)
{
    server_process s = SERVE("--threads", "1", "--slots", "1");
    vug_buf body = { 0 };
    (void)state;
    vug_buf_puts(&body, "{\"model\":\"pebble\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\","
                        "\"content\":\"");
    for (int i = 0; i < 1800; i++)
        vug_buf_puts(&body, "story ");
    vug_buf_puts(&body, "\"}]}");
    for (int i = 0; i < 3; i++) {
        http_client before, c; /* makes the waiting of c visible, however fast the machine is */
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

static void test_client_disconnects_in_queue(void **state)
{
    enum { N = 5 };
    server_process s = SERVE("--threads", "1", "--slots", "1");
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
    server_process s = SERVE("--threads", "1", "--slots", "1", "--queue", "1");
    http_client first, second;
    (void)state;
    ask(&first, &s, ENDLESS);
    http_expect_text(&first, "\"delta\":{\"content\":\"");
    ask(&second, &s, ENDLESS);
    await_metric(&s, "vug_queue_requests", 1);
    json_response a = serve_request(&s, "/v1/chat/completions", CHAT("x", ""));
    assert_int_equal(a.status, 429);
    response_expect(&a, "error.type", "rate_limit_error");
    assert_non_null(strstr(a.head.ptr, "Retry-After: "));
    response_release(&a);
    http_close(&second);
    http_close(&first);
    await_metric(&s, "vug_queue_requests", 0);
    assert_serves(&s);
    assert_int_equal(serve_end(&s), 0);
}

/* Concurrent answers equal those of the same seed alone. */
static void test_many_clients(void **state)
{
    enum { N = 20 };
    server_process s = SERVE("--threads", "2");
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
            json_response a = serve_read_response(&c[i]);
            const vug_str text = response_at(&a, "choices.0.message.content")->str;
            vug_buf copy = { 0 };
            vug_buf_append(&copy, text.ptr, text.len);
            assert_int_equal(vug_buf_take(&copy, &alone[i], NULL), VUG_OK);
            response_release(&a);
            http_close(&c[i]);
        }
    }
    for (int i = 0; i < N; i++) {
        json_response a = serve_read_response(&c[i]);
        response_expect(&a, "choices.0.message.content", alone[i].ptr);
        response_release(&a);
        http_close(&c[i]);
        vug_text_release(&alone[i]);
    }
    assert_int_equal(serve_end(&s), 0);
}

/* Running requests finish; new ones are rejected. */
static void test_drain(void **state)
{
    server_process s = SERVE("--threads", "1", "--drain", "600");
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

/* A stream that is aborted at shutdown has an error and no [DONE]. */
static void test_drain_timeout(void **state)
{
    server_process s = SERVE("--threads", "1", "--drain", "0.1");
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

static void expect_loading(const server_process *s, const char *path, const char *body)
{
    json_response a = serve_request(s, path, body);
    assert_int_equal(a.status, 503);
    response_expect(&a, "error.type", "overloaded_error");
    assert_non_null(strstr(a.text.ptr, "being loaded"));
    assert_non_null(strstr(a.head.ptr, "\r\nRetry-After: "));
    response_release(&a);
}

/* Loading starts only after all requests here. */
static void test_requests_while_loading(void **state)
{
    server_fixture l;
    (void)state;
    serve_inside(&l, SERVE_MODEL, &(vug_http_options){ 0 });
    json_response a = serve_request(&l.at, "/health", NULL);
    assert_int_equal(a.status, 503);
    response_expect(&a, "status", "loading");
    assert_non_null(strstr(a.head.ptr, "\r\nRetry-After: "));
    response_release(&a);
    assert_true(metric(&l.at, "vug_queue_requests") == 0);
    for (size_t i = 1; i < l.n_routes; i++) {
        const vug_http_route *r = &l.route[i];
        if (strcmp(r->path, "/metrics") != 0 && strcmp(r->path, "/version") != 0)
            expect_loading(&l.at, r->path, r->method == VUG_HTTP_POST ? CHAT("Hi", "") : NULL);
    }
    serve_inside_load(&l);
    a = serve_request(&l.at, "/health", NULL);
    assert_int_equal(a.status, 200);
    response_release(&a);
    assert_serves(&l.at);
    serve_inside_end(&l);
}

/* ---- traces ------------------------------------------------------------------------------ */

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
    server_process s = SERVE("--trace", dir.path);
    json_response a =
            serve_request(&s, "/v1/chat/completions", CHAT("What is vug?", ",\"max_tokens\":4"));
    assert_int_equal(a.status, 200);
    response_release(&a);
    assert_int_equal(serve_end(&s), 0);
    vug_arena arena = { 0 };
    vug_str *name;
    size_t n;
    vug_text text;
    const vug_jv *root;
    assert_int_equal(vug_list_folder(dir.path, &arena, &name, &n, NULL), VUG_OK);
    assert_int_equal(n, 1);
    assert_int_equal(stat(scratch_at(&dir, name[0].ptr).path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600); /* it has private text */
    root = read_record(&dir, name[0].ptr, &arena, &text);
    assert_true(vug_jv_get(root, "status")->i64 == 200);
    assert_true(vug_str_is(vug_jv_get(vug_jv_get(root, "request"), "model")->str, "pebble"));
    assert_non_null(vug_jv_get(vug_jv_get(root, "answer"), "choices"));
    vug_text_release(&text);
    vug_arena_release(&arena);
    scratch_remove(&dir);
}

/* The second prompt differs from the first in its ninth token. */
static void test_trace_says_what_was_cached(void **state)
{
    scratch dir = scratch_make();
    (void)state;
    server_process s = SERVE("--trace", dir.path);
    static const char *const prompt[] = { "Once upon a time there was a dog",
                                          "Once upon a time there was a big cat" };
    for (int i = 0; i < 2; i++) {
        char body[200];
        (void)snprintf(body, sizeof(body),
                       "{\"model\":\"pebble\",\"prompt\":\"%s\",\"max_tokens\":2}", prompt[i]);
        json_response a = serve_request(&s, "/v1/completions", body);
        assert_int_equal(a.status, 200);
        response_release(&a);
    }
    assert_int_equal(serve_end(&s), 0);
    vug_arena arena = { 0 };
    vug_str *name;
    size_t n, n_found = 0;
    assert_int_equal(vug_list_folder(dir.path, &arena, &name, &n, NULL), VUG_OK);
    assert_int_equal(n, 2);
    for (size_t i = 0; i < n; i++) {
        vug_text text;
        const vug_jv *root = read_record(&dir, name[i].ptr, &arena, &text);
        const vug_jv *cache = vug_jv_get(root, "cache")->child;
        if (vug_str_is(vug_jv_get(vug_jv_get(root, "request"), "prompt")->str, prompt[1])) {
            n_found++;
            assert_int_equal(vug_jv_get(cache, "prompt_tokens")->i64, 10);
            assert_int_equal(vug_jv_get(cache, "cached_tokens")->i64, 8);
            assert_int_equal(vug_jv_get(cache, "same_tokens")->i64, 8);
            assert_true(vug_str_is(vug_jv_get(cache, "reason")->str, "differs"));
            assert_true(vug_str_is(vug_jv_get(cache, "next_token")->str, " big"));
            assert_true(vug_str_is(vug_jv_get(cache, "next_cached_token")->str, " dog"));
        }
        vug_text_release(&text);
    }
    assert_int_equal(n_found, 1);
    vug_arena_release(&arena);
    scratch_remove(&dir);
}

/* Errors at the end of a stream are traced, too. */
static void test_trace_of_errors(void **state)
{
#define AMBIGUOUS ",\"grammar\":\"root ::= s{40}\\ns ::= \\\"x\\\" s{0,8}\""
    static const char *const requests[] = { CHAT("Hi", AMBIGUOUS),
                                            CHAT("Hi", AMBIGUOUS ",\"stream\":true") };
    (void)state;
    for (int stream = 0; stream < 2; stream++) {
        scratch dir = scratch_make();
        server_process s = SERVE("--trace", dir.path);
        json_response a = serve_request(&s, "/v1/chat/completions", requests[stream]);
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
        response_release(&a);
        scratch_remove(&dir);
    }
}

/* A full disk or a missing folder does not fail requests. */
static void test_trace_write_failure(void **state)
{
    scratch dir = scratch_make();
    (void)state;
    server_process s = SERVE("--trace", dir.path);
    scratch_remove(&dir);
    assert_serves(&s);
    assert_serves(&s);
    assert_int_equal(serve_end(&s), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_client_disconnects_in_stream),
        cmocka_unit_test(test_client_disconnects_in_prefill),
        cmocka_unit_test(test_client_disconnects_in_queue),
        cmocka_unit_test(test_full_queue),
        cmocka_unit_test(test_many_clients),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_drain_timeout),
        cmocka_unit_test(test_requests_while_loading),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_trace_says_what_was_cached),
        cmocka_unit_test(test_trace_of_errors),
        cmocka_unit_test(test_trace_write_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
