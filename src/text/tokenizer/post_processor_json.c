#include "text/tokenizer/components.h"

/* The "post_processor" of a tokenizer.json: the tokens in front of a text and after it. */

/* Appends the ids of the special token `name` of the template. */
static void append_named_ids(vug_tokenizer_loader *l, const vug_jv *v, vug_str name,
                             vug_special_ids *to)
{
    const vug_jv *entry = vug_jv_get(v, "special_tokens");
    for (entry = entry ? entry->child : NULL; entry; entry = entry->next) {
        if (vug_str_equal(entry->key, name))
            break;
    }
    const vug_jv *ids = vug_jv_get(entry, "ids");
    if (!vug_jv_is(ids, VUG_JSON_ARRAY)) {
        vug_json_fail(&l->json, VUG_FORMAT, "post-processor: no \"ids\" for \"%.*s\"",
                      VUG_STR_ARG(name));
        return;
    }
    for (const vug_jv *e = ids->child; e; e = e->next) {
        if (!e->is_int || e->i64 < 0 || e->i64 >= VUG_MAX_IDS) {
            vug_json_fail(&l->json, VUG_FORMAT, "post-processor: \"%.*s\" has an invalid id",
                          VUG_STR_ARG(name));
            return;
        }
        if (vug_component_check_full(l, to->n, "post-processor"))
            return;
        to->id[to->n++] = (int32_t)e->i64;
    }
}

/* "single" lists the text itself, {"Sequence": {"id": "A"}}, and the tokens around it,
 * {"SpecialToken": {"id": NAME}}. */
static void read_template(vug_tokenizer_loader *l, const vug_jv *v)
{
    const vug_jv *single = vug_jv_get(v, "single");
    if (!vug_jv_is(single, VUG_JSON_ARRAY)) {
        vug_json_fail(&l->json, VUG_FORMAT, "post-processor TemplateProcessing lacks \"single\"");
        return;
    }
    if (l->t->prefix.n > 0 || l->t->suffix.n > 0) {
        vug_json_fail(&l->json, VUG_UNSUPPORTED,
                      "more than one post-processor that adds tokens is not supported");
        return;
    }
    int texts = 0;
    for (const vug_jv *e = single->child; e; e = e->next) {
        const vug_jv *token = vug_jv_get(e, "SpecialToken");
        const vug_jv *name = vug_jv_get(token ? token : vug_jv_get(e, "Sequence"), "id");
        if (!vug_jv_is(name, VUG_JSON_STRING) || (!token && !vug_str_is(name->str, "A"))) {
            vug_json_fail(&l->json, VUG_FORMAT,
                          "post-processor TemplateProcessing: \"single\" has an element that is "
                          "neither a SpecialToken nor the Sequence A");
            return;
        }
        if (token)
            append_named_ids(l, v, name->str, texts ? &l->t->suffix : &l->t->prefix);
        else
            texts++;
    }
    if (texts != 1)
        vug_json_fail(&l->json, VUG_FORMAT,
                      "post-processor TemplateProcessing: \"single\" has the Sequence A %d times",
                      texts);
}

/* For components that change offsets only, which vug does not have. */
static void ignore_component(vug_tokenizer_loader *l, const vug_jv *v)
{
    (void)l;
    (void)v;
}

void vug_tokenizer_load_post_processor(vug_tokenizer_loader *l, const vug_jv *v)
{
    static const vug_component rows[] = {
        { "TemplateProcessing", read_template },
        { "ByteLevel", ignore_component },
    };
    static const vug_component_kind kind = VUG_COMPONENTS("post-processor", "processors", rows);
    vug_components_read(l, &kind, v);
}
