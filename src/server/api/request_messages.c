#include "server/api/internal.h"

#include <stdlib.h>

/* Checks messages completely here, where error messages can name the place; the template renders
 * them later. */

/* A tool call; sorted by id, then by message. */
typedef struct {
    vug_str id;
    size_t message;
} tool_call_id;

typedef struct {
    vug_request_parser *p;
    vug_field_path at; /* messages[i] */
    size_t i;
    const vug_jv *message;
    vug_str role;
    size_t n_calls; /* in all messages so far */
} message_parser;

static bool is_role(const message_parser *r, const char *role)
{
    return vug_str_is(r->role, role);
}

static void check_role(message_parser *r)
{
    static const char *const roles[] = { "system",    "developer", "user",
                                         "assistant", "tool",      "function" };
    const vug_field_path at = vug_field_path_at("%s.role", r->at.text);
    const vug_jv *role = vug_field_require(r->p, r->at.text, r->message, "role", VUG_JSON_STRING);
    if (!role)
        return;
    r->role = role->str;
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (is_role(r, roles[i]))
            return;
    }
    vug_field_reject(r->p, at.text,
                     "%s is '%.*s', expected system, developer, user, assistant, tool or function",
                     at.text, VUG_STR_ARG(role->str));
}

/* ---- contents -------------------------------------------------------------------- */

/* Only text is supported. */
static void check_part(message_parser *r, const vug_field_path *at, const vug_jv *part)
{
    const vug_field_path type_at = vug_field_path_at("%s.type", at->text);
    if (!vug_field_expect(r->p, at->text, part, VUG_JSON_OBJECT))
        return;
    const vug_jv *type = vug_field_require(r->p, at->text, part, "type", VUG_JSON_STRING);
    if (!type)
        return;
    const bool refusal = vug_str_is(type->str, "refusal") && is_role(r, "assistant");
    if (!refusal && !vug_str_is(type->str, "text"))
        vug_field_reject(r->p, type_at.text,
                         "%s is '%.*s': parts of this type are not supported, only text is",
                         type_at.text, VUG_STR_ARG(type->str));
    else
        (void)vug_field_require(r->p, at->text, part, refusal ? "refusal" : "text",
                                VUG_JSON_STRING);
}

static void check_content(message_parser *r)
{
    const vug_field_path at = vug_field_path_at("%s.content", r->at.text);
    const vug_jv *content = vug_field_member(r->message, "content");
    const bool is_list = vug_jv_is(content, VUG_JSON_ARRAY);
    size_t i = 0;
    if (!content && !is_role(r, "assistant"))
        vug_field_reject(r->p, at.text, "%s is missing", at.text);
    else if (content && !is_list && content->type != VUG_JSON_STRING)
        vug_field_reject(r->p, at.text, "%s must be a string or a list of parts", at.text);
    else if (is_list && content->n > VUG_API_MAX_PARTS)
        vug_field_reject(r->p, at.text, "%s has %zu parts, at most %d are allowed", at.text,
                         content->n, VUG_API_MAX_PARTS);
    for (const vug_jv *part = is_list ? content->child : NULL; part && !r->p->bad;
         part = part->next) {
        const vug_field_path part_at = vug_field_path_at("%s[%zu]", at.text, i++);
        check_part(r, &part_at, part);
    }
}

/* ---- calls ----------------------------------------------------------------------- */

/* {"name", "arguments"}: the arguments are an object or the text of one, which may be truncated. */
static void check_function(message_parser *r, const vug_field_path *at, const vug_jv *function)
{
    if (!vug_field_expect(r->p, at->text, function, VUG_JSON_OBJECT))
        return;
    const vug_field_path name_at = vug_field_path_at("%s.name", at->text);
    const vug_field_path arguments_at = vug_field_path_at("%s.arguments", at->text);
    const vug_jv *name = vug_field_require(r->p, at->text, function, "name", VUG_JSON_STRING);
    const vug_jv *arguments = vug_field_member(function, "arguments");
    if (!name)
        return;
    if (name->str.len == 0)
        vug_field_reject(r->p, name_at.text, "%s is empty", name_at.text);
    if (arguments && arguments->type != VUG_JSON_STRING && arguments->type != VUG_JSON_OBJECT)
        vug_field_reject(r->p, arguments_at.text, "%s must be a string or an object",
                         arguments_at.text);
}

