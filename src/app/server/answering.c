#include "app/server/service_own.h"
#include "core/os.h"

/* The worker's side: what the model says, on its way to the client. Whole answers and
 * streams are fed alike; see answer.h. */

typedef struct {
    vug_asked *asked;
    vug_chat_choice *chat; /* one of the two */
    vug_text_choice *text;
    vug_reply *reply; /* of a chat */
    vug_buf events;   /* of a stream, not sent yet */
    vug_buf sent;     /* of a stream that is recorded */
    double last;      /* when the last token came; 0: none has */
    vug_buf spelled;  /* of log-probabilities */
    vug_api_token room[VUG_MAX_TOP_LOGPROBS];
} speech;

/* ---- sending ------------------------------------------------------------------------ */

/* False when the client has gone. */
static bool send_events(speech *s)
{
    vug_asked *a = s->asked;
    if (!a->head.stream)
        return true;
    if (a->service->opt.trace)
        vug_buf_append(&s->sent, s->events.ptr, s->events.len);
    const bool ok = !s->events.bad &&
                    (s->events.len == 0 ||
                     vug_http_stream_event(a->call, (vug_str){ s->events.ptr, s->events.len }));
    s->events.len = 0;
    return ok;
}

static void fail(speech *s, const vug_api_error *error)
{
    vug_asked *a = s->asked;
    if (a->head.stream) {
        vug_api_error_event(error, &s->events);
        (void)send_events(s);
        vug_http_stream_end(a->call);
    } else {
        vug_http_fail(a->call, error);
    }
}

