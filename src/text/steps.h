#ifndef VUG_TEXT_STEPS_H
#define VUG_TEXT_STEPS_H

/*
 * What a tokenizer.json declares around its model, as short lists of steps: the
 * normalizer, the pre-tokenizer, the decoder. A new kind is an enum value, a row
 * in tokenizer_steps.c that reads it and a case where it acts.
 */

#include "core/mem.h"
#include "text/spm_normal.h"

#define VUG_MAX_STEPS        16
#define VUG_STEP_MAX_BYTES   256 /* of a pattern: searching stays linear in the text */
#define VUG_NORMAL_MAX_BYTES ((size_t)512 << 20) /* a normalized text may not outgrow this */

/* ---- normalizer ---------------------------------------------------------- */

typedef enum {
    VUG_NORMAL_REPLACE,       /* each `from` by `to` */
    VUG_NORMAL_PREPEND,       /* `to` before a text that is not empty */
    VUG_NORMAL_SENTENCEPIECE, /* all that a tokenizer.model says */
} vug_normal_kind;

typedef struct {
    vug_normal_kind kind;
    vug_str from, to;
    const vug_spm_normal *spm; /* of SENTENCEPIECE */
} vug_normal_step;

typedef struct {
    vug_normal_step step[VUG_MAX_STEPS];
    size_t n;
} vug_normalizer;

/* `out` lies in one of the buffers, or is `text` where nothing changes it. False
 * when out of memory. */
bool vug_normalize(const vug_normalizer *normalizer, vug_str text, vug_buf work[2], vug_str *out);

/* ---- pre-tokenizer ------------------------------------------------------- */

typedef enum {
    VUG_WORDS_WHOLE, /* the text is one word */
    VUG_WORDS_SPLIT, /* at a literal, which ends the word before it */
} vug_words_kind;

typedef struct {
    vug_words_kind kind;
    vug_str pattern; /* of SPLIT; not empty */
} vug_pre_tokenizer;

typedef struct {
    const vug_pre_tokenizer *how;
    vug_str left; /* text not given out yet */
} vug_words;

/* True with the next word; none is empty. */
bool vug_words_next(vug_words *words, vug_str *word);

/* ---- decoder ------------------------------------------------------------- */

typedef enum {
    VUG_DECODE_REPLACE,
    VUG_DECODE_STRIP,
} vug_decode_kind;

typedef struct {
    vug_decode_kind kind;
    vug_str from, to;     /* of REPLACE; of STRIP `from` is one character */
    uint32_t start, stop; /* of STRIP: most occurrences to take away at the ends */
} vug_decode_step;

/* Steps act on single tokens up to the fusing; what comes then acts on the text. */
typedef struct {
    vug_decode_step step[VUG_MAX_STEPS];
    size_t n;
    bool byte_fallback; /* "<0x41>" stands for a byte; after the steps */
    bool fused;
    bool spaced;           /* no decoder declared: tokens are joined by spaces */
    bool strips;           /* `strip` is there */
    vug_decode_step strip; /* of the whole text */
} vug_decoding;

/* ---- both ---------------------------------------------------------------- */

/* The place of the first `needle`, which is not empty, at or after `from`; text.len
 * where there is none. */
size_t vug_find(vug_str text, size_t from, vug_str needle);
/* `to` becomes `text` with each `from` replaced. False, with `to` untouched, where
 * there is none. */
bool vug_replace(vug_buf *to, vug_str text, vug_str from, vug_str with);

#endif
