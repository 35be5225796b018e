/* What `vug serve` says about its work: timings in answers, /metrics, /slots. */
#include "test.h"

#include <math.h>

#include "serve_help.h"

#define CHAT(text, more) \
    "{\"model\":\"pebble\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]" more "}"

static int set_up(void **state)
{
    static server_process s; /* NOLINT: one for all tests */
    s = SERVE("--threads", "1");
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    return serve_end(*state) == 0 ? 0 : -1;
}

/* The counts are those of the usage, with and without cached tokens. */
static void test_timings(void **state)
{
    double cached[2];
    for (size_t i = 0; i < 2; i++) {
        json_response a = serve_request(
                *state, "/v1/chat/completions",
                CHAT("How long does this take, and what part of it?", ",\"max_tokens\":3,\"n\":2"));
        cached[i] = response_number(&a, "timings.cache_n");
        assert_true(cached[i] == response_number(&a, "usage.prompt_tokens_details.cached_tokens"));
        assert_true(response_number(&a, "timings.prompt_n") ==
                    response_number(&a, "usage.prompt_tokens") - cached[i]);
        assert_true(response_number(&a, "timings.predicted_n") ==
                    response_number(&a, "usage.completion_tokens"));
        assert_true(response_number(&a, "timings.prompt_ms") > 0);
        assert_true(response_number(&a, "timings.predicted_ms") > 0);
        assert_true(response_number(&a, "timings.predicted_per_second") > 0);
        response_release(&a);
    }
    assert_true(cached[1] > cached[0]);
    json_response a = serve_request(*state, "/v1/completions",
                                    "{\"model\":\"pebble\",\"prompt\":\"To score\",\"echo\":true,"
                                    "\"max_tokens\":0,\"logprobs\":0}");
    assert_true(response_number(&a, "timings.prompt_ms") > 0);
    assert_true(response_number(&a, "timings.predicted_n") == 0);
    response_release(&a);
}

/* The number behind `name` in /metrics. */
static double read_metric(const server_process *s, const char *name)
{
    char line[80];
    json_response a = serve_request(s, "/metrics", NULL);
    (void)snprintf(line, sizeof(line), "\n%s ", name);
    const char *at = strstr(a.text.ptr, line);
    if (!at)
        fail_msg("no %s in %s", name, a.text.ptr);
    const double v = strtod(at + strlen(line), NULL);
    response_release(&a);
    return v;
}

/* A request adds one ratio, and leaves its keys and values in the cache. */
static void test_cache_metrics(void **state)
{
    static const char count[] = "vug_cache_hit_ratio_count", sum[] = "vug_cache_hit_ratio_sum";
    const double n = read_metric(*state, count), before = read_metric(*state, sum);
    const double waited = read_metric(*state, "vug_queue_time_seconds_count");
    json_response a = serve_request(*state, "/v1/chat/completions",
                                    CHAT("Is this in the cache?", ",\"max_tokens\":1,\"n\":2"));
    const double cached = response_number(&a, "usage.prompt_tokens_details.cached_tokens");
    const double ratio = cached / response_number(&a, "usage.prompt_tokens");
    response_release(&a);
    assert_true(read_metric(*state, count) == n + 1);
    assert_true(fabs(read_metric(*state, sum) - before - ratio) < 1e-9);
    assert_true(read_metric(*state, "vug_queue_time_seconds_count") == waited + 1);
    const double bytes = read_metric(*state, "vug_kv_cached_bytes");
    assert_true(bytes > 0 && bytes <= read_metric(*state, "vug_kv_budget_bytes"));
}

static void test_metrics(void **state)
{
    json_response health = serve_request(*state, "/health", NULL);
    json_response a = serve_request(*state, "/metrics", NULL);
    static const char *const parts[] = {
        "\nvug_queue_requests 0\n",
        "\nvug_kv_used_bytes 0\n",
        "\nvug_kv_sequences 0\n",
        "\nvug_model_bytes ",
        "\nvug_time_to_first_token_seconds_bucket{",
        "\nvug_queue_time_seconds_bucket{le=\"0.001\"} ",
        "\nvug_cached_tokens_total ",
        "\nvug_http_requests_total{route=\"/health\",status=\"200\"} ",
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!strstr(a.text.ptr, parts[i]))
            fail_msg("no %s in %s", parts[i], a.text.ptr);
    }
    response_release(&health);
    response_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timings),
        cmocka_unit_test(test_cache_metrics),
        cmocka_unit_test(test_metrics),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
