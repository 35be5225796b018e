#include "text/tokenizer.h"

#include "core/text.h"

/*
 * The small members of a tokenizer.json around its model. Each is null, one
 * component {"type": ...} or a Sequence of them, and each kind that is supported
 * is a row. A kind, or an option of a kind, that is declared and not supported is
 * an error that names it: ignoring it would give other ids than the model was
 * trained with.
 */

typedef void read_component(vug_loader *l, const vug_jv *v);

typedef struct {
    const char *type;
    read_component *read;
} component;

typedef struct {
    const char *what; /* for sentences */
    const char *list; /* member of a Sequence that holds the components */
    const component *row;
    size_t n_rows;
} component_kind;

#define KIND(what, list, rows)                           \
    {                                                    \
        what, list, rows, sizeof(rows) / sizeof(*(rows)) \
    }

static void read_components(vug_loader *l, const component_kind *kind, const vug_jv *v)
{
    if (!vug_json_ok(&l->json) || vug_jv_is(v, VUG_JSON_NULL))
        return;
    const vug_jv *type = vug_jv_get(v, "type");
    if (!vug_jv_is(type, VUG_JSON_STRING)) {
        vug_json_fail(&l->json, VUG_FORMAT, "the %s is no object with a \"type\"", kind->what);
        return;
    }
    if (vug_str_is(type->str, "Sequence")) {
        const vug_jv *list = vug_jv_get(v, kind->list);
        if (!vug_jv_is(list, VUG_JSON_ARRAY)) {
            vug_json_fail(&l->json, VUG_FORMAT, "the %s Sequence lacks its list \"%s\"", kind->what,
                          kind->list);
            return;
        }
        for (const vug_jv *e = list->child; e; e = e->next)
            read_components(l, kind, e);
        return;
    }
    for (size_t i = 0; i < kind->n_rows; i++) {
        if (vug_str_is(type->str, kind->row[i].type)) {
            kind->row[i].read(l, v);
            return;
        }
    }
    vug_json_fail(&l->json, VUG_UNSUPPORTED, "the %s \"%.*s\" is not supported", kind->what,
                  VUG_STR_ARG(type->str));
}

/* A string member; empty, with a failure, where there is none. */
static vug_str string_of(vug_loader *l, const vug_jv *v, const char *of, const char *key)
{
    const vug_jv *member = vug_jv_get(v, key);
    if (vug_jv_is(member, VUG_JSON_STRING) && member->str.len <= VUG_STEP_MAX_BYTES)
        return vug_load_copy(l, member->str);
    vug_json_fail(&l->json, VUG_FORMAT, "%s: \"%s\" is no string of at most %d bytes", of, key,
                  VUG_STEP_MAX_BYTES);
    return (vug_str){ 0 };
}

/* The literal of {"pattern": {"String": ...}}. */
static vug_str pattern_of(vug_loader *l, const vug_jv *v, const char *of)
{
    const vug_jv *pattern = vug_jv_get(v, "pattern");
    if (vug_jv_get(pattern, "Regex")) {
        vug_json_fail(&l->json, VUG_UNSUPPORTED, "%s with a regular expression is not supported",
                      of);
        return (vug_str){ 0 };
    }
    const vug_str literal = string_of(l, pattern, of, "String");
    if (literal.len == 0)
        vug_json_fail(&l->json, VUG_FORMAT, "%s: the pattern is empty", of);
    return literal;
}

static bool is_full(vug_loader *l, size_t n, const char *what)
{
    if (n < VUG_MAX_STEPS)
        return false;
    vug_json_fail(&l->json, VUG_LIMIT, "more than %d steps in the %s", VUG_MAX_STEPS, what);
    return true;
}

/* ---- normalizer ---------------------------------------------------------- */

static void add_normal(vug_loader *l, vug_normal_step step)
{
    vug_normalizer *to = &l->t->normalizer;
    if (!is_full(l, to->n, "normalizer"))
        to->step[to->n++] = step;
}

static void normal_replace(vug_loader *l, const vug_jv *v)
{
    add_normal(l, (vug_normal_step){ .kind = VUG_NORMAL_REPLACE,
                                     .from = pattern_of(l, v, "normalizer Replace"),
                                     .to = string_of(l, v, "normalizer Replace", "content") });
}

