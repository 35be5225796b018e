#include "test.h"

#include <math.h>

#include "server/api/api_response.h"

/*
 * Responses: transcripts byte for byte; then scripts whose streams, accumulated as clients do, must
 * equal the whole response.
 */

static const vug_api_response_head whole_head = {
    .id = 0xabc, .created = 1760000000, .model = { "m", 1 }, .fingerprint = "vug-1"
};
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
#define USAGE                                                                         \
    "\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":7,\"total_tokens\":19,"    \
    "\"prompt_tokens_details\":{\"cached_tokens\":8},\"completion_tokens_details\":{" \
    "\"reasoning_tokens\":2,\"accepted_prediction_tokens\":0,"                        \
    "\"rejected_prediction_tokens\":0}}," TIMINGS
#define WHOLE                                                               \
    "{\"id\":\"chatcmpl-0000000000000abc\",\"object\":\"chat.completion\"," \
    "\"created\":1760000000,\"model\":\"m\",\"system_fingerprint\":\"vug-1\",\"choices\":["
#define EVENT                                                                           \
    "data: {\"id\":\"chatcmpl-0000000000000abc\",\"object\":\"chat.completion.chunk\"," \
    "\"created\":1760000000,\"model\":\"m\",\"choices\":["
#define DELTA(delta, reason)                                                                     \
    EVENT "{\"index\":0,\"delta\":{" delta "},\"logprobs\":null,\"finish_reason\":" reason "}]}" \
          "\n\n"
#define ROLE DELTA("\"role\":\"assistant\",\"content\":\"\"", "null")

/* ---- scripts ------------------------------------------------------------------------- */

/* Reply parts, each with a letter: c content, t thinking, n name of a call, a arguments, e end of
 * the call, d dropped call. */
typedef struct {
    char kind;
    const char *text;
} line;

enum { MAX_LINES = 24 };

typedef struct {
    line part[MAX_LINES];
    const char *stop[3];
    const char *text, *thinking, *calls, *reason; /* expected output; calls as "name(arguments) " */
    vug_finish finish;
    bool logprobs, named_tool, single_call, must_call, calls_guarded;
} response_script;

static vug_part_kind kind_of(char c)
{
    switch (c) {
    case 'c':
        return VUG_PART_CONTENT;
    case 't':
        return VUG_PART_THINKING;
    case 'n':
        return VUG_PART_CALL;
    case 'a':
        return VUG_PART_ARGUMENTS;
    case 'e':
        return VUG_PART_CALL_END;
    default:
        return VUG_PART_CALL_DROP;
    }
}

static void set_stops(vug_stop_strings *stops, const char *const *text, vug_arena *arena)
{
    vug_str *stop = vug_arena_alloc(arena, 3, sizeof(*stop));
    size_t n = 0;
    assert_non_null(stop);
    for (; n < 3 && text[n]; n++)
        stop[n] = vug_str_of(text[n]);
    assert_true(vug_stop_strings_init(stops, stop, n, arena));
}

/* Every part is one token. */
static void play(const response_script *s, vug_chat_choice *c)
{
    vug_chat_choice_begin(c);
    bool more = true;
    for (size_t i = 0; more && s->part[i].kind; i++) {
        const char *text = s->part[i].text ? s->part[i].text : "";
        const vug_api_token token = { .text = vug_str_of(text), .logprob = -0.5f };
        vug_chat_choice_logprob(c, &(vug_api_logprob){ .token = token, .top = &token, .n_top = 1 });
        const vug_part part = { kind_of(s->part[i].kind), 0, text, strlen(text) };
        more = vug_chat_choice_part(&part, c);
        if (!more)
            assert_false(vug_chat_choice_part(&part, c));
    }
    vug_chat_choice_finish(c, s->finish);
    assert_true(vug_chat_choice_ok(c));
}

static void run(const response_script *s, const vug_api_response_head *head, vug_buf *to)
{
    vug_arena arena = { 0 };
    vug_chat_choice c = { .head = head,
                          .logprobs = s->logprobs,
                          .named_tool = s->named_tool,
                          .single_call = s->single_call,
                          .must_call = s->must_call,
                          .calls_guarded = s->calls_guarded,
                          .events = head->stream ? to : NULL };
    set_stops(&c.stops, s->stop, &arena);
    play(s, &c);
    if (!head->stream)
        vug_chat_choice_write(head, &c, 1, &usage, to);
    vug_chat_choice_release(&c);
    vug_arena_release(&arena);
}

