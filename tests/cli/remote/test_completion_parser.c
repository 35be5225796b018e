/* Streams of servers: cut at any byte, malformed in any place. */
#include "test.h"

#include "cli/remote/completion_parser.h"
#include "cli/remote/sse_parser.h"

/* ---- events ---------------------------------------------------------------------------- */

static vug_status append_event(vug_str data, void *user, vug_err *err)
{
    vug_buf_puts(user, "<");
    vug_buf_append(user, data.ptr, data.len);
    vug_buf_puts(user, ">");
    return vug_buf_ok(user, err);
}

static const struct {
    const char *stream, *events;
} event_streams[] = {
    { "data: a\n\n", "<a>" },
    { "data:a\n\ndata:  b\n\n", "<a>< b>" },
    { "data: a\r\n\r\ndata: b\r\rdata: c\n\n", "<a><b><c>" },
    { "data: a\ndata: b\n\n", "<a\nb>" },
    { "data: a\r\ndata: b\r\n\r\ndata: c\rdata: d\r\r", "<a\nb><c\nd>" },
    { "data:\ndata: b\n\n", "<\nb>" },
    { "data\n\ndata:\n\n", "<><>" },
    { ": ping\n\n:\n\ndata: a\n: in between\n\n", "<a>" },
    { "event: x\nid: 3\nretry: 5\n\ndata: a\nnonsense\n\n", "<a>" },
    { "\xef\xbb\xbf"
      "data: a\n\n\xef\xbb\xbf"
      "data: b\n\n",
      "<a>" },
    { "\n\n\ndata: a\n\n\n\n", "<a>" },
    { "data: a\n\ndata: never ended", "<a>" },
    { "data: a\n\ndata: never ended\n", "<a>" },
    { "datax: a\n\n Data: b\n\n", "" },
    { "", "" },
};

/* Each stream is cut once at every byte, and into single bytes. */
static void test_events_do_not_depend_on_cuts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(event_streams) / sizeof(event_streams[0]); i++) {
        const vug_str all = vug_str_of(event_streams[i].stream);
        for (size_t cut = 0; cut <= all.len + 1; cut++) {
            vug_sse_parser p = { 0 };
            vug_buf got = { 0 };
            vug_err err;
            const size_t step = cut > all.len ? 1 : cut;
            vug_str rest = all;
            vug_buf_puts(&got, "");
            while (rest.len) {
                const size_t n = step && step < rest.len ? step : rest.len;
                assert_int_equal(
                        vug_sse_parser_feed(&p, (vug_str){ rest.ptr, n }, append_event, &got, &err),
                        VUG_OK);
                rest = vug_str_from(rest, n);
            }
            assert_string_equal(got.ptr ? got.ptr : "", event_streams[i].events);
            vug_buf_release(&got);
            vug_sse_parser_release(&p);
        }
    }
}

/* One long line, and many lines. */
static void test_large_events_are_rejected(void **state)
{
    static const char *const lines[] = { "data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
                                         "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" };
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        vug_sse_parser p = { 0 };
        vug_buf block = { 0 }, got = { 0 };
        vug_err err;
        vug_status st = VUG_OK;
        while (block.len < 1 << 20)
            vug_buf_puts(&block, lines[i]);
        for (int k = 0; k < 40 && st == VUG_OK; k++)
            st = vug_sse_parser_feed(&p, (vug_str){ block.ptr, block.len }, append_event, &got,
                                     &err);
        assert_int_equal(st, VUG_LIMIT);
        assert_non_null(strstr(err.msg, "16 MiB"));
        assert_true(p.line.cap + p.data.cap <= 4 * VUG_SSE_MAX_EVENT);
        vug_buf_release(&block);
        vug_buf_release(&got);
        vug_sse_parser_release(&p);
    }
}

/* ---- responses --------------------------------------------------------------------------- */

static bool append_part(const vug_part *part, void *user)
{
    vug_buf_puts(user, part->kind == VUG_PART_CONTENT ? "" : "~");
    vug_buf_append(user, part->text, part->len);
    return true;
}

static void append_token(const vug_token_logprob *token, const vug_token_logprob *top, size_t n_top,
                         void *user)
{
    vug_buf_printf(user, "<%.*s %d %g", VUG_STR_ARG(token->text), (int)token->id, token->logprob);
    for (size_t i = 0; i < n_top; i++)
        vug_buf_printf(user, " %.*s %g", VUG_STR_ARG(top[i].text), top[i].logprob);
    vug_buf_puts(user, ">");
}

static void append_result(const vug_completion_parser *p, vug_buf *to)
{
    for (size_t i = 0; i < p->n_calls; i++)
        vug_buf_printf(to, "|%s:%s(%s)", p->call[i].id.ptr ? p->call[i].id.ptr : "",
                       p->call[i].name.ptr ? p->call[i].name.ptr : "",
                       p->call[i].arguments.ptr ? p->call[i].arguments.ptr : "");
    vug_buf_printf(to, "|%s", p->finish);
    if (p->has_usage)
        vug_buf_printf(to, "|%d+%d", (int)p->prompt_tokens, (int)p->completion_tokens);
    if (p->cached_tokens)
        vug_buf_printf(to, "|%d cached", (int)p->cached_tokens);
    if (p->done)
        vug_buf_puts(to, "|done");
}

