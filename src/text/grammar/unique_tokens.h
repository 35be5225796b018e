#ifndef VUG_TEXT_GRAMMAR_UNIQUE_TOKENS_H
#define VUG_TEXT_GRAMMAR_UNIQUE_TOKENS_H

/* Tokens that would repeat an item of an array whose items differ, or leave it no other one. */

#include "text/grammar/group_trie.h"
#include "text/grammar/matcher.h"
#include "text/grammar/unique_items.h"

/* Both positions in a text: that of the automaton and that in arrays whose items differ. */
typedef struct {
    vug_grammar_matcher *matcher;
    vug_unique_items *items;
} vug_unique_matcher;

/* The stacks after the bytes; VUG_STACK_SET_DEAD also if they repeat an item. `repeats`, which may
 * be NULL, becomes whether they do. If they are dead, `items` is left somewhere in the text. */
vug_stack_set vug_unique_match(const vug_unique_matcher *m, vug_stack_set at, vug_str bytes,
                               bool *repeats);

/* Whether the current items can still become other than all earlier ones. Values that a search for
 * a limited time does not tell apart are taken to be possible. */
bool vug_unique_can_differ(const vug_unique_matcher *m, vug_stack_set at);

/* A vocabulary, and which of its tokens may end an item, for all texts of a grammar. The first mask finds
 * that out. */
typedef struct vug_unique_vocabulary vug_unique_vocabulary;

/* The tokenizer and the tries outlive it; masks have `n_words` words. */
VUG_MUST_CHECK vug_status vug_unique_vocabulary_create(const vug_tokenizer *tokenizer,
                                                       const vug_group_trie *groups, size_t n_words,
                                                       vug_unique_vocabulary **out, vug_err *err);
void vug_unique_vocabulary_destroy(vug_unique_vocabulary *v);
size_t vug_unique_vocabulary_bytes(const vug_unique_vocabulary *v);

/* Removes such tokens from a mask. Threads may share the vocabulary, but not the matcher. Fails if memory
 * ran out or the matcher stopped. */
VUG_MUST_CHECK vug_status vug_unique_exclude_tokens(const vug_unique_matcher *m, vug_stack_set at,
                                                    vug_unique_vocabulary *v, uint32_t *word,
                                                    vug_err *err);

#endif
