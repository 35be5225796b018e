#ifndef VUG_GRAMMAR_H
#define VUG_GRAMMAR_H

/*
 * Grammars: which tokens may come next, so that what is generated has a given form.
 *
 * A JSON schema, a regular expression or a GBNF grammar becomes an automaton over
 * bytes, and with a tokenizer a mask over its ids at every step. What a schema may say
 * is in docs/structured-output.md; everything else is refused by name.
 *
 * Errors, ownership and threads are as vug.h says.
 */

#include "vug/vug.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    VUG_GRAMMAR_JSON,   /* any JSON object; `text` is not looked at */
    VUG_GRAMMAR_SCHEMA, /* a JSON schema */
    VUG_GRAMMAR_REGEX,  /* of the whole text; anchors are not needed */
    VUG_GRAMMAR_GBNF,   /* as llama.cpp's grammars, from the rule "root" */
} vug_grammar_kind;

/* Compiled for one tokenizer, which must outlive it. May be shared by threads: the masks
 * that it keeps are guarded inside. */
typedef struct vug_grammar vug_grammar;

VUG_API VUG_MUST_CHECK vug_status vug_grammar_create(vug_grammar_kind kind, const char *text,
                                                     size_t len, const vug_tokenizer *tokenizer,
                                                     vug_grammar **out, vug_err *err);
VUG_API void vug_grammar_destroy(vug_grammar *grammar);
/* The memory of the automaton and of the masks that it keeps so far. */
VUG_API size_t vug_grammar_bytes(const vug_grammar *grammar);

/* Where one text stands in a grammar. Used by one thread at a time. */
typedef struct vug_grammar_state vug_grammar_state;

/* At the beginning. */
VUG_API VUG_MUST_CHECK vug_status vug_grammar_start(const vug_grammar *grammar,
                                                    vug_grammar_state **out, vug_err *err);
VUG_API void vug_grammar_state_destroy(vug_grammar_state *state);
VUG_API void vug_grammar_restart(vug_grammar_state *state);

/* Bit id % 32 of word id / 32 says whether the token may come next; special tokens may
 * only where the grammar names them, as the marks of a tool call. `n_words` is at least
 * (vug_tokenizer_size + 31) / 32. */
VUG_API VUG_MUST_CHECK vug_status vug_grammar_mask(vug_grammar_state *state, uint32_t *word,
                                                   size_t n_words, vug_err *err);
/* Goes on by a token. VUG_ARGUMENT, with the state as it was, for one that may not come. */
VUG_API VUG_MUST_CHECK vug_status vug_grammar_accept(vug_grammar_state *state, int32_t id,
                                                     vug_err *err);
/* The text may end here; it must end where, besides, the mask is empty. */
VUG_API bool vug_grammar_may_end(const vug_grammar_state *state);
/* The tokens that come next whatever the model thinks, as the tokenizer writes them: up to
 * `cap` of them, 0 where there is a choice. */
VUG_API VUG_MUST_CHECK vug_status vug_grammar_forced(vug_grammar_state *state, int32_t *id,
                                                     size_t cap, size_t *n, vug_err *err);

#ifdef __cplusplus
}
#endif

#endif
