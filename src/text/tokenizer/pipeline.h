#ifndef VUG_TEXT_TOKENIZER_PIPELINE_H
#define VUG_TEXT_TOKENIZER_PIPELINE_H

/*
 * The steps that a tokenizer.json declares around its model: normalizer, pre-tokenizer and
 * decoder, each a short list. A new kind of step needs an enum value, a row in the file that
 * reads it (normalizer_json.c, pre_tokenizer_json.c, decoder_json.c) and a case where it runs.
 */

#include "text/tokenizer/pattern.h"
#include "text/tokenizer/unicode_normalize.h"

#define VUG_PIPELINE_MAX_STEPS   16
#define VUG_PIPELINE_MAX_LITERAL 256                 /* bytes: searching stays linear in the text */
#define VUG_NORMALIZED_MAX_BYTES ((size_t)512 << 20) /* of a normalized text */

/* Working memory of one thread. All-zero is empty. */
typedef struct {
    vug_regex_work regex;
    vug_buf normalized[2];                 /* the normalizer's, used in turn */
    vug_buf words[VUG_PIPELINE_MAX_STEPS]; /* the pre-tokenizer's, one per step */
} vug_pipeline_work;

void vug_pipeline_work_release(vug_pipeline_work *work);

/* ---- normalizer ---------------------------------------------------------- */

typedef enum {
    VUG_NORMALIZER_REPLACE,       /* every `from` becomes `to` */
    VUG_NORMALIZER_REPLACE_REGEX, /* every match of `regex` becomes `to` */
    VUG_NORMALIZER_PREPEND,       /* `to` is put in front of a non-empty text */
    VUG_NORMALIZER_UNICODE_FORM,  /* the text is brought into `form` */
    VUG_NORMALIZER_LOWERCASE,     /* each character by itself */
    VUG_NORMALIZER_STRIP_ACCENTS, /* marks are removed */
    VUG_NORMALIZER_STRIP,         /* whitespace is removed at the `left`, at the `right` */
    VUG_NORMALIZER_BYTE_LEVEL,    /* each byte becomes the character that stands for it */
} vug_normalizer_kind;

typedef struct {
    vug_normalizer_kind kind;
    vug_str from, to;
    const vug_regex *regex; /* owned by the tokenizer */
    vug_unicode_form form;
    bool left, right;
} vug_normalizer_step;

typedef struct {
    vug_normalizer_step step[VUG_PIPELINE_MAX_STEPS];
    size_t n;
} vug_normalizer;

/* `out` lies in `work`, or is `text` itself if nothing changes. */
VUG_MUST_CHECK vug_status vug_normalizer_apply(const vug_normalizer *normalizer, vug_str text,
                                               vug_pipeline_work *work, vug_str *out, vug_err *err);

/* ---- pre-tokenizer ------------------------------------------------------- */

/* How the matches and the parts between them become words: */
typedef enum {
    VUG_SPLIT_REMOVED,              /* matches are dropped */
    VUG_SPLIT_ISOLATED,             /* matches are words of their own */
    VUG_SPLIT_MERGED_WITH_PREVIOUS, /* a match ends the part before it, unless that is a match */
    VUG_SPLIT_MERGED_WITH_NEXT,     /* a match begins the part after it, unless that is a match */
    VUG_SPLIT_CONTIGUOUS,           /* adjacent matches are one word */
} vug_split_behavior;

typedef enum {
    VUG_PRE_TOKENIZER_SPLIT,      /* split at `pattern` */
    VUG_PRE_TOKENIZER_REPLACE,    /* every match of `pattern` becomes `to` */
    VUG_PRE_TOKENIZER_PREFIX,     /* `to` is put in front, unless the text begins with it */
    VUG_PRE_TOKENIZER_BYTE_LEVEL, /* each byte becomes the character that stands for it */
} vug_pre_tokenizer_kind;

typedef struct {
    vug_pre_tokenizer_kind kind;
    vug_pattern pattern;
    vug_split_behavior behavior;
    bool invert;     /* SPLIT: matches and the parts between them change roles */
    bool first_only; /* PREFIX: only at the beginning of the whole input */
    vug_str to;
} vug_pre_tokenizer_step;

/* Each step works on the words of the previous one. Without steps the text is one word. */
typedef struct {
    vug_pre_tokenizer_step step[VUG_PIPELINE_MAX_STEPS];
    size_t n;
} vug_pre_tokenizer;

/* Called for every word, which is never empty and valid during the call only. */
typedef vug_status vug_word_fn(void *user, vug_str word, vug_err *err);

/* `first`: the text is the beginning of the whole input. */
VUG_MUST_CHECK vug_status vug_pre_tokenizer_apply(const vug_pre_tokenizer *pre, vug_str text,
                                                  bool first, vug_pipeline_work *work,
                                                  vug_word_fn *on_word, void *user, vug_err *err);

/* ---- decoder ------------------------------------------------------------- */

typedef enum {
    VUG_DECODE_REPLACE,           /* every `from` becomes `to` */
    VUG_DECODE_REPLACE_REGEX,     /* every match of `regex` becomes `to` */
    VUG_DECODE_STRIP,             /* the character `from` is removed at the ends */
    VUG_DECODE_REMOVE_FROM_FIRST, /* every `from` in the first token is removed */
} vug_decode_kind;

typedef struct {
    vug_decode_kind kind;
    vug_str from, to;
    uint32_t start, stop; /* STRIP: how many to remove at most at each end */
    const vug_regex *regex;
} vug_decode_step;

/* Steps before Fuse act on single tokens; what follows it acts on the whole text. */
typedef struct {
    vug_decode_step step[VUG_PIPELINE_MAX_STEPS];
    size_t n;
    bool byte_fallback;     /* after the steps: "<0x41>" stands for a byte */
    bool byte_level;        /* after the steps: characters stand for bytes */
    bool fused;             /* Fuse, or ByteLevel, which fuses too */
    bool joins_with_spaces; /* no decoder is declared: tokens are joined by spaces */
    bool has_strip;
    vug_decode_step strip; /* of the whole text, if `has_strip` */
} vug_decode_pipeline;

#endif
