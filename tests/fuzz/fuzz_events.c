/*
 * cli/remote: responses of a server, as an event stream and as one body.
 *
 * Beyond not crashing, the result must not depend on how the bytes are cut.
 */

#include "cli/remote/completion_parser.h"
#include "cli/remote/sse_parser.h"
#include "fuzz/fuzz.h"

typedef struct {
    vug_sse_parser events;
    vug_completion_parser parser;
    vug_buf parts; /* each after a letter for its kind */
} stream_reader;

static bool on_part(const vug_part *part, void *user)
{
    vug_buf *to = user;
    VUG_ASSERT(part->len > 0);
    VUG_ASSERT(part->kind == VUG_PART_CONTENT || part->kind == VUG_PART_THINKING);
    vug_buf_append(to, part->kind == VUG_PART_CONTENT ? "C" : "T", 1);
    vug_buf_append(to, part->text, part->len);
    return true;
}

static void on_token(const vug_token_logprob *token, const vug_token_logprob *top, size_t n_top,
                     void *user)
{
    VUG_ASSERT(token->id >= -1 && n_top <= VUG_MAX_TOP_LOGPROBS);
    vug_buf_append(user, token->text.ptr, token->text.len);
    for (size_t i = 0; i < n_top; i++)
        vug_buf_append(user, top[i].text.ptr, top[i].text.len);
}

static vug_status on_event(vug_str data, void *user, vug_err *err)
{
    return vug_completion_parser_feed(user, data, err);
}

static vug_status feed_bytes(stream_reader *r, vug_str bytes)
{
    vug_err err;
    return vug_sse_parser_feed(&r->events, bytes, on_event, &r->parser, &err);
}

static void begin_reader(stream_reader *r)
{
    *r = (stream_reader){
        .parser = { .name = "server", .on_part = on_part, .on_token = on_token, .user = &r->parts }
    };
}

static void assert_same(const vug_buf *a, const vug_buf *b)
{
    VUG_ASSERT(a->len == b->len && (!a->len || memcmp(a->ptr, b->ptr, a->len) == 0));
}

static void assert_equal_readers(const stream_reader *a, const stream_reader *b)
{
    assert_same(&a->parts, &b->parts);
    VUG_ASSERT(a->parser.n_calls == b->parser.n_calls);
    for (size_t i = 0; i < a->parser.n_calls; i++) {
        assert_same(&a->parser.call[i].id, &b->parser.call[i].id);
        assert_same(&a->parser.call[i].name, &b->parser.call[i].name);
        assert_same(&a->parser.call[i].arguments, &b->parser.call[i].arguments);
    }
    VUG_ASSERT(strcmp(a->parser.finish, b->parser.finish) == 0);
    VUG_ASSERT(a->parser.done == b->parser.done && a->parser.has_usage == b->parser.has_usage);
}

static void end_reader(stream_reader *r)
{
    vug_sse_parser_release(&r->events);
    vug_completion_parser_release(&r->parser);
    vug_buf_release(&r->parts);
}

int vug_fuzz_events(const uint8_t *data, size_t n)
{
    const vug_str bytes = { (const char *)data, n };
    stream_reader whole, cut;
    char text[640];
    vug_err err;
    begin_reader(&whole);
    begin_reader(&cut);
    const vug_status st = feed_bytes(&whole, bytes);
    vug_status cut_st = VUG_OK;
    for (size_t i = 0; i < n && cut_st == VUG_OK; i++)
        cut_st = feed_bytes(&cut, (vug_str){ bytes.ptr + i, 1 });
    VUG_ASSERT(st == cut_st);
    assert_equal_readers(&whole, &cut);
    end_reader(&whole);
    end_reader(&cut);
    begin_reader(&whole);
    (void)!vug_completion_parser_feed(&whole.parser, bytes, &err);
    end_reader(&whole);
    (void)vug_parse_error_response(bytes, text, sizeof(text));
    return 0;
}
