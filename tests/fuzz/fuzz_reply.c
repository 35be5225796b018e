/*
 * text/chat: the parser of answers. The first byte picks the output format and how the answer
 * begins, the second the length of the pieces. There must be no error, parts must come in a
 * valid order, and the cut into pieces must not matter.
 */

#include "core/mem.h"
#include "fuzz/fuzz.h"
#include "text/chat/response_parser.h"

/* Parts as text, neighbours of one kind joined; a call that was dropped is forgotten. */
typedef struct {
    vug_buf content, thinking, calls;
    size_t call_start; /* of the open call in `calls` */
    bool named, ended; /* there is a call, and it is complete */
} answer_fold;

static bool fold_part(const vug_part *part, void *user)
{
    answer_fold *h = user;
    switch (part->kind) {
    case VUG_PART_CONTENT:
        vug_buf_append(&h->content, part->text, part->len);
        break;
    case VUG_PART_THINKING:
        vug_buf_append(&h->thinking, part->text, part->len);
        break;
    case VUG_PART_CALL:
        VUG_ASSERT((!h->named || h->ended) && part->len > 0);
        h->call_start = h->calls.len;
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
        h->calls.len = h->call_start;
        h->ended = true;
        break;
    }
    return true;
}

static answer_fold parse_in_pieces(uint8_t how, vug_str text, size_t most)
{
    static const char *const sources[] = { "<think><tool_call>", "<|channel><|tool_call>",
                                           "<|start_header_id|>", "" };
    static const char tools[] =
            "[{\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{\"n\":{\"type\":"
            "\"integer\"},\"b\":{\"type\":[\"boolean\",\"null\"]}}}}}]";
    const vug_output_format format = vug_output_format_detect(vug_str_of(sources[how & 3]));
    answer_fold h = { 0 };
    vug_response_parser *parser;
    VUG_ASSERT(vug_response_parser_create_untokenized(
                       &format, (how & 4) && format.marker[VUG_MARKER_THINK],
                       vug_str_of(how & 8 ? tools : ""), fold_part, &h, &parser, NULL) == VUG_OK);
    for (size_t at = 0; at < text.len; at += most) {
        const size_t n = most < text.len - at ? most : text.len - at;
        VUG_ASSERT(vug_response_parser_feed(parser, (vug_str){ text.ptr + at, n }, NULL) == VUG_OK);
    }
    VUG_ASSERT(vug_response_parser_finish(parser, NULL) == VUG_OK);
    vug_response_parser_destroy(parser);
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
    answer_fold whole = parse_in_pieces(data[0], text, n);
    answer_fold pieces = parse_in_pieces(data[0], text, data[1] % 16 + 1u);
    compare(&whole.content, &pieces.content);
    compare(&whole.thinking, &pieces.thinking);
    compare(&whole.calls, &pieces.calls);
    return 0;
}
