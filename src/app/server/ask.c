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

void vug_asked_free(vug_asked *asked)
{
    if (!asked)
        return;
    for (size_t i = 0; asked->tokens && i < asked->n_prompts; i++)
        vug_tokens_release(&asked->tokens[i]);
    vug_prompt_release(&asked->prompt);
    vug_grammar_destroy(asked->grammar);
    vug_arena_release(&asked->arena);
    vug_free(asked);
}

static bool refuse(vug_api_error *error, const vug_err *err, const char *param)
{
    vug_api_error_take(error, err, param);
    return false;
}

static bool no_memory(vug_api_error *error)
{
    vug_api_error_set(error, VUG_API_UNAVAILABLE, NULL, "out of memory");
    return false;
}

/* ---- prompts ------------------------------------------------------------------------ */

/* The older role of a tool's result is that of tools today, which templates know. It is
 * written over in a copy; blanks fill the rest. */
static bool modern_roles(vug_asked *a, vug_api_error *error)
{
    static const char old_role[] = "\"function\"", role[] = "\"tool\"    ";
    vug_arena arena = { .budget = VUG_API_MAX_TREE };
    const vug_jv *list;
    vug_err err;
    a->messages = a->request.messages;
    if (vug_json_tree(a->messages, "messages", &arena, &list, &err) != VUG_OK) {
        vug_arena_release(&arena);
        return refuse(error, &err, "messages");
    }
    char *copy = NULL;
    bool ok = true;
    for (const vug_jv *m = list->child; m && ok; m = m->next) {
        const vug_jv *r = vug_jv_get(m, "role");
        /* A string without escapes lies in the text itself. */
        const size_t at = r ? (size_t)((uintptr_t)r->str.ptr - (uintptr_t)a->messages.ptr) : 0;
        if (!vug_jv_is(r, VUG_JSON_STRING) || !vug_str_is(r->str, "function") ||
            at >= a->messages.len)
            continue;
        if (!copy) {
            copy = vug_arena_alloc(&a->arena, a->messages.len, 1);
            ok = copy != NULL;
            if (ok)
                memcpy(copy, a->messages.ptr, a->messages.len);
        }
        if (ok)
            memcpy(copy + at - 1, role, sizeof(old_role) - 1);
    }
    if (copy)
        a->messages.ptr = copy;
    vug_arena_release(&arena);
    return ok || no_memory(error);
}

bool vug_ask_render(vug_asked *a, vug_api_error *error)
{
    const vug_service *s = a->service;
    const vug_api_request *r = &a->request;
    const bool with_tools = r->tools.len && (r->endpoint != VUG_API_CHAT || r->choice);
    vug_err err;
    if (!s->chat) {
        vug_api_error_set(error, VUG_API_BAD_REQUEST, "messages", "%s", s->no_chat.msg);
        return false;
    }
    if (with_tools && !vug_chat_prints_tools(s->chat)) {
        vug_api_error_set(error, VUG_API_BAD_REQUEST, "tools",
                          "tools: the chat template of this model does not tell it of tools");
        return false;
    }
    if (!modern_roles(a, error))
        return false;
    const vug_conversation conversation = {
        .messages = a->messages.ptr,
        .messages_len = a->messages.len,
        .tools = with_tools ? r->tools.ptr : NULL,
        .tools_len = with_tools ? r->tools.len : 0,
        .variables = r->variables.len ? r->variables.ptr : NULL,
        .variables_len = r->variables.len,
        .no_reply = r->no_reply,
    };
    if (vug_chat_render(s->chat, &conversation, &a->prompt, &err) == VUG_OK)
        return true;
    /* Where the template lies is no client's business. */
    const char *source = vug_chat_source(s->chat);
    const bool told = vug_str_starts(vug_str_of(err.msg), source);
    vug_api_error_take(error, &err, "messages");
    if (told)
        vug_api_error_set(error, error->kind, "messages", "%s%s", vug_path_base(source),
                          err.msg + strlen(source));
    return false;
}

static bool encode(const vug_asked *a, const vug_api_prompt *prompt, vug_tokens *out,
                   vug_api_error *error)
{
    const vug_api_request *r = &a->request;
    unsigned flags = VUG_ENCODE_PARSE_SPECIAL | VUG_ENCODE_ADD_SPECIAL;
    vug_err err;
    if (prompt->is_tokens) {
        out->id = vug_alloc(prompt->n, sizeof(*out->id));
        if (!out->id)
            return no_memory(error);
        memcpy(out->id, prompt->id, prompt->n * sizeof(*out->id));
        out->n = prompt->n;
        return true;
    }
    if (r->endpoint == VUG_API_TOKENIZE)
        flags = (r->add_special ? VUG_ENCODE_ADD_SPECIAL : 0u) |
                (r->parse_special ? VUG_ENCODE_PARSE_SPECIAL : 0u);
    if (vug_tokenizer_encode(a->service->tokenizer, prompt->text.ptr ? prompt->text.ptr : "",
                             prompt->text.len, flags, out, &err) != VUG_OK)
        return refuse(error, &err, "prompt");
    return true;
}

