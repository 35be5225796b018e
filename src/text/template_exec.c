/* Statements. What a block captures is put behind the output and taken away again. */

#include "text/template_ast.h"
#include "text/template_text.h"

void vug_hide(vug_run *run, vug_tscope *scope, const vug_tnode *hidden)
{
    for (; hidden && vug_run_ok(run); hidden = hidden->next)
        vug_tvars_set(run, &scope->vars, hidden->name, vug_tv_undefined(run, NULL, hidden->name));
}

static vug_tscope *new_scope(vug_run *run, vug_tscope *outer, const vug_tnode *hidden)
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
        if (!vug_run_enter(run))
            break;
        run->line = body->line;
        flow = exec_node(run, scope, body);
        run->line = line;
        vug_run_leave(run);
    }
    return flow;
}

/* What a body prints, as a string. */
static vug_tv captured(vug_run *run, vug_tscope *scope, const vug_tnode *body, vug_flow *flow)
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

static vug_flow exec_setblock(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    vug_flow flow = VUG_FLOW_ON;
    vug_tscope *inner = new_scope(run, scope, node->hidden);
    if (!inner)
        return flow;
    const vug_tv text = captured(run, inner, node->kid[1], &flow);
    if (flow == VUG_FLOW_ON)
        vug_assign(run, scope, node->kid[0], filtered(run, scope, node->kid[2], text));
    return flow;
}

static vug_flow exec_filterblock(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    vug_flow flow = VUG_FLOW_ON;
    vug_tscope *inner = new_scope(run, scope, node->hidden);
    if (!inner)
        return flow;
    const vug_tv text = captured(run, inner, node->kid[1], &flow);
    if (flow == VUG_FLOW_ON)
        vug_put_str(run, filtered(run, scope, node->kid[0], text));
    return flow;
}

