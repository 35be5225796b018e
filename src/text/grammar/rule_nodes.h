#ifndef VUG_TEXT_GRAMMAR_RULE_NODES_H
#define VUG_TEXT_GRAMMAR_RULE_NODES_H

/* The inside of vug_rules: written by rules.c, read by what makes automata of them. */

#include "text/grammar/rules.h"
#include "text/grammar/sets.h"

#define VUG_RULE_UNDEFINED UINT32_MAX

typedef enum {
    VUG_RULE_EMPTY,    /* the node 0, and no other */
    VUG_RULE_LITERAL,  /* bytes [at, at + n), n >= 1 */
    VUG_RULE_CLASS,    /* ranges [at, at + n), n >= 1 */
    VUG_RULE_SEQUENCE, /* parts [at, at + n), n >= 2 */
    VUG_RULE_CHOICE,   /* likewise; n = 0 for what never matches */
    VUG_RULE_REPEAT,   /* node `at`, `n` times at least and `max` > 0 at most */
    VUG_RULE_GRAPH,    /* edges [at, at + n), vug_graph_edge; `max` states */
    VUG_RULE_AHEAD,    /* node `at`, negated if `n` is 1 */
    VUG_RULE_DECLARED, /* node `at`, or VUG_RULE_UNDEFINED; its name: `n` bytes, up to `max` */
} vug_rule_kind;

typedef struct {
    vug_rule_kind kind;
    uint32_t at, n, max;
    uint32_t depth; /* of the tree below it; a declared node is a leaf */
} vug_rule;

/* Nodes have lower numbers than those they are in, declared ones excepted. */
struct vug_rules {
    vug_buf rule;  /* vug_rule */
    vug_buf part;  /* vug_node */
    vug_buf range; /* vug_char_range; those of a class ascend and are apart */
    vug_buf bytes;
    vug_buf edge;   /* vug_graph_edge */
    uint64_t work;  /* that vug_rules_regular did */
    vug_sets known; /* what makes a node; of all but declared ones */
    vug_buf nodes;  /* vug_node, of each of those */
    vug_buf key;
    vug_status st;
    vug_err err;
};

static inline size_t vug_rules_count(const vug_rules *rules)
{
    return rules->rule.len / sizeof(vug_rule);
}

static inline vug_rule *vug_rule_at(const vug_rules *rules, vug_node node)
{
    return (vug_rule *)(void *)rules->rule.ptr + node;
}

/* Those of a sequence or a choice. */
static inline const vug_node *vug_rule_parts(const vug_rules *rules, const vug_rule *rule)
{
    return (const vug_node *)(const void *)rules->part.ptr + rule->at;
}

static inline const vug_graph_edge *vug_rule_edges(const vug_rules *rules, const vug_rule *graph)
{
    return (const vug_graph_edge *)(const void *)rules->edge.ptr + graph->at;
}

static inline const vug_char_range *vug_rule_ranges(const vug_rules *rules, const vug_rule *rule)
{
    return (const vug_char_range *)(const void *)rules->range.ptr + rule->at;
}

static inline vug_str vug_rule_text(const vug_rules *rules, const vug_rule *literal)
{
    return (vug_str){ rules->bytes.ptr + literal->at, literal->n };
}

/* Of a declared node; empty where it has none. */
static inline vug_str vug_rule_name(const vug_rules *rules, const vug_rule *declared)
{
    return declared->n == 0
                   ? (vug_str){ 0 }
                   : (vug_str){ rules->bytes.ptr + declared->max - declared->n, declared->n };
}

/* Sorts ranges, joins those that meet, leaves surrogates out, and with `negated` gives
 * the others. `to` has room for n + 2; returns how many there are. */
size_t vug_ranges_settle(const vug_char_range *range, size_t n, bool negated, vug_char_range *to);

#endif
