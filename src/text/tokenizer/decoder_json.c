#include "text/tokenizer/components.h"

#include "core/utf8.h"

/* The "decoder" of a tokenizer.json. */

/* Steps on single tokens must come before ByteFallback, ByteLevel and Fuse. */
static void append_step(vug_tokenizer_loader *l, const char *name, vug_decode_step step)
{
    vug_decode_pipeline *to = &l->t->decode;
    if (to->byte_fallback || to->byte_level || to->fused)
        vug_json_fail(&l->json, VUG_UNSUPPORTED,
                      "decoder %s after ByteFallback, ByteLevel or Fuse is not supported", name);
    else if (!vug_component_check_full(l, to->n, "decoder"))
        to->step[to->n++] = step;
}

static void read_replace(vug_tokenizer_loader *l, const vug_jv *v)
{
    const vug_pattern pattern = vug_component_pattern(l, v, "decoder Replace");
    append_step(l, "Replace",
                (vug_decode_step){
                        .kind = pattern.regex ? VUG_DECODE_REPLACE_REGEX : VUG_DECODE_REPLACE,
                        .from = pattern.literal,
                        .regex = pattern.regex,
                        .to = vug_component_string(l, v, "decoder Replace", "content") });
}

static void read_metaspace(vug_tokenizer_loader *l, const vug_jv *v)
{
    static const vug_str space = { " ", 1 };
    const vug_metaspace m = vug_component_metaspace(l, v, "decoder Metaspace");
    if (m.prepend)
        append_step(
                l, "Metaspace",
                (vug_decode_step){ .kind = VUG_DECODE_REMOVE_FROM_FIRST, .from = m.replacement });
    append_step(
            l, "Metaspace",
            (vug_decode_step){ .kind = VUG_DECODE_REPLACE, .from = m.replacement, .to = space });
}

static void read_byte_fallback(vug_tokenizer_loader *l, const vug_jv *v)
{
    (void)v;
    if (l->t->decode.fused)
        vug_json_fail(&l->json, VUG_UNSUPPORTED,
                      "decoder ByteFallback after Fuse is not supported");
    l->t->decode.byte_fallback = true;
}

/* ByteLevel fuses the tokens as well. */
static void read_byte_level(vug_tokenizer_loader *l, const vug_jv *v)
{
    (void)v;
    if (l->t->decode.fused || l->t->decode.byte_fallback)
        vug_json_fail(&l->json, VUG_UNSUPPORTED,
                      "decoder ByteLevel after ByteFallback, ByteLevel or Fuse is not supported");
    l->t->decode.byte_level = true;
    l->t->decode.fused = true;
}

static void read_fuse(vug_tokenizer_loader *l, const vug_jv *v)
{
    (void)v;
    l->t->decode.fused = true;
}

static uint32_t read_count(vug_tokenizer_loader *l, const vug_jv *v, const char *key)
{
    const vug_jv *member = vug_jv_get(v, key);
    if (vug_jv_is(member, VUG_JSON_NUMBER) && member->is_int && member->i64 >= 0 &&
        member->i64 <= INT32_MAX)
        return (uint32_t)member->i64;
    vug_json_fail(&l->json, VUG_FORMAT, "decoder Strip: \"%s\" is not a count", key);
    return 0;
}

static void read_strip(vug_tokenizer_loader *l, const vug_jv *v)
{
    vug_decode_pipeline *to = &l->t->decode;
    const vug_decode_step step = { .kind = VUG_DECODE_STRIP,
                                   .from = vug_component_string(l, v, "decoder Strip", "content"),
                                   .start = read_count(l, v, "start"),
                                   .stop = read_count(l, v, "stop") };
    uint32_t cp;
    if (vug_utf8_decode(step.from.ptr, step.from.len, &cp) != step.from.len || step.from.len == 0)
        vug_json_fail(&l->json, VUG_FORMAT, "decoder Strip: \"content\" is not a single character");
    else if (!to->fused && to->byte_fallback)
        vug_json_fail(&l->json, VUG_UNSUPPORTED,
                      "decoder Strip between ByteFallback and Fuse is not supported");
    else if (to->has_strip)
        vug_json_fail(&l->json, VUG_UNSUPPORTED,
                      "more than one decoder Strip after Fuse is not supported");
    else if (!to->fused)
        append_step(l, "Strip", step);
    else
        to->strip = step, to->has_strip = true;
}

void vug_tokenizer_load_decoder(vug_tokenizer_loader *l, const vug_jv *v)
{
    static const vug_component rows[] = {
        { "Replace", read_replace },
        { "Metaspace", read_metaspace },
        { "ByteFallback", read_byte_fallback },
        { "Fuse", read_fuse },
        { "ByteLevel", read_byte_level },
        { "Strip", read_strip },
    };
    static const vug_component_kind kind = VUG_COMPONENTS("decoder", "decoders", rows);
    vug_components_read(l, &kind, v);
    l->t->decode.joins_with_spaces = vug_jv_is(v, VUG_JSON_NULL);
}
