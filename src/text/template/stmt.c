/* Statements: what stands in {% %}, and what stands around it. */

#include "text/template/ast.h"

typedef vug_tnode *parse_fn(vug_parser *p);

static vug_tnode *parse_list(vug_parser *p, const char *const *until);

/* The end of an opening tag; Jinja allows a colon there. */
static bool end_tag(vug_parser *p)
{
    if (p->token.kind != VUG_T_CLOSE_TAG)
        return vug_parse_unexpected(p, "'%}'") != NULL;
    vug_parse_next(p);
    return true;
}

/* The body of a block up to `{% until`, which is left at the reader. */
static vug_tnode *parse_block(vug_parser *p, const char *const *until)
{
    (void)vug_parse_skip_op(p, ':');
    return end_tag(p) ? parse_list(p, until) : NULL;
}

/* Likewise, up to the name alone, with its tag's end. */
static vug_tnode *parse_body_until(vug_parser *p, const char *name)
{
    const char *const until[] = { name, NULL };
    vug_tnode *body = parse_block(p, until);
    vug_parse_next(p);
    return vug_parse_ok(p) && end_tag(p) ? body : NULL;
}

/* Bodies with a scope of their own forget that an `if` is around them, as Jinja does. */
static vug_tnode *parse_hard_body(vug_parser *p, const char *name)
{
    const bool soft = p->soft;
    p->soft = false;
    vug_tnode *body = parse_body_until(p, name);
    p->soft = soft;
    return body;
}

/* Bodies that run elsewhere: break does not reach the loop around them. */
static vug_tnode *parse_far_body(vug_parser *p, const char *name)
{
    const int loops = p->loops;
    p->loops = 0;
    vug_tnode *body = parse_hard_body(p, name);
    p->loops = loops;
    return body;
}

/* ---- targets of assignments ------------------------------------------------------------ */

static vug_tnode *parse_target_name(vug_parser *p)
{
    static const char *const constant[] = { "true", "false", "none", "True", "False", "None" };
    for (size_t i = 0; i < sizeof(constant) / sizeof(constant[0]); i++) {
        if (vug_parse_is_name(p, constant[i]))
            return vug_parse_fail(p, "'%s' cannot be assigned to", constant[i]);
    }
    vug_tnode *node = vug_parse_node(p, VUG_N_NAME);
    if (node)
        node->name = vug_parse_expect_name(p);
    return node;
}

/* name, name.attribute (of a namespace, where `attributes`), (a, b) */
static vug_tnode *parse_one_target(vug_parser *p, bool attributes);

/* a, b */
static vug_tnode *parse_targets(vug_parser *p, bool attributes)
{
    vug_tnode *first = parse_one_target(p, attributes);
    if (!first || !vug_parse_is_op(p, ','))
        return first;
    vug_tnode *tuple = vug_parse_node(p, VUG_N_TUPLE);
    vug_tnode *last = first;
    if (tuple)
        tuple->kid[0] = first;
    while (vug_parse_ok(p) && vug_parse_skip_op(p, ',')) {
        if (p->token.kind != VUG_T_NAME && !vug_parse_is_op(p, '('))
            break;
        if (vug_parse_is_name(p, "in"))
            break;
        last->next = parse_one_target(p, attributes);
        if (!last->next)
            return NULL;
        last = last->next;
    }
    return tuple;
}

static vug_tnode *parse_one_target(vug_parser *p, bool attributes)
{
    if (vug_parse_skip_op(p, '(')) {
        vug_tnode *inner = vug_parse_enter(p) ? parse_targets(p, attributes) : NULL;
        vug_parse_leave(p);
        return inner && vug_parse_expect_op(p, ')') ? inner : NULL;
    }
    vug_tnode *name = parse_target_name(p);
    if (!attributes || !name || !vug_parse_skip_op(p, '.'))
        return name;
    vug_tnode *node = vug_parse_node(p, VUG_N_ATTR);
    if (node) {
        node->kid[0] = name;
        node->name = vug_parse_expect_name(p);
    }
    return node;
}

/* ---- the statements ----------------------------------------------------------------------- */

