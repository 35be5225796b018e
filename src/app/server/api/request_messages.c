#include "app/server/api/request_fields.h"

#include <stdlib.h>

/*
 * The reader of messages. All that can be wrong with one is said here, where its place is
 * known; what the template makes of them comes later.
 */

/* The calls of all messages, by id and then by place. */
typedef struct {
    vug_str id;
    size_t message;
} call_id;

typedef struct {
    vug_taker *t;
    vug_place at; /* messages[i] */
    size_t i;
    const vug_jv *message;
    vug_str role;
    size_t n_calls; /* of all messages so far */
} reader;

static bool is_role(const reader *r, const char *role)
{
    return vug_str_is(r->role, role);
}

static void check_role(reader *r)
{
    static const char *const roles[] = { "system",    "developer", "user",
                                         "assistant", "tool",      "function" };
    const vug_place at = vug_place_at("%s.role", r->at.text);
    const vug_jv *role = vug_member(r->message, "role");
    if (!vug_field_is(r->t, at.text, role, VUG_JSON_STRING))
        return;
    r->role = role->str;
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (is_role(r, roles[i]))
            return;
    }
    vug_refuse(r->t, at.text,
               "%s is '%.*s', expected system, developer, user, assistant, tool or function",
               at.text, VUG_STR_ARG(role->str));
}

/* ---- contents -------------------------------------------------------------------- */

/* Parts that a model of text can read; the types of others are named in the refusal. */
static void check_part(reader *r, const vug_place *at, const vug_jv *part)
{
    const vug_place type_at = vug_place_at("%s.type", at->text);
    if (!vug_field_is(r->t, at->text, part, VUG_JSON_OBJECT))
        return;
    const vug_jv *type = vug_member(part, "type");
    if (!vug_field_is(r->t, type_at.text, type, VUG_JSON_STRING))
        return;
    const bool refusal = vug_str_is(type->str, "refusal") && is_role(r, "assistant");
    const char *name = refusal ? "refusal" : "text";
    const vug_place text_at = vug_place_at("%s.%s", at->text, name);
    if (!refusal && !vug_str_is(type->str, "text"))
        vug_refuse(r->t, type_at.text,
                   "%s is '%.*s': parts of this type are not supported, only text is", type_at.text,
                   VUG_STR_ARG(type->str));
    else
        (void)vug_field_is(r->t, text_at.text, vug_member(part, name), VUG_JSON_STRING);
}

static void check_content(reader *r)
{
    const vug_place at = vug_place_at("%s.content", r->at.text);
    const vug_jv *content = vug_member(r->message, "content");
    const bool is_list = vug_jv_is(content, VUG_JSON_ARRAY);
    size_t i = 0;
    if (!content && !is_role(r, "assistant"))
        vug_refuse(r->t, at.text, "%s is missing", at.text);
    else if (content && !is_list && content->type != VUG_JSON_STRING)
        vug_refuse(r->t, at.text, "%s must be a string or a list of parts", at.text);
    else if (is_list && content->n > VUG_API_MAX_PARTS)
        vug_refuse(r->t, at.text, "%s has %zu parts, at most %d are read", at.text, content->n,
                   VUG_API_MAX_PARTS);
    for (const vug_jv *part = is_list ? content->child : NULL; part && !r->t->bad;
         part = part->next) {
        const vug_place part_at = vug_place_at("%s[%zu]", at.text, i++);
        check_part(r, &part_at, part);
    }
}

/* ---- calls ----------------------------------------------------------------------- */

/* {"name", "arguments"}: the text of an object, as a model wrote it and perhaps not to its
 * end, or an object. */
static void check_function(reader *r, const vug_place *at, const vug_jv *function)
{
    if (!vug_field_is(r->t, at->text, function, VUG_JSON_OBJECT))
        return;
    const vug_place name_at = vug_place_at("%s.name", at->text);
    const vug_place arguments_at = vug_place_at("%s.arguments", at->text);
    const vug_jv *name = vug_member(function, "name");
    const vug_jv *arguments = vug_member(function, "arguments");
    if (!vug_field_is(r->t, name_at.text, name, VUG_JSON_STRING))
        return;
    if (name->str.len == 0)
        vug_refuse(r->t, name_at.text, "%s is empty", name_at.text);
    if (arguments && arguments->type != VUG_JSON_STRING && arguments->type != VUG_JSON_OBJECT)
        vug_refuse(r->t, arguments_at.text, "%s must be a string or an object", arguments_at.text);
}

