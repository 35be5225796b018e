#include "app/server/api/request_fields.h"

/* Readers of whether a model is to think, and how much. */

static const struct {
    const char *name;
    vug_api_thinking thinking;
    int64_t tokens;
} efforts[] = {
    { "none", VUG_THINKING_OFF, -1 }, { "minimal", VUG_THINKING_ON, 256 },
    { "low", VUG_THINKING_ON, 1024 }, { "medium", VUG_THINKING_ON, 8192 },
    { "high", VUG_THINKING_ON, -1 },  { "xhigh", VUG_THINKING_ON, -1 },
    { "max", VUG_THINKING_ON, -1 },
};

void vug_take_effort(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_STRING))
        return;
    for (size_t i = 0; i < sizeof(efforts) / sizeof(efforts[0]); i++) {
        if (vug_str_is(v->str, efforts[i].name)) {
            t->out->thinking = efforts[i].thinking;
            t->thinking_tokens = efforts[i].tokens;
            return;
        }
    }
    vug_refuse(t, field->name,
               "reasoning_effort is '%.*s', expected none, minimal, low, medium or high",
               VUG_STR_ARG(v->str));
}

void vug_take_variables(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_OBJECT))
        return;
    t->out->variables = v->str;
    t->variables = v;
    const vug_jv *enable = vug_member(v, "enable_thinking");
    if (enable)
        (void)vug_field_is(t, "chat_template_kwargs.enable_thinking", enable, VUG_JSON_BOOL);
}

/* The request's own object, with enable_thinking as it was decided. */
static void put_enable(vug_taker *t, bool enable)
{
    vug_buf buf = { 0 };
    vug_buf_printf(&buf, "{\"enable_thinking\":%s", enable ? "true" : "false");
    for (const vug_jv *m = t->variables ? t->variables->child : NULL; m; m = m->next) {
        if (vug_str_is(m->key, "enable_thinking"))
            continue;
        vug_buf_puts(&buf, ",");
        vug_json_write_string(&buf, m->key.ptr, m->key.len);
        vug_buf_puts(&buf, ":");
        if (m->type == VUG_JSON_STRING)
            vug_json_write_string(&buf, m->str.ptr, m->str.len);
        else
            vug_buf_append(&buf, m->str.ptr, m->str.len);
    }
    vug_buf_puts(&buf, "}");
    t->out->variables = vug_take_copy(t, &buf);
}

/* As DeepSeek, GLM and others have it: {"type":"enabled","budget_tokens":N}. */
void vug_take_thinking(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_OBJECT))
        return;
    const vug_jv *type = vug_member(v, "type"), *budget = vug_member(v, "budget_tokens");
    if (type && vug_field_is(t, "thinking.type", type, VUG_JSON_STRING))
        t->thinking = vug_str_is(type->str, "enabled")    ? VUG_THINKING_ON
                      : vug_str_is(type->str, "disabled") ? VUG_THINKING_OFF
                                                          : VUG_THINKING_DEFAULT;
    if (budget && vug_field_whole(t, "thinking.budget_tokens", budget, -1, INT32_MAX))
        t->budget = budget;
}

/* The most tokens of it that any field allows; false where none says. */
static bool find_budget(const vug_taker *t, int64_t *tokens)
{
    static const vug_field_id names[] = { VUG_FIELD_thinking_budget,
                                          VUG_FIELD_thinking_token_budget,
                                          VUG_FIELD_thinking_budget_tokens,
                                          VUG_FIELD_reasoning_budget_tokens };
    bool found = t->budget != NULL;
    *tokens = t->budget ? (int64_t)t->budget->f64 : -1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const int64_t n = (int64_t)t->out->number[names[i]];
        if (!t->out->given[names[i]])
            continue;
        found = true;
        if (n >= 0 && (*tokens < 0 || n < *tokens))
            *tokens = n;
    }
    return found;
}

void vug_settle_thinking(vug_taker *t)
{
    vug_api_request *r = t->out;
    const vug_jv *own = vug_member(t->variables, "enable_thinking");
    const bool flag = r->given[VUG_FIELD_enable_thinking];
    const vug_api_thinking effort = r->thinking;
    if (own)
        r->thinking = own->boolean ? VUG_THINKING_ON : VUG_THINKING_OFF;
    else if (flag)
        r->thinking =
                r->number[VUG_FIELD_enable_thinking] != 0 ? VUG_THINKING_ON : VUG_THINKING_OFF;
    else if (t->thinking != VUG_THINKING_DEFAULT)
        r->thinking = t->thinking;
    const bool limited = find_budget(t, &r->thinking_tokens);
    const bool none = limited && r->thinking_tokens == 0;
    if (none)
        r->thinking = VUG_THINKING_OFF;
    else if (!limited && effort == VUG_THINKING_ON && r->thinking == VUG_THINKING_ON)
        r->thinking_tokens = t->thinking_tokens;
    if ((!own || none) && r->thinking != VUG_THINKING_DEFAULT)
        put_enable(t, r->thinking == VUG_THINKING_ON);
}
