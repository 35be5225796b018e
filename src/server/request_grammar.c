#include <stdio.h>

#include "server/internal.h"

/* The grammar that constrains the output of a request. Requests with the same constraint share
 * one. */

enum { MAX_WARNINGS = 8 }; /* that are reported of a grammar */

static vug_grammar_kind grammar_kind(const vug_server_request *request)
{
    static const vug_grammar_kind kind[] = {
        [VUG_CONSTRAINT_JSON] = VUG_GRAMMAR_JSON,
        [VUG_CONSTRAINT_SCHEMA] = VUG_GRAMMAR_SCHEMA,
        [VUG_CONSTRAINT_REGEX] = VUG_GRAMMAR_REGEX,
        [VUG_CONSTRAINT_GBNF] = VUG_GRAMMAR_GBNF,
    };
    const vug_api_constraint_kind wanted = request->api.constraint_kind;
    return wanted == VUG_CONSTRAINT_SCHEMA && request->service->opt.strict_schemas
                   ? VUG_GRAMMAR_STRICT_SCHEMA
                   : kind[wanted];
}

static const char *text_or_empty(vug_str text)
{
    return text.ptr ? text.ptr : "";
}

/* What a grammar is compiled from. */
typedef struct {
    bool with_tools;
    vug_grammar_kind kind; /* without tools */
    vug_str text;          /* without tools */
    vug_tool_choice tools; /* with tools */
    const vug_server_request *request;
} grammar_source;

/* Appends a line for each warning, between `before` and `after`. Names of keywords come from the
 * client: of its bytes only printable ASCII reaches headers and terminals. */
static void append_warnings(const vug_grammar *grammar, const char *before, const char *after,
                            vug_buf *to)
{
    const char *at = vug_grammar_warnings(grammar);
    for (int i = 0; i < MAX_WARNINGS && *at; i++) {
        vug_buf_puts(to, before);
        for (; *at && *at != '\n'; at++)
            vug_buf_append(to, *at >= ' ' && *at <= '~' ? at : "?", 1);
        at += *at == '\n';
        vug_buf_puts(to, after);
    }
}

static void log_warnings(const vug_server_request *request, const vug_grammar *grammar)
{
    char before[96];
    vug_buf text = { 0 };
    (void)snprintf(before, sizeof(before),
                   "vug: warning: request %s: ", request->sender.request_id);
    append_warnings(grammar, before, "\n", &text);
    if (!text.bad && text.len > 0)
        (void)fwrite(text.ptr, 1, text.len, stderr);
    vug_buf_release(&text);
}

static vug_status compile_grammar(void *arg, vug_grammar **out, vug_err *err)
{
    const grammar_source *source = arg;
    const vug_service *s = source->request->service;
    if (source->with_tools)
        VUG_TRY(vug_chat_grammar(s->chat, s->tokenizer, &source->tools, out, err));
    else
        VUG_TRY(vug_grammar_create(source->kind, text_or_empty(source->text), source->text.len,
                                   s->tokenizer, out, err));
    log_warnings(source->request, *out);
    return VUG_OK;
}

static void append_text(vug_buf *key, vug_str text)
{
    vug_buf_printf(key, ":%zu:", text.len);
    vug_buf_append(key, text.ptr, text.len);
}

/* The key holds all that the grammar depends on; a service has one model and one template. */
static void write_key(const grammar_source *source, vug_buf *key)
{
    const vug_tool_choice *t = &source->tools;
    if (source->with_tools) {
        vug_buf_printf(key, "tools%d%d%d.%d", t->required, t->parallel, t->content_grammar != NULL,
                       (int)t->content_grammar_kind);
        append_text(key, vug_str_of(t->name ? t->name : ""));
        append_text(key, (vug_str){ t->tools, t->tools_len });
        append_text(key, (vug_str){ t->content_grammar,
                                    t->content_grammar ? t->content_grammar_len : 0 });
    } else {
        vug_buf_printf(key, "kind%d", (int)source->kind);
        append_text(key, source->text);
    }
}

static vug_status find_or_compile(vug_server_request *request, grammar_source *source, vug_err *err)
{
    vug_buf key = { 0 };
    source->request = request;
    source->tools.strict_schemas = request->service->opt.strict_schemas;
    write_key(source, &key);
    vug_status st = vug_buf_ok(&key, err);
    if (st == VUG_OK)
        st = vug_grammar_cache_get(request->service->grammars, (vug_str){ key.ptr, key.len },
                                   compile_grammar, source, &request->grammar, err);
    vug_buf_release(&key);
    return st;
}

