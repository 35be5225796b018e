#include "core/os.h"
#include "server/internal.h"

/* Answers chats and completions, on a thread of the queue. */

/* The stops of all choices. */
static bool init_stops(vug_server_response *response)
{
    vug_server_request *request = response->request;
    const vug_api_request *r = &request->api;
    if (!vug_stop_strings_init(&response->stops, r->stop, r->n_stops, &request->arena))
        return false;
    response->stops.include = r->number[VUG_FIELD_include_stop_str_in_output] != 0;
    return true;
}

/* ---- chat --------------------------------------------------------------------------- */

static vug_status generate_chat_choice(vug_server_response *response, int choice, vug_err *err)
{
    vug_server_request *request = response->request;
    const vug_api_request *r = &request->api;
    const bool with_tools = r->tool_choice != VUG_TOOLS_NONE;
    const vug_response_parser_options options = {
        .chat = request->service->chat,
        .tokenizer = request->service->tokenizer,
        .prompt = &request->prompt,
        .tools = with_tools ? r->callable_tools.ptr : NULL,
        .tools_len = with_tools ? r->callable_tools.len : 0,
        .no_tool_calls = !with_tools,
        .on_part = vug_server_response_part,
        .user = response,
    };
    vug_finish finish = VUG_FINISH_STOP;
    vug_stop_strings_reset(&response->stops);
    response->chat->stops = response->stops;
    VUG_TRY(vug_response_parser_create(&options, &response->parser, err));
    vug_chat_choice_begin(response->chat);
    (void)vug_server_response_flush(response);
    vug_status st = VUG_OK;
    if (request->api.given[VUG_FIELD_prompt_logprobs] && choice == 0)
        st = vug_server_list_prompt_logprobs(response, &request->tokens[0],
                                             &response->chat->prompt_logprobs, err);
    if (st == VUG_OK)
        st = vug_server_response_generate(response, &request->tokens[0], choice, &finish, err);
    if (st == VUG_OK)
        st = vug_response_parser_finish(response->parser, err);
    vug_response_parser_destroy(response->parser);
    response->parser = NULL;
    if (st != VUG_OK)
        return st;
    vug_chat_choice_finish(response->chat, finish);
    vug_server_remember_answer(request, response->chat, &response->tokens);
    return vug_server_response_end_choice(response, err);
}

static void run_chat(vug_server_request *request)
{
    const vug_api_request *r = &request->api;
    const bool with_tools = r->tool_choice != VUG_TOOLS_NONE;
    const bool is_named = r->tool_choice == VUG_TOOLS_NAMED;
    vug_server_response response = { .request = request };
    vug_buf body = { 0 };
    vug_err err = { 0 };
    vug_status st = VUG_OK;
    vug_chat_choice *choice = vug_alloc_zero((size_t)r->n, sizeof(*choice));
    if (!choice || !init_stops(&response))
        st = VUG_FAIL_NOMEM(&err, "choices", (size_t)r->n * sizeof(*choice));
    for (int i = 0; i < r->n && st == VUG_OK; i++) {
        choice[i] = (vug_chat_choice){
            .head = &request->head,
            .index = i,
            .logprobs = r->logprobs,
            .named_tool = is_named,
            .single_call = r->single_call || is_named,
            .must_call = is_named || r->tool_choice == VUG_TOOLS_REQUIRED,
            .calls_guarded = request->grammar && with_tools,
            .events = request->head.stream ? &response.events : NULL,
            .usage = &request->usage,
            .is_last = i == r->n - 1 && !request->head.include_usage,
            .prompt = request->head.token_ids && i == 0 ? &request->tokens[0] : NULL,
        };
        response.chat = &choice[i];
        st = generate_chat_choice(&response, i, &err);
    }
    if (st == VUG_OK && !request->head.stream)
        vug_chat_choice_write(&request->head, choice, (size_t)r->n, &request->usage, &body);
    for (int i = 0; choice && i < r->n; i++)
        vug_chat_choice_release(&choice[i]);
    vug_free(choice);
    vug_server_response_end(&response, st, &err, &body);
    vug_server_request_free(request);
}

/* ---- completions -------------------------------------------------------------------- */

