#include <string.h>
#include <time.h>

#include "core/os.h"
#include "core/random.h"
#include "server/internal.h"

/* Parses requests and checks them against the model: whatever can fail before the first token. */

size_t vug_server_request_bytes(const vug_server_request *request)
{
    size_t n = sizeof(*request) + request->arena.held + request->prompt.text.len;
    for (size_t i = 0; i < request->n_prompts; i++)
        n += request->tokens[i].n * sizeof(*request->tokens[i].id);
    return n + request->prediction.n * sizeof(*request->prediction.id);
}

void vug_server_request_free(vug_server_request *request)
{
    if (!request)
        return;
    for (size_t i = 0; request->tokens && i < request->n_prompts; i++)
        vug_tokens_release(&request->tokens[i]);
    vug_tokens_release(&request->prediction);
    vug_prompt_release(&request->prompt);
    vug_grammar_cache_release(request->service->grammars, request->grammar);
    vug_arena_release(&request->arena);
    vug_free(request);
}

/* ---- prompts ------------------------------------------------------------------------ */

static vug_conversation make_conversation(const vug_server_request *request)
{
    const vug_api_request *r = &request->api;
    const bool with_tools = r->tool_choice != VUG_TOOLS_NONE;
    return (vug_conversation){
        .messages = request->messages.ptr,
        .messages_len = request->messages.len,
        .tools = with_tools ? r->tools.ptr : NULL,
        .tools_len = with_tools ? r->tools.len : 0,
        .variables = r->template_variables.len ? r->template_variables.ptr : NULL,
        .variables_len = r->template_variables.len,
        .no_generation_prompt = r->no_generation_prompt,
        .prefill = r->prefill.ptr,
        .prefill_len = r->prefill.len,
    };
}

static bool render_chat(vug_server_request *request, const vug_conversation *conversation,
                        vug_api_error *error)
{
    const vug_service *s = request->service;
    vug_err err;
    if (vug_chat_render(s->chat, conversation, &request->prompt, &err) == VUG_OK)
        return true;
    const char *param = vug_str_starts(vug_str_of(err.msg), "variables: ") ? "chat_template_kwargs"
                                                                           : "messages";
    /* Clients must not learn the path of the template. */
    const char *source = vug_chat_source(s->chat);
    const bool has_path = vug_str_starts(vug_str_of(err.msg), source);
    vug_api_error_from(error, &err, param);
    if (has_path)
        vug_api_error_set(error, error->kind, "messages", "%s%s", vug_path_base(source),
                          err.msg + strlen(source));
    return false;
}

/* The tokens of a chat's prompt, and where later prompts may branch. */
static vug_status encode_chat(vug_server_request *request, const vug_conversation *conversation,
                              vug_err *err)
{
    const vug_service *s = request->service;
    vug_tokens *tokens = &request->tokens[0];
    VUG_TRY(vug_server_find_replays(request, err));
    VUG_TRY(vug_prompt_encode(s->tokenizer, &request->prompt, tokens, err));
    if (request->api.endpoint != VUG_API_CHAT || !s->has_windows)
        return VUG_OK;
    return vug_chat_mark(s->chat, conversation, s->tokenizer, &request->prompt, tokens->n,
                         &request->marks, err);
}

static bool make_chat_prompt(vug_server_request *request, vug_api_error *error)
{
    const vug_service *s = request->service;
    const vug_api_request *r = &request->api;
    vug_err err;
    if (!s->chat)
        return vug_api_error_set(error, VUG_API_BAD_REQUEST, "messages", "%s", s->chat_error.msg);
    if (r->tool_choice != VUG_TOOLS_NONE && !vug_chat_supports_tools(s->chat))
        return vug_api_error_set(error, VUG_API_BAD_REQUEST, "tools",
                                 "tools: the chat template of this model does not support tools");
    if (vug_server_find_answers(request, &err) != VUG_OK)
        return vug_api_error_from(error, &err, "messages");
    const vug_conversation conversation = make_conversation(request);
    if (!render_chat(request, &conversation, error))
        return false;
    if (r->endpoint != VUG_API_TEMPLATE && encode_chat(request, &conversation, &err) != VUG_OK)
        return vug_api_error_from(error, &err, "messages");
    return true;
}

