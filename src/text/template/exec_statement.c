/* Executes statements. Blocks, loops and macros execute others, so all are in one file. */

#include "text/template/template_exec.h"
#include "text/template/template_strings.h"

/* How a statement ended. */
typedef enum { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE } exec_flow;

static exec_flow exec_node(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node);

static exec_flow exec_list(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *body)
{
    exec_flow flow = FLOW_NEXT;
    for (; body && flow == FLOW_NEXT && vug_tmpl_ok(run); body = body->next) {
        const uint32_t line = run->line;
        if (!vug_tmpl_descend(run))
            break;
        run->line = body->line;
        flow = exec_node(run, scope, body);
        run->line = line;
        run->depth--;
    }
    return flow;
}

/* Executes statements and returns what they print, as a string. */
static vug_tmpl_value capture(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *body,
                              exec_flow *flow)
{
    const size_t from = vug_tmpl_build_begin(run);
    *flow = exec_list(run, scope, body);
    return vug_tmpl_build_end(run, from);
}

/* ---- blocks --------------------------------------------------------------------------- */

/* Applies `filters`, whose innermost operand is FILTER_INPUT, to a text; NULL: none. */
static vug_tmpl_value apply_filters(vug_tmpl_run *run, vug_tmpl_scope *scope,
                                    const vug_tmpl_node *filters, vug_tmpl_value text)
{
    if (!filters || !vug_tmpl_ok(run))
        return text;
    const vug_tmpl_value filter_input = run->filter_input;
    run->filter_input = text;
    const vug_tmpl_value v = vug_tmpl_eval(run, scope, filters);
    run->filter_input = filter_input;
    return v;
}

/* The filtered output of a block's body. False: break or continue left it. */
static bool block_text(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node,
                       const vug_tmpl_node *filters, vug_tmpl_value *out, exec_flow *flow)
{
    vug_tmpl_scope *inner = vug_tmpl_new_scope(run, scope, node->locals);
    *flow = FLOW_NEXT;
    if (!inner)
        return false;
    const vug_tmpl_value text = capture(run, inner, node->child[1], flow);
    if (*flow != FLOW_NEXT)
        return false;
    *out = apply_filters(run, scope, filters, text);
    return true;
}

static exec_flow exec_setblock(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node)
{
    exec_flow flow;
    vug_tmpl_value text;
    if (block_text(run, scope, node, node->child[2], &text, &flow))
        vug_tmpl_assign(run, scope, node->child[0], text);
    return flow;
}

static exec_flow exec_filterblock(vug_tmpl_run *run, vug_tmpl_scope *scope,
                                  const vug_tmpl_node *node)
{
    exec_flow flow;
    vug_tmpl_value text;
    if (block_text(run, scope, node, node->child[0], &text, &flow))
        vug_tmpl_write_value(run, text);
    return flow;
}

static exec_flow exec_with(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node)
{
    vug_tmpl_scope *inner = vug_tmpl_new_scope(run, scope, node->locals);
    if (!inner)
        return FLOW_NEXT;
    for (const vug_tmpl_node *set = node->child[0]; set && vug_tmpl_ok(run); set = set->next)
        vug_tmpl_assign(run, inner, set->child[0], vug_tmpl_eval(run, scope, set->child[1]));
    return exec_list(run, inner, node->child[1]);
}

static exec_flow exec_if(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node)
{
    for (const vug_tmpl_node *branch = node->child[0]; branch && vug_tmpl_ok(run);
         branch = branch->next) {
        const bool taken =
                !branch->child[0] || vug_tmpl_is_true(vug_tmpl_eval(run, scope, branch->child[0]));
        if (taken && vug_tmpl_ok(run))
            return exec_list(run, scope, branch->child[1]);
    }
    return FLOW_NEXT;
}

/* ---- loops ---------------------------------------------------------------------------- */

static vug_tmpl_value call_loop(vug_tmpl_run *run, vug_tmpl_callable *self,
                                const vug_tmpl_args *args);

/* All iterations share one scope, which is cleared before each. */
static exec_flow run_iterations(vug_tmpl_run *run, vug_tmpl_scope *scope, vug_tmpl_loop *loop)
{
    const vug_tmpl_node *node = loop->node;
    bool completed = false; /* some iteration reached its end: then Jinja skips the else */
    while (vug_tmpl_ok(run) && vug_tmpl_loop_advance(run, loop)) {
        loop->scope->vars.n = 0;
        vug_tmpl_vars_set(run, &loop->scope->vars, vug_str_of("loop"),
                          (vug_tmpl_value){ .kind = VUG_TMPL_LOOP, .callable = &loop->callable });
        vug_tmpl_assign(run, loop->scope, node->child[0], loop->current);
        vug_tmpl_declare_locals(run, loop->scope, node->locals);
        const exec_flow flow = exec_list(run, loop->scope, node->child[3]);
        completed |= flow == FLOW_NEXT;
        if (flow == FLOW_BREAK)
            break;
    }
    if (completed || !node->child[4] || !vug_tmpl_ok(run))
        return FLOW_NEXT;
    vug_tmpl_scope *inner = vug_tmpl_new_scope(run, scope, NULL);
    return inner ? exec_list(run, inner, node->child[4]) : FLOW_NEXT;
}

static exec_flow exec_loop(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node,
                           vug_tmpl_value over, int64_t depth0)
{
    vug_tmpl_loop *loop = vug_tmpl_alloc(run, 1, sizeof(*loop));
    vug_tmpl_scope *body = vug_tmpl_new_scope(run, scope, NULL);
    vug_tmpl_scope *filter = node->child[2] ? vug_tmpl_new_scope(run, scope, NULL) : NULL;
    if (!loop || !body || !vug_tmpl_ok(run))
        return FLOW_NEXT;
    *loop = (vug_tmpl_loop){ .callable = { call_loop, vug_tmpl_loop_get_attr },
                             .node = node,
                             .scope = body,
                             .filter_scope = filter,
                             .items = vug_tmpl_iterate(run, over),
                             .index0 = -1,
                             .depth0 = depth0 };
    return run_iterations(run, scope, loop);
}

