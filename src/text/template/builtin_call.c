/* Calling builtins: binding the arguments to the parameters that a table gives. */

#include "text/template/builtins.h"

const vug_tmpl_builtin *vug_tmpl_find_builtin(const vug_tmpl_builtin *table, vug_str name)
{
    for (; table->name; table++) {
        if (vug_str_is(name, table->name))
            return table;
    }
    return NULL;
}

/* ---- arguments ------------------------------------------------------------------------- */

int64_t vug_tmpl_arg_int(vug_tmpl_run *run, vug_tmpl_value arg, int64_t otherwise)
{
    if (!vug_tmpl_has_value(arg))
        return otherwise;
    if (vug_tmpl_is_int(arg))
        return vug_tmpl_as_i64(arg);
    if (arg.kind == VUG_TMPL_UNDEFINED)
        (void)vug_tmpl_fail_undefined(run, arg);
    else
        (void)vug_tmpl_fail(run, VUG_FORMAT, "expected a whole number, found a %s",
                            vug_tmpl_type_name(arg));
    return otherwise;
}

vug_tmpl_str vug_tmpl_arg_string(vug_tmpl_run *run, vug_tmpl_value arg)
{
    if (vug_tmpl_is_string(arg))
        return arg.str;
    (void)vug_tmpl_fail(run, VUG_FORMAT, "expected a string, found a %s", vug_tmpl_type_name(arg));
    return (vug_tmpl_str){ "", 0, NULL };
}

bool vug_tmpl_arg_bool(vug_tmpl_value arg, bool otherwise)
{
    return vug_tmpl_is_given(arg) ? vug_tmpl_is_true(arg) : otherwise;
}

/* A parameter of a builtin. */
typedef struct {
    vug_str name;
    bool optional;
} builtin_param;

static vug_str next_param(const char **params, builtin_param *out)
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

/* The argument of that name, or ABSENT. Counts those that are used. */
static vug_tmpl_value named_arg(const vug_tmpl_args *args, vug_str name, size_t *used)
{
    for (size_t i = 0; i < args->n_named; i++) {
        if (vug_str_equal(args->name[i], name)) {
            (*used)++;
            return args->named[i];
        }
    }
    return (vug_tmpl_value){ .kind = VUG_TMPL_ABSENT };
}

static vug_tmpl_value named_dict(vug_tmpl_run *run, const vug_tmpl_args *args)
{
    vug_tmpl_value *key = vug_tmpl_alloc(run, args->n_named, sizeof(*key));
    vug_tmpl_value *value = vug_tmpl_alloc(run, args->n_named, sizeof(*value));
    if (!key || !value)
        return vug_tmpl_none();
    for (size_t i = 0; i < args->n_named; i++) {
        key[i] = vug_tmpl_string((vug_tmpl_str){ args->name[i].ptr, args->name[i].len, NULL });
        value[i] = args->named[i];
    }
    return vug_tmpl_new_dict(run, key, value, args->n_named);
}

/* Sets arg[i] for each parameter of the builtin. False after a failure. */
static bool bind_args(vug_tmpl_run *run, const char *what, const vug_tmpl_builtin *builtin,
                      const vug_tmpl_args *args, vug_tmpl_value arg[VUG_TMPL_MAX_ARGS])
{
    const char *params = builtin->params;
    size_t at = 0;
    size_t used = 0;
    builtin_param p;
    for (int i = 0; next_param(&params, &p).len > 0; i++) {
        VUG_ASSERT(i < VUG_TMPL_MAX_ARGS);
        if (vug_str_is(p.name, "*")) {
            const bool some = args->n > at;
            arg[i] = vug_tmpl_new_seq(run, VUG_TMPL_TUPLE, some ? args->pos + at : NULL,
                                      args->n - at);
            at = args->n;
        } else if (vug_str_is(p.name, "**")) {
            arg[i] = named_dict(run, args);
            used = args->n_named;
        } else if (at < args->n) {
            arg[i] = args->pos[at++];
        } else {
            arg[i] = named_arg(args, p.name, &used);
            if (arg[i].kind == VUG_TMPL_ABSENT && !p.optional) {
                (void)vug_tmpl_fail(run, VUG_FORMAT, "%s '%s' needs an argument '%.*s'", what,
                                    builtin->name, VUG_STR_ARG(p.name));
                return false;
            }
        }
    }
    if (at < args->n)
        (void)vug_tmpl_fail(run, VUG_FORMAT, "%s '%s' takes at most %zu arguments, not %zu", what,
                            builtin->name, at, args->n);
    else if (used < args->n_named)
        (void)vug_tmpl_fail(run, VUG_FORMAT, "%s '%s' has no argument '%.*s', or has it twice",
                            what, builtin->name, VUG_STR_ARG(args->name[args->n_named - 1]));
    return vug_tmpl_ok(run);
}

vug_tmpl_value vug_tmpl_call_builtin(vug_tmpl_run *run, const char *what,
                                     const vug_tmpl_builtin *builtin, vug_tmpl_value self,
                                     const vug_tmpl_args *args)
{
    vug_tmpl_value arg[VUG_TMPL_MAX_ARGS] = { 0 };
    if (!builtin->fn)
        return vug_tmpl_fail(run, VUG_UNSUPPORTED, "Jinja's %s '%s' is not supported", what,
                             builtin->name);
    if (!vug_tmpl_charge(run, 1) || !bind_args(run, what, builtin, args, arg))
        return vug_tmpl_none();
    return builtin->fn(run, self, arg, builtin->data);
}