static vug_status echo_prompt(vug_server_response *response, const vug_tokens *tokens,
                              const vug_api_prompt *prompt, vug_err *err)
{
    if (response->request->api.logprobs || prompt->is_tokens)
        return vug_server_echo_prompt(response, tokens, prompt->text, err);
    vug_completion_choice_echo(response->completion, prompt->text.ptr, prompt->text.len);
    return VUG_OK;
}

static vug_status generate_completion_choice(vug_server_response *response, size_t prompt,
                                             int choice, vug_err *err)
{
    vug_server_request *request = response->request;
    const vug_api_request *r = &request->api;
    const vug_tokens *tokens = &request->tokens[prompt];
    vug_finish finish = VUG_FINISH_LENGTH;
    vug_stop_strings_reset(&response->stops);
    response->completion->stops = response->stops;
    if (r->echo) {
        VUG_TRY(echo_prompt(response, tokens, &r->prompt[prompt], err));
        (void)vug_server_response_flush(response);
    }
    if (r->given[VUG_FIELD_prompt_logprobs] && choice == 0)
        VUG_TRY(vug_server_list_prompt_logprobs(response, tokens,
                                                &response->completion->prompt_logprobs, err));
    if (r->max_tokens != 0)
        VUG_TRY(vug_server_response_generate(response, tokens, choice, &finish, err));
    else if (choice == 0)
        request->usage.prompt += tokens->n;
    vug_completion_choice_finish(response->completion, finish);
    return vug_server_response_end_choice(response, err);
}

static void run_completion(vug_server_request *request)
{
    const vug_api_request *r = &request->api;
    const size_t n = request->n_prompts * (size_t)r->n;
    vug_server_response response = { .request = request };
    vug_buf body = { 0 };
    vug_err err = { 0 };
    vug_status st = VUG_OK;
    vug_completion_choice *choice = vug_alloc_zero(n, sizeof(*choice));
    if (!choice || !init_stops(&response))
        st = VUG_FAIL_NOMEM(&err, "choices", n * sizeof(*choice));
    for (size_t i = 0; i < n && st == VUG_OK; i++) {
        choice[i] = (vug_completion_choice){
            .head = &request->head,
            .index = (int)i,
            .logprobs = r->logprobs,
            .events = request->head.stream ? &response.events : NULL,
            .usage = &request->usage,
            .is_last = i == n - 1 && !request->head.include_usage,
            .prompt = request->head.token_ids ? &request->tokens[i / (size_t)r->n] : NULL,
            .n_prompt = request->tokens[i / (size_t)r->n].n,
        };
        response.completion = &choice[i];
        st = generate_completion_choice(&response, i / (size_t)r->n, (int)(i % (size_t)r->n), &err);
    }
    if (st == VUG_OK && !request->head.stream)
        vug_completion_choice_write(&request->head, choice, n, &request->usage, &body);
    for (size_t i = 0; choice && i < n; i++)
        vug_completion_choice_release(&choice[i]);
    vug_free(choice);
    vug_server_response_end(&response, st, &err, &body);
    vug_server_request_free(request);
}

/* ---- the queue ---------------------------------------------------------------------- */

bool vug_server_admit(vug_service *s, vug_api_error *error)
{
    return vug_job_queue_admit(s->queue) ||
           vug_api_error_set(error, VUG_API_RATE_LIMITED, NULL,
                             "%d requests already wait for the model; try again later",
                             s->opt.max_waiting);
}

static void run_request(vug_job *job)
{
    vug_server_request *request = (vug_server_request *)job;
    vug_metrics_observe(request->service->opt.http.metrics, VUG_METRIC_QUEUE_SECONDS,
                        vug_now() - request->received);
    atomic_store(&request->slot.state, VUG_API_SLOT_PROMPT);
    if (request->head.endpoint == VUG_API_CHAT)
        run_chat(request);
    else if (request->head.endpoint == VUG_API_EMBEDDING)
        vug_server_embed(request);
    else
        run_completion(request);
}

void vug_server_push(vug_server_request *request)
{
    request->job.run = run_request;
    vug_server_slots_add(request);
    vug_job_push(&request->job);
}
