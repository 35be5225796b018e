/* Macros, their arguments, and blocks that call them (jinja2/runtime.py, Macro). */

#include "text/template/ast.h"
#include "text/template/text.h"

vug_tv vug_macro_of(vug_run *run, vug_tscope *scope, const vug_tnode *node)
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
                      caller.kind != VUG_TV_ABSENT
                              ? caller
                              : vug_tv_undefined(run, "", vug_str_of("No caller defined")));
    }
    if (uses & VUG_USES_KWARGS)
        vug_tvars_set(run, &scope->vars, vug_str_of("kwargs"), rest_named(run, args, taken));
    for (size_t i = 0; i < args->n_named && !(uses & VUG_USES_KWARGS); i++) {
        if (!taken[i])
            (void)vug_run_fail(run, VUG_FORMAT, "macro '%.*s' takes no keyword argument '%.*s'",
                               VUG_STR_ARG(node->name), VUG_STR_ARG(args->name[i]));
    }
    if (uses & VUG_USES_VARARGS)
        vug_tvars_set(
                run, &scope->vars, vug_str_of("varargs"),
                vug_tv_seq(run, VUG_TV_TUPLE, args->n > n ? args->pos + n : NULL, args->n - n));
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
    vug_tscope *scope = vug_scope_inside(run, macro->scope, macro->node->hidden);
    if (!scope || !vug_deeper(run))
        return out;
    bind_params(run, scope, macro->node, args);
    if (vug_run_ok(run))
        out = vug_captured(run, scope, macro->node->kid[1], &flow);
    run->depth--;
    return out;
}

vug_flow vug_exec_call(vug_run *run, vug_tscope *scope, const vug_tnode *node)
{
    const vug_tnode *call = node->kid[0];
    const vug_tv callee = vug_eval(run, scope, call->kid[0]);
    vug_targs args = vug_eval_args(run, scope, call->kid[1]);
    vug_tvars named = { 0 };
    for (size_t i = 0; i < args.n_named; i++)
        vug_tvars_set(run, &named, args.name[i], args.named[i]);
    vug_tvars_set(run, &named, vug_str_of("caller"), vug_macro_of(run, scope, node->kid[1]));
    if (!vug_run_ok(run))
        return VUG_FLOW_ON;
    args.name = named.name;
    args.named = named.value;
    args.n_named = named.n;
    vug_put_str(run, vug_tv_call(run, callee, &args));
    return VUG_FLOW_ON;
}
