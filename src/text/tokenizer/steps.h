#ifndef VUG_TEXT_TOKENIZER_STEPS_H
#define VUG_TEXT_TOKENIZER_STEPS_H

/*
 * What a tokenizer.json declares around its model, as short lists of steps: the
 * normalizer, the pre-tokenizer, the decoder. A new kind is an enum value, a row
 * in steps_json.c or words_json.c that reads it and a case where it acts.
 */

#include "text/tokenizer/normal.h"
#include "text/tokenizer/pattern.h"
#include "text/tokenizer/spm_normal.h"

#define VUG_MAX_STEPS        16
#define VUG_STEP_MAX_BYTES   256 /* of a literal: searching stays linear in the text */
#define VUG_NORMAL_MAX_BYTES ((size_t)512 << 20) /* a normalized text may not outgrow this */

/* Working memory of the steps, of one thread. All-zero is empty. */
typedef struct {
    vug_regex_work regex;
    vug_buf normal[2];            /* of the normalizer */
    vug_buf words[VUG_MAX_STEPS]; /* of the pre-tokenizer, one per step */
} vug_steps_work;

void vug_steps_work_release(vug_steps_work *work);

/* ---- normalizer ---------------------------------------------------------- */

typedef enum {
    VUG_NORMAL_REPLACE,       /* each `from` by `to` */
    VUG_NORMAL_MATCHES,       /* what `regex` matches by `to` */
    VUG_NORMAL_PREPEND,       /* `to` before a text that is not empty */
    VUG_NORMAL_FORM,          /* `form` */
    VUG_NORMAL_LOWERCASE,     /* each character by itself */
    VUG_NORMAL_UNMARK,        /* marks are taken out */
    VUG_NORMAL_STRIP,         /* whitespace at the `left`, at the `right` */
    VUG_NORMAL_BYTES,         /* each byte becomes the character that stands for it */
    VUG_NORMAL_SENTENCEPIECE, /* all that a tokenizer.model says */
} vug_normal_kind;

typedef struct {
    vug_normal_kind kind;
    vug_str from, to;
    const vug_regex *regex; /* the tokenizer's */
    vug_normal_form form;
    bool left, right;
    const vug_spm_normal *spm; /* of SENTENCEPIECE */
} vug_normal_step;

typedef struct {
    vug_normal_step step[VUG_MAX_STEPS];
    size_t n;
} vug_normalizer;

/* `out` lies in `work`, or is `text` where nothing changes it. */
VUG_MUST_CHECK vug_status vug_normalize(const vug_normalizer *normalizer, vug_str text,
                                        vug_steps_work *work, vug_str *out, vug_err *err);

/* ---- pre-tokenizer ------------------------------------------------------- */

/* What becomes of the parts of a text between matches and of the matches: */
typedef enum {
    VUG_SPLIT_REMOVED,    /* matches are left out */
    VUG_SPLIT_ISOLATED,   /* each is a word */
    VUG_SPLIT_PREVIOUS,   /* a match ends the word before it, unless that is a match */
    VUG_SPLIT_NEXT,       /* a match begins the word after it, unless that is a match */
    VUG_SPLIT_CONTIGUOUS, /* matches that touch are one word */
} vug_split_behavior;

typedef enum {
    VUG_WORDS_SPLIT,   /* at a pattern */
    VUG_WORDS_REPLACE, /* the pattern by `to` */
    VUG_WORDS_PREFIX,  /* `to` before a text that does not begin with it */
    VUG_WORDS_BYTES,   /* each byte becomes the character that stands for it */
} vug_words_kind;

typedef struct {
    vug_words_kind kind;
    vug_pattern pattern;
    vug_split_behavior behavior;
    bool invert;     /* of SPLIT: what does not match is taken for the match */
    bool first_only; /* of PREFIX: only where the whole text begins */
    vug_str to;
} vug_words_step;

/* Each step works on the words of the one before it. None: the text is one word. */
typedef struct {
    vug_words_step step[VUG_MAX_STEPS];
    size_t n;
} vug_pre_tokenizer;

/* Takes a word, which is never empty and valid during the call only. */
typedef vug_status vug_word_fn(void *user, vug_str word, vug_err *err);

/* `first`: the text is the beginning of what is encoded. */
VUG_MUST_CHECK vug_status vug_words(const vug_pre_tokenizer *how, vug_str text, bool first,
                                    vug_steps_work *work, vug_word_fn *take, void *user,
                                    vug_err *err);

/* ---- decoder ------------------------------------------------------------- */

typedef enum {
    VUG_DECODE_REPLACE, /* each `from` by `to` */
    VUG_DECODE_MATCHES, /* what `regex` matches by `to` */
    VUG_DECODE_STRIP,
    VUG_DECODE_DROP_FIRST, /* each `from` of the first token is left out */
} vug_decode_kind;

typedef struct {
    vug_decode_kind kind;
    vug_str from, to;     /* of REPLACE; of STRIP `from` is one character */
    uint32_t start, stop; /* of STRIP: most occurrences to take away at the ends */
    const vug_regex *regex;
} vug_decode_step;

/* Steps act on single tokens up to the fusing; what comes then acts on the text. */
typedef struct {
    vug_decode_step step[VUG_MAX_STEPS];
    size_t n;
    bool byte_fallback; /* "<0x41>" stands for a byte; after the steps */
    bool byte_level;    /* a token spells bytes by characters that stand for them; likewise */
    bool fused;
    bool spaced;           /* no decoder declared: tokens are joined by spaces */
    bool strips;           /* `strip` is there */
    vug_decode_step strip; /* of the whole text */
} vug_decoding;

#endif
