/* Parses operands: constants, names and brackets, with what follows them. */

#include "text/template/builtins.h"
#include "text/template/template_parser.h"

/* ---- primary expressions -------------------------------------------------------------- */

static vug_tmpl_node *parse_constant(vug_tmpl_parser *p, vug_tmpl_value value)
{
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_CONST);
    if (node)
        node->constant = value;
    vug_tmpl_next_token(p);
    return node;
}

static vug_tmpl_node *parse_name(vug_tmpl_parser *p)
{
    static const struct {
        const char *name;
        vug_tmpl_value value;
    } words[] = {
        { "true", { .kind = VUG_TMPL_BOOL, .boolean = true } },
        { "True", { .kind = VUG_TMPL_BOOL, .boolean = true } },
        { "false", { .kind = VUG_TMPL_BOOL } },
        { "False", { .kind = VUG_TMPL_BOOL } },
        { "none", { .kind = VUG_TMPL_NONE } },
        { "None", { .kind = VUG_TMPL_NONE } },
    };
    static const char *const uses[] = { "caller", "varargs", "kwargs" };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (vug_tmpl_at_name(p, words[i].name))
            return parse_constant(p, words[i].value);
    }
    for (int i = 0; i < 3; i++) {
        if (vug_tmpl_at_name(p, uses[i]))
            p->uses |= 1 << i;
    }
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_NAME);
    if (node)
        node->name = p->token.text;
    vug_tmpl_next_token(p);
    return node;
}

/* Adjacent strings are concatenated. */
static vug_tmpl_node *parse_string(vug_tmpl_parser *p)
{
    vug_tmpl_node *node = parse_constant(p, p->token.value);
    vug_buf all = { .max = VUG_TMPL_MAX_SOURCE };
    if (node && p->token.kind == VUG_TMPL_TOKEN_STRING)
        vug_buf_append(&all, node->constant.str.ptr, node->constant.str.len);
    while (p->token.kind == VUG_TMPL_TOKEN_STRING && vug_tmpl_parse_ok(p)) {
        vug_buf_append(&all, p->token.value.str.ptr, p->token.value.str.len);
        vug_tmpl_next_token(p);
    }
    if (node && all.len > 0) {
        const vug_str copy = vug_arena_copy(p->lex.arena, (vug_str){ all.ptr, all.len });
        if (!copy.ptr)
            node = vug_tmpl_parse_fail(p, "out of memory for a string");
        else
            node->constant.str = (vug_tmpl_str){ copy.ptr, copy.len, NULL };
    }
    vug_buf_release(&all);
    return node;
}

/* [a, b] or {a: b}, from the bracket on. A dict's list alternates keys and values. */
static vug_tmpl_node *parse_items(vug_tmpl_parser *p, vug_tmpl_node_kind kind)
{
    const int close = kind == VUG_TMPL_NODE_DICT ? '}' : ']';
    vug_tmpl_node *node = vug_tmpl_new_node(p, kind);
    vug_tmpl_node **end = node ? &node->child[0] : NULL;
    vug_tmpl_next_token(p);
    bool first = true;
    while (vug_tmpl_parse_ok(p) && !vug_tmpl_at_op(p, close)) {
        if (!first && !vug_tmpl_expect_op(p, ','))
            return NULL;
        first = false;
        if (vug_tmpl_at_op(p, close))
            break;
        for (int i = 0; i < (kind == VUG_TMPL_NODE_DICT ? 2 : 1); i++) {
            if (i == 1 && !vug_tmpl_expect_op(p, ':'))
                return NULL;
            vug_tmpl_node *item = p->parse_expression(p, true);
            if (!item || !end)
                return NULL;
            *end = item;
            end = &item->next;
        }
    }
    return vug_tmpl_expect_op(p, close) ? node : NULL;
}

static bool tuple_ends(const vug_tmpl_parser *p, const char *until)
{
    return p->token.kind == VUG_TMPL_TOKEN_CLOSE_VAR || p->token.kind == VUG_TMPL_TOKEN_CLOSE_TAG ||
           p->token.kind == VUG_TMPL_TOKEN_END || vug_tmpl_at_op(p, ')') ||
           (until && vug_tmpl_at_name(p, until));
}

