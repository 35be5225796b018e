#include "cli/remote/completion_parser.h"

#include <stdio.h>

/* ---- errors -------------------------------------------------------------------------- */

/* Finds the message in {"message":...} or a plain string, inside any "error" or "detail". */
static const vug_jv *find_error_message(const vug_jv *v)
{
    static const char *const keys[] = { "message", "error", "detail" };
    for (int depth = 0; depth < 4 && vug_jv_is(v, VUG_JSON_OBJECT); depth++) {
        const vug_jv *inner = NULL;
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !inner; i++)
            inner = vug_jv_get(v, keys[i]);
        v = inner;
    }
    return vug_jv_is(v, VUG_JSON_STRING) && v->str.len ? v : NULL;
}

static void copy_text(const vug_jv *v, char *out, size_t size)
{
    (void)snprintf(out, size, "%.*s", v->str.len < 600 ? (int)v->str.len : 600, v->str.ptr);
}

bool vug_parse_error_response(vug_str body, char *out, size_t size)
{
    vug_arena arena = { .budget = VUG_COMPLETION_MAX_JSON };
    const vug_jv *root;
    vug_err err;
    const vug_jv *text = NULL;
    if (vug_json_tree(body, "error", &arena, &root, &err) == VUG_OK)
        text = find_error_message(root);
    if (text)
        copy_text(text, out, size);
    vug_arena_release(&arena);
    return text != NULL;
}

/* Some servers send an error as a chunk. An error that is null, false or empty is none. */
static vug_status check_error(const vug_completion_parser *p, const vug_jv *root, vug_err *err)
{
    const vug_jv *error = vug_jv_get(root, "error");
    if (!error || error->type == VUG_JSON_NULL ||
        (error->type == VUG_JSON_BOOL && !error->boolean) ||
        (error->type == VUG_JSON_STRING && !error->str.len))
        return VUG_OK;
    const vug_jv *text = vug_jv_is(error, VUG_JSON_STRING) ? error : find_error_message(error);
    char message[640] = "no message given";
    if (text)
        copy_text(text, message, sizeof(message));
    return VUG_FAIL(err, VUG_IO, "%s: server error: %s", p->name, message);
}

/* ---- content and tool calls ---------------------------------------------------------- */

static void emit_part(vug_completion_parser *p, vug_part_kind kind, const vug_jv *text)
{
    if (!vug_jv_is(text, VUG_JSON_STRING) || !text->str.len || p->stopped)
        return;
    const vug_part part = { .kind = kind, .text = text->str.ptr, .len = text->str.len };
    p->stopped = !p->on_part(&part, p->user);
}

static vug_status add_call(vug_completion_parser *p, int64_t index, vug_completion_call **out,
                           vug_err *err)
{
    if (p->n_calls == VUG_COMPLETION_MAX_CALLS)
        return VUG_FAIL(err, VUG_LIMIT, "%s: the response has more than %d tool calls", p->name,
                        VUG_COMPLETION_MAX_CALLS);
    if (!p->call)
        p->call = vug_alloc_zero(VUG_COMPLETION_MAX_CALLS, sizeof(*p->call));
    if (!p->call)
        return VUG_FAIL_NOMEM(err, "tool calls", VUG_COMPLETION_MAX_CALLS * sizeof(*p->call));
    *out = &p->call[p->n_calls++];
    **out = (vug_completion_call){ .index = index,
                                   .arguments = { .max = VUG_COMPLETION_MAX_ARGUMENTS } };
    return VUG_OK;
}

/* The call that a piece belongs to, or NULL for a new one: the last call with that index or, if
 * the piece has no index, the last call. A different id starts a new call; so does a second name
 * if there is neither index nor id. */
static vug_completion_call *find_call(const vug_completion_parser *p, const vug_jv *index,
                                      vug_str id, vug_str name)
{
    size_t i = p->n_calls;
    if (index)
        while (i > 0 && p->call[i - 1].index != index->i64)
            i--;
    if (i == 0)
        return NULL;
    vug_completion_call *call = &p->call[i - 1];
    const bool other_id =
            id.len && call->id.len && !vug_str_equal(id, (vug_str){ call->id.ptr, call->id.len });
    const bool second_name = !index && !id.len && name.len && call->name.len;
    return other_id || second_name ? NULL : call;
}

static vug_str string_value(const vug_jv *v)
{
    return vug_jv_is(v, VUG_JSON_STRING) ? v->str : (vug_str){ 0 };
}

static void set_once(vug_buf *to, vug_str text)
{
    if (!to->len && text.len)
        vug_buf_append(to, text.ptr, text.len);
}