static bool make_prompts(vug_asked *a, vug_api_error *error)
{
    const vug_api_request *r = &a->request;
    vug_err err;
    a->n_prompts = r->messages.len ? 1 : r->n_prompts;
    a->tokens = vug_arena_alloc(&a->arena, a->n_prompts, sizeof(*a->tokens));
    if (!a->tokens)
        return no_memory(error);
    if (r->messages.len) {
        if (!vug_ask_render(a, error))
            return false;
        if (r->endpoint != VUG_API_TEMPLATE &&
            vug_prompt_encode(a->service->tokenizer, &a->prompt, &a->tokens[0], &err) != VUG_OK)
            return refuse(error, &err, "messages");
        return true;
    }
    for (size_t i = 0; i < a->n_prompts; i++) {
        if (!encode(a, &r->prompt[i], &a->tokens[i], error))
            return false;
    }
    return true;
}

static bool fits(const vug_asked *a, vug_api_error *error)
{
    const vug_api_request *r = &a->request;
    const size_t context = (size_t)a->service->info.context;
    const char *param = r->endpoint == VUG_API_CHAT ? "messages" : "prompt";
    for (size_t i = 0; i < a->n_prompts; i++) {
        const size_t n = a->tokens[i].n;
        /* Without a limit there must be room for one token. */
        const size_t answer = r->max_tokens < 0 ? 1 : (size_t)r->max_tokens;
        if (n == 0) {
            vug_api_error_set(error, VUG_API_BAD_REQUEST, param,
                              "%s is empty: there is nothing to continue", param);
            return false;
        }
        if (n > context || answer > context - n) {
            vug_api_error_context(error, context, n, r->max_tokens < 0 ? 0 : answer, param);
            return false;
        }
    }
    return true;
}

/* ---- the answer's form -------------------------------------------------------------- */

static bool make_tool_grammar(vug_asked *a, vug_api_error *error)
{
    const vug_api_request *r = &a->request;
    const bool named = r->choice == VUG_TOOLS_NAMED;
    const vug_str name = named ? vug_arena_copy(&a->arena, r->tool[r->named].name) : (vug_str){ 0 };
    vug_err err;
    if (named && !name.ptr)
        return no_memory(error);
    const bool formed = r->choice == VUG_TOOLS_AUTO && r->format != VUG_FORMAT_TEXT;
    const vug_str form =
            r->format == VUG_FORMAT_SCHEMA ? r->schema : vug_str_of("{\"type\":\"object\"}");
    const vug_tool_choice choice = { .tools = r->tools.ptr,
                                     .tools_len = r->tools.len,
                                     .name = name.ptr,
                                     .required = r->choice != VUG_TOOLS_AUTO,
                                     .parallel = !r->one_call && !named,
                                     .otherwise = formed ? form.ptr : NULL,
                                     .otherwise_len = form.len };
    const vug_status st =
            vug_chat_grammar(a->service->chat, a->service->tokenizer, &choice, &a->grammar, &err);
    if (st == VUG_OK)
        return true;
    /* Where the model is free to call, calls that no grammar guards will do. */
    if (r->choice == VUG_TOOLS_AUTO && !formed && st == VUG_UNSUPPORTED)
        return true;
    return refuse(error, &err, formed ? "response_format" : "tools");
}

static bool make_grammar(vug_asked *a, vug_api_error *error)
{
    const vug_api_request *r = &a->request;
    vug_err err;
    if (r->choice != VUG_TOOLS_NONE)
        return make_tool_grammar(a, error);
    if (r->format == VUG_FORMAT_TEXT)
        return true;
    const vug_grammar_kind kind =
            r->format == VUG_FORMAT_JSON ? VUG_GRAMMAR_JSON : VUG_GRAMMAR_SCHEMA;
    if (vug_grammar_create(kind, r->schema.ptr ? r->schema.ptr : "", r->schema.len,
                           a->service->tokenizer, &a->grammar, &err) != VUG_OK)
        return refuse(error, &err, "response_format");
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
    if (r->given[VUG_FIELD_model] && !vug_ask_name(s, r->model)) {
        vug_api_error_model(error, r->model);
        return false;
    }
    if (!vug_api_check_tokens(r, vug_tokenizer_size(s->tokenizer), error))
        return false;
    if (generates && s->opt.max_tokens && !r->given[VUG_FIELD_max_tokens] &&
        !r->given[VUG_FIELD_max_completion_tokens] && r->max_tokens < 0)
        r->max_tokens = s->opt.max_tokens;
    make_head(a);
    if (generates && !vug_api_sampling(r, &s->sampling, a->head.id, &a->arena, &a->sampling))
        return no_memory(error);
    if (!make_prompts(a, error))
        return false;
    return !generates || (fits(a, error) && make_grammar(a, error));
}
