#include <stdio.h>

#include "core/utf8.h"
#include "server/api/internal.h"

/* Log-probabilities in the two shapes of the API. */

enum { TOKENS, VALUES, TOPS, OFFSETS }; /* lists of completions */

/* OpenAI's value for almost impossible tokens; JSON has no infinity. */
static const float min_logprob = -9999.0f;

static float clamp_logprob(float logprob)
{
    return logprob > min_logprob ? logprob : min_logprob;
}

/* ---- chat ---------------------------------------------------------------------- */

static vug_str name_of(const vug_api_token *token)
{
    return token->name.len ? token->name : token->text;
}

/* Without the closing brace. */
static void write_token(const vug_api_token *token, bool with_id, vug_json_writer *js)
{
    vug_json_begin(js, NULL, '{');
    if (with_id)
        vug_json_put_i64(js, "id", token->id);
    const vug_str name = name_of(token);
    vug_json_put_text(js, "token", name.ptr, name.len);
    vug_json_put_f32(js, "logprob", clamp_logprob(token->logprob));
    vug_json_begin(js, "bytes", '[');
    for (size_t i = 0; i < token->text.len && !token->is_control; i++)
        vug_json_put_i64(js, NULL, (unsigned char)token->text.ptr[i]);
    vug_json_end(js, ']');
}

void vug_logprobs_add_chat(vug_logprob_lists *lists, const vug_api_logprob *logprob, bool with_ids)
{
    vug_json_writer js = { .to = &lists->list[0], .more = lists->list[0].len > 0 };
    write_token(&logprob->token, with_ids, &js);
    vug_json_begin(&js, "top_logprobs", '[');
    for (size_t i = 0; i < logprob->n_top; i++) {
        write_token(&logprob->top[i], with_ids, &js);
        vug_json_end(&js, '}');
    }
    vug_json_end(&js, ']');
    vug_json_end(&js, '}');
}

void vug_logprobs_write_chat(const vug_logprob_lists *lists, bool requested, vug_json_writer *js)
{
    if (lists->list[0].len == 0 && !requested) {
        vug_json_put_string(js, "logprobs", NULL);
        return;
    }
    vug_json_begin(js, "logprobs", '{');
    vug_json_begin(js, "content", '[');
    vug_json_put_raw(js, NULL, lists->list[0].ptr, lists->list[0].len);
    vug_json_end(js, ']');
    vug_json_put_string(js, "refusal", NULL);
    vug_json_end(js, '}');
}

/* ---- completions --------------------------------------------------------------- */

/* Tokens are object keys here, so incomplete UTF-8 must stay distinct: "bytes:\xe2\x82", as in
 * OpenAI's API. */
static void write_key(vug_str text, vug_buf *to)
{
    if (vug_utf8_valid(text)) {
        vug_json_append_string(to, text.ptr, text.len);
        return;
    }
    vug_buf_puts(to, "\"bytes:");
    for (size_t i = 0; i < text.len; i++)
        vug_buf_printf(to, "\\\\x%02x", (unsigned char)text.ptr[i]);
    vug_buf_puts(to, "\"");
}

/* Whether one of `n` tokens has that text: keys must be unique. */
static bool contains_text(vug_str text, const vug_api_token *top, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (vug_str_equal(name_of(&top[i]), text))
            return true;
    }
    return false;
}

static void write_member(const vug_api_token *token, bool *first, vug_buf *to)
{
    vug_buf_puts(to, *first ? "" : ",");
    *first = false;
    write_key(name_of(token), to);
    vug_buf_puts(to, ":");
    vug_json_append_f32(to, clamp_logprob(token->logprob));
}

/* The top tokens, and the token itself if it is not one of them. */
static void write_top_tokens(const vug_api_logprob *logprob, vug_buf *to)
{
    bool first = true;
    vug_buf_puts(to, "{");
    for (size_t i = 0; i < logprob->n_top; i++) {
        if (!contains_text(name_of(&logprob->top[i]), logprob->top, i))
            write_member(&logprob->top[i], &first, to);
    }
    if (!contains_text(name_of(&logprob->token), logprob->top, logprob->n_top))
        write_member(&logprob->token, &first, to);
    vug_buf_puts(to, "}");
}

