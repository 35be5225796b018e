#include "app/remote/heard.h"

#include <stdio.h>

/* ---- errors -------------------------------------------------------------------------- */

/* {"message":...}, or a text alone; some put that into another "error" or "detail". */
static const vug_jv *sentence_of(const vug_jv *v)
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

bool vug_heard_error(vug_str body, char *out, size_t size)
{
    vug_arena arena = { .budget = VUG_HEARD_MAX_TREE };
    const vug_jv *root;
    vug_err err;
    const vug_jv *text = NULL;
    if (vug_json_tree(body, "error", &arena, &root, &err) == VUG_OK)
        text = sentence_of(root);
    if (text)
        copy_text(text, out, size);
    vug_arena_release(&arena);
    return text != NULL;
}

/* An error in place of a chunk: any that is not null, false or empty. */
static vug_status check_error(const vug_heard *h, const vug_jv *root, vug_err *err)
{
    const vug_jv *error = vug_jv_get(root, "error");
    if (!error || error->type == VUG_JSON_NULL ||
        (error->type == VUG_JSON_BOOL && !error->boolean) ||
        (error->type == VUG_JSON_STRING && !error->str.len))
        return VUG_OK;
    const vug_jv *text = vug_jv_is(error, VUG_JSON_STRING) ? error : sentence_of(error);
    char sentence[640] = "an error without a sentence";
    if (text)
        copy_text(text, sentence, sizeof(sentence));
    return VUG_FAIL(err, VUG_IO, "%s gave up: %s", h->name, sentence);
}

/* ---- chunks -------------------------------------------------------------------------- */

static void say(vug_heard *h, vug_part_kind kind, const vug_jv *text)
{
    if (!vug_jv_is(text, VUG_JSON_STRING) || !text->str.len || h->over)
        return;
    const vug_part part = { .kind = kind, .text = text->str.ptr, .len = text->str.len };
    h->over = !h->on_part(&part, h->user);
}

static vug_status add_call(vug_heard *h, int64_t index, vug_heard_call **out, vug_err *err)
{
    if (h->n_calls == VUG_HEARD_MAX_CALLS)
        return VUG_FAIL(err, VUG_LIMIT, "%s: an answer with more than %d tool calls", h->name,
                        VUG_HEARD_MAX_CALLS);
    if (!h->call)
        h->call = vug_alloc_zero(VUG_HEARD_MAX_CALLS, sizeof(*h->call));
    if (!h->call)
        return VUG_FAIL_NOMEM(err, "tool calls", VUG_HEARD_MAX_CALLS * sizeof(*h->call));
    *out = &h->call[h->n_calls++];
    **out = (vug_heard_call){ .index = index, .arguments = { .max = VUG_HEARD_MAX_ARGUMENTS } };
    return VUG_OK;
}

/* The last call of that index; without one, the last. An id that is not its own, or a second
 * name where nothing tells ids, begins another. */
static vug_heard_call *find_call(const vug_heard *h, const vug_jv *index, vug_str id, vug_str name)
{
    size_t i = h->n_calls;
    if (index)
        while (i > 0 && h->call[i - 1].index != index->i64)
            i--;
    if (i == 0)
        return NULL;
    vug_heard_call *call = &h->call[i - 1];
    const bool other_id =
            id.len && call->id.len && !vug_str_equal(id, (vug_str){ call->id.ptr, call->id.len });
    const bool again = !index && !id.len && name.len && call->name.len;
    return other_id || again ? NULL : call;
}

static vug_str text_of(const vug_jv *v)
{
    return vug_jv_is(v, VUG_JSON_STRING) ? v->str : (vug_str){ 0 };
}

static void set_once(vug_buf *to, vug_str text)
{
    if (!to->len && text.len)
        vug_buf_append(to, text.ptr, text.len);
}

static vug_status take_call(vug_heard *h, const vug_jv *v, vug_err *err)
{
    const vug_jv *index = vug_jv_get(v, "index"), *function = vug_jv_get(v, "function");
    const vug_str id = text_of(vug_jv_get(v, "id")), name = text_of(vug_jv_get(function, "name"));
    const vug_jv *arguments = vug_jv_get(function, "arguments");
    if (index && (!index->is_int || index->i64 < 0 || index->i64 > VUG_HEARD_MAX_INDEX))
        index = NULL;
    vug_heard_call *call = find_call(h, index, id, name);
    if (!call && !id.len && !name.len)
        return VUG_OK; /* of a call that never began */
    if (!call)
        VUG_TRY(add_call(h, index ? index->i64 : (int64_t)h->n_calls, &call, err));
    set_once(&call->id, id);
    set_once(&call->name, name);
    if (vug_jv_is(arguments, VUG_JSON_STRING) || vug_jv_is(arguments, VUG_JSON_OBJECT))
        vug_buf_append(&call->arguments, arguments->str.ptr, arguments->str.len);
    if (call->arguments.bad)
        return VUG_FAIL(err, VUG_LIMIT, "%s: a tool call with more than %zu MiB of arguments",
                        h->name, VUG_HEARD_MAX_ARGUMENTS >> 20);
    return VUG_OK;
}

