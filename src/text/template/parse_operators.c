/* Parses expressions, by the grammar of jinja2/parser.py: from `if` and `or`, which bind
 * weakest, to powers, the strongest of the binary operators. */

#include "text/template/template_parser.h"

static vug_tmpl_node *parse_level(vug_tmpl_parser *p, int level);

/* Left-associative operators by precedence: each level binds stronger than the one before. */
enum { SUMS, CONCATS, PRODUCTS, POWERS, UNARY };
static const int level_ops[][4] = {
    [SUMS] = { '+', '-' },
    [CONCATS] = { '~' },
    [PRODUCTS] = { '*', '/', VUG_TMPL_OP2('/', '/'), '%' },
    [POWERS] = { VUG_TMPL_OP2('*', '*') },
};

static bool at_op_of_level(const vug_tmpl_parser *p, int level)
{
    for (int i = 0; i < 4 && p->token.kind == VUG_TMPL_TOKEN_OP && level_ops[level][i]; i++) {
        if (p->token.op == level_ops[level][i])
            return true;
    }
    return false;
}

static vug_tmpl_node *parse_level(vug_tmpl_parser *p, int level)
{
    if (level == UNARY)
        return vug_tmpl_parse_unary(p, true);
    vug_tmpl_node *first = parse_level(p, level + 1);
    if (!at_op_of_level(p, level))
        return first;
    vug_tmpl_node *chain = vug_tmpl_new_parent(
            p, level == CONCATS ? VUG_TMPL_NODE_CONCAT : VUG_TMPL_NODE_ARITHMETIC, first, NULL);
    vug_tmpl_node **end = !chain ? NULL : level == CONCATS ? &first->next : &chain->child[1];
    while (vug_tmpl_parse_ok(p) && at_op_of_level(p, level)) {
        const int op = p->token.op;
        vug_tmpl_next_token(p);
        vug_tmpl_node *right = parse_level(p, level + 1);
        if (level != CONCATS)
            right = vug_tmpl_new_parent(p, VUG_TMPL_NODE_OPERAND, right, NULL);
        if (!right || !end)
            return NULL;
        if (level != CONCATS)
            right->op = op;
        *end = right;
        end = &right->next;
    }
    return chain;
}

/* Consumes the operator of a comparison: its token, 'i' for `in`, 'n' for `not in`; 0: none. */
static int parse_comparison_op(vug_tmpl_parser *p)
{
    static const int ops[] = {
        VUG_TMPL_OP2('=', '='), VUG_TMPL_OP2('!', '='), '<', VUG_TMPL_OP2('<', '='), '>',
        VUG_TMPL_OP2('>', '=')
    };
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (vug_tmpl_skip_op(p, ops[i]))
            return ops[i];
    }
    if (vug_tmpl_skip_name(p, "in"))
        return 'i';
    if (!vug_tmpl_at_name(p, "not"))
        return 0;
    const vug_tmpl_token *ahead = vug_tmpl_peek_token(p);
    if (ahead->kind != VUG_TMPL_TOKEN_NAME || !vug_str_is(ahead->text, "in"))
        return 0;
    vug_tmpl_next_token(p);
    vug_tmpl_next_token(p);
    return 'n';
}

static vug_tmpl_node *parse_compare(vug_tmpl_parser *p)
{
    vug_tmpl_node *first = parse_level(p, SUMS);
    int op = parse_comparison_op(p);
    if (!op)
        return first;
    vug_tmpl_node *node = vug_tmpl_new_parent(p, VUG_TMPL_NODE_COMPARE, first, NULL);
    vug_tmpl_node **end = node ? &node->child[1] : NULL;
    for (; op && vug_tmpl_parse_ok(p); op = parse_comparison_op(p)) {
        vug_tmpl_node *operand =
                vug_tmpl_new_parent(p, VUG_TMPL_NODE_OPERAND, parse_level(p, SUMS), NULL);
        if (!operand || !end)
            return NULL;
        operand->op = op;
        *end = operand;
        end = &operand->next;
    }
    return node;
}

static vug_tmpl_node *parse_not(vug_tmpl_parser *p)
{
    if (!vug_tmpl_at_name(p, "not"))
        return parse_compare(p);
    if (!vug_tmpl_parse_enter(p))
        return NULL;
    vug_tmpl_next_token(p);
    vug_tmpl_node *node = vug_tmpl_new_parent(p, VUG_TMPL_NODE_NOT, parse_not(p), NULL);
    vug_tmpl_parse_leave(p);
    return node;
}

/* a and b and c; or several of these with `or`. */
static vug_tmpl_node *parse_logic(vug_tmpl_parser *p, vug_tmpl_node_kind kind)
{
    const char *word = kind == VUG_TMPL_NODE_OR ? "or" : "and";
    vug_tmpl_node *first =
            kind == VUG_TMPL_NODE_OR ? parse_logic(p, VUG_TMPL_NODE_AND) : parse_not(p);
    if (!vug_tmpl_at_name(p, word))
        return first;
    vug_tmpl_node *node = vug_tmpl_new_parent(p, kind, first, NULL);
    vug_tmpl_node *last = first;
    while (vug_tmpl_parse_ok(p) && vug_tmpl_skip_name(p, word)) {
        vug_tmpl_node *right =
                kind == VUG_TMPL_NODE_OR ? parse_logic(p, VUG_TMPL_NODE_AND) : parse_not(p);
        if (!right || !last)
            return NULL;
        last->next = right;
        last = right;
    }
    return node;
}

/* a if b else c if d: the rest behind `first`. */
static vug_tmpl_node *parse_cond(vug_tmpl_parser *p, vug_tmpl_node *first)
{
    vug_tmpl_node *top = NULL;
    vug_tmpl_node **end = &top;
    while (vug_tmpl_parse_ok(p) && vug_tmpl_skip_name(p, "if")) {
        vug_tmpl_node *node =
                vug_tmpl_new_parent(p, VUG_TMPL_NODE_COND, parse_logic(p, VUG_TMPL_NODE_OR), first);
        if (!node)
            return NULL;
        *end = first = node;
        if (vug_tmpl_skip_name(p, "else")) {
            first = parse_logic(p, VUG_TMPL_NODE_OR);
            end = &node->child[2];
            *end = first;
        }
    }
    return top;
}

vug_tmpl_node *vug_tmpl_parse_expression(vug_tmpl_parser *p, bool conditional)
{
    if (!vug_tmpl_parse_enter(p))
        return NULL;
    const bool deferred = p->defer_unknown;
    const vug_tmpl_node *unknown = p->unknown;
    vug_tmpl_node *node = parse_logic(p, VUG_TMPL_NODE_OR);
    if (conditional && vug_tmpl_at_name(p, "if")) {
        p->unknown = unknown; /* the `if` covers what precedes it too */
        p->defer_unknown = true;
        node = parse_cond(p, node);
        p->defer_unknown = deferred;
    }
    vug_tmpl_parse_leave(p);
    return node;
}
