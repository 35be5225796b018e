#ifndef VUG_TEXT_TEXT_H
#define VUG_TEXT_TEXT_H

/*
 * What other modules need of src/text beyond the public API: tokenizers from memory and as
 * files of other formats, chat templates, and grammars that can be cancelled.
 */

#include "core/bytes.h"
#include "core/gguf.h"
#include "core/mem.h"
#include "core/status.h"
#include "text/chat/chat_template.h"
#include "vug/grammar.h"

#define VUG_TOKENIZER_MAX_BYTES ((size_t)256 << 20) /* of a tokenizer.json or tokenizer.model */
#define VUG_ENCODE_MAX_BYTES    ((size_t)64 << 20)  /* of a text to encode */

/* Reads a tokenizer.json; its text is not needed afterwards. `name` appears in error messages. */
VUG_MUST_CHECK vug_status vug_tokenizer_from_json(vug_str json, const char *name,
                                                  vug_tokenizer **out, vug_err *err);

/* Reads SentencePiece's tokenizer.model, with the text of the tokenizer_config.json beside it,
 * which may be empty. */
VUG_MUST_CHECK vug_status vug_tokenizer_from_sentencepiece(vug_bytes model, vug_str config,
                                                           const char *name, vug_tokenizer **out,
                                                           vug_err *err);

/* FOLDER/tokenizer.json, or FOLDER/tokenizer.model if there is only that; to be freed. NULL
 * when out of memory. */
char *vug_tokenizer_path(const char *folder);

/* Reads the tokenizer inside a GGUF file: a whole tokenizer.json, or llama.cpp's arrays.
 * VUG_UNSUPPORTED for kinds other than llama, gemma4 and gpt2. */
VUG_MUST_CHECK vug_status vug_tokenizer_from_gguf(const vug_gguf *gguf, vug_tokenizer **out,
                                                  vug_err *err);

/* Writes a tokenizer that was read from GGUF arrays or a tokenizer.model as a tokenizer.json
 * with the same ids. VUG_UNSUPPORTED names what that cannot express. `name` appears in error
 * messages. */
VUG_MUST_CHECK vug_status vug_tokenizer_write_json(const vug_tokenizer *tokenizer, const char *name,
                                                   vug_text *out, vug_err *err);

/* A tokenizer.json. */
typedef struct {
    vug_str json;
    const char *name;               /* for error messages */
    const vug_tokenizer *tokenizer; /* read from it; may be NULL */
} vug_tokenizer_json_source;

/* Writes a tokenizer.json into the metadata of a GGUF file: whole, and if llama.cpp has a name
 * for its kind, as llama.cpp's arrays of `n_vocab` ids. The caller writes the EOS ids, which
 * are the config's. */
VUG_MUST_CHECK vug_status vug_tokenizer_write_gguf(const vug_tokenizer_json_source *source,
                                                   int64_t n_vocab, vug_gguf_builder *to,
                                                   vug_err *err);

/* The ids that VUG_ENCODE_ADD_SPECIAL puts in front of a text, such as <bos>. */
const int32_t *vug_tokenizer_prefix(const vug_tokenizer *tokenizer, size_t *n);

/* Appends the bytes that a token stands for in a text, which may be part of a character.
 * False for an id without a token. */
bool vug_tokenizer_append_bytes(const vug_tokenizer *tokenizer, int32_t id, vug_buf *to);
/* The tokens of a part of a prompt. A replay that is only partly within it counts as text. */
VUG_MUST_CHECK vug_status vug_prompt_encode_part(const vug_tokenizer *tokenizer,
                                                 const vug_prompt *prompt, vug_range part,
                                                 vug_tokens *out, vug_err *err);
/* From now on calls on `state` fail with VUG_CANCELLED while the token, which may be NULL, is
 * triggered. */
void vug_grammar_state_set_cancel(vug_grammar_state *state, const vug_cancel_token *cancel);

#endif
