#ifndef VUG_TEXT_TOKENIZER_TOKEN_TRIE_H
#define VUG_TEXT_TOKENIZER_TOKEN_TRIE_H

/*
 * A trie of the bytes of all tokens of a vocabulary, which grammars traverse to find the
 * tokens that may come next. Added and special tokens are in it between marker bytes. Special
 * tokens are in it that way only, and tokens without bytes are not in it.
 *
 * Nodes are numbered level by level, and within a level in the order of their bytes. So the
 * children of a node are consecutive, and a depth-first traversal reads each level from left
 * to right: memory is read in a few sequential streams.
 */

#include "text/text.h"

#define VUG_TOKEN_TRIE_MAX_NODES ((size_t)1 << 24)
/* A token stands for itself, rather than for its text, between two of these: no UTF-8 text
 * contains the byte. */
#define VUG_TOKEN_MARKER_BYTE 0xff

typedef struct {
    uint32_t child;      /* the first child; they end where those of the next node begin */
    uint32_t first : 24; /* its first token in `id`; they end where those of the next node begin */
    uint32_t byte : 8;   /* on the edge to the node */
} vug_token_trie_node;

/* Groups of bytes, as bits: lower case letters, upper case letters and digits of ASCII, its control
 * characters below U+0020 but for tabs and line breaks, each other ASCII character, the bytes of
 * characters beyond ASCII, and bytes that make the text of a token no beginning of UTF-8. */
#define VUG_BYTE_GROUP_ASCII      41 /* groups below are of ASCII characters */
#define VUG_BYTE_GROUP_BEYOND     ((uint64_t)1 << 41)
#define VUG_BYTE_GROUP_ILL_FORMED ((uint64_t)1 << 42)
/* The number of the group of an ASCII character. */
unsigned vug_byte_group_of_ascii(unsigned c);

typedef struct {
    vug_token_trie_node *node; /* [n_nodes + 1]; 0 is the root */
    uint64_t *below;           /* [n_nodes]: the groups of the bytes below each node */
    int32_t *id;               /* [n_tokens] */
    size_t n_nodes, n_tokens;
    size_t longest; /* bytes of the longest token */
} vug_token_trie;

/* Appends a token's spelling between marker bytes. False if it has no spelling. */
bool vug_token_marked_bytes(const vug_tokenizer *tokenizer, int32_t id, vug_buf *to);

/* The trie of a tokenizer. It is built on first use and kept with the tokenizer, for all
 * grammars. May be called from any thread. */
VUG_MUST_CHECK vug_status vug_token_trie_get(const vug_tokenizer *tokenizer,
                                             const vug_token_trie **out, vug_err *err);

/* What another module keeps with the trie of a tokenizer. One kind of thing per tokenizer. */
typedef struct {
    vug_status (*create)(const vug_token_trie *trie, void **out, vug_err *err);
    void (*destroy)(void *attachment);
} vug_token_trie_attachment;

/* The attachment of a tokenizer. It is created on first use and destroyed with the tokenizer. May
 * be called from any thread. */
VUG_MUST_CHECK vug_status vug_token_trie_attach(const vug_tokenizer *tokenizer,
                                                const vug_token_trie_attachment *kind, void **out,
                                                vug_err *err);

/* Where a tokenizer keeps its trie. */
typedef struct vug_token_trie_cache vug_token_trie_cache;
VUG_MUST_CHECK vug_status vug_token_trie_cache_create(vug_token_trie_cache **out, vug_err *err);
void vug_token_trie_cache_destroy(vug_token_trie_cache *cache);

#endif