static void expect(const response_script *s, const vug_api_response_head *head, const char *want)
{
    vug_buf to = { 0 };
    run(s, head, &to);
    assert_string_equal(to.ptr, want);
    vug_buf_release(&to);
}

/* ---- transcripts --------------------------------------------------------------------- */

static void test_text(void **state)
{
    (void)state;
    const response_script s = { .part = { { 'c', "Hi" }, { 'c', " \"you\"\n" } } };
    expect(&s, &whole_head,
           WHOLE
           "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Hi \\\"you\\\"\\n\","
           "\"refusal\":null},\"logprobs\":null,\"finish_reason\":\"stop\"}]," USAGE "}");
    expect(&s, &stream_head,
           ROLE DELTA("\"content\":\"Hi\"", "null") DELTA("\"content\":\" \\\"you\\\"\\n\"", "null")
                   DELTA("", "\"stop\""));
}

static void test_empty_answer(void **state)
{
    (void)state;
    const response_script s = { .finish = VUG_FINISH_LENGTH };
    expect(&s, &whole_head,
           WHOLE "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"\","
                 "\"refusal\":null},\"logprobs\":null,\"finish_reason\":\"length\"}]," USAGE "}");
    expect(&s, &stream_head, ROLE DELTA("", "\"length\""));
}

static void test_thinking_is_separate(void **state)
{
    (void)state;
    const response_script s = { .part = { { 't', "hm" }, { 't', "m" }, { 'c', "So" } } };
    expect(&s, &whole_head,
           WHOLE "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"So\",\"refusal\":"
                 "null,\"reasoning_content\":\"hmm\"},\"logprobs\":null,"
                 "\"finish_reason\":\"stop\"}]," USAGE "}");
    expect(&s, &stream_head,
           ROLE DELTA("\"reasoning_content\":\"hm\"", "null")
                   DELTA("\"reasoning_content\":\"m\"", "null") DELTA("\"content\":\"So\"", "null")
                           DELTA("", "\"stop\""));
    vug_api_response_head both = stream_head;
    both.also_reasoning = true;
    const response_script one = { .part = { { 't', "hm" } } };
    expect(&one, &both,
           ROLE DELTA("\"reasoning_content\":\"hm\",\"reasoning\":\"hm\"", "null")
                   DELTA("", "\"stop\""));
}

/* Call ids derive from the request's id. */
static void id_of_call(const char *text, char out[22])
{
    const char *at = strstr(text, "\"call_");
    assert_non_null(at);
    memcpy(out, at + 1, 21);
    out[21] = '\0';
}

static void test_tool_calls(void **state)
{
    (void)state;
    const response_script s = {
        .part = { { 'n', "f" }, { 'a', "{\"a\"" }, { 'a', ":1}" }, { 'e', NULL } },
        .calls_guarded = true
    };
    vug_buf got = { 0 }, want = { 0 };
    char id[22];
    run(&s, &whole_head, &got);
    id_of_call(got.ptr, id);
    vug_buf_printf(&want,
                   WHOLE "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":null,"
                         "\"refusal\":null,\"tool_calls\":[{\"id\":\"%s\",\"type\":\"function\","
                         "\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}}]},"
                         "\"logprobs\":null,\"finish_reason\":\"tool_calls\"}]," USAGE "}",
                   id);
    assert_string_equal(got.ptr, want.ptr);
    got.len = want.len = 0;
    run(&s, &stream_head, &got);
    vug_buf_printf(
            &want,
            ROLE DELTA("\"tool_calls\":[{\"index\":0,\"id\":\"%s\",\"type\":\"function\","
                       "\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]",
                       "null")
                    DELTA("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"a\\\"\"}"
                          "}]",
                          "null") DELTA("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
                                        "\":1}\"}}]",
                                        "null") DELTA("", "\"tool_calls\""),
            id);
    assert_string_equal(got.ptr, want.ptr);
    vug_buf_release(&got);
    vug_buf_release(&want);
}

#define TOKEN(text, bytes)                                                               \
    "{\"token\":\"" text "\",\"logprob\":-0.5,\"bytes\":[" bytes "],\"top_logprobs\":[{" \
    "\"token\":\"" text "\",\"logprob\":-0.5,\"bytes\":[" bytes "]}]}"