/* The end of the call in every case; `body` is that of a whole answer, which it takes. */
static void end(speech *s, vug_status st, const vug_err *err, vug_buf *body)
{
    vug_asked *a = s->asked;
    vug_api_error error;
    if (st != VUG_OK) {
        vug_api_error_take(&error, err, NULL);
        /* The request was checked: what is wrong now is not its fault. */
        if (error.kind == VUG_API_BAD_REQUEST)
            error.kind = VUG_API_INTERNAL;
        vug_trace(a, vug_api_error_status(error.kind), &s->sent);
        fail(s, &error);
    } else if (a->head.stream) {
        if (a->head.include_usage)
            vug_api_usage_event(&a->head, &a->usage, &s->events);
        vug_api_done_event(&s->events);
        (void)send_events(s);
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

static void count_token(speech *s)
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

static bool feed_logprob(speech *s, const vug_piece *piece)
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
    speech *s = user;
    bool more = true;
    if (piece->token >= 0) {
        count_token(s);
        if (s->asked->request.logprobs && !feed_logprob(s, piece))
            return false;
    }
    if (s->text)
        more = vug_text_choice_push(s->text, piece->text, piece->len);
    return send_events(s) && more;
}

static bool on_part(const vug_part *part, void *user)
{
    speech *s = user;
    const vug_api_tool_choice choice = s->asked->request.choice;
    /* Where a call must come, text is the beginning of one that was cut short. */
    if (part->kind == VUG_PART_CONTENT &&
        (choice == VUG_TOOLS_REQUIRED || choice == VUG_TOOLS_NAMED))
        return true;
    const bool more = vug_chat_choice_part(part, s->chat);
    return send_events(s) && more;
}

/* ---- one generation ----------------------------------------------------------------- */

static vug_generate_options options_of(speech *s, const vug_tokens *prompt, int choice)
{
    const vug_asked *a = s->asked;
    /* As many as could have been asked for; see `fits` in ask.c. */
    const int room = (int)(a->service->info.context - (int64_t)prompt->n);
    const vug_api_request *r = &a->request;
    vug_generate_options how = {
        .max_tokens = r->max_tokens < 0 ? room : (int)r->max_tokens,
        .sampling = a->sampling,
        .n_top = r->logprobs ? r->top_logprobs : 0,
        .logprobs = r->logprobs,
        .ignore_stop = r->ignore_eos,
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

/* What a failed call has left behind is not known. */
static vug_status forget(vug_kept *kept, vug_status st)
{
    if (st != VUG_CANCELLED) {
        kept->n = 0;
        vug_session_reset(kept->session);
    }
    return st;
}

static vug_status attempt(vug_asked *a, vug_kept *kept, const vug_tokens *prompt,
                          const vug_generate_options *how, vug_generation *g, vug_err *err)
{
    if (!vug_worker_enter(&a->job, kept->session))
        return VUG_FAIL(err, VUG_CANCELLED, "the client has left");
    const vug_status st = vug_generate(kept->session, prompt->id, prompt->n, how, g, err);
    kept->cancelled = vug_worker_leave(&a->job);
    return st;
}

/* On the session that has most of the prompt. A client that left makes it VUG_CANCELLED. */
static vug_status generate(speech *s, const vug_tokens *prompt, int choice, vug_finish *finish,
                           vug_err *err)
{
    vug_asked *a = s->asked;
    const vug_generate_options how = options_of(s, prompt, choice);
    vug_generation g = { 0 };
    vug_kept *kept;
    s->last = 0;
    VUG_TRY(vug_sessions_take(&a->service->sessions, prompt->id, prompt->n, &kept, err));
    const bool was_told = kept->cancelled;
    vug_status st = attempt(a, kept, prompt, &how, &g, err);
    if (st == VUG_OK && g.finish == VUG_FINISH_CANCELLED && was_told && g.tokens.n == 0) {
        /* Perhaps that was meant for the one before, who had ended already. */
        vug_generation_release(&g);
        st = attempt(a, kept, prompt, &how, &g, err);
    }
    if (st != VUG_OK)
        return forget(kept, st);
    vug_sessions_keep(kept, prompt->id, prompt->n, &g.tokens);
    count_prompt(a, choice, &g);
    *finish = g.finish;
    if (g.finish == VUG_FINISH_CANCELLED)
        st = VUG_FAIL(err, VUG_CANCELLED, "the answer was given up");
    vug_generation_release(&g);
    return st;
}

/* ---- chat --------------------------------------------------------------------------- */

static vug_status say(speech *s, int choice, vug_err *err)
{
    vug_asked *a = s->asked;
    const vug_api_request *r = &a->request;
    const vug_reply_options taking = {
        .chat = a->service->chat,
        .tokenizer = a->service->tokenizer,
        .prompt = &a->prompt,
        .tools = r->choice ? r->tools.ptr : NULL,
        .tools_len = r->choice ? r->tools.len : 0,
        .no_calls = !r->choice,
        .on_part = on_part,
        .user = s,
    };
    vug_finish finish = VUG_FINISH_STOP;
    if (!vug_stops_init(&s->chat->stops, r->stop, r->n_stops, &a->arena))
        return VUG_FAIL_NOMEM(err, "stops", 0);
    VUG_TRY(vug_reply_create(&taking, &s->reply, err));
    vug_chat_choice_begin(s->chat);
    (void)send_events(s);
    vug_status st = generate(s, &a->tokens[0], choice, &finish, err);
    if (st == VUG_OK)
        st = vug_reply_finish(s->reply, err);
    vug_reply_destroy(s->reply);
    s->reply = NULL;
    if (st != VUG_OK)
        return st;
    vug_chat_choice_finish(s->chat, finish);
    if (!vug_chat_choice_ok(s->chat))
        return VUG_FAIL_NOMEM(err, "the answer", 0);
    (void)send_events(s);
    return VUG_OK;
}

void vug_answer_chat(vug_job *job)
{
    vug_asked *a = (vug_asked *)job;
    const vug_api_request *r = &a->request;
    speech s = { .asked = a };
    vug_buf body = { 0 };
    vug_err err = { 0 };
    vug_status st = VUG_OK;
    vug_chat_choice *choice = vug_alloc_zero((size_t)r->n, sizeof(*choice));
    if (!choice)
        st = VUG_FAIL_NOMEM(&err, "choices", (size_t)r->n * sizeof(*choice));
    for (int i = 0; i < r->n && st == VUG_OK; i++) {
        choice[i] = (vug_chat_choice){
            .head = &a->head,
            .index = i,
            .logprobs = r->logprobs,
            .is_named = r->choice == VUG_TOOLS_NAMED,
            .one_call = r->one_call || r->choice == VUG_TOOLS_NAMED,
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
    end(&s, st, &err, &body);
    vug_asked_free(a);
}

/* ---- completions -------------------------------------------------------------------- */

static vug_status echo(speech *s, const vug_tokens *prompt, size_t which, vug_err *err)
{
    vug_asked *a = s->asked;
    const vug_api_prompt *given = &a->request.prompt[which];
    if (a->request.logprobs || given->is_tokens)
        return vug_echo(a, prompt, s->text, err);
    vug_text_choice_echo(s->text, given->text.ptr, given->text.len);
    return VUG_OK;
}

static vug_status continue_text(speech *s, size_t which, int choice, vug_err *err)
{
    vug_asked *a = s->asked;
    const vug_api_request *r = &a->request;
    const vug_tokens *prompt = &a->tokens[which];
    vug_finish finish = VUG_FINISH_LENGTH;
    if (!vug_stops_init(&s->text->stops, r->stop, r->n_stops, &a->arena))
        return VUG_FAIL_NOMEM(err, "stops", 0);
    if (r->echo) {
        VUG_TRY(echo(s, prompt, which, err));
        (void)send_events(s);
    }
    if (r->max_tokens != 0)
        VUG_TRY(generate(s, prompt, choice, &finish, err));
    else if (choice == 0)
        a->usage.prompt += prompt->n;
    vug_text_choice_finish(s->text, finish);
    if (!vug_text_choice_ok(s->text))
        return VUG_FAIL_NOMEM(err, "the answer", 0);
    (void)send_events(s);
    return VUG_OK;
}

void vug_answer_text(vug_job *job)
{
    vug_asked *a = (vug_asked *)job;
    const vug_api_request *r = &a->request;
    const size_t n = a->n_prompts * (size_t)r->n;
    speech s = { .asked = a };
    vug_buf body = { 0 };
    vug_err err = { 0 };
    vug_status st = VUG_OK;
    vug_text_choice *choice = vug_alloc_zero(n, sizeof(*choice));
    if (!choice)
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
    end(&s, st, &err, &body);
    vug_asked_free(a);
}
