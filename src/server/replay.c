#include <string.h>

#include "core/json_writer.h"
#include "server/internal.h"

/*
 * Exact replay: an answer that a client sends back gets the tokens that were sampled for it. It is
 * recognized by the conversation before it and by what the client saw of it. Its thinking, which
 * many clients leave out, is put back: the template decides whether the model sees it.
 */

enum { MAX_OPENING = 4096 }; /* bytes */

/* ---- keys -------------------------------------------------------------------------- */

static vug_bytes bytes_of(vug_str text)
{
    return (vug_bytes){ (const uint8_t *)text.ptr, text.len };
}

static void finish_chain(vug_message_chain *chain, vug_sha256 *hash)
{
    vug_err err;
    chain->bad |= vug_sha256_finish(hash, chain->key.byte, &err) != VUG_OK;
}

/* Clients share nothing across API keys. */
static vug_message_chain begin_chain(const vug_server_request *request)
{
    vug_message_chain chain = { .bad = false };
    vug_sha256 hash;
    vug_sha256_begin(&hash);
    vug_sha256_add_sized(&hash, bytes_of(request->sender.api_key));
    finish_chain(&chain, &hash);
    return chain;
}

static void extend_chain(vug_message_chain *chain, vug_str text)
{
    vug_sha256 hash;
    vug_sha256_begin(&hash);
    vug_sha256_add(&hash, chain->key.byte, sizeof(chain->key.byte));
    vug_sha256_add_sized(&hash, bytes_of(text));
    finish_chain(chain, &hash);
}

/* Templates and clients may trim an answer. */
static vug_str trim(vug_str text)
{
    static const char space[] = " \t\r\n";
    while (text.len && strchr(space, text.ptr[text.len - 1]))
        text.len--;
    while (text.len && strchr(space, *text.ptr))
        text = vug_str_from(text, 1);
    return text;
}

/* The text of a message's content; `room` holds it if it has several parts. */
static vug_str content_text(const vug_jv *content, vug_buf *room)
{
    if (vug_jv_is(content, VUG_JSON_STRING))
        return content->str;
    const vug_jv *part = vug_jv_is(content, VUG_JSON_ARRAY) ? content->child : NULL;
    for (; part; part = part->next) {
        const vug_jv *text = vug_jv_get(part, "text");
        if (vug_jv_is(text, VUG_JSON_STRING))
            vug_buf_append(room, text->str.ptr, text->str.len);
    }
    return (vug_str){ room->ptr, room->len };
}

/* The key of an assistant's message after `chain`. */
static vug_message_chain key_of_message(vug_message_chain chain, const vug_jv *message)
{
    vug_buf room = { 0 };
    const vug_jv *calls = vug_jv_get(message, "tool_calls");
    extend_chain(&chain, trim(content_text(vug_jv_get(message, "content"), &room)));
    chain.bad |= room.bad;
    vug_buf_release(&room);
    for (const vug_jv *c = vug_jv_is(calls, VUG_JSON_ARRAY) ? calls->child : NULL; c; c = c->next) {
        const vug_jv *id = vug_jv_get(c, "id");
        extend_chain(&chain, vug_jv_is(id, VUG_JSON_STRING) ? id->str : (vug_str){ 0 });
    }
    return chain;
}

static vug_message_chain key_of_choice(vug_message_chain chain, const vug_chat_choice *choice)
{
    extend_chain(&chain, trim((vug_str){ choice->content.ptr, choice->content.len }));
    for (size_t i = 0; i < choice->n_calls; i++) {
        char id[VUG_CALL_ID_BYTES];
        vug_chat_choice_call_id(choice, i, id);
        extend_chain(&chain, vug_str_of(id));
    }
    return chain;
}

/* ---- answers in a conversation ------------------------------------------------------- */

/* Finds the messages that are known answers. */
static vug_status find_answers(vug_server_request *request, const vug_jv *messages, vug_err *err)
{
    vug_message_chain chain = begin_chain(request);
    request->answer = vug_arena_alloc(&request->arena, messages->n, sizeof(*request->answer));
    if (!request->answer)
        return VUG_FAIL_NOMEM(err, "answers", messages->n * sizeof(*request->answer));
    for (const vug_jv *m = messages->child; m; m = m->next) {
        const vug_jv *role = vug_jv_get(m, "role");
        const vug_str name = vug_jv_is(role, VUG_JSON_STRING) ? role->str : (vug_str){ 0 };
        if (vug_str_is(name, "assistant")) {
            const vug_message_chain seen = key_of_message(chain, m);
            vug_known_answer *known = &request->answer[request->n_answers];
            known->message = m;
            if (!seen.bad && vug_answer_cache_get(request->service->answers, &seen.key,
                                                  &request->arena, &known->answer))
                request->n_answers++;
        }
        extend_chain(&chain, m->str);
    }
    request->chain = chain;
    return VUG_OK;
}

