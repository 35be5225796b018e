#ifndef VUG_TEXT_TEMPLATE_BUILTINS_H
#define VUG_TEXT_TEMPLATE_BUILTINS_H

/* Tables of the filters, tests, methods and functions that a template can call. */

#include "text/template/template_run.h"

#define VUG_TMPL_MAX_ARGS 6 /* parameters of a builtin */

/* `self` is the value that is filtered or tested, or that has the method. arg[i] is the argument
 * for the i-th parameter, ABSENT where it was not given. */
typedef vug_tmpl_value vug_tmpl_builtin_fn(vug_tmpl_run *run, vug_tmpl_value self,
                                           const vug_tmpl_value *arg, int data);

/* A row of a table, of which the last has no name. A row without `fn` is refused by its name. */
struct vug_tmpl_builtin {
    const char *name;
    /* Names, separated by spaces: "old new count?". '?' marks an optional one, "*" takes the
     * other positional arguments as a tuple, "**" the other named ones as a dict. NULL: Jinja's
     * sandbox hides the method, because it would change a value. */
    const char *params;
    vug_tmpl_builtin_fn *fn;
    int data; /* passed to `fn` */
};

extern const vug_tmpl_builtin vug_tmpl_value_filters[], vug_tmpl_list_filters[];
extern const vug_tmpl_builtin vug_tmpl_value_tests[];

/* NULL: there is none of that name. */
const vug_tmpl_builtin *vug_tmpl_find_builtin(const vug_tmpl_builtin *table, vug_str name);
const vug_tmpl_builtin *vug_tmpl_find_filter(vug_str name);
const vug_tmpl_builtin *vug_tmpl_find_test(vug_str name);
const vug_tmpl_builtin *vug_tmpl_find_function(vug_str name);
const vug_tmpl_builtin *vug_tmpl_find_method(vug_tmpl_kind kind, vug_str name);

/* ---- calling ---------------------------------------------------------------------- */

/* `what` is for error messages: "filter". */
vug_tmpl_value vug_tmpl_call_builtin(vug_tmpl_run *run, const char *what,
                                     const vug_tmpl_builtin *builtin, vug_tmpl_value self,
                                     const vug_tmpl_args *args);
vug_tmpl_value vug_tmpl_call_filter(vug_tmpl_run *run, vug_str name, vug_tmpl_value self,
                                    const vug_tmpl_args *args);
bool vug_tmpl_call_test(vug_tmpl_run *run, vug_str name, vug_tmpl_value self,
                        const vug_tmpl_args *args);

/* ---- arguments -------------------------------------------------------------------- */

static inline bool vug_tmpl_is_given(vug_tmpl_value arg)
{
    return arg.kind != VUG_TMPL_ABSENT;
}
static inline bool vug_tmpl_has_value(vug_tmpl_value arg) /* given, and not None */
{
    return arg.kind != VUG_TMPL_ABSENT && arg.kind != VUG_TMPL_NONE;
}
/* Convert an argument; fail where it is of another type. */
int64_t vug_tmpl_arg_int(vug_tmpl_run *run, vug_tmpl_value arg, int64_t otherwise);
vug_tmpl_str vug_tmpl_arg_string(vug_tmpl_run *run, vug_tmpl_value arg);
bool vug_tmpl_arg_bool(vug_tmpl_value arg, bool otherwise);

#endif