#define LOGPROBS(tokens) "\"logprobs\":{\"content\":[" tokens "],\"refusal\":null}"

/* Events have those of the tokens whose text they send; tokens of a stop have none. */
static void test_logprobs(void **state)
{
    (void)state;
    const response_script s = {
        .part = { { 'c', "a" }, { 'c', "b" }, { 'c', "x" }, { 'c', "b" }, { 'c', "c" } },
        .stop = { "bc" },
        .logprobs = true
    };
    expect(&s, &whole_head,
           WHOLE "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"abx\","
                 "\"refusal\":null}," LOGPROBS(TOKEN("a", "97") "," TOKEN("b", "98") "," TOKEN(
                         "x", "120")) ","
                                      "\"finish_reason\":\"stop\"}]," USAGE "}");
    expect(&s, &stream_head,
           ROLE EVENT "{\"index\":0,\"delta\":{\"content\":\"a\"}," LOGPROBS(
                   TOKEN("a", "97")) ",\"finish_reason\":null}]}\n\n" EVENT
                                     "{\"index\":0,\"delta\":{\"content\":\"bx\"}," LOGPROBS(
                                             TOKEN("b", "98") "," TOKEN(
                                                     "x", "120")) ",\"finish_reason\":null}]}"
                                                                  "\n\n" DELTA("", "\"stop\""));
}

/* If requested, the list exists even when the answer is empty. */
static void test_logprobs_of_an_empty_answer(void **state)
{
    (void)state;
    const response_script s = { .part = { { 'c', "b" } }, .stop = { "b" }, .logprobs = true };
    expect(&s, &whole_head,
           WHOLE "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"\","
                 "\"refusal\":null}," LOGPROBS("") ",\"finish_reason\":\"stop\"}]," USAGE "}");
    expect(&s, &stream_head, ROLE DELTA("", "\"stop\""));
}

static void test_logprobs_have_a_minimum(void **state)
{
    (void)state;
    vug_buf to = { 0 };
    vug_chat_choice c = { .head = &whole_head, .logprobs = true };
    const vug_api_token never = { .text = vug_str_of("\xe2\x82"), .logprob = -INFINITY };
    const vug_api_token end = { .text = vug_str_of("<eos>"), .logprob = -1, .is_control = true };
    vug_chat_choice_logprob(&c, &(vug_api_logprob){ .token = never, .top = &end, .n_top = 1 });
    vug_chat_choice_finish(&c, VUG_FINISH_STOP);
    vug_chat_choice_write(&whole_head, &c, 1, &usage, &to);
    assert_non_null(strstr(to.ptr,
                           "{\"token\":\"\xef\xbf\xbd\",\"logprob\":-9999,\"bytes\":"
                           "[226,130],\"top_logprobs\":[{\"token\":\"<eos>\",\"logprob\":-1,"
                           "\"bytes\":[]}]}"));
    vug_chat_choice_release(&c);
    vug_buf_release(&to);
}

static void test_end_of_stream(void **state)
{
    (void)state;
    vug_api_response_head head = stream_head;
    vug_buf to = { 0 };
    head.include_usage = true;
    const response_script s = { .part = { { 'c', "a" } } };
    run(&s, &head, &to);
    vug_api_usage_event(&head, &usage, &to);
    vug_api_done_event(&to);
#define WITH_NULL(delta, reason)                                                           \
    EVENT "{\"index\":0,\"delta\":{" delta "},\"logprobs\":null,\"finish_reason\":" reason \
          "}],\"usage\":null}\n\n"
    assert_string_equal(to.ptr,
                        WITH_NULL("\"role\":\"assistant\",\"content\":\"\"", "null")
                                WITH_NULL("\"content\":\"a\"", "null") WITH_NULL("", "\"stop\"")
                                        EVENT "]," USAGE "}\n\ndata: [DONE]\n\n");
    vug_buf_release(&to);
}

/* ---- a client -------------------------------------------------------------------------- */

/* Accumulates deltas like openai-python's accumulate_delta: joins strings except `type`, and finds
 * calls by `index`. */
enum { MAX_CALLS = 8 };
typedef struct {
    vug_buf role, content, reasoning, id[MAX_CALLS], name[MAX_CALLS], arguments[MAX_CALLS];
    vug_buf logprobs;
    size_t n_calls;
    char reason[16];
    bool null_content; /* of a response without a stream */
} client;