/* Copies the messages with the thinking of those answers that lack it. */
static vug_status add_thinking(vug_server_request *request, vug_err *err)
{
    const vug_str from = request->api.messages;
    vug_buf to = { 0 };
    size_t done = 0;
    for (size_t i = 0; i < request->n_answers; i++) {
        const vug_jv *m = request->answer[i].message;
        const vug_str thinking = request->answer[i].answer.thinking;
        if (thinking.len == 0 || vug_jv_get(m, "reasoning_content") || vug_jv_get(m, "reasoning"))
            continue;
        const size_t at = (size_t)(m->str.ptr - from.ptr) + 1; /* behind the brace */
        vug_buf_append(&to, from.ptr + done, at - done);
        vug_buf_puts(&to, "\"reasoning_content\":");
        vug_json_append_string(&to, thinking.ptr, thinking.len);
        vug_buf_puts(&to, ",");
        done = at;
    }
    request->messages = from;
    if (done > 0) {
        vug_buf_append(&to, from.ptr + done, from.len - done);
        request->messages = vug_arena_copy(&request->arena, (vug_str){ to.ptr, to.len });
    }
    const bool ok = !to.bad && request->messages.ptr;
    vug_buf_release(&to);
    return ok ? VUG_OK : VUG_FAIL_NOMEM(err, "messages", from.len);
}

vug_status vug_server_find_answers(vug_server_request *request, vug_err *err)
{
    const vug_jv *messages;
    VUG_TRY(vug_json_tree(request->api.messages, "messages", &request->arena, &messages, err));
    VUG_TRY(find_answers(request, messages, err));
    return add_thinking(request, err);
}

/* ---- answers in a prompt -------------------------------------------------------------- */

/* What the template wrote after the last message. */
static vug_str opening_of(const vug_prompt *p)
{
    const size_t from = p->n_untrusted ? p->untrusted[p->n_untrusted - 1].to : 0;
    return (vug_str){ p->text.ptr + from, p->text.len - from };
}

static bool is_untrusted(const vug_prompt *p, size_t at)
{
    for (size_t i = p->n_untrusted; i-- > 0 && p->untrusted[i].to > at;) {
        if (p->untrusted[i].from <= at)
            return true;
    }
    return false;
}

/* Whether the template ends a turn at this byte, as the model does. */
static bool ends_turn(const vug_service *s, const vug_prompt *p, size_t at)
{
    size_t n;
    const int32_t *stop = vug_model_stop_tokens(s->model, &n);
    const vug_str rest = { p->text.ptr + at, p->text.len - at };
    for (size_t i = 0; i < n; i++) {
        vug_str text = { 0 };
        text.ptr = vug_tokenizer_token(s->tokenizer, stop[i], &text.len);
        if (text.len && text.len <= rest.len && memcmp(rest.ptr, text.ptr, text.len) == 0)
            return !is_untrusted(p, at);
    }
    return false;
}

/* Finds the answer in the prompt from `from` on. */
static bool find_replay(const vug_server_request *request, const vug_answer *answer, size_t from,
                        vug_replay *out)
{
    const vug_prompt *p = &request->prompt;
    const vug_str opening = answer->opening;
    for (;;) {
        const char *found =
                memmem(p->text.ptr + from, p->text.len - from, opening.ptr, opening.len);
        if (!found)
            return false;
        const size_t at = (size_t)(found - p->text.ptr) + opening.len;
        size_t to;
        if (vug_prompt_match(request->service->tokenizer, p, at, answer->id, answer->n, &to) &&
            ends_turn(request->service, p, to)) {
            *out = (vug_replay){ at, to, answer->id, answer->n };
            return true;
        }
        from = (size_t)(found - p->text.ptr) + 1;
    }
}

vug_status vug_server_find_replays(vug_server_request *request, vug_err *err)
{
    vug_replay *replay = vug_arena_alloc(&request->arena, request->n_answers + 1, sizeof(*replay));
    size_t n = 0, at = 0;
    if (!replay)
        return VUG_FAIL_NOMEM(err, "answers", request->n_answers * sizeof(*replay));
    for (size_t i = 0; i < request->n_answers; i++) {
        if (find_replay(request, &request->answer[i].answer, at, &replay[n]))
            at = replay[n++].to;
    }
    request->prompt.replay = replay;
    request->prompt.n_replays = n;
    return VUG_OK;
}

/* ---- remembering ---------------------------------------------------------------------- */

void vug_server_remember_answer(const vug_server_request *request, const vug_chat_choice *choice,
                                const vug_tokens *tokens)
{
    const vug_str opening = opening_of(&request->prompt);
    if (request->api.no_generation_prompt || request->api.prefill.len || tokens->n == 0 ||
        opening.len == 0 || opening.len > MAX_OPENING ||
        (choice->content.len == 0 && choice->n_calls == 0))
        return;
    const vug_message_chain seen = key_of_choice(request->chain, choice);
    const vug_answer answer = { .id = tokens->id,
                                .n = tokens->n,
                                .opening = opening,
                                .thinking = { choice->thinking.ptr, choice->thinking.len } };
    if (!seen.bad)
        vug_answer_cache_add(request->service->answers, &seen.key, &answer);
}