void vug_logprobs_add_completion(vug_logprob_lists *lists, const vug_api_logprob *logprob)
{
    const vug_str text = logprob->token.text;
    for (int i = 0; i < VUG_LOGPROB_LISTS; i++)
        vug_buf_puts(&lists->list[i], lists->list[i].len > 0 ? "," : "");
    write_key(name_of(&logprob->token), &lists->list[TOKENS]);
    if (logprob->is_first) {
        vug_buf_puts(&lists->list[VALUES], "null");
        vug_buf_puts(&lists->list[TOPS], "null");
    } else {
        vug_json_append_f32(&lists->list[VALUES], clamp_logprob(logprob->token.logprob));
        write_top_tokens(logprob, &lists->list[TOPS]);
    }
    vug_buf_printf(&lists->list[OFFSETS], "%zu", lists->offset);
    for (size_t i = 0; i < text.len && !logprob->token.is_control; i++)
        lists->offset += !vug_utf8_is_continuation(text.ptr[i]);
}

void vug_logprobs_write_completion(const vug_logprob_lists *lists, vug_json_writer *js)
{
    static const char *const name[VUG_LOGPROB_LISTS] = {
        [TOKENS] = "tokens",
        [VALUES] = "token_logprobs",
        [TOPS] = "top_logprobs",
        [OFFSETS] = "text_offset",
    };
    vug_json_begin(js, "logprobs", '{');
    for (int i = 0; i < VUG_LOGPROB_LISTS; i++) {
        vug_json_begin(js, name[i], '[');
        vug_json_put_raw(js, NULL, lists->list[i].ptr, lists->list[i].len);
        vug_json_end(js, ']');
    }
    vug_json_end(js, '}');
}

/* ---- prompts --------------------------------------------------------------------- */

static void write_prompt_token(const vug_api_token *token, size_t rank, vug_json_writer *js)
{
    char id[16];
    (void)snprintf(id, sizeof(id), "%d", token->id);
    vug_json_begin(js, id, '{');
    vug_json_put_f32(js, "logprob", clamp_logprob(token->logprob));
    vug_json_put_u64(js, "rank", rank);
    vug_json_put_text(js, "decoded_token", token->text.ptr, token->text.len);
    vug_json_end(js, '}');
}

void vug_api_add_prompt_logprob(const vug_api_logprob *logprob, size_t rank, vug_buf *to)
{
    vug_json_writer js = { .to = to, .more = to->len > 0 };
    if (logprob->is_first) {
        vug_json_put_string(&js, NULL, NULL);
        return;
    }
    vug_json_begin(&js, NULL, '{');
    write_prompt_token(&logprob->token, rank, &js);
    for (size_t i = 0; i < logprob->n_top; i++) {
        if (logprob->top[i].id != logprob->token.id)
            write_prompt_token(&logprob->top[i], i + 1, &js);
    }
    vug_json_end(&js, '}');
}

void vug_logprobs_write_prompt(const vug_buf *list, vug_json_writer *js)
{
    if (list->len == 0)
        return;
    vug_json_begin(js, "prompt_logprobs", '[');
    vug_json_put_raw(js, NULL, list->ptr, list->len);
    vug_json_end(js, ']');
}

/* ---- common -------------------------------------------------------------------- */

void vug_logprobs_commit(vug_logprob_lists *lists)
{
    for (int i = 0; i < VUG_LOGPROB_LISTS; i++)
        lists->committed[i] = lists->list[i].len;
}

void vug_logprobs_rollback(vug_logprob_lists *lists)
{
    for (int i = 0; i < VUG_LOGPROB_LISTS; i++)
        lists->list[i].len = lists->committed[i];
}

void vug_logprobs_clear(vug_logprob_lists *lists)
{
    for (int i = 0; i < VUG_LOGPROB_LISTS; i++)
        lists->list[i].len = lists->committed[i] = 0;
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
