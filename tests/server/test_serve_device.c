/* A device that fails in a step: its requests fail, the server goes on and tells. */
#include "test.h"

#include "engine/internal.h"
#include "serve_help.h"

#define CHAT "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"max_tokens\":4}"

static vug_status fail_step(const vug_program *program, vug_workspace *workspace,
                            const vug_step_in *in, const float **output, vug_err *err)
{
    (void)program;
    (void)workspace;
    (void)in;
    (void)output;
    return VUG_FAIL(err, VUG_DEVICE, "test: the device is lost");
}

static void check_health(const server_fixture *s, int status, const char *name)
{
    json_response got = serve_request(&s->at, "/health", NULL);
    assert_int_equal(got.status, status);
    response_expect(&got, "status", name);
    response_release(&got);
}

static void check_chat(const server_fixture *s, int status)
{
    json_response got = serve_request(&s->at, "/v1/chat/completions", CHAT);
    assert_int_equal(got.status, status);
    if (status == 503) {
        response_expect(&got, "error.message", "test: the device is lost");
        assert_non_null(strstr(got.head.ptr, "Retry-After:"));
    }
    response_release(&got);
}

static void test_device_failure_fails_requests(void **state)
{
    (void)state;
    server_fixture s;
    serve_inside(&s, SERVE_MODEL, &(vug_http_options){ 0 });
    serve_inside_load(&s);
    vug_compiled *compiled = &s.service->model->main.compiled;
    const vug_backend *works = compiled->backend;
    vug_backend fails = *works;
    fails.run = fail_step;
    fails.start = NULL;
    check_health(&s, 200, "ok");
    compiled->backend = &fails;
    check_chat(&s, 503);
    check_health(&s, 503, "device failure");
    check_chat(&s, 503);
    compiled->backend = works;
    check_chat(&s, 200);
    check_health(&s, 200, "ok");
    serve_inside_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_failure_fails_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