static bool encode_prompt(const vug_server_request *request, const vug_api_prompt *prompt,
                          vug_tokens *out, vug_api_error *error)
{
    const vug_api_request *r = &request->api;
    const unsigned flags = (r->add_special ? VUG_ENCODE_ADD_MISSING : 0u) |
                           (r->parse_special ? VUG_ENCODE_PARSE_SPECIAL : 0u);
    vug_err err;
    if (prompt->is_tokens) {
        out->id = vug_alloc(prompt->n, sizeof(*out->id));
        if (!out->id)
            return vug_api_error_no_memory(error);
        memcpy(out->id, prompt->id, prompt->n * sizeof(*out->id));
        out->n = prompt->n;
        return true;
    }
    if (vug_tokenizer_encode(request->service->tokenizer, prompt->text.ptr ? prompt->text.ptr : "",
                             prompt->text.len, flags, out, &err) != VUG_OK)
        return vug_api_error_from(error, &err, "prompt");
    return true;
}

/* The tokens of the prediction, up to the first that the model does not have. */
static bool encode_prediction(vug_server_request *request, vug_api_error *error)
{
    const vug_service *s = request->service;
    const vug_str text = request->api.prediction;
    vug_tokens *out = &request->prediction;
    vug_err err;
    if (text.len == 0)
        return true;
    if (vug_tokenizer_encode(s->tokenizer, text.ptr, text.len, 0, out, &err) != VUG_OK)
        return vug_api_error_from(error, &err, "prediction");
    size_t n = 0;
    while (n < out->n && out->id[n] < s->info.n_vocab)
        n++;
    out->n = n;
    return true;
}

static bool make_prompts(vug_server_request *request, vug_api_error *error)
{
    const vug_api_request *r = &request->api;
    request->n_prompts = r->messages.len ? 1 : r->n_prompts;
    request->tokens =
            vug_arena_alloc(&request->arena, request->n_prompts, sizeof(*request->tokens));
    request->cache = vug_arena_alloc(&request->arena, request->n_prompts, sizeof(*request->cache));
    if (!request->tokens || !request->cache)
        return vug_api_error_no_memory(error);
    if (r->messages.len)
        return make_chat_prompt(request, error);
    if (r->infill)
        return vug_server_make_infill(request, error);
    for (size_t i = 0; i < request->n_prompts; i++) {
        if (!encode_prompt(request, &r->prompt[i], &request->tokens[i], error))
            return false;
    }
    return true;
}

/* The number of valid prompt ids. A tokenizer may have more tokens than its model, such as those of
 * images. */
static int64_t count_valid_ids(const vug_service *s)
{
    const int64_t size = vug_tokenizer_size(s->tokenizer);
    return size < s->info.n_vocab ? size : s->info.n_vocab;
}

/* Text may encode to ids that the model lacks. */
static bool check_ids(const vug_server_request *request, const vug_tokens *prompt,
                      const char *param, vug_api_error *error)
{
    size_t i = 0;
    while (i < prompt->n && prompt->id[i] < request->service->info.n_vocab)
        i++;
    if (i == prompt->n)
        return true;
    const char *name = vug_tokenizer_token(request->service->tokenizer, prompt->id[i], NULL);
    return vug_api_error_set(error, VUG_API_BAD_REQUEST, param,
                             "%s has the token %d, %s, which this model does not support", param,
                             prompt->id[i], name ? name : "");
}

/* The number of tokens that an answer needs at least: without a token limit, one. */
static size_t least_answer(const vug_api_request *r)
{
    const bool limited = vug_api_has_token_limit(r) && r->max_tokens >= 0;
    return limited ? (size_t)r->max_tokens : 1;
}

/* Keeps the last tokens of each prompt, with the marks among them. */
static void truncate_prompts(vug_server_request *request)
{
    const vug_api_request *r = &request->api;
    const size_t context = (size_t)request->service->info.context, answer = least_answer(r);
    const double most = r->number[VUG_FIELD_truncate_prompt_tokens];
    const size_t room = answer < context ? context - answer : 0;
    const size_t keep = most > 0 ? (size_t)most : room;
    vug_chat_marks *marks = &request->marks;
    if (!r->given[VUG_FIELD_truncate_prompt_tokens] || keep == 0)
        return;
    for (size_t i = 0; i < request->n_prompts; i++) {
        vug_tokens *tokens = &request->tokens[i];
        const size_t cut = tokens->n > keep ? tokens->n - keep : 0;
        size_t n_marks = 0;
        memmove(tokens->id, tokens->id + cut, (tokens->n - cut) * sizeof(*tokens->id));
        tokens->n -= cut;
        for (size_t k = 0; k < marks->n; k++) {
            if (marks->mark[k].at > cut)
                marks->mark[n_marks++] = (vug_mark){ marks->mark[k].at - cut, marks->mark[k].kind };
        }
        marks->n = n_marks;
    }
}

