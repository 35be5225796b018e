#include "server/api/internal.h"

/* Requests to fill a gap: /infill, and /v1/completions with a suffix. */

static vug_api_prompt *add_prompt(vug_request_parser *p)
{
    p->out->n_prompts = 1;
    return p->out->prompt = vug_request_alloc(p, 1, sizeof(vug_api_prompt));
}

void vug_request_parse_infill_text(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    vug_api_request *r = p->out;
    if (!vug_field_expect(p, field->name, v, VUG_JSON_STRING))
        return;
    if (field->id == VUG_FIELD_input_prefix) {
        r->prefix = v->str;
    } else if (field->id == VUG_FIELD_infill_prompt) {
        vug_api_prompt *prompt = add_prompt(p);
        if (prompt)
            prompt->text = v->str;
    } else {
        r->suffix = v->str;
    }
}

void vug_request_parse_input_extra(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_ARRAY))
        return;
    if (v->n > VUG_API_MAX_FILES) {
        vug_field_reject(p, field->name, "input_extra has %zu files, at most %d are allowed", v->n,
                         VUG_API_MAX_FILES);
        return;
    }
    vug_api_file *file = p->out->file = vug_request_alloc(p, v->n, sizeof(*file));
    for (const vug_jv *m = v->child; m && file && !p->bad; m = m->next) {
        if (!vug_field_expect(p, "input_extra[]", m, VUG_JSON_OBJECT))
            return;
        const vug_jv *text = vug_field_require(p, "input_extra[]", m, "text", VUG_JSON_STRING);
        const vug_jv *name = vug_field_member(m, "filename");
        if (!text ||
            (name && !vug_field_expect(p, "input_extra[].filename", name, VUG_JSON_STRING)))
            return;
        file[p->out->n_files++] =
                (vug_api_file){ .name = name ? name->str : vug_str_of("file"), .text = text->str };
    }
}

/* The prompt of a completion is the text before the gap. */
static void take_prefix(vug_request_parser *p)
{
    vug_api_request *r = p->out;
    if (r->n_prompts != 1 || r->prompt[0].is_tokens) {
        vug_field_reject(p, "prompt", "prompt must be one string if there is a suffix");
        return;
    }
    r->prefix = r->prompt[0].text;
    r->prompt[0].text = (vug_str){ 0 };
}

void vug_request_validate_infill(vug_request_parser *p)
{
    vug_api_request *r = p->out;
    const bool has_suffix = r->endpoint != VUG_API_INFILL && r->suffix.len > 0;
    r->infill = r->endpoint == VUG_API_INFILL || has_suffix;
    if (!r->infill || p->bad)
        return;
    if (r->echo)
        vug_field_reject(p, "echo", "echo is not available for a gap that is filled");
    if (r->given[VUG_FIELD_truncate_prompt_tokens])
        vug_field_reject(p, "truncate_prompt_tokens",
                         "truncate_prompt_tokens is not available for a gap that is filled");
    if (has_suffix)
        take_prefix(p);
    else if (r->n_prompts == 0)
        (void)add_prompt(p);
}