vug_tmpl_node *vug_tmpl_parse_tuple(vug_tmpl_parser *p, bool conditional, const char *until,
                                    bool parens)
{
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_TUPLE);
    vug_tmpl_node *last = NULL;
    bool is_tuple = false;
    while (vug_tmpl_parse_ok(p) && node && !tuple_ends(p, until)) {
        vug_tmpl_node *item = p->parse_expression(p, conditional);
        if (!item)
            return NULL;
        if (last)
            last->next = item;
        else
            node->child[0] = item;
        last = item;
        if (!vug_tmpl_skip_op(p, ','))
            break;
        is_tuple = true;
    }
    if (!vug_tmpl_parse_ok(p) || !node)
        return NULL;
    if (!is_tuple && node->child[0])
        return node->child[0];
    return node->child[0] || parens ? node : vug_tmpl_parse_unexpected(p, "an expression");
}

static vug_tmpl_node *parse_primary(vug_tmpl_parser *p)
{
    switch (p->token.kind) {
    case VUG_TMPL_TOKEN_NAME:
        return parse_name(p);
    case VUG_TMPL_TOKEN_STRING:
        return parse_string(p);
    case VUG_TMPL_TOKEN_NUMBER:
        return parse_constant(p, p->token.value);
    default:
        break;
    }
    if (vug_tmpl_at_op(p, '['))
        return parse_items(p, VUG_TMPL_NODE_LIST);
    if (vug_tmpl_at_op(p, '{'))
        return parse_items(p, VUG_TMPL_NODE_DICT);
    if (!vug_tmpl_skip_op(p, '('))
        return vug_tmpl_parse_unexpected(p, "an expression");
    vug_tmpl_node *node = vug_tmpl_parse_tuple(p, true, NULL, true);
    return node && vug_tmpl_expect_op(p, ')') ? node : NULL;
}

/* ---- postfix ------------------------------------------------------------------ */

/* (a, *b, c=d, **e), from the parenthesis on, as a list of ARG. */
static bool parse_args(vug_tmpl_parser *p, vug_tmpl_node **out)
{
    bool first = true;
    if (!vug_tmpl_expect_op(p, '('))
        return false;
    while (vug_tmpl_parse_ok(p) && !vug_tmpl_at_op(p, ')')) {
        if (!first && !vug_tmpl_expect_op(p, ','))
            return false;
        first = false;
        if (vug_tmpl_at_op(p, ')'))
            break;
        vug_tmpl_node *arg = vug_tmpl_new_node(p, VUG_TMPL_NODE_ARG);
        if (!arg)
            return false;
        if (vug_tmpl_skip_op(p, '*')) {
            arg->op = '*';
        } else if (vug_tmpl_skip_op(p, VUG_TMPL_OP2('*', '*'))) {
            arg->op = 'd';
        } else if (p->token.kind == VUG_TMPL_TOKEN_NAME) {
            const vug_tmpl_token *ahead = vug_tmpl_peek_token(p);
            if (ahead->kind == VUG_TMPL_TOKEN_OP && ahead->op == '=') {
                arg->name = vug_tmpl_expect_name(p);
                vug_tmpl_next_token(p);
            }
        }
        arg->child[0] = p->parse_expression(p, true);
        *out = arg;
        out = &arg->next;
    }
    return vug_tmpl_expect_op(p, ')');
}

static vug_tmpl_node *parse_call(vug_tmpl_parser *p, vug_tmpl_node *callee)
{
    vug_tmpl_node *node = vug_tmpl_new_parent(p, VUG_TMPL_NODE_CALL, callee, NULL);
    return node && parse_args(p, &node->child[1]) ? node : NULL;
}

static bool bound_ends(const vug_tmpl_parser *p)
{
    return vug_tmpl_at_op(p, ':') || vug_tmpl_at_op(p, ']') || vug_tmpl_at_op(p, ',');
}

