/* Answers that clients send back get the tokens that were sampled. */
#include "test.h"

#include "core/json_writer.h"
#include "scratch.h"
#include "serve_help.h"

#define CACHED  "usage.prompt_tokens_details.cached_tokens"
#define PROMPT  "usage.prompt_tokens"
#define ANSWERS "usage.completion_tokens"
#define CONTENT "choices.0.message.content"
#define CHAT    "/v1/chat/completions"

/* Sends a POST with a key. */
static json_response post(const server_process *s, const char *key, const char *path,
                          const char *body)
{
    vug_buf request = { 0 };
    http_client c = http_connect(&s->at);
    vug_buf_printf(&request,
                   "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   "Authorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n%s",
                   path, key, strlen(body), body);
    assert_true(http_send_bytes(&c, request.ptr, request.len));
    json_response a = serve_read_response(&c);
    http_close(&c);
    vug_buf_release(&request);
    if (a.status != 200)
        fail_msg("%d: %s", a.status, a.text.ptr);
    return a;
}

/* The ids of the letters of "caverns" alone: the tokenizer makes fewer tokens of it. */
static void write_letters(const server_process *s, const char *key, vug_buf *to)
{
    static const char letters[] = "caverns";
    for (size_t i = 0; letters[i]; i++) {
        char body[64];
        (void)snprintf(body, sizeof(body), "{\"content\":\"%c\",\"add_special\":false}",
                       letters[i]);
        json_response a = post(s, key, "/tokenize", body);
        const vug_jv *ids = response_at(&a, "tokens");
        assert_non_null(ids);
        assert_int_equal(ids->n, 1);
        vug_buf_printf(to, "%s%lld", i ? "," : "", (long long)ids->child->i64);
        response_release(&a);
    }
}

/* A request that answers in single letters. */
static void write_first(vug_buf *to, const vug_buf *letters, const char *question)
{
    vug_buf_printf(to,
                   "{\"model\":\"pebble\",\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}],"
                   "\"temperature\":2,\"seed\":5,\"max_tokens\":24,\"ignore_eos\":true,"
                   "\"allowed_token_ids\":[%s]}",
                   question, letters->ptr);
}

static void write_second(vug_buf *to, const char *question, vug_str answer)
{
    vug_buf_printf(to,
                   "{\"model\":\"pebble\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\","
                   "\"content\":\"%s\"},{\"role\":\"assistant\",\"content\":",
                   question);
    vug_json_append_string(to, answer.ptr, answer.len);
    vug_buf_puts(to, "},{\"role\":\"user\",\"content\":\"Go on\"}]}");
}

/* Of the second request: whether all of the first one, prompt and answer, is cached. */
static bool continues(const server_process *s, const char *first_key, const char *second_key,
                      const char *question)
{
    vug_buf letters = { 0 }, first = { 0 }, second = { 0 };
    write_letters(s, first_key, &letters);
    write_first(&first, &letters, question);
    json_response a = post(s, first_key, CHAT, first.ptr);
    const double before = response_number(&a, PROMPT) + response_number(&a, ANSWERS);
    assert_true(response_number(&a, ANSWERS) == 24);
    write_second(&second, question, response_at(&a, CONTENT)->str);
    json_response b = post(s, second_key, CHAT, second.ptr);
    const bool all = response_number(&b, CACHED) >= before - 1;
    if (!all) /* then the tokenizer's tokens differ from the first on, or soon */
        assert_true(response_number(&b, CACHED) < before - 12);
    response_release(&a);
    response_release(&b);
    vug_buf_release(&letters);
    vug_buf_release(&first);
    vug_buf_release(&second);
    return all;
}

static void test_unusual_tokens(void **state)
{
    (void)state;
    server_process s = SERVE("--threads", "1");
    assert_true(continues(&s, "one", "one", "Name a place"));
    assert_int_equal(serve_end(&s), 0);
}

/* Another key's answer is encoded as any text is. */
static void test_keys_share_nothing(void **state)
{
    (void)state;
    server_process s = SERVE("--threads", "1", "--api-key", "one", "--api-key", "two");
    assert_false(continues(&s, "one", "two", "Name a place"));
    assert_true(continues(&s, "two", "two", "Name a place"));
    assert_int_equal(serve_end(&s), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unusual_tokens),
        cmocka_unit_test(test_keys_share_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
