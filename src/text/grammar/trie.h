#ifndef VUG_TEXT_GRAMMAR_TRIE_H
#define VUG_TEXT_GRAMMAR_TRIE_H

/*
 * All tokens of a vocabulary by their bytes, as a tree of bytes: what a grammar walks to
 * see which tokens may come. Added and special tokens are in it as vug_rules_token spells
 * them; special ones are nothing else, and those without bytes are not in it.
 *
 * Nodes are numbered level by level, each level in the order of bytes. So the children
 * of a node are consecutive, and a walk in depth goes through every level from left to
 * right: memory is read in a few streams.
 */

#include "text/text.h"

#define VUG_TRIE_MAX_NODES ((size_t)1 << 24)

typedef struct {
    uint32_t child;      /* the first; those of the next node end them */
    uint32_t first : 24; /* its tokens in `id`; likewise */
    uint32_t byte : 8;   /* on the way to it */
} vug_trie_node;

typedef struct {
    vug_trie_node *node; /* [n_nodes + 1]; 0 is the root */
    int32_t *id;         /* [n_tokens] */
    size_t n_nodes, n_tokens;
    size_t longest; /* bytes of a token */
} vug_trie;

/* Appends an added or special token as vug_rules_token spells it. False where it has no
 * spelling. */
bool vug_token_itself(const vug_tokenizer *tokenizer, int32_t id, vug_buf *to);

/* Made when it is asked for first, and kept with the tokenizer, whatever the number of
 * grammars. From any thread. */
VUG_MUST_CHECK vug_status vug_trie_of(const vug_tokenizer *tokenizer, const vug_trie **out,
                                      vug_err *err);

/* Where a tokenizer keeps it. */
typedef struct vug_trie_keeper vug_trie_keeper;
VUG_MUST_CHECK vug_status vug_trie_keeper_create(vug_trie_keeper **out, vug_err *err);
void vug_trie_keeper_destroy(vug_trie_keeper *keeper);

#endif