static vug_tmpl_node *parse_subscript(vug_tmpl_parser *p, vug_tmpl_node *of)
{
    vug_tmpl_next_token(p);
    vug_tmpl_node *node = vug_tmpl_new_parent(p, VUG_TMPL_NODE_ITEM, of, NULL);
    if (!node)
        return NULL;
    if (vug_tmpl_at_op(p, ']')) /* an empty tuple in Jinja */
        node->child[1] = vug_tmpl_new_node(p, VUG_TMPL_NODE_TUPLE);
    else if (!vug_tmpl_at_op(p, ':'))
        node->child[1] = p->parse_expression(p, true);
    if (vug_tmpl_skip_op(p, ':')) {
        node->kind = VUG_TMPL_NODE_SLICE;
        for (int i = 2; i < 4; i++) {
            if (!bound_ends(p))
                node->child[i] = p->parse_expression(p, true);
            if (i == 3 || !vug_tmpl_skip_op(p, ':'))
                break;
        }
    } else if (vug_tmpl_at_op(p, ',')) {
        vug_tmpl_node *tuple = vug_tmpl_new_parent(p, VUG_TMPL_NODE_TUPLE, node->child[1], NULL);
        vug_tmpl_node *last = node->child[1];
        while (vug_tmpl_parse_ok(p) && vug_tmpl_skip_op(p, ',')) {
            last->next = p->parse_expression(p, true);
            last = last->next;
        }
        node->child[1] = tuple;
    }
    return vug_tmpl_expect_op(p, ']') ? node : NULL;
}

static vug_tmpl_node *parse_attribute(vug_tmpl_parser *p, vug_tmpl_node *of)
{
    vug_tmpl_next_token(p);
    vug_tmpl_node *node = vug_tmpl_new_parent(p, VUG_TMPL_NODE_ATTR, of, NULL);
    if (!node)
        return NULL;
    if (p->token.kind == VUG_TMPL_TOKEN_NUMBER && p->token.value.kind == VUG_TMPL_INT) {
        node->kind = VUG_TMPL_NODE_ITEM;
        node->child[1] = parse_constant(p, p->token.value);
    } else {
        node->name = vug_tmpl_expect_name(p);
    }
    return node;
}

/* Each postfix is a level of the tree, and counts as one. */
static vug_tmpl_node *parse_postfix(vug_tmpl_parser *p, vug_tmpl_node *node)
{
    const int depth = p->depth;
    while (node && vug_tmpl_parse_ok(p)) {
        if (vug_tmpl_at_op(p, '.'))
            node = vug_tmpl_parse_enter(p) ? parse_attribute(p, node) : NULL;
        else if (vug_tmpl_at_op(p, '['))
            node = vug_tmpl_parse_enter(p) ? parse_subscript(p, node) : NULL;
        else if (vug_tmpl_at_op(p, '('))
            node = vug_tmpl_parse_enter(p) ? parse_call(p, node) : NULL;
        else
            break;
    }
    p->depth = depth;
    return node;
}

/* The name of a filter or test: name, or name.name */
static vug_str parse_dotted_name(vug_tmpl_parser *p)
{
    vug_str name = vug_tmpl_expect_name(p);
    while (vug_tmpl_skip_op(p, '.')) {
        const vug_str part = vug_tmpl_expect_name(p);
        name.len = (size_t)(part.ptr - name.ptr) + part.len;
    }
    return name;
}

/* Inside an `if` an unknown name fails when it is reached. Elsewhere it fails at once: at the end
 * of the statement, when it is clear that no `if` follows. */
static void check_known(vug_tmpl_parser *p, const vug_tmpl_node *node)
{
    if (!p->defer_unknown && !p->unknown && !(node->builtin && node->builtin->fn))
        p->unknown = node;
}

void vug_tmpl_refuse_unknown(vug_tmpl_parser *p)
{
    const vug_tmpl_node *node = p->unknown;
    if (!node)
        return;
    vug_tmpl_lexer_fail(
            &p->lex, (size_t)(node->name.ptr - p->lex.src.ptr), VUG_UNSUPPORTED,
            node->builtin ? "Jinja's %s '%.*s' is not supported" : "there is no %s '%.*s'",
            node->kind == VUG_TMPL_NODE_TEST ? "test" : "filter", VUG_STR_ARG(node->name));
}

