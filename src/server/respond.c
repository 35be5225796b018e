#include "server/respond.h"

#include "core/os.h"
#include "server/choices.h"

/* ---- sending ------------------------------------------------------------------------ */

enum { RESERVE_STEP = 64 << 10 }; /* bytes */

vug_status vug_server_out_of_memory(vug_err *err)
{
    return VUG_FAIL(err, VUG_NOMEM, "There is not enough memory for the answer now.");
}

/* Of the current choice, counted twice: it is copied when it is written. */
static size_t choice_bytes(const vug_server_response *response)
{
    return 2 * (response->chat ? vug_chat_choice_bytes(response->chat)
                               : vug_completion_choice_bytes(response->completion));
}

static bool reserve_memory(vug_server_response *response)
{
    vug_server_request *request = response->request;
    const vug_request_sender *sender = &request->sender;
    const size_t bytes = choice_bytes(response);
    request->answer_bytes += bytes - response->counted_bytes;
    response->counted_bytes = bytes;
    while (request->reserved_bytes < request->answer_bytes && !response->out_of_memory) {
        response->out_of_memory = !sender->call->reserve(sender->self, RESERVE_STEP);
        request->reserved_bytes += RESERVE_STEP;
    }
    return !response->out_of_memory;
}

static vug_status check_memory(const vug_server_response *response, vug_err *err)
{
    return response->out_of_memory ? vug_server_out_of_memory(err) : VUG_OK;
}

static bool send_events(vug_server_request *request, vug_buf *events)
{
    const vug_request_sender *sender = &request->sender;
    if (request->service->opt.trace)
        vug_buf_append(&request->record, events->ptr, events->len);
    const bool ok =
            !events->bad &&
            (events->len == 0 ||
             sender->call->send_events(sender->self, (vug_str){ events->ptr, events->len }));
    events->len = 0;
    return ok;
}

bool vug_server_response_flush(vug_server_response *response)
{
    vug_server_request *request = response->request;
    return request->head.stream ? send_events(request, &response->events)
                                : reserve_memory(response);
}

void vug_server_response_echo(vug_server_response *response, const char *text, size_t n)
{
    vug_mutex_lock(response->request->lock);
    vug_completion_choice_echo(response->completion, text, n);
    (void)vug_server_response_flush(response);
    vug_mutex_unlock(response->request->lock);
}

/* The last event of the last choice has the timings, unless the usage follows. */
static bool is_last_of_stream(const vug_server_request *request)
{
    return request->n_finished == request->n_prompts * (size_t)request->api.n &&
           !request->head.include_usage;
}

static bool finish_choice(vug_server_response *response, vug_finish finish)
{
    if (response->chat) {
        response->chat->is_last = is_last_of_stream(response->request);
        vug_chat_choice_finish(response->chat, finish);
        return vug_chat_choice_ok(response->chat);
    }
    response->completion->is_last = is_last_of_stream(response->request);
    vug_completion_choice_finish(response->completion, finish);
    return vug_completion_choice_ok(response->completion);
}

vug_status vug_server_response_finish(vug_server_response *response, vug_finish finish,
                                      vug_err *err)
{
    vug_server_request *request = response->request;
    vug_mutex_lock(request->lock);
    request->n_finished++;
    const bool ok = finish_choice(response, finish);
    if (ok)
        (void)vug_server_response_flush(response);
    vug_mutex_unlock(request->lock);
    if (!ok)
        return VUG_FAIL_NOMEM(err, "the answer", 0);
    return check_memory(response, err);
}

void vug_server_response_release(vug_server_response *response)
{
    vug_session_destroy(response->session);
    vug_buf_release(&response->events);
    vug_buf_release(&response->token_text);
    vug_tokens_release(&response->tokens);
    *response = (vug_server_response){ 0 };
}

/* ---- the end of a request ------------------------------------------------------------- */

static void send_error(vug_server_request *request, const vug_api_error *error)
{
    const int status = vug_api_error_status(error->kind);
    vug_buf events = { 0 };
    if (request->head.stream) {
        vug_api_error_event(error, &events);
        (void)send_events(request, &events);
        vug_server_trace(request, status, &request->record);
        request->sender.call->end_stream(request->sender.self);
    } else {
        vug_api_error_write(error, &request->record);
        vug_server_trace(request, status, &request->record);
        request->sender.call->fail(request->sender.self, error);
    }
    vug_buf_release(&events);
}

static void end_stream(vug_server_request *request)
{
    vug_buf events = { 0 };
    if (request->head.include_usage)
        vug_api_usage_event(&request->head, &request->usage, &events);
    if (!vug_api_is_native(request->head.endpoint))
        vug_api_done_event(&events);
    (void)send_events(request, &events);
    vug_server_trace(request, VUG_HTTP_OK, &request->record);
    request->sender.call->end_stream(request->sender.self);
    vug_buf_release(&events);
}

