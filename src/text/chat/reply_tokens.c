/* Answers taken apart, token by token. */
#include "text/chat/chat.h"
#include "text/chat/reply.h"
#include "text/text.h"

vug_status vug_reply_create(const vug_reply_options *options, vug_reply **out, vug_err *err)
{
    const vug_syntax *syntax = vug_chat_syntax(options->chat);
    const vug_prompt *prompt = options->prompt;
    /* What somebody wrote at the end of a prompt opens nothing. */
    const size_t spoken = prompt->n_plain ? prompt->plain[prompt->n_plain - 1].to : 0;
    const vug_str end = { prompt->text.ptr + spoken, prompt->text.len - spoken };
    const vug_str tools = { options->tools, options->tools_len };
    vug_reply *r;
    VUG_TRY(vug_reply_over(syntax, vug_syntax_is_open(syntax, end), tools, options->on_part,
                           options->user, &r, err));
    r->tokenizer = options->tokenizer;
    if (options->no_calls)
        r->syntax.mark[VUG_MARK_CALL] = NULL;
    for (int m = 0; m < VUG_MARK_COUNT; m++) {
        r->id[m] = r->syntax.mark[m] ? vug_tokenizer_find(r->tokenizer, r->syntax.mark[m]) : -1;
        r->by_id[m] = r->id[m] >= 0;
    }
    const vug_status st = vug_decoder_create(r->tokenizer, false, &r->decoder, err);
    if (st != VUG_OK) {
        vug_reply_destroy(r);
        return st;
    }
    *out = r;
    return VUG_OK;
}

static vug_mark mark_of(const vug_reply *r, int32_t id)
{
    int m = 0;
    while (m < VUG_MARK_COUNT && (r->id[m] < 0 || r->id[m] != id))
        m++;
    return (vug_mark)m;
}

vug_status vug_reply_push(vug_reply *r, int32_t id, vug_err *err)
{
    vug_str text = { 0 };
    VUG_TRY(vug_decoder_push(r->decoder, id, &text.ptr, &text.len, err));
    const vug_mark mark = mark_of(r, id);
    const bool special = vug_token_is_special(r->tokenizer, id);
    if (mark == VUG_MARK_COUNT && !special)
        return vug_reply_feed(r, text, err);
    /* The token itself stands behind what was held back of those before it. */
    size_t len = 0;
    const char *spelling = vug_tokenizer_token(r->tokenizer, id, &len);
    if (!spelling || text.len < len || memcmp(text.ptr + text.len - len, spelling, len) != 0)
        return vug_reply_feed(r, text, err);
    VUG_TRY(vug_reply_feed(r, (vug_str){ text.ptr, text.len - len }, err));
    return mark == VUG_MARK_COUNT ? VUG_OK : vug_reply_feed_mark(r, mark, special, err);
}
