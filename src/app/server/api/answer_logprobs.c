#include "app/server/api/answer_write.h"
#include "core/text.h"

/* Log-probabilities in the two shapes of the API. */

enum { TOKENS, VALUES, TOPS, OFFSETS }; /* lists of the older shape */

/* What OpenAI's API says of tokens that can hardly come; JSON has no infinity. */
static const float HARDLY = -9999.0f;

static void write_value(vug_buf *to, float logprob)
{
    vug_json_write_f32(to, logprob > HARDLY ? logprob : HARDLY);
}

static void separate(vug_buf *to)
{
    if (to->len > 0)
        vug_buf_puts(to, ",");
}

/* ---- chat ---------------------------------------------------------------------- */

/* Up to the value and the bytes, without the closing brace. */
static void write_token(const vug_api_token *token, vug_buf *to)
{
    vug_buf_puts(to, "{\"token\":");
    vug_json_write_string(to, token->text.ptr, token->text.len);
    vug_buf_puts(to, ",\"logprob\":");
    write_value(to, token->logprob);
    vug_buf_puts(to, ",\"bytes\":[");
    for (size_t i = 0; i < token->text.len && !token->is_control; i++)
        vug_buf_printf(to, "%s%u", i ? "," : "", (unsigned char)token->text.ptr[i]);
    vug_buf_puts(to, "]");
}

void vug_logprobs_chat(vug_logprob_lists *lists, const vug_api_logprob *logprob)
{
    vug_buf *to = &lists->list[0];
    separate(to);
    write_token(&logprob->token, to);
    vug_buf_puts(to, ",\"top_logprobs\":[");
    for (size_t i = 0; i < logprob->n_top; i++) {
        vug_buf_puts(to, i ? "," : "");
        write_token(&logprob->top[i], to);
        vug_buf_puts(to, "}");
    }
    vug_buf_puts(to, "]}");
}

void vug_write_chat_logprobs(const vug_logprob_lists *lists, bool asked, vug_buf *to)
{
    if (lists->list[0].len == 0 && !asked) {
        vug_buf_puts(to, "null");
        return;
    }
    vug_buf_puts(to, "{\"content\":[");
    vug_buf_append(to, lists->list[0].ptr, lists->list[0].len);
    vug_buf_puts(to, "],\"refusal\":null}");
}

/* ---- completions --------------------------------------------------------------- */

static bool is_utf8(vug_str text)
{
    uint32_t cp;
    size_t i = 0;
    while (i < text.len) {
        const size_t n = vug_utf8_next(text.ptr + i, text.len - i, &cp);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

/* Tokens are keys here, so that parts of characters must stay apart: "bytes:\xe2\x82", as
 * OpenAI's API wrote them. */
static void write_key(vug_str text, vug_buf *to)
{
    if (is_utf8(text)) {
        vug_json_write_string(to, text.ptr, text.len);
        return;
    }
    vug_buf_puts(to, "\"bytes:");
    for (size_t i = 0; i < text.len; i++)
        vug_buf_printf(to, "\\\\x%02x", (unsigned char)text.ptr[i]);
    vug_buf_puts(to, "\"");
}

/* Whether one of the first `n` has that text: an object has a key but once. */
static bool is_among(vug_str text, const vug_api_token *top, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (vug_str_equal(top[i].text, text))
            return true;
    }
    return false;
}

static void write_member(const vug_api_token *token, bool *first, vug_buf *to)
{
    vug_buf_puts(to, *first ? "" : ",");
    *first = false;
    write_key(token->text, to);
    vug_buf_puts(to, ":");
    write_value(to, token->logprob);
}

/* The best ones, and the token itself where it is not among them. */
static void write_tops(const vug_api_logprob *logprob, vug_buf *to)
{
    bool first = true;
    vug_buf_puts(to, "{");
    for (size_t i = 0; i < logprob->n_top; i++) {
        if (!is_among(logprob->top[i].text, logprob->top, i))
            write_member(&logprob->top[i], &first, to);
    }
    if (!is_among(logprob->token.text, logprob->top, logprob->n_top))
        write_member(&logprob->token, &first, to);
    vug_buf_puts(to, "}");
}

void vug_logprobs_text(vug_logprob_lists *lists, const vug_api_logprob *logprob)
{
    const vug_str text = logprob->token.text;
    for (int i = 0; i < VUG_LOGPROB_LISTS; i++)
        separate(&lists->list[i]);
    write_key(text, &lists->list[TOKENS]);
    if (logprob->is_first) {
        vug_buf_puts(&lists->list[VALUES], "null");
        vug_buf_puts(&lists->list[TOPS], "null");
    } else {
        write_value(&lists->list[VALUES], logprob->token.logprob);
        write_tops(logprob, &lists->list[TOPS]);
    }
    vug_buf_printf(&lists->list[OFFSETS], "%zu", lists->offset);
    for (size_t i = 0; i < text.len && !logprob->token.is_control; i++)
        lists->offset += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
}

void vug_write_text_logprobs(const vug_logprob_lists *lists, vug_buf *to)
{
    static const char *const name[VUG_LOGPROB_LISTS] = {
        [TOKENS] = "{\"tokens\":[",
        [VALUES] = "],\"token_logprobs\":[",
        [TOPS] = "],\"top_logprobs\":[",
        [OFFSETS] = "],\"text_offset\":[",
    };
    for (int i = 0; i < VUG_LOGPROB_LISTS; i++) {
        vug_buf_puts(to, name[i]);
        vug_buf_append(to, lists->list[i].ptr, lists->list[i].len);
    }
    vug_buf_puts(to, "]}");
}

/* ---- both ---------------------------------------------------------------------- */

void vug_logprobs_keep(vug_logprob_lists *lists)
{
    for (int i = 0; i < VUG_LOGPROB_LISTS; i++)
        lists->kept[i] = lists->list[i].len;
}

void vug_logprobs_drop(vug_logprob_lists *lists)
{
    for (int i = 0; i < VUG_LOGPROB_LISTS; i++)
        lists->list[i].len = lists->kept[i];
}

void vug_logprobs_clear(vug_logprob_lists *lists)
{
    for (int i = 0; i < VUG_LOGPROB_LISTS; i++)
        lists->list[i].len = lists->kept[i] = 0;
}

bool vug_logprobs_ok(const vug_logprob_lists *lists)
{
    for (int i = 0; i < VUG_LOGPROB_LISTS; i++) {
        if (lists->list[i].bad)
            return false;
    }
    return true;
}

size_t vug_logprobs_bytes(const vug_logprob_lists *lists)
{
    size_t n = 0;
    for (int i = 0; i < VUG_LOGPROB_LISTS; i++)
        n += lists->list[i].cap;
    return n;
}

void vug_logprobs_release(vug_logprob_lists *lists)
{
    for (int i = 0; i < VUG_LOGPROB_LISTS; i++)
        vug_buf_release(&lists->list[i]);
}
