#include "app/server/service_own.h"

#include <stdio.h>

/* The form that an answer must have: the grammar of a request, which others that asked for
 * the same may have made already. */

static const vug_grammar_kind kind_of[] = {
    [VUG_FORMAT_JSON] = VUG_GRAMMAR_JSON,
    [VUG_FORMAT_SCHEMA] = VUG_GRAMMAR_SCHEMA,
    [VUG_FORMAT_REGEX] = VUG_GRAMMAR_REGEX,
    [VUG_FORMAT_GBNF] = VUG_GRAMMAR_GBNF,
};

static const char *text_of(vug_str text)
{
    return text.ptr ? text.ptr : "";
}

/* What a grammar is made of. */
typedef struct {
    vug_grammar_kind kind; /* without tools */
    vug_str text;          /* likewise */
    bool with_tools;
    vug_tool_choice tools; /* with them */
    const vug_service *service;
} form;

static vug_status make(void *arg, vug_grammar **out, vug_err *err)
{
    const form *f = arg;
    const vug_service *s = f->service;
    if (f->with_tools)
        return vug_chat_grammar(s->chat, s->tokenizer, &f->tools, out, err);
    return vug_grammar_create(f->kind, text_of(f->text), f->text.len, s->tokenizer, out, err);
}

static void put_text(vug_buf *key, vug_str text)
{
    vug_buf_printf(key, ":%zu:", text.len);
    vug_buf_append(key, text.ptr, text.len);
}

/* All that the grammar depends on, for a service has one model and one template. */
static void write_key(const form *f, vug_buf *key)
{
    const vug_tool_choice *t = &f->tools;
    if (f->with_tools) {
        vug_buf_printf(key, "tools%d%d%d.%d", t->required, t->parallel, t->otherwise != NULL,
                       (int)t->otherwise_kind);
        put_text(key, vug_str_of(t->name ? t->name : ""));
        put_text(key, (vug_str){ t->tools, t->tools_len });
        put_text(key, (vug_str){ t->otherwise, t->otherwise ? t->otherwise_len : 0 });
    } else {
        vug_buf_printf(key, "kind%d", (int)f->kind);
        put_text(key, f->text);
    }
}

static vug_status find_or_make(vug_asked *a, form *f, vug_err *err)
{
    vug_buf key = { 0 };
    f->service = a->service;
    write_key(f, &key);
    vug_status st = vug_buf_ok(&key, err);
    if (st == VUG_OK)
        st = vug_grammars_get(a->service->grammars, (vug_str){ key.ptr, key.len }, make, f,
                              &a->grammar, err);
    vug_buf_release(&key);
    return st;
}

/* The grammar says by its name of which tool it speaks. */
static bool refuse_tool(const vug_api_request *r, const char *param, const vug_err *err,
                        vug_api_error *error)
{
    vug_api_error_take(error, err, param);
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

/* The schema of a strict tool must be one that can be enforced. Whether calls can be guarded at
 * all where the model is free is a matter of the vocabulary. */
static bool strict_ones_hold(vug_asked *a, vug_api_error *error)
{
    const vug_api_request *r = &a->request;
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
        form f = { .with_tools = true,
                   .tools = { .tools = text.ptr, .tools_len = text.len, .required = true } };
        st = vug_buf_ok(&text, &err);
        if (st == VUG_OK)
            st = find_or_make(a, &f, &err);
        vug_grammars_put(a->service->grammars, a->grammar);
        a->grammar = NULL;
    }
    vug_buf_release(&text);
    return st == VUG_OK || refuse_tool(r, "tools", &err, error);
}

static bool form_of_tools(vug_asked *a, vug_api_error *error)
{
    const vug_api_request *r = &a->request;
    const bool named = r->choice == VUG_TOOLS_NAMED;
    const vug_str name = named ? vug_arena_copy(&a->arena, r->tool[r->named].name) : (vug_str){ 0 };
    vug_err err;
    if (named && !name.ptr)
        return vug_ask_no_memory(error);
    const bool formed = r->choice == VUG_TOOLS_AUTO && r->format != VUG_FORMAT_TEXT;
    form f = { .with_tools = true,
               .tools = { .tools = r->callable.ptr,
                          .tools_len = r->callable.len,
                          .name = name.ptr,
                          .required = r->choice != VUG_TOOLS_AUTO,
                          .parallel = !r->one_call && !named,
                          .otherwise = formed ? text_of(r->form) : NULL,
                          .otherwise_len = r->form.len,
                          .otherwise_kind = kind_of[r->format] } };
    const vug_status st = find_or_make(a, &f, &err);
    if (st == VUG_OK)
        return true;
    /* Where the model is free to call, calls that no grammar guards will do. */
    if (r->choice == VUG_TOOLS_AUTO && !formed && st == VUG_UNSUPPORTED)
        return strict_ones_hold(a, error);
    return refuse_tool(r, formed ? r->form_field : "tools", &err, error);
}

bool vug_ask_form(vug_asked *a, vug_api_error *error)
{
    const vug_api_request *r = &a->request;
    vug_err err;
    if (r->choice != VUG_TOOLS_NONE)
        return form_of_tools(a, error);
    if (r->format == VUG_FORMAT_TEXT)
        return true;
    form f = { .kind = kind_of[r->format], .text = r->form };
    return find_or_make(a, &f, &err) == VUG_OK || vug_api_error_take(error, &err, r->form_field);
}
