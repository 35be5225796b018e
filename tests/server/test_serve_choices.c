/* The choices of a request, which are generated at the same time. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "serve_help.h"

static int set_up(void **state)
{
    static server_process s; /* NOLINT: one for all tests */
    s = SERVE("--threads", "1");
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    assert_int_equal(serve_end(*state), 0);
    return 0;
}

#define REQUEST "{\"model\":\"pebble\",\"max_tokens\":24,\"temperature\":1.3,\"ignore_eos\":true,"

/* Choice i of a prompt is what the prompt alone gives with i added to the seed. */
static void test_choices_are_those_of_single_requests(void **state)
{
    enum { N = 5, PROMPTS = 2, SEED = 7 };
    static const char *const prompt[PROMPTS] = { "Once upon a time", "The dragon said" };
    const server_process *s = *state;
    json_response all = serve_request(
            s, "/v1/completions",
            REQUEST "\"n\":5,\"seed\":7,\"prompt\":[\"Once upon a time\",\"The dragon said\"]}");
    assert_int_equal(all.status, 200);
    assert_true(response_number(&all, "usage.completion_tokens") == N * PROMPTS * 24);
    for (int i = 0; i < N * PROMPTS; i++) {
        char body[300], path[40];
        (void)snprintf(body, sizeof(body), REQUEST "\"seed\":%d,\"prompt\":\"%s\"}", SEED + i % N,
                       prompt[i / N]);
        json_response one = serve_request(s, "/v1/completions", body);
        const vug_str text = response_at(&one, "choices.0.text")->str;
        (void)snprintf(path, sizeof(path), "choices.%d.index", i);
        assert_true(response_number(&all, path) == i);
        (void)snprintf(path, sizeof(path), "choices.%d.text", i);
        assert_true(text.len > 0);
        assert_true(vug_str_equal(response_at(&all, path)->str, text));
        response_release(&one);
    }
    response_release(&all);
}

/* All choices have begun before the first one ends. */
static void test_choices_are_generated_at_the_same_time(void **state)
{
    const server_process *s = *state;
    json_response a = serve_request(s, "/v1/completions",
                                    "{\"model\":\"pebble\",\"max_tokens\":300,\"ignore_eos\":true,"
                                    "\"stream\":true,\"n\":3,\"prompt\":\"Once upon a time\"}");
    assert_int_equal(a.status, 200);
    const char *first_end = strstr(a.text.ptr, "\"finish_reason\":\"length\"");
    assert_non_null(first_end);
    for (int i = 0; i < 3; i++) {
        char index[20];
        (void)snprintf(index, sizeof(index), "\"index\":%d", i);
        const char *begin = strstr(a.text.ptr, index);
        assert_true(begin && begin < first_end);
    }
    response_release(&a);
}

/* One error ends a request of which every choice fails, and the next one is served. */
static void test_choices_fail_together(void **state)
{
    const server_process *s = *state;
    json_response a = serve_request(
            s, "/v1/completions",
            "{\"model\":\"pebble\",\"prompt\":\"a\",\"n\":8,\"allowed_token_ids\":[5],"
            "\"guided_regex\":\"[bc]\",\"max_tokens\":4}");
    assert_true(a.status >= 400);
    assert_non_null(strstr(response_at(&a, "error.message")->str.ptr, "no token may follow"));
    response_release(&a);
    a = serve_request(s, "/v1/completions",
                      "{\"model\":\"pebble\",\"prompt\":\"a\",\"n\":8,\"max_tokens\":1}");
    assert_int_equal(a.status, 200);
    response_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices_are_those_of_single_requests),
        cmocka_unit_test(test_choices_are_generated_at_the_same_time),
        cmocka_unit_test(test_choices_fail_together),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
