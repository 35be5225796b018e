#ifndef VUG_TEXT_GRAMMAR_GRAMMAR_EXPR_H
#define VUG_TEXT_GRAMMAR_GRAMMAR_EXPR_H

/*
 * The expressions of a grammar under construction. grammar_builder.c writes the nodes; the
 * passes that compile a grammar read them.
 */

#include "core/mem.h"
#include "text/grammar/char_ranges.h"
#include "text/grammar/intern.h"

/* The number of an expression. */
typedef uint32_t vug_grammar_expr;
#define VUG_EMPTY_EXPR       ((vug_grammar_expr)0) /* matches the empty text */
#define VUG_REPEAT_UNBOUNDED UINT32_MAX

/* An edge of a graph whose labels are expressions. */
#define VUG_GRAMMAR_GRAPH_END UINT32_MAX
typedef struct {
    vug_grammar_expr label;
    uint32_t from, to; /* states */
} vug_grammar_edge;

#define VUG_EXPR_UNDEFINED UINT32_MAX

typedef enum {
    VUG_EXPR_EMPTY,     /* only expression 0 */
    VUG_EXPR_LITERAL,   /* bytes [at, at + n), n >= 1 */
    VUG_EXPR_CLASS,     /* ranges [at, at + n), n >= 1 */
    VUG_EXPR_SEQUENCE,  /* parts [at, at + n), n >= 2 */
    VUG_EXPR_CHOICE,    /* parts [at, at + n), n != 1; n = 0 matches nothing */
    VUG_EXPR_REPEAT,    /* expression `at`, at least `n` and at most `max` > 0 times */
    VUG_EXPR_GRAPH,     /* edges [at, at + n), vug_grammar_edge; `max` states; paths of at most
                           `limit` edges */
    VUG_EXPR_LOOKAHEAD, /* expression `at`, negated if `n` is 1 */
    VUG_EXPR_RULE,      /* expression `at`, or VUG_EXPR_UNDEFINED; the `n` bytes before byte
                           `max` are its name */
} vug_expr_kind;

typedef struct {
    vug_expr_kind kind;
    uint32_t at, n, max;
    uint32_t limit;    /* of a graph; else 0 */
    uint32_t depth;    /* of the tree below; a rule counts as a leaf */
    bool unique_items; /* of a rule: a JSON array whose items differ */
} vug_expr_node;

/* Parts have lower numbers than the expressions that contain them, except through rules. */
typedef struct {
    vug_buf node;  /* vug_expr_node */
    vug_buf part;  /* vug_grammar_expr */
    vug_buf range; /* vug_char_range; those of a class are sorted and disjoint */
    vug_buf bytes;
    vug_buf edge;              /* vug_grammar_edge */
    uint64_t lookahead_work;   /* steps spent in vug_grammar_resolve_lookahead */
    vug_intern_table interned; /* the contents of all expressions except rules */
    vug_buf interned_expr;     /* vug_grammar_expr, for each entry of `interned` */
    vug_buf key;               /* scratch space for one entry of `interned` */
    bool strict_schemas;       /* unknown keywords and formats of schemas are failures */
    vug_buf warnings;          /* about schemas, one a line */
    vug_status st;             /* the first failure */
    vug_err err;
} vug_grammar_builder;

static inline size_t vug_grammar_expr_count(const vug_grammar_builder *b)
{
    return b->node.len / sizeof(vug_expr_node);
}

static inline vug_expr_node *vug_expr_get(const vug_grammar_builder *b, vug_grammar_expr expr)
{
    return (vug_expr_node *)(void *)b->node.ptr + expr;
}

/* Whether it is a graph that bounds the length of its paths. */
static inline bool vug_expr_is_bounded_graph(const vug_expr_node *node)
{
    return node->kind == VUG_EXPR_GRAPH && node->limit != VUG_REPEAT_UNBOUNDED;
}

/* The parts of a sequence or a choice. */
static inline const vug_grammar_expr *vug_expr_parts(const vug_grammar_builder *b,
                                                     const vug_expr_node *node)
{
    return (const vug_grammar_expr *)(const void *)b->part.ptr + node->at;
}

static inline const vug_grammar_edge *vug_expr_edges(const vug_grammar_builder *b,
                                                     const vug_expr_node *graph)
{
    return (const vug_grammar_edge *)(const void *)b->edge.ptr + graph->at;
}

static inline const vug_char_range *vug_expr_ranges(const vug_grammar_builder *b,
                                                    const vug_expr_node *class)
{
    return (const vug_char_range *)(const void *)b->range.ptr + class->at;
}

static inline vug_str vug_expr_text(const vug_grammar_builder *b, const vug_expr_node *literal)
{
    return (vug_str){ b->bytes.ptr + literal->at, literal->n };
}

/* The name of a rule; empty if it has none. */
static inline vug_str vug_expr_rule_name(const vug_grammar_builder *b, const vug_expr_node *rule)
{
    return rule->n == 0 ? (vug_str){ 0 } : (vug_str){ b->bytes.ptr + rule->max - rule->n, rule->n };
}

#endif
