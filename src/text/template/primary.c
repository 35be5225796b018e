/* What operators stand between: constants, names, brackets, and what follows them. */

#include "text/template/ast.h"

/* ---- primary expressions -------------------------------------------------------------- */

static vug_tnode *constant(vug_parser *p, vug_tv value)
{
    vug_tnode *node = vug_parse_node(p, VUG_N_CONST);
    if (node)
        node->constant = value;
    vug_parse_next(p);
    return node;
}

static vug_tnode *parse_name(vug_parser *p)
{
    static const struct {
        const char *name;
        vug_tv value;
    } words[] = {
        { "true", { .kind = VUG_TV_BOOL, .boolean = true } },
        { "True", { .kind = VUG_TV_BOOL, .boolean = true } },
        { "false", { .kind = VUG_TV_BOOL } },
        { "False", { .kind = VUG_TV_BOOL } },
        { "none", { .kind = VUG_TV_NONE } },
        { "None", { .kind = VUG_TV_NONE } },
    };
    static const char *const uses[] = { "caller", "varargs", "kwargs" };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (vug_parse_is_name(p, words[i].name))
            return constant(p, words[i].value);
    }
    for (int i = 0; i < 3; i++) {
        if (vug_parse_is_name(p, uses[i]))
            p->uses |= 1 << i;
    }
    vug_tnode *node = vug_parse_node(p, VUG_N_NAME);
    if (node)
        node->name = p->token.text;
    vug_parse_next(p);
    return node;
}

/* Strings next to each other are one. */
static vug_tnode *parse_string(vug_parser *p)
{
    vug_tnode *node = constant(p, p->token.value);
    vug_buf all = { .max = VUG_TPL_MAX_SOURCE };
    if (node && p->token.kind == VUG_T_STRING)
        vug_buf_append(&all, node->constant.str.ptr, node->constant.str.len);
    while (p->token.kind == VUG_T_STRING && vug_parse_ok(p)) {
        vug_buf_append(&all, p->token.value.str.ptr, p->token.value.str.len);
        vug_parse_next(p);
    }
    if (node && all.len > 0) {
        const vug_str copy = vug_arena_copy(p->lex.arena, (vug_str){ all.ptr, all.len });
        if (!copy.ptr)
            node = vug_parse_fail(p, "out of memory for a string");
        else
            node->constant.str = (vug_tstr){ copy.ptr, copy.len, NULL };
    }
    vug_buf_release(&all);
    return node;
}

/* [a, b], behind the bracket; {a: b} likewise, where keys and values take turns. */
static vug_tnode *parse_items(vug_parser *p, vug_node_kind kind)
{
    const int close = kind == VUG_N_DICT ? '}' : ']';
    vug_tnode *node = vug_parse_node(p, kind);
    vug_tnode **end = node ? &node->kid[0] : NULL;
    vug_parse_next(p);
    bool first = true;
    while (vug_parse_ok(p) && !vug_parse_is_op(p, close)) {
        if (!first && !vug_parse_expect_op(p, ','))
            return NULL;
        first = false;
        if (vug_parse_is_op(p, close))
            break;
        for (int i = 0; i < (kind == VUG_N_DICT ? 2 : 1); i++) {
            if (i == 1 && !vug_parse_expect_op(p, ':'))
                return NULL;
            vug_tnode *item = vug_parse_expression(p, true);
            if (!item || !end)
                return NULL;
            *end = item;
            end = &item->next;
        }
    }
    return vug_parse_expect_op(p, close) ? node : NULL;
}

static bool tuple_ends(const vug_parser *p, const char *until)
{
    return p->token.kind == VUG_T_CLOSE_VAR || p->token.kind == VUG_T_CLOSE_TAG ||
           p->token.kind == VUG_T_END || vug_parse_is_op(p, ')') ||
           (until && vug_parse_is_name(p, until));
}

vug_tnode *vug_parse_tuple(vug_parser *p, bool conditional, const char *until, bool parens)
{
    vug_tnode *node = vug_parse_node(p, VUG_N_TUPLE);
    vug_tnode *last = NULL;
    bool is_tuple = false;
    while (vug_parse_ok(p) && node && !tuple_ends(p, until)) {
        vug_tnode *item = vug_parse_expression(p, conditional);
        if (!item)
            return NULL;
        if (last)
            last->next = item;
        else
            node->kid[0] = item;
        last = item;
        if (!vug_parse_skip_op(p, ','))
            break;
        is_tuple = true;
    }
    if (!vug_parse_ok(p) || !node)
        return NULL;
    if (!is_tuple && node->kid[0])
        return node->kid[0];
    return node->kid[0] || parens ? node : vug_parse_unexpected(p, "an expression");
}

