/* `vug serve` as a program: what it says, whom it answers, how it ends. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "serve_help.h"

static void test_serves_and_ends(void **state)
{
    static const int ends[] = { SIGTERM, SIGINT };
    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        int status = -1;
        serving p = SERVE("--threads", "1");
        http_client c = http_connect(&p.at);
        http_ask(&c, "/health", NULL);
        http_expect(&c, 200, "{\"status\":\"ok\"}");
        http_ask(&c, "/metrics", NULL);
        http_expect(&c, 200, "vug_http_requests_total{route=\"/health\",status=\"200\"} 1\n");
        assert_int_equal(kill(p.process, SIGHUP), 0);
        http_ask(&c, "/nowhere", NULL);
        http_expect(&c, 404, "There is no /nowhere here.");
        http_ask(&c, "/chat/completions", NULL);
        http_expect(&c, 404, "here, but /v1/chat/completions.");
        http_ask(&c, "/completions", NULL);
        http_expect(&c, 404, "here, but /v1/completions.");
        http_ask(&c, "/v1/v1/models", NULL);
        http_expect(&c, 404, "here, but /v1/models.");
        assert_int_equal(kill(p.process, ends[i]), 0);
        assert_int_equal(waitpid(p.process, &status, 0), p.process);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        http_close(&c);
        assert_int_equal(close(p.out), 0);
    }
}

/* It listens before it has read anything; what is no model ends it. */
static void test_no_model(void **state)
{
    (void)state;
    captured c = VUG("serve", "./docs", "--port", "0");
    assert_int_not_equal(c.code, 0);
    assert_non_null(strstr(c.out.ptr, "listening on"));
    assert_non_null(strstr(c.err.ptr, "config.json"));
    captured_release(&c);
}

static void test_refuses(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serves_and_ends),
        cmocka_unit_test(test_no_model),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