static void check_call(message_parser *r, const vug_field_path *at, const vug_jv *call)
{
    if (!vug_field_expect(r->p, at->text, call, VUG_JSON_OBJECT))
        return;
    const vug_field_path type_at = vug_field_path_at("%s.type", at->text);
    const vug_field_path function_at = vug_field_path_at("%s.function", at->text);
    const vug_jv *type = vug_field_member(call, "type");
    if (!vug_field_require(r->p, at->text, call, "id", VUG_JSON_STRING))
        return;
    if (type && vug_field_expect(r->p, type_at.text, type, VUG_JSON_STRING) &&
        !vug_str_is(type->str, "function"))
        vug_field_reject(r->p, type_at.text, "%s is '%.*s', only function is supported",
                         type_at.text, VUG_STR_ARG(type->str));
    check_function(r, &function_at, vug_field_member(call, "function"));
    r->n_calls++;
}

static void check_calls(message_parser *r)
{
    const vug_field_path at = vug_field_path_at("%s.tool_calls", r->at.text);
    const vug_field_path old_at = vug_field_path_at("%s.function_call", r->at.text);
    const vug_jv *calls = vug_field_member(r->message, "tool_calls");
    const vug_jv *old = vug_field_member(r->message, "function_call");
    size_t i = 0;
    if (old && !is_role(r, "assistant"))
        vug_field_reject(r->p, old_at.text, "%s is not allowed in a message of role %.*s",
                         old_at.text, VUG_STR_ARG(r->role));
    else if (old)
        check_function(r, &old_at, old);
    if (!calls || !vug_field_expect(r->p, at.text, calls, VUG_JSON_ARRAY))
        return;
    if (calls->n > 0 && !is_role(r, "assistant"))
        vug_field_reject(r->p, at.text, "%s is not allowed in a message of role %.*s", at.text,
                         VUG_STR_ARG(r->role));
    for (const vug_jv *call = calls->child; call && !r->p->bad; call = call->next) {
        const vug_field_path call_at = vug_field_path_at("%s[%zu]", at.text, i++);
        check_call(r, &call_at, call);
    }
}

/* ---- results --------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const tool_call_id *x = a, *y = b;
    const int order = vug_str_compare(x->id, y->id);
    return order != 0 ? order : (x->message > y->message) - (x->message < y->message);
}

static void collect_ids(const vug_jv *messages, tool_call_id *id)
{
    size_t n = 0, i = 0;
    for (const vug_jv *m = messages->child; m; m = m->next, i++) {
        const vug_jv *calls = vug_field_member(m, "tool_calls");
        for (const vug_jv *call = calls ? calls->child : NULL; call; call = call->next)
            id[n++] = (tool_call_id){ vug_jv_get(call, "id")->str, i };
    }
}

/* Whether a message before index `before` has a call of that id. */
static bool was_called(const tool_call_id *id, size_t n, vug_str which, size_t before)
{
    size_t from = 0, to = n;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (vug_str_compare(id[middle].id, which) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from < n && vug_str_equal(id[from].id, which) && id[from].message < before;
}

/* Each result must have the id of an earlier call. */
static void check_results(vug_request_parser *p, const vug_jv *messages, size_t n_calls)
{
    tool_call_id *id = vug_request_alloc(p, n_calls, sizeof(*id));
    size_t i = 0;
    if (!id)
        return;
    collect_ids(messages, id);
    qsort(id, n_calls, sizeof(*id), by_id);
    for (const vug_jv *m = messages->child; m && !p->bad; m = m->next, i++) {
        const vug_field_path at = vug_field_path_at("messages[%zu].tool_call_id", i);
        const vug_jv *which = vug_field_member(m, "tool_call_id");
        if (!vug_str_is(vug_jv_get(m, "role")->str, "tool"))
            continue;
        if (vug_field_expect(p, at.text, which, VUG_JSON_STRING) &&
            !was_called(id, n_calls, which->str, i))
            vug_field_reject(p, at.text,
                             "%s is '%.*s', which no earlier message has in its tool_calls",
                             at.text, VUG_STR_ARG(which->str));
    }
}

/* ---- messages -------------------------------------------------------------------- */

static void check_message(message_parser *r)
{
    static const char *const texts[] = { "name", "refusal", "reasoning_content", "reasoning" };
    if (!vug_field_expect(r->p, r->at.text, r->message, VUG_JSON_OBJECT))
        return;
    check_role(r);
    check_content(r);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        vug_field_check_member(r->p, r->at.text, r->message, texts[i], VUG_JSON_STRING);
    check_calls(r);
}

void vug_request_parse_messages(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_ARRAY))
        return;
    if (v->n == 0)
        vug_field_reject(p, field->name, "messages is empty");
    else if (v->n > VUG_API_MAX_MESSAGES)
        vug_field_reject(p, field->name, "messages has %zu entries, at most %d are allowed", v->n,
                         VUG_API_MAX_MESSAGES);
    message_parser r = { .p = p };
    for (const vug_jv *m = v->child; m && !p->bad; m = m->next) {
        r.at = vug_field_path_at("messages[%zu]", r.i++);
        r.message = m;
        check_message(&r);
    }
    if (!p->bad)
        check_results(p, v, r.n_calls);
    p->out->messages = v->str;
    p->messages = v;
}

