/* Timings in the last event of a stream. test_api_response.c has those of whole responses. */
#include "test.h"

#include "server/api/api_response.h"

static const vug_api_response_head stream_head = {
    .id = 0xabc, .created = 1760000000, .model = { "m", 1 }, .stream = true
};
static const vug_api_usage usage = {
    .prompt = 12, .cached = 8, .completion = 7, .reasoning = 2, .prompt_s = 0.5, .decode_s = 0.25
};

#define TIMINGS                                                              \
    "\"timings\":{\"cache_n\":8,\"prompt_n\":4,\"prompt_ms\":500,"           \
    "\"prompt_per_token_ms\":125,\"prompt_per_second\":8,\"predicted_n\":7," \
    "\"predicted_ms\":250,\"predicted_per_token_ms\":35.714,\"predicted_per_second\":28}"

/* Without the event of the usage, the last event of a choice has the timings. */
static void test_timings_of_stream(void **state)
{
    (void)state;
    vug_buf to = { 0 };
    vug_chat_choice c = { .head = &stream_head, .events = &to, .usage = &usage, .is_last = true };
    vug_chat_choice_begin(&c);
    assert_null(strstr(to.ptr, "timings"));
    vug_chat_choice_finish(&c, VUG_FINISH_LENGTH);
    assert_non_null(strstr(to.ptr, "\"finish_reason\":\"length\"}]," TIMINGS "}\n\n"));
    vug_chat_choice_release(&c);
    to.len = 0;
    vug_api_response_head head = stream_head;
    head.endpoint = VUG_API_COMPLETION;
    vug_completion_choice t = { .head = &head, .events = &to, .usage = &usage, .is_last = true };
    (void)vug_completion_choice_push(&t, "b", 1);
    assert_null(strstr(to.ptr, "timings"));
    vug_completion_choice_finish(&t, VUG_FINISH_LENGTH);
    assert_non_null(strstr(to.ptr, "\"finish_reason\":\"length\"}]," TIMINGS "}\n\n"));
    vug_completion_choice_release(&t);
    vug_buf_release(&to);
}

/* What was not computed has no speed. */
static void test_timings_of_nothing(void **state)
{
    (void)state;
    const vug_api_usage none = { .prompt = 3, .cached = 3 };
    vug_buf to = { 0 };
    vug_api_usage_event(&stream_head, &none, &to);
    assert_non_null(strstr(to.ptr,
                           "\"timings\":{\"cache_n\":3,\"prompt_n\":0,\"prompt_ms\":0,"
                           "\"prompt_per_token_ms\":0,\"prompt_per_second\":0,\"predicted_n\":0,"
                           "\"predicted_ms\":0,\"predicted_per_token_ms\":0,"
                           "\"predicted_per_second\":0}}"));
    vug_buf_release(&to);
}

static void test_drafts(void **state)
{
    (void)state;
    vug_api_usage drafted = usage;
    vug_buf to = { 0 };
    drafted.drafted = 6;
    drafted.accepted = 5;
    drafted.prediction_accepted = 3;
    drafted.prediction_rejected = 1;
    vug_api_usage_event(&stream_head, &drafted, &to);
    assert_non_null(strstr(to.ptr, "\"predicted_per_second\":28,\"draft_n\":6,"
                                   "\"draft_n_accepted\":5}}"));
    assert_non_null(strstr(to.ptr, "\"accepted_prediction_tokens\":3,"
                                   "\"rejected_prediction_tokens\":1}"));
    vug_buf_release(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timings_of_stream),
        cmocka_unit_test(test_timings_of_nothing),
        cmocka_unit_test(test_drafts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
