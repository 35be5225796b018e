/* The parser's hands: looking at tokens, skipping them, making nodes. */

#include <stdarg.h>
#include <stdio.h>

#include "text/template/ast.h"

/* ---- tokens ---------------------------------------------------------------------- */

void *vug_parse_fail(vug_parser *p, const char *fmt, ...)
{
    char sentence[400];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(sentence, sizeof(sentence), fmt, ap);
    va_end(ap);
    vug_lexer_fail(&p->lex, p->token.at, VUG_FORMAT, "%s", sentence);
    return NULL;
}

void *vug_parse_unexpected(vug_parser *p, const char *expected)
{
    if (p->token.kind == VUG_T_END)
        return vug_parse_fail(p, "expected %s, found the end of the template", expected);
    return vug_parse_fail(p, "expected %s, found %.*s", expected, VUG_STR_ARG(p->token.text));
}

void vug_parse_next(vug_parser *p)
{
    p->token = p->looked ? p->ahead : vug_lexer_next(&p->lex);
    p->looked = false;
}

const vug_token *vug_parse_ahead(vug_parser *p)
{
    if (!p->looked) {
        p->ahead = vug_lexer_next(&p->lex);
        p->looked = true;
    }
    return &p->ahead;
}

bool vug_parse_is_op(const vug_parser *p, int op)
{
    return p->token.kind == VUG_T_OP && p->token.op == op;
}

bool vug_parse_is_name(const vug_parser *p, const char *name)
{
    return p->token.kind == VUG_T_NAME && vug_str_is(p->token.text, name);
}

bool vug_parse_skip_op(vug_parser *p, int op)
{
    const bool is = vug_parse_is_op(p, op);
    if (is)
        vug_parse_next(p);
    return is;
}

bool vug_parse_skip_name(vug_parser *p, const char *name)
{
    const bool is = vug_parse_is_name(p, name);
    if (is)
        vug_parse_next(p);
    return is;
}

bool vug_parse_expect_op(vug_parser *p, int op)
{
    const char expected[] = { '\'', (char)op, '\'', '\0' };
    if (!vug_parse_is_op(p, op))
        return vug_parse_unexpected(p, expected) != NULL;
    vug_parse_next(p);
    return true;
}

vug_str vug_parse_expect_name(vug_parser *p)
{
    const vug_str name = p->token.text;
    if (p->token.kind != VUG_T_NAME) {
        (void)vug_parse_unexpected(p, "a name");
        return (vug_str){ 0 };
    }
    vug_parse_next(p);
    return name;
}

/* ---- nodes ------------------------------------------------------------------------- */

vug_tnode *vug_parse_node(vug_parser *p, vug_node_kind kind)
{
    if (!vug_parse_ok(p))
        return NULL;
    if (++p->nodes > VUG_TPL_MAX_NODES)
        return vug_parse_fail(p, "more than %zu nodes", VUG_TPL_MAX_NODES);
    vug_tnode *node = vug_arena_alloc(p->lex.arena, 1, sizeof(*node));
    if (!node)
        return vug_parse_fail(p, "out of memory for a node");
    node->kind = kind;
    node->line = p->token.line;
    return node;
}

vug_tnode *vug_parse_with(vug_parser *p, vug_node_kind kind, vug_tnode *a, vug_tnode *b)
{
    vug_tnode *node = vug_parse_node(p, kind);
    if (node) {
        node->kid[0] = a;
        node->kid[1] = b;
        if (a)
            node->line = a->line;
    }
    return node;
}

bool vug_parse_enter(vug_parser *p)
{
    if (p->depth >= VUG_TPL_MAX_DEPTH) {
        (void)vug_parse_fail(p, "nested deeper than %d levels", VUG_TPL_MAX_DEPTH);
        return false;
    }
    p->depth++;
    return true;
}