static vug_status take_choice(vug_heard *h, const vug_jv *choice, vug_err *err)
{
    const vug_jv *index = vug_jv_get(choice, "index");
    const vug_jv *delta = vug_jv_get(choice, "delta");
    const vug_str finish = text_of(vug_jv_get(choice, "finish_reason"));
    if (index && index->is_int && index->i64 != 0)
        return VUG_OK; /* one answer was asked for */
    if (!vug_jv_is(delta, VUG_JSON_OBJECT))
        delta = vug_jv_get(choice, "message");
    vug_heard_logprobs(h, vug_jv_get(choice, "logprobs"));
    const vug_jv *thinking = vug_jv_get(delta, "reasoning_content");
    if (!vug_jv_is(thinking, VUG_JSON_STRING)) /* of the two names one */
        thinking = vug_jv_get(delta, "reasoning");
    say(h, VUG_PART_THINKING, thinking);
    say(h, VUG_PART_CONTENT, vug_jv_get(delta, "content"));
    say(h, VUG_PART_CONTENT, vug_jv_get(delta, "refusal"));
    say(h, VUG_PART_CONTENT, vug_jv_get(choice, "text")); /* of a completion */
    const vug_jv *calls = vug_jv_get(delta, "tool_calls");
    if (vug_jv_is(calls, VUG_JSON_ARRAY))
        for (const vug_jv *v = calls->child; v; v = v->next)
            VUG_TRY(take_call(h, v, err));
    if (finish.len && !h->finish[0])
        (void)snprintf(h->finish, sizeof(h->finish), "%.*s", VUG_STR_ARG(finish));
    return VUG_OK;
}

static int64_t count(const vug_jv *v)
{
    return v && v->is_int && v->i64 > 0 ? v->i64 : 0;
}

static void take_usage(vug_heard *h, const vug_jv *usage)
{
    if (!vug_jv_is(usage, VUG_JSON_OBJECT))
        return;
    const vug_jv *details = vug_jv_get(usage, "prompt_tokens_details");
    h->has_usage = true;
    h->prompt_tokens = count(vug_jv_get(usage, "prompt_tokens"));
    h->cached_tokens = count(vug_jv_get(details, "cached_tokens"));
    h->completion_tokens = count(vug_jv_get(usage, "completion_tokens"));
}

static vug_status take_chunk(vug_heard *h, const vug_jv *root, vug_err *err)
{
    VUG_TRY(check_error(h, root, err));
    const vug_jv *choices = vug_jv_get(root, "choices");
    if (vug_jv_is(choices, VUG_JSON_ARRAY))
        for (const vug_jv *c = choices->child; c; c = c->next)
            VUG_TRY(take_choice(h, c, err));
    take_usage(h, vug_jv_get(root, "usage"));
    return VUG_OK;
}

vug_status vug_heard_event(vug_heard *h, vug_str data, vug_err *err)
{
    if (h->done)
        return VUG_OK;
    h->done = vug_str_is(data, "[DONE]");
    if (h->done || !data.len)
        return VUG_OK;
    vug_arena arena = { .budget = VUG_HEARD_MAX_TREE };
    const vug_jv *root;
    vug_status st = vug_json_tree(data, h->name, &arena, &root, err);
    if (st == VUG_OK)
        st = take_chunk(h, root, err);
    vug_arena_release(&arena);
    return st;
}

void vug_heard_release(vug_heard *h)
{
    for (size_t i = 0; i < h->n_calls; i++) {
        vug_buf_release(&h->call[i].id);
        vug_buf_release(&h->call[i].name);
        vug_buf_release(&h->call[i].arguments);
    }
    vug_free(h->call);
    *h = (vug_heard){ 0 };
}

/* ---- models -------------------------------------------------------------------------- */

vug_status vug_heard_model(vug_str body, const char *name, vug_arena *arena, vug_str *out,
                           vug_err *err)
{
    const vug_jv *root;
    *out = (vug_str){ 0 };
    VUG_TRY(vug_json_tree(body, name, arena, &root, err));
    const vug_jv *data = vug_jv_get(root, "data");
    const vug_jv *first = vug_jv_is(data, VUG_JSON_ARRAY) ? data->child : NULL;
    const vug_str id = text_of(vug_jv_get(first, "id"));
    if (!id.len)
        return VUG_FAIL(err, VUG_FORMAT, "%s lists no model; --model NAME says which to ask", name);
    *out = vug_arena_copy(arena, id);
    return out->ptr ? VUG_OK : VUG_FAIL_NOMEM(err, "a name", id.len);
}
