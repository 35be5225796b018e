/* Cached prompts are shared only by requests with the same key and the same cache_salt. */
#include "test.h"

#include "serve_help.h"

#define CACHED "usage.prompt_tokens_details.cached_tokens"

/* Sends the same chat, with more fields, and returns its cached tokens. */
static double ask(const server_process *s, const char *key, const char *more)
{
    char body[512], text[1024];
    const int n =
            snprintf(body, sizeof(body),
                     "{\"model\":\"pebble\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\","
                     "\"content\":\"Who may know that I ask this?\"}]%s}",
                     more);
    (void)snprintf(text, sizeof(text),
                   "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                   "%s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                   key, n, body);
    http_client c = http_connect(&s->at);
    http_send_text(&c, text);
    json_response a = serve_read_response(&c);
    http_close(&c);
    if (a.status != 200)
        fail_msg("%d: %s", a.status, a.text.ptr);
    const double cached = response_number(&a, CACHED);
    response_release(&a);
    return cached;
}

static void test_salts(void **state)
{
    (void)state;
    server_process s = SERVE("--threads", "1");
    assert_true(ask(&s, "none", "") == 0);
    const double all = ask(&s, "other", ""); /* without keys the header means nothing */
    assert_true(all > 0);
    assert_true(ask(&s, "none", ",\"cache_salt\":\"a\"") == 0);
    assert_true(ask(&s, "none", ",\"cache_salt\":\"b\"") == 0);
    assert_true(ask(&s, "none", ",\"cache_salt\":\"a\"") == all);
    assert_true(ask(&s, "none", ",\"cache_salt\":null") == all);
    assert_int_equal(serve_end(&s), 0);
}

static void test_keys(void **state)
{
    (void)state;
    server_process s = SERVE("--threads", "1", "--api-key", "ab", "--api-key", "a");
    assert_true(ask(&s, "ab", "") == 0);
    const double all = ask(&s, "ab", "");
    assert_true(all > 0);
    assert_true(ask(&s, "a", "") == 0);
    assert_true(ask(&s, "a", ",\"cache_salt\":\"b\"") == 0);
    assert_true(ask(&s, "a", "") == all);
    assert_true(ask(&s, "ab", ",\"cache_salt\":\"b\"") == 0);
    assert_int_equal(serve_end(&s), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_salts),
        cmocka_unit_test(test_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
