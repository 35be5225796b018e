/* `vug serve` as a program: output, responses, exit. */
#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "serve_help.h"

static void test_serves_until_sigterm(void **state)
{
    static const int ends[] = { SIGTERM, SIGINT };
    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        int status = -1;
        server_process p = SERVE("--threads", "1");
        http_client c = http_connect(&p.at);
        http_send_request(&c, "/health", NULL);
        http_expect(&c, 200, "{\"status\":\"ok\"}");
        http_send_request(&c, "/metrics", NULL);
        http_expect(&c, 200, "vug_http_requests_total{route=\"/health\",status=\"200\"} 1\n");
        assert_int_equal(kill(p.process, SIGHUP), 0);
        http_send_request(&c, "/nowhere", NULL);
        http_expect(&c, 404, "There is no /nowhere here.");
        http_send_request(&c, "/api/chat/completions", NULL);
        http_expect(&c, 404, "here, but /chat/completions.");
        http_send_request(&c, "/v1/v1/models", NULL);
        http_expect(&c, 404, "here, but /v1/models.");
        assert_int_equal(kill(p.process, ends[i]), 0);
        assert_int_equal(waitpid(p.process, &status, 0), p.process);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        http_close(&c);
        assert_int_equal(close(p.out), 0);
    }
}

/* It listens before it loads the model, and ends when that fails. */
/* It listens, and ends when the model cannot be opened. */
static void fails_to_load(captured c, const char *message)
{
    assert_int_not_equal(c.code, 0);
    assert_non_null(strstr(c.out.ptr, "listening on"));
    assert_non_null(strstr(c.err.ptr, message));
    captured_release(&c);
}

static void test_missing_model(void **state)
{
    (void)state;
    fails_to_load(VUG("serve", "./docs", "--port", "0"), "config.json");
}

static void test_bad_options(void **state)
{
    (void)state;
    refuses(VUG("serve", SERVE_MODEL, "--port", "0", "--alias", ""), "--alias: expected a name");
    refuses(VUG("serve", SERVE_MODEL, "--host", "0.0.0.0"), "--api-key-file");
    refuses(VUG("serve", SERVE_MODEL, "--port", "65536"), "0 to 65535");
    refuses(VUG("serve", SERVE_MODEL, "--api-key-file", "/no/such/file"), "/no/such/file");
    refuses(VUG("serve", SERVE_MODEL, "--tls-cert", "/no/such/file"), "--tls-key");
    refuses(VUG("serve", SERVE_MODEL, "--unix", "/no/such/folder/socket"), "/no/such/folder");
    refuses(VUG("serve", SERVE_MODEL, "--json"), "--json");
}

/* As vug inspect --context 128 says. */
#define BYTES_OF_128 "1572864"

/* The memory of keys and values limits the context: a request that fits it is answered, and a larger
 * one is refused at once, with both numbers. */
static void test_memory_limits_the_context(void **state)
{
    (void)state;
    fails_to_load(VUG("serve", SERVE_MODEL, "--port", "0", "--kv-memory", "1"), "hold 0 tokens");
    fails_to_load(VUG("serve", SERVE_MODEL, "--port", "0", "--context", "129", "--kv-memory",
                      BYTES_OF_128),
                  "which hold 128 tokens");
    server_process s = SERVE("--kv-memory", BYTES_OF_128);
    json_response a = serve_request(&s, "/v1/completions",
                                    "{\"model\":\"pebble\",\"prompt\":\"Once upon a\","
                                    "\"max_tokens\":124,\"ignore_eos\":true}");
    assert_int_equal(a.status, 200);
    assert_true(response_number(&a, "usage.total_tokens") == 128);
    response_release(&a);
    a = serve_request(&s, "/v1/completions",
                      "{\"model\":\"pebble\",\"prompt\":\"Once upon a\",\"max_tokens\":125}");
    assert_int_equal(a.status, 400);
    assert_non_null(strstr(a.text.ptr, "maximum context length is 128 tokens. However, you "
                                       "requested 129 tokens"));
    response_release(&a);
    assert_int_equal(serve_end(&s), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serves_until_sigterm),
        cmocka_unit_test(test_missing_model),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_memory_limits_the_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
