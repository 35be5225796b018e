#include "text/tokenizer/components.h"

/* The "normalizer" of a tokenizer.json. */

static void append_step(vug_tokenizer_loader *l, vug_normalizer_step step)
{
    vug_normalizer *to = &l->t->normalizer;
    if (!vug_component_check_full(l, to->n, "normalizer"))
        to->step[to->n++] = step;
}

static void read_replace(vug_tokenizer_loader *l, const vug_jv *v)
{
    const vug_pattern pattern = vug_component_pattern(l, v, "normalizer Replace");
    append_step(l, (vug_normalizer_step){
                           .kind = pattern.regex ? VUG_NORMALIZER_REPLACE_REGEX
                                                 : VUG_NORMALIZER_REPLACE,
                           .from = pattern.literal,
                           .regex = pattern.regex,
                           .to = vug_component_string(l, v, "normalizer Replace", "content") });
}

static void read_prepend(vug_tokenizer_loader *l, const vug_jv *v)
{
    append_step(l, (vug_normalizer_step){
                           .kind = VUG_NORMALIZER_PREPEND,
                           .to = vug_component_string(l, v, "normalizer Prepend", "prepend") });
}

static void read_form(vug_tokenizer_loader *l, const vug_jv *v)
{
    static const char *const names[] = {
        [VUG_NFC] = "NFC", [VUG_NFD] = "NFD", [VUG_NFKC] = "NFKC", [VUG_NFKD] = "NFKD"
    };
    const vug_str type = vug_jv_get(v, "type")->str;
    for (int form = VUG_NFC; form <= VUG_NFKD; form++) {
        if (vug_str_is(type, names[form]))
            append_step(l, (vug_normalizer_step){ .kind = VUG_NORMALIZER_UNICODE_FORM,
                                                  .form = (vug_unicode_form)form });
    }
}

static void read_lowercase(vug_tokenizer_loader *l, const vug_jv *v)
{
    (void)v;
    append_step(l, (vug_normalizer_step){ .kind = VUG_NORMALIZER_LOWERCASE });
}

static void read_strip_accents(vug_tokenizer_loader *l, const vug_jv *v)
{
    (void)v;
    append_step(l, (vug_normalizer_step){ .kind = VUG_NORMALIZER_STRIP_ACCENTS });
}

static void read_strip(vug_tokenizer_loader *l, const vug_jv *v)
{
    append_step(l, (vug_normalizer_step){
                           .kind = VUG_NORMALIZER_STRIP,
                           .left = vug_component_flag(l, v, "normalizer Strip", "strip_left", true),
                           .right = vug_component_flag(l, v, "normalizer Strip", "strip_right",
                                                       true) });
}

static void read_byte_level(vug_tokenizer_loader *l, const vug_jv *v)
{
    (void)v;
    append_step(l, (vug_normalizer_step){ .kind = VUG_NORMALIZER_BYTE_LEVEL });
}

void vug_tokenizer_load_normalizer(vug_tokenizer_loader *l, const vug_jv *v)
{
    static const vug_component rows[] = {
        { "Replace", read_replace },
        { "Prepend", read_prepend },
        { "NFC", read_form },
        { "NFD", read_form },
        { "NFKC", read_form },
        { "NFKD", read_form },
        { "Lowercase", read_lowercase },
        { "StripAccents", read_strip_accents },
        { "Strip", read_strip },
        { "ByteLevel", read_byte_level },
    };
    static const vug_component_kind kind = VUG_COMPONENTS("normalizer", "normalizers", rows);
    vug_components_read(l, &kind, v);
}
