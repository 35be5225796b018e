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

/* A prediction and its drafts change no answer. The first test: before costs are measured, drafts are
 * tried. */
static void test_predictions(void **state)
{
#define REPEAT "Repeat: the quick brown fox jumps over the lazy dog"
#define PREDICTION                                                                               \
    ",\"temperature\":0,\"prediction\":{\"type\":\"content\",\"content\":\"the quick brown fox " \
    "jumps over the lazy cat\"}"
    json_response plain = serve_request(*state, "/v1/chat/completions",
                                        CHAT(REPEAT, ",\"temperature\":0,\"speculative.n_max\":0"));
    assert_null(response_at(&plain, "timings.draft_n"));
    double all_accepted = 0;
    for (int i = 0; i < 4; i++) {
        json_response a = serve_request(*state, "/v1/chat/completions", CHAT(REPEAT, PREDICTION));
        const vug_jv *text = response_at(&a, "choices.0.message.content"),
                     *expected = response_at(&plain, "choices.0.message.content");
        assert_true(vug_jv_is(text, VUG_JSON_STRING) && vug_jv_is(expected, VUG_JSON_STRING));
        assert_int_equal(text->str.len, expected->str.len);
        assert_memory_equal(text->str.ptr, expected->str.ptr, text->str.len);
        const double accepted =
                response_number(&a, "usage.completion_tokens_details.accepted_prediction_tokens");
        const double rejected =
                response_number(&a, "usage.completion_tokens_details.rejected_prediction_tokens");
        if (accepted + rejected > 0) {
            assert_true(accepted <= response_number(&a, "timings.draft_n_accepted"));
            assert_true(accepted + rejected <= response_number(&a, "timings.draft_n"));
        }
        all_accepted += accepted;
        response_release(&a);
    }
    assert_true(all_accepted > 0); /* the words before the last are predicted */
    response_release(&plain);
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
    const double v = at ? strtod(at + strlen(line), NULL) : 0;
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
        "\nvug_draft_tokens_total ",
        "\nvug_draft_accepted_total ",
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

/* Polls /slots until its entry number `i` has that state. */
static json_response wait_for_state(const server_process *s, const char *i, const char *state)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "%s.state", i);
    for (int n = 0;; n++) {
        json_response a = serve_request(s, "/slots", NULL);
        const vug_jv *at = response_at(&a, path);
        if (at && vug_str_is(at->str, state))
            return a;
        if (n == 100000)
            fail_msg("no %s in %s", state, a.text.ptr);
        response_release(&a);
    }
}

/* With one slot, the second request waits while the first one generates. */
static void test_slots(void **state)
{
    (void)state;
    server_process s = SERVE("--slots", "1", "--context", "32768");
    json_response a = serve_request(&s, "/slots", NULL);
    assert_string_equal(a.text.ptr, "[]");
    response_release(&a);
    http_client first = http_connect(&s.at), second = http_connect(&s.at);
    http_send_request(&first, "/v1/completions",
                      "{\"model\":\"pebble\",\"prompt\":\"Once upon a\",\"max_tokens\":30000,"
                      "\"ignore_eos\":true,\"priority\":3}");
    a = wait_for_state(&s, "0", "generating");
    response_expect(&a, "0.model", "pebble");
    assert_true(response_number(&a, "0.priority") == 3);
    assert_true(response_number(&a, "0.prompt_tokens") == 4);
    assert_true(response_number(&a, "0.cached_tokens") == 0);
    assert_true(response_number(&a, "0.completion_tokens") >= 1);
    assert_true(response_number(&a, "0.max_tokens") == 30000);
    assert_true(response_number(&a, "0.n_ctx") == 32768);
    response_release(&a);
    http_send_request(&second, "/v1/chat/completions", CHAT("Hi", ",\"max_tokens\":1"));
    a = wait_for_state(&s, "1", "waiting");
    assert_true(response_number(&a, "1.id") == response_number(&a, "0.id") + 1);
    assert_false(response_at(&a, "1.is_processing")->boolean);
    assert_true(response_at(&a, "0.is_processing")->boolean);
    response_release(&a);
    http_close(&first); /* ends it */
    json_response answer = serve_read_response(&second);
    assert_int_equal(answer.status, 200);
    response_release(&answer);
    a = serve_request(&s, "/slots", NULL);
    assert_string_equal(a.text.ptr, "[]");
    response_release(&a);
    http_close(&second);
    a = serve_request(&s, "/props", NULL);
    assert_true(response_number(&a, "total_slots") == 1);
    response_release(&a);
    assert_int_equal(serve_end(&s), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predictions),   cmocka_unit_test(test_timings),
        cmocka_unit_test(test_cache_metrics), cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_slots),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
