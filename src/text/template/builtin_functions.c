/* The functions that every template can call: those of jinja2/defaults.py and those that
 * transformers adds. */

#include <time.h>

#include "text/template/builtins.h"
#include "text/template/template_operations.h"
#include "text/template/template_strings.h"

static vug_tmpl_value fn_range(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                               int data)
{
    (void)self, (void)data;
    const bool one = !vug_tmpl_is_given(arg[1]);
    const int64_t start = one ? 0 : vug_tmpl_arg_int(run, arg[0], 0);
    const int64_t stop = vug_tmpl_arg_int(run, one ? arg[0] : arg[1], 0);
    const int64_t step = vug_tmpl_is_given(arg[2]) ? vug_tmpl_arg_int(run, arg[2], 0) : 1;
    for (int i = 0; i < 3; i++) {
        if (arg[i].kind == VUG_TMPL_NONE)
            return vug_tmpl_fail(run, VUG_FORMAT, "range: expected a whole number, found None");
    }
    if (step == 0)
        return vug_tmpl_fail(run, VUG_FORMAT, "range() arg 3 must not be zero");
    uint64_t n = 0;
    if (step > 0 ? start < stop : start > stop) {
        const uint64_t way =
                step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
        const uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
        n = (way - 1) / stride + 1;
    }
    if (n > VUG_TMPL_MAX_RANGE)
        return vug_tmpl_fail(run, VUG_FORMAT, "range() of %llu elements, at most %d are allowed",
                             (unsigned long long)n, VUG_TMPL_MAX_RANGE);
    vug_tmpl_range *range = vug_tmpl_alloc(run, 1, sizeof(*range));
    if (!range)
        return vug_tmpl_none();
    *range = (vug_tmpl_range){ start, stop, step, (size_t)n };
    return (vug_tmpl_value){ .kind = VUG_TMPL_RANGE, .range = range };
}

/* The arguments of dict(other, a=b) as one dict, in order. */
static vug_tmpl_value merge_dicts(vug_tmpl_run *run, const vug_tmpl_value *arg)
{
    vug_tmpl_list key = { 0 };
    vug_tmpl_list value = { 0 };
    if (arg[0].seq->n > 1)
        return vug_tmpl_fail(run, VUG_FORMAT, "dict expected at most 1 argument, got %zu",
                             arg[0].seq->n);
    const vug_tmpl_value from = arg[0].seq->n ? arg[0].seq->item[0] : arg[1];
    const vug_tmpl_dict *dict[] = { from.kind == VUG_TMPL_DICT ? from.dict : NULL, arg[1].dict };
    if (!dict[0]) {
        const vug_tmpl_seq pairs = vug_tmpl_elements(run, from);
        for (size_t i = 0; i < pairs.n && vug_tmpl_ok(run); i++) {
            const vug_tmpl_seq pair = vug_tmpl_elements(run, pairs.item[i]);
            if (pair.n != 2)
                return vug_tmpl_fail(run, VUG_FORMAT, "dict: expected pairs");
            vug_tmpl_list_append(run, &key, pair.item[0]);
            vug_tmpl_list_append(run, &value, pair.item[1]);
        }
    }
    for (int d = 0; d < 2; d++) {
        for (size_t i = 0; dict[d] && i < dict[d]->n && vug_tmpl_charge(run, 1); i++) {
            vug_tmpl_list_append(run, &key, dict[d]->key[i]);
            vug_tmpl_list_append(run, &value, dict[d]->value[i]);
        }
    }
    return vug_tmpl_ok(run) ? vug_tmpl_new_dict(run, key.item, value.item, key.n) : vug_tmpl_none();
}

static vug_tmpl_value fn_dict(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                              int data)
{
    (void)self, (void)data;
    return merge_dicts(run, arg);
}

static vug_tmpl_value fn_namespace(vug_tmpl_run *run, vug_tmpl_value self,
                                   const vug_tmpl_value *arg, int data)
{
    (void)self, (void)data;
    const vug_tmpl_value all = merge_dicts(run, arg);
    vug_tmpl_vars *vars = vug_tmpl_alloc(run, 1, sizeof(*vars));
    for (size_t i = 0; vars && vug_tmpl_ok(run) && i < all.dict->n; i++) {
        const vug_tmpl_value name = all.dict->key[i];
        if (!vug_tmpl_is_string(name) || vug_str_starts(vug_tmpl_as_bytes(name), "_"))
            return vug_tmpl_fail(run, VUG_FORMAT, "a namespace has no attributes of that name");
        vug_tmpl_vars_set(run, vars, vug_tmpl_as_bytes(name), all.dict->value[i]);
    }
    return vars ? (vug_tmpl_value){ .kind = VUG_TMPL_NAMESPACE, .vars = vars } : vug_tmpl_none();
}

static vug_tmpl_value fn_raise(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                               int data)
{
    (void)self, (void)data;
    const vug_tmpl_value message = vug_tmpl_to_str(run, arg[0]);
    return vug_tmpl_fail(run, VUG_FORMAT, "%.*s", VUG_STR_ARG(vug_tmpl_as_bytes(message)));
}

/* The current time, formatted by strftime. */
static vug_tmpl_value fn_strftime_now(vug_tmpl_run *run, vug_tmpl_value self,
                                      const vug_tmpl_value *arg, int data)
{
    (void)self, (void)data;
    enum { MAX_FORMAT = 200, MAX_TIME = 4096 };
    const vug_tmpl_str s = vug_tmpl_arg_string(run, arg[0]);
    char format[MAX_FORMAT + 2];
    char text[MAX_TIME];
    if (s.len > MAX_FORMAT || memchr(s.ptr, '\0', s.len))
        return vug_tmpl_fail(run, VUG_FORMAT, "strftime_now: expected a format of at most %d bytes",
                             MAX_FORMAT);
    (void)memcpy(format, s.ptr, s.len);
    format[s.len] =
            '.'; /* strftime returns 0 for an empty result as well as for one that is too long */
    format[s.len + 1] = '\0';
    const time_t now = (time_t)run->now;
    struct tm local;
    if (!localtime_r(&now, &local))
        return vug_tmpl_fail(run, VUG_FORMAT, "strftime_now: the time is out of range");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    const size_t n = strftime(text, sizeof(text), format, &local);
#pragma GCC diagnostic pop
    if (n == 0)
        return vug_tmpl_fail(run, VUG_FORMAT, "strftime_now: more than %d bytes", MAX_TIME);
    const size_t from = vug_tmpl_build_begin(run);
    vug_tmpl_write_bytes(run, text, n - 1, s.taint != NULL);
    return vug_tmpl_build_end(run, from);
}

static const vug_tmpl_builtin functions[] = {
    { "range", "start stop? step?", fn_range, 0 },
    { "dict", "* **", fn_dict, 0 },
    { "namespace", "* **", fn_namespace, 0 },
    { "raise_exception", "message", fn_raise, 0 },
    { "strftime_now", "format", fn_strftime_now, 0 },
    { "cycler", "", NULL, 0 },
    { "joiner", "", NULL, 0 },
    { "lipsum", "", NULL, 0 },
    { NULL, NULL, NULL, 0 },
};

const vug_tmpl_builtin *vug_tmpl_find_function(vug_str name)
{
    return vug_tmpl_find_builtin(functions, name);
}