static void join(vug_buf *to, const vug_jv *v)
{
    if (vug_jv_is(v, VUG_JSON_STRING))
        vug_buf_append(to, v->str.ptr, v->str.len);
}

/* False where a client would raise an error. */
static bool join_call(client *c, const vug_jv *call)
{
    const vug_jv *index = vug_jv_get(call, "index"), *function = vug_jv_get(call, "function");
    if (!index || !index->is_int || index->i64 < 0 || index->i64 >= MAX_CALLS)
        return false;
    const size_t i = (size_t)index->i64;
    c->n_calls = i + 1 > c->n_calls ? i + 1 : c->n_calls;
    join(&c->id[i], vug_jv_get(call, "id"));
    join(&c->name[i], vug_jv_get(function, "name"));
    join(&c->arguments[i], vug_jv_get(function, "arguments"));
    return true;
}

static bool join_delta(client *c, const vug_jv *delta)
{
    const vug_jv *calls = vug_jv_get(delta, "tool_calls");
    join(&c->role, vug_jv_get(delta, "role"));
    join(&c->content, vug_jv_get(delta, "content"));
    join(&c->reasoning, vug_jv_get(delta, "reasoning_content"));
    for (const vug_jv *call = calls ? calls->child : NULL; call; call = call->next) {
        if (!join_call(c, call))
            return false;
    }
    return true;
}

static bool join_event(client *c, vug_str json)
{
    vug_arena arena = { 0 };
    const vug_jv *root = NULL;
    vug_err err = { 0 };
    if (vug_json_tree(json, "event", &arena, &root, &err) != VUG_OK)
        fail_msg("%s: %.*s", err.msg, (int)json.len, json.ptr);
    const vug_jv *choices = vug_jv_get(root, "choices");
    assert_true(vug_jv_is(choices, VUG_JSON_ARRAY) && choices->n == 1);
    const vug_jv *delta = vug_jv_get(choices->child, "delta");
    const vug_jv *reason = vug_jv_get(choices->child, "finish_reason");
    const vug_jv *logprobs = vug_jv_get(vug_jv_get(choices->child, "logprobs"), "content");
    assert_true(vug_jv_is(delta, VUG_JSON_OBJECT));
    assert_true(delta->n <= 1 || vug_jv_get(delta, "role"));
    assert_int_equal(c->reason[0], '\0'); /* nothing may follow it */
    if (vug_jv_is(reason, VUG_JSON_STRING))
        (void)snprintf(c->reason, sizeof(c->reason), "%.*s", VUG_STR_ARG(reason->str));
    for (const vug_jv *l = logprobs ? logprobs->child : NULL; l; l = l->next)
        join(&c->logprobs, vug_jv_get(l, "token"));
    const bool good = join_delta(c, delta);
    vug_arena_release(&arena);
    return good;
}

/* Events end with an empty line. */
static bool join_stream(client *c, vug_str events)
{
    while (events.len > 0) {
        assert_true(vug_str_starts(events, "data: {"));
        size_t end = 0;
        while (end + 1 < events.len && !(events.ptr[end] == '\n' && events.ptr[end + 1] == '\n'))
            end++;
        assert_true(end + 1 < events.len);
        if (!join_event(c, (vug_str){ events.ptr + 6, end - 6 }))
            return false;
        events = vug_str_from(events, end + 2);
    }
    return true;
}

static void join_whole(client *c, vug_str json)
{
    vug_arena arena = { 0 };
    const vug_jv *root = NULL;
    vug_err err = { 0 };
    if (vug_json_tree(json, "answer", &arena, &root, &err) != VUG_OK)
        fail_msg("%s: %.*s", err.msg, (int)json.len, json.ptr);
    const vug_jv *choice = vug_jv_get(root, "choices")->child;
    const vug_jv *message = vug_jv_get(choice, "message");
    const vug_jv *calls = vug_jv_get(message, "tool_calls");
    const vug_jv *logprobs = vug_jv_get(vug_jv_get(choice, "logprobs"), "content");
    join(&c->role, vug_jv_get(message, "role"));
    join(&c->content, vug_jv_get(message, "content"));
    join(&c->reasoning, vug_jv_get(message, "reasoning_content"));
    assert_true(!calls || calls->n > 0);
    c->null_content = vug_jv_is(vug_jv_get(message, "content"), VUG_JSON_NULL);
    for (const vug_jv *call = calls ? calls->child : NULL; call; call = call->next) {
        const size_t i = c->n_calls++;
        assert_true(i < MAX_CALLS);
        join(&c->id[i], vug_jv_get(call, "id"));
        join(&c->name[i], vug_jv_get(vug_jv_get(call, "function"), "name"));
        join(&c->arguments[i], vug_jv_get(vug_jv_get(call, "function"), "arguments"));
    }
    for (const vug_jv *l = logprobs ? logprobs->child : NULL; l; l = l->next)
        join(&c->logprobs, vug_jv_get(l, "token"));
    const vug_jv *reason = vug_jv_get(choice, "finish_reason");
    (void)snprintf(c->reason, sizeof(c->reason), "%.*s", VUG_STR_ARG(reason->str));
    vug_arena_release(&arena);
}