static vug_tnode *parse_if(vug_parser *p)
{
    static const char *const until[] = { "elif", "else", "endif", NULL };
    vug_tnode *node = vug_parse_node(p, VUG_N_IF);
    vug_tnode **end = node ? &node->kid[0] : NULL;
    const bool soft = p->soft;
    p->soft = true;
    bool more = true;
    for (bool is_else = false; more && end && vug_parse_ok(p);) {
        vug_tnode *branch = vug_parse_node(p, VUG_N_BRANCH);
        if (!branch)
            break;
        if (!is_else)
            branch->kid[0] = vug_parse_tuple(p, false, NULL, false);
        branch->kid[1] = vug_parse_ok(p) ? parse_block(p, is_else ? until + 2 : until) : NULL;
        *end = branch;
        end = &branch->next;
        is_else = vug_parse_is_name(p, "else");
        more = !vug_parse_is_name(p, "endif");
        vug_parse_next(p);
    }
    p->soft = soft;
    return vug_parse_ok(p) && end_tag(p) ? node : NULL;
}

static vug_tnode *parse_for(vug_parser *p)
{
    static const char *const until[] = { "else", "endfor", NULL };
    vug_tnode *node = vug_parse_node(p, VUG_N_FOR);
    if (!node)
        return NULL;
    node->kid[0] = parse_targets(p, false);
    if (vug_parse_ok(p) && !vug_parse_skip_name(p, "in"))
        return vug_parse_unexpected(p, "'in'");
    node->kid[1] = vug_parse_tuple(p, false, "recursive", false);
    const bool soft = p->soft;
    p->soft = false;
    if (vug_parse_skip_name(p, "if"))
        node->kid[2] = vug_parse_expression(p, true);
    node->op = vug_parse_skip_name(p, "recursive");
    p->loops++;
    node->kid[3] = parse_block(p, until);
    p->loops--;
    if (vug_parse_skip_name(p, "else"))
        node->kid[4] = parse_block(p, until + 1);
    vug_parse_next(p);
    p->soft = soft;
    return vug_parse_ok(p) && end_tag(p) ? node : NULL;
}

static vug_tnode *parse_set(vug_parser *p)
{
    vug_tnode *node = vug_parse_node(p, VUG_N_SET);
    if (!node)
        return NULL;
    node->kid[0] = parse_targets(p, true);
    if (vug_parse_skip_op(p, '=')) {
        node->kid[1] = vug_parse_tuple(p, true, NULL, false);
        return vug_parse_ok(p) && end_tag(p) ? node : NULL;
    }
    node->kind = VUG_N_SETBLOCK;
    if (vug_parse_is_op(p, '|'))
        node->kid[2] = vug_parse_node(p, VUG_N_HELD);
    while (vug_parse_ok(p) && vug_parse_skip_op(p, '|'))
        node->kid[2] = vug_parse_filters(p, node->kid[2]);
    node->kid[1] = vug_parse_ok(p) ? parse_hard_body(p, "endset") : NULL;
    return node;
}

/* (a, b=1), at the parenthesis. */
static bool parse_signature(vug_parser *p, vug_tnode *macro)
{
    vug_tnode **end = &macro->kid[0];
    bool defaults = false;
    if (!vug_parse_expect_op(p, '('))
        return false;
    while (vug_parse_ok(p) && !vug_parse_is_op(p, ')')) {
        if (macro->kid[0] && !vug_parse_expect_op(p, ','))
            return false;
        vug_tnode *param = parse_target_name(p);
        if (!param)
            return false;
        param->kind = VUG_N_PARAM;
        if (vug_parse_skip_op(p, '=')) {
            param->kid[0] = vug_parse_expression(p, true);
            defaults = true;
        } else if (defaults) {
            return vug_parse_fail(p, "a parameter without a default follows one that has it");
        }
        *end = param;
        end = &param->next;
    }
    return vug_parse_expect_op(p, ')');
}

/* The rest of a macro, or of a call block's caller. */
static bool parse_macro_body(vug_parser *p, vug_tnode *macro, const char *until)
{
    const int uses = p->uses;
    p->uses = 0;
    macro->kid[1] = parse_far_body(p, until);
    macro->op = p->uses;
    p->uses |= uses;
    return vug_parse_ok(p);
}

