#include "app/server/speech.h"

#include "core/os.h"

/* ---- sending ------------------------------------------------------------------------ */

enum { KEPT_STEP = 64 << 10 }; /* bytes */

/* Of the choice so far, once more for when it is written. */
static size_t bytes(const vug_speech *s)
{
    return 2 * (s->chat ? vug_chat_choice_bytes(s->chat) : vug_text_choice_bytes(s->text));
}

static bool keep(vug_speech *s)
{
    const size_t all = s->answered + bytes(s);
    while (s->kept < all && !s->full) {
        s->full = !vug_http_keep(s->asked->call, KEPT_STEP);
        s->kept += KEPT_STEP;
    }
    return !s->full;
}

static vug_status check_room(const vug_speech *s, vug_err *err)
{
    return s->full ? vug_ask_no_room(err) : VUG_OK;
}

bool vug_speech_send(vug_speech *s)
{
    vug_asked *a = s->asked;
    if (!a->head.stream)
        return keep(s);
    if (a->service->opt.trace)
        vug_buf_append(&s->sent, s->events.ptr, s->events.len);
    const bool ok = !s->events.bad &&
                    (s->events.len == 0 ||
                     vug_http_stream_event(a->call, (vug_str){ s->events.ptr, s->events.len }));
    s->events.len = 0;
    return ok;
}

vug_status vug_speech_end_choice(vug_speech *s, vug_err *err)
{
    if (s->chat ? !vug_chat_choice_ok(s->chat) : !vug_text_choice_ok(s->text))
        return VUG_FAIL_NOMEM(err, "the answer", 0);
    (void)vug_speech_send(s);
    s->answered += bytes(s);
    return check_room(s, err);
}

static void fail(vug_speech *s, const vug_api_error *error)
{
    vug_asked *a = s->asked;
    const int status = vug_api_error_status(error->kind);
    if (a->head.stream) {
        vug_api_error_event(error, &s->events);
        (void)vug_speech_send(s);
        vug_trace(a, status, &s->sent);
        vug_http_stream_end(a->call);
    } else {
        vug_api_error_write(error, &s->sent);
        vug_trace(a, status, &s->sent);
        vug_http_fail(a->call, error);
    }
}

void vug_speech_end(vug_speech *s, vug_status st, const vug_err *err, vug_buf *body)
{
    vug_asked *a = s->asked;
    vug_api_error error;
    if (st != VUG_OK) {
        /* The request was checked: what is wrong now is not its fault, unless its grammar says
         * one thing in too many ways, which only the answer shows. */
        const char *form = a->request.form_field ? a->request.form_field : "tools";
        const bool ambiguous = st == VUG_LIMIT && a->grammar;
        vug_api_error_take(&error, err, ambiguous ? form : NULL);
        if (error.kind == VUG_API_BAD_REQUEST && !ambiguous)
            error.kind = VUG_API_INTERNAL;
        fail(s, &error);
    } else if (a->head.stream) {
        if (a->head.include_usage)
            vug_api_usage_event(&a->head, &a->usage, &s->events);
        vug_api_done_event(&s->events);
        (void)vug_speech_send(s);
        vug_trace(a, 200, &s->sent);
        vug_http_stream_end(a->call);
    } else {
        vug_trace(a, 200, body);
        vug_http_reply(a->call, NULL, body);
    }
    vug_buf_release(body);
    vug_buf_release(&s->events);
    vug_buf_release(&s->sent);
    vug_buf_release(&s->spelled);
}

/* ---- tokens ------------------------------------------------------------------------- */

static void count_token(vug_speech *s)
{
    vug_asked *a = s->asked;
    vug_metrics *metrics = a->service->opt.metrics;
    const double now = vug_now();
    if (s->last != 0)
        vug_metrics_observe(metrics, VUG_METRIC_BETWEEN_TOKENS, now - s->last);
    else if (a->usage.completion == 0)
        vug_metrics_observe(metrics, VUG_METRIC_FIRST_TOKEN, now - a->began);
    s->last = now;
    a->usage.completion++;
    if (s->reply && vug_reply_is_thinking(s->reply))
        a->usage.reasoning++;
    vug_metrics_add(metrics, VUG_METRIC_GENERATED_TOKENS, NULL, 1);
}

static bool feed_logprob(vug_speech *s, const vug_piece *piece)
{
    const vug_logprob token = { piece->token, piece->logprob };
    vug_api_logprob logprob = { 0 };
    s->spelled.len = 0;
    if (!vug_spell_logprob(s->asked->service->tokenizer, &token, piece->top, piece->n_top,
                           &s->spelled, s->room, &logprob))
        return false;
    if (s->chat)
        vug_chat_choice_logprob(s->chat, &logprob);
    else
        vug_text_choice_logprob(s->text, &logprob);
    return true;
}

