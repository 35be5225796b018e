/* Statements. What a block captures is put behind the output and taken away again. */

#include "text/template/ast.h"
#include "text/template/text.h"

void vug_hide(vug_run *run, vug_tscope *scope, const vug_tnode *hidden)
{
    for (; hidden && vug_run_ok(run); hidden = hidden->next)
        vug_tvars_set(run, &scope->vars, hidden->name, vug_tv_undefined(run, NULL, hidden->name));
}

vug_tscope *vug_scope_inside(vug_run *run, vug_tscope *outer, const vug_tnode *hidden)
{
    vug_tscope *scope = vug_run_alloc(run, 1, sizeof(*scope));
    if (!scope)
        return NULL;
    scope->outer = outer;
    vug_hide(run, scope, hidden);
    return scope;
}

static vug_flow exec_node(vug_run *run, vug_tscope *scope, const vug_tnode *node);

vug_flow vug_exec(vug_run *run, vug_tscope *scope, const vug_tnode *body)
{
    vug_flow flow = VUG_FLOW_ON;
    for (; body && flow == VUG_FLOW_ON && vug_run_ok(run); body = body->next) {
        const uint32_t line = run->line;
        if (!vug_deeper(run))
            break;
        run->line = body->line;
        flow = exec_node(run, scope, body);
        run->line = line;
        run->depth--;
    }
    return flow;
}

vug_tv vug_captured(vug_run *run, vug_tscope *scope, const vug_tnode *body, vug_flow *flow)
{
    const size_t from = vug_make(run);
    *flow = vug_exec(run, scope, body);
    return vug_made(run, from);
}

/* ---- assignments --------------------------------------------------------------------------------- */

static void assign_attribute(vug_run *run, vug_tscope *scope, const vug_tnode *target, vug_tv value)
{
    const vug_tv of = vug_eval(run, scope, target->kid[0]);
    if (!vug_run_ok(run))
        return;
    if (of.kind != VUG_TV_NAMESPACE)
        (void)vug_run_fail(run, VUG_FORMAT, "cannot assign attribute on non-namespace object");
    else if (vug_str_starts(target->name, "_"))
        (void)vug_run_fail(run, VUG_FORMAT, "a namespace has no attributes of that name");
    else
        vug_tvars_set(run, of.vars, target->name, value);
}

void vug_assign(vug_run *run, vug_tscope *scope, const vug_tnode *target, vug_tv value)
{
    if (!vug_run_ok(run))
        return;
    if (target->kind == VUG_N_NAME) {
        vug_tvars_set(run, &scope->vars, target->name, value);
        return;
    }
    if (target->kind == VUG_N_ATTR) {
        assign_attribute(run, scope, target, value);
        return;
    }
    if (!vug_tv_is_iterable(value)) {
        (void)vug_run_fail(run, VUG_FORMAT, "cannot unpack non-iterable %s object",
                           vug_tv_type(value));
        return;
    }
    const vug_tseq all = vug_tv_elements(run, value);
    size_t n = 0;
    for (const vug_tnode *t = target->kid[0]; t; t = t->next)
        n++;
    if (n != all.n)
        (void)vug_run_fail(run, VUG_FORMAT, "expected %zu values to unpack, got %zu", n, all.n);
    n = 0;
    for (const vug_tnode *t = target->kid[0]; t && vug_run_ok(run); t = t->next)
        vug_assign(run, scope, t, all.item[n++]);
}

/* The text of `body` through `filters`, which begin at N_HELD; NULL: as it is. */
static vug_tv filtered(vug_run *run, vug_tscope *scope, const vug_tnode *filters, vug_tv text)
{
    if (!filters || !vug_run_ok(run))
        return text;
    const vug_tv held = run->held;
    run->held = text;
    const vug_tv v = vug_eval(run, scope, filters);
    run->held = held;
    return v;
}

/* What the body of a block says, filtered; false where it did not come to its end. */
static bool block_text(vug_run *run, vug_tscope *scope, const vug_tnode *node,
                       const vug_tnode *filters, vug_tv *out, vug_flow *flow)
{
    vug_tscope *inner = vug_scope_inside(run, scope, node->hidden);
    *flow = VUG_FLOW_ON;
    if (!inner)
        return false;
    const vug_tv text = vug_captured(run, inner, node->kid[1], flow);
    if (*flow != VUG_FLOW_ON)
        return false;
    *out = filtered(run, scope, filters, text);
    return true;
}

static vug_flow exec_setblock(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    vug_flow flow;
    vug_tv text;
    if (block_text(run, scope, node, node->kid[2], &text, &flow))
        vug_assign(run, scope, node->kid[0], text);
    return flow;
}

static vug_flow exec_filterblock(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    vug_flow flow;
    vug_tv text;
    if (block_text(run, scope, node, node->kid[0], &text, &flow))
        vug_put_str(run, text);
    return flow;
}

static vug_flow exec_with(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    vug_tscope *inner = vug_scope_inside(run, scope, node->hidden);
    if (!inner)
        return VUG_FLOW_ON;
    for (const vug_tnode *set = node->kid[0]; set && vug_run_ok(run); set = set->next)
        vug_assign(run, inner, set->kid[0], vug_eval(run, scope, set->kid[1]));
    return vug_exec(run, inner, node->kid[1]);
}

static vug_flow exec_if(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    for (const vug_tnode *branch = node->kid[0]; branch && vug_run_ok(run); branch = branch->next) {
        const bool taken =
                !branch->kid[0] || vug_tv_truth(run, vug_eval(run, scope, branch->kid[0]));
        if (taken && vug_run_ok(run))
            return vug_exec(run, scope, branch->kid[1]);
    }
    return VUG_FLOW_ON;
}

/* ---- all of them ------------------------------------------------------------------------------------------- */

static vug_flow exec_node(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    switch (node->kind) {
    case VUG_N_TEXT:
        vug_put(run, node->constant.str);
        return VUG_FLOW_ON;
    case VUG_N_OUTPUT: {
        const vug_tv v = vug_eval(run, scope, node->kid[0]);
        if (vug_run_ok(run))
            vug_put_str(run, v);
        return VUG_FLOW_ON;
    }
    case VUG_N_IF:
        return exec_if(run, scope, node);
    case VUG_N_FOR:
        return vug_exec_loop(run, scope, node, vug_eval(run, scope, node->kid[1]), 0);
    case VUG_N_SET:
        vug_assign(run, scope, node->kid[0], vug_eval(run, scope, node->kid[1]));
        return VUG_FLOW_ON;
    case VUG_N_SETBLOCK:
        return exec_setblock(run, scope, node);
    case VUG_N_MACRO:
        vug_tvars_set(run, &scope->vars, node->name, vug_macro_of(run, scope, node));
        return VUG_FLOW_ON;
    case VUG_N_CALLBLOCK:
        return vug_exec_call(run, scope, node);
    case VUG_N_FILTERBLOCK:
        return exec_filterblock(run, scope, node);
    case VUG_N_WITH:
        return exec_with(run, scope, node);
    case VUG_N_BREAK:
        return VUG_FLOW_BREAK;
    case VUG_N_CONTINUE:
        return VUG_FLOW_CONTINUE;
    default:
        return VUG_FLOW_ON;
    }
}
