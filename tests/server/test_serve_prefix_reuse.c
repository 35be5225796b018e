/* What clients see of state between requests: cached prefixes, thinking that a template drops,
 * traces that reproduce their answers. */
#include "test.h"

#include <unistd.h>

#include "core/json_writer.h"
#include "core/os.h"
#include "scratch.h"
#include "serve_help.h"

#define CACHED  "usage.prompt_tokens_details.cached_tokens"
#define PROMPT  "usage.prompt_tokens"
#define CONTENT "choices.0.message.content"

/* ---- conversations -------------------------------------------------------------------- */

/* The messages so far, as JSON. */
typedef struct {
    vug_buf messages;
} chat_conversation;

static void add_message(chat_conversation *t, const char *role, vug_str text)
{
    vug_buf_printf(&t->messages, "%s{\"role\":\"%s\",\"content\":", t->messages.len ? "," : "",
                   role);
    vug_json_append_string(&t->messages, text.ptr, text.len);
    vug_buf_puts(&t->messages, "}");
}

static json_response send_conversation(const chat_conversation *t, const server_process *s,
                                       const char *more)
{
    vug_buf body = { 0 };
    vug_buf_printf(&body, "{\"model\":\"pebble\",\"messages\":[%s]%s}", t->messages.ptr, more);
    json_response a = serve_request(s, "/v1/chat/completions", body.ptr);
    if (a.status != 200)
        fail_msg("%d: %s", a.status, a.text.ptr);
    vug_buf_release(&body);
    return a;
}

/* Takes a turn; returns the cached tokens and those of the prompt. */
static double take_turn(chat_conversation *t, const server_process *s, const char *text,
                        double *prompt)
{
    add_message(t, "user", vug_str_of(text));
    json_response a = send_conversation(t, s, ",\"temperature\":0,\"max_tokens\":12");
    const double cached = response_number(&a, CACHED);
    *prompt = response_number(&a, PROMPT);
    add_message(t, "assistant", response_at(&a, CONTENT)->str);
    response_release(&a);
    return cached;
}

#define SYSTEM                                                                               \
    "You are a friend of caves and stones and of all that lives in them. You answer in few " \
    "words, for you have much to do, and you never speak of the weather."

/* pebble's template repeats what opens an answer, so all of the last prompt is cached. */
static void test_conversations_alternate(void **state)
{
    enum { CONVERSATIONS = 2, TURNS = 3 };
    static const char *const text[CONVERSATIONS][TURNS] = {
        { "What is 2 + 3?", "What is 4 + 9?", "Name a colour." },
        { "What is 7 + 1?", "Who are you?", "What is 5 + 5?" },
    };
    server_process s = SERVE("--threads", "1");
    chat_conversation t[CONVERSATIONS] = { 0 };
    double before[CONVERSATIONS] = { 0 }, prompt;
    (void)state;
    for (size_t turn = 0; turn < TURNS; turn++) {
        for (size_t i = 0; i < CONVERSATIONS; i++) {
            if (turn == 0)
                add_message(&t[i], "system", vug_str_of(SYSTEM));
            const double cached = take_turn(&t[i], &s, text[i][turn], &prompt);
            assert_true(cached >= before[i] && cached < prompt);
            before[i] = prompt;
        }
        if (turn == 0)
            before[1] = before[0] = prompt - 3;
    }
    for (size_t i = 0; i < CONVERSATIONS; i++)
        vug_buf_release(&t[i].messages);
    assert_int_equal(serve_end(&s), 0);
}

/* A sliding window of 192 tokens has left the prompt when its answer ends. */
static void test_repeats_after_a_long_answer(void **state)
{
    (void)state;
    server_process s = SERVE("--threads", "1", "--batch", "32");
    chat_conversation t = { 0 };
    double prompt = 0, cached = 0;
    add_message(&t, "user", vug_str_of(SYSTEM));
    for (int i = 0; i < 2; i++) {
        json_response a = send_conversation(&t, &s, ",\"ignore_eos\":true,\"max_tokens\":240");
        prompt = response_number(&a, PROMPT);
        cached = response_number(&a, CACHED);
        response_release(&a);
    }
    assert_true(cached == prompt - 1);
    vug_buf_release(&t.messages);
    assert_int_equal(serve_end(&s), 0);
}

/* ---- thinking -------------------------------------------------------------------------- */

/* A model that thinks, with a template that drops thinking from later prompts. */
static const char thinker[] =
        "{{ bos_token }}{% for m in messages %}"
        "<start_of_turn>{{ 'model' if m.role == 'assistant' else 'user' }}\n"
        "{{ m.content }}<end_of_turn>\n{% endfor %}"
        "{% if add_generation_prompt %}<start_of_turn>model\n"
        "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n"
        "{% else %}<think>\n{% endif %}{% endif %}";

