#include "text/grammar/group_traversal.h"

/* What is left of a node whose characters lead to different positions. */
typedef struct {
    uint32_t member, end; /* elements of `member` */
    vug_stack_set stacks; /* before it */
} mixed_node;

vug_status vug_group_traversal_init(vug_group_traversal *t, const vug_group_trie *groups,
                                    vug_grammar_matcher *matcher, vug_err *err)
{
    const size_t n = groups->depth + 1;
    *t = (vug_group_traversal){ .groups = groups,
                                .matcher = matcher,
                                .at = vug_alloc(n, sizeof(*t->at)),
                                .closed = vug_alloc(n, sizeof(*t->closed)) };
    vug_status st = VUG_OK;
    if (t->at && t->closed)
        st = vug_trie_traversal_init(&t->rest, groups->trie, matcher, err);
    else
        st = VUG_FAIL_NOMEM(err, "a token mask", n * sizeof(*t->closed));
    if (st != VUG_OK)
        vug_group_traversal_release(t);
    return st;
}

void vug_group_traversal_release(vug_group_traversal *t)
{
    vug_trie_traversal_release(&t->rest);
    vug_buf_release(&t->mixed);
    vug_free(t->at);
    vug_free(t->closed);
    *t = (vug_group_traversal){ 0 };
}

void vug_group_traversal_enter(vug_group_traversal *t, uint32_t node, vug_stack_set stacks)
{
    const vug_group_trie_node *n = &t->groups->node[node];
    t->at[n->depth > 0 ? n->depth - 1U : 0] = stacks;
    t->closed[n->depth > 0 ? n->depth - 1U : 0] = 0;
    t->next = n->depth > 0 ? node : node + 1;
    t->end = n->end;
    t->stacks = t->rest.stacks = stacks;
    t->mixed.len = 0;
}

static void leave_for_rest(vug_group_traversal *t, uint32_t node, vug_stack_set stacks)
{
    const vug_group_trie_node *n = &t->groups->node[node];
    const mixed_node mixed = { n[0].member, n[1].member, stacks };
    vug_buf_push(&t->mixed, &mixed, sizeof(mixed));
}

bool vug_group_traversal_next(vug_group_traversal *t)
{
    const vug_group_trie_node *all = t->groups->node;
    while (t->next < t->end) {
        const uint32_t node = t->next;
        const vug_stack_set before = t->at[all[node].depth - 1U];
        t->node = node;
        t->whole = (t->groups->below[node] & ~t->closed[all[node].depth - 1U]) == 0;
        if (t->whole) {
            t->next = all[node].end;
            return true;
        }
        const vug_stack_set to = vug_grammar_matcher_charge(t->matcher, 1)
                                         ? vug_group_step(t->matcher, before, all[node].group)
                                         : VUG_STACK_SET_FAILED;
        if (to == VUG_STACK_SET_FAILED) {
            t->stacks = to;
            t->next = t->end;
            return false;
        }
        if (to == VUG_STACK_SET_MIXED)
            leave_for_rest(t, node, before);
        if (to == VUG_STACK_SET_DEAD || to == VUG_STACK_SET_MIXED) {
            t->next = all[node].end;
            continue;
        }
        t->at[all[node].depth] = to;
        t->closed[all[node].depth] = 0;
        t->stacks = to;
        t->next = node + 1;
        return true;
    }
    return false;
}

bool vug_group_traversal_enter_rest(vug_group_traversal *t)
{
    if (t->mixed.bad) {
        t->matcher->nomem = true;
        t->stacks = VUG_STACK_SET_FAILED;
    }
    if (vug_group_traversal_failed(t))
        return false;
    while (t->mixed.len > 0) {
        mixed_node *last = (mixed_node *)(void *)(t->mixed.ptr + t->mixed.len - sizeof(mixed_node));
        if (last->member < last->end) {
            vug_trie_traversal_enter_node(&t->rest, t->groups->member[last->member++],
                                          last->stacks);
            return true;
        }
        t->mixed.len -= sizeof(mixed_node);
    }
    return false;
}
