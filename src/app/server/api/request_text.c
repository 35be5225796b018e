#include "app/server/api/request_fields.h"

/* Readers of what goes to the model as it stands: prompts, tokens. */

int32_t *vug_take_ids(vug_taker *t, const char *param, const vug_jv *list, size_t *n)
{
    int32_t *id = vug_take_room(t, list->n, sizeof(*id));
    size_t i = 0;
    for (const vug_jv *v = list->child; v && !t->bad; v = v->next) {
        if (vug_field_whole(t, param, v, 0, INT32_MAX))
            id[i++] = (int32_t)v->f64;
    }
    *n = list->n;
    return id;
}

static void read_ids(vug_taker *t, const char *param, const vug_jv *list, vug_api_prompt *out)
{
    *out = (vug_api_prompt){ .is_tokens = true };
    out->id = vug_take_ids(t, param, list, &out->n);
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
