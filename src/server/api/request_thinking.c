#include "core/json_writer.h"
#include "server/api/internal.h"

/* Parsers of the fields that enable thinking and limit it. */

static const struct {
    const char *name;
    vug_api_thinking thinking;
    int64_t budget; /* tokens; -1: no limit */
} efforts[] = {
    { "none", VUG_THINKING_OFF, -1 }, { "minimal", VUG_THINKING_ON, 256 },
    { "low", VUG_THINKING_ON, 1024 }, { "medium", VUG_THINKING_ON, 8192 },
    { "high", VUG_THINKING_ON, -1 },  { "xhigh", VUG_THINKING_ON, -1 },
    { "max", VUG_THINKING_ON, -1 },
};

void vug_request_parse_reasoning_effort(vug_request_parser *p, const vug_field *field,
                                        const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_STRING))
        return;
    for (size_t i = 0; i < sizeof(efforts) / sizeof(efforts[0]); i++) {
        if (vug_str_is(v->str, efforts[i].name)) {
            p->out->thinking = efforts[i].thinking;
            p->effort_budget = efforts[i].budget;
            return;
        }
    }
    vug_field_reject(p, field->name,
                     "reasoning_effort is '%.*s', expected none, minimal, low, medium or high",
                     VUG_STR_ARG(v->str));
}

void vug_request_parse_template_variables(vug_request_parser *p, const vug_field *field,
                                          const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_OBJECT))
        return;
    p->out->template_variables = v->str;
    p->template_variables = v;
    const vug_jv *enable = vug_field_member(v, "enable_thinking");
    if (enable)
        (void)vug_field_expect(p, "chat_template_kwargs.enable_thinking", enable, VUG_JSON_BOOL);
}

/* Sets enable_thinking in the request's template variables. */
static void set_enable_thinking(vug_request_parser *p, bool enable)
{
    vug_buf buf = { 0 };
    vug_buf_printf(&buf, "{\"enable_thinking\":%s", enable ? "true" : "false");
    for (const vug_jv *m = p->template_variables ? p->template_variables->child : NULL; m;
         m = m->next) {
        if (vug_str_is(m->key, "enable_thinking"))
            continue;
        vug_buf_puts(&buf, ",");
        vug_json_append_string(&buf, m->key.ptr, m->key.len);
        vug_buf_puts(&buf, ":");
        if (m->type == VUG_JSON_STRING)
            vug_json_append_string(&buf, m->str.ptr, m->str.len);
        else
            vug_buf_append(&buf, m->str.ptr, m->str.len);
    }
    vug_buf_puts(&buf, "}");
    p->out->template_variables = vug_request_copy(p, &buf);
}

/* {"type":"enabled","budget_tokens":N}, as in the APIs of DeepSeek, GLM and others. */
void vug_request_parse_thinking(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_OBJECT))
        return;
    const vug_jv *type = vug_field_member(v, "type"),
                 *budget = vug_field_member(v, "budget_tokens");
    if (type && vug_field_expect(p, "thinking.type", type, VUG_JSON_STRING))
        p->thinking = vug_str_is(type->str, "enabled")    ? VUG_THINKING_ON
                      : vug_str_is(type->str, "disabled") ? VUG_THINKING_OFF
                                                          : VUG_THINKING_DEFAULT;
    if (budget && vug_field_integer(p, "thinking.budget_tokens", budget, -1, INT32_MAX))
        p->budget = budget;
}

/* The smallest budget of any field; false when no field sets one. */
static bool find_budget(const vug_request_parser *p, int64_t *tokens)
{
    static const vug_field_id names[] = { VUG_FIELD_thinking_budget,
                                          VUG_FIELD_thinking_token_budget,
                                          VUG_FIELD_thinking_budget_tokens,
                                          VUG_FIELD_reasoning_budget_tokens };
    bool found = p->budget != NULL;
    *tokens = p->budget ? (int64_t)p->budget->f64 : -1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const int64_t n = (int64_t)p->out->number[names[i]];
        if (!p->out->given[names[i]])
            continue;
        found = true;
        if (n >= 0 && (*tokens < 0 || n < *tokens))
            *tokens = n;
    }
    return found;
}

void vug_request_validate_thinking(vug_request_parser *p)
{
    vug_api_request *r = p->out;
    const vug_jv *own = vug_field_member(p->template_variables, "enable_thinking");
    const bool flag = r->given[VUG_FIELD_enable_thinking];
    const vug_api_thinking effort = r->thinking;
    if (own)
        r->thinking = own->boolean ? VUG_THINKING_ON : VUG_THINKING_OFF;
    else if (flag)
        r->thinking =
                r->number[VUG_FIELD_enable_thinking] != 0 ? VUG_THINKING_ON : VUG_THINKING_OFF;
    else if (p->thinking != VUG_THINKING_DEFAULT)
        r->thinking = p->thinking;
    const bool limited = find_budget(p, &r->thinking_budget);
    const bool no_budget = limited && r->thinking_budget == 0;
    if (no_budget)
        r->thinking = VUG_THINKING_OFF;
    else if (!limited && effort == VUG_THINKING_ON && r->thinking == VUG_THINKING_ON)
        r->thinking_budget = p->effort_budget;
    if ((!own || no_budget) && r->thinking != VUG_THINKING_DEFAULT)
        set_enable_thinking(p, r->thinking == VUG_THINKING_ON);
}