void vug_server_request_end(vug_server_request *request, vug_status st, const vug_err *err,
                            vug_buf *body)
{
    vug_api_error error;
    vug_server_slots_remove(request);
    if (st != VUG_OK) {
        /* The request has passed all checks, so this is the server's fault, unless the grammar is
         * too ambiguous: that shows only while generating. */
        const char *field = request->api.constraint_field ? request->api.constraint_field : "tools";
        const bool ambiguous = st == VUG_LIMIT && request->grammar;
        vug_api_error_from(&error, err, ambiguous ? field : NULL);
        if (error.kind == VUG_API_BAD_REQUEST && !ambiguous)
            error.kind = VUG_API_INTERNAL;
        send_error(request, &error);
    } else if (request->head.stream) {
        end_stream(request);
    } else {
        vug_server_trace(request, VUG_HTTP_OK, body);
        request->sender.call->reply(request->sender.self, request->headers, body);
    }
    vug_buf_release(body);
    vug_buf_release(&request->record);
}

/* ---- tokens ------------------------------------------------------------------------- */

/* What is cached after scoring a prompt was computed for this request. */
static size_t count_cached(const vug_server_request *request, size_t n_cached)
{
    const vug_api_request *r = &request->api;
    return (r->echo && r->logprobs) || r->given[VUG_FIELD_prompt_logprobs] ? 0 : n_cached;
}

/* The prompt of the choice was computed `seconds` after it had been started. */
static void count_prompt_time(vug_server_response *response, double seconds)
{
    vug_server_request *request = response->request;
    const double end = response->started + seconds;
    if (request->decode_start == 0 || end < request->decode_start)
        request->decode_start = end;
    if (!response->is_first)
        return;
    request->usage.prompt_s += seconds - response->prompt_s;
    response->prompt_s = seconds;
}

static void count_token(vug_server_response *response)
{
    vug_server_request *request = response->request;
    vug_metrics *metrics = request->service->opt.http.metrics;
    const double now = vug_now();
    if (response->last_token != 0)
        vug_metrics_observe(metrics, VUG_METRIC_BETWEEN_TOKENS, now - response->last_token);
    else if (request->usage.completion == 0)
        vug_metrics_observe(metrics, VUG_METRIC_FIRST_TOKEN, now - request->received);
    /* Until the generation ends and tells the exact times. */
    if (response->last_token == 0)
        count_prompt_time(response, now - response->started);
    response->last_token = now;
    request->usage.decode_s = now - request->decode_start;
    request->usage.completion++;
    atomic_store(&request->slot.n_generated, request->usage.completion);
    atomic_store(&request->slot.state, VUG_API_SLOT_GENERATING);
    if (response->parser && vug_response_parser_is_thinking(response->parser))
        request->usage.reasoning++;
    vug_metrics_add(metrics, VUG_METRIC_GENERATED_TOKENS, NULL, 1);
}

bool vug_server_describe_logprob(vug_server_response *response, const vug_logprob *token,
                                 const vug_logprob *top, size_t n_top, vug_api_logprob *out)
{
    const vug_tokenizer *tokenizer = response->request->service->tokenizer;
    vug_buf *to = &response->token_text;
    const bool as_ids = response->request->api.number[VUG_FIELD_return_tokens_as_token_ids] != 0;
    size_t from[VUG_MAX_LOGPROB_IDS + 2] = { 0 }, name[VUG_MAX_LOGPROB_IDS + 1];
    to->len = 0;
    for (size_t i = 0; i <= n_top; i++) {
        vug_text text = { 0 };
        const int32_t id = i ? top[i - 1].token : token->token;
        if (vug_tokenizer_bytes(tokenizer, id, &text, NULL) == VUG_OK)
            vug_buf_append(to, text.ptr, text.len);
        vug_text_release(&text);
        name[i] = to->len;
        if (as_ids)
            vug_buf_printf(to, "token_id:%d", id);
        from[i + 1] = to->len;
    }
    if (to->bad)
        return false;
    const char *bytes = to->ptr ? to->ptr : "";
    for (size_t i = 0; i <= n_top; i++) {
        const vug_logprob *l = i ? &top[i - 1] : token;
        *(i ? &response->top_tokens[i - 1] : &out->token) =
                (vug_api_token){ .text = { bytes + from[i], name[i] - from[i] },
                                 .logprob = l->logprob,
                                 .is_control = vug_tokenizer_is_special(tokenizer, l->token),
                                 .id = l->token,
                                 .name = { bytes + name[i], from[i + 1] - name[i] } };
    }
    out->top = response->top_tokens;
    out->n_top = n_top;
    return true;
}