static void check_call(reader *r, const vug_place *at, const vug_jv *call)
{
    if (!vug_field_is(r->t, at->text, call, VUG_JSON_OBJECT))
        return;
    const vug_place id_at = vug_place_at("%s.id", at->text),
                    type_at = vug_place_at("%s.type", at->text),
                    function_at = vug_place_at("%s.function", at->text);
    const vug_jv *type = vug_member(call, "type");
    if (!vug_field_is(r->t, id_at.text, vug_member(call, "id"), VUG_JSON_STRING))
        return;
    if (type && vug_field_is(r->t, type_at.text, type, VUG_JSON_STRING) &&
        !vug_str_is(type->str, "function"))
        vug_refuse(r->t, type_at.text, "%s is '%.*s', only function is supported", type_at.text,
                   VUG_STR_ARG(type->str));
    check_function(r, &function_at, vug_member(call, "function"));
    r->n_calls++;
}

static void check_calls(reader *r)
{
    const vug_place at = vug_place_at("%s.tool_calls", r->at.text);
    const vug_place old_at = vug_place_at("%s.function_call", r->at.text);
    const vug_jv *calls = vug_member(r->message, "tool_calls");
    const vug_jv *old = vug_member(r->message, "function_call");
    size_t i = 0;
    if (old && !is_role(r, "assistant"))
        vug_refuse(r->t, old_at.text, "%s in a message of role %.*s", old_at.text,
                   VUG_STR_ARG(r->role));
    else if (old)
        check_function(r, &old_at, old);
    if (!calls || !vug_field_is(r->t, at.text, calls, VUG_JSON_ARRAY))
        return;
    if (calls->n > 0 && !is_role(r, "assistant"))
        vug_refuse(r->t, at.text, "%s in a message of role %.*s", at.text, VUG_STR_ARG(r->role));
    for (const vug_jv *call = calls->child; call && !r->t->bad; call = call->next) {
        const vug_place call_at = vug_place_at("%s[%zu]", at.text, i++);
        check_call(r, &call_at, call);
    }
}

/* ---- results --------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const call_id *x = a, *y = b;
    const int order = vug_str_compare(x->id, y->id);
    return order != 0 ? order : (x->message > y->message) - (x->message < y->message);
}

static void collect_ids(const vug_jv *messages, call_id *id)
{
    size_t n = 0, i = 0;
    for (const vug_jv *m = messages->child; m; m = m->next, i++) {
        const vug_jv *calls = vug_member(m, "tool_calls");
        for (const vug_jv *call = calls ? calls->child : NULL; call; call = call->next)
            id[n++] = (call_id){ vug_jv_get(call, "id")->str, i };
    }
}

/* Whether a call in front of the message `before` has that id. */
static bool was_called(const call_id *id, size_t n, vug_str which, size_t before)
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

/* Results are joined to calls by id: each needs one that was called before. */
static void check_results(vug_taker *t, const vug_jv *messages, size_t n_calls)
{
    call_id *id = vug_take_room(t, n_calls, sizeof(*id));
    size_t i = 0;
    if (!id)
        return;
    collect_ids(messages, id);
    qsort(id, n_calls, sizeof(*id), by_id);
    for (const vug_jv *m = messages->child; m && !t->bad; m = m->next, i++) {
        const vug_place at = vug_place_at("messages[%zu].tool_call_id", i);
        const vug_jv *which = vug_member(m, "tool_call_id");
        if (!vug_str_is(vug_jv_get(m, "role")->str, "tool"))
            continue;
        if (vug_field_is(t, at.text, which, VUG_JSON_STRING) &&
            !was_called(id, n_calls, which->str, i))
            vug_refuse(t, at.text, "%s is '%.*s', which no message before has in its tool_calls",
                       at.text, VUG_STR_ARG(which->str));
    }
}

/* ---- all of it ------------------------------------------------------------------- */

static void check_message(reader *r)
{
    static const char *const texts[] = { "name", "refusal", "reasoning_content", "reasoning" };
    if (!vug_field_is(r->t, r->at.text, r->message, VUG_JSON_OBJECT))
        return;
    check_role(r);
    check_content(r);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        vug_check_member(r->t, r->at.text, r->message, texts[i], VUG_JSON_STRING);
    check_calls(r);
}

void vug_take_messages(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_ARRAY))
        return;
    if (v->n == 0)
        vug_refuse(t, field->name, "messages is empty");
    else if (v->n > VUG_API_MAX_MESSAGES)
        vug_refuse(t, field->name, "messages has %zu entries, at most %d are read", v->n,
                   VUG_API_MAX_MESSAGES);
    reader r = { .t = t };
    for (const vug_jv *m = v->child; m && !t->bad; m = m->next) {
        r.at = vug_place_at("messages[%zu]", r.i++);
        r.message = m;
        check_message(&r);
    }
    if (!t->bad)
        check_results(t, v, r.n_calls);
    t->out->messages = v->str;
}
