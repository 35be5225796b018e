/* Finding and calling filters and tests by name, and the builtins that do so: map, select, .. */

#include "text/template/builtins.h"
#include "text/template/template_operations.h"
#include "text/template/template_strings.h"

/* ---- filters that apply others to each element --------------------------------------------- */

static const vug_tmpl_value *find_named(const vug_tmpl_dict *dict, const char *name)
{
    for (size_t i = 0; i < dict->n; i++) {
        if (vug_str_is(vug_tmpl_as_bytes(dict->key[i]), name))
            return &dict->value[i];
    }
    return NULL;
}

static vug_tmpl_value map_attribute(vug_tmpl_run *run, vug_tmpl_value self,
                                    const vug_tmpl_dict *by_name)
{
    vug_tmpl_list out = { 0 };
    const vug_tmpl_value *path = find_named(by_name, "attribute");
    const vug_tmpl_value *given = find_named(by_name, "default");
    if (!path || by_name->n != 1u + (given != NULL))
        return vug_tmpl_fail(run, VUG_FORMAT, "map needs the name of a filter, or an attribute");
    vug_tmpl_iter it = vug_tmpl_iterate(run, self);
    for (vug_tmpl_value v; vug_tmpl_iter_next(run, &it, &v);)
        vug_tmpl_list_append(run, &out,
                             vug_tmpl_get_path(run, v, *path, given ? *given : vug_tmpl_none()));
    return vug_tmpl_new_iterator(run, &out);
}

/* The positional arguments from `from` on, and the named ones. */
static vug_tmpl_args remaining_args(vug_tmpl_run *run, const vug_tmpl_value *arg, size_t from)
{
    const vug_tmpl_dict *by_name = arg[1].dict;
    vug_str *name = vug_tmpl_alloc(run, by_name->n, sizeof(*name));
    for (size_t i = 0; name && i < by_name->n; i++)
        name[i] = vug_tmpl_as_bytes(by_name->key[i]);
    return (vug_tmpl_args){ .pos = arg[0].seq->item + from,
                            .n = arg[0].seq->n - from,
                            .name = name,
                            .named = by_name->value,
                            .n_named = name ? by_name->n : 0 };
}

static vug_tmpl_value filter_map(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                 int data)
{
    (void)data;
    vug_tmpl_list out = { 0 };
    if (!vug_tmpl_is_true(self))
        return vug_tmpl_new_iterator(run, &out);
    if (arg[0].seq->n == 0)
        return map_attribute(run, self, arg[1].dict);
    const vug_tmpl_str name = vug_tmpl_arg_string(run, arg[0].seq->item[0]);
    const vug_tmpl_args args = remaining_args(run, arg, 1);
    vug_tmpl_iter it = vug_tmpl_iterate(run, self);
    for (vug_tmpl_value v; vug_tmpl_iter_next(run, &it, &v);)
        vug_tmpl_list_append(run, &out,
                             vug_tmpl_call_filter(run, vug_tmpl_str_bytes(name), v, &args));
    return vug_tmpl_new_iterator(run, &out);
}

/* reject, selectattr, rejectattr: drop the elements that pass; test an attribute. */
enum { DROPS = 1, OF_ATTRIBUTE = 2 };

static vug_tmpl_value filter_select(vug_tmpl_run *run, vug_tmpl_value self,
                                    const vug_tmpl_value *arg, int data)
{
    vug_tmpl_list out = { 0 };
    if (!vug_tmpl_is_true(self))
        return vug_tmpl_new_iterator(run, &out);
    const vug_tmpl_seq *given = arg[0].seq;
    const size_t test = (data & OF_ATTRIBUTE) ? 1 : 0;
    if (given->n < test)
        return vug_tmpl_fail(run, VUG_FORMAT, "Missing parameter for attribute name");
    vug_str name = { 0 };
    vug_tmpl_args args = { 0 };
    if (given->n > test) {
        name = vug_tmpl_str_bytes(vug_tmpl_arg_string(run, given->item[test]));
        args = remaining_args(run, arg, test + 1);
    }
    vug_tmpl_iter it = vug_tmpl_iterate(run, self);
    for (vug_tmpl_value v; vug_tmpl_iter_next(run, &it, &v);) {
        const vug_tmpl_value of =
                test ? vug_tmpl_get_path(run, v, given->item[0], vug_tmpl_none()) : v;
        const bool passes =
                given->n > test ? vug_tmpl_call_test(run, name, of, &args) : vug_tmpl_is_true(of);
        if (passes != ((data & DROPS) != 0))
            vug_tmpl_list_append(run, &out, v);
    }
    return vug_tmpl_new_iterator(run, &out);
}

static const vug_tmpl_builtin applying_filters[] = {
    { "map", "* **", filter_map, 0 },
    { "select", "* **", filter_select, 0 },
    { "reject", "* **", filter_select, DROPS },
    { "selectattr", "* **", filter_select, OF_ATTRIBUTE },
    { "rejectattr", "* **", filter_select, DROPS | OF_ATTRIBUTE },
    { NULL, NULL, NULL, 0 },
};

/* ---- tests of names ---------------------------------------------------------------------- */

static vug_tmpl_value is_builtin(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                 int filter)
{
    (void)arg;
    const vug_str name = vug_tmpl_str_bytes(vug_tmpl_arg_string(run, self));
    const vug_tmpl_builtin *builtin =
            filter ? vug_tmpl_find_filter(name) : vug_tmpl_find_test(name);
    return vug_tmpl_bool(builtin != NULL);
}

static const vug_tmpl_builtin naming_tests[] = {
    { "filter", "", is_builtin, 1 },
    { "test", "", is_builtin, 0 },
    { NULL, NULL, NULL, 0 },
};

/* ---- by name ------------------------------------------------------------------------------- */

const vug_tmpl_builtin *vug_tmpl_find_filter(vug_str name)
{
    const vug_tmpl_builtin *found = vug_tmpl_find_builtin(vug_tmpl_value_filters, name);
    if (!found)
        found = vug_tmpl_find_builtin(vug_tmpl_list_filters, name);
    return found ? found : vug_tmpl_find_builtin(applying_filters, name);
}

const vug_tmpl_builtin *vug_tmpl_find_test(vug_str name)
{
    const vug_tmpl_builtin *found = vug_tmpl_find_builtin(vug_tmpl_value_tests, name);
    return found ? found : vug_tmpl_find_builtin(naming_tests, name);
}

vug_tmpl_value vug_tmpl_call_filter(vug_tmpl_run *run, vug_str name, vug_tmpl_value self,
                                    const vug_tmpl_args *args)
{
    const vug_tmpl_builtin *builtin = vug_tmpl_find_filter(name);
    if (!builtin)
        return vug_tmpl_fail(run, VUG_UNSUPPORTED, "there is no filter '%.*s'", VUG_STR_ARG(name));
    return vug_tmpl_call_builtin(run, "filter", builtin, self, args);
}

bool vug_tmpl_call_test(vug_tmpl_run *run, vug_str name, vug_tmpl_value self,
                        const vug_tmpl_args *args)
{
    const vug_tmpl_builtin *builtin = vug_tmpl_find_test(name);
    if (!builtin) {
        (void)vug_tmpl_fail(run, VUG_UNSUPPORTED, "there is no test '%.*s'", VUG_STR_ARG(name));
        return false;
    }
    return vug_tmpl_is_true(vug_tmpl_call_builtin(run, "test", builtin, self, args));
}
