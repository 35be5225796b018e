/* Requests of the process itself: answered as over HTTP, and cancelled at any time. */
#include "test.h"

#include <pthread.h>
#include <time.h>

#include "serve_help.h"

static int set_up(void **state)
{
    static server_fixture s; /* NOLINT: one for all tests */
    serve_inside(&s, SERVE_MODEL, &(vug_http_options){ 0 });
    serve_inside_load(&s);
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    serve_inside_end(*state);
    return 0;
}

static vug_server_call *create_call(const server_fixture *s)
{
    vug_server_call *call = NULL;
    assert_int_equal(vug_server_call_create(s->service, &call, NULL), VUG_OK);
    return call;
}

/* Its response; the caller releases it. */
static json_response run_call(vug_server_call *call, vug_api_endpoint endpoint, const char *body)
{
    vug_call_response got;
    json_response out = { 0 };
    vug_err err;
    if (vug_server_call_run(call, endpoint, vug_str_of(body), "test", &got, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    out.status = got.status;
    if (vug_json_tree(got.body, "body", &out.arena, &out.json, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return out;
}

/* Everything but the id and the time. */
static void assert_same(const json_response *a, const json_response *b)
{
    static const char *const part[] = { "choices", "usage", "error", "model", "object" };
    assert_int_equal(a->status, b->status);
    for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
        const vug_jv *x = response_at(a, part[i]), *y = response_at(b, part[i]);
        assert_int_equal(x != NULL, y != NULL);
        if (x && y && !vug_str_equal(x->str, y->str))
            fail_msg("%.*s is not %.*s", (int)x->str.len, x->str.ptr, (int)y->str.len, y->str.ptr);
    }
}

static void test_same_as_http(void **state)
{
    const server_fixture *s = *state;
    static const struct {
        vug_api_endpoint endpoint;
        const char *body;
    } request[] = {
        { VUG_API_CHAT, "{\"model\":\"pebble\",\"max_tokens\":12,\"temperature\":0,"
                        "\"messages\":[{\"role\":\"user\",\"content\":\"What is vug?\"}]}" },
        { VUG_API_COMPLETION, "{\"model\":\"pebble\",\"prompt\":[\"A\",\"B\"],\"n\":2,\"seed\":3,"
                              "\"max_tokens\":5,\"logprobs\":2}" },
        { VUG_API_CHAT, "{\"model\":\"other\",\"messages\":[]}" },
        { VUG_API_CHAT, "{\"model\":\"pebble\",\"messages\":[]}" },
        { VUG_API_COMPLETION, "{\"model\":\"pebble\",\"prompt\":\"a\",\"max_tokens\":1000000}" },
        { VUG_API_COMPLETION, "{" },
    };
    vug_server_call *call = create_call(s);
    for (size_t i = 0; i < sizeof(request) / sizeof(request[0]); i++) {
        /* Twice, so that both find the same tokens in the cache. */
        for (int k = 0; k < 2; k++) {
            json_response a = run_call(call, request[i].endpoint, request[i].body);
            json_response b = serve_request(&s->at, vug_api_endpoint_path(request[i].endpoint),
                                            request[i].body);
            if (k)
                assert_same(&a, &b);
            response_release(&a);
            response_release(&b);
        }
    }
    vug_server_call_destroy(call);
}

static void test_no_stream(void **state)
{
    vug_server_call *call = create_call(*state);
    json_response a = run_call(call, VUG_API_COMPLETION,
                               "{\"model\":\"pebble\",\"prompt\":\"a\",\"stream\":true}");
    assert_int_equal(a.status, 400);
    response_expect(&a, "error.param", "stream");
    response_release(&a);
    vug_server_call_destroy(call);
}

typedef struct {
    vug_server_call *call;
    vug_status st;
} running_call;

#define LONG \
    "{\"model\":\"pebble\",\"prompt\":\"a\",\"max_tokens\":200,\"n\":128,\"ignore_eos\":true}"

static void *run_long_call(void *arg)
{
    running_call *c = arg;
    vug_call_response got;
    c->st = vug_server_call_run(c->call, VUG_API_COMPLETION, vug_str_of(LONG), "test", &got, NULL);
    return NULL;
}

/* Waits a minute at most. */
static void wait_for_metric(const server_fixture *s, vug_metric id, double least)
{
    for (int i = 0; i < 60000 && vug_metrics_get(s->metrics, id, NULL) < least; i++) {
        const struct timespec moment = { .tv_nsec = 1000000 };
        (void)nanosleep(&moment, NULL);
    }
}

/* One call is cancelled while it waits, then the one that runs; a cancelled call stays so. */
static void test_cancel(void **state)
{
    const server_fixture *s = *state;
    running_call first = { .call = create_call(s) }, second = { .call = create_call(s) };
    pthread_t thread[2];
    vug_call_response got;
    const double before = vug_metrics_get(s->metrics, VUG_METRIC_GENERATED_TOKENS, NULL);
    assert_int_equal(pthread_create(&thread[0], NULL, run_long_call, &first), 0);
    wait_for_metric(s, VUG_METRIC_GENERATED_TOKENS, before + 1);
    assert_int_equal(pthread_create(&thread[1], NULL, run_long_call, &second), 0);
    wait_for_metric(s, VUG_METRIC_QUEUE, 1);
    const double queued = vug_metrics_get(s->metrics, VUG_METRIC_QUEUE, NULL);
    vug_server_call_cancel(second.call);
    const double left = vug_metrics_get(s->metrics, VUG_METRIC_QUEUE, NULL);
    vug_server_call_cancel(first.call);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    assert_int_equal(queued, 1);
    assert_int_equal(left, 0);
    assert_int_equal(first.st, VUG_CANCELLED);
    assert_int_equal(second.st, VUG_CANCELLED);
    assert_true(vug_metrics_get(s->metrics, VUG_METRIC_GENERATED_TOKENS, NULL) <
                before + 200 * 128);
    assert_int_equal(vug_server_call_run(first.call, VUG_API_COMPLETION, vug_str_of(LONG), "test",
                                         &got, NULL),
                     VUG_CANCELLED);
    vug_server_call_destroy(first.call);
    vug_server_call_destroy(second.call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_http),
        cmocka_unit_test(test_no_stream),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
