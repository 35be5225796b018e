#include "text/tokenizer/components.h"

#include "core/text.h"

/* The normalizer, the post-processor and the decoder of a tokenizer.json; what splits a
 * text into words is in words_json.c. */

/* ---- normalizer ---------------------------------------------------------- */

static void add_normal(vug_loader *l, vug_normal_step step)
{
    vug_normalizer *to = &l->t->normalizer;
    if (!vug_component_full(l, to->n, "normalizer"))
        to->step[to->n++] = step;
}

static void normal_replace(vug_loader *l, const vug_jv *v)
{
    const vug_pattern pattern = vug_component_pattern(l, v, "normalizer Replace");
    add_normal(l, (vug_normal_step){
                          .kind = pattern.regex ? VUG_NORMAL_MATCHES : VUG_NORMAL_REPLACE,
                          .from = pattern.literal,
                          .regex = pattern.regex,
                          .to = vug_component_string(l, v, "normalizer Replace", "content") });
}

static void normal_prepend(vug_loader *l, const vug_jv *v)
{
    add_normal(l, (vug_normal_step){
                          .kind = VUG_NORMAL_PREPEND,
                          .to = vug_component_string(l, v, "normalizer Prepend", "prepend") });
}

static void normal_form(vug_loader *l, const vug_jv *v)
{
    static const char *const names[] = {
        [VUG_NFC] = "NFC", [VUG_NFD] = "NFD", [VUG_NFKC] = "NFKC", [VUG_NFKD] = "NFKD"
    };
    const vug_str type = vug_jv_get(v, "type")->str;
    for (int form = VUG_NFC; form <= VUG_NFKD; form++) {
        if (vug_str_is(type, names[form]))
            add_normal(l,
                       (vug_normal_step){ .kind = VUG_NORMAL_FORM, .form = (vug_normal_form)form });
    }
}

static void normal_lowercase(vug_loader *l, const vug_jv *v)
{
    (void)v;
    add_normal(l, (vug_normal_step){ .kind = VUG_NORMAL_LOWERCASE });
}

static void normal_strip_accents(vug_loader *l, const vug_jv *v)
{
    (void)v;
    add_normal(l, (vug_normal_step){ .kind = VUG_NORMAL_UNMARK });
}

static void normal_strip(vug_loader *l, const vug_jv *v)
{
    add_normal(l, (vug_normal_step){
                          .kind = VUG_NORMAL_STRIP,
                          .left = vug_component_flag(l, v, "normalizer Strip", "strip_left", true),
                          .right = vug_component_flag(l, v, "normalizer Strip", "strip_right",
                                                      true) });
}

static void normal_bytes(vug_loader *l, const vug_jv *v)
{
    (void)v;
    add_normal(l, (vug_normal_step){ .kind = VUG_NORMAL_BYTES });
}

void vug_load_normalizer(vug_loader *l, const vug_jv *v)
{
    static const vug_component rows[] = {
        { "Replace", normal_replace },
        { "Prepend", normal_prepend },
        { "NFC", normal_form },
        { "NFD", normal_form },
        { "NFKC", normal_form },
        { "NFKD", normal_form },
        { "Lowercase", normal_lowercase },
        { "StripAccents", normal_strip_accents },
        { "Strip", normal_strip },
        { "ByteLevel", normal_bytes },
    };
    static const vug_component_kind kind = VUG_COMPONENTS("normalizer", "normalizers", rows);
    vug_read_components(l, &kind, v);
}

/* ---- post-processor ------------------------------------------------------ */

/* The ids that the template's name `id` stands for. */
static void add_named(vug_loader *l, const vug_jv *v, vug_str name, vug_few_ids *to)
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
            vug_json_fail(&l->json, VUG_FORMAT, "post-processor: \"%.*s\" has an impossible id",
                          VUG_STR_ARG(name));
            return;
        }
        if (vug_component_full(l, to->n, "post-processor"))
            return;
        to->id[to->n++] = (int32_t)e->i64;
    }
}

/* "single" is a list of the text itself, {"Sequence": {"id": "A"}}, and of tokens
 * around it, {"SpecialToken": {"id": NAME}}. */
static void post_template(vug_loader *l, const vug_jv *v)
{
    const vug_jv *single = vug_jv_get(v, "single");
    if (!vug_jv_is(single, VUG_JSON_ARRAY)) {
        vug_json_fail(&l->json, VUG_FORMAT, "post-processor TemplateProcessing lacks \"single\"");
        return;
    }
    if (l->t->before.n > 0 || l->t->after.n > 0) {
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
            add_named(l, v, name->str, texts ? &l->t->after : &l->t->before);
        else
            texts++;
    }
    if (texts != 1)
        vug_json_fail(&l->json, VUG_FORMAT,
                      "post-processor TemplateProcessing: \"single\" has the Sequence A %d times",
                      texts);
}

/* {"sep": ["</s>", 2], "cls": ["<s>", 0]} */
static void post_pair(vug_loader *l, const vug_jv *v)
{
    static const char *const keys[] = { "cls", "sep" };
    vug_few_ids *const to[] = { &l->t->before, &l->t->after };
    for (int i = 0; i < 2; i++) {
        const vug_jv *list = vug_jv_get(v, keys[i]);
        const vug_jv *token = vug_jv_is(list, VUG_JSON_ARRAY) ? list->child : NULL;
        const vug_jv *id = token ? token->next : NULL;
        if (!id || id->next || !id->is_int || id->i64 < 0 || id->i64 >= VUG_MAX_IDS)
            vug_json_fail(&l->json, VUG_FORMAT, "post-processor: \"%s\" is no token with its id",
                          keys[i]);
        else if (to[i]->n > 0)
            vug_json_fail(&l->json, VUG_UNSUPPORTED,
                          "more than one post-processor that adds tokens is not supported");
        else
            to[i]->id[to[i]->n++] = (int32_t)id->i64;
    }
}

