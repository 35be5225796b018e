/* Parses statements, the text around them, and output. */

#include "text/template/template_parser.h"

typedef vug_tmpl_node *parse_statement_fn(vug_tmpl_parser *p);

static vug_tmpl_node *parse_list(vug_tmpl_parser *p, const char *const *until);

/* Consumes the end of a tag. */
static bool expect_tag_end(vug_tmpl_parser *p)
{
    if (p->token.kind != VUG_TMPL_TOKEN_CLOSE_TAG)
        return vug_tmpl_parse_unexpected(p, "'%}'") != NULL;
    vug_tmpl_next_token(p);
    return true;
}

/* The body of a block up to one of the names `until`, which is not consumed. Jinja allows a colon
 * before the end of the opening tag. */
static vug_tmpl_node *parse_block(vug_tmpl_parser *p, const char *const *until)
{
    (void)vug_tmpl_skip_op(p, ':');
    return expect_tag_end(p) ? parse_list(p, until) : NULL;
}

/* The body of a block up to the tag of that name, which is consumed. */
static vug_tmpl_node *parse_body_until(vug_tmpl_parser *p, const char *name)
{
    const char *const until[] = { name, NULL };
    vug_tmpl_node *body = parse_block(p, until);
    vug_tmpl_next_token(p);
    return vug_tmpl_parse_ok(p) && expect_tag_end(p) ? body : NULL;
}

/* A body with a scope of its own. As in Jinja, the `if` around it no longer counts. */
static vug_tmpl_node *parse_scoped_body(vug_tmpl_parser *p, const char *name)
{
    const bool deferred = p->defer_unknown;
    p->defer_unknown = false;
    vug_tmpl_node *body = parse_body_until(p, name);
    p->defer_unknown = deferred;
    return body;
}

/* A body that runs elsewhere: `break` cannot leave the loop around it. */
static vug_tmpl_node *parse_detached_body(vug_tmpl_parser *p, const char *name)
{
    const int loops = p->loops;
    p->loops = 0;
    vug_tmpl_node *body = parse_scoped_body(p, name);
    p->loops = loops;
    return body;
}

/* ---- the statements ----------------------------------------------------------------------- */

static vug_tmpl_node *parse_if(vug_tmpl_parser *p)
{
    static const char *const until[] = { "elif", "else", "endif", NULL };
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_IF);
    vug_tmpl_node **end = node ? &node->child[0] : NULL;
    const bool deferred = p->defer_unknown;
    p->defer_unknown = true;
    bool more = true;
    for (bool is_else = false; more && end && vug_tmpl_parse_ok(p);) {
        vug_tmpl_node *branch = vug_tmpl_new_node(p, VUG_TMPL_NODE_BRANCH);
        if (!branch)
            break;
        if (!is_else)
            branch->child[0] = vug_tmpl_parse_tuple(p, false, NULL, false);
        branch->child[1] =
                vug_tmpl_parse_ok(p) ? parse_block(p, is_else ? until + 2 : until) : NULL;
        *end = branch;
        end = &branch->next;
        is_else = vug_tmpl_at_name(p, "else");
        more = !vug_tmpl_at_name(p, "endif");
        vug_tmpl_next_token(p);
    }
    p->defer_unknown = deferred;
    return vug_tmpl_parse_ok(p) && expect_tag_end(p) ? node : NULL;
}

static vug_tmpl_node *parse_for(vug_tmpl_parser *p)
{
    static const char *const until[] = { "else", "endfor", NULL };
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_FOR);
    if (!node)
        return NULL;
    node->child[0] = vug_tmpl_parse_targets(p, false);
    if (vug_tmpl_parse_ok(p) && !vug_tmpl_skip_name(p, "in"))
        return vug_tmpl_parse_unexpected(p, "'in'");
    node->child[1] = vug_tmpl_parse_tuple(p, false, "recursive", false);
    const bool deferred = p->defer_unknown;
    p->defer_unknown = false;
    if (vug_tmpl_skip_name(p, "if"))
        node->child[2] = vug_tmpl_parse_expression(p, true);
    node->op = vug_tmpl_skip_name(p, "recursive");
    p->loops++;
    node->child[3] = parse_block(p, until);
    p->loops--;
    if (vug_tmpl_skip_name(p, "else"))
        node->child[4] = parse_block(p, until + 1);
    vug_tmpl_next_token(p);
    p->defer_unknown = deferred;
    return vug_tmpl_parse_ok(p) && expect_tag_end(p) ? node : NULL;
}

