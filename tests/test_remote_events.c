/* app/remote/events.h and heard.h: streams of servers, cut anywhere, spoiled anywhere. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/remote/events.h"
#include "app/remote/heard.h"

/* ---- events ---------------------------------------------------------------------------- */

static vug_status keep_event(vug_str data, void *user, vug_err *err)
{
    vug_buf_puts(user, "<");
    vug_buf_append(user, data.ptr, data.len);
    vug_buf_puts(user, ">");
    return vug_buf_ok(user, err);
}

static const struct {
    const char *stream, *events;
} streams[] = {
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

/* Cut once at every place, and into single bytes. */
static void test_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        const vug_str all = vug_str_of(streams[i].stream);
        for (size_t cut = 0; cut <= all.len + 1; cut++) {
            vug_events e = { 0 };
            vug_buf got = { 0 };
            vug_err err;
            const size_t step = cut > all.len ? 1 : cut;
            vug_str rest = all;
            vug_buf_puts(&got, "");
            while (rest.len) {
                const size_t n = step && step < rest.len ? step : rest.len;
                assert_int_equal(
                        vug_events_feed(&e, (vug_str){ rest.ptr, n }, keep_event, &got, &err),
                        VUG_OK);
                rest = vug_str_from(rest, n);
            }
            assert_string_equal(got.ptr ? got.ptr : "", streams[i].events);
            vug_buf_release(&got);
            vug_events_release(&e);
        }
    }
}

/* Of one line, and of many. */
static void test_large_events(void **state)
{
    static const char *const lines[] = { "data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
                                         "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" };
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        vug_events e = { 0 };
        vug_buf block = { 0 }, got = { 0 };
        vug_err err;
        vug_status st = VUG_OK;
        while (block.len < 1 << 20)
            vug_buf_puts(&block, lines[i]);
        for (int k = 0; k < 40 && st == VUG_OK; k++)
            st = vug_events_feed(&e, (vug_str){ block.ptr, block.len }, keep_event, &got, &err);
        assert_int_equal(st, VUG_LIMIT);
        assert_non_null(strstr(err.msg, "16 MiB"));
        assert_true(e.line.cap + e.data.cap <= 4 * VUG_EVENTS_MAX);
        vug_buf_release(&block);
        vug_buf_release(&got);
        vug_events_release(&e);
    }
}

/* ---- answers --------------------------------------------------------------------------- */

/* Everything that is heard, as a text. */
static bool keep_part(const vug_part *part, void *user)
{
    vug_buf_puts(user, part->kind == VUG_PART_CONTENT ? "" : "~");
    vug_buf_append(user, part->text, part->len);
    return true;
}

static void keep_token(const vug_shown_token *token, const vug_shown_token *top, size_t n_top,
                       void *user)
{
    vug_buf_printf(user, "<%.*s %d %g", VUG_STR_ARG(token->text), (int)token->id, token->logprob);
    for (size_t i = 0; i < n_top; i++)
        vug_buf_printf(user, " %.*s %g", VUG_STR_ARG(top[i].text), top[i].logprob);
    vug_buf_puts(user, ">");
}

static void spell(const vug_heard *h, vug_buf *to)
{
    for (size_t i = 0; i < h->n_calls; i++)
        vug_buf_printf(to, "|%s:%s(%s)", h->call[i].id.ptr ? h->call[i].id.ptr : "",
                       h->call[i].name.ptr ? h->call[i].name.ptr : "",
                       h->call[i].arguments.ptr ? h->call[i].arguments.ptr : "");
    vug_buf_printf(to, "|%s", h->finish);
    if (h->has_usage)
        vug_buf_printf(to, "|%d+%d", (int)h->prompt_tokens, (int)h->completion_tokens);
    if (h->cached_tokens)
        vug_buf_printf(to, "|%d cached", (int)h->cached_tokens);
    if (h->done)
        vug_buf_puts(to, "|done");
}

#define CHOICE(delta)  "{\"choices\":[{\"index\":0,\"delta\":" delta "}]}"
#define CALLS(entries) CHOICE("{\"tool_calls\":[" entries "]}")
#define END(reason)    "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" reason "\"}]}"

