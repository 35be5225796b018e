#ifndef VUG_GRAMMAR_H
#define VUG_GRAMMAR_H

/*
 * Grammars constrain generated text to a given language.
 *
 * A JSON schema, a regular expression or a GBNF grammar is compiled to an automaton over
 * bytes and, with a tokenizer, to a mask over token ids at every step. What is supported of
 * JSON Schema is in docs/structured-output.md; anything else is refused by name.
 *
 * Errors, ownership and threads work as in vug.h.
 */

#include "vug/vug.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    VUG_GRAMMAR_JSON,   /* any JSON object; `text` is ignored */
    VUG_GRAMMAR_SCHEMA, /* a JSON schema */
    VUG_GRAMMAR_REGEX,  /* a regular expression that matches the whole text, without anchors */
    VUG_GRAMMAR_GBNF,   /* a grammar as in llama.cpp, starting at the rule "root" */
    VUG_GRAMMAR_STRICT_SCHEMA, /* a JSON schema whose unknown keywords and formats are errors */
} vug_grammar_kind;

/* Compiled for one tokenizer, which must outlive the grammar. Threads may share a grammar: its
 * cache of masks has a lock. */
typedef struct vug_grammar vug_grammar;

VUG_API VUG_MUST_CHECK vug_status vug_grammar_create(vug_grammar_kind kind, const char *text,
                                                     size_t len, const vug_tokenizer *tokenizer,
                                                     vug_grammar **out, vug_err *err);
VUG_API void vug_grammar_destroy(vug_grammar *grammar);
/* What is probably a mistake in a schema, such as a misspelled keyword, which is ignored: lines that
 * each end with '\n'; empty if there is nothing. Lives as long as the grammar. */
VUG_API const char *vug_grammar_warnings(const vug_grammar *grammar);
/* The memory of the automaton and of the masks that are cached so far. */
VUG_API size_t vug_grammar_bytes(const vug_grammar *grammar);

/* The position of one text in a grammar. Used by one thread at a time. */
typedef struct vug_grammar_state vug_grammar_state;

/* A state at the beginning of a text. */
VUG_API VUG_MUST_CHECK vug_status vug_grammar_state_create(const vug_grammar *grammar,
                                                           vug_grammar_state **out, vug_err *err);
VUG_API void vug_grammar_state_destroy(vug_grammar_state *state);
/* Returns to the beginning. */
VUG_API void vug_grammar_state_reset(vug_grammar_state *state);

/* Bit id % 32 of word id / 32 tells whether the token may come next. Special tokens may come
 * only where the grammar names them, such as the markers of a tool call. `n_words` is at least
 * (vug_tokenizer_size + 31) / 32. */
VUG_API VUG_MUST_CHECK vug_status vug_grammar_mask(vug_grammar_state *state, uint32_t *word,
                                                   size_t n_words, vug_err *err);
/* Advances the state by a token. Fails with VUG_ARGUMENT, and leaves the state as it was, if the
 * token may not come next. */
VUG_API VUG_MUST_CHECK vug_status vug_grammar_accept(vug_grammar_state *state, int32_t id,
                                                     vug_err *err);
/* Whether the text may end here. It must end if, besides, the mask is empty. */
VUG_API bool vug_grammar_may_end(const vug_grammar_state *state);
/* The tokens that must come next, as the tokenizer encodes their text: up to `cap` of them,
 * 0 if more than one text is possible. */
VUG_API VUG_MUST_CHECK vug_status vug_grammar_forced(vug_grammar_state *state, int32_t *id,
                                                     size_t cap, size_t *n, vug_err *err);

#ifdef __cplusplus
}
#endif

#endif