static void release_client(client *c)
{
    vug_buf_release(&c->role);
    vug_buf_release(&c->content);
    vug_buf_release(&c->reasoning);
    vug_buf_release(&c->logprobs);
    for (size_t i = 0; i < MAX_CALLS; i++) {
        vug_buf_release(&c->id[i]);
        vug_buf_release(&c->name[i]);
        vug_buf_release(&c->arguments[i]);
    }
}

static const char *text_of(const vug_buf *buf)
{
    return buf->ptr ? buf->ptr : "";
}

/* Five streams that clients misread, and how. */
static void test_clients_can_accumulate_streams(void **state)
{
    (void)state;
#define D(delta) \
    "data: {\"choices\":[{\"index\":0,\"delta\":{" delta "},\"finish_reason\":null}]}\n\n"
#define CALL(inner) D("\"tool_calls\":[{" inner "}]")
    static const struct {
        const char *events, *role, *id, *name, *arguments;
        bool good;
    } example[] = {
        { D("\"role\":\"assistant\"") D("\"role\":\"assistant\""), "assistantassistant", "", "", "",
          true },
        { CALL("\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"f\"}")
                  CALL("\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"f\"}"),
          "", "xx", "ff", "", true },
        { CALL("\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}")
                  CALL("\"index\":0,\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}"),
          "", "x", "fg", "{}{}", true },
        { CALL("\"id\":\"x\",\"function\":{\"name\":\"f\"}"), "", "", "", "", false },
        { D("\"role\":\"assistant\",\"content\":\"\"")
                  CALL("\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}")
                          CALL("\"index\":0,\"function\":{\"arguments\":\"{}\"}"),
          "assistant", "x", "f", "{}", true },
    };
    for (size_t i = 0; i < sizeof(example) / sizeof(example[0]); i++) {
        client c = { 0 };
        assert_int_equal(join_stream(&c, vug_str_of(example[i].events)), example[i].good);
        assert_string_equal(text_of(&c.role), example[i].role);
        assert_string_equal(text_of(&c.id[0]), example[i].id);
        assert_string_equal(text_of(&c.name[0]), example[i].name);
        assert_string_equal(text_of(&c.arguments[0]), example[i].arguments);
        release_client(&c);
    }
}

/* ---- stream or whole ------------------------------------------------------------------- */