/* Offsets, which nobody asks for. */
static void post_nothing(vug_loader *l, const vug_jv *v)
{
    (void)l;
    (void)v;
}

void vug_load_post_processor(vug_loader *l, const vug_jv *v)
{
    static const vug_component rows[] = {
        { "TemplateProcessing", post_template },
        { "RobertaProcessing", post_pair },
        { "BertProcessing", post_pair },
        { "ByteLevel", post_nothing },
    };
    static const vug_component_kind kind = VUG_COMPONENTS("post-processor", "processors", rows);
    vug_read_components(l, &kind, v);
}

/* ---- decoder ------------------------------------------------------------- */

/* What acts on single tokens comes before what makes bytes of them, or one text. */
static void add_decode(vug_loader *l, const char *name, vug_decode_step step)
{
    vug_decoding *to = &l->t->decoding;
    if (to->byte_fallback || to->byte_level || to->fused)
        vug_json_fail(&l->json, VUG_UNSUPPORTED,
                      "decoder %s after ByteFallback, ByteLevel or Fuse is not supported", name);
    else if (!vug_component_full(l, to->n, "decoder"))
        to->step[to->n++] = step;
}

static void decode_replace(vug_loader *l, const vug_jv *v)
{
    const vug_pattern pattern = vug_component_pattern(l, v, "decoder Replace");
    add_decode(l, "Replace",
               (vug_decode_step){ .kind = pattern.regex ? VUG_DECODE_MATCHES : VUG_DECODE_REPLACE,
                                  .from = pattern.literal,
                                  .regex = pattern.regex,
                                  .to = vug_component_string(l, v, "decoder Replace", "content") });
}

static void decode_metaspace(vug_loader *l, const vug_jv *v)
{
    static const vug_str space = { " ", 1 };
    const vug_metaspace m = vug_component_metaspace(l, v, "decoder Metaspace");
    if (m.prepend)
        add_decode(l, "Metaspace",
                   (vug_decode_step){ .kind = VUG_DECODE_DROP_FIRST, .from = m.replacement });
    add_decode(l, "Metaspace",
               (vug_decode_step){ .kind = VUG_DECODE_REPLACE, .from = m.replacement, .to = space });
}

static void decode_bytes(vug_loader *l, const vug_jv *v)
{
    (void)v;
    if (l->t->decoding.fused)
        vug_json_fail(&l->json, VUG_UNSUPPORTED,
                      "decoder ByteFallback after Fuse is not supported");
    l->t->decoding.byte_fallback = true;
}

/* It fuses, too. */
static void decode_byte_level(vug_loader *l, const vug_jv *v)
{
    (void)v;
    if (l->t->decoding.fused || l->t->decoding.byte_fallback)
        vug_json_fail(&l->json, VUG_UNSUPPORTED,
                      "decoder ByteLevel after ByteFallback, ByteLevel or Fuse is not supported");
    l->t->decoding.byte_level = true;
    l->t->decoding.fused = true;
}

static void decode_fuse(vug_loader *l, const vug_jv *v)
{
    (void)v;
    l->t->decoding.fused = true;
}

static uint32_t count_of(vug_loader *l, const vug_jv *v, const char *key)
{
    const vug_jv *member = vug_jv_get(v, key);
    if (vug_jv_is(member, VUG_JSON_NUMBER) && member->is_int && member->i64 >= 0 &&
        member->i64 <= INT32_MAX)
        return (uint32_t)member->i64;
    vug_json_fail(&l->json, VUG_FORMAT, "decoder Strip: \"%s\" is no count", key);
    return 0;
}

static void decode_strip(vug_loader *l, const vug_jv *v)
{
    vug_decoding *to = &l->t->decoding;
    const vug_decode_step step = { .kind = VUG_DECODE_STRIP,
                                   .from = vug_component_string(l, v, "decoder Strip", "content"),
                                   .start = count_of(l, v, "start"),
                                   .stop = count_of(l, v, "stop") };
    uint32_t cp;
    if (vug_utf8_next(step.from.ptr, step.from.len, &cp) != step.from.len || step.from.len == 0)
        vug_json_fail(&l->json, VUG_FORMAT, "decoder Strip: \"content\" is no single character");
    else if (!to->fused && to->byte_fallback)
        vug_json_fail(&l->json, VUG_UNSUPPORTED,
                      "decoder Strip between ByteFallback and Fuse is not supported");
    else if (to->strips)
        vug_json_fail(&l->json, VUG_UNSUPPORTED,
                      "more than one decoder Strip after Fuse is not supported");
    else if (!to->fused)
        add_decode(l, "Strip", step);
    else
        to->strip = step, to->strips = true;
}

void vug_load_decoder(vug_loader *l, const vug_jv *v)
{
    static const vug_component rows[] = {
        { "Replace", decode_replace },      { "Metaspace", decode_metaspace },
        { "ByteFallback", decode_bytes },   { "Fuse", decode_fuse },
        { "ByteLevel", decode_byte_level }, { "Strip", decode_strip },
    };
    static const vug_component_kind kind = VUG_COMPONENTS("decoder", "decoders", rows);
    vug_read_components(l, &kind, v);
    l->t->decoding.spaced = vug_jv_is(v, VUG_JSON_NULL);
}