#define REASONING  "usage.completion_tokens_details.reasoning_tokens"
#define COMPLETION "usage.completion_tokens"

static server_process serve_thinker(const scratch *dir)
{
    scratch_puts(dir, "thinker.jinja", thinker);
    return SERVE("--threads", "1", "--chat-template", scratch_at(dir, "thinker.jinja").path);
}

static void assert_same_text(const vug_buf *a, const vug_buf *b)
{
    assert_int_equal(a->len, b->len);
    if (a->len)
        assert_memory_equal(a->ptr, b->ptr, a->len);
}

/* Sends the request with and without a stream; `a` is the response without. */
static json_response ask_both(const server_process *s, const char *text, const char *more)
{
    char body[512];
    (void)snprintf(body, sizeof(body),
                   "{\"model\":\"pebble\",\"temperature\":0,\"messages\":[{\"role\":\"user\","
                   "\"content\":\"%s\"}]%s}",
                   text, more);
    chat_stream whole = serve_whole_chat(s, body);
    json_response a = serve_request(s, "/v1/chat/completions", body);
    (void)snprintf(body + strlen(body) - 1, sizeof(body) - strlen(body),
                   ",\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
    chat_stream stream = serve_stream_chat(s, body);
    assert_same_text(&whole.thinking[0], &stream.thinking[0]);
    assert_same_text(&whole.content[0], &stream.content[0]);
    assert_string_equal(whole.finish[0], stream.finish[0]);
    assert_int_equal(whole.completion_tokens, stream.completion_tokens);
    chat_stream_release(&whole);
    chat_stream_release(&stream);
    return a;
}

static void test_thinking(void **state)
{
    scratch dir = scratch_make();
    server_process s = serve_thinker(&dir);
    (void)state;
    /* It stops while thinking: all output is thinking. */
    json_response a = ask_both(&s, "What is 12 + 30?", "");
    response_expect(&a, "choices.0.message.reasoning_content", "12 + 30 = 42");
    response_expect(&a, CONTENT, "");
    assert_true(response_number(&a, REASONING) == response_number(&a, COMPLETION));
    response_release(&a);
    /* A constraint still yields JSON. */
    a = ask_both(&s, "What is 12 + 30?", ",\"response_format\":{\"type\":\"json_object\"}");
    response_expect(&a, "choices.0.finish_reason", "stop");
    assert_int_equal(response_at(&a, CONTENT)->str.ptr[0], '{');
    assert_true(response_number(&a, REASONING) < response_number(&a, COMPLETION));
    response_release(&a);
    a = ask_both(&s, "What is 12 + 30?", ",\"reasoning_effort\":\"none\",\"max_tokens\":9");
    assert_null(response_at(&a, "choices.0.message.reasoning_content"));
    assert_true(response_number(&a, REASONING) == 0);
    response_release(&a);
    assert_int_equal(serve_end(&s), 0);
    scratch_remove(&dir);
}

/* `minimal` allows 256 tokens and those that close the thinking. */
static void test_thinking_budget(void **state)
{
    enum { MOST = 256, CLOSING = 8 };
    scratch dir = scratch_make();
    server_process s = serve_thinker(&dir);
    (void)state;
    json_response a = serve_request(
            &s, "/v1/chat/completions",
            "{\"model\":\"pebble\",\"temperature\":0,\"max_tokens\":270,\"ignore_eos\":true,"
            "\"reasoning_effort\":\"minimal\",\"messages\":[{\"role\":\"user\","
            "\"content\":\"Tell me a story\"}]}");
    assert_int_equal(a.status, 200);
    assert_true(response_number(&a, REASONING) >= MOST);
    assert_true(response_number(&a, REASONING) <= MOST + CLOSING);
    assert_true(response_number(&a, COMPLETION) == 270);
    assert_true(response_at(&a, CONTENT)->str.len > 0);
    response_release(&a);
    assert_int_equal(serve_end(&s), 0);
    scratch_remove(&dir);
}

/* Thinking is not in the next prompt; all tokens before it are cached. */
static void test_dropped_thinking(void **state)
{
    enum { OPENING = 8 }; /* that open the thinking */
    scratch dir = scratch_make();
    server_process s = serve_thinker(&dir);
    chat_conversation t = { 0 }, other = { 0 };
    double prompt, before = 0;
    (void)state;
    (void)take_turn(&other, &s, "What is 1 + 1?", &prompt);
    for (int i = 0; i < 4; i++) {
        const double cached = take_turn(&t, &s, "What is 4 + 7?", &prompt);
        assert_true(i == 0 || (cached >= before - OPENING && cached <= before));
        before = prompt;
    }
    /* The other conversation has lost nothing. */
    const double cached = take_turn(&other, &s, "What is 2 + 2?", &prompt);
    assert_true(cached > 12);
    vug_buf_release(&t.messages);
    vug_buf_release(&other.messages);
    assert_int_equal(serve_end(&s), 0);
    scratch_remove(&dir);
}

/* ---- traces ---------------------------------------------------------------------------- */

#define WARM "\"temperature\":1.5,\"max_tokens\":12"

/* Copies what does not differ each time: in events, what follows the model name, up to the timings. */
static void keep_same(const char *text, vug_buf *to)
{
    for (const char *at = text; (at = strstr(at, "\"model\":")) != NULL;) {
        const char *end = strchr(at, '\n');
        const char *timings = strstr(at, ",\"timings\":");
        if (timings && (!end || timings < end))
            end = timings;
        vug_buf_append(to, at, end ? (size_t)(end - at) : strlen(at));
        at += 8;
    }
}

/* A traced request with its seed reproduces the traced answer. */
static void assert_replays(const server_process *s, const char *path)
{
    vug_text text;
    const vug_jv *root;
    vug_arena arena = { 0 };
    vug_buf body = { 0 }, was = { 0 }, is = { 0 };
    assert_int_equal(vug_read_file(path, 1 << 20, &text, NULL), VUG_OK);
    assert_int_equal(vug_json_tree((vug_str){ text.ptr, text.len }, "record", &arena, &root, NULL),
                     VUG_OK);
    const char *request = strstr(text.ptr, "\"request\":{") + strlen("\"request\":{");
    const char *end = strstr(text.ptr, ",\"status\":");
    const vug_jv *to = vug_jv_get(root, "path"), *answer = vug_jv_get(root, "answer");
    vug_buf_printf(&body, "{\"seed\":%lld,%.*s", (long long)vug_jv_get(root, "seed")->i64,
                   (int)(end - request), request);
    char *where = strndup(to->str.ptr, to->str.len);
    json_response again = serve_request(s, where, body.ptr);
    assert_int_equal(again.status, 200);
    keep_same(again.text.ptr, &is);
    if (answer->type == VUG_JSON_STRING) {
        char *events = strndup(answer->str.ptr, answer->str.len);
        keep_same(events, &was);
        free(events);
    } else {
        keep_same(strstr(end, "\"answer\":"), &was);
    }
    char *tokens = was.ptr ? strstr(was.ptr, "\"usage\"") : NULL; /* now the prompt is cached */
    if (tokens)
        was.len = is.len = (size_t)(tokens - was.ptr);
    assert_same_text(&was, &is);
    free(where);
    response_release(&again);
    vug_buf_release(&body);
    vug_buf_release(&was);
    vug_buf_release(&is);
    vug_text_release(&text);
    vug_arena_release(&arena);
}

static void test_trace_replays(void **state)
{
    static const char *const chat = "/v1/chat/completions", *const text = "/v1/completions";
    const char *const ask[][2] = {
        { chat, "{\"model\":\"pebble\",\"messages\":[{\"role\":\"user\",\"content\":\"Tell me a "
                "story\"}]," WARM ",\"n\":2,\"logprobs\":true}" },
        { chat, "{\"model\":\"pebble\",\"messages\":[{\"role\":\"user\",\"content\":\"Tell me a "
                "story\"}]," WARM ",\"stream\":true}" },
        { text, "{\"model\":\"pebble\",\"prompt\":[\"Once\",\"The\"]," WARM "}" },
        { text,
          "{\"model\":\"pebble\",\"prompt\":\"Once\"," WARM ",\"stream\":true,\"logprobs\":2}" },
    };
    enum { N = sizeof(ask) / sizeof(ask[0]) };
    scratch dir = scratch_make();
    vug_arena arena = { 0 };
    vug_str *name;
    size_t n;
    (void)state;
    server_process s = SERVE("--threads", "1", "--trace", dir.path);
    for (size_t i = 0; i < N; i++) {
        json_response a = serve_request(&s, ask[i][0], ask[i][1]);
        assert_int_equal(a.status, 200);
        response_release(&a);
    }
    assert_int_equal(serve_end(&s), 0);
    assert_int_equal(vug_list_folder(dir.path, &arena, &name, &n, NULL), VUG_OK);
    assert_int_equal(n, N);
    s = SERVE("--threads", "1");
    for (size_t i = 0; i < n; i++) {
        const scratch_path file = scratch_at(&dir, name[i].ptr);
        struct stat info;
        assert_int_equal(stat(file.path, &info), 0);
        assert_int_equal(info.st_mode & 0777, 0600); /* it has private text */
        assert_replays(&s, file.path);
    }
    assert_int_equal(serve_end(&s), 0);
    vug_arena_release(&arena);
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversations_alternate),
        cmocka_unit_test(test_repeats_after_a_long_answer),
        cmocka_unit_test(test_thinking),
        cmocka_unit_test(test_thinking_budget),
        cmocka_unit_test(test_dropped_thinking),
        cmocka_unit_test(test_trace_replays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