static vug_flow exec_with(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    vug_tscope *inner = new_scope(run, scope, node->hidden);
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

/* ---- loops ------------------------------------------------------------------------------------------ */

/* The next element that the loop's `if` lets through. */
static bool pull(vug_run *run, vug_tloop *loop, vug_tv *out)
{
    while (vug_titer_next(run, &loop->items, out)) {
        if (!loop->filter)
            return true;
        loop->filter->vars.n = 0;
        vug_assign(run, loop->filter, loop->node->kid[0], *out);
        if (!vug_run_ok(run))
            return false;
        if (vug_tv_truth(run, vug_eval(run, loop->filter, loop->node->kid[2])))
            return vug_run_ok(run);
    }
    return false;
}

static bool advance(vug_run *run, vug_tloop *loop)
{
    vug_tv next = loop->after;
    loop->after = (vug_tv){ 0 };
    if (next.kind == VUG_TV_ABSENT && !pull(run, loop, &next))
        return false;
    loop->index0++;
    loop->before = loop->now;
    loop->now = next;
    return true;
}

static bool peek(vug_run *run, vug_tloop *loop)
{
    if (loop->after.kind == VUG_TV_ABSENT && !pull(run, loop, &loop->after))
        loop->after = (vug_tv){ 0 };
    return loop->after.kind != VUG_TV_ABSENT;
}

/* How many there are in all; those that are still to come are looked for once. */
static int64_t loop_length(vug_run *run, vug_tloop *loop)
{
    const vug_tv of = loop->items.of;
    const int64_t seen = loop->index0 + 1 + (loop->after.kind != VUG_TV_ABSENT);
    size_t n = 0;
    if (loop->filter) {
        vug_tlist rest = { 0 };
        for (vug_tv v; pull(run, loop, &v);)
            vug_tlist_add(run, &rest, v);
        loop->filter = NULL;
        loop->items = (vug_titer){ .of = vug_tv_seq(run, VUG_TV_ITERATOR, rest.item, rest.n) };
        return seen + (int64_t)rest.n;
    }
    if (of.kind == VUG_TV_ITERATOR)
        return seen + (int64_t)(of.seq->n - of.seq->at);
    (void)vug_tv_length(run, of, &n);
    return (int64_t)n;
}

static vug_tv neighbour(vug_run *run, vug_tv v, const char *reason)
{
    return v.kind != VUG_TV_ABSENT ? v : vug_tv_undefined(run, "", vug_str_of(reason));
}

vug_tv vug_loop_attr(vug_run *run, vug_tloop *loop, vug_str name)
{
    if (vug_str_is(name, "index"))
        return vug_tv_int(loop->index0 + 1);
    if (vug_str_is(name, "index0"))
        return vug_tv_int(loop->index0);
    if (vug_str_is(name, "first"))
        return vug_tv_bool(loop->index0 == 0);
    if (vug_str_is(name, "last"))
        return vug_tv_bool(!peek(run, loop));
    if (vug_str_is(name, "length"))
        return vug_tv_int(loop_length(run, loop));
    if (vug_str_is(name, "revindex"))
        return vug_tv_int(loop_length(run, loop) - loop->index0);
    if (vug_str_is(name, "revindex0"))
        return vug_tv_int(loop_length(run, loop) - loop->index0 - 1);
    if (vug_str_is(name, "depth"))
        return vug_tv_int(loop->depth0 + 1);
    if (vug_str_is(name, "depth0"))
        return vug_tv_int(loop->depth0);
    if (vug_str_is(name, "previtem"))
        return neighbour(run, loop->index0 > 0 ? loop->before : (vug_tv){ 0 },
                         "there is no previous item");
    if (vug_str_is(name, "nextitem")) {
        (void)peek(run, loop);
        return neighbour(run, loop->after, "there is no next item");
    }
    return (vug_tv){ 0 };
}

/* The scope is one for all rounds, as Jinja's variables are; it is emptied before each. */
static vug_flow exec_rounds(vug_run *run, vug_tscope *scope, vug_tloop *loop)
{
    const vug_tnode *node = loop->node;
    bool whole = false; /* some round came to its end, which is what Jinja's else asks */
    while (vug_run_ok(run) && advance(run, loop)) {
        loop->scope->vars.n = 0;
        vug_tvars_set(run, &loop->scope->vars, vug_str_of("loop"),
                      (vug_tv){ .kind = VUG_TV_LOOP, .loop = loop });
        vug_assign(run, loop->scope, node->kid[0], loop->now);
        vug_hide(run, loop->scope, node->hidden);
        const vug_flow flow = vug_exec(run, loop->scope, node->kid[3]);
        whole |= flow == VUG_FLOW_ON;
        if (flow == VUG_FLOW_BREAK)
            break;
    }
    if (whole || !node->kid[4] || !vug_run_ok(run))
        return VUG_FLOW_ON;
    vug_tscope *inner = new_scope(run, scope, NULL);
    return inner ? vug_exec(run, inner, node->kid[4]) : VUG_FLOW_ON;
}

static vug_flow exec_loop(vug_run *run, vug_tscope *scope, const vug_tnode *node, vug_tv over,
                          int64_t depth0)
{
    vug_tloop *loop = vug_run_alloc(run, 1, sizeof(*loop));
    vug_tscope *body = new_scope(run, scope, NULL);
    vug_tscope *filter = node->kid[2] ? new_scope(run, scope, NULL) : NULL;
    if (!loop || !body || !vug_run_ok(run))
        return VUG_FLOW_ON;
    *loop = (vug_tloop){ .node = node, .scope = body, .filter = filter, .index0 = -1 };
    loop->depth0 = depth0;
    loop->items = vug_tv_iterate(run, over);
    return exec_rounds(run, scope, loop);
}

vug_tv vug_loop_call(vug_run *run, vug_tloop *loop, const vug_targs *args)
{
    if (!loop->node->op)
        return vug_run_fail(run, VUG_FORMAT, "a loop must be marked 'recursive' to be called");
    if (args->n != 1 || args->n_named)
        return vug_run_fail(run, VUG_FORMAT, "loop(..) takes what it goes through");
    const size_t from = vug_make(run);
    if (!vug_run_enter(run))
        return vug_tv_none();
    (void)exec_loop(run, loop->scope->outer, loop->node, args->pos[0], loop->depth0 + 1);
    vug_run_leave(run);
    return vug_made(run, from);
}

/* ---- macros -------------------------------------------------------------------------------------------- */

static vug_tv make_macro(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    vug_tmacro *macro = vug_run_alloc(run, 1, sizeof(*macro));
    if (!macro)
        return vug_tv_none();
    *macro = (vug_tmacro){ node, scope };
    return (vug_tv){ .kind = VUG_TV_MACRO, .macro = macro };
}

/* The arguments that have a name which no parameter took: what `kwargs` shows. */
static vug_tv rest_named(vug_run *run, const vug_targs *args, const bool *taken)
{
    vug_tv *key = vug_run_alloc(run, args->n_named, sizeof(*key));
    vug_tv *value = vug_run_alloc(run, args->n_named, sizeof(*value));
    size_t n = 0;
    for (size_t i = 0; key && value && i < args->n_named; i++) {
        if (taken[i])
            continue;
        key[n] = vug_tv_string((vug_tstr){ args->name[i].ptr, args->name[i].len, NULL });
        value[n++] = args->named[i];
    }
    return vug_run_ok(run) ? vug_tv_dict(run, key, value, n) : vug_tv_none();
}

/* The argument of that name; *taken where it stands. */
static vug_tv take_named(const vug_targs *args, vug_str name, bool *taken)
{
    for (size_t i = 0; i < args->n_named; i++) {
        if (!taken[i] && vug_str_equal(args->name[i], name)) {
            taken[i] = true;
            return args->named[i];
        }
    }
    return (vug_tv){ 0 };
}

/* caller, varargs and kwargs, for the bodies that ask for them. */
static void bind_special(vug_run *run, vug_tscope *scope, const vug_tnode *node,
                         const vug_targs *args, size_t n, bool *taken)
{
    int uses = node->op;
    for (const vug_tnode *p = node->kid[0]; p; p = p->next) {
        if (vug_str_is(p->name, "varargs"))
            uses &= ~VUG_USES_VARARGS;
        else if (vug_str_is(p->name, "kwargs"))
            uses &= ~VUG_USES_KWARGS;
        else if (vug_str_is(p->name, "caller"))
            uses &= ~VUG_USES_CALLER;
    }
    if (uses & VUG_USES_CALLER) {
        const vug_tv caller = take_named(args, vug_str_of("caller"), taken);
        vug_tvars_set(run, &scope->vars, vug_str_of("caller"),
                      neighbour(run, caller, "No caller defined"));
    }
    if (uses & VUG_USES_KWARGS)
        vug_tvars_set(run, &scope->vars, vug_str_of("kwargs"), rest_named(run, args, taken));
    for (size_t i = 0; i < args->n_named && !(uses & VUG_USES_KWARGS); i++) {
        if (!taken[i])
            (void)vug_run_fail(run, VUG_FORMAT, "macro '%.*s' takes no keyword argument '%.*s'",
                               VUG_STR_ARG(node->name), VUG_STR_ARG(args->name[i]));
    }
    if (uses & VUG_USES_VARARGS)
        vug_tvars_set(run, &scope->vars, vug_str_of("varargs"),
                      vug_tv_seq(run, VUG_TV_TUPLE, args->pos + n, args->n - n));
    else if (args->n > n)
        (void)vug_run_fail(run, VUG_FORMAT, "macro '%.*s' takes not more than %zu argument(s)",
                           VUG_STR_ARG(node->name), n);
}

static void bind_params(vug_run *run, vug_tscope *scope, const vug_tnode *node,
                        const vug_targs *args)
{
    bool *taken = vug_run_alloc(run, args->n_named, sizeof(*taken));
    size_t n = 0;
    if (!taken)
        return;
    for (const vug_tnode *p = node->kid[0]; p && vug_run_ok(run); p = p->next) {
        vug_tv v = n < args->n ? args->pos[n] : take_named(args, p->name, taken);
        n += n < args->n;
        vug_tvars_set(run, &scope->vars, p->name, v);
    }
    bind_special(run, scope, node, args, n, taken);
    /* Defaults see the parameters before them; those behind are not there yet. */
    for (const vug_tnode *p = node->kid[0]; p && vug_run_ok(run); p = p->next) {
        if (vug_tvars_get(run, &scope->vars, p->name)->kind != VUG_TV_ABSENT)
            continue;
        const vug_tv v = p->kid[0] ? vug_eval(run, scope, p->kid[0])
                                   : vug_tv_undefined(run, "",
                                                      vug_str_of("a parameter of a macro "
                                                                 "was not provided"));
        vug_tvars_set(run, &scope->vars, p->name, v);
    }
}

vug_tv vug_macro_call(vug_run *run, vug_tmacro *macro, const vug_targs *args)
{
    vug_flow flow;
    vug_tv out = vug_tv_none();
    vug_tscope *scope = new_scope(run, macro->scope, macro->node->hidden);
    if (!scope || !vug_run_enter(run))
        return out;
    bind_params(run, scope, macro->node, args);
    if (vug_run_ok(run))
        out = captured(run, scope, macro->node->kid[1], &flow);
    vug_run_leave(run);
    return out;
}

static vug_flow exec_callblock(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    const vug_tnode *call = node->kid[0];
    const vug_tv callee = vug_eval(run, scope, call->kid[0]);
    vug_targs args = vug_eval_args(run, scope, call->kid[1]);
    vug_tvars named = { 0 };
    for (size_t i = 0; i < args.n_named; i++)
        vug_tvars_set(run, &named, args.name[i], args.named[i]);
    vug_tvars_set(run, &named, vug_str_of("caller"), make_macro(run, scope, node->kid[1]));
    if (!vug_run_ok(run))
        return VUG_FLOW_ON;
    args.name = named.name;
    args.named = named.value;
    args.n_named = named.n;
    vug_put_str(run, vug_tv_call(run, callee, &args));
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
        return exec_loop(run, scope, node, vug_eval(run, scope, node->kid[1]), 0);
    case VUG_N_SET:
        vug_assign(run, scope, node->kid[0], vug_eval(run, scope, node->kid[1]));
        return VUG_FLOW_ON;
    case VUG_N_SETBLOCK:
        return exec_setblock(run, scope, node);
    case VUG_N_MACRO:
        vug_tvars_set(run, &scope->vars, node->name, make_macro(run, scope, node));
        return VUG_FLOW_ON;
    case VUG_N_CALLBLOCK:
        return exec_callblock(run, scope, node);
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