static const struct {
    const char *event[8];
    const char *heard;
} answers[] = {
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
    /* No index, whether or not the first piece is repeated; all with 0; an object. */
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
    /* Completions, and log-probabilities as chats have them and as completions do. */
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

static void test_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        vug_buf got = { 0 };
        vug_heard h = {
            .name = "server", .on_part = keep_part, .on_token = keep_token, .user = &got
        };
        vug_err err;
        for (size_t k = 0; k < 8 && answers[i].event[k]; k++)
            assert_int_equal(vug_heard_event(&h, vug_str_of(answers[i].event[k]), &err), VUG_OK);
        spell(&h, &got);
        assert_string_equal(got.ptr, answers[i].heard);
        vug_heard_release(&h);
        vug_buf_release(&got);
    }
}

/* What no server takes back is no part of the conversation. */
static void test_cut_calls(void **state)
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
        vug_shown s = { .ui = &ui, .silent = true };
        vug_talk talk = { 0 };
        vug_shown_begin(&s);
        assert_true(vug_shown_call(&s, id, name, vug_str_of(rows[i].arguments)));
        assert_int_equal(vug_shown_keep(&s, &talk), rows[i].kept);
        assert_int_equal(talk.n, rows[i].kept);
        assert_int_equal(talk.calls.len > 0, rows[i].kept);
        vug_shown_begin(&s); /* the next is another answer */
        assert_true(vug_shown_call(&s, id, name, vug_str_of("{}")));
        assert_true(vug_shown_keep(&s, &talk));
        vug_talk_release(&talk);
        vug_shown_release(&s);
    }
}

static void assert_fails(const char *event, const char *part)
{
    vug_buf got = { 0 };
    vug_heard h = { .name = "server", .on_part = keep_part, .user = &got };
    vug_err err;
    assert_int_not_equal(vug_heard_event(&h, vug_str_of(event), &err), VUG_OK);
    if (!strstr(err.msg, part))
        fail_msg("no '%s' in: %s", part, err.msg);
    vug_heard_release(&h);
    vug_buf_release(&got);
}

static void test_failures(void **state)
{
    (void)state;
    assert_fails("{\"error\":{\"message\":\"out of memory\"}}", "server gave up: out of memory");
    assert_fails("{\"error\":\"no luck\"}", "server gave up: no luck");
    assert_fails("{\"error\":{\"code\":3}}", "server gave up: an error without a sentence");
    assert_fails("{\"choices\":[", "server: line 1");
    vug_buf many = { 0 };
    vug_buf_puts(&many, "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"0\"}");
    for (int i = 1; i <= VUG_HEARD_MAX_CALLS; i++)
        vug_buf_printf(&many, ",{\"id\":\"%d\"}", i);
    vug_buf_puts(&many, "]}}]}");
    assert_fails(many.ptr, "more than 128 tool calls");
    vug_buf_release(&many);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *body, *sentence; /* NULL: none */
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
        assert_int_equal(vug_heard_error(vug_str_of(rows[i].body), text, sizeof(text)),
                         rows[i].sentence != NULL);
        assert_string_equal(text, rows[i].sentence ? rows[i].sentence : "");
    }
}

static void test_models(void **state)
{
    vug_arena arena = { 0 };
    vug_str id;
    vug_err err;
    (void)state;
    const vug_str good = vug_str_of("{\"data\":[{\"id\":\"a/b\"},{\"id\":\"c\"}]}");
    assert_int_equal(vug_heard_model(good, "server", &arena, &id, &err), VUG_OK);
    assert_string_equal(id.ptr, "a/b");
    static const char *const bad[] = { "{\"data\":[]}", "{\"data\":[{\"id\":3}]}", "{}", "[]",
                                       "x" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_not_equal(vug_heard_model(vug_str_of(bad[i]), "server", &arena, &id, &err),
                             VUG_OK);
    vug_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),    cmocka_unit_test(test_large_events),
        cmocka_unit_test(test_answers),   cmocka_unit_test(test_failures),
        cmocka_unit_test(test_refusals),  cmocka_unit_test(test_models),
        cmocka_unit_test(test_cut_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