static vug_status parse_call(vug_completion_parser *p, const vug_jv *v, vug_err *err)
{
    const vug_jv *index = vug_jv_get(v, "index"), *function = vug_jv_get(v, "function");
    const vug_str id = string_value(vug_jv_get(v, "id")),
                  name = string_value(vug_jv_get(function, "name"));
    const vug_jv *arguments = vug_jv_get(function, "arguments");
    if (index && (!index->is_int || index->i64 < 0 || index->i64 > VUG_COMPLETION_MAX_CALL_INDEX))
        index = NULL;
    vug_completion_call *call = find_call(p, index, id, name);
    if (!call && !id.len && !name.len)
        return VUG_OK; /* belongs to no call */
    if (!call)
        VUG_TRY(add_call(p, index ? index->i64 : (int64_t)p->n_calls, &call, err));
    set_once(&call->id, id);
    set_once(&call->name, name);
    if (vug_jv_is(arguments, VUG_JSON_STRING) || vug_jv_is(arguments, VUG_JSON_OBJECT))
        vug_buf_append(&call->arguments, arguments->str.ptr, arguments->str.len);
    if (call->arguments.bad)
        return VUG_FAIL(err, VUG_LIMIT, "%s: a tool call has more than %zu MiB of arguments",
                        p->name, VUG_COMPLETION_MAX_ARGUMENTS >> 20);
    return VUG_OK;
}

/* ---- log-probabilities --------------------------------------------------------------- */

static vug_token_logprob parse_token_logprob(const vug_jv *v)
{
    const vug_jv *id = vug_jv_get(v, "id"), *text = vug_jv_get(v, "token");
    const vug_jv *logprob = vug_jv_get(v, "logprob");
    return (vug_token_logprob){
        .id = id && id->is_int && id->i64 >= 0 ? id->i64 : -1,
        .text = vug_jv_is(text, VUG_JSON_STRING) ? text->str : (vug_str){ "", 0 },
        .logprob = logprob && logprob->type == VUG_JSON_NUMBER ? logprob->f64 : 0,
    };
}

static const vug_jv *first_element(const vug_jv *list)
{
    return vug_jv_is(list, VUG_JSON_ARRAY) ? list->child : NULL;
}

/* Chats: a list of tokens. */
static void parse_logprob_list(const vug_completion_parser *p, const vug_jv *list)
{
    for (const vug_jv *v = first_element(list); v; v = v->next) {
        const vug_token_logprob token = parse_token_logprob(v);
        vug_token_logprob top[VUG_MAX_TOP_LOGPROBS];
        size_t n = 0;
        for (const vug_jv *t = first_element(vug_jv_get(v, "top_logprobs"));
             t && n < VUG_MAX_TOP_LOGPROBS; t = t->next)
            top[n++] = parse_token_logprob(t);
        p->on_token(&token, top, n, p->user);
    }
}

/* Completions: one list per field; each element of top_logprobs is an object. */
static void parse_logprob_columns(const vug_completion_parser *p, const vug_jv *logprobs)
{
    const vug_jv *logprob = first_element(vug_jv_get(logprobs, "token_logprobs"));
    const vug_jv *best = first_element(vug_jv_get(logprobs, "top_logprobs"));
    for (const vug_jv *v = first_element(vug_jv_get(logprobs, "tokens")); v; v = v->next) {
        const vug_jv *t = best && best->type == VUG_JSON_OBJECT ? best->child : NULL;
        const vug_token_logprob token = {
            .id = -1,
            .text = vug_jv_is(v, VUG_JSON_STRING) ? v->str : (vug_str){ "", 0 },
            .logprob = logprob && logprob->type == VUG_JSON_NUMBER ? logprob->f64 : 0,
        };
        vug_token_logprob top[VUG_MAX_TOP_LOGPROBS];
        size_t n = 0;
        for (; t && n < VUG_MAX_TOP_LOGPROBS; t = t->next)
            if (t->type == VUG_JSON_NUMBER)
                top[n++] = (vug_token_logprob){ .id = -1, .text = t->key, .logprob = t->f64 };
        p->on_token(&token, top, n, p->user);
        logprob = logprob ? logprob->next : NULL;
        best = best ? best->next : NULL;
    }
}

/* llama.cpp sends the list for completions, too. */
static void parse_logprobs(const vug_completion_parser *p, const vug_jv *logprobs)
{
    if (!p->on_token || !vug_jv_is(logprobs, VUG_JSON_OBJECT))
        return;
    parse_logprob_list(p, vug_jv_get(logprobs, "content"));
    parse_logprob_list(p, vug_jv_get(logprobs, "refusal"));
    parse_logprob_columns(p, logprobs);
}

/* ---- choices and usage ---------------------------------------------------------------- */

