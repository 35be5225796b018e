#ifndef VUG_TEXT_TEXT_H
#define VUG_TEXT_TEXT_H

/*
 * What the engine needs of this folder beyond the tokenizer of vug.h: a
 * tokenizer from memory, what it puts around a text, chat turns, and grammars that heed a
 * wish to stop.
 */

#include <stdatomic.h>

#include "core/bytes.h"
#include "core/gguf.h"
#include "core/mem.h"
#include "core/status.h"
#include "text/chat/chat.h"
#include "vug/grammar.h"

#define VUG_TOKENIZER_MAX_BYTES ((size_t)256 << 20) /* of a tokenizer.json */
#define VUG_ENCODE_MAX_BYTES    ((size_t)64 << 20)  /* of a text */

/* A tokenizer from the text of a tokenizer.json, which is not needed afterwards.
 * `name` is for sentences. */
VUG_MUST_CHECK vug_status vug_tokenizer_read(vug_str json, const char *name, vug_tokenizer **out,
                                             vug_err *err);

/* A tokenizer from a tokenizer.model of SentencePiece and the text of the
 * tokenizer_config.json beside it, which may be empty. */
VUG_MUST_CHECK vug_status vug_tokenizer_sentencepiece(vug_bytes model, vug_str config,
                                                      const char *name, vug_tokenizer **out,
                                                      vug_err *err);

/* FOLDER/tokenizer.json, or FOLDER/tokenizer.model where there is only that; NULL when out
 * of memory. To be freed. */
char *vug_tokenizer_path(const char *folder);

/* The tokenizer inside a GGUF file: a whole tokenizer.json, or pieces with scores
 * (SentencePiece's). VUG_UNSUPPORTED for every other kind. */
VUG_MUST_CHECK vug_status vug_tokenizer_gguf(const vug_gguf *gguf, vug_tokenizer **out,
                                             vug_err *err);

/* The text of a tokenizer.json that gives the ids of a tokenizer which was made of something
 * else: the arrays of a GGUF file, or a tokenizer.model. VUG_UNSUPPORTED says what it has no
 * words for. `name` is for sentences. */
VUG_MUST_CHECK vug_status vug_tokenizer_write(const vug_tokenizer *tokenizer, const char *name,
                                              vug_text *out, vug_err *err);

/* A tokenizer.json. */
typedef struct {
    vug_str json;
    const char *name;               /* for sentences */
    const vug_tokenizer *tokenizer; /* that was made of it; may be NULL */
} vug_tokenizer_file;

/* Puts it into the metadata of a GGUF file: whole, and where llama.cpp has a name for its
 * kind as the arrays that it reads, of `n_vocab` ids. Which ids end a text is the config's. */
VUG_MUST_CHECK vug_status vug_tokenizer_put_gguf(const vug_tokenizer_file *file, int64_t n_vocab,
                                                 vug_gguf_builder *to, vug_err *err);

/* The ids that VUG_ENCODE_ADD_SPECIAL puts in front of a text, such as <bos>. */
const int32_t *vug_tokenizer_prefix(const vug_tokenizer *tokenizer, size_t *n);

/* Appends the bytes that a token stands for inside a text, which may be part of a
 * character. False for an id without a spelling. */
bool vug_token_bytes(const vug_tokenizer *tokenizer, int32_t id, vug_buf *to);
/* Whether it is a control token, such as <eos>, which decoded text leaves out on request. */
bool vug_token_is_special(const vug_tokenizer *tokenizer, int32_t id);

/* From now on the calls of `state` end soon with VUG_CANCELLED while `cancel` is true. */
void vug_grammar_heed(vug_grammar_state *state, const atomic_bool *cancel);

#endif
