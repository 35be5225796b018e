#include "text/tokenizer/components.h"

/*
 * The pre-tokenizer of a tokenizer.json. Components that split by kinds of characters
 * become splits at regular expressions; those of which a part rewrites the text (Metaspace,
 * ByteLevel) become several steps.
 */

/* A character of ASCII punctuation, or of a category of punctuation
 * (HF tokenizers, pre_tokenizers/punctuation.rs, is_punc). */
#define PUNCTUATION "[!-/:-@\\[-`{-~\\p{P}]"
/* What the regex crate calls a word, see vug_is_word. */
#define WORD                                                                               \
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-" \
    "\\x{1f169}\\x{1f170}-\\x{1f189}\\x{200c}\\x{200d}"

static const vug_str space = { " ", 1 };

static void add_step(vug_loader *l, vug_words_step step)
{
    vug_pre_tokenizer *to = &l->t->pre_tokenizer;
    if (!vug_component_full(l, to->n, "pre-tokenizer"))
        to->step[to->n++] = step;
}

static void add_split(vug_loader *l, vug_pattern pattern, vug_split_behavior behavior)
{
    add_step(l,
             (vug_words_step){ .kind = VUG_WORDS_SPLIT, .pattern = pattern, .behavior = behavior });
}

/* At an expression of our own. */
static void add_own(vug_loader *l, const char *of, const char *expression,
                    vug_split_behavior behavior)
{
    const vug_regex *regex = vug_component_regex(l, vug_str_of(expression), of);
    add_split(l, (vug_pattern){ .regex = regex }, behavior);
}

static vug_split_behavior behavior_of(vug_loader *l, const vug_jv *v, const char *of,
                                      const char *otherwise)
{
    static const char *const names[] = {
        [VUG_SPLIT_REMOVED] = "Removed",
        [VUG_SPLIT_ISOLATED] = "Isolated",
        [VUG_SPLIT_PREVIOUS] = "MergedWithPrevious",
        [VUG_SPLIT_NEXT] = "MergedWithNext",
        [VUG_SPLIT_CONTIGUOUS] = "Contiguous",
    };
    const vug_str name = otherwise && !vug_jv_get(v, "behavior")
                                 ? vug_str_of(otherwise)
                                 : vug_component_string(l, v, of, "behavior");
    for (int b = VUG_SPLIT_REMOVED; b <= VUG_SPLIT_CONTIGUOUS; b++) {
        if (vug_str_is(name, names[b]))
            return (vug_split_behavior)b;
    }
    vug_json_fail(&l->json, VUG_UNSUPPORTED, "%s with the behavior \"%.*s\" is not supported", of,
                  VUG_STR_ARG(name));
    return VUG_SPLIT_REMOVED;
}

static void words_split(vug_loader *l, const vug_jv *v)
{
    static const char name[] = "pre-tokenizer Split";
    add_step(l, (vug_words_step){ .kind = VUG_WORDS_SPLIT,
                                  .pattern = vug_component_pattern(l, v, name),
                                  .behavior = behavior_of(l, v, name, NULL),
                                  .invert = vug_component_flag(l, v, name, "invert", false) });
}

static void words_byte_level(vug_loader *l, const vug_jv *v)
{
    static const char name[] = "pre-tokenizer ByteLevel";
    if (vug_component_flag(l, v, name, "add_prefix_space", true))
        add_step(l, (vug_words_step){ .kind = VUG_WORDS_PREFIX, .to = space });
    if (vug_component_flag(l, v, name, "use_regex", true))
        add_own(l, name, vug_gpt2_expression, VUG_SPLIT_ISOLATED);
    add_step(l, (vug_words_step){ .kind = VUG_WORDS_BYTES });
}

static void words_metaspace(vug_loader *l, const vug_jv *v)
{
    const vug_metaspace m = vug_component_metaspace(l, v, "pre-tokenizer Metaspace");
    add_step(l, (vug_words_step){ .kind = VUG_WORDS_REPLACE,
                                  .pattern = { .literal = space },
                                  .to = m.replacement });
    if (m.prepend)
        add_step(l, (vug_words_step){ .kind = VUG_WORDS_PREFIX,
                                      .first_only = m.first_only,
                                      .to = m.replacement });
    if (m.split)
        add_split(l, (vug_pattern){ .literal = m.replacement }, VUG_SPLIT_NEXT);
}

static void words_digits(vug_loader *l, const vug_jv *v)
{
    static const char name[] = "pre-tokenizer Digits";
    const bool each = vug_component_flag(l, v, name, "individual_digits", false);
    add_own(l, name, "\\p{N}", each ? VUG_SPLIT_ISOLATED : VUG_SPLIT_CONTIGUOUS);
}

static void words_whitespace(vug_loader *l, const vug_jv *v)
{
    (void)v;
    const vug_regex *regex = vug_component_regex(l, vug_str_of("[" WORD "]+|[^\\s" WORD "]+"),
                                                 "pre-tokenizer Whitespace");
    add_step(l, (vug_words_step){ .kind = VUG_WORDS_SPLIT,
                                  .pattern = { .regex = regex },
                                  .behavior = VUG_SPLIT_REMOVED,
                                  .invert = true });
}

static void words_whitespace_split(vug_loader *l, const vug_jv *v)
{
    (void)v;
    add_own(l, "pre-tokenizer WhitespaceSplit", "\\s", VUG_SPLIT_REMOVED);
}

static void words_punctuation(vug_loader *l, const vug_jv *v)
{
    static const char name[] = "pre-tokenizer Punctuation";
    add_own(l, name, PUNCTUATION, behavior_of(l, v, name, "Isolated"));
}

static void words_bert(vug_loader *l, const vug_jv *v)
{
    static const char name[] = "pre-tokenizer BertPreTokenizer";
    (void)v;
    add_own(l, name, "\\s", VUG_SPLIT_REMOVED);
    add_own(l, name, PUNCTUATION, VUG_SPLIT_ISOLATED);
}

static void words_delimiter(vug_loader *l, const vug_jv *v)
{
    static const char name[] = "pre-tokenizer CharDelimiterSplit";
    const vug_str delimiter = vug_component_string(l, v, name, "delimiter");
    if (delimiter.len == 0)
        vug_json_fail(&l->json, VUG_FORMAT, "%s: the delimiter is empty", name);
    add_split(l, (vug_pattern){ .literal = delimiter }, VUG_SPLIT_REMOVED);
}

void vug_load_pre_tokenizer(vug_loader *l, const vug_jv *v)
{
    static const vug_component rows[] = {
        { "Split", words_split },
        { "ByteLevel", words_byte_level },
        { "Metaspace", words_metaspace },
        { "Digits", words_digits },
        { "Whitespace", words_whitespace },
        { "WhitespaceSplit", words_whitespace_split },
        { "Punctuation", words_punctuation },
        { "BertPreTokenizer", words_bert },
        { "CharDelimiterSplit", words_delimiter },
    };
    static const vug_component_kind kind = VUG_COMPONENTS("pre-tokenizer", "pretokenizers", rows);
    vug_read_components(l, &kind, v);
}