static vug_tnode *parse_macro(vug_parser *p)
{
    vug_tnode *node = vug_parse_node(p, VUG_N_MACRO);
    if (!node)
        return NULL;
    node->name = vug_parse_expect_name(p);
    return vug_parse_ok(p) && parse_signature(p, node) && parse_macro_body(p, node, "endmacro")
                   ? node
                   : NULL;
}

static vug_tnode *parse_callblock(vug_parser *p)
{
    vug_tnode *node = vug_parse_node(p, VUG_N_CALLBLOCK);
    vug_tnode *caller = vug_parse_node(p, VUG_N_MACRO);
    if (!node || !caller)
        return NULL;
    caller->name = vug_str_of("caller");
    if (vug_parse_is_op(p, '(') && !parse_signature(p, caller))
        return NULL;
    node->kid[0] = vug_parse_expression(p, true);
    node->kid[1] = caller;
    if (!node->kid[0])
        return NULL;
    if (node->kid[0]->kind != VUG_N_CALL)
        return vug_parse_unexpected(p, "a call of a macro");
    return parse_macro_body(p, caller, "endcall") ? node : NULL;
}

static vug_tnode *parse_filterblock(vug_parser *p)
{
    vug_tnode *node = vug_parse_node(p, VUG_N_FILTERBLOCK);
    vug_tnode *held = vug_parse_node(p, VUG_N_HELD);
    if (!node || !held)
        return NULL;
    node->kid[0] = held;
    do {
        node->kid[0] = vug_parse_filters(p, node->kid[0]);
    } while (vug_parse_ok(p) && vug_parse_skip_op(p, '|'));
    node->kid[1] = vug_parse_ok(p) ? parse_hard_body(p, "endfilter") : NULL;
    return node;
}

static vug_tnode *parse_with(vug_parser *p)
{
    vug_tnode *node = vug_parse_node(p, VUG_N_WITH);
    vug_tnode **end = node ? &node->kid[0] : NULL;
    while (vug_parse_ok(p) && end && p->token.kind == VUG_T_NAME) {
        vug_tnode *set = vug_parse_node(p, VUG_N_SET);
        if (!set)
            break;
        set->kid[0] = parse_one_target(p, false);
        if (!vug_parse_ok(p) || !vug_parse_expect_op(p, '='))
            return NULL;
        set->kid[1] = vug_parse_expression(p, true);
        *end = set;
        end = &set->next;
        if (!vug_parse_skip_op(p, ','))
            break;
    }
    if (node && vug_parse_ok(p))
        node->kid[1] = parse_hard_body(p, "endwith");
    return node;
}

/* What transformers marks the answers with: a body with a scope of its own. */
static vug_tnode *parse_generation(vug_parser *p)
{
    vug_tnode *node = vug_parse_node(p, VUG_N_WITH);
    if (node)
        node->kid[1] = parse_far_body(p, "endgeneration");
    return node;
}

static vug_tnode *parse_print(vug_parser *p)
{
    vug_tnode *first = NULL;
    vug_tnode **end = &first;
    while (vug_parse_ok(p) && p->token.kind != VUG_T_CLOSE_TAG) {
        if (first && !vug_parse_expect_op(p, ','))
            return NULL;
        vug_tnode *node = vug_parse_node(p, VUG_N_OUTPUT);
        if (!node)
            return NULL;
        node->kid[0] = vug_parse_expression(p, true);
        *end = node;
        end = &node->next;
    }
    vug_tnode *all = vug_parse_node(p, VUG_N_IF);
    vug_tnode *branch = vug_parse_node(p, VUG_N_BRANCH);
    if (!all || !branch)
        return NULL;
    all->kid[0] = branch;
    branch->kid[1] = first;
    return end_tag(p) ? all : NULL;
}

static vug_tnode *leave_loop(vug_parser *p, vug_node_kind kind)
{
    if (p->loops == 0)
        return vug_parse_fail(p, "break or continue outside of a loop");
    vug_tnode *node = vug_parse_node(p, kind);
    return vug_parse_ok(p) && end_tag(p) ? node : NULL;
}