static bool add_logprob(vug_server_response *response, const vug_piece *piece)
{
    const vug_logprob token = { piece->token, piece->logprob };
    vug_api_logprob logprob = { 0 };
    if (!vug_server_describe_logprob(response, &token, piece->top, piece->n_top, &logprob))
        return false;
    if (response->chat)
        vug_chat_choice_logprob(response->chat, &logprob);
    else
        vug_completion_choice_logprob(response->completion, &logprob);
    return true;
}

static void add_token(vug_server_response *response, const vug_piece *piece)
{
    if (response->chat)
        vug_chat_choice_token(response->chat, piece->token);
    else
        vug_completion_choice_token(response->completion, piece->token, piece->is_stop);
}

static bool reports_progress(const vug_server_request *request)
{
    return request->head.stream && request->api.number[VUG_FIELD_return_progress] != 0;
}

static void send_progress(vug_server_response *response, size_t n_done)
{
    const vug_api_progress progress = { .total = response->prompt->n,
                                        .cached = response->n_cached,
                                        .processed = n_done,
                                        .seconds = vug_now() - response->started };
    if (response->chat)
        vug_chat_choice_progress(response->chat, &progress);
    else
        vug_completion_choice_progress(response->completion, &progress);
    (void)vug_server_response_flush(response);
}

/* Of the first choice of a prompt; later calls are those of return_progress. */
static void on_prompt(size_t n_done, void *user)
{
    vug_server_response *response = user;
    vug_server_request *request = response->request;
    vug_mutex_lock(request->lock);
    if (!response->prompt_begun) {
        const size_t cached = count_cached(request, n_done);
        response->prompt_begun = true;
        response->n_cached = n_done;
        request->usage.prompt += response->prompt->n;
        request->usage.cached += cached;
        atomic_store(&request->slot.state, VUG_API_SLOT_PROMPT);
        atomic_fetch_add(&request->slot.n_cached, cached);
    }
    if (reports_progress(request))
        send_progress(response, n_done);
    vug_mutex_unlock(request->lock);
}

/* For a chat, this precedes the parts that the token yields. */
static bool add_piece(vug_server_response *response, const vug_piece *piece)
{
    bool more = true;
    if (piece->token >= 0) {
        add_token(response, piece);
        if (!piece->is_stop)
            count_token(response);
        /* Completions list the stop token, so that a one-token answer always has one entry: clients
         * that score an echoed prompt drop the last one. Chats do not list it. */
        const bool is_listed = response->completion || !piece->is_stop;
        if (response->request->api.logprobs && is_listed && !add_logprob(response, piece))
            return false;
    }
    if (response->completion)
        more = vug_completion_choice_push(response->completion, piece->text, piece->len);
    return vug_server_response_flush(response) && more;
}

static bool on_piece(const vug_piece *piece, void *user)
{
    vug_server_response *response = user;
    vug_server_request *request = response->request;
    vug_mutex_lock(request->lock);
    vug_server_choices_ready(request->choices, (size_t)(response->prompt - request->tokens));
    const bool more = add_piece(response, piece);
    vug_mutex_unlock(request->lock);
    return more;
}

bool vug_server_response_part(const vug_part *part, void *user)
{
    vug_server_response *response = user;
    vug_mutex_lock(response->request->lock);
    const bool more = vug_chat_choice_part(part, response->chat);
    const bool sent = vug_server_response_flush(response);
    vug_mutex_unlock(response->request->lock);
    return sent && more;
}

/* ---- generating --------------------------------------------------------------------- */