static const response_script scripts[] = {
    { .part = { { 'c', "plain" } }, .text = "plain", .reason = "stop" },
    { .part = { { 'c', "to" }, { 'c', " long" } },
      .finish = VUG_FINISH_LENGTH,
      .text = "to long",
      .reason = "length" },
    { .part = { { 'c', "one E" }, { 'c', "N" }, { 'c', "D two" }, { 'c', "never" } },
      .stop = { "END" },
      .finish = VUG_FINISH_LENGTH, /* the limit was reached with the stop, which takes precedence */
      .logprobs = true,
      .text = "one ",
      .reason = "stop" },
    /* An incomplete stop is output, also when the answer is truncated there. */
    { .part = { { 'c', "one E" }, { 'c', "N" } },
      .stop = { "END" },
      .finish = VUG_FINISH_LENGTH,
      .logprobs = true,
      .text = "one EN",
      .reason = "length" },
    /* Stops are not found in thinking and calls or across them. */
    { .part = { { 't', "END" }, { 'c', "EN" }, { 't', "x" }, { 'c', "D" } },
      .stop = { "END" },
      .logprobs = true,
      .text = "END",
      .thinking = "ENDx",
      .reason = "stop" },
    { .part = { { 'c', "I call E" }, { 'n', "f" }, { 'a', "{\"x\":\"END\"}" }, { 'e', NULL } },
      .stop = { "END" },
      .text = "I call E",
      .calls = "f({\"x\":\"END\"}) ",
      .reason = "tool_calls" },
    { .part = { { 'n', "f" },
                { 'a', "{}" },
                { 'e', NULL },
                { 'n', "g" },
                { 'a', "{" },
                { 'a', "}" },
                { 'e', NULL } },
      .calls_guarded = true,
      .logprobs = true,
      .calls = "f({}) g({}) ",
      .reason = "tool_calls" },
    { .part = { { 'n', "f" },
                { 'a', "{}" },
                { 'e', NULL },
                { 'n', "g" },
                { 'a', "{}" },
                { 'e', NULL } },
      .single_call = true,
      .calls = "f({}) ",
      .reason = "tool_calls" },
    { .part = { { 'n', "f" }, { 'a', "{}" }, { 'e', NULL } },
      .named_tool = true,
      .calls_guarded = true,
      .calls = "f({}) ",
      .reason = "stop" },
    /* A truncated call keeps what was received. */
    { .part = { { 'n', "f" }, { 'a', "{\"a\":" } },
      .finish = VUG_FINISH_LENGTH,
      .calls = "f({\"a\":) ",
      .reason = "length" },
    { .part = { { 'n', "f" }, { 'a', "{\"a\":" } },
      .finish = VUG_FINISH_LENGTH,
      .calls_guarded = true,
      .calls = "f({\"a\":) ",
      .reason = "length" },
    /* Also for the last call: the limit is the finish reason. */
    { .part = { { 'n', "f" }, { 'a', "{\"a\":" } },
      .finish = VUG_FINISH_LENGTH,
      .single_call = true,
      .must_call = true,
      .calls_guarded = true,
      .calls = "f({\"a\":) ",
      .reason = "length" },
    { .part = { { 'n', "f" }, { 'a', "{\"a\":" }, { 'd', NULL } },
      .finish = VUG_FINISH_LENGTH,
      .named_tool = true,
      .single_call = true,
      .must_call = true,
      .calls_guarded = true,
      .calls = "f({\"a\":) ",
      .reason = "length" },
    /* Truncated before the name: no output. */
    { .part = { { 't', "hm" }, { 'c', "<tool_call>{\"na" } },
      .finish = VUG_FINISH_LENGTH,
      .must_call = true,
      .thinking = "hm",
      .reason = "length" },
    /* A malformed call becomes text; the next call takes its index. */
    { .part = { { 'n', "f" },
                { 'a', "{oh" },
                { 'd', NULL },
                { 'c', "f{oh" },
                { 'n', "g" },
                { 'a', "{}" },
                { 'e', NULL } },
      .logprobs = true,
      .text = "f{oh",
      .calls = "g({}) ",
      .reason = "tool_calls" },
    { .part = { { 'n', "f" }, { 'a', "{oh" }, { 'd', NULL }, { 'c', "f{oh" } },
      .text = "f{oh",
      .reason = "stop" },
    /* A call that was streamed stays a call. */
    { .part = { { 'n', "f" },
                { 'a', "{oh" },
                { 'd', NULL },
                { 'n', "g" },
                { 'a', "{}" },
                { 'e', NULL } },
      .calls_guarded = true,
      .calls = "f({oh) g({}) ",
      .reason = "tool_calls" },
    { .part = { { 't', "hm" },
                { 'c', "\xc3\xa9\xf0\x9f\x98\x80" },
                { 'n', "f" },
                { 'a', "{}" },
                { 'e', NULL },
                { 'c', "done\n\n" },
                { 'c', "\nUser" } },
      .stop = { "\n\n\nUser", "\n\nUser", "zzz" },
      .logprobs = true,
      .text = "\xc3\xa9\xf0\x9f\x98\x80"
              "done",
      .thinking = "hm",
      .calls = "f({}) ",
      .reason = "tool_calls" },
};