vug_tmpl_node *vug_tmpl_parse_filter(vug_tmpl_parser *p, vug_tmpl_node *operand)
{
    vug_tmpl_node *node = vug_tmpl_new_parent(p, VUG_TMPL_NODE_FILTER, operand, NULL);
    if (!node)
        return NULL;
    node->line = p->token.line;
    node->name = parse_dotted_name(p);
    node->builtin = vug_tmpl_find_filter(node->name);
    if (vug_tmpl_parse_ok(p))
        check_known(p, node);
    if (vug_tmpl_at_op(p, '(') && !parse_args(p, &node->child[1]))
        return NULL;
    return node;
}

static bool test_has_arg(const vug_tmpl_parser *p)
{
    switch (p->token.kind) {
    case VUG_TMPL_TOKEN_STRING:
    case VUG_TMPL_TOKEN_NUMBER:
        return true;
    case VUG_TMPL_TOKEN_NAME:
        return !vug_tmpl_at_name(p, "else") && !vug_tmpl_at_name(p, "or") &&
               !vug_tmpl_at_name(p, "and");
    default:
        return vug_tmpl_at_op(p, '[') || vug_tmpl_at_op(p, '{');
    }
}

static vug_tmpl_node *parse_test(vug_tmpl_parser *p, vug_tmpl_node *operand)
{
    vug_tmpl_node *node = vug_tmpl_new_parent(p, VUG_TMPL_NODE_TEST, operand, NULL);
    if (!node)
        return NULL;
    node->line = p->token.line;
    node->negated = vug_tmpl_skip_name(p, "not");
    node->name = parse_dotted_name(p);
    node->builtin = vug_tmpl_find_test(node->name);
    if (vug_tmpl_parse_ok(p))
        check_known(p, node);
    if (vug_tmpl_at_op(p, '('))
        return parse_args(p, &node->child[1]) ? node : NULL;
    if (!vug_tmpl_parse_ok(p) || !test_has_arg(p))
        return node;
    if (vug_tmpl_at_name(p, "is"))
        return vug_tmpl_parse_fail(p, "tests with 'is' cannot follow each other");
    vug_tmpl_node *arg = vug_tmpl_new_node(p, VUG_TMPL_NODE_ARG);
    if (arg)
        arg->child[0] = parse_postfix(p, parse_primary(p));
    node->child[1] = arg;
    return node;
}

static vug_tmpl_node *parse_filter_expression(vug_tmpl_parser *p, vug_tmpl_node *node)
{
    const int depth = p->depth;
    while (node && vug_tmpl_parse_ok(p)) {
        if (vug_tmpl_at_op(p, '|')) {
            vug_tmpl_next_token(p);
            node = vug_tmpl_parse_enter(p) ? vug_tmpl_parse_filter(p, node) : NULL;
        } else if (vug_tmpl_at_name(p, "is")) {
            vug_tmpl_next_token(p);
            node = vug_tmpl_parse_enter(p) ? parse_test(p, node) : NULL;
        } else if (vug_tmpl_at_op(p, '(')) {
            node = vug_tmpl_parse_enter(p) ? parse_call(p, node) : NULL;
        } else {
            break;
        }
    }
    p->depth = depth;
    return node;
}

vug_tmpl_node *vug_tmpl_parse_unary(vug_tmpl_parser *p, bool filters)
{
    vug_tmpl_node *node;
    if (!vug_tmpl_parse_enter(p))
        return NULL;
    if (vug_tmpl_at_op(p, '-') || vug_tmpl_at_op(p, '+')) {
        const int op = p->token.op;
        vug_tmpl_next_token(p);
        node = vug_tmpl_new_parent(p, VUG_TMPL_NODE_SIGN, vug_tmpl_parse_unary(p, false), NULL);
        if (node)
            node->op = op;
    } else {
        node = parse_primary(p);
    }
    node = parse_postfix(p, node);
    if (filters)
        node = parse_filter_expression(p, node);
    vug_tmpl_parse_leave(p);
    return node;
}
