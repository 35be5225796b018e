#include "app/server/speech.h"

/* The worker's side of chats and completions. */

/* ---- chat --------------------------------------------------------------------------- */

static vug_status say(vug_speech *s, int choice, vug_err *err)
{
    vug_asked *a = s->asked;
    const vug_api_request *r = &a->request;
    const vug_reply_options taking = {
        .chat = a->service->chat,
        .tokenizer = a->service->tokenizer,
        .prompt = &a->prompt,
        .tools = r->choice ? r->callable.ptr : NULL,
        .tools_len = r->choice ? r->callable.len : 0,
        .no_calls = !r->choice,
        .on_part = vug_speech_part,
        .user = s,
    };
    vug_finish finish = VUG_FINISH_STOP;
    vug_stops_restart(&s->stops);
    s->chat->stops = s->stops;
    VUG_TRY(vug_reply_create(&taking, &s->reply, err));
    vug_chat_choice_begin(s->chat);
    (void)vug_speech_send(s);
    vug_status st = vug_speech_generate(s, &a->tokens[0], choice, &finish, err);
    if (st == VUG_OK)
        st = vug_reply_finish(s->reply, err);
    vug_reply_destroy(s->reply);
    s->reply = NULL;
    if (st != VUG_OK)
        return st;
    vug_chat_choice_finish(s->chat, finish);
    return vug_speech_end_choice(s, err);
}

void vug_answer_chat(vug_job *job)
{
    vug_asked *a = (vug_asked *)job;
    const vug_api_request *r = &a->request;
    vug_speech s = { .asked = a };
    vug_buf body = { 0 };
    vug_err err = { 0 };
    vug_status st = VUG_OK;
    vug_chat_choice *choice = vug_alloc_zero((size_t)r->n, sizeof(*choice));
    if (!choice || !vug_stops_init(&s.stops, r->stop, r->n_stops, &a->arena))
        st = VUG_FAIL_NOMEM(&err, "choices", (size_t)r->n * sizeof(*choice));
    for (int i = 0; i < r->n && st == VUG_OK; i++) {
        choice[i] = (vug_chat_choice){
            .head = &a->head,
            .index = i,
            .logprobs = r->logprobs,
            .is_named = r->choice == VUG_TOOLS_NAMED,
            .one_call = r->one_call || r->choice == VUG_TOOLS_NAMED,
            .must_call = r->choice >= VUG_TOOLS_REQUIRED,
            .sure = a->grammar && r->choice,
            .events = a->head.stream ? &s.events : NULL,
        };
        s.chat = &choice[i];
        st = say(&s, i, &err);
    }
    if (st == VUG_OK && !a->head.stream)
        vug_chat_choice_write(&a->head, choice, (size_t)r->n, &a->usage, &body);
    for (int i = 0; choice && i < r->n; i++)
        vug_chat_choice_release(&choice[i]);
    vug_free(choice);
    vug_speech_end(&s, st, &err, &body);
    vug_asked_free(a);
}

/* ---- completions -------------------------------------------------------------------- */

static vug_status echo(vug_speech *s, const vug_tokens *prompt, size_t which, vug_err *err)
{
    vug_asked *a = s->asked;
    const vug_api_prompt *given = &a->request.prompt[which];
    if (a->request.logprobs || given->is_tokens)
        return vug_echo(s, prompt, given->text, err);
    vug_text_choice_echo(s->text, given->text.ptr, given->text.len);
    return VUG_OK;
}

static vug_status continue_text(vug_speech *s, size_t which, int choice, vug_err *err)
{
    vug_asked *a = s->asked;
    const vug_api_request *r = &a->request;
    const vug_tokens *prompt = &a->tokens[which];
    vug_finish finish = VUG_FINISH_LENGTH;
    vug_stops_restart(&s->stops);
    s->text->stops = s->stops;
    if (r->echo) {
        VUG_TRY(echo(s, prompt, which, err));
        (void)vug_speech_send(s);
    }
    if (r->max_tokens != 0)
        VUG_TRY(vug_speech_generate(s, prompt, choice, &finish, err));
    else if (choice == 0)
        a->usage.prompt += prompt->n;
    vug_text_choice_finish(s->text, finish);
    return vug_speech_end_choice(s, err);
}

void vug_answer_text(vug_job *job)
{
    vug_asked *a = (vug_asked *)job;
    const vug_api_request *r = &a->request;
    const size_t n = a->n_prompts * (size_t)r->n;
    vug_speech s = { .asked = a };
    vug_buf body = { 0 };
    vug_err err = { 0 };
    vug_status st = VUG_OK;
    vug_text_choice *choice = vug_alloc_zero(n, sizeof(*choice));
    if (!choice || !vug_stops_init(&s.stops, r->stop, r->n_stops, &a->arena))
        st = VUG_FAIL_NOMEM(&err, "choices", n * sizeof(*choice));
    for (size_t i = 0; i < n && st == VUG_OK; i++) {
        choice[i] = (vug_text_choice){
            .head = &a->head,
            .index = (int)i,
            .logprobs = r->logprobs,
            .events = a->head.stream ? &s.events : NULL,
        };
        s.text = &choice[i];
        st = continue_text(&s, i / (size_t)r->n, (int)(i % (size_t)r->n), &err);
    }
    if (st == VUG_OK && !a->head.stream)
        vug_text_choice_write(&a->head, choice, n, &a->usage, &body);
    for (size_t i = 0; choice && i < n; i++)
        vug_text_choice_release(&choice[i]);
    vug_free(choice);
    vug_speech_end(&s, st, &err, &body);
    vug_asked_free(a);
}
