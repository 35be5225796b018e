#ifndef VUG_TEXT_GRAMMAR_GRAMMAR_BUILDER_H
#define VUG_TEXT_GRAMMAR_GRAMMAR_BUILDER_H

/*
 * Builds context-free grammars. JSON schemas, regular expressions and GBNF all become these
 * expressions, which are built bottom up. Characters are Unicode scalar values; they become
 * bytes later. An expression may be part of many others, and equal expressions are one: an
 * expression used in many places is compiled once, however it was built.
 *
 * Failures are sticky: the builder keeps the first one (out of memory, past a limit). Later
 * calls return VUG_EMPTY_EXPR, and vug_grammar_builder_ok reports the failure.
 */

#include "text/grammar/grammar_expr.h"

#define VUG_GRAMMAR_MAX_EXPRS          ((uint32_t)1 << 18)
#define VUG_GRAMMAR_MAX_PARTS          ((uint32_t)1 << 20) /* of all sequences and choices */
#define VUG_GRAMMAR_MAX_RANGES         ((uint32_t)1 << 20) /* of all classes */
#define VUG_GRAMMAR_MAX_BYTES          ((uint32_t)1 << 22) /* of all literals and names */
#define VUG_GRAMMAR_MAX_DEPTH          500                 /* of nested expressions */
#define VUG_GRAMMAR_MAX_REPEAT         1000000
#define VUG_GRAMMAR_MAX_TRIGGER        64                  /* characters */
#define VUG_GRAMMAR_MAX_LOOKAHEAD_WORK ((uint64_t)1 << 22) /* steps, less than 0.1 s */

/* NULL when out of memory. */
vug_grammar_builder *vug_grammar_builder_create(void);
void vug_grammar_builder_destroy(vug_grammar_builder *builder);
VUG_MUST_CHECK vug_status vug_grammar_builder_ok(const vug_grammar_builder *builder, vug_err *err);
/* Records a failure unless there is one already. */
#define VUG_GRAMMAR_FAIL(builder, code, ...)                              \
    do {                                                                  \
        if ((builder)->st == VUG_OK)                                      \
            (builder)->st = VUG_FAIL(&(builder)->err, code, __VA_ARGS__); \
    } while (0)

/* ---- leaves ---------------------------------------------------------------------- */

/* `text` is taken byte for byte; it need not be UTF-8. */
vug_grammar_expr vug_grammar_literal(vug_grammar_builder *builder, vug_str text);
vug_grammar_expr vug_grammar_text(vug_grammar_builder *builder, const char *text);
/* One character of the ranges, which may overlap; with `negated`, any character outside of
 * them. No range and `negated` means any character. Surrogates never match. */
vug_grammar_expr vug_grammar_class(vug_grammar_builder *builder, const vug_char_range *range,
                                   size_t n, bool negated);
/* One of the decimal digits `from` to `to`, each 0 to 9. */
vug_grammar_expr vug_grammar_digit(vug_grammar_builder *builder, unsigned from, unsigned to);
/* A single token of the vocabulary, an added or a special one such as <tool_call>. Text that
 * only spells it does not match. In expressions, automata and the token trie, such a token is
 * its spelling between two VUG_TOKEN_MARKER_BYTEs, which no text contains. */
vug_grammar_expr vug_grammar_token(vug_grammar_builder *builder, vug_str spelling);
/* Matches no text at all. */
vug_grammar_expr vug_grammar_nothing(vug_grammar_builder *builder);

/* ---- combinators ------------------------------------------------------------------- */

vug_grammar_expr vug_grammar_sequence(vug_grammar_builder *builder, const vug_grammar_expr *part,
                                      size_t n);
/* n = 0 matches nothing. */
vug_grammar_expr vug_grammar_choice(vug_grammar_builder *builder, const vug_grammar_expr *part,
                                    size_t n);
/* `min` and `max` are at most VUG_GRAMMAR_MAX_REPEAT, or `max` is VUG_REPEAT_UNBOUNDED. */
vug_grammar_expr vug_grammar_repeat(vug_grammar_builder *builder, vug_grammar_expr expr,
                                    uint32_t min, uint32_t max);
vug_grammar_expr vug_grammar_optional(vug_grammar_builder *builder, vug_grammar_expr expr);
/* Any text that ends with the first occurrence of `trigger`, which is UTF-8 and not empty.
 * It matches the text before a tool call that a fixed string announces. */
vug_grammar_expr vug_grammar_until(vug_grammar_builder *builder, vug_str trigger);
/* The texts along the paths of a graph, from state 0 to VUG_GRAMMAR_GRAPH_END. Each edge
 * matches its label. */
vug_grammar_expr vug_grammar_graph(vug_grammar_builder *builder, const vug_grammar_edge *edge,
                                   size_t n);
/* The same for paths of at most `limit` edges, not counting those to the end, which are labelled
 * VUG_EMPTY_EXPR. The matcher counts, so the graph is not copied. `limit` is at most
 * VUG_GRAMMAR_MAX_REPEAT, or VUG_REPEAT_UNBOUNDED; then edges to the end may have any label. */
vug_grammar_expr vug_grammar_bounded_graph(vug_grammar_builder *builder,
                                           const vug_grammar_edge *edge, size_t n, uint32_t limit);
/* Matches the empty text if everything that follows, to the end of the text, matches `rest`;
 * with `negated`, if it does not. Only vug_grammar_resolve_lookahead accepts it. */
vug_grammar_expr vug_grammar_lookahead(vug_grammar_builder *builder, vug_grammar_expr rest,
                                       bool negated);

#define VUG_GRAMMAR_SEQUENCE(builder, ...)                               \
    vug_grammar_sequence((builder), (vug_grammar_expr[]){ __VA_ARGS__ }, \
                         sizeof((vug_grammar_expr[]){ __VA_ARGS__ }) / sizeof(vug_grammar_expr))
#define VUG_GRAMMAR_CHOICE(builder, ...)                               \
    vug_grammar_choice((builder), (vug_grammar_expr[]){ __VA_ARGS__ }, \
                       sizeof((vug_grammar_expr[]){ __VA_ARGS__ }) / sizeof(vug_grammar_expr))

/* ---- rules --------------------------------------------------------------------------- */

/* A rule whose expression is defined later, so that rules can refer to each other and to
 * themselves. */
vug_grammar_expr vug_grammar_declare_rule(vug_grammar_builder *builder);
/* Once for every declared rule. */
void vug_grammar_define_rule(vug_grammar_builder *builder, vug_grammar_expr rule,
                             vug_grammar_expr as);
/* The name of a rule in error messages. */
void vug_grammar_name_rule(vug_grammar_builder *builder, vug_grammar_expr rule, vug_str name);

/* The rule is a JSON array, with its brackets, whose items must differ. Automata accept equal items;
 * vug_grammar_state does not (unique_items.h). */
void vug_grammar_mark_unique_items(vug_grammar_builder *builder, vug_grammar_expr rule);

/* Makes the expression for one character of the ranges, which are sorted, disjoint and
 * without surrogates; n = 0 matches nothing. It lets a regular expression match an encoded
 * text, such as the inside of a JSON string. */
typedef vug_grammar_expr vug_grammar_class_fn(vug_grammar_builder *builder,
                                              const vug_char_range *range, size_t n, void *user);

#endif
