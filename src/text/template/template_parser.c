/* The parser's access to tokens, and its nodes. */

#include <stdarg.h>
#include <stdio.h>

#include "text/template/template_parser.h"

/* ---- tokens ---------------------------------------------------------------------- */

void *vug_tmpl_parse_fail(vug_tmpl_parser *p, const char *fmt, ...)
{
    char message[400];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    vug_tmpl_lexer_fail(&p->lex, p->token.at, VUG_FORMAT, "%s", message);
    return NULL;
}

void *vug_tmpl_parse_unexpected(vug_tmpl_parser *p, const char *expected)
{
    if (p->token.kind == VUG_TMPL_TOKEN_END)
        return vug_tmpl_parse_fail(p, "expected %s, found the end of the template", expected);
    return vug_tmpl_parse_fail(p, "expected %s, found %.*s", expected, VUG_STR_ARG(p->token.text));
}

void vug_tmpl_next_token(vug_tmpl_parser *p)
{
    p->token = p->has_ahead ? p->ahead : vug_tmpl_lexer_next(&p->lex);
    p->has_ahead = false;
}

const vug_tmpl_token *vug_tmpl_peek_token(vug_tmpl_parser *p)
{
    if (!p->has_ahead) {
        p->ahead = vug_tmpl_lexer_next(&p->lex);
        p->has_ahead = true;
    }
    return &p->ahead;
}

bool vug_tmpl_at_op(const vug_tmpl_parser *p, int op)
{
    return p->token.kind == VUG_TMPL_TOKEN_OP && p->token.op == op;
}

bool vug_tmpl_at_name(const vug_tmpl_parser *p, const char *name)
{
    return p->token.kind == VUG_TMPL_TOKEN_NAME && vug_str_is(p->token.text, name);
}

bool vug_tmpl_skip_op(vug_tmpl_parser *p, int op)
{
    const bool is = vug_tmpl_at_op(p, op);
    if (is)
        vug_tmpl_next_token(p);
    return is;
}

bool vug_tmpl_skip_name(vug_tmpl_parser *p, const char *name)
{
    const bool is = vug_tmpl_at_name(p, name);
    if (is)
        vug_tmpl_next_token(p);
    return is;
}

bool vug_tmpl_expect_op(vug_tmpl_parser *p, int op)
{
    const char expected[] = { '\'', (char)op, '\'', '\0' };
    if (!vug_tmpl_at_op(p, op))
        return vug_tmpl_parse_unexpected(p, expected) != NULL;
    vug_tmpl_next_token(p);
    return true;
}

vug_str vug_tmpl_expect_name(vug_tmpl_parser *p)
{
    const vug_str name = p->token.text;
    if (p->token.kind != VUG_TMPL_TOKEN_NAME) {
        (void)vug_tmpl_parse_unexpected(p, "a name");
        return (vug_str){ 0 };
    }
    vug_tmpl_next_token(p);
    return name;
}

/* ---- nodes ------------------------------------------------------------------------- */

vug_tmpl_node *vug_tmpl_new_node(vug_tmpl_parser *p, vug_tmpl_node_kind kind)
{
    if (!vug_tmpl_parse_ok(p))
        return NULL;
    if (++p->nodes > VUG_TMPL_MAX_NODES)
        return vug_tmpl_parse_fail(p, "more than %zu nodes", VUG_TMPL_MAX_NODES);
    vug_tmpl_node *node = vug_arena_alloc(p->lex.arena, 1, sizeof(*node));
    if (!node)
        return vug_tmpl_parse_fail(p, "out of memory for a node");
    node->kind = kind;
    node->line = p->token.line;
    return node;
}

vug_tmpl_node *vug_tmpl_new_parent(vug_tmpl_parser *p, vug_tmpl_node_kind kind, vug_tmpl_node *a,
                                   vug_tmpl_node *b)
{
    vug_tmpl_node *node = vug_tmpl_new_node(p, kind);
    if (node) {
        node->child[0] = a;
        node->child[1] = b;
        if (a)
            node->line = a->line;
    }
    return node;
}

bool vug_tmpl_parse_enter(vug_tmpl_parser *p)
{
    if (p->depth >= VUG_TMPL_MAX_NESTING) {
        (void)vug_tmpl_parse_fail(p, "nested deeper than %d levels", VUG_TMPL_MAX_NESTING);
        return false;
    }
    p->depth++;
    return true;
}