/* ---- a beginning of the answer ---------------------------------------------------- */

/* The text of a content: a string or a list of text parts. */
static vug_str content_text(vug_request_parser *p, const vug_jv *content)
{
    vug_buf text = { 0 };
    if (!vug_jv_is(content, VUG_JSON_ARRAY))
        return content ? content->str : (vug_str){ 0 };
    for (const vug_jv *part = content->child; part; part = part->next) {
        const vug_jv *t = vug_field_member(part, "text");
        if (t)
            vug_buf_append(&text, t->str.ptr, t->str.len);
    }
    return text.len || text.bad ? vug_request_copy(p, &text) : (vug_str){ 0 };
}

/* The messages without the last one, as JSON. */
static vug_str drop_last(vug_request_parser *p, const vug_jv *messages)
{
    const vug_jv *before = messages->child;
    vug_buf text = { 0 };
    while (before->next->next)
        before = before->next;
    vug_buf_append(&text, messages->str.ptr,
                   (size_t)(before->str.ptr + before->str.len - messages->str.ptr));
    vug_buf_puts(&text, "]");
    return vug_request_copy(p, &text);
}

/* A last message of the assistant is the beginning of the answer, unless it calls tools or a field
 * says otherwise. */
void vug_request_validate_prefill(vug_request_parser *p)
{
    vug_api_request *r = p->out;
    const bool wanted = r->number[VUG_FIELD_continue_final_message] != 0;
    const bool unwanted =
            (r->given[VUG_FIELD_continue_final_message] || r->no_generation_prompt) && !wanted;
    if (!p->messages || p->messages->n < 2 || unwanted || p->bad) {
        if (wanted)
            vug_field_reject(p, "continue_final_message",
                             "continue_final_message needs a message before the last one");
        return;
    }
    const vug_jv *last = p->messages->child;
    while (last->next)
        last = last->next;
    const vug_jv *calls = vug_field_member(last, "tool_calls");
    const bool is_text = vug_str_is(vug_jv_get(last, "role")->str, "assistant") &&
                         !(calls && calls->n) && !vug_field_member(last, "function_call");
    const vug_str text =
            is_text ? content_text(p, vug_field_member(last, "content")) : (vug_str){ 0 };
    if (text.len > 0) {
        r->prefill = text;
        r->messages = drop_last(p, p->messages);
        r->no_generation_prompt = false;
    } else if (wanted) {
        vug_field_reject(p, "continue_final_message",
                         "continue_final_message: the last message must be of the role assistant, "
                         "with content and without tool_calls");
    }
}