static vug_tnode *parse_break(vug_parser *p)
{
    return leave_loop(p, VUG_N_BREAK);
}

static vug_tnode *parse_continue(vug_parser *p)
{
    return leave_loop(p, VUG_N_CONTINUE);
}

/* The statements; those without a function are refused by name. */
static const struct {
    const char *name;
    parse_fn *parse;
} statements[] = {
    { "if", parse_if },
    { "for", parse_for },
    { "set", parse_set },
    { "macro", parse_macro },
    { "call", parse_callblock },
    { "filter", parse_filterblock },
    { "with", parse_with },
    { "print", parse_print },
    { "break", parse_break },
    { "continue", parse_continue },
    { "generation", parse_generation },
    { "include", NULL },
    { "import", NULL },
    { "from", NULL },
    { "extends", NULL },
    { "block", NULL },
    { "autoescape", NULL },
};

static vug_tnode *parse_statement(vug_parser *p)
{
    const vug_str name = p->token.text;
    if (p->token.kind != VUG_T_NAME)
        return vug_parse_unexpected(p, "the name of a statement");
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        if (!vug_str_is(name, statements[i].name))
            continue;
        if (!statements[i].parse) {
            vug_lexer_fail(&p->lex, p->token.at, VUG_UNSUPPORTED,
                           "Jinja's statement '%s' is not supported", statements[i].name);
            return NULL;
        }
        const uint32_t line = p->token.line;
        vug_parse_next(p);
        vug_tnode *node = vug_parse_enter(p) ? statements[i].parse(p) : NULL;
        vug_parse_leave(p);
        vug_parse_settle(p);
        if (node)
            node->line = line;
        return node;
    }
    return vug_parse_fail(p, "there is no statement '%.*s' here", VUG_STR_ARG(name));
}

static vug_tnode *parse_text(vug_parser *p)
{
    vug_tnode *node = vug_parse_node(p, VUG_N_TEXT);
    if (node)
        node->constant = vug_tv_string((vug_tstr){ p->token.text.ptr, p->token.text.len, NULL });
    vug_parse_next(p);
    return node;
}

static vug_tnode *parse_output(vug_parser *p)
{
    vug_parse_next(p);
    vug_tnode *node = vug_parse_node(p, VUG_N_OUTPUT);
    if (!node)
        return NULL;
    node->kid[0] = vug_parse_tuple(p, true, NULL, false);
    if (vug_parse_ok(p) && p->token.kind != VUG_T_CLOSE_VAR)
        return vug_parse_unexpected(p, "'}}'");
    vug_parse_settle(p);
    vug_parse_next(p);
    return node;
}

static bool ends_here(const vug_parser *p, const char *const *until)
{
    for (; until && *until; until++) {
        if (vug_parse_is_name(p, *until))
            return true;
    }
    return false;
}

/* Up to {% and one of `until`, which is left at the reader; NULL: up to the end. */
static vug_tnode *parse_list(vug_parser *p, const char *const *until)
{
    vug_tnode *first = NULL;
    vug_tnode **end = &first;
    while (vug_parse_ok(p) && p->token.kind != VUG_T_END) {
        vug_tnode *node = NULL;
        if (p->token.kind == VUG_T_TEXT) {
            node = parse_text(p);
        } else if (p->token.kind == VUG_T_OPEN_VAR) {
            node = parse_output(p);
        } else if (p->token.kind == VUG_T_OPEN_TAG) {
            vug_parse_next(p);
            if (ends_here(p, until))
                return first;
            node = parse_statement(p);
        }
        if (!node)
            return NULL;
        *end = node;
        end = &node->next;
    }
    while (until && until[0] && until[1])
        until++;
    if (until && vug_parse_ok(p))
        return vug_parse_fail(p, "expected '%s', found the end of the template", until[0]);
    return first;
}

vug_tnode *vug_parse_body(vug_parser *p)
{
    vug_parse_next(p);
    return parse_list(p, NULL);
}
