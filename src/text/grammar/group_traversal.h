#ifndef VUG_TEXT_GRAMMAR_GROUP_TRAVERSAL_H
#define VUG_TEXT_GRAMMAR_GROUP_TRAVERSAL_H

/*
 * Traversal of the tokens that the matcher accepts, by groups of characters as far as possible.
 * First it visits the nodes of the group trie. Where the characters of a group lead to different
 * positions, the tokens below are left for a traversal of the token trie:
 *
 *     while (vug_group_traversal_next(&t))
 *         .. the tokens of t.node are allowed, and t.stacks is the position after them; if t.whole is
 *         .. set, so are those below, and t.stacks is unknown
 *     while (vug_group_traversal_enter_rest(&t))
 *         while (vug_trie_traversal_next(&t.rest))
 *             .. the same for t.rest.node and t.rest.stacks
 *     if (vug_group_traversal_failed(&t)) ..
 */

#include "text/grammar/group_steps.h"
#include "text/grammar/trie_traversal.h"

typedef struct {
    const vug_group_trie *groups;
    vug_grammar_matcher *matcher;
    vug_stack_set *at;    /* [depth + 1]: the position after each node of the path */
    uint64_t *closed;     /* [depth + 1]: groups of characters that are allowed in any order after
                             the node of the path; the caller may set that of the current node */
    bool whole;           /* only such characters are at the current node and below it: all of its
                             tokens and those below it are allowed, and they are not visited */
    uint32_t next, end;   /* nodes that are still to be tried */
    uint32_t node;        /* the current node */
    vug_stack_set stacks; /* after it; VUG_STACK_SET_FAILED after a failure */
    vug_buf mixed;        /* mixed_node: whose members are still to be tried */
    vug_trie_traversal rest;
} vug_group_traversal;

VUG_MUST_CHECK vug_status vug_group_traversal_init(vug_group_traversal *t,
                                                   const vug_group_trie *groups,
                                                   vug_grammar_matcher *matcher, vug_err *err);
void vug_group_traversal_release(vug_group_traversal *t);

/* Starts a traversal of a node and the subtree below it. `stacks` is the position before it; that
 * of the root is the one after it, too, and the root itself is not visited. */
void vug_group_traversal_enter(vug_group_traversal *t, uint32_t node, vug_stack_set stacks);
/* Moves to the next node of the group trie. False at the end, and after a failure. */
bool vug_group_traversal_next(vug_group_traversal *t);
/* Starts a traversal of more tokens by `rest`. False at the end, and after a failure. */
bool vug_group_traversal_enter_rest(vug_group_traversal *t);

/* Whether the matcher failed, or memory. */
static inline bool vug_group_traversal_failed(const vug_group_traversal *t)
{
    return t->stacks == VUG_STACK_SET_FAILED || vug_trie_traversal_failed(&t->rest);
}

#endif
