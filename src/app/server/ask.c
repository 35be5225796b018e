#include "app/server/service_own.h"
#include "core/os.h"

#include <string.h>
#include <time.h>

/* Requests, checked against the model: all that can go wrong before the first token. */

bool vug_ask_name(const vug_service *s, vug_str name)
{
    const vug_http_names *aliases = &s->opt.aliases;
    if (vug_str_equal(name, s->name))
        return true;
    for (size_t i = 0; i < aliases->n; i++) {
        if (strcmp(aliases->item[i], "*") == 0 || vug_str_is(name, aliases->item[i]))
            return true;
    }
    return false;
}

size_t vug_asked_bytes(const vug_asked *asked)
{
    size_t n = sizeof(*asked) + asked->arena.held + asked->prompt.text.len;
    for (size_t i = 0; i < asked->n_prompts; i++)
        n += asked->tokens[i].n * sizeof(*asked->tokens[i].id);
    return n;
}

void vug_asked_free(vug_asked *asked)
{
    if (!asked)
        return;
    for (size_t i = 0; asked->tokens && i < asked->n_prompts; i++)
        vug_tokens_release(&asked->tokens[i]);
    vug_prompt_release(&asked->prompt);
    vug_grammars_put(asked->service->grammars, asked->grammar);
    vug_arena_release(&asked->arena);
    vug_free(asked);
}

bool vug_ask_no_memory(vug_api_error *error)
{
    return vug_api_error_set(error, VUG_API_UNAVAILABLE, NULL, "out of memory");
}

vug_status vug_ask_no_room(vug_err *err)
{
    return VUG_FAIL(err, VUG_NOMEM, "There is no memory for the answer now.");
}

/* Tokens at the end of a text that may be others when it goes on. */
enum { TEXT_END = 2 };

/* ---- prompts ------------------------------------------------------------------------ */

/* The messages of a request; false with `error`. */
static bool render(vug_asked *a, vug_api_error *error)
{
    const vug_service *s = a->service;
    const vug_api_request *r = &a->request;
    const bool with_tools = r->choice != VUG_TOOLS_NONE;
    vug_err err;
    if (!s->chat)
        return vug_api_error_set(error, VUG_API_BAD_REQUEST, "messages", "%s", s->no_chat.msg);
    if (with_tools && !vug_chat_prints_tools(s->chat))
        return vug_api_error_set(
                error, VUG_API_BAD_REQUEST, "tools",
                "tools: the chat template of this model does not tell it of tools");
    const vug_conversation conversation = {
        .messages = r->messages.ptr,
        .messages_len = r->messages.len,
        .tools = with_tools ? r->tools.ptr : NULL,
        .tools_len = with_tools ? r->tools.len : 0,
        .variables = r->variables.len ? r->variables.ptr : NULL,
        .variables_len = r->variables.len,
        .no_reply = r->no_reply,
    };
    if (vug_chat_render(s->chat, &conversation, &a->prompt, &err) == VUG_OK)
        return true;
    const char *param = vug_str_starts(vug_str_of(err.msg), "variables: ") ? "chat_template_kwargs"
                                                                           : "messages";
    /* Where the template lies is no client's business. */
    const char *source = vug_chat_source(s->chat);
    const bool told = vug_str_starts(vug_str_of(err.msg), source);
    vug_api_error_take(error, &err, param);
    if (told)
        vug_api_error_set(error, error->kind, "messages", "%s%s", vug_path_base(source),
                          err.msg + strlen(source));
    return false;
}

static bool encode(const vug_asked *a, const vug_api_prompt *prompt, vug_tokens *out,
                   vug_api_error *error)
{
    const vug_api_request *r = &a->request;
    const unsigned flags = (r->add_special ? VUG_ENCODE_ADD_MISSING : 0u) |
                           (r->parse_special ? VUG_ENCODE_PARSE_SPECIAL : 0u);
    vug_err err;
    if (prompt->is_tokens) {
        out->id = vug_alloc(prompt->n, sizeof(*out->id));
        if (!out->id)
            return vug_ask_no_memory(error);
        memcpy(out->id, prompt->id, prompt->n * sizeof(*out->id));
        out->n = prompt->n;
        return true;
    }
    if (vug_tokenizer_encode(a->service->tokenizer, prompt->text.ptr ? prompt->text.ptr : "",
                             prompt->text.len, flags, out, &err) != VUG_OK)
        return vug_api_error_take(error, &err, "prompt");
    return true;
}

/* The tokens behind the last message. */
static vug_status count_opening(vug_asked *a, vug_err *err)
{
    const vug_prompt *p = &a->prompt;
    const size_t from = p->n_plain ? p->plain[p->n_plain - 1].to : 0;
    vug_tokens opening;
    VUG_TRY(vug_tokenizer_encode(a->service->tokenizer, p->text.ptr + from, p->text.len - from,
                                 VUG_ENCODE_PARSE_SPECIAL, &opening, err));
    a->n_opening = opening.n;
    vug_tokens_release(&opening);
    return VUG_OK;
}