/* Before the parts of a chat's token. */
static bool on_piece(const vug_piece *piece, void *user)
{
    vug_speech *s = user;
    bool more = true;
    if (piece->token >= 0) {
        if (!piece->is_stop)
            count_token(s);
        if (s->asked->request.logprobs && !feed_logprob(s, piece))
            return false;
    }
    if (s->text)
        more = vug_text_choice_push(s->text, piece->text, piece->len);
    return vug_speech_send(s) && more;
}

bool vug_speech_part(const vug_part *part, void *user)
{
    vug_speech *s = user;
    const bool more = vug_chat_choice_part(part, s->chat);
    return vug_speech_send(s) && more;
}

/* ---- one generation ----------------------------------------------------------------- */

static vug_generate_options options_of(vug_speech *s, const vug_tokens *prompt, int choice)
{
    const vug_asked *a = s->asked;
    /* As many as could have been asked for; see `fits` in ask.c. */
    const int64_t room = a->service->info.context - (int64_t)prompt->n;
    const vug_api_request *r = &a->request;
    vug_generate_options how = {
        .max_tokens = (int)(r->max_tokens < 0 || r->max_tokens > room ? room : r->max_tokens),
        .sampling = a->sampling,
        .n_top = r->logprobs ? r->top_logprobs : 0,
        .logprobs = r->logprobs,
        .ignore_stop = r->ignore_eos,
        .stop = r->stop_id,
        .n_stop = r->n_stop_ids,
        /* Completions list it, so that an answer of one token has one entry whatever it
         * is: who scores an echoed prompt takes off the last. Chats do not. */
        .report_stop = s->text && r->logprobs,
        .grammar = a->grammar,
        .reply = s->reply,
        .thinking_budget = s->reply && r->thinking_tokens > 0 ? (int)r->thinking_tokens : 0,
        .on_piece = on_piece,
        .user = s,
    };
    how.sampling.seed += (uint64_t)choice;
    return how;
}

static void count_prompt(vug_asked *a, int choice, const vug_generation *g)
{
    vug_metrics *metrics = a->service->opt.metrics;
    /* What echo has just read, to score it, was not there before. */
    const size_t cached = a->request.echo && a->request.logprobs ? 0 : g->n_cached;
    if (choice > 0)
        return;
    a->usage.prompt += g->n_prompt;
    a->usage.cached += cached;
    vug_metrics_add(metrics, VUG_METRIC_PROMPT_TOKENS, NULL, (double)g->n_prompt);
    vug_metrics_add(metrics, VUG_METRIC_CACHED_TOKENS, NULL, (double)cached);
}

vug_status vug_asked_session(vug_asked *a, const vug_tokens *prompt, vug_kept_session **out,
                             vug_err *err)
{
    /* Nobody else's session is touched for one who has left. */
    if (vug_worker_is_gone(&a->job))
        return VUG_FAIL(err, VUG_CANCELLED, "the client has left");
    const vug_said said = { prompt->id, prompt->n,
                            prompt->n > a->n_opening ? prompt->n - a->n_opening : prompt->n };
    return vug_sessions_take(&a->service->sessions, &said, out, err);
}

static vug_status attempt(vug_asked *a, vug_kept_session *kept, const vug_tokens *prompt,
                          const vug_generate_options *how, vug_generation *g, vug_err *err)
{
    if (!vug_worker_enter(&a->job, kept->session))
        return VUG_FAIL(err, VUG_CANCELLED, "the client has left");
    const vug_status st = vug_generate(kept->session, prompt->id, prompt->n, how, g, err);
    kept->cancelled = vug_worker_leave(&a->job);
    return st;
}

vug_status vug_speech_generate(vug_speech *s, const vug_tokens *prompt, int choice,
                               vug_finish *finish, vug_err *err)
{
    vug_asked *a = s->asked;
    const vug_generate_options how = options_of(s, prompt, choice);
    vug_generation g = { 0 };
    vug_kept_session *kept;
    s->last = 0;
    VUG_TRY(vug_asked_session(a, prompt, &kept, err));
    const bool was_told = kept->cancelled;
    vug_status st = attempt(a, kept, prompt, &how, &g, err);
    if (st == VUG_OK && g.finish == VUG_FINISH_CANCELLED && was_told && g.tokens.n == 0) {
        /* Perhaps that was meant for the one before, who had ended already. */
        vug_generation_release(&g);
        st = attempt(a, kept, prompt, &how, &g, err);
    }
    if (st != VUG_OK) {
        if (st != VUG_CANCELLED) /* what it has left behind is not known */
            vug_session_reset(kept->session);
        return st;
    }
    count_prompt(a, choice, &g);
    *finish = g.finish;
    st = check_room(s, err);
    if (g.finish == VUG_FINISH_CANCELLED)
        st = VUG_FAIL(err, VUG_CANCELLED, "the answer was given up");
    vug_generation_release(&g);
    return st;
}
