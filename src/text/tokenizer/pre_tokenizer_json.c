#include "text/tokenizer/components.h"

/*
 * The "pre_tokenizer" of a tokenizer.json. Components that split by classes of characters
 * become splits at regular expressions. Those that also rewrite the text (Metaspace,
 * ByteLevel) become several steps.
 */

/* ASCII punctuation and the Unicode categories of punctuation (HF tokenizers,
 * pre_tokenizers/punctuation.rs, is_punc). */
#define PUNCTUATION_CLASS "[!-/:-@\\[-`{-~\\p{P}]"
/* \w of the regex crate, see vug_unicode_is_word. */
#define WORD_CLASS                                                                         \
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-" \
    "\\x{1f169}\\x{1f170}-\\x{1f189}\\x{200c}\\x{200d}"

static const vug_str space = { " ", 1 };

static void append_step(vug_tokenizer_loader *l, vug_pre_tokenizer_step step)
{
    vug_pre_tokenizer *to = &l->t->pre_tokenizer;
    if (!vug_component_check_full(l, to->n, "pre-tokenizer"))
        to->step[to->n++] = step;
}

static void append_split(vug_tokenizer_loader *l, vug_pattern pattern, vug_split_behavior behavior)
{
    append_step(l, (vug_pre_tokenizer_step){ .kind = VUG_PRE_TOKENIZER_SPLIT,
                                             .pattern = pattern,
                                             .behavior = behavior });
}

/* Splits at a regular expression that is not the file's. */
static void append_builtin_split(vug_tokenizer_loader *l, const char *of, const char *expression,
                                 vug_split_behavior behavior)
{
    const vug_regex *regex = vug_component_regex(l, vug_str_of(expression), of);
    append_split(l, (vug_pattern){ .regex = regex }, behavior);
}

static vug_split_behavior read_behavior(vug_tokenizer_loader *l, const vug_jv *v, const char *of,
                                        const char *fallback)
{
    static const char *const names[] = {
        [VUG_SPLIT_REMOVED] = "Removed",
        [VUG_SPLIT_ISOLATED] = "Isolated",
        [VUG_SPLIT_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
        [VUG_SPLIT_MERGED_WITH_NEXT] = "MergedWithNext",
        [VUG_SPLIT_CONTIGUOUS] = "Contiguous",
    };
    const vug_str name = fallback && !vug_jv_get(v, "behavior")
                                 ? vug_str_of(fallback)
                                 : vug_component_string(l, v, of, "behavior");
    for (int b = VUG_SPLIT_REMOVED; b <= VUG_SPLIT_CONTIGUOUS; b++) {
        if (vug_str_is(name, names[b]))
            return (vug_split_behavior)b;
    }
    vug_json_fail(&l->json, VUG_UNSUPPORTED, "%s with the behavior \"%.*s\" is not supported", of,
                  VUG_STR_ARG(name));
    return VUG_SPLIT_REMOVED;
}

static void read_split(vug_tokenizer_loader *l, const vug_jv *v)
{
    static const char name[] = "pre-tokenizer Split";
    append_step(l, (vug_pre_tokenizer_step){
                           .kind = VUG_PRE_TOKENIZER_SPLIT,
                           .pattern = vug_component_pattern(l, v, name),
                           .behavior = read_behavior(l, v, name, NULL),
                           .invert = vug_component_flag(l, v, name, "invert", false) });
}

static void read_byte_level(vug_tokenizer_loader *l, const vug_jv *v)
{
    static const char name[] = "pre-tokenizer ByteLevel";
    if (vug_component_flag(l, v, name, "add_prefix_space", true))
        append_step(l, (vug_pre_tokenizer_step){ .kind = VUG_PRE_TOKENIZER_PREFIX, .to = space });
    if (vug_component_flag(l, v, name, "use_regex", true))
        append_builtin_split(l, name, vug_gpt2_regex, VUG_SPLIT_ISOLATED);
    append_step(l, (vug_pre_tokenizer_step){ .kind = VUG_PRE_TOKENIZER_BYTE_LEVEL });
}

static void read_metaspace(vug_tokenizer_loader *l, const vug_jv *v)
{
    const vug_metaspace m = vug_component_metaspace(l, v, "pre-tokenizer Metaspace");
    append_step(l, (vug_pre_tokenizer_step){ .kind = VUG_PRE_TOKENIZER_REPLACE,
                                             .pattern = { .literal = space },
                                             .to = m.replacement });
    if (m.prepend)
        append_step(l, (vug_pre_tokenizer_step){ .kind = VUG_PRE_TOKENIZER_PREFIX,
                                                 .first_only = m.first_only,
                                                 .to = m.replacement });
    if (m.split)
        append_split(l, (vug_pattern){ .literal = m.replacement }, VUG_SPLIT_MERGED_WITH_NEXT);
}

static void read_digits(vug_tokenizer_loader *l, const vug_jv *v)
{
    static const char name[] = "pre-tokenizer Digits";
    const bool each = vug_component_flag(l, v, name, "individual_digits", false);
    append_builtin_split(l, name, "\\p{N}", each ? VUG_SPLIT_ISOLATED : VUG_SPLIT_CONTIGUOUS);
}

static void read_whitespace(vug_tokenizer_loader *l, const vug_jv *v)
{
    (void)v;
    const vug_regex *regex = vug_component_regex(
            l, vug_str_of("[" WORD_CLASS "]+|[^\\s" WORD_CLASS "]+"), "pre-tokenizer Whitespace");
    append_step(l, (vug_pre_tokenizer_step){ .kind = VUG_PRE_TOKENIZER_SPLIT,
                                             .pattern = { .regex = regex },
                                             .behavior = VUG_SPLIT_REMOVED,
                                             .invert = true });
}

static void read_whitespace_split(vug_tokenizer_loader *l, const vug_jv *v)
{
    (void)v;
    append_builtin_split(l, "pre-tokenizer WhitespaceSplit", "\\s", VUG_SPLIT_REMOVED);
}

static void read_punctuation(vug_tokenizer_loader *l, const vug_jv *v)
{
    static const char name[] = "pre-tokenizer Punctuation";
    append_builtin_split(l, name, PUNCTUATION_CLASS, read_behavior(l, v, name, "Isolated"));
}

void vug_tokenizer_load_pre_tokenizer(vug_tokenizer_loader *l, const vug_jv *v)
{
    static const vug_component rows[] = {
        { "Split", read_split },
        { "ByteLevel", read_byte_level },
        { "Metaspace", read_metaspace },
        { "Digits", read_digits },
        { "Whitespace", read_whitespace },
        { "WhitespaceSplit", read_whitespace_split },
        { "Punctuation", read_punctuation },
    };
    static const vug_component_kind kind = VUG_COMPONENTS("pre-tokenizer", "pretokenizers", rows);
    vug_components_read(l, &kind, v);
}