static bool make_prompts(vug_asked *a, vug_api_error *error)
{
    const vug_api_request *r = &a->request;
    vug_err err;
    a->n_prompts = r->messages.len ? 1 : r->n_prompts;
    a->tokens = vug_arena_alloc(&a->arena, a->n_prompts, sizeof(*a->tokens));
    if (!a->tokens)
        return vug_ask_no_memory(error);
    if (r->messages.len) {
        if (!render(a, error))
            return false;
        if (r->endpoint != VUG_API_TEMPLATE &&
            (vug_prompt_encode(a->service->tokenizer, &a->prompt, &a->tokens[0], &err) != VUG_OK ||
             count_opening(a, &err) != VUG_OK))
            return vug_api_error_take(error, &err, "messages");
        return true;
    }
    a->n_opening = TEXT_END;
    for (size_t i = 0; i < a->n_prompts; i++) {
        if (!encode(a, &r->prompt[i], &a->tokens[i], error))
            return false;
    }
    return true;
}

/* How many ids a prompt may have: a checkpoint's tokenizer may know more tokens than its model
 * reads, such as those of images. */
static int64_t n_ids(const vug_service *s)
{
    const int64_t size = vug_tokenizer_size(s->tokenizer);
    return size < s->info.n_vocab ? size : s->info.n_vocab;
}

/* Prompts that came as text. */
static bool check_read(const vug_asked *a, const vug_tokens *prompt, const char *param,
                       vug_api_error *error)
{
    size_t i = 0;
    while (i < prompt->n && prompt->id[i] < a->service->info.n_vocab)
        i++;
    if (i == prompt->n)
        return true;
    const char *name = vug_tokenizer_token(a->service->tokenizer, prompt->id[i], NULL);
    return vug_api_error_set(error, VUG_API_BAD_REQUEST, param,
                             "%s has the token %d, %s, which this model does not read", param,
                             prompt->id[i], name ? name : "");
}

static bool fits(const vug_asked *a, vug_api_error *error)
{
    const vug_api_request *r = &a->request;
    const size_t context = (size_t)a->service->info.context;
    const char *param = r->endpoint == VUG_API_CHAT ? "messages" : "prompt";
    for (size_t i = 0; i < a->n_prompts; i++) {
        const size_t n = a->tokens[i].n;
        /* Who names no limit asks for one token; what there is room for is given. */
        const bool asks = vug_api_has_length(r) && r->max_tokens >= 0;
        const size_t answer = asks ? (size_t)r->max_tokens : 1;
        if (n == 0)
            return vug_api_error_set(error, VUG_API_BAD_REQUEST, param,
                                     "%s is empty: there is nothing to continue", param);
        if (n > context || answer > context - n)
            return vug_api_error_context(error, context, n, answer, param);
        if (!check_read(a, &a->tokens[i], param, error))
            return false;
    }
    return true;
}

/* ---- all of it ---------------------------------------------------------------------- */

/* Another one for each request: a count, stirred (splitmix64). */
static uint64_t fresh(vug_service *s)
{
    uint64_t z = s->seed + atomic_fetch_add(&s->n_requests, 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void make_head(vug_asked *a)
{
    const vug_api_request *r = &a->request;
    a->head = (vug_api_head){
        .id = fresh(a->service),
        .created = (int64_t)time(NULL),
        .model = r->model,
        .fingerprint = "vug-" VUG_VERSION,
        .is_text = r->endpoint == VUG_API_TEXT,
        .stream = r->stream,
        .include_usage = r->include_usage,
        .also_reasoning = a->service->opt.also_reasoning,
    };
}

bool vug_ask(vug_asked *a, vug_api_endpoint endpoint, vug_api_error *error)
{
    const vug_service *s = a->service;
    vug_api_request *r = &a->request;
    const bool generates = endpoint == VUG_API_CHAT || endpoint == VUG_API_TEXT;
    if (!vug_api_request_read(endpoint, vug_http_body(a->call), &a->arena, r, error))
        return false;
    if (r->given[VUG_FIELD_model] && !vug_ask_name(s, r->model))
        return vug_api_error_model(error, r->model);
    if (!vug_api_check_tokens(r, generates ? n_ids(s) : vug_tokenizer_size(s->tokenizer), error))
        return false;
    if (generates && s->opt.max_tokens && !vug_api_has_length(r) && r->max_tokens < 0)
        r->max_tokens = s->opt.max_tokens;
    make_head(a);
    if (generates && !vug_api_sampling(r, &s->sampling, a->head.id, &a->arena, &a->sampling))
        return vug_ask_no_memory(error);
    if (!make_prompts(a, error))
        return false;
    return !generates || (fits(a, error) && vug_ask_form(a, error));
}