static void check_client(const response_script *s, const client *c)
{
    vug_buf calls = { 0 };
    assert_string_equal(text_of(&c->role), "assistant");
    assert_string_equal(text_of(&c->content), s->text ? s->text : "");
    assert_string_equal(text_of(&c->reasoning), s->thinking ? s->thinking : "");
    assert_string_equal(c->reason, s->reason);
    for (size_t i = 0; i < c->n_calls; i++) {
        assert_true(c->id[i].len == 21 && vug_str_starts((vug_str){ c->id[i].ptr, 21 }, "call_"));
        assert_true(i == 0 || strcmp(c->id[i].ptr, c->id[i - 1].ptr) != 0);
        vug_buf_printf(&calls, "%s(%s) ", c->name[i].ptr, text_of(&c->arguments[i]));
    }
    assert_string_equal(text_of(&calls), s->calls ? s->calls : "");
    vug_buf_release(&calls);
}

static void test_stream_equals_whole_answer(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        vug_buf events = { 0 }, json = { 0 };
        client streamed = { 0 }, whole = { 0 };
        run(&scripts[i], &stream_head, &events);
        run(&scripts[i], &whole_head, &json);
        assert_true(join_stream(&streamed, (vug_str){ events.ptr, events.len }));
        join_whole(&whole, (vug_str){ json.ptr, json.len });
        check_client(&scripts[i], &streamed);
        check_client(&scripts[i], &whole);
        assert_string_equal(text_of(&streamed.logprobs), text_of(&whole.logprobs));
        assert_int_equal(whole.null_content,
                         !scripts[i].text && (scripts[i].calls || scripts[i].must_call));
        assert_int_equal(whole.logprobs.len > 0, scripts[i].logprobs);
        for (size_t k = 0; k < whole.n_calls; k++)
            assert_string_equal(streamed.id[k].ptr, whole.id[k].ptr);
        release_client(&streamed);
        release_client(&whole);
        vug_buf_release(&events);
        vug_buf_release(&json);
    }
}

static void test_several_choices(void **state)
{
    (void)state;
    vug_chat_choice c[2] = { { .head = &whole_head }, { .head = &whole_head, .index = 1 } };
    vug_buf to = { 0 };
    const vug_part part = { VUG_PART_CONTENT, 0, "b", 1 };
    assert_true(vug_chat_choice_part(&part, &c[1]));
    vug_chat_choice_finish(&c[0], VUG_FINISH_STOP);
    vug_chat_choice_finish(&c[1], VUG_FINISH_LENGTH);
    vug_chat_choice_write(&whole_head, c, 2, &usage, &to);
    assert_string_equal(
            to.ptr,
            WHOLE "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"\",\"refusal\":"
                  "null},\"logprobs\":null,\"finish_reason\":\"stop\"},{\"index\":1,\"message\":{"
                  "\"role\":\"assistant\",\"content\":\"b\",\"refusal\":null},\"logprobs\":null,"
                  "\"finish_reason\":\"length\"}]," USAGE "}");
    vug_chat_choice_release(&c[0]);
    vug_chat_choice_release(&c[1]);
    vug_buf_release(&to);
}

/* ---- completions ------------------------------------------------------------------------- */

static void feed_text(vug_completion_choice *c, const char *token, bool is_prompt, bool is_first)
{
    const vug_api_token top[] = { { .text = vug_str_of("best"), .logprob = -0.25f },
                                  { .text = vug_str_of("best"), .logprob = -3 } };
    const vug_api_logprob logprob = { .token = { .text = vug_str_of(token), .logprob = -0.5f },
                                      .is_first = is_first,
                                      .top = top,
                                      .n_top = 2 };
    vug_completion_choice_logprob(c, &logprob);
    if (is_prompt)
        vug_completion_choice_echo(c, token, strlen(token));
    else
        (void)vug_completion_choice_push(c, token, strlen(token));
}

#define TEXT_HEAD                                                                              \
    "{\"id\":\"cmpl-0000000000000abc\",\"object\":\"text_completion\",\"created\":1760000000," \
    "\"model\":\"m\","
#define BEST(token) "{\"best\":-0.25,\"" token "\":-0.5}"

