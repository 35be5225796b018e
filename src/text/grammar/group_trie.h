#ifndef VUG_TEXT_GRAMMAR_GROUP_TRIE_H
#define VUG_TEXT_GRAMMAR_GROUP_TRIE_H

/*
 * A trie of the tokens of a vocabulary by groups of characters. Grammars treat most characters like
 * others: a letter like any other letter, for example. So the tokens "cat" and "dog" share a path. For
 * the vocabulary of Gemma 3, this trie has 9,000 nodes and the token trie (token_trie.h) 600,000.
 *
 * The path of a token consists of the groups of its characters (vug_group). Characters beyond ASCII
 * have a node VUG_GROUP_NOT_ASCII before their own. What is no character, such as the first bytes of
 * one whose end is in the next token, is on the path byte by byte.
 */

#include "text/tokenizer/token_trie.h"

/* Below these are the groups of ASCII characters, see vug_byte_group_of_ascii. */
typedef enum {
    VUG_GROUP_LINE_END = VUG_BYTE_GROUP_ASCII, /* U+2028 and U+2029, which '.' does not match */
    VUG_GROUP_SPACE,     /* other white space beyond ASCII (ECMA-262), which \s matches */
    VUG_GROUP_OTHER,     /* the other characters beyond ASCII */
    VUG_GROUP_NOT_ASCII, /* one of the three above, or a byte: reads nothing itself */
    VUG_GROUP_N_CACHED,  /* the groups above are sets of characters */
    VUG_GROUP_FIRST_BYTE = VUG_GROUP_N_CACHED, /* the byte 0x80, followed by those up to 0xff */
    VUG_N_GROUPS = VUG_GROUP_FIRST_BYTE + 0x80,
} vug_group;

/* Nodes are in the order of a depth-first traversal: the first child of a node, if it has one, is
 * the next node, and its next sibling is where its subtree ends. */
typedef struct {
    uint32_t end;        /* the node after the subtree */
    uint32_t first;      /* its first token in `id`; they end where those of the next node begin */
    uint32_t member;     /* its first element of `member`, in the same way */
    uint32_t depth : 24; /* 0 for the root */
    uint32_t group : 8;  /* vug_group, on the edge to the node */
} vug_group_trie_node;

typedef struct {
    const vug_token_trie *trie;
    vug_group_trie_node *node; /* [n_nodes + 1]; 0 is the root */
    uint64_t
            *below; /* [n_nodes]: the groups of the bytes of each node and the nodes below it, as in
                        the token trie */
    int32_t *id;    /* [trie->n_tokens] */
    uint32_t
            *member; /* [n_members]: the nodes of the token trie whose byte ends the path of a node,
                         or for VUG_GROUP_NOT_ASCII begins what follows. None for single bytes and
                         for the groups of characters below VUG_GROUP_NOT_ASCII */
    size_t n_nodes, n_members;
    size_t depth; /* of the deepest node */
} vug_group_trie;

/* The token trie outlives it. */
VUG_MUST_CHECK vug_status vug_group_trie_init(vug_group_trie *groups, const vug_token_trie *trie,
                                              vug_err *err);
void vug_group_trie_release(vug_group_trie *groups);

#endif