static vug_tnode *parse_primary(vug_parser *p)
{
    switch (p->token.kind) {
    case VUG_T_NAME:
        return parse_name(p);
    case VUG_T_STRING:
        return parse_string(p);
    case VUG_T_NUMBER:
        return constant(p, p->token.value);
    default:
        break;
    }
    if (vug_parse_is_op(p, '['))
        return parse_items(p, VUG_N_LIST);
    if (vug_parse_is_op(p, '{'))
        return parse_items(p, VUG_N_DICT);
    if (!vug_parse_skip_op(p, '('))
        return vug_parse_unexpected(p, "an expression");
    vug_tnode *node = vug_parse_tuple(p, true, NULL, true);
    return node && vug_parse_expect_op(p, ')') ? node : NULL;
}

/* ---- what follows them ------------------------------------------------------------------ */

/* (a, *b, c=d, **e), at the parenthesis; a list of N_ARG in *out. */
static bool parse_args(vug_parser *p, vug_tnode **out)
{
    bool first = true;
    if (!vug_parse_expect_op(p, '('))
        return false;
    while (vug_parse_ok(p) && !vug_parse_is_op(p, ')')) {
        if (!first && !vug_parse_expect_op(p, ','))
            return false;
        first = false;
        if (vug_parse_is_op(p, ')'))
            break;
        vug_tnode *arg = vug_parse_node(p, VUG_N_ARG);
        if (!arg)
            return false;
        if (vug_parse_skip_op(p, '*')) {
            arg->op = '*';
        } else if (vug_parse_skip_op(p, VUG_OP2('*', '*'))) {
            arg->op = 'd';
        } else if (p->token.kind == VUG_T_NAME) {
            const vug_token *ahead = vug_parse_ahead(p);
            if (ahead->kind == VUG_T_OP && ahead->op == '=') {
                arg->name = vug_parse_expect_name(p);
                vug_parse_next(p);
            }
        }
        arg->kid[0] = vug_parse_expression(p, true);
        *out = arg;
        out = &arg->next;
    }
    return vug_parse_expect_op(p, ')');
}

static vug_tnode *parse_call(vug_parser *p, vug_tnode *callee)
{
    vug_tnode *node = vug_parse_with(p, VUG_N_CALL, callee, NULL);
    return node && parse_args(p, &node->kid[1]) ? node : NULL;
}

static bool bound_ends(const vug_parser *p)
{
    return vug_parse_is_op(p, ':') || vug_parse_is_op(p, ']') || vug_parse_is_op(p, ',');
}

static vug_tnode *parse_subscript(vug_parser *p, vug_tnode *of)
{
    vug_parse_next(p);
    vug_tnode *node = vug_parse_with(p, VUG_N_ITEM, of, NULL);
    if (!node)
        return NULL;
    if (vug_parse_is_op(p, ']')) /* Jinja takes it for an empty tuple */
        node->kid[1] = vug_parse_node(p, VUG_N_TUPLE);
    else if (!vug_parse_is_op(p, ':'))
        node->kid[1] = vug_parse_expression(p, true);
    if (vug_parse_skip_op(p, ':')) {
        node->kind = VUG_N_SLICE;
        for (int i = 2; i < 4; i++) {
            if (!bound_ends(p))
                node->kid[i] = vug_parse_expression(p, true);
            if (i == 3 || !vug_parse_skip_op(p, ':'))
                break;
        }
    } else if (vug_parse_is_op(p, ',')) {
        vug_tnode *tuple = vug_parse_with(p, VUG_N_TUPLE, node->kid[1], NULL);
        vug_tnode *last = node->kid[1];
        while (vug_parse_ok(p) && vug_parse_skip_op(p, ',')) {
            last->next = vug_parse_expression(p, true);
            last = last->next;
        }
        node->kid[1] = tuple;
    }
    return vug_parse_expect_op(p, ']') ? node : NULL;
}

static vug_tnode *parse_attribute(vug_parser *p, vug_tnode *of)
{
    vug_parse_next(p);
    vug_tnode *node = vug_parse_with(p, VUG_N_ATTR, of, NULL);
    if (!node)
        return NULL;
    if (p->token.kind == VUG_T_NUMBER && p->token.value.kind == VUG_TV_INT) {
        node->kind = VUG_N_ITEM;
        node->kid[1] = constant(p, p->token.value);
    } else {
        node->name = vug_parse_expect_name(p);
    }
    return node;
}

/* Levels that are added on the outside count too: each is a level of the tree. */
static vug_tnode *parse_postfix(vug_parser *p, vug_tnode *node)
{
    const int depth = p->depth;
    while (node && vug_parse_ok(p)) {
        if (vug_parse_is_op(p, '.'))
            node = vug_parse_enter(p) ? parse_attribute(p, node) : NULL;
        else if (vug_parse_is_op(p, '['))
            node = vug_parse_enter(p) ? parse_subscript(p, node) : NULL;
        else if (vug_parse_is_op(p, '('))
            node = vug_parse_enter(p) ? parse_call(p, node) : NULL;
        else
            break;
    }
    p->depth = depth;
    return node;
}

