#ifndef VUG_TEXT_TEMPLATE_TEMPLATE_PARSER_H
#define VUG_TEXT_TEMPLATE_TEMPLATE_PARSER_H

/*
 * The parser of templates, by recursive descent. Functions that return a node return NULL
 * after a failure, which the lexer keeps.
 */

#include "text/template/template_lexer.h"

typedef struct vug_tmpl_parser vug_tmpl_parser;
struct vug_tmpl_parser {
    vug_tmpl_lexer lex;
    vug_tmpl_token token, ahead; /* the current one; the next one, if has_ahead */
    bool has_ahead;
    size_t nodes;
    int depth;
    int loops;          /* loops that `break` would leave */
    int uses;           /* VUG_TMPL_USES_.. since the innermost macro began */
    bool defer_unknown; /* inside an `if`: an unknown filter or test fails when it is reached */
    const vug_tmpl_node *unknown; /* the first unknown filter or test of the statement */
    /* vug_tmpl_parse_expression, for operands: they contain expressions in brackets. */
    vug_tmpl_node *(*parse_expression)(vug_tmpl_parser *p, bool conditional);
};

/* ---- tokens and nodes --------------------------------------------------------------- */

vug_tmpl_node *vug_tmpl_new_node(vug_tmpl_parser *p, vug_tmpl_node_kind kind);
/* A node with two children, on the line of the first. */
vug_tmpl_node *vug_tmpl_new_parent(vug_tmpl_parser *p, vug_tmpl_node_kind kind, vug_tmpl_node *a,
                                   vug_tmpl_node *b);
void vug_tmpl_next_token(vug_tmpl_parser *p);
const vug_tmpl_token *vug_tmpl_peek_token(vug_tmpl_parser *p);
bool vug_tmpl_at_op(const vug_tmpl_parser *p, int op);
bool vug_tmpl_at_name(const vug_tmpl_parser *p, const char *name);
bool vug_tmpl_skip_op(vug_tmpl_parser *p, int op);
bool vug_tmpl_skip_name(vug_tmpl_parser *p, const char *name);
bool vug_tmpl_expect_op(vug_tmpl_parser *p, int op);
/* Consumes a name token; fails and returns an empty name where there is none. */
vug_str vug_tmpl_expect_name(vug_tmpl_parser *p);
void *vug_tmpl_parse_fail(vug_tmpl_parser *p, const char *fmt, ...) VUG_PRINTF(2, 3);
void *vug_tmpl_parse_unexpected(vug_tmpl_parser *p, const char *expected);
/* Goes one level down, or fails. */
bool vug_tmpl_parse_enter(vug_tmpl_parser *p);
static inline void vug_tmpl_parse_leave(vug_tmpl_parser *p)
{
    p->depth--;
}
static inline bool vug_tmpl_parse_ok(const vug_tmpl_parser *p)
{
    return p->lex.st == VUG_OK;
}

/* ---- the grammar ---------------------------------------------------------------------- */

/* The whole template. */
vug_tmpl_node *vug_tmpl_parse_body(vug_tmpl_parser *p);
vug_tmpl_node *vug_tmpl_parse_expression(vug_tmpl_parser *p, bool conditional);
/* An operand with its sign, subscripts and calls and, where `filters`, its filters and tests. */
vug_tmpl_node *vug_tmpl_parse_unary(vug_tmpl_parser *p, bool filters);
/* One expression, or a tuple of several with commas between. The name `until` ends it, if not
 * NULL. `parens`: it may be empty. */
vug_tmpl_node *vug_tmpl_parse_tuple(vug_tmpl_parser *p, bool conditional, const char *until,
                                    bool parens);
/* A filter of `operand`, from its name on. */
vug_tmpl_node *vug_tmpl_parse_filter(vug_tmpl_parser *p, vug_tmpl_node *operand);
/* At the end of a statement: fails if it has an unknown filter or test. */
void vug_tmpl_refuse_unknown(vug_tmpl_parser *p);

/* What can be assigned to: name, (a, b) and, where `attributes`, namespace.attribute. */
vug_tmpl_node *vug_tmpl_parse_target(vug_tmpl_parser *p, bool attributes);
vug_tmpl_node *vug_tmpl_parse_target_name(vug_tmpl_parser *p);
/* One target, or a tuple of several with commas between. */
vug_tmpl_node *vug_tmpl_parse_targets(vug_tmpl_parser *p, bool attributes);

/* Finds the local variables of each scope in a parsed body, and those of the body itself. */
void vug_tmpl_find_locals(vug_tmpl_parser *p, vug_tmpl_node *body, vug_tmpl_node **locals);

#endif
