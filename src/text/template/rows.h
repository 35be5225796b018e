#ifndef VUG_TEXT_TEMPLATE_ROWS_H
#define VUG_TEXT_TEMPLATE_ROWS_H

/*
 * What a template can call: filters, tests, methods and functions, each a row of a table.
 * To add one is to add a row.
 */

#include "text/template/value.h"

/* The most parameters of a row. */
#define VUG_ROW_MAX_ARGS 6

/* `self` is what is filtered, tested, or has the method; arg[i] belongs to the i-th
 * parameter and is ABSENT where it was not given. */
typedef vug_tv vug_row_fn(vug_run *run, vug_tv self, const vug_tv *arg, int data);

/* `params` are names with spaces between: "old new count?". A '?' behind one says that it
 * may be absent; "*" takes the rest of those without a name, as a tuple, "**" the rest of
 * those with one, as a dict. A row without `fn` is known, and refused. */
struct vug_row {
    const char *name, *params;
    vug_row_fn *fn;
    int data; /* of the function's own */
};

typedef struct {
    const vug_tv *pos; /* [n] */
    size_t n;
    const vug_str *name; /* [n_named] */
    const vug_tv *named; /* [n_named] */
    size_t n_named;
} vug_targs;

/* NULL when there is none of that name. */
const vug_row *vug_filter_row(vug_str name);
const vug_row *vug_test_row(vug_str name);
const vug_row *vug_function_row(vug_str name);
const vug_row *vug_method_row(vug_tv_kind kind, vug_str name);

/* `what` is for sentences: "filter". */
vug_tv vug_row_call(vug_run *run, const char *what, const vug_row *row, vug_tv self,
                    const vug_targs *args);
/* By name, as map, select and their kind do. */
vug_tv vug_filter_call(vug_run *run, vug_str name, vug_tv self, const vug_targs *args);
bool vug_test_call(vug_run *run, vug_str name, vug_tv self, const vug_targs *args);
/* Calls any value that can be called. */
vug_tv vug_tv_call(vug_run *run, vug_tv callee, const vug_targs *args);
vug_tv vug_macro_call(vug_run *run, struct vug_tmacro *macro, const vug_targs *args);
vug_tv vug_loop_call(vug_run *run, struct vug_tloop *loop, const vug_targs *args);
vug_tv vug_loop_attr(vug_run *run, struct vug_tloop *loop, vug_str name); /* or ABSENT */

/* The tables, of which the last row has no name. */
extern const vug_row vug_string_methods[], vug_list_methods[], vug_dict_methods[];
extern const vug_row vug_range_methods[];
extern const vug_row vug_text_filters[], vug_list_filters[], vug_tests[], vug_functions[];
extern const vug_row vug_loop_methods[], vug_cycler_methods[];

static inline bool vug_given(vug_tv arg)
{
    return arg.kind != VUG_TV_ABSENT;
}
static inline bool vug_given_some(vug_tv arg) /* None is as good as nothing */
{
    return arg.kind != VUG_TV_ABSENT && arg.kind != VUG_TV_NONE;
}
/* An argument as a number or a string; a failure when it is another. */
int64_t vug_arg_int(vug_run *run, vug_tv arg, int64_t otherwise);
vug_tstr vug_arg_string(vug_run *run, vug_tv arg);
bool vug_arg_bool(vug_run *run, vug_tv arg, bool otherwise);

/* a + b and the rest of arithmetic, by the tokens of the operators. */
#define VUG_FLOOR (('/') << 8 | '/')
#define VUG_POWER (('*') << 8 | '*')
vug_tv vug_tv_binary(vug_run *run, int op, vug_tv a, vug_tv b);
vug_tv vug_tv_negate(vug_run *run, vug_tv v, bool minus);

#endif