static vug_status parse_choice(vug_completion_parser *p, const vug_jv *choice, vug_err *err)
{
    const vug_jv *index = vug_jv_get(choice, "index");
    const vug_jv *delta = vug_jv_get(choice, "delta");
    const vug_str finish = string_value(vug_jv_get(choice, "finish_reason"));
    if (index && index->is_int && index->i64 != 0)
        return VUG_OK; /* only one choice was requested */
    if (!vug_jv_is(delta, VUG_JSON_OBJECT))
        delta = vug_jv_get(choice, "message");
    parse_logprobs(p, vug_jv_get(choice, "logprobs"));
    const vug_jv *thinking = vug_jv_get(delta, "reasoning_content");
    if (!vug_jv_is(thinking, VUG_JSON_STRING)) /* never both */
        thinking = vug_jv_get(delta, "reasoning");
    emit_part(p, VUG_PART_THINKING, thinking);
    emit_part(p, VUG_PART_CONTENT, vug_jv_get(delta, "content"));
    emit_part(p, VUG_PART_CONTENT, vug_jv_get(delta, "refusal"));
    emit_part(p, VUG_PART_CONTENT, vug_jv_get(choice, "text")); /* completions */
    const vug_jv *calls = vug_jv_get(delta, "tool_calls");
    if (vug_jv_is(calls, VUG_JSON_ARRAY))
        for (const vug_jv *v = calls->child; v; v = v->next)
            VUG_TRY(parse_call(p, v, err));
    if (finish.len && !p->finish[0])
        (void)snprintf(p->finish, sizeof(p->finish), "%.*s", VUG_STR_ARG(finish));
    return VUG_OK;
}

static int64_t get_count(const vug_jv *v)
{
    return v && v->is_int && v->i64 > 0 ? v->i64 : 0;
}

static void parse_usage(vug_completion_parser *p, const vug_jv *usage)
{
    if (!vug_jv_is(usage, VUG_JSON_OBJECT))
        return;
    const vug_jv *details = vug_jv_get(usage, "prompt_tokens_details");
    p->has_usage = true;
    p->prompt_tokens = get_count(vug_jv_get(usage, "prompt_tokens"));
    p->cached_tokens = get_count(vug_jv_get(details, "cached_tokens"));
    p->completion_tokens = get_count(vug_jv_get(usage, "completion_tokens"));
}

static vug_status parse_chunk(vug_completion_parser *p, const vug_jv *root, vug_err *err)
{
    VUG_TRY(check_error(p, root, err));
    const vug_jv *choices = vug_jv_get(root, "choices");
    if (vug_jv_is(choices, VUG_JSON_ARRAY))
        for (const vug_jv *c = choices->child; c; c = c->next)
            VUG_TRY(parse_choice(p, c, err));
    parse_usage(p, vug_jv_get(root, "usage"));
    return VUG_OK;
}

vug_status vug_completion_parser_feed(vug_completion_parser *p, vug_str data, vug_err *err)
{
    if (p->done)
        return VUG_OK;
    p->done = vug_str_is(data, "[DONE]");
    if (p->done || !data.len)
        return VUG_OK;
    vug_arena arena = { .budget = VUG_COMPLETION_MAX_JSON };
    const vug_jv *root;
    vug_status st = vug_json_tree(data, p->name, &arena, &root, err);
    if (st == VUG_OK)
        st = parse_chunk(p, root, err);
    vug_arena_release(&arena);
    return st;
}

void vug_completion_parser_release(vug_completion_parser *p)
{
    for (size_t i = 0; i < p->n_calls; i++) {
        vug_buf_release(&p->call[i].id);
        vug_buf_release(&p->call[i].name);
        vug_buf_release(&p->call[i].arguments);
    }
    vug_free(p->call);
    *p = (vug_completion_parser){ 0 };
}

/* ---- models -------------------------------------------------------------------------- */

vug_status vug_parse_model_list(vug_str body, const char *name, vug_arena *arena, vug_str *out,
                                vug_err *err)
{
    const vug_jv *root;
    *out = (vug_str){ 0 };
    VUG_TRY(vug_json_tree(body, name, arena, &root, err));
    const vug_jv *data = vug_jv_get(root, "data");
    const vug_jv *first = vug_jv_is(data, VUG_JSON_ARRAY) ? data->child : NULL;
    const vug_str id = string_value(vug_jv_get(first, "id"));
    if (!id.len)
        return VUG_FAIL(err, VUG_FORMAT, "%s lists no models; use --model NAME", name);
    *out = vug_arena_copy(arena, id);
    return out->ptr ? VUG_OK : VUG_FAIL_NOMEM(err, "a name", id.len);
}
