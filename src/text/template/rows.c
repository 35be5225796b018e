/* Finding rows by name, and giving them their arguments. */

#include "text/template/rows.h"

#include "text/template/ast.h"
#include "text/template/text.h"

static const vug_row *find(const vug_row *table, vug_str name)
{
    for (; table->name; table++) {
        if (vug_str_is(name, table->name))
            return table;
    }
    return NULL;
}

const vug_row *vug_filter_row(vug_str name)
{
    const vug_row *row = find(vug_text_filters, name);
    return row ? row : find(vug_list_filters, name);
}

const vug_row *vug_test_row(vug_str name)
{
    return find(vug_tests, name);
}

const vug_row *vug_function_row(vug_str name)
{
    return find(vug_functions, name);
}

const vug_row *vug_method_row(vug_tv_kind kind, vug_str name)
{
    switch (kind) {
    case VUG_TV_STRING:
        return find(vug_string_methods, name);
    case VUG_TV_LIST:
    case VUG_TV_TUPLE:
        return find(vug_list_methods, name);
    case VUG_TV_RANGE:
        return find(vug_range_methods, name);
    case VUG_TV_DICT:
        return find(vug_dict_methods, name);
    case VUG_TV_LOOP:
        return find(vug_loop_methods, name);
    case VUG_TV_CYCLER:
        return find(vug_cycler_methods, name);
    default:
        return NULL;
    }
}

/* ---- arguments ------------------------------------------------------------------------- */

int64_t vug_arg_int(vug_run *run, vug_tv arg, int64_t otherwise)
{
    if (!vug_given_some(arg))
        return otherwise;
    if (vug_tv_is_int(arg))
        return vug_tv_i64(arg);
    if (arg.kind == VUG_TV_UNDEFINED)
        (void)vug_tv_fail_undefined(run, arg);
    else
        (void)vug_run_fail(run, VUG_FORMAT, "expected a whole number, found a %s",
                           vug_tv_type(arg));
    return otherwise;
}

vug_tstr vug_arg_string(vug_run *run, vug_tv arg)
{
    if (vug_tv_is_string(arg))
        return arg.str;
    (void)vug_run_fail(run, VUG_FORMAT, "expected a string, found a %s", vug_tv_type(arg));
    return (vug_tstr){ "", 0, NULL };
}

bool vug_arg_bool(vug_run *run, vug_tv arg, bool otherwise)
{
    return vug_given(arg) ? vug_tv_truth(run, arg) : otherwise;
}

/* A parameter of a row. */
typedef struct {
    vug_str name;
    bool optional;
} param;

static vug_str next_param(const char **params, param *out)
{
    const char *p = *params;
    while (*p == ' ')
        p++;
    const char *end = p;
    while (*end && *end != ' ')
        end++;
    *params = end;
    out->name = (vug_str){ p, (size_t)(end - p) };
    out->optional = out->name.len > 0 && p[out->name.len - 1] == '?';
    out->name.len -= out->optional;
    return out->name;
}

/* The argument of that name, whose number in `args` is set in *used. */
static vug_tv named_arg(const vug_targs *args, vug_str name, size_t *used)
{
    for (size_t i = 0; i < args->n_named; i++) {
        if (vug_str_equal(args->name[i], name)) {
            (*used)++;
            return args->named[i];
        }
    }
    return (vug_tv){ .kind = VUG_TV_ABSENT };
}

static vug_tv named_dict(vug_run *run, const vug_targs *args)
{
    vug_tv *key = vug_run_alloc(run, args->n_named, sizeof(*key));
    vug_tv *value = vug_run_alloc(run, args->n_named, sizeof(*value));
    if (!key || !value)
        return vug_tv_none();
    for (size_t i = 0; i < args->n_named; i++) {
        key[i] = vug_tv_string((vug_tstr){ args->name[i].ptr, args->name[i].len, NULL });
        value[i] = args->named[i];
    }
    return vug_tv_dict(run, key, value, args->n_named);
}

