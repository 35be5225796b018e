/* The variables of scopes, and assignments to them. */

#include "text/template/template_exec.h"

void vug_tmpl_declare_locals(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *locals)
{
    for (; locals && vug_tmpl_ok(run); locals = locals->next)
        vug_tmpl_vars_set(run, &scope->vars, locals->name,
                          vug_tmpl_undefined(run, NULL, locals->name));
}

vug_tmpl_scope *vug_tmpl_new_scope(vug_tmpl_run *run, vug_tmpl_scope *outer,
                                   const vug_tmpl_node *locals)
{
    vug_tmpl_scope *scope = vug_tmpl_alloc(run, 1, sizeof(*scope));
    if (!scope)
        return NULL;
    scope->outer = outer;
    vug_tmpl_declare_locals(run, scope, locals);
    return scope;
}

static void assign_attribute(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *target,
                             vug_tmpl_value value)
{
    const vug_tmpl_value of = vug_tmpl_eval(run, scope, target->child[0]);
    if (!vug_tmpl_ok(run))
        return;
    if (of.kind != VUG_TMPL_NAMESPACE)
        (void)vug_tmpl_fail(run, VUG_FORMAT, "cannot assign attribute on non-namespace object");
    else if (vug_str_starts(target->name, "_"))
        (void)vug_tmpl_fail(run, VUG_FORMAT, "a namespace has no attributes of that name");
    else
        vug_tmpl_vars_set(run, of.vars, target->name, value);
}

void vug_tmpl_assign(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *target,
                     vug_tmpl_value value)
{
    if (!vug_tmpl_ok(run))
        return;
    if (target->kind == VUG_TMPL_NODE_NAME) {
        vug_tmpl_vars_set(run, &scope->vars, target->name, value);
        return;
    }
    if (target->kind == VUG_TMPL_NODE_ATTR) {
        assign_attribute(run, scope, target, value);
        return;
    }
    if (!vug_tmpl_is_iterable(value)) {
        (void)vug_tmpl_fail(run, VUG_FORMAT, "cannot unpack non-iterable %s object",
                            vug_tmpl_type_name(value));
        return;
    }
    const vug_tmpl_seq all = vug_tmpl_elements(run, value);
    size_t n = 0;
    for (const vug_tmpl_node *t = target->child[0]; t; t = t->next)
        n++;
    if (n != all.n)
        (void)vug_tmpl_fail(run, VUG_FORMAT, "expected %zu values to unpack, got %zu", n, all.n);
    n = 0;
    for (const vug_tmpl_node *t = target->child[0]; t && vug_tmpl_ok(run); t = t->next)
        vug_tmpl_assign(run, scope, t, all.item[n++]);
}
