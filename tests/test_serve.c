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
#include "http_help.h"

#define MODEL "./models/pebble"

typedef struct {
    pid_t process;
    http_server at; /* only its port counts */
} program;

/* On a free port, which its first line says. */
static program start(void)
{
    int out[2];
    char line[128] = "";
    size_t n = 0;
    assert_int_equal(pipe(out), 0);
    program p = { .process = fork() };
    assert_true(p.process >= 0);
    if (p.process == 0) {
        (void)dup2(out[1], STDOUT_FILENO);
        (void)close(out[0]);
        (void)execl(capture_program(), "vug", "serve", MODEL, "--port", "0", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(close(out[1]), 0);
    while (!strchr(line, '\n')) {
        const ssize_t got = read(out[0], line + n, sizeof(line) - 1 - n);
        assert_true(got > 0);
        n += (size_t)got;
    }
    assert_int_equal(close(out[0]), 0);
    const char *port = strstr(line, "listening on http://127.0.0.1:");
    assert_non_null(port);
    p.at.port = (int)strtol(strrchr(port, ':') + 1, NULL, 10);
    return p;
}

static void test_serves_and_ends(void **state)
{
    static const int ends[] = { SIGTERM, SIGINT };
    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        int status = -1;
        program p = start();
        http_client c = http_connect(&p.at);
        http_ask(&c, "/health", NULL);
        http_expect(&c, 200, "{\"status\":\"ok\"}");
        http_ask(&c, "/metrics", NULL);
        http_expect(&c, 200, "vug_http_requests_total{route=\"/health\",status=\"200\"} 1\n");
        assert_int_equal(kill(p.process, SIGHUP), 0);
        http_ask(&c, "/nowhere", NULL);
        http_expect(&c, 404, "not_found_error");
        assert_int_equal(kill(p.process, ends[i]), 0);
        assert_int_equal(waitpid(p.process, &status, 0), p.process);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        http_close(&c);
    }
}

static void assert_refused(captured c, const char *part)
{
    assert_int_equal(c.code, 2);
    if (!strstr(c.err.ptr, part))
        fail_msg("no '%s' in: %s", part, c.err.ptr);
    captured_release(&c);
}

static void test_refuses(void **state)
{
    (void)state;
    assert_refused(VUG("serve", MODEL, "--host", "0.0.0.0"), "--api-key-file");
    assert_refused(VUG("serve", MODEL, "--port", "65536"), "0 to 65535");
    assert_refused(VUG("serve", MODEL, "--api-key-file", "/no/such/file"), "/no/such/file");
    assert_refused(VUG("serve", MODEL, "--tls-cert", "/no/such/file"), "--tls-key");
    assert_refused(VUG("serve", MODEL, "--unix", "/no/such/folder/socket"), "/no/such/folder");
    assert_refused(VUG("serve", MODEL, "--json"), "--json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serves_and_ends),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