static vug_tmpl_node *parse_set(vug_tmpl_parser *p)
{
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_SET);
    if (!node)
        return NULL;
    node->child[0] = vug_tmpl_parse_targets(p, true);
    if (vug_tmpl_skip_op(p, '=')) {
        node->child[1] = vug_tmpl_parse_tuple(p, true, NULL, false);
        return vug_tmpl_parse_ok(p) && expect_tag_end(p) ? node : NULL;
    }
    node->kind = VUG_TMPL_NODE_SETBLOCK;
    if (vug_tmpl_at_op(p, '|'))
        node->child[2] = vug_tmpl_new_node(p, VUG_TMPL_NODE_FILTER_INPUT);
    while (vug_tmpl_parse_ok(p) && vug_tmpl_skip_op(p, '|'))
        node->child[2] = vug_tmpl_parse_filter(p, node->child[2]);
    node->child[1] = vug_tmpl_parse_ok(p) ? parse_scoped_body(p, "endset") : NULL;
    return node;
}

/* (a, b=1), from the parenthesis on. */
static bool parse_signature(vug_tmpl_parser *p, vug_tmpl_node *macro)
{
    vug_tmpl_node **end = &macro->child[0];
    bool defaults = false;
    if (!vug_tmpl_expect_op(p, '('))
        return false;
    while (vug_tmpl_parse_ok(p) && !vug_tmpl_at_op(p, ')')) {
        if (macro->child[0] && !vug_tmpl_expect_op(p, ','))
            return false;
        vug_tmpl_node *param = vug_tmpl_parse_target_name(p);
        if (!param)
            return false;
        param->kind = VUG_TMPL_NODE_PARAM;
        if (vug_tmpl_skip_op(p, '=')) {
            param->child[0] = vug_tmpl_parse_expression(p, true);
            defaults = true;
        } else if (defaults) {
            return vug_tmpl_parse_fail(p, "a parameter without a default follows one that has it");
        }
        *end = param;
        end = &param->next;
    }
    return vug_tmpl_expect_op(p, ')');
}

/* The body of a macro, or of a call block. */
static bool parse_macro_body(vug_tmpl_parser *p, vug_tmpl_node *macro, const char *until)
{
    const int uses = p->uses;
    p->uses = 0;
    macro->child[1] = parse_detached_body(p, until);
    macro->op = p->uses;
    p->uses |= uses;
    return vug_tmpl_parse_ok(p);
}

static vug_tmpl_node *parse_macro(vug_tmpl_parser *p)
{
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_MACRO);
    if (!node)
        return NULL;
    node->name = vug_tmpl_expect_name(p);
    return vug_tmpl_parse_ok(p) && parse_signature(p, node) && parse_macro_body(p, node, "endmacro")
                   ? node
                   : NULL;
}

static vug_tmpl_node *parse_callblock(vug_tmpl_parser *p)
{
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_CALLBLOCK);
    vug_tmpl_node *caller = vug_tmpl_new_node(p, VUG_TMPL_NODE_MACRO);
    if (!node || !caller)
        return NULL;
    caller->name = vug_str_of("caller");
    if (vug_tmpl_at_op(p, '(') && !parse_signature(p, caller))
        return NULL;
    node->child[0] = vug_tmpl_parse_expression(p, true);
    node->child[1] = caller;
    if (!node->child[0])
        return NULL;
    if (node->child[0]->kind != VUG_TMPL_NODE_CALL)
        return vug_tmpl_parse_unexpected(p, "a call of a macro");
    return parse_macro_body(p, caller, "endcall") ? node : NULL;
}

static vug_tmpl_node *parse_filterblock(vug_tmpl_parser *p)
{
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_FILTERBLOCK);
    vug_tmpl_node *filter_input = vug_tmpl_new_node(p, VUG_TMPL_NODE_FILTER_INPUT);
    if (!node || !filter_input)
        return NULL;
    node->child[0] = filter_input;
    do {
        node->child[0] = vug_tmpl_parse_filter(p, node->child[0]);
    } while (vug_tmpl_parse_ok(p) && vug_tmpl_skip_op(p, '|'));
    node->child[1] = vug_tmpl_parse_ok(p) ? parse_scoped_body(p, "endfilter") : NULL;
    return node;
}

static vug_tmpl_node *parse_with(vug_tmpl_parser *p)
{
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_WITH);
    vug_tmpl_node **end = node ? &node->child[0] : NULL;
    while (vug_tmpl_parse_ok(p) && end && p->token.kind == VUG_TMPL_TOKEN_NAME) {
        vug_tmpl_node *set = vug_tmpl_new_node(p, VUG_TMPL_NODE_SET);
        if (!set)
            break;
        set->child[0] = vug_tmpl_parse_target(p, false);
        if (!vug_tmpl_parse_ok(p) || !vug_tmpl_expect_op(p, '='))
            return NULL;
        set->child[1] = vug_tmpl_parse_expression(p, true);
        *end = set;
        end = &set->next;
        if (!vug_tmpl_skip_op(p, ','))
            break;
    }
    if (node && vug_tmpl_parse_ok(p))
        node->child[1] = parse_scoped_body(p, "endwith");
    return node;
}

/* {% generation %}, with which transformers marks answers: a body with a scope of its own. */
static vug_tmpl_node *parse_generation(vug_tmpl_parser *p)
{
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_WITH);
    if (node)
        node->child[1] = parse_detached_body(p, "endgeneration");
    return node;
}