static bool check_prompts(const vug_server_request *request, vug_api_error *error)
{
    const vug_api_request *r = &request->api;
    const size_t context = (size_t)request->service->info.context;
    const bool embeds = r->endpoint == VUG_API_EMBEDDING;
    const char *param = r->endpoint == VUG_API_CHAT     ? "messages"
                        : r->endpoint == VUG_API_INFILL ? "input_prefix"
                        : embeds                        ? "input"
                                                        : "prompt";
    const size_t answer = embeds ? 0 : least_answer(r);
    for (size_t i = 0; i < request->n_prompts; i++) {
        const size_t n = request->tokens[i].n;
        if (n == 0)
            return vug_api_error_set(error, VUG_API_BAD_REQUEST, param,
                                     "%s is empty: there is nothing to %s", param,
                                     embeds ? "embed" : "continue");
        if (n > context || answer > context - n)
            return vug_api_error_context_exceeded(error, context, n, answer, param);
        if (!check_ids(request, &request->tokens[i], param, error))
            return false;
    }
    return true;
}

static bool check_dimensions(const vug_server_request *request, vug_api_error *error)
{
    const vug_api_request *r = &request->api;
    const int64_t width = request->service->info.d_model;
    return !r->given[VUG_FIELD_dimensions] || r->number[VUG_FIELD_dimensions] == (double)width ||
           vug_api_error_set(error, VUG_API_BAD_REQUEST, "dimensions",
                             "dimensions is %.0f: the vectors of this model have %lld numbers and "
                             "are not shortened",
                             r->number[VUG_FIELD_dimensions], (long long)width);
}

/* ---- the request -------------------------------------------------------------------- */

/* A new number for each request: a hashed counter. */
static uint64_t make_request_number(vug_service *s)
{
    return vug_splitmix64_at(s->seed, atomic_fetch_add(&s->n_requests, 1));
}

static bool prepare(vug_server_request *request, vug_api_endpoint endpoint, vug_api_error *error)
{
    vug_service *s = request->service;
    vug_api_request *r = &request->api;
    const bool is_native = vug_api_is_native(endpoint);
    const bool generates = vug_api_generates(endpoint), embeds = endpoint == VUG_API_EMBEDDING;
    if (!vug_api_parse_request(endpoint, request->sender.body, &request->arena, r, error))
        return false;
    if (r->given[VUG_FIELD_model] && !vug_service_has_name(s, r->model))
        return vug_api_error_unknown_model(error, r->model);
    if (!vug_api_check_tokens(
                r, generates || embeds ? count_valid_ids(s) : vug_tokenizer_size(s->tokenizer),
                error))
        return false;
    if (generates && s->opt.max_tokens && !vug_api_has_token_limit(r) && r->max_tokens < 0)
        r->max_tokens = s->opt.max_tokens;
    request->head = (vug_api_response_head){
        .id = make_request_number(s),
        .created = (int64_t)time(NULL),
        .model = r->given[VUG_FIELD_model] ? r->model : s->name,
        .fingerprint = "vug-" VUG_VERSION,
        .endpoint = endpoint,
        .stream = r->stream,
        .include_usage = r->include_usage && !is_native,
        .continuous_usage = r->continuous_usage,
        .timings_per_token = r->number[VUG_FIELD_timings_per_token] != 0,
        .token_ids = r->number[VUG_FIELD_return_token_ids] != 0 ||
                     r->number[VUG_FIELD_return_tokens] != 0 || (is_native && r->stream),
        .also_reasoning = s->opt.also_reasoning,
    };
    if (generates && !vug_api_make_sampling(r, &s->sampling, request->head.id, &request->arena,
                                            &request->sampling))
        return vug_api_error_no_memory(error);
    if (!make_prompts(request, error))
        return false;
    truncate_prompts(request);
    if ((generates || embeds) && !check_prompts(request, error))
        return false;
    if (embeds)
        return check_dimensions(request, error);
    return !generates ||
           (encode_prediction(request, error) && vug_server_prepare_grammar(request, error));
}

vug_server_request *vug_server_request_create(vug_service *service,
                                              const vug_request_sender *sender,
                                              vug_api_endpoint endpoint, vug_api_error *error)
{
    vug_server_request *request = vug_alloc_zero(1, sizeof(*request));
    if (!request) {
        (void)vug_api_error_no_memory(error);
        return NULL;
    }
    request->received = vug_now();
    request->service = service;
    request->sender = *sender;
    request->job.queue = service->queue;
    if (prepare(request, endpoint, error)) {
        request->job.priority = (int)request->api.number[VUG_FIELD_priority];
        return request;
    }
    vug_server_request_free(request);
    return NULL;
}
