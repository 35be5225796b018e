/* Prompts that are given as a text or as messages. */
#include "engine/session.h"
#include "text/text.h"

/* ---- tokens ---------------------------------------------------------------------------- */

vug_status vug_model_encode_text(const vug_model *model, const char *text, size_t n,
                                 vug_tokens *out, vug_err *err)
{
    if (n == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "the prompt is empty: there is nothing to continue");
    const vug_tokenizer *tokenizer = vug_model_tokenizer(model, err);
    if (!tokenizer)
        return VUG_UNSUPPORTED;
    return vug_tokenizer_encode(tokenizer, text, n,
                                VUG_ENCODE_PARSE_SPECIAL | VUG_ENCODE_ADD_MISSING, out, err);
}

static bool has_windows(const vug_model *model)
{
    const vug_kv_layout *layout = vug_kv_pool_layout(model->kv_pool);
    for (int g = 0; g < layout->n_groups; g++) {
        if (layout->group[g].window > 0)
            return true;
    }
    return false;
}

/* The tokens of a conversation; `marks` as in vug_model_encode_chat. */
static vug_status encode_conversation(const vug_model *model, const vug_conversation *c,
                                      vug_tokens *out, vug_chat_marks *marks, vug_err *err)
{
    const vug_tokenizer *tokenizer = vug_model_tokenizer(model, err);
    const vug_chat *chat = tokenizer ? vug_model_chat(model, err) : NULL;
    vug_prompt prompt = { 0 };
    if (!chat)
        return VUG_UNSUPPORTED;
    vug_status st = vug_chat_render(chat, c, &prompt, err);
    if (st == VUG_OK)
        st = vug_prompt_encode(tokenizer, &prompt, out, err);
    if (st == VUG_OK && marks && has_windows(model)) {
        st = vug_chat_mark(chat, c, tokenizer, &prompt, out->n, marks, err);
        if (st != VUG_OK)
            vug_tokens_release(out);
    }
    vug_prompt_release(&prompt);
    return st;
}

vug_status vug_model_encode_chat(const vug_model *model, const vug_message *message, size_t n,
                                 vug_tokens *out, vug_chat_marks *marks, vug_err *err)
{
    vug_buf json = { 0 };
    if (!vug_model_tokenizer(model, err) || !vug_model_chat(model, err))
        return VUG_UNSUPPORTED;
    for (size_t i = 0; i < n; i++) {
        if (!message[i].role || !message[i].content)
            return VUG_FAIL(err, VUG_ARGUMENT, "message[%zu] lacks its role or its content", i);
    }
    vug_messages_write(message, n, &json);
    vug_status st = vug_buf_ok(&json, err);
    if (st == VUG_OK) {
        const vug_conversation c = { .messages = json.ptr, .messages_len = json.len };
        st = encode_conversation(model, &c, out, marks, err);
    }
    vug_buf_release(&json);
    return st;
}

/* ---- answers --------------------------------------------------------------------------- */

vug_status vug_generate_text(vug_session *session, const char *text, size_t len,
                             const vug_generate_options *options, vug_generation *out, vug_err *err)
{
    vug_tokens tokens;
    VUG_TRY(vug_model_encode_text(session->model, text, len, &tokens, err));
    const vug_status st = vug_generate(session, tokens.id, tokens.n, options, out, err);
    vug_tokens_release(&tokens);
    return st;
}

vug_status vug_generate_chat(vug_session *session, const vug_message *message, size_t n,
                             const vug_generate_options *options, vug_generation *out, vug_err *err)
{
    vug_generate_options marked = options ? *options : (vug_generate_options){ 0 };
    vug_chat_marks marks = { 0 };
    vug_tokens tokens;
    VUG_TRY(vug_model_encode_chat(session->model, message, n, &tokens,
                                  marked.n_marks == 0 ? &marks : NULL, err));
    if (marks.n > 0) {
        marked.mark = marks.mark;
        marked.n_marks = marks.n;
    }
    const vug_status st = vug_generate(session, tokens.id, tokens.n, &marked, out, err);
    vug_tokens_release(&tokens);
    return st;
}
