#ifndef VUG_TESTS_TOKENIZER_HELP_H
#define VUG_TESTS_TOKENIZER_HELP_H

/*
 * A small tokenizer.json of the Gemma kind, put together from parts so that a
 * test can exchange one of them.
 *
 *     0 <pad>  1 <eos>  2 <bos>  3 <unk>  4.. <0xC3> <0xA9> <0xE2> <0x82> <0xAC>
 *     9 U+2581  10 a  11 b  12 c  13 LF  14 ab  15 abc  16 _a  17 _ab  18 bc  19 __
 *     added: 0 1 2 (special), 20 LF LF, 21 "<t", 22 "<turn>" (special)
 */

#include "core/mem.h"

/* JSON text; NULL for what the small tokenizer has. */
typedef struct {
    const char *added;      /* elements of the list */
    const char *normalizer; /* a value, as are the next three */
    const char *pre, *post, *decoder;
    const char *model;          /* members before "vocab" */
    const char *vocab, *merges; /* members, elements */
} tokenizer_parts;

/* The caller's, to be released. */
vug_text tokenizer_json(tokenizer_parts parts);

/* Opens it; without an `err` it must succeed. */
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

/* Fails naming the text where the ids differ. */
void tokenizer_check(const vug_tokenizer *tokenizer, unsigned flags, const tokenizer_row *row,
                     size_t n);

/* Decodes at once and piece by piece, both of which must be `text`. Pieces must
 * be whole characters. */
void tokenizer_check_decode(const vug_tokenizer *tokenizer, const int32_t *id, size_t n,
                            bool skip_special, const char *text, size_t len);

/* A real one, "gemma3" or "qwen3"; where it is not there the test is skipped. */
vug_tokenizer *tokenizer_real(const char *name);
vug_tokenizer *tokenizer_gemma3(void);
/* The lines of tests/golden/text/NAME.jsonl, which are so many. */
void tokenizer_check_lines(const vug_tokenizer *tokenizer, const char *name, int n);
/* Those of gemma3.jsonl. */
void tokenizer_check_golden(const vug_tokenizer *tokenizer);

#endif
