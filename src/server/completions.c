#include "core/os.h"
#include "server/choices.h"
#include "server/respond.h"

/* Answers chats and completions, on threads of the queue. */

/* A request and its choices: those of a chat, or of completions. */
typedef struct {
    vug_server_request *request;
    vug_stop_strings stops; /* initial state, copied to every choice */
    vug_chat_choice *chat;
    vug_completion_choice *completion;
} choices_run;

static bool init_stops(choices_run *run)
{
    vug_server_request *request = run->request;
    const vug_api_request *r = &request->api;
    if (!vug_stop_strings_init(&run->stops, r->stop, r->n_stops, &request->arena))
        return false;
    run->stops.include = r->number[VUG_FIELD_include_stop_str_in_output] != 0;
    return true;
}

static size_t count_choices(const vug_server_request *request)
{
    return request->n_prompts * (size_t)request->api.n;
}

/* ---- chat --------------------------------------------------------------------------- */

static vug_status create_parser(vug_server_response *response, vug_err *err)
{
    const vug_server_request *request = response->request;
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
    return vug_response_parser_create(&options, &response->parser, err);
}

static vug_chat_choice make_chat_choice(const choices_run *run, vug_buf *events, size_t i)
{
    const vug_server_request *request = run->request;
    const vug_api_request *r = &request->api;
    const bool is_named = r->tool_choice == VUG_TOOLS_NAMED;
    return (vug_chat_choice){
        .head = &request->head,
        .index = (int)i,
        .logprobs = r->logprobs,
        .named_tool = is_named,
        .single_call = r->single_call || is_named,
        .must_call = is_named || r->tool_choice == VUG_TOOLS_REQUIRED,
        .calls_guarded = request->grammar && r->tool_choice != VUG_TOOLS_NONE,
        .stops = run->stops,
        .events = request->head.stream ? events : NULL,
        .usage = &request->usage,
        .prompt = request->head.token_ids && i == 0 ? &request->tokens[0] : NULL,
    };
}

static vug_status generate_chat(vug_server_response *response, int choice, vug_err *err)
{
    vug_server_request *request = response->request;
    vug_finish finish = VUG_FINISH_STOP;
    VUG_TRY(create_parser(response, err));
    vug_mutex_lock(request->lock);
    vug_chat_choice_begin(response->chat);
    (void)vug_server_response_flush(response);
    vug_mutex_unlock(request->lock);
    vug_status st = VUG_OK;
    if (request->api.given[VUG_FIELD_prompt_logprobs] && choice == 0)
        st = vug_server_list_prompt_logprobs(response, response->prompt,
                                             &response->chat->prompt_logprobs, err);
    if (st == VUG_OK)
        st = vug_server_response_generate(response, choice, &finish, err);
    if (st == VUG_OK)
        st = vug_response_parser_finish(response->parser, err);
    vug_response_parser_destroy(response->parser);
    response->parser = NULL;
    if (st != VUG_OK)
        return st;
    VUG_TRY(vug_server_response_finish(response, finish, err));
    vug_server_remember_answer(request, response->chat, &response->tokens);
    return VUG_OK;
}

static vug_status generate_chat_choice(void *user, size_t i, vug_err *err)
{
    const choices_run *run = user;
    vug_server_request *request = run->request;
    vug_server_response response = {
        .request = request, .chat = &run->chat[i], .prompt = &request->tokens[0], .is_first = i == 0
    };
    run->chat[i] = make_chat_choice(run, &response.events, i);
    const vug_status st = generate_chat(&response, (int)i, err);
    vug_server_response_release(&response);
    return st;
}

static void run_chat(vug_server_request *request)
{
    const size_t n = count_choices(request);
    choices_run run = { .request = request };
    vug_buf body = { 0 };
    vug_err err = { 0 };
    vug_status st = VUG_OK;
    run.chat = vug_alloc_zero(n, sizeof(*run.chat));
    if (!run.chat || !init_stops(&run))
        st = VUG_FAIL_NOMEM(&err, "choices", n * sizeof(*run.chat));
    if (st == VUG_OK)
        st = vug_server_run_choices(request, generate_chat_choice, &run, &err);
    if (st == VUG_OK && !request->head.stream)
        vug_chat_choice_write(&request->head, run.chat, n, &request->usage, &body);
    for (size_t i = 0; run.chat && i < n; i++)
        vug_chat_choice_release(&run.chat[i]);
    vug_free(run.chat);
    vug_server_request_end(request, st, &err, &body);
    vug_server_request_free(request);
}

