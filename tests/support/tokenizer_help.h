#ifndef VUG_TESTS_SUPPORT_TOKENIZER_HELP_H
#define VUG_TESTS_SUPPORT_TOKENIZER_HELP_H

/*
 * A small tokenizer.json of the Gemma kind, built from parts so that a test can replace one
 * of them.
 *
 *     0 <pad>  1 <eos>  2 <bos>  3 <unk>  4.. <0xC3> <0xA9> <0xE2> <0x82> <0xAC>
 *     9 U+2581  10 a  11 b  12 c  13 LF  14 ab  15 abc  16 _a  17 _ab  18 bc  19 __
 *     added: 0 1 2 (special), 20 LF LF, 21 "<t", 22 "<turn>" (special)
 */

#include "core/mem.h"

/* JSON texts; NULL for the part of the small tokenizer. */
typedef struct {
    const char *added;      /* elements of the list */
    const char *normalizer; /* a value, as are the next three */
    const char *pre, *post, *decoder;
    const char *model;          /* members before "vocab" */
    const char *vocab, *merges; /* members, elements */
} tokenizer_parts;

/* To be released by the caller. */
vug_text tokenizer_json(tokenizer_parts parts);

/* Opens the tokenizer; the first one must succeed. */
vug_tokenizer *tokenizer_of(tokenizer_parts parts);
vug_status tokenizer_try(tokenizer_parts parts, vug_tokenizer **out, vug_err *err);

#define TOKENIZER_MAX_IDS 16

/* A text and its ids; the list ends at -1. */
typedef struct {
    const char *text;
    int32_t id[TOKENIZER_MAX_IDS + 1];
} tokenizer_row;

#define IDS(...)        \
    {                   \
        __VA_ARGS__, -1 \
    }
#define NO_IDS \
    {          \
        -1     \
    }

/* Fails with the text whose ids differ. */
void tokenizer_check(const vug_tokenizer *tokenizer, unsigned flags, const tokenizer_row *row,
                     size_t n);

/* Decodes at once and as a stream; both must give `text`, and the stream whole characters. */
void tokenizer_check_decode(const vug_tokenizer *tokenizer, const int32_t *id, size_t n,
                            bool skip_special, const char *text, size_t len);

/* A real tokenizer, "gemma3" or "qwen3"; the test is skipped if it is not there. */
vug_tokenizer *tokenizer_real(const char *name);
vug_tokenizer *tokenizer_gemma3(void);
/* Checks the `n` lines of tests/golden/text/NAME.jsonl. */
void tokenizer_check_lines(const vug_tokenizer *tokenizer, const char *name, int n);
/* Checks gemma3.jsonl. */
void tokenizer_check_golden(const vug_tokenizer *tokenizer);

#endif