static void test_completions(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_buf to = { 0 };
    vug_api_response_head head = whole_head;
    head.endpoint = VUG_API_COMPLETION;
    vug_completion_choice c = { .head = &head, .logprobs = true };
    set_stops(&c.stops, (const char *[]){ "END", NULL, NULL }, &arena);
    feed_text(&c, "\xc3\xa9", true, true);
    feed_text(&c, "END", true, false); /* of the prompt, where stops do not count */
    feed_text(&c, " x", false, false);
    feed_text(&c, "EN", false, false);
    feed_text(&c, "D", false, false);
    vug_completion_choice_finish(&c, VUG_FINISH_CALLBACK);
    assert_true(vug_completion_choice_ok(&c));
    vug_completion_choice_write(&head, &c, 1, &usage, &to);
    assert_string_equal(
            to.ptr, TEXT_HEAD
            "\"system_fingerprint\":\"vug-1\",\"choices\":[{\"text\":\"\xc3\xa9"
            "END x\",\"index\":0,\"logprobs\":{\"tokens\":[\"\xc3\xa9\",\"END\",\" x\"],"
            "\"token_logprobs\":[null,-0.5,-0.5],\"top_logprobs\":[null," BEST("END") "," BEST(
                    " x") "],\"text_offset\":[0,1,4]},\"finish_reason\":\"stop\"}]," USAGE "}");
    vug_completion_choice_release(&c);
    vug_buf_release(&to);
    vug_arena_release(&arena);
}

static void test_streamed_completions(void **state)
{
    (void)state;
    vug_buf to = { 0 };
    vug_api_response_head head = stream_head;
    head.endpoint = VUG_API_COMPLETION;
    head.include_usage = true;
    vug_completion_choice c = { .head = &head, .index = 3, .logprobs = true, .events = &to };
    feed_text(&c, "a", false, false);
    c.logprobs = false;
    (void)vug_completion_choice_push(&c, "b", 1);
    vug_completion_choice_finish(&c, VUG_FINISH_LENGTH);
    vug_api_usage_event(&head, &usage, &to);
    assert_string_equal(to.ptr,
                        "data: " TEXT_HEAD
                        "\"choices\":[{\"text\":\"a\",\"index\":3,\"logprobs\":{\"tokens\":["
                        "\"a\"],\"token_logprobs\":[-0.5],\"top_logprobs\":[" BEST(
                                "a") "],\"text_offset\":[0]},"
                                     "\"finish_reason\":null}],\"usage\":null}\n\n"
                                     "data: " TEXT_HEAD
                                     "\"choices\":[{\"text\":\"b\",\"index\":3,\"logprobs\":null,"
                                     "\"finish_reason\":null}],\"usage\":null}\n\n"
                                     "data: " TEXT_HEAD
                                     "\"choices\":[{\"text\":\"\",\"index\":3,\"logprobs\":null,"
                                     "\"finish_reason\":\"length\"}],\"usage\":null}\n\n"
                                     "data: " TEXT_HEAD "\"choices\":[]," USAGE "}\n\n");
    vug_completion_choice_release(&c);
    vug_buf_release(&to);
}

/* Incomplete UTF-8 makes distinct keys. */
static void test_tokens_with_incomplete_utf8(void **state)
{
    (void)state;
    vug_api_response_head head = whole_head;
    vug_buf to = { 0 };
    head.endpoint = VUG_API_COMPLETION;
    vug_completion_choice c = { .head = &head, .logprobs = true };
    const vug_api_token top[] = { { .text = vug_str_of("\xe2\x82"), .logprob = -1 },
                                  { .text = vug_str_of("\xe2"), .logprob = -2 } };
    vug_completion_choice_logprob(&c,
                                  &(vug_api_logprob){ .token = top[0], .top = top, .n_top = 2 });
    vug_completion_choice_finish(&c, VUG_FINISH_LENGTH);
    vug_completion_choice_write(&head, &c, 1, &usage, &to);
    assert_non_null(strstr(to.ptr, "{\"tokens\":[\"bytes:\\\\xe2\\\\x82\"],\"token_logprobs\":[-1],"
                                   "\"top_logprobs\":[{\"bytes:\\\\xe2\\\\x82\":-1,"
                                   "\"bytes:\\\\xe2\":-2}],\"text_offset\":[0]}"));
    vug_completion_choice_release(&c);
    vug_buf_release(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_empty_answer),
        cmocka_unit_test(test_thinking_is_separate),
        cmocka_unit_test(test_tool_calls),
        cmocka_unit_test(test_logprobs),
        cmocka_unit_test(test_logprobs_of_an_empty_answer),
        cmocka_unit_test(test_logprobs_have_a_minimum),
        cmocka_unit_test(test_end_of_stream),
        cmocka_unit_test(test_clients_can_accumulate_streams),
        cmocka_unit_test(test_stream_equals_whole_answer),
        cmocka_unit_test(test_several_choices),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_streamed_completions),
        cmocka_unit_test(test_tokens_with_incomplete_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