/* loop(iterable), inside a recursive loop. */
static vug_tmpl_value call_loop(vug_tmpl_run *run, vug_tmpl_callable *self,
                                const vug_tmpl_args *args)
{
    const vug_tmpl_loop *loop = (const vug_tmpl_loop *)self;
    if (!loop->node->op)
        return vug_tmpl_fail(run, VUG_FORMAT, "a loop must be marked 'recursive' to be called");
    if (args->n != 1 || args->n_named)
        return vug_tmpl_fail(run, VUG_FORMAT, "loop(..) expects one iterable");
    const size_t from = vug_tmpl_build_begin(run);
    if (!vug_tmpl_descend(run))
        return vug_tmpl_none();
    (void)exec_loop(run, loop->scope->outer, loop->node, args->pos[0], loop->depth0 + 1);
    run->depth--;
    return vug_tmpl_build_end(run, from);
}

/* ---- macros ---------------------------------------------------------------------------- */

static vug_tmpl_value call_macro(vug_tmpl_run *run, vug_tmpl_callable *self,
                                 const vug_tmpl_args *args)
{
    const vug_tmpl_macro *macro = (const vug_tmpl_macro *)self;
    exec_flow flow;
    vug_tmpl_value out = vug_tmpl_none();
    vug_tmpl_scope *scope = vug_tmpl_new_scope(run, macro->scope, macro->node->locals);
    if (!scope || !vug_tmpl_descend(run))
        return out;
    vug_tmpl_bind_macro_args(run, scope, macro->node, args);
    if (vug_tmpl_ok(run))
        out = capture(run, scope, macro->node->child[1], &flow);
    run->depth--;
    return out;
}

static vug_tmpl_value get_macro_attr(vug_tmpl_run *run, vug_tmpl_callable *self, vug_str name)
{
    const vug_str of = ((const vug_tmpl_macro *)self)->node->name;
    (void)run;
    return vug_str_is(name, "name") ? vug_tmpl_string((vug_tmpl_str){ of.ptr, of.len, NULL })
                                    : (vug_tmpl_value){ 0 };
}

static vug_tmpl_value new_macro(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node)
{
    vug_tmpl_macro *macro = vug_tmpl_alloc(run, 1, sizeof(*macro));
    if (!macro)
        return vug_tmpl_none();
    *macro = (vug_tmpl_macro){ { call_macro, get_macro_attr }, node, scope };
    return (vug_tmpl_value){ .kind = VUG_TMPL_MACRO, .callable = &macro->callable };
}

/* {% call %} */
static exec_flow exec_callblock(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node)
{
    const vug_tmpl_node *call = node->child[0];
    const vug_tmpl_value callee = vug_tmpl_eval(run, scope, call->child[0]);
    vug_tmpl_args args = vug_tmpl_eval_args(run, scope, call->child[1]);
    vug_tmpl_vars named = { 0 };
    for (size_t i = 0; i < args.n_named; i++)
        vug_tmpl_vars_set(run, &named, args.name[i], args.named[i]);
    vug_tmpl_vars_set(run, &named, vug_str_of("caller"), new_macro(run, scope, node->child[1]));
    if (!vug_tmpl_ok(run))
        return FLOW_NEXT;
    args.name = named.name;
    args.named = named.value;
    args.n_named = named.n;
    vug_tmpl_write_value(run, vug_tmpl_call(run, callee, &args));
    return FLOW_NEXT;
}

/* ---- dispatch ---------------------------------------------------------------------- */

static exec_flow exec_node(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node)
{
    switch (node->kind) {
    case VUG_TMPL_NODE_TEXT:
        vug_tmpl_write(run, node->constant.str);
        return FLOW_NEXT;
    case VUG_TMPL_NODE_OUTPUT: {
        const vug_tmpl_value v = vug_tmpl_eval(run, scope, node->child[0]);
        if (vug_tmpl_ok(run))
            vug_tmpl_write_value(run, v);
        return FLOW_NEXT;
    }
    case VUG_TMPL_NODE_IF:
        return exec_if(run, scope, node);
    case VUG_TMPL_NODE_FOR:
        return exec_loop(run, scope, node, vug_tmpl_eval(run, scope, node->child[1]), 0);
    case VUG_TMPL_NODE_SET:
        vug_tmpl_assign(run, scope, node->child[0], vug_tmpl_eval(run, scope, node->child[1]));
        return FLOW_NEXT;
    case VUG_TMPL_NODE_SETBLOCK:
        return exec_setblock(run, scope, node);
    case VUG_TMPL_NODE_MACRO:
        vug_tmpl_vars_set(run, &scope->vars, node->name, new_macro(run, scope, node));
        return FLOW_NEXT;
    case VUG_TMPL_NODE_CALLBLOCK:
        return exec_callblock(run, scope, node);
    case VUG_TMPL_NODE_FILTERBLOCK:
        return exec_filterblock(run, scope, node);
    case VUG_TMPL_NODE_WITH:
        return exec_with(run, scope, node);
    case VUG_TMPL_NODE_BREAK:
        return FLOW_BREAK;
    case VUG_TMPL_NODE_CONTINUE:
        return FLOW_CONTINUE;
    default:
        return FLOW_NEXT;
    }
}

void vug_tmpl_exec(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *body)
{
    (void)exec_list(run, scope, body);
}
