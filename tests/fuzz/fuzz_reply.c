/*
 * reply: an answer of a model, taken apart. The first byte picks the syntax and how the
 * answer begins, the second how it is cut into pieces. Whatever it is, no error comes of it,
 * parts come in an order that makes sense, and it does not matter how it was cut.
 */

#include "core/mem.h"
#include "fuzz/fuzz.h"
#include "text/chat/reply.h"

/* Parts as text, neighbours of one kind joined; a call that was dropped is forgotten. */
typedef struct {
    vug_buf content, thinking, calls;
    size_t mark;       /* of `calls`, before the call that is open */
    bool named, ended; /* there is a call, and it is complete */
} heard;

static bool hear(const vug_part *part, void *user)
{
    heard *h = user;
    switch (part->kind) {
    case VUG_PART_CONTENT:
        vug_buf_append(&h->content, part->text, part->len);
        break;
    case VUG_PART_THINKING:
        vug_buf_append(&h->thinking, part->text, part->len);
        break;
    case VUG_PART_CALL:
        VUG_ASSERT((!h->named || h->ended) && part->len > 0);
        h->mark = h->calls.len;
        h->named = true;
        h->ended = false;
        vug_buf_append(&h->calls, part->text, part->len);
        vug_buf_append(&h->calls, "\0", 1);
        break;
    case VUG_PART_ARGUMENTS:
        VUG_ASSERT(h->named && !h->ended);
        vug_buf_append(&h->calls, part->text, part->len);
        break;
    case VUG_PART_CALL_END:
        VUG_ASSERT(h->named && !h->ended);
        vug_buf_append(&h->calls, "\n", 1);
        h->ended = true;
        break;
    case VUG_PART_CALL_DROP:
        VUG_ASSERT(h->named && !h->ended);
        h->calls.len = h->mark;
        h->ended = true;
        break;
    }
    return true;
}

static heard take_apart(uint8_t how, vug_str text, size_t most)
{
    static const char *const sources[] = { "<think><tool_call>", "<|channel><|tool_call>",
                                           "<|start_header_id|>", "" };
    static const char tools[] =
            "[{\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{\"n\":{\"type\":"
            "\"integer\"},\"b\":{\"type\":[\"boolean\",\"null\"]}}}}}]";
    const vug_syntax syntax = vug_syntax_of(vug_str_of(sources[how & 3]));
    heard h = { 0 };
    vug_reply *reply;
    VUG_ASSERT(vug_reply_over(&syntax, (how & 4) && syntax.mark[VUG_MARK_THINK],
                              vug_str_of(how & 8 ? tools : ""), hear, &h, &reply, NULL) == VUG_OK);
    for (size_t at = 0; at < text.len; at += most) {
        const size_t n = most < text.len - at ? most : text.len - at;
        VUG_ASSERT(vug_reply_feed(reply, (vug_str){ text.ptr + at, n }, NULL) == VUG_OK);
    }
    VUG_ASSERT(vug_reply_finish(reply, NULL) == VUG_OK);
    vug_reply_destroy(reply);
    return h;
}

static void compare(vug_buf *a, vug_buf *b)
{
    VUG_ASSERT(a->len == b->len);
    VUG_ASSERT(a->len == 0 || memcmp(a->ptr, b->ptr, a->len) == 0);
    vug_buf_release(a);
    vug_buf_release(b);
}

int vug_fuzz_reply(const uint8_t *data, size_t n)
{
    if (n < 2)
        return 0;
    const vug_str text = { (const char *)data + 2, n - 2 };
    heard whole = take_apart(data[0], text, n);
    heard pieces = take_apart(data[0], text, data[1] % 16 + 1u);
    compare(&whole.content, &pieces.content);
    compare(&whole.thinking, &pieces.thinking);
    compare(&whole.calls, &pieces.calls);
    return 0;
}