#define CHOICE(delta)  "{\"choices\":[{\"index\":0,\"delta\":" delta "}]}"
#define CALLS(entries) CHOICE("{\"tool_calls\":[" entries "]}")
#define END(reason)    "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" reason "\"}]}"

static const struct {
    const char *event[8];
    const char *result;
} responses[] = {
    { { CHOICE("{\"role\":\"assistant\",\"content\":\"\"}"),
        CHOICE("{\"reasoning_content\":\"Hm\"}"), CHOICE("{\"content\":\"Hi\"}"),
        CHOICE("{\"content\":null}"), END("stop"),
        "{\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,"
        "\"prompt_tokens_details\":{\"cached_tokens\":1}}}",
        "[DONE]", CHOICE("{\"content\":\"too late\"}") },
      "~HmHi|stop|3+2|1 cached|done" },
    { { CHOICE("{\"reasoning\":\"a\"}"),
        CHOICE("{\"reasoning\":\"b\",\"reasoning_content\":\"b\"}"), END("length") },
      "~a~b|length" },
    { { CALLS("{\"index\":0,\"id\":\"x\",\"type\":\"function\",\"function\":{\"name\":\"f\","
              "\"arguments\":\"\"}}"),
        CALLS("{\"index\":1,\"id\":\"y\",\"function\":{\"name\":\"g\",\"arguments\":\"{\"}}"),
        CALLS("{\"index\":0,\"function\":{\"arguments\":\"{}\"}},{\"index\":1,\"function\":{"
              "\"arguments\":\"}\"}}"),
        END("tool_calls") },
      "|x:f({})|y:g({})|tool_calls" },
    /* No index, with or without a repeated id; all with index 0; arguments as an object. */
    { { CALLS("{\"id\":\"x\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}"),
        CALLS("{\"id\":\"x\",\"function\":{\"name\":\"f\",\"arguments\":\"}\"}}"),
        CALLS("{\"function\":{\"name\":\"g\",\"arguments\":{\"a\":1}}}"), END("stop") },
      "|x:f({})|:g({\"a\":1})|stop" },
    { { CALLS("{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}"),
        CALLS("{\"index\":0,\"id\":\"y\",\"function\":{\"name\":\"f\",\"arguments\":\"[]\"}}") },
      "|x:f({})|y:f([])|" },
    { { "{\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}],"
        "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":-2}}" },
      "Hi|stop|3+0" },
    { { "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"other\"}},{\"index\":0,\"delta\":{"
        "\"content\":\"mine\"}}],\"error\":null}" },
      "mine|" },
    /* Completions, and log-probabilities in both formats. */
    { { "{\"choices\":[{\"text\":\"Hi\",\"index\":0,\"logprobs\":null,\"finish_reason\":null}]}",
        "{\"choices\":[{\"text\":\"\",\"index\":0,\"finish_reason\":\"length\"}]}" },
      "Hi|length" },
    { { "{\"choices\":[{\"delta\":{\"content\":\"a\"},\"logprobs\":{\"content\":[{\"token\":\"a\","
        "\"logprob\":-1,\"bytes\":[97],\"top_logprobs\":[{\"token\":\"a\",\"logprob\":-1},{"
        "\"token\":\"b\",\"logprob\":-2}]}],\"refusal\":null}}]}",
        "{\"choices\":[{\"text\":\"c\",\"logprobs\":{\"content\":[{\"id\":7,\"token\":\"c\","
        "\"logprob\":-3}]}}]}" },
      "<a -1 -1 a -1 b -2>a<c 7 -3>c|" },
    { { "{\"choices\":[{\"text\":\"ab\",\"logprobs\":{\"tokens\":[\"a\",\"b\"],\"token_logprobs\":["
        "null,-2],\"top_logprobs\":[null,{\"b\":-2,\"x\":-4}],\"text_offset\":[0,1]}}]}" },
      "<a -1 0><b -1 -2 b -2 x -4>ab|" },
    { { "{\"choices\":[{\"text\":\"a\",\"logprobs\":{\"tokens\":[3],\"token_logprobs\":{},"
        "\"top_logprobs\":[[]],\"content\":[null,3],\"refusal\":3}}]}" },
      "< -1 0>< -1 0>< -1 0>a|" },
    { { "{}", "[]", "3", "null", "{\"choices\":3}", "{\"choices\":[3,{\"delta\":3}]}",
        CALLS("3,{\"index\":-1},{\"index\":\"a\"}"), "" },
      "|" },
};

