#ifndef VUG_TEXT_GRAMMAR_TRIE_TRAVERSAL_H
#define VUG_TEXT_GRAMMAR_TRIE_TRAVERSAL_H

/* Depth-first traversal of the token trie through the nodes that the matcher accepts. */

#include "text/grammar/matcher.h"
#include "text/tokenizer/token_trie.h"

typedef struct {
    uint32_t node, end;   /* siblings that are still to be tried */
    vug_stack_set stacks; /* before their byte */
} vug_trie_branch;

typedef struct {
    const vug_token_trie *trie;
    vug_grammar_matcher *matcher;
    vug_trie_branch *path; /* [longest + 1] */
    size_t depth;          /* branches on the path: 0 at the end, and after a failure */
    uint32_t node;         /* the current node */
    vug_stack_set stacks;  /* after its byte; VUG_STACK_SET_FAILED after a failure */
} vug_trie_traversal;

VUG_MUST_CHECK vug_status vug_trie_traversal_init(vug_trie_traversal *t, const vug_token_trie *trie,
                                                  vug_grammar_matcher *matcher, vug_err *err);
void vug_trie_traversal_release(vug_trie_traversal *t);

/* Starts a traversal of the subtree below `node`. `stacks` is the position after its byte. */
static inline void vug_trie_traversal_enter(vug_trie_traversal *t, uint32_t node,
                                            vug_stack_set stacks)
{
    const vug_token_trie_node *at = &t->trie->node[node];
    t->stacks = stacks;
    t->depth = 1;
    t->path[0] = (vug_trie_branch){ at[0].child, at[1].child, stacks };
}

/* Starts a traversal of `node`, which is not the root, and the subtree below it. `stacks` is the
 * position before its byte. */
static inline void vug_trie_traversal_enter_node(vug_trie_traversal *t, uint32_t node,
                                                 vug_stack_set stacks)
{
    t->stacks = stacks;
    t->depth = 1;
    t->path[0] = (vug_trie_branch){ node, node + 1, stacks };
}

/* Moves to the next node. False at the end, and when the matcher failed. */
static inline bool vug_trie_traversal_next(vug_trie_traversal *t)
{
    const vug_token_trie_node *all = t->trie->node;
    size_t depth = t->depth;
    while (depth > 0) {
        vug_trie_branch *b = &t->path[depth - 1];
        if (b->node == b->end) {
            depth--;
            continue;
        }
        const uint32_t at = b->node++;
        const vug_stack_set to =
                vug_grammar_matcher_charge(t->matcher, 1)
                        ? vug_grammar_matcher_step(t->matcher, b->stacks, (uint8_t)all[at].byte)
                        : VUG_STACK_SET_FAILED;
        if (to == VUG_STACK_SET_DEAD)
            continue;
        t->node = at;
        t->stacks = to;
        if (to == VUG_STACK_SET_FAILED)
            break;
        if (all[at].child < all[at + 1].child)
            t->path[depth++] = (vug_trie_branch){ all[at].child, all[at + 1].child, to };
        t->depth = depth;
        return true;
    }
    t->depth = 0;
    return false;
}

static inline bool vug_trie_traversal_has_subtree(const vug_trie_traversal *t)
{
    return t->trie->node[t->node].child < t->trie->node[t->node + 1].child;
}

/* Goes on behind the subtree of the current node, which has one. */
static inline void vug_trie_traversal_skip_subtree(vug_trie_traversal *t)
{
    t->depth--;
}

static inline bool vug_trie_traversal_failed(const vug_trie_traversal *t)
{
    return t->stacks == VUG_STACK_SET_FAILED;
}

#endif