/* ---- completions -------------------------------------------------------------------- */

static vug_completion_choice make_completion_choice(const choices_run *run, vug_buf *events,
                                                    size_t i)
{
    const vug_server_request *request = run->request;
    const vug_tokens *prompt = &request->tokens[i / (size_t)request->api.n];
    return (vug_completion_choice){
        .head = &request->head,
        .index = (int)i,
        .logprobs = request->api.logprobs,
        .stops = run->stops,
        .events = request->head.stream ? events : NULL,
        .usage = &request->usage,
        .prompt = request->head.token_ids ? prompt : NULL,
        .n_prompt = prompt->n,
    };
}

static vug_status echo_prompt(vug_server_response *response, const vug_api_prompt *prompt,
                              vug_err *err)
{
    if (response->request->api.logprobs || prompt->is_tokens)
        return vug_server_echo_prompt(response, response->prompt, prompt->text, err);
    vug_server_response_echo(response, prompt->text.ptr, prompt->text.len);
    return VUG_OK;
}

/* Counts a prompt without an answer. llama.cpp's endpoints leave it in the cache: editors compute
 * prompts before they need them. */
static vug_status use_prompt(vug_server_response *response, vug_err *err)
{
    vug_server_request *request = response->request;
    const vug_tokens *prompt = response->prompt;
    const vug_forward_options options = { .priority = request->job.priority,
                                          .cancel = &request->job.cancel };
    const double start = vug_now();
    vug_status st = VUG_OK;
    if (vug_api_is_native(request->head.endpoint)) {
        st = vug_server_response_session(response, err);
        if (st == VUG_OK)
            st = vug_session_forward(response->session, prompt->id, prompt->n, &options, err);
    }
    vug_mutex_lock(request->lock);
    request->usage.prompt += prompt->n;
    request->usage.prompt_s += vug_now() - start;
    vug_mutex_unlock(request->lock);
    return st;
}

static vug_status generate_completion(vug_server_response *response, int choice, vug_err *err)
{
    vug_server_request *request = response->request;
    const vug_api_request *r = &request->api;
    const vug_tokens *tokens = response->prompt;
    vug_finish finish = VUG_FINISH_LENGTH;
    if (r->echo)
        VUG_TRY(echo_prompt(response, &r->prompt[tokens - request->tokens], err));
    if (r->given[VUG_FIELD_prompt_logprobs] && choice == 0)
        VUG_TRY(vug_server_list_prompt_logprobs(response, tokens,
                                                &response->completion->prompt_logprobs, err));
    if (r->max_tokens != 0)
        VUG_TRY(vug_server_response_generate(response, choice, &finish, err));
    else if (choice == 0)
        VUG_TRY(use_prompt(response, err));
    return vug_server_response_finish(response, finish, err);
}

static vug_status generate_completion_choice(void *user, size_t i, vug_err *err)
{
    const choices_run *run = user;
    vug_server_request *request = run->request;
    const size_t n = (size_t)request->api.n;
    vug_server_response response = { .request = request,
                                     .completion = &run->completion[i],
                                     .prompt = &request->tokens[i / n],
                                     .is_first = i % n == 0 };
    run->completion[i] = make_completion_choice(run, &response.events, i);
    const vug_status st = generate_completion(&response, (int)(i % n), err);
    vug_server_response_release(&response);
    return st;
}

static void run_completion(vug_server_request *request)
{
    const size_t n = count_choices(request);
    choices_run run = { .request = request };
    vug_buf body = { 0 };
    vug_err err = { 0 };
    vug_status st = VUG_OK;
    run.completion = vug_alloc_zero(n, sizeof(*run.completion));
    if (!run.completion || !init_stops(&run))
        st = VUG_FAIL_NOMEM(&err, "choices", n * sizeof(*run.completion));
    if (st == VUG_OK)
        st = vug_server_run_choices(request, generate_completion_choice, &run, &err);
    if (st == VUG_OK && !request->head.stream)
        vug_completion_choice_write(&request->head, run.completion, n, &request->usage, &body);
    for (size_t i = 0; run.completion && i < n; i++)
        vug_completion_choice_release(&run.completion[i]);
    vug_free(run.completion);
    vug_server_request_end(request, st, &err, &body);
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