/* name, or name.name: what filters and tests are called. */
static vug_str dotted_name(vug_parser *p)
{
    vug_str name = vug_parse_expect_name(p);
    while (vug_parse_skip_op(p, '.')) {
        const vug_str part = vug_parse_expect_name(p);
        name.len = (size_t)(part.ptr - name.ptr) + part.len;
    }
    return name;
}

/* Inside an `if`, a name that nobody knows fails when it is reached; elsewhere at once,
 * which is when it is known that no `if` follows. */
static void check_row(vug_parser *p, const vug_tnode *node)
{
    if (!p->soft && !p->unknown && !(node->row && node->row->fn))
        p->unknown = node;
}

void vug_parse_settle(vug_parser *p)
{
    const vug_tnode *node = p->unknown;
    if (!node)
        return;
    vug_lexer_fail(&p->lex, (size_t)(node->name.ptr - p->lex.src.ptr), VUG_UNSUPPORTED,
                   node->row ? "Jinja's %s '%.*s' is not supported" : "there is no %s '%.*s'",
                   node->kind == VUG_N_TEST ? "test" : "filter", VUG_STR_ARG(node->name));
}

vug_tnode *vug_parse_filters(vug_parser *p, vug_tnode *operand)
{
    vug_tnode *node = vug_parse_with(p, VUG_N_FILTER, operand, NULL);
    if (!node)
        return NULL;
    node->line = p->token.line;
    node->name = dotted_name(p);
    node->row = vug_filter_row(node->name);
    if (vug_parse_ok(p))
        check_row(p, node);
    if (vug_parse_is_op(p, '(') && !parse_args(p, &node->kid[1]))
        return NULL;
    return node;
}

static bool test_has_arg(const vug_parser *p)
{
    switch (p->token.kind) {
    case VUG_T_STRING:
    case VUG_T_NUMBER:
        return true;
    case VUG_T_NAME:
        return !vug_parse_is_name(p, "else") && !vug_parse_is_name(p, "or") &&
               !vug_parse_is_name(p, "and");
    default:
        return vug_parse_is_op(p, '[') || vug_parse_is_op(p, '{');
    }
}

static vug_tnode *parse_test(vug_parser *p, vug_tnode *operand)
{
    vug_tnode *node = vug_parse_with(p, VUG_N_TEST, operand, NULL);
    if (!node)
        return NULL;
    node->line = p->token.line;
    node->negated = vug_parse_skip_name(p, "not");
    node->name = dotted_name(p);
    node->row = vug_test_row(node->name);
    if (vug_parse_ok(p))
        check_row(p, node);
    if (vug_parse_is_op(p, '('))
        return parse_args(p, &node->kid[1]) ? node : NULL;
    if (!vug_parse_ok(p) || !test_has_arg(p))
        return node;
    if (vug_parse_is_name(p, "is"))
        return vug_parse_fail(p, "tests with 'is' cannot follow each other");
    vug_tnode *arg = vug_parse_node(p, VUG_N_ARG);
    if (arg)
        arg->kid[0] = parse_postfix(p, parse_primary(p));
    node->kid[1] = arg;
    return node;
}

static vug_tnode *parse_filter_expression(vug_parser *p, vug_tnode *node)
{
    const int depth = p->depth;
    while (node && vug_parse_ok(p)) {
        if (vug_parse_is_op(p, '|')) {
            vug_parse_next(p);
            node = vug_parse_enter(p) ? vug_parse_filters(p, node) : NULL;
        } else if (vug_parse_is_name(p, "is")) {
            vug_parse_next(p);
            node = vug_parse_enter(p) ? parse_test(p, node) : NULL;
        } else if (vug_parse_is_op(p, '(')) {
            node = vug_parse_enter(p) ? parse_call(p, node) : NULL;
        } else {
            break;
        }
    }
    p->depth = depth;
    return node;
}

vug_tnode *vug_parse_unary(vug_parser *p, bool filters)
{
    vug_tnode *node;
    if (!vug_parse_enter(p))
        return NULL;
    if (vug_parse_is_op(p, '-') || vug_parse_is_op(p, '+')) {
        const int op = p->token.op;
        vug_parse_next(p);
        node = vug_parse_with(p, VUG_N_SIGN, vug_parse_unary(p, false), NULL);
        if (node)
            node->op = op;
    } else {
        node = parse_primary(p);
    }
    node = parse_postfix(p, node);
    if (filters)
        node = parse_filter_expression(p, node);
    vug_parse_leave(p);
    return node;
}
