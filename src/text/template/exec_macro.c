/* Binds the arguments of macros to their parameters (jinja2/runtime.py, Macro). */

#include "text/template/template_exec.h"

/* The variable `kwargs`: the named arguments that no parameter took. */
static vug_tmpl_value remaining_named(vug_tmpl_run *run, const vug_tmpl_args *args,
                                      const bool *taken)
{
    vug_tmpl_value *key = vug_tmpl_alloc(run, args->n_named, sizeof(*key));
    vug_tmpl_value *value = vug_tmpl_alloc(run, args->n_named, sizeof(*value));
    size_t n = 0;
    for (size_t i = 0; key && value && i < args->n_named; i++) {
        if (taken[i])
            continue;
        key[n] = vug_tmpl_string((vug_tmpl_str){ args->name[i].ptr, args->name[i].len, NULL });
        value[n++] = args->named[i];
    }
    return vug_tmpl_ok(run) ? vug_tmpl_new_dict(run, key, value, n) : vug_tmpl_none();
}

/* The argument of that name, which is marked in `taken`; or ABSENT. */
static vug_tmpl_value take_named_arg(const vug_tmpl_args *args, vug_str name, bool *taken)
{
    for (size_t i = 0; i < args->n_named; i++) {
        if (!taken[i] && vug_str_equal(args->name[i], name)) {
            taken[i] = true;
            return args->named[i];
        }
    }
    return (vug_tmpl_value){ 0 };
}

/* Sets caller, varargs and kwargs, for bodies that use them. */
static void bind_special(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node,
                         const vug_tmpl_args *args, size_t n, bool *taken)
{
    int uses = node->op;
    for (const vug_tmpl_node *p = node->child[0]; p; p = p->next) {
        if (vug_str_is(p->name, "varargs"))
            uses &= ~VUG_TMPL_USES_VARARGS;
        else if (vug_str_is(p->name, "kwargs"))
            uses &= ~VUG_TMPL_USES_KWARGS;
        else if (vug_str_is(p->name, "caller"))
            uses &= ~VUG_TMPL_USES_CALLER;
    }
    if (uses & VUG_TMPL_USES_CALLER) {
        const vug_tmpl_value caller = take_named_arg(args, vug_str_of("caller"), taken);
        vug_tmpl_vars_set(run, &scope->vars, vug_str_of("caller"),
                          caller.kind != VUG_TMPL_ABSENT
                                  ? caller
                                  : vug_tmpl_undefined(run, "", vug_str_of("No caller defined")));
    }
    if (uses & VUG_TMPL_USES_KWARGS)
        vug_tmpl_vars_set(run, &scope->vars, vug_str_of("kwargs"),
                          remaining_named(run, args, taken));
    for (size_t i = 0; i < args->n_named && !(uses & VUG_TMPL_USES_KWARGS); i++) {
        if (!taken[i])
            (void)vug_tmpl_fail(run, VUG_FORMAT, "macro '%.*s' takes no keyword argument '%.*s'",
                                VUG_STR_ARG(node->name), VUG_STR_ARG(args->name[i]));
    }
    if (uses & VUG_TMPL_USES_VARARGS)
        vug_tmpl_vars_set(run, &scope->vars, vug_str_of("varargs"),
                          vug_tmpl_new_seq(run, VUG_TMPL_TUPLE, args->n > n ? args->pos + n : NULL,
                                           args->n - n));
    else if (args->n > n)
        (void)vug_tmpl_fail(run, VUG_FORMAT, "macro '%.*s' takes not more than %zu argument(s)",
                            VUG_STR_ARG(node->name), n);
}

void vug_tmpl_bind_macro_args(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node,
                              const vug_tmpl_args *args)
{
    bool *taken = vug_tmpl_alloc(run, args->n_named, sizeof(*taken));
    size_t n = 0;
    if (!taken)
        return;
    for (const vug_tmpl_node *p = node->child[0]; p && vug_tmpl_ok(run); p = p->next) {
        vug_tmpl_value v = n < args->n ? args->pos[n] : take_named_arg(args, p->name, taken);
        n += n < args->n;
        vug_tmpl_vars_set(run, &scope->vars, p->name, v);
    }
    bind_special(run, scope, node, args, n, taken);
    /* A default sees only the parameters before it. */
    for (const vug_tmpl_node *p = node->child[0]; p && vug_tmpl_ok(run); p = p->next) {
        if (vug_tmpl_vars_get(run, &scope->vars, p->name)->kind != VUG_TMPL_ABSENT)
            continue;
        const vug_tmpl_value v = p->child[0]
                                         ? vug_tmpl_eval(run, scope, p->child[0])
                                         : vug_tmpl_undefined(run, "",
                                                              vug_str_of("a parameter of a macro "
                                                                         "was not provided"));
        vug_tmpl_vars_set(run, &scope->vars, p->name, v);
    }
}
