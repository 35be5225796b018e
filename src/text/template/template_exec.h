#ifndef VUG_TEXT_TEMPLATE_TEMPLATE_EXEC_H
#define VUG_TEXT_TEMPLATE_TEMPLATE_EXEC_H

/*
 * The interpreter. Statements (exec_statement.c) use the files below them: loops, macros and
 * scopes, which evaluate expressions (eval_expression.c). An expression that calls a macro or a
 * recursive loop comes back to the statements through its vug_tmpl_callable.
 */

#include "text/template/template_ast.h"
#include "text/template/template_operations.h"

typedef struct vug_tmpl_scope {
    struct vug_tmpl_scope *outer;
    vug_tmpl_vars vars;
} vug_tmpl_scope;

typedef struct {
    vug_tmpl_callable callable;
    const vug_tmpl_node *node;
    vug_tmpl_scope *scope; /* that it was defined in */
} vug_tmpl_macro;

typedef struct {
    vug_tmpl_callable callable;
    const vug_tmpl_node *node;
    vug_tmpl_scope *scope;        /* of the body */
    vug_tmpl_scope *filter_scope; /* of the loop's `if`; NULL: none */
    vug_tmpl_iter items;
    vug_tmpl_value previous, current, next; /* ABSENT where there is none */
    int64_t index0, depth0;
} vug_tmpl_loop;

/* ---- expressions ------------------------------------------------------------------ */

vug_tmpl_value vug_tmpl_eval(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node);
vug_tmpl_args vug_tmpl_eval_args(vug_tmpl_run *run, vug_tmpl_scope *scope,
                                 const vug_tmpl_node *arg);
/* Calls any value that is callable. */
vug_tmpl_value vug_tmpl_call(vug_tmpl_run *run, vug_tmpl_value callee, const vug_tmpl_args *args);

/* ---- scopes, loops and macros ------------------------------------------------------- */

vug_tmpl_scope *vug_tmpl_new_scope(vug_tmpl_run *run, vug_tmpl_scope *outer,
                                   const vug_tmpl_node *locals);
/* Declares names in a scope: undefined until they are assigned to. */
void vug_tmpl_declare_locals(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *locals);
void vug_tmpl_assign(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *target,
                     vug_tmpl_value value);
/* Goes to the next element. False: there is none. */
bool vug_tmpl_loop_advance(vug_tmpl_run *run, vug_tmpl_loop *loop);
vug_tmpl_value vug_tmpl_loop_get_attr(vug_tmpl_run *run, vug_tmpl_callable *self, vug_str name);
/* Sets the parameters of the macro `node` in the scope of its body. */
void vug_tmpl_bind_macro_args(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *node,
                              const vug_tmpl_args *args);

/* ---- statements ---------------------------------------------------------------------- */

/* Executes the statements of a template, which print to the run's output. Nothing runs after a
 * failure. */
void vug_tmpl_exec(vug_tmpl_run *run, vug_tmpl_scope *scope, const vug_tmpl_node *body);

#endif
