/* Creating and inspecting values. */

#include "text/template/template_value.h"

#include <math.h>

#include "text/template/template_run.h"

const uint8_t vug_tmpl_taint_all[1] = { 1 };
const vug_tmpl_value vug_tmpl_absent = { 0 };

/* ---- creating ------------------------------------------------------------------------ */

vug_tmpl_value vug_tmpl_undefined(vug_tmpl_run *run, const char *of, vug_str name)
{
    vug_tmpl_missing *missing = vug_tmpl_alloc(run, 1, sizeof(*missing));
    if (missing)
        *missing = (vug_tmpl_missing){ of, name };
    return (vug_tmpl_value){ .kind = VUG_TMPL_UNDEFINED, .missing = missing };
}

vug_tmpl_value vug_tmpl_fail_undefined(vug_tmpl_run *run, vug_tmpl_value v)
{
    const vug_tmpl_missing *m = v.missing;
    if (!m)
        return vug_tmpl_fail(run, VUG_FORMAT, "an undefined value");
    if (!m->of)
        return vug_tmpl_fail(run, VUG_FORMAT, "'%.*s' is undefined", VUG_STR_ARG(m->name));
    if (!m->of[0])
        return vug_tmpl_fail(run, VUG_FORMAT, "%.*s", VUG_STR_ARG(m->name));
    return vug_tmpl_fail(run, VUG_FORMAT, "'%s' has no attribute '%.*s'", m->of,
                         VUG_STR_ARG(m->name));
}

vug_tmpl_value vug_tmpl_new_seq(vug_tmpl_run *run, vug_tmpl_kind kind, const vug_tmpl_value *item,
                                size_t n)
{
    vug_tmpl_seq *seq = vug_tmpl_alloc(run, 1, sizeof(*seq));
    if (!seq)
        return vug_tmpl_none();
    *seq = (vug_tmpl_seq){ .item = item ? item : &vug_tmpl_absent, .n = n };
    return (vug_tmpl_value){ .kind = kind, .seq = seq };
}

vug_tmpl_value vug_tmpl_new_iterator(vug_tmpl_run *run, const vug_tmpl_list *list)
{
    return vug_tmpl_new_seq(run, VUG_TMPL_ITERATOR, list->item, list->n);
}

vug_tmpl_value vug_tmpl_new_pair(vug_tmpl_run *run, vug_tmpl_value a, vug_tmpl_value b)
{
    vug_tmpl_value *item = vug_tmpl_alloc(run, 2, sizeof(*item));
    if (!item)
        return vug_tmpl_none();
    item[0] = a;
    item[1] = b;
    return vug_tmpl_new_seq(run, VUG_TMPL_TUPLE, item, 2);
}

void vug_tmpl_list_append(vug_tmpl_run *run, vug_tmpl_list *list, vug_tmpl_value v)
{
    if (list->n == list->cap) {
        const size_t cap = list->cap ? list->cap * 2 : 8;
        vug_tmpl_value *item = vug_tmpl_alloc(run, cap, sizeof(*item));
        if (!item)
            return;
        if (list->n)
            memcpy(item, list->item, list->n * sizeof(*item));
        list->item = item;
        list->cap = cap;
    }
    list->item[list->n++] = v;
}

vug_tmpl_value *vug_tmpl_vars_get(vug_tmpl_run *run, const vug_tmpl_vars *vars, vug_str name)
{
    (void)vug_tmpl_charge(run, vars->n / 16 + name.len / VUG_TMPL_BYTES_PER_STEP);
    for (size_t i = 0; i < vars->n; i++) {
        if (vug_str_equal(vars->name[i], name))
            return &vars->value[i];
    }
    return NULL;
}

void vug_tmpl_vars_set(vug_tmpl_run *run, vug_tmpl_vars *vars, vug_str name, vug_tmpl_value value)
{
    vug_tmpl_value *is = vug_tmpl_vars_get(run, vars, name);
    if (is) {
        *is = value;
        return;
    }
    vug_str *names = vars->name;
    vug_tmpl_value *values = vars->value;
    if (vars->n == vars->cap || !names || !values) {
        const size_t cap = vars->cap ? vars->cap * 2 : 4;
        names = vug_tmpl_alloc(run, cap, sizeof(*names));
        values = vug_tmpl_alloc(run, cap, sizeof(*values));
        if (!names || !values)
            return;
        if (vars->name && vars->value) {
            memcpy(names, vars->name, vars->n * sizeof(*names));
            memcpy(values, vars->value, vars->n * sizeof(*values));
        }
        *vars = (vug_tmpl_vars){ names, values, vars->n, cap };
    }
    names[vars->n] = name;
    values[vars->n++] = value;
}

/* ---- inspecting --------------------------------------------------------------------------- */

const char *vug_tmpl_type_name(vug_tmpl_value v)
{
    static const char *const name[] = {
#define X(kind, name) name,
        VUG_TMPL_KIND_TABLE(X)
#undef X
    };
    return name[v.kind];
}

const char *vug_tmpl_object_name(vug_tmpl_value v)
{
    static const char *const name[] = {
#define X(kind, name) name " object",
        VUG_TMPL_KIND_TABLE(X)
#undef X
    };
    return v.kind == VUG_TMPL_NONE ? "None" : name[v.kind];
}

bool vug_tmpl_is_true(vug_tmpl_value v)
{
    switch (v.kind) {
    case VUG_TMPL_ABSENT:
    case VUG_TMPL_UNDEFINED:
    case VUG_TMPL_NONE:
        return false;
    case VUG_TMPL_BOOL:
        return v.boolean;
    case VUG_TMPL_INT:
        return v.i64 != 0;
    case VUG_TMPL_FLOAT:
        return v.f64 != 0;
    case VUG_TMPL_STRING:
        return v.str.len > 0;
    case VUG_TMPL_LIST:
    case VUG_TMPL_TUPLE:
    case VUG_TMPL_VIEW:
        return v.seq->n > 0;
    case VUG_TMPL_DICT:
        return v.dict->n > 0;
    case VUG_TMPL_RANGE:
        return v.range->n > 0;
    default:
        return true;
    }
}

/* Compares a whole number with a double that is not NaN, exactly: as a double, 2^53 + 1 would
 * equal 2^53. */
static int order_mixed(int64_t a, double b)
{
    if (b >= 0x1p63)
        return -1;
    if (b < -0x1p63)
        return 1;
    const int64_t whole = (int64_t)b; /* towards 0 */
    const double rest = b - (double)whole;
    return a != whole ? (a > whole) - (a < whole) : (rest < 0) - (rest > 0);
}

int vug_tmpl_compare_numbers(vug_tmpl_value a, vug_tmpl_value b)
{
    if (vug_tmpl_is_int(a) && vug_tmpl_is_int(b))
        return (vug_tmpl_as_i64(a) > vug_tmpl_as_i64(b)) -
               (vug_tmpl_as_i64(a) < vug_tmpl_as_i64(b));
    if (isnan(vug_tmpl_as_f64(a)) || isnan(vug_tmpl_as_f64(b)))
        return 2;
    if (vug_tmpl_is_int(a))
        return order_mixed(vug_tmpl_as_i64(a), b.f64);
    if (vug_tmpl_is_int(b))
        return -order_mixed(vug_tmpl_as_i64(b), a.f64);
    return (a.f64 > b.f64) - (a.f64 < b.f64);
}
