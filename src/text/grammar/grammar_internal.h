#ifndef VUG_TEXT_GRAMMAR_GRAMMAR_INTERNAL_H
#define VUG_TEXT_GRAMMAR_GRAMMAR_INTERNAL_H

/*
 * A grammar for one vocabulary, and a position in a text under it.
 *
 *     text ─► expressions ─► automaton ─┐
 *                                       ├─► matcher ─► token mask
 *     tokenizer ─────────► token trie ──┘
 *
 * Shared by grammar_compiler.c, grammar_state.c and forced_tokens.c.
 */

#include "text/grammar/token_mask.h"
#include "text/grammar/unique_tokens.h"
#include "vug/grammar.h"

enum { VUG_GRAMMAR_RECENT_MASKS = 8 }; /* kept per text: those of strings repeat token by token */

struct vug_grammar {
    const vug_tokenizer *tokenizer;
    vug_automaton *automaton;
    vug_mask_cache *cache;
    vug_unique_vocabulary *vocabulary; /* NULL: `automaton` has no unique items */
    char *warnings;                    /* NULL: none */
};

struct vug_grammar_state {
    const vug_grammar *grammar;
    vug_grammar_matcher matcher;
    vug_stack_set at; /* VUG_STACK_SET_UNKNOWN: the beginning, computed by the next call */
    bool may_end, empty_may_end;
    vug_buf bytes;    /* scratch: of a token, or of the forced text */
    uint32_t *recent; /* [VUG_GRAMMAR_RECENT_MASKS, n_words]: complete masks */
    vug_stack_set recent_of[VUG_GRAMMAR_RECENT_MASKS]; /* their stack sets; VUG_STACK_SET_DEAD if
                                                          the entry is free */
    size_t oldest;
    vug_unique_items unique; /* only of automata with `has_unique_items` */
};

/* Every call that uses the matcher begins with this. */
VUG_MUST_CHECK vug_status vug_grammar_state_begin_call(vug_grammar_state *state, vug_err *err);

#endif
