/* Feeding tokens to the parser of answers. */
#include "text/chat/chat_template.h"
#include "text/chat/response_parser.h"

vug_status vug_response_parser_create(const vug_response_parser_options *options,
                                      vug_response_parser **out, vug_err *err)
{
    const vug_output_format *format = vug_chat_output_format(options->chat);
    /* Untrusted text at the end of a prompt cannot open the thinking. */
    const vug_str end = vug_prompt_opening(options->prompt);
    const vug_str tools = { options->tools, options->tools_len };
    vug_response_parser *r;
    VUG_TRY(vug_response_parser_create_untokenized(
            format, vug_output_format_opens_thinking(format, end), tools, options->on_part,
            options->user, &r, err));
    r->tokenizer = options->tokenizer;
    if (options->no_tool_calls)
        r->format.marker[VUG_MARKER_CALL] = NULL;
    for (int m = 0; m < VUG_MARKER_COUNT; m++) {
        r->id[m] = r->format.marker[m] ? vug_tokenizer_find(r->tokenizer, r->format.marker[m]) : -1;
        r->by_id[m] = r->id[m] >= 0;
    }
    const vug_status st = vug_decoder_create(r->tokenizer, false, &r->decoder, err);
    if (st != VUG_OK) {
        vug_response_parser_destroy(r);
        return st;
    }
    *out = r;
    return VUG_OK;
}

static vug_marker marker_of(const vug_response_parser *r, int32_t id)
{
    int m = 0;
    while (m < VUG_MARKER_COUNT && (r->id[m] < 0 || r->id[m] != id))
        m++;
    return (vug_marker)m;
}

vug_status vug_response_parser_push(vug_response_parser *r, int32_t id, vug_err *err)
{
    vug_str text = { 0 };
    VUG_TRY(vug_decoder_push(r->decoder, id, &text.ptr, &text.len, err));
    const vug_marker marker = marker_of(r, id);
    const bool special = vug_tokenizer_is_special(r->tokenizer, id);
    if (marker == VUG_MARKER_COUNT && !special)
        return vug_response_parser_feed(r, text, err);
    /* The decoder may have held back text of earlier tokens, which comes before the token. */
    size_t len = 0;
    const char *spelling = vug_tokenizer_token(r->tokenizer, id, &len);
    if (!spelling || text.len < len || memcmp(text.ptr + text.len - len, spelling, len) != 0)
        return vug_response_parser_feed(r, text, err);
    VUG_TRY(vug_response_parser_feed(r, (vug_str){ text.ptr, text.len - len }, err));
    return marker == VUG_MARKER_COUNT ? VUG_OK
                                      : vug_response_parser_feed_marker(r, marker, special, err);
}