static void test_responses_of_known_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(responses) / sizeof(responses[0]); i++) {
        vug_buf got = { 0 };
        vug_completion_parser p = {
            .name = "server", .on_part = append_part, .on_token = append_token, .user = &got
        };
        vug_err err;
        for (size_t k = 0; k < 8 && responses[i].event[k]; k++)
            assert_int_equal(
                    vug_completion_parser_feed(&p, vug_str_of(responses[i].event[k]), &err),
                    VUG_OK);
        append_result(&p, &got);
        assert_string_equal(got.ptr, responses[i].result);
        vug_completion_parser_release(&p);
        vug_buf_release(&got);
    }
}

/* No server accepts them in a conversation. */
static void test_incomplete_calls_leave_the_history(void **state)
{
    static const struct {
        const char *arguments;
        bool kept;
    } rows[] = { { "{\"a\":1}", true }, { " {}", true }, { "{\"a", false },
                 { "[]", false },       { "", false },   { "{} x", false } };
    const vug_str id = vug_str_of("x"), name = vug_str_of("f");
    vug_ui ui = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_response_printer printer = { .ui = &ui, .silent = true };
        vug_chat_history history = { 0 };
        vug_response_printer_begin(&printer);
        assert_true(
                vug_response_printer_add_call(&printer, id, name, vug_str_of(rows[i].arguments)));
        assert_int_equal(vug_response_printer_append_to_history(&printer, &history), rows[i].kept);
        assert_int_equal(history.n, rows[i].kept);
        assert_int_equal(history.calls.len > 0, rows[i].kept);
        vug_response_printer_begin(&printer); /* the next response */
        assert_true(vug_response_printer_add_call(&printer, id, name, vug_str_of("{}")));
        assert_true(vug_response_printer_append_to_history(&printer, &history));
        vug_chat_history_release(&history);
        vug_response_printer_release(&printer);
    }
}

static void assert_fails(const char *event, const char *part)
{
    vug_buf got = { 0 };
    vug_completion_parser p = { .name = "server", .on_part = append_part, .user = &got };
    vug_err err;
    assert_int_not_equal(vug_completion_parser_feed(&p, vug_str_of(event), &err), VUG_OK);
    if (!strstr(err.msg, part))
        fail_msg("no '%s' in: %s", part, err.msg);
    vug_completion_parser_release(&p);
    vug_buf_release(&got);
}

static void test_errors_are_reported(void **state)
{
    (void)state;
    assert_fails("{\"error\":{\"message\":\"out of memory\"}}",
                 "server: server error: out of memory");
    assert_fails("{\"error\":\"no luck\"}", "server: server error: no luck");
    assert_fails("{\"error\":{\"code\":3}}", "server: server error: no message given");
    assert_fails("{\"choices\":[", "server: line 1");
    vug_buf many = { 0 };
    vug_buf_puts(&many, "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"0\"}");
    for (int i = 1; i <= VUG_COMPLETION_MAX_CALLS; i++)
        vug_buf_printf(&many, ",{\"id\":\"%d\"}", i);
    vug_buf_puts(&many, "]}}]}");
    assert_fails(many.ptr, "more than 128 tool calls");
    vug_buf_release(&many);
}

static void test_error_messages_are_found(void **state)
{
    static const struct {
        const char *body, *message; /* NULL: none */
    } rows[] = {
        { "{\"error\":{\"message\":\"no\",\"type\":\"x\"}}", "no" },
        { "{\"error\":\"no\"}", "no" },
        { "{\"message\":\"no\"}", "no" },
        { "{\"detail\":\"no\"}", "no" },
        { "{\"detail\":{\"error\":{\"message\":\"no\"}}}", "no" },
        { "{\"error\":{\"error\":{\"error\":{\"error\":{\"error\":\"deep\"}}}}}", NULL },
        { "<html>", NULL },
        { "{\"error\":null}", NULL },
        { "", NULL },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[64] = "";
        assert_int_equal(vug_parse_error_response(vug_str_of(rows[i].body), text, sizeof(text)),
                         rows[i].message != NULL);
        assert_string_equal(text, rows[i].message ? rows[i].message : "");
    }
}

static void test_first_model_is_found(void **state)
{
    vug_arena arena = { 0 };
    vug_str id;
    vug_err err;
    (void)state;
    const vug_str good = vug_str_of("{\"data\":[{\"id\":\"a/b\"},{\"id\":\"c\"}]}");
    assert_int_equal(vug_parse_model_list(good, "server", &arena, &id, &err), VUG_OK);
    assert_string_equal(id.ptr, "a/b");
    static const char *const bad[] = { "{\"data\":[]}", "{\"data\":[{\"id\":3}]}", "{}", "[]",
                                       "x" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_not_equal(vug_parse_model_list(vug_str_of(bad[i]), "server", &arena, &id, &err),
                             VUG_OK);
    vug_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_do_not_depend_on_cuts),
        cmocka_unit_test(test_large_events_are_rejected),
        cmocka_unit_test(test_responses_of_known_servers),
        cmocka_unit_test(test_errors_are_reported),
        cmocka_unit_test(test_error_messages_are_found),
        cmocka_unit_test(test_first_model_is_found),
        cmocka_unit_test(test_incomplete_calls_leave_the_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
