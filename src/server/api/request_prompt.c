#include "server/api/internal.h"

/* Parsers of prompts and token lists. */

static void parse_token_prompt(vug_request_parser *p, const char *param, const vug_jv *list,
                               vug_api_prompt *out)
{
    *out = (vug_api_prompt){ .is_tokens = true };
    out->id = vug_request_parse_ids(p, param, list, &out->n);
}

static void parse_one_prompt(vug_request_parser *p, const char *param, const vug_jv *v,
                             vug_api_prompt *out)
{
    if (v->type == VUG_JSON_STRING)
        *out = (vug_api_prompt){ .text = v->str };
    else if (v->type == VUG_JSON_ARRAY && v->n > 0)
        parse_token_prompt(p, param, v, out);
    else
        vug_field_reject(
                p, param,
                "%s must be a string, a list of strings, a list of tokens or a list of lists of "
                "tokens, none of them empty",
                param);
}

static vug_api_prompt *alloc_prompts(vug_request_parser *p, size_t n)
{
    p->out->n_prompts = n;
    return p->out->prompt = vug_request_alloc(p, n, sizeof(vug_api_prompt));
}

void vug_request_parse_prompt(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    const vug_jv *first = v->type == VUG_JSON_ARRAY ? v->child : NULL;
    const bool is_list = first && first->type != VUG_JSON_NUMBER;
    const size_t n = is_list ? v->n : 1;
    if (n > VUG_API_MAX_PROMPTS) {
        vug_field_reject(p, field->name, "%s has %zu entries, at most %d are allowed", field->name,
                         n, VUG_API_MAX_PROMPTS);
        return;
    }
    vug_api_prompt *prompt = alloc_prompts(p, n);
    const vug_jv *item = is_list ? first : v;
    for (size_t i = 0; prompt && i < n && !p->bad; i++, item = item->next) {
        if (is_list && item->type != first->type)
            vug_field_reject(p, field->name, "%s mixes strings and lists of tokens", field->name);
        else
            parse_one_prompt(p, field->name, item, &prompt[i]);
    }
}

void vug_request_parse_content(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_STRING) || p->out->n_prompts > 0)
        return;
    vug_api_prompt *prompt = alloc_prompts(p, 1);
    if (prompt)
        prompt->text = v->str;
}

void vug_request_parse_tokens(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_ARRAY))
        return;
    vug_api_prompt *prompt = alloc_prompts(p, 1);
    if (prompt)
        parse_token_prompt(p, field->name, v, prompt);
}
