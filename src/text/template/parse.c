/*
 * Expressions, by the grammar of jinja2/parser.py: from `if` and `or`, which bind least,
 * to powers, which bind most of what has two sides.
 */

#include "text/template/ast.h"

static vug_tnode *parse_level(vug_parser *p, int level);

/* Those of one strength, from the left; a row is a level above the one before. */
enum { SUMS, CONCATS, PRODUCTS, POWERS, UNARY };
static const int level_ops[][4] = {
    [SUMS] = { '+', '-' },
    [CONCATS] = { '~' },
    [PRODUCTS] = { '*', '/', VUG_OP2('/', '/'), '%' },
    [POWERS] = { VUG_OP2('*', '*') },
};

static bool op_of_level(const vug_parser *p, int level)
{
    for (int i = 0; i < 4 && p->token.kind == VUG_T_OP && level_ops[level][i]; i++) {
        if (p->token.op == level_ops[level][i])
            return true;
    }
    return false;
}

static vug_tnode *parse_level(vug_parser *p, int level)
{
    if (level == UNARY)
        return vug_parse_unary(p, true);
    vug_tnode *first = parse_level(p, level + 1);
    if (!op_of_level(p, level))
        return first;
    vug_tnode *chain =
            vug_parse_with(p, level == CONCATS ? VUG_N_CONCAT : VUG_N_CHAIN, first, NULL);
    vug_tnode **end = !chain ? NULL : level == CONCATS ? &first->next : &chain->kid[1];
    while (vug_parse_ok(p) && op_of_level(p, level)) {
        const int op = p->token.op;
        vug_parse_next(p);
        vug_tnode *right = parse_level(p, level + 1);
        if (level != CONCATS)
            right = vug_parse_with(p, VUG_N_OPERAND, right, NULL);
        if (!right || !end)
            return NULL;
        if (level != CONCATS)
            right->op = op;
        *end = right;
        end = &right->next;
    }
    return chain;
}

/* The operator of a comparison at the reader, which is skipped; 0: there is none. "in" is
 * 'i', "not in" 'n'. */
static int comparison(vug_parser *p)
{
    static const int ops[] = { VUG_OP2('=', '='), VUG_OP2('!', '='), '<', VUG_OP2('<', '='), '>',
                               VUG_OP2('>', '=') };
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (vug_parse_skip_op(p, ops[i]))
            return ops[i];
    }
    if (vug_parse_skip_name(p, "in"))
        return 'i';
    if (!vug_parse_is_name(p, "not"))
        return 0;
    const vug_token *ahead = vug_parse_ahead(p);
    if (ahead->kind != VUG_T_NAME || !vug_str_is(ahead->text, "in"))
        return 0;
    vug_parse_next(p);
    vug_parse_next(p);
    return 'n';
}

static vug_tnode *parse_compare(vug_parser *p)
{
    vug_tnode *first = parse_level(p, SUMS);
    int op = comparison(p);
    if (!op)
        return first;
    vug_tnode *node = vug_parse_with(p, VUG_N_COMPARE, first, NULL);
    vug_tnode **end = node ? &node->kid[1] : NULL;
    for (; op && vug_parse_ok(p); op = comparison(p)) {
        vug_tnode *operand = vug_parse_with(p, VUG_N_OPERAND, parse_level(p, SUMS), NULL);
        if (!operand || !end)
            return NULL;
        operand->op = op;
        *end = operand;
        end = &operand->next;
    }
    return node;
}

static vug_tnode *parse_not(vug_parser *p)
{
    if (!vug_parse_is_name(p, "not"))
        return parse_compare(p);
    if (!vug_parse_enter(p))
        return NULL;
    vug_parse_next(p);
    vug_tnode *node = vug_parse_with(p, VUG_N_NOT, parse_not(p), NULL);
    vug_parse_leave(p);
    return node;
}

/* a and b and c; `or` likewise, over those. */
static vug_tnode *parse_logic(vug_parser *p, vug_node_kind kind)
{
    const char *word = kind == VUG_N_OR ? "or" : "and";
    vug_tnode *first = kind == VUG_N_OR ? parse_logic(p, VUG_N_AND) : parse_not(p);
    if (!vug_parse_is_name(p, word))
        return first;
    vug_tnode *node = vug_parse_with(p, kind, first, NULL);
    vug_tnode *last = first;
    while (vug_parse_ok(p) && vug_parse_skip_name(p, word)) {
        vug_tnode *right = kind == VUG_N_OR ? parse_logic(p, VUG_N_AND) : parse_not(p);
        if (!right || !last)
            return NULL;
        last->next = right;
        last = right;
    }
    return node;
}

/* a if b else c if d: the rest of it behind `first`. */
static vug_tnode *parse_cond(vug_parser *p, vug_tnode *first)
{
    vug_tnode *top = NULL;
    vug_tnode **end = &top;
    while (vug_parse_ok(p) && vug_parse_skip_name(p, "if")) {
        vug_tnode *node = vug_parse_with(p, VUG_N_COND, parse_logic(p, VUG_N_OR), first);
        if (!node)
            return NULL;
        *end = first = node;
        if (vug_parse_skip_name(p, "else")) {
            first = parse_logic(p, VUG_N_OR);
            end = &node->kid[2];
            *end = first;
        }
    }
    return top;
}

vug_tnode *vug_parse_expression(vug_parser *p, bool conditional)
{
    if (!vug_parse_enter(p))
        return NULL;
    const bool soft = p->soft;
    const vug_tnode *unknown = p->unknown;
    vug_tnode *node = parse_logic(p, VUG_N_OR);
    if (conditional && vug_parse_is_name(p, "if")) {
        p->unknown = unknown; /* what came before the `if` was inside of it too */
        p->soft = true;
        node = parse_cond(p, node);
        p->soft = soft;
    }
    vug_parse_leave(p);
    return node;
}