static vug_tmpl_node *parse_loop_exit(vug_tmpl_parser *p, vug_tmpl_node_kind kind)
{
    if (p->loops == 0)
        return vug_tmpl_parse_fail(p, "break or continue outside a loop");
    vug_tmpl_node *node = vug_tmpl_new_node(p, kind);
    return vug_tmpl_parse_ok(p) && expect_tag_end(p) ? node : NULL;
}

static vug_tmpl_node *parse_break(vug_tmpl_parser *p)
{
    return parse_loop_exit(p, VUG_TMPL_NODE_BREAK);
}

static vug_tmpl_node *parse_continue(vug_tmpl_parser *p)
{
    return parse_loop_exit(p, VUG_TMPL_NODE_CONTINUE);
}

/* Statements without a function are refused by name. */
static const struct {
    const char *name;
    parse_statement_fn *parse;
} statements[] = {
    { "if", parse_if },
    { "for", parse_for },
    { "set", parse_set },
    { "macro", parse_macro },
    { "call", parse_callblock },
    { "filter", parse_filterblock },
    { "with", parse_with },
    { "break", parse_break },
    { "continue", parse_continue },
    { "generation", parse_generation },
    { "include", NULL },
    { "import", NULL },
    { "from", NULL },
    { "extends", NULL },
    { "block", NULL },
    { "autoescape", NULL },
    { "print", NULL },
};

static vug_tmpl_node *parse_statement(vug_tmpl_parser *p)
{
    const vug_str name = p->token.text;
    if (p->token.kind != VUG_TMPL_TOKEN_NAME)
        return vug_tmpl_parse_unexpected(p, "the name of a statement");
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        if (!vug_str_is(name, statements[i].name))
            continue;
        if (!statements[i].parse) {
            vug_tmpl_lexer_fail(&p->lex, p->token.at, VUG_UNSUPPORTED,
                                "Jinja's statement '%s' is not supported", statements[i].name);
            return NULL;
        }
        const uint32_t line = p->token.line;
        vug_tmpl_next_token(p);
        vug_tmpl_node *node = vug_tmpl_parse_enter(p) ? statements[i].parse(p) : NULL;
        vug_tmpl_parse_leave(p);
        vug_tmpl_refuse_unknown(p);
        if (node)
            node->line = line;
        return node;
    }
    return vug_tmpl_parse_fail(p, "there is no statement '%.*s' here", VUG_STR_ARG(name));
}

static vug_tmpl_node *parse_text(vug_tmpl_parser *p)
{
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_TEXT);
    if (node)
        node->constant =
                vug_tmpl_string((vug_tmpl_str){ p->token.text.ptr, p->token.text.len, NULL });
    vug_tmpl_next_token(p);
    return node;
}

static vug_tmpl_node *parse_output(vug_tmpl_parser *p)
{
    vug_tmpl_next_token(p);
    vug_tmpl_node *node = vug_tmpl_new_node(p, VUG_TMPL_NODE_OUTPUT);
    if (!node)
        return NULL;
    node->child[0] = vug_tmpl_parse_tuple(p, true, NULL, false);
    if (vug_tmpl_parse_ok(p) && p->token.kind != VUG_TMPL_TOKEN_CLOSE_VAR)
        return vug_tmpl_parse_unexpected(p, "'}}'");
    vug_tmpl_refuse_unknown(p);
    vug_tmpl_next_token(p);
    return node;
}

static bool at_any_name(const vug_tmpl_parser *p, const char *const *until)
{
    for (; until && *until; until++) {
        if (vug_tmpl_at_name(p, *until))
            return true;
    }
    return false;
}

/* Statements up to a tag of one of the names `until`, which is not consumed; NULL: up to the end. */
static vug_tmpl_node *parse_list(vug_tmpl_parser *p, const char *const *until)
{
    vug_tmpl_node *first = NULL;
    vug_tmpl_node **end = &first;
    while (vug_tmpl_parse_ok(p) && p->token.kind != VUG_TMPL_TOKEN_END) {
        vug_tmpl_node *node = NULL;
        if (p->token.kind == VUG_TMPL_TOKEN_TEXT) {
            node = parse_text(p);
        } else if (p->token.kind == VUG_TMPL_TOKEN_OPEN_VAR) {
            node = parse_output(p);
        } else if (p->token.kind == VUG_TMPL_TOKEN_OPEN_TAG) {
            vug_tmpl_next_token(p);
            if (at_any_name(p, until))
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
    if (until && vug_tmpl_parse_ok(p))
        return vug_tmpl_parse_fail(p, "expected '%s', found the end of the template", until[0]);
    return first;
}

vug_tmpl_node *vug_tmpl_parse_body(vug_tmpl_parser *p)
{
    p->parse_expression = vug_tmpl_parse_expression;
    vug_tmpl_next_token(p);
    return parse_list(p, NULL);
}