static void normal_prepend(vug_loader *l, const vug_jv *v)
{
    add_normal(l, (vug_normal_step){ .kind = VUG_NORMAL_PREPEND,
                                     .to = string_of(l, v, "normalizer Prepend", "prepend") });
}

void vug_load_normalizer(vug_loader *l, const vug_jv *v)
{
    static const component rows[] = {
        { "Replace", normal_replace },
        { "Prepend", normal_prepend },
    };
    static const component_kind kind = KIND("normalizer", "normalizers", rows);
    read_components(l, &kind, v);
}

/* ---- pre-tokenizer ------------------------------------------------------- */

static void words_split(vug_loader *l, const vug_jv *v)
{
    static const char name[] = "pre-tokenizer Split";
    if (l->t->pre_tokenizer.kind != VUG_WORDS_WHOLE) {
        vug_json_fail(&l->json, VUG_UNSUPPORTED, "more than one %s is not supported", name);
        return;
    }
    const vug_str behavior = string_of(l, v, name, "behavior");
    const vug_jv *invert = vug_jv_get(v, "invert");
    if (behavior.ptr && !vug_str_is(behavior, "MergedWithPrevious"))
        vug_json_fail(&l->json, VUG_UNSUPPORTED, "%s with the behavior \"%.*s\" is not supported",
                      name, VUG_STR_ARG(behavior));
    if (invert && (invert->type != VUG_JSON_BOOL || invert->boolean))
        vug_json_fail(&l->json, VUG_UNSUPPORTED, "%s with \"invert\" is not supported", name);
    l->t->pre_tokenizer = (vug_pre_tokenizer){ VUG_WORDS_SPLIT, pattern_of(l, v, name) };
}

void vug_load_pre_tokenizer(vug_loader *l, const vug_jv *v)
{
    static const component rows[] = {
        { "Split", words_split },
    };
    static const component_kind kind = KIND("pre-tokenizer", "pretokenizers", rows);
    read_components(l, &kind, v);
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
        if (is_full(l, to->n, "post-processor"))
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

void vug_load_post_processor(vug_loader *l, const vug_jv *v)
{
    static const component rows[] = {
        { "TemplateProcessing", post_template },
    };
    static const component_kind kind = KIND("post-processor", "processors", rows);
    read_components(l, &kind, v);
}

/* ---- decoder ------------------------------------------------------------- */

static void add_decode(vug_loader *l, vug_decode_step step)
{
    vug_decoding *to = &l->t->decoding;
    if (!is_full(l, to->n, "decoder"))
        to->step[to->n++] = step;
}

static void decode_replace(vug_loader *l, const vug_jv *v)
{
    if (l->t->decoding.byte_fallback || l->t->decoding.fused) {
        vug_json_fail(&l->json, VUG_UNSUPPORTED,
                      "decoder Replace after ByteFallback or Fuse is not supported");
        return;
    }
    add_decode(l, (vug_decode_step){ .kind = VUG_DECODE_REPLACE,
                                     .from = pattern_of(l, v, "decoder Replace"),
                                     .to = string_of(l, v, "decoder Replace", "content") });
}

static void decode_bytes(vug_loader *l, const vug_jv *v)
{
    (void)v;
    if (l->t->decoding.fused)
        vug_json_fail(&l->json, VUG_UNSUPPORTED,
                      "decoder ByteFallback after Fuse is not supported");
    l->t->decoding.byte_fallback = true;
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
                                   .from = string_of(l, v, "decoder Strip", "content"),
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
        add_decode(l, step);
    else
        to->strip = step, to->strips = true;
}

void vug_load_decoder(vug_loader *l, const vug_jv *v)
{
    static const component rows[] = {
        { "Replace", decode_replace },
        { "ByteFallback", decode_bytes },
        { "Fuse", decode_fuse },
        { "Strip", decode_strip },
    };
    static const component_kind kind = KIND("decoder", "decoders", rows);
    read_components(l, &kind, v);
    l->t->decoding.spaced = vug_jv_is(v, VUG_JSON_NULL);
}
