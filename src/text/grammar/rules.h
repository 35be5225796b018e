#ifndef VUG_TEXT_GRAMMAR_RULES_H
#define VUG_TEXT_GRAMMAR_RULES_H

/*
 * A context-free grammar while it is put together: what a JSON schema, a regular
 * expression and a GBNF text have in common. Expressions are nodes, made bottom up and
 * named by numbers; characters are Unicode scalar values, which become bytes later.
 * A node may be a part of many others, and equal expressions are one node: what is used
 * in many places is compiled once, however it was put together.
 *
 * Sticky: the first failure (out of memory, past a limit) is kept, later calls give
 * node 0, which is the empty text, and vug_rules_ok reports it.
 */

#include "core/mem.h"

#define VUG_RULES_MAX_NODES   ((uint32_t)1 << 18)
#define VUG_RULES_MAX_PARTS   ((uint32_t)1 << 20) /* of sequences and choices together */
#define VUG_RULES_MAX_RANGES  ((uint32_t)1 << 20) /* of classes together */
#define VUG_RULES_MAX_BYTES   ((uint32_t)1 << 22) /* of literals and names together */
#define VUG_RULES_MAX_DEPTH   500                 /* of nodes in nodes */
#define VUG_RULES_MAX_REPEAT  100000
#define VUG_RULES_MAX_TRIGGER 64                  /* characters */
#define VUG_RULES_MAX_WORK    ((uint64_t)1 << 24) /* steps of vug_rules_regular, about a second */

typedef uint32_t vug_node;
#define VUG_NODE_EMPTY     ((vug_node)0)
#define VUG_REPEAT_FOREVER UINT32_MAX

typedef struct {
    uint32_t from, to; /* both are in it */
} vug_char_range;

typedef struct vug_rules vug_rules;

/* NULL when out of memory. */
vug_rules *vug_rules_create(void);
void vug_rules_destroy(vug_rules *rules);
VUG_MUST_CHECK vug_status vug_rules_ok(const vug_rules *rules, vug_err *err);

/* `text` is UTF-8, or else any bytes; they come as they are. */
vug_node vug_rules_literal(vug_rules *rules, vug_str text);
/* One character of the ranges, which may overlap, or with `negated` any other. No range
 * and `negated`: any character. Surrogates are no characters and never match. */
vug_node vug_rules_class(vug_rules *rules, const vug_char_range *range, size_t n, bool negated);
vug_node vug_rules_sequence(vug_rules *rules, const vug_node *part, size_t n);
/* n = 0: nothing matches. */
vug_node vug_rules_choice(vug_rules *rules, const vug_node *part, size_t n);
/* `min` and `max` are at most VUG_RULES_MAX_REPEAT, or `max` is VUG_REPEAT_FOREVER. */
vug_node vug_rules_repeat(vug_rules *rules, vug_node what, uint32_t min, uint32_t max);
/* Any text that ends with the first `trigger` in it, which is UTF-8 and not empty: what
 * comes before a tool call that is announced by a word. */
vug_node vug_rules_until(vug_rules *rules, vug_str trigger);

/* A token of its own, by its spelling, as <tool_call>: an added or special token of the
 * vocabulary, for which its letters do not stand. Inside of rules, automata and the tree of
 * tokens it is its spelling between two bytes 0xff, which no text has. */
vug_node vug_rules_token(vug_rules *rules, vug_str spelling);
#define VUG_RULES_TOKEN_BYTE 0xff

/* From state 0 of a graph along edges, each a text of its label, to VUG_GRAPH_END. */
#define VUG_GRAPH_END UINT32_MAX
typedef struct {
    vug_node label;
    uint32_t from, to; /* states */
} vug_graph_edge;
vug_node vug_rules_graph(vug_rules *rules, const vug_graph_edge *edge, size_t n);
/* The empty text, where all that follows to the end is `rest`, or with `negated` is not.
 * For vug_rules_regular alone. */
vug_node vug_rules_ahead(vug_rules *rules, vug_node rest, bool negated);

/* A node that stands for an expression which is given later, so that rules can call
 * each other and themselves. */
vug_node vug_rules_declare(vug_rules *rules);
/* Once for each that is declared. */
void vug_rules_define(vug_rules *rules, vug_node declared, vug_node as);
/* What sentences call a declared node. */
void vug_rules_name(vug_rules *rules, vug_node declared, vug_str name);

/* Any JSON value, object, string, number; whitespace as vug writes it is the compiler's
 * decision, and in one place: json_rules.c. */

/* ---- front ends: the root of what `text` says -------------------------------- */

VUG_MUST_CHECK vug_status vug_rules_schema(vug_rules *rules, vug_str text, vug_node *root,
                                           vug_err *err);
/* Of the whole text. */
VUG_MUST_CHECK vug_status vug_rules_regex(vug_rules *rules, vug_str text, vug_node *root,
                                          vug_err *err);
/* From the rule "root". */
VUG_MUST_CHECK vug_status vug_rules_gbnf(vug_rules *rules, vug_str text, vug_node *root,
                                         vug_err *err);

/* The node for one character of the ranges, which are ascending and apart and hold no
 * surrogate; n = 0: for none. What a regular expression is made of can so be spelled
 * otherwise, as inside of JSON's strings. It is called once for every character or class
 * of the expression. */
typedef vug_node vug_character_fn(vug_rules *rules, const vug_char_range *range, size_t n,
                                  void *user);

typedef struct {
    bool search;                 /* it may match anywhere in the text, as "pattern" of schemas */
    bool ahead;                  /* what looks ahead stays vug_rules_ahead */
    vug_character_fn *character; /* NULL: vug_rules_class */
    void *user;
} vug_regex_use;

VUG_MUST_CHECK vug_status vug_rules_regex_part(vug_rules *rules, vug_str text,
                                               const vug_regex_use *use, vug_node *root,
                                               vug_err *err);

/* The expression `root` of `plain`, of classes of characters, sequences, choices, repetitions
 * and what looks ahead, as a node of `rules` that does not look ahead. `plain` is added to. */
vug_node vug_rules_regular(vug_rules *rules, vug_rules *plain, vug_node root,
                           vug_character_fn *character, void *user);

#endif