/* arg[i] for each parameter of the row; false after a failure. */
static bool bind(vug_run *run, const char *what, const vug_row *row, const vug_targs *args,
                 vug_tv arg[VUG_ROW_MAX_ARGS])
{
    const char *params = row->params;
    size_t at = 0;
    size_t used = 0;
    param p;
    for (int i = 0; next_param(&params, &p).len > 0; i++) {
        VUG_ASSERT(i < VUG_ROW_MAX_ARGS);
        if (vug_str_is(p.name, "*")) {
            const bool some = args->n > at;
            arg[i] = vug_tv_seq(run, VUG_TV_TUPLE, some ? args->pos + at : NULL, args->n - at);
            at = args->n;
        } else if (vug_str_is(p.name, "**")) {
            arg[i] = named_dict(run, args);
            used = args->n_named;
        } else if (at < args->n) {
            arg[i] = args->pos[at++];
        } else {
            arg[i] = named_arg(args, p.name, &used);
            if (arg[i].kind == VUG_TV_ABSENT && !p.optional) {
                (void)vug_run_fail(run, VUG_FORMAT, "%s '%s' needs an argument '%.*s'", what,
                                   row->name, VUG_STR_ARG(p.name));
                return false;
            }
        }
    }
    if (at < args->n)
        (void)vug_run_fail(run, VUG_FORMAT, "%s '%s' takes at most %zu arguments, not %zu", what,
                           row->name, at, args->n);
    else if (used < args->n_named)
        (void)vug_run_fail(run, VUG_FORMAT, "%s '%s' has no argument '%.*s', or has it twice", what,
                           row->name, VUG_STR_ARG(args->name[args->n_named - 1]));
    return vug_run_ok(run);
}

vug_tv vug_row_call(vug_run *run, const char *what, const vug_row *row, vug_tv self,
                    const vug_targs *args)
{
    vug_tv arg[VUG_ROW_MAX_ARGS] = { 0 };
    if (!row->fn)
        return vug_run_fail(run, VUG_UNSUPPORTED, "Jinja's %s '%s' is not supported", what,
                            row->name);
    if (!vug_run_spend(run, 1) || !bind(run, what, row, args, arg))
        return vug_tv_none();
    return row->fn(run, self, arg, row->data);
}

vug_tv vug_filter_call(vug_run *run, vug_str name, vug_tv self, const vug_targs *args)
{
    const vug_row *row = vug_filter_row(name);
    if (!row)
        return vug_run_fail(run, VUG_UNSUPPORTED, "there is no filter '%.*s'", VUG_STR_ARG(name));
    return vug_row_call(run, "filter", row, self, args);
}

bool vug_test_call(vug_run *run, vug_str name, vug_tv self, const vug_targs *args)
{
    const vug_row *row = vug_test_row(name);
    if (!row) {
        (void)vug_run_fail(run, VUG_UNSUPPORTED, "there is no test '%.*s'", VUG_STR_ARG(name));
        return false;
    }
    return vug_tv_truth(run, vug_row_call(run, "test", row, self, args));
}

static vug_tv call_joiner(vug_run *run, vug_tv joiner)
{
    const bool used = joiner.seq->at > 0;
    (void)run;
    joiner.seq->at = 1;
    return used ? joiner.seq->item[0] : vug_tv_text("");
}

vug_tv vug_tv_call(vug_run *run, vug_tv callee, const vug_targs *args)
{
    switch (callee.kind) {
    case VUG_TV_FUNCTION:
        return vug_row_call(run, "function", callee.row, vug_tv_none(), args);
    case VUG_TV_METHOD:
        return vug_row_call(run, "method", callee.method->row, *callee.method->self, args);
    case VUG_TV_MACRO:
        return vug_macro_call(run, callee.macro, args);
    case VUG_TV_LOOP:
        return vug_loop_call(run, callee.loop, args);
    case VUG_TV_JOINER:
        return call_joiner(run, callee);
    case VUG_TV_UNDEFINED:
        return vug_tv_fail_undefined(run, callee);
    default:
        return vug_run_fail(run, VUG_FORMAT, "'%s' object is not callable", vug_tv_type(callee));
    }
}