/* If the message begins with the name of a tool, `param` names that tool's schema. */
static bool reject_tool(const vug_api_request *r, const char *param, const vug_err *err,
                        vug_api_error *error)
{
    vug_api_error_from(error, err, param);
    for (size_t i = 0; i < r->n_tools; i++) {
        char start[sizeof("tool ''") + 64];
        const vug_str name = r->tool[i].name;
        (void)snprintf(start, sizeof(start), "tool '%.*s'", (int)(name.len < 64 ? name.len : 64),
                       name.ptr);
        if (vug_str_starts(vug_str_of(err->msg), start))
            (void)snprintf(error->param, sizeof(error->param), "tools[%zu].function.parameters", i);
    }
    return false;
}

/* Strict tools need a schema that can be enforced, even where the vocabulary does not allow
 * guarding calls among free text. */
static bool check_strict_tools(vug_server_request *request, vug_api_error *error)
{
    const vug_api_request *r = &request->api;
    vug_buf text = { 0 };
    vug_err err;
    for (size_t i = 0; i < r->n_tools; i++) {
        if (!r->tool[i].strict)
            continue;
        vug_buf_puts(&text, text.len ? "," : "[");
        vug_buf_append(&text, r->tool[i].text.ptr, r->tool[i].text.len);
    }
    vug_status st = VUG_OK;
    if (text.len > 0) {
        vug_buf_puts(&text, "]");
        grammar_source source = {
            .with_tools = true,
            .tools = { .tools = text.ptr, .tools_len = text.len, .required = true },
        };
        st = vug_buf_ok(&text, &err);
        if (st == VUG_OK)
            st = find_or_compile(request, &source, &err);
        vug_grammar_cache_release(request->service->grammars, request->grammar);
        request->grammar = NULL;
    }
    vug_buf_release(&text);
    return st == VUG_OK || reject_tool(r, "tools", &err, error);
}

static bool prepare_tool_grammar(vug_server_request *request, vug_api_error *error)
{
    const vug_api_request *r = &request->api;
    const bool is_auto = r->tool_choice == VUG_TOOLS_AUTO;
    const bool is_named = r->tool_choice == VUG_TOOLS_NAMED;
    const bool constrained = is_auto && r->constraint_kind != VUG_CONSTRAINT_NONE;
    vug_str name = { 0 };
    vug_err err;
    if (is_named) {
        name = vug_arena_copy(&request->arena, r->tool[r->named_tool].name);
        if (!name.ptr)
            return vug_api_error_no_memory(error);
    }
    grammar_source source = {
        .with_tools = true,
        .tools = { .tools = r->callable_tools.ptr,
                   .tools_len = r->callable_tools.len,
                   .name = name.ptr,
                   .required = !is_auto,
                   .parallel = !r->single_call && !is_named,
                   .content_grammar = constrained ? text_or_empty(r->constraint) : NULL,
                   .content_grammar_len = r->constraint.len,
                   .content_grammar_kind = grammar_kind(request) },
    };
    const vug_status st = find_or_compile(request, &source, &err);
    if (st == VUG_OK)
        return true;
    /* With tool_choice auto, calls may go unguarded. */
    if (is_auto && !constrained && st == VUG_UNSUPPORTED)
        return check_strict_tools(request, error);
    return reject_tool(r, constrained ? r->constraint_field : "tools", &err, error);
}

static bool find_grammar(vug_server_request *request, vug_api_error *error)
{
    const vug_api_request *r = &request->api;
    vug_err err;
    if (r->tool_choice != VUG_TOOLS_NONE)
        return prepare_tool_grammar(request, error);
    if (r->constraint_kind == VUG_CONSTRAINT_NONE)
        return true;
    grammar_source source = { .kind = grammar_kind(request), .text = r->constraint };
    return find_or_compile(request, &source, &err) == VUG_OK ||
           vug_api_error_from(error, &err, r->constraint_field);
}

bool vug_server_prepare_grammar(vug_server_request *request, vug_api_error *error)
{
    vug_buf headers = { 0 };
    if (!find_grammar(request, error))
        return false;
    if (request->grammar)
        append_warnings(request->grammar, "x-vug-warning: ", "\r\n", &headers);
    if (headers.len > 0)
        request->headers =
                vug_arena_copy(&request->arena, (vug_str){ headers.ptr, headers.len }).ptr;
    const bool ok = !headers.bad && (headers.len == 0 || request->headers);
    vug_buf_release(&headers);
    return ok || vug_api_error_no_memory(error);
}