static vug_generate_options generate_options(vug_server_response *response, int choice)
{
    const vug_server_request *request = response->request;
    const vug_api_request *r = &request->api;
    /* prepare.c accepts prompts for which the context has this much room. */
    const int64_t room = request->service->info.context - (int64_t)response->prompt->n;
    const int max_draft = (int)r->number[VUG_FIELD_speculative_n_max];
    const bool drafts = !r->given[VUG_FIELD_speculative_n_max] || max_draft > 0;
    vug_generate_options options = {
        .max_tokens = (int)(r->max_tokens < 0 || r->max_tokens > room ? room : r->max_tokens),
        .sampling = request->sampling,
        .n_top = r->logprobs ? r->top_logprobs : 0,
        .logprobs = r->logprobs,
        .logprob_id = r->logprob_id,
        .n_logprob_ids = r->n_logprob_ids,
        .ignore_stop = r->ignore_eos,
        .min_tokens = r->min_tokens,
        .stop = r->stop_id,
        .n_stop = r->n_stop_ids,
        .mark = request->marks.mark,
        .n_marks = request->marks.n,
        .report_stop = request->head.token_ids || (response->completion && r->logprobs),
        .grammar = request->grammar,
        .parser = response->parser,
        .thinking_budget = response->parser && r->thinking_budget > 0 ? (int)r->thinking_budget : 0,
        .priority = request->job.priority,
        .speculation = drafts ? request->service->opt.speculation : VUG_SPECULATION_OFF,
        .max_draft = max_draft,
        .prediction = request->prediction.id,
        .n_prediction = request->prediction.n,
        .cancel = &request->job.cancel,
        .on_prompt = response->is_first ? on_prompt : NULL,
        .share_prompt = response->is_first && r->n > 1,
        .prompt_steps = reports_progress(request),
        .on_piece = on_piece,
        .user = response,
    };
    options.sampling.seed += (uint64_t)choice;
    return options;
}

/* Under the request's lock. */
static void count_generation(vug_server_response *response, const vug_generation *g)
{
    vug_server_request *request = response->request;
    vug_metrics *metrics = request->service->opt.http.metrics;
    const size_t cached = count_cached(request, g->n_cached);
    count_prompt_time(response, g->prompt_s);
    request->usage.decode_s = vug_now() - request->decode_start;
    request->usage.drafted += g->n_drafted;
    request->usage.accepted += g->n_accepted;
    request->usage.prediction_accepted += g->n_prediction_accepted;
    request->usage.prediction_rejected += g->n_prediction_drafted - g->n_prediction_accepted;
    vug_metrics_add(metrics, VUG_METRIC_DRAFT_TOKENS, NULL, (double)g->n_drafted);
    vug_metrics_add(metrics, VUG_METRIC_ACCEPTED_TOKENS, NULL, (double)g->n_accepted);
    if (!response->is_first)
        return;
    request->cache[response->prompt - request->tokens] =
            (vug_prompt_cache){ .is_known = true, .n_cached = g->n_cached, .miss = g->miss };
    vug_metrics_add(metrics, VUG_METRIC_PROMPT_TOKENS, NULL, (double)g->n_prompt);
    vug_metrics_add(metrics, VUG_METRIC_CACHED_TOKENS, NULL, (double)cached);
    vug_metrics_observe(metrics, VUG_METRIC_CACHE_HITS, (double)cached / (double)g->n_prompt);
}

/* Cached prefixes are shared by requests with the same key and salt, so that nobody can learn from
 * timings what others asked. A key has no NUL. */
static vug_status set_namespace(const vug_server_response *response, vug_err *err)
{
    const vug_server_request *request = response->request;
    const vug_str key = request->sender.api_key, salt = request->api.cache_salt;
    vug_buf name = { 0 };
    if (key.len == 0 && salt.len == 0)
        return VUG_OK;
    vug_buf_append(&name, key.ptr, key.len);
    vug_buf_append(&name, "", 1);
    vug_buf_append(&name, salt.ptr, salt.len);
    vug_status st = vug_buf_ok(&name, err);
    if (st == VUG_OK)
        st = vug_session_set_namespace(response->session, name.ptr, name.len, err);
    vug_buf_release(&name);
    return st;
}

vug_status vug_server_response_session(vug_server_response *response, vug_err *err)
{
    const vug_server_request *request = response->request;
    if (vug_job_is_cancelled(&request->job))
        return VUG_FAIL(err, VUG_CANCELLED, "the client has disconnected");
    if (response->session)
        return VUG_OK;
    VUG_TRY(vug_session_create(request->service->model, &response->session, err));
    return set_namespace(response, err);
}

vug_status vug_server_response_generate(vug_server_response *response, int choice,
                                        vug_finish *finish, vug_err *err)
{
    vug_server_request *request = response->request;
    const vug_tokens *prompt = response->prompt;
    const vug_generate_options options = generate_options(response, choice);
    vug_generation g = { 0 };
    response->started = vug_now();
    VUG_TRY(vug_server_response_session(response, err));
    VUG_TRY(vug_generate(response->session, prompt->id, prompt->n, &options, &g, err));
    vug_mutex_lock(request->lock);
    count_generation(response, &g);
    vug_mutex_unlock(request->lock);
    *finish = g.finish;
    vug_status st = check_memory(response, err);
    if (g.finish == VUG_FINISH_CANCELLED)
        st = VUG_FAIL(err, VUG_CANCELLED, "the request was cancelled");
    response->tokens = g.tokens;
    g.tokens = (vug_tokens){ 0 };
    vug_generation_release(&g);
    return st;
}
