#include "app/server/request_fields.h"

#include <stdio.h>

/* Readers of what goes to the model: messages, prompts, tokens. */

/* Parts that a model of text can read; the types of others are named in the refusal. */
static bool is_text_part(vug_str type)
{
    return vug_str_is(type, "text") || vug_str_is(type, "refusal");
}

static void check_part(vug_taker *t, const char *param, const vug_jv *part)
{
    if (part->type == VUG_JSON_STRING)
        return;
    if (part->type != VUG_JSON_OBJECT) {
        vug_refuse(t, param, "%s must be an object with a type", param);
        return;
    }
    const vug_jv *type = vug_member(part, "type");
    if (!vug_jv_is(type, VUG_JSON_STRING))
        vug_refuse(t, param, "%s has no type", param);
    else if (!is_text_part(type->str))
        vug_refuse(t, param, "%s: parts of type %.*s are not supported, only text is", param,
                   VUG_STR_ARG(type->str));
    else if (!vug_jv_is(vug_jv_get(part, type->str.len == 4 ? "text" : "refusal"), VUG_JSON_STRING))
        vug_refuse(t, param, "%s needs its %.*s as a string", param, VUG_STR_ARG(type->str));
}

static void check_content(vug_taker *t, size_t i, const vug_jv *content)
{
    char param[sizeof(t->error->param)];
    size_t p = 0;
    (void)snprintf(param, sizeof(param), "messages[%zu].content", i);
    if (content->type == VUG_JSON_STRING)
        return;
    if (content->type != VUG_JSON_ARRAY)
        vug_refuse(t, param, "%s must be a string, null or a list of parts", param);
    else if (content->n > VUG_API_MAX_PARTS)
        vug_refuse(t, param, "%s has %zu parts, at most %d are read", param, content->n,
                   VUG_API_MAX_PARTS);
    for (const vug_jv *part = content->child; part && !t->bad; part = part->next) {
        (void)snprintf(param, sizeof(param), "messages[%zu].content[%zu]", i, p++);
        check_part(t, param, part);
    }
}

static void check_message(vug_taker *t, size_t i, const vug_jv *message)
{
    static const char *const roles[] = { "system",    "developer", "user",
                                         "assistant", "tool",      "function" };
    char param[sizeof(t->error->param)];
    (void)snprintf(param, sizeof(param), "messages[%zu]", i);
    if (!vug_field_is(t, param, message, VUG_JSON_OBJECT))
        return;
    (void)snprintf(param, sizeof(param), "messages[%zu].role", i);
    const vug_jv *role = vug_member(message, "role");
    if (!vug_field_is(t, param, role, VUG_JSON_STRING))
        return;
    size_t r = 0;
    while (r < sizeof(roles) / sizeof(roles[0]) && !vug_str_is(role->str, roles[r]))
        r++;
    if (r == sizeof(roles) / sizeof(roles[0]))
        vug_refuse(t, param,
                   "%s is '%.*s', expected system, developer, user, assistant, tool or function",
                   param, VUG_STR_ARG(role->str));
    const vug_jv *content = vug_member(message, "content");
    if (content)
        check_content(t, i, content);
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
    size_t i = 0;
    for (const vug_jv *m = v->child; m && !t->bad; m = m->next)
        check_message(t, i++, m);
    t->out->messages = v->str;
}

/* ---- prompts ------------------------------------------------------------------- */

static void read_ids(vug_taker *t, const char *param, const vug_jv *list, vug_api_prompt *out)
{
    *out = (vug_api_prompt){ .is_tokens = true, .n = list->n };
    out->id = vug_take_room(t, list->n, sizeof(*out->id));
    size_t i = 0;
    for (const vug_jv *v = list->child; v && !t->bad; v = v->next) {
        if (vug_field_whole(t, param, v, 0, INT32_MAX))
            out->id[i++] = (int32_t)v->f64;
    }
}

static void read_prompt(vug_taker *t, const char *param, const vug_jv *v, vug_api_prompt *out)
{
    if (v->type == VUG_JSON_STRING)
        *out = (vug_api_prompt){ .text = v->str };
    else if (v->type == VUG_JSON_ARRAY && v->n > 0)
        read_ids(t, param, v, out);
    else
        vug_refuse(t, param,
                   "%s must be a string, a list of strings, a list of tokens or a list of lists of "
                   "tokens, none of them empty",
                   param);
}

static vug_api_prompt *make_prompts(vug_taker *t, size_t n)
{
    t->out->n_prompts = n;
    return t->out->prompt = vug_take_room(t, n, sizeof(vug_api_prompt));
}

void vug_take_prompt(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    const vug_jv *first = v->type == VUG_JSON_ARRAY ? v->child : NULL;
    const bool is_list = first && first->type != VUG_JSON_NUMBER;
    const size_t n = is_list ? v->n : 1;
    if (n > VUG_API_MAX_PROMPTS) {
        vug_refuse(t, field->name, "prompt has %zu entries, at most %d are taken", n,
                   VUG_API_MAX_PROMPTS);
        return;
    }
    vug_api_prompt *prompt = make_prompts(t, n);
    const vug_jv *item = is_list ? first : v;
    for (size_t i = 0; prompt && i < n && !t->bad; i++, item = item->next) {
        if (is_list && item->type != first->type)
            vug_refuse(t, field->name, "prompt mixes strings and lists of tokens");
        else
            read_prompt(t, field->name, item, &prompt[i]);
    }
}

void vug_take_content(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_STRING) || t->out->n_prompts > 0)
        return;
    vug_api_prompt *prompt = make_prompts(t, 1);
    if (prompt)
        prompt->text = v->str;
}

void vug_take_tokens(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_ARRAY))
        return;
    vug_api_prompt *prompt = make_prompts(t, 1);
    if (prompt)
        read_ids(t, field->name, v, prompt);
}
