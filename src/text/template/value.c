/* Values: making them, asking and comparing them. */

#include "text/template/value.h"

#include <math.h>

#include "text/template/text.h"

const uint8_t vug_mark_all[1] = { 1 };
const vug_tv vug_tv_nothing = { 0 };

/* ---- making ------------------------------------------------------------------------ */

vug_tv vug_tv_undefined(vug_run *run, const char *of, vug_str name)
{
    vug_tmissing *missing = vug_run_alloc(run, 1, sizeof(*missing));
    if (missing)
        *missing = (vug_tmissing){ of, name };
    return (vug_tv){ .kind = VUG_TV_UNDEFINED, .missing = missing };
}

vug_tv vug_tv_seq(vug_run *run, vug_tv_kind kind, const vug_tv *item, size_t n)
{
    vug_tseq *seq = vug_run_alloc(run, 1, sizeof(*seq));
    if (!seq)
        return vug_tv_none();
    *seq = (vug_tseq){ .item = item ? item : &vug_tv_nothing, .n = n };
    return (vug_tv){ .kind = kind, .seq = seq };
}

vug_tv vug_tv_pair(vug_run *run, vug_tv a, vug_tv b)
{
    vug_tv *item = vug_run_alloc(run, 2, sizeof(*item));
    if (!item)
        return vug_tv_none();
    item[0] = a;
    item[1] = b;
    return vug_tv_seq(run, VUG_TV_TUPLE, item, 2);
}

void vug_tlist_add(vug_run *run, vug_tlist *list, vug_tv v)
{
    if (list->n == list->cap) {
        const size_t cap = list->cap ? list->cap * 2 : 8;
        vug_tv *item = vug_run_alloc(run, cap, sizeof(*item));
        if (!item)
            return;
        if (list->n)
            memcpy(item, list->item, list->n * sizeof(*item));
        list->item = item;
        list->cap = cap;
    }
    list->item[list->n++] = v;
}

vug_tv *vug_tvars_get(vug_run *run, const vug_tvars *vars, vug_str name)
{
    (void)vug_run_spend(run, vars->n / 16 + name.len / VUG_BYTES_PER_STEP);
    for (size_t i = 0; i < vars->n; i++) {
        if (vug_str_equal(vars->name[i], name))
            return &vars->value[i];
    }
    return NULL;
}

void vug_tvars_set(vug_run *run, vug_tvars *vars, vug_str name, vug_tv value)
{
    vug_tv *is = vug_tvars_get(run, vars, name);
    if (is) {
        *is = value;
        return;
    }
    vug_str *names = vars->name;
    vug_tv *values = vars->value;
    if (vars->n == vars->cap || !names || !values) {
        const size_t cap = vars->cap ? vars->cap * 2 : 4;
        names = vug_run_alloc(run, cap, sizeof(*names));
        values = vug_run_alloc(run, cap, sizeof(*values));
        if (!names || !values)
            return;
        if (vars->name && vars->value) {
            memcpy(names, vars->name, vars->n * sizeof(*names));
            memcpy(values, vars->value, vars->n * sizeof(*values));
        }
        *vars = (vug_tvars){ names, values, vars->n, cap };
    }
    names[vars->n] = name;
    values[vars->n++] = value;
}

static vug_tv json_number(const vug_jv *v, bool foreign)
{
    if (v->is_int)
        return vug_tv_int(v->i64);
    for (size_t i = 0; i < v->str.len; i++) {
        if (strchr(".eE", v->str.ptr[i]))
            return vug_tv_float(v->f64);
    }
    /* Too large for arithmetic; it is printed as it came. */
    return (vug_tv){ .kind = VUG_TV_BIG,
                     .str = { v->str.ptr, v->str.len, foreign ? VUG_MARK_ALL : NULL } };
}

static vug_tv json_members(vug_run *run, const vug_jv *v, bool foreign, int depth)
{
    const bool is_dict = v->type == VUG_JSON_OBJECT;
    const uint8_t *mark = foreign ? VUG_MARK_ALL : NULL;
    vug_tv *key = is_dict ? vug_run_alloc(run, v->n, sizeof(*key)) : NULL;
    vug_tv *value = vug_run_alloc(run, v->n, sizeof(*value));
    if (!value || (is_dict && !key))
        return vug_tv_none();
    size_t n = 0;
    for (const vug_jv *m = v->child; m && n < v->n && vug_run_spend(run, 1); m = m->next) {
        if (is_dict)
            key[n] = vug_tv_string((vug_tstr){ m->key.ptr, m->key.len, mark });
        value[n++] = vug_tv_json(run, m, foreign, depth + 1);
    }
    return is_dict ? vug_tv_dict(run, key, value, n) : vug_tv_seq(run, VUG_TV_LIST, value, n);
}

vug_tv vug_tv_json(vug_run *run, const vug_jv *v, bool foreign, int depth)
{
    if (depth > VUG_RUN_MAX_DEPTH)
        return vug_run_fail(run, VUG_FORMAT, "a variable is nested deeper than %d levels",
                            VUG_RUN_MAX_DEPTH);
    switch (v->type) {
    case VUG_JSON_BOOL:
        return vug_tv_bool(v->boolean);
    case VUG_JSON_NUMBER:
        return json_number(v, foreign);
    case VUG_JSON_STRING:
        return vug_tv_string((vug_tstr){ v->str.ptr, v->str.len, foreign ? VUG_MARK_ALL : NULL });
    case VUG_JSON_ARRAY:
    case VUG_JSON_OBJECT:
        return json_members(run, v, foreign, depth);
    case VUG_JSON_NULL:
    case VUG_JSON_NOTHING:
        break;
    }
    return vug_tv_none();
}

/* ---- asking --------------------------------------------------------------------------- */

const char *vug_tv_type(vug_tv v)
{
    static const char *const name[] = {
#define X(kind, name) name,
        VUG_TV_KINDS(X)
#undef X
    };
    return v.safe && v.kind == VUG_TV_STRING ? "Markup" : name[v.kind];
}

const char *vug_tv_object(vug_tv v)
{
    static const char *const name[] = {
#define X(kind, name) name " object",
        VUG_TV_KINDS(X)
#undef X
    };
    return v.kind == VUG_TV_NONE ? "None" : name[v.kind];
}

bool vug_tv_length(vug_run *run, vug_tv v, size_t *out)
{
    *out = 0;
    if (v.kind == VUG_TV_STRING)
        *out = vug_tstr_chars(run, v.str);
    else if (vug_tv_has_items(v))
        *out = v.seq->n;
    else if (v.kind == VUG_TV_DICT)
        *out = v.dict->n;
    else if (v.kind == VUG_TV_RANGE)
        *out = v.range->n;
    else
        return v.kind == VUG_TV_UNDEFINED;
    return true;
}

bool vug_tv_truth(vug_run *run, vug_tv v)
{
    (void)run;
    switch (v.kind) {
    case VUG_TV_ABSENT:
    case VUG_TV_UNDEFINED:
    case VUG_TV_NONE:
        return false;
    case VUG_TV_BOOL:
        return v.boolean;
    case VUG_TV_INT:
        return v.i64 != 0;
    case VUG_TV_FLOAT:
        return v.f64 != 0;
    case VUG_TV_STRING:
        return v.str.len > 0;
    case VUG_TV_LIST:
    case VUG_TV_TUPLE:
    case VUG_TV_VIEW:
        return v.seq->n > 0;
    case VUG_TV_DICT:
        return v.dict->n > 0;
    case VUG_TV_RANGE:
        return v.range->n > 0;
    default:
        return true;
    }
}

bool vug_deeper(vug_run *run)
{
    if (!vug_run_spend(run, 1))
        return false;
    if (run->depth >= VUG_RUN_MAX_DEPTH) {
        (void)vug_run_fail(run, VUG_FORMAT, "nested deeper than %d levels", VUG_RUN_MAX_DEPTH);
        return false;
    }
    run->depth++;
    return true;
}

static bool equal_items(vug_run *run, const vug_tv *a, const vug_tv *b, size_t n)
{
    for (size_t i = 0; i < n && vug_run_spend(run, 1); i++) {
        if (!vug_tv_equal(run, a[i], b[i]))
            return false;
    }
    return true;
}

static bool equal_dicts(vug_run *run, const vug_tdict *a, const vug_tdict *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n && vug_run_spend(run, 1); i++) {
        const vug_tv other = vug_tdict_get(run, b, a->key[i]);
        if (other.kind == VUG_TV_ABSENT || !vug_tv_equal(run, a->value[i], other))
            return false;
    }
    return true;
}

/* Of a whole number and a double that is not NaN: 2^53 + 1 is more than 2.0^53, which it would
 * become as a double. */
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

int vug_tv_order(vug_tv a, vug_tv b)
{
    if (vug_tv_is_int(a) && vug_tv_is_int(b))
        return (vug_tv_i64(a) > vug_tv_i64(b)) - (vug_tv_i64(a) < vug_tv_i64(b));
    if (isnan(vug_tv_f64(a)) || isnan(vug_tv_f64(b)))
        return 2;
    if (vug_tv_is_int(a))
        return order_mixed(vug_tv_i64(a), b.f64);
    if (vug_tv_is_int(b))
        return -order_mixed(vug_tv_i64(b), a.f64);
    return (a.f64 > b.f64) - (a.f64 < b.f64);
}

bool vug_tv_equal(vug_run *run, vug_tv a, vug_tv b)
{
    if (vug_tv_is_number(a) && vug_tv_is_number(b))
        return vug_tv_order(a, b) == 0;
    if (a.kind != b.kind)
        return false;
    bool equal = false;
    if (!vug_deeper(run)) {
        return false;
    } else if (a.kind == VUG_TV_STRING || a.kind == VUG_TV_BIG) {
        (void)vug_run_spend_bytes(run, a.str.len);
        equal = vug_str_equal(vug_tv_bytes(a), vug_tv_bytes(b));
    } else if (vug_tv_has_items(a)) {
        equal = a.seq->n == b.seq->n &&
                (a.seq == b.seq || equal_items(run, a.seq->item, b.seq->item, a.seq->n));
    } else if (a.kind == VUG_TV_DICT) {
        equal = a.dict == b.dict || equal_dicts(run, a.dict, b.dict);
    } else if (a.kind == VUG_TV_RANGE) {
        equal = a.range->n == b.range->n &&
                (a.range->n == 0 || (a.range->start == b.range->start &&
                                     (a.range->n == 1 || a.range->step == b.range->step)));
    } else {
        equal = a.kind == VUG_TV_UNDEFINED || a.kind == VUG_TV_NONE || a.vars == b.vars;
    }
    run->depth--;
    return equal;
}

int vug_tv_compare(vug_run *run, vug_tv a, vug_tv b, const char *op)
{
    if (vug_tv_is_number(a) && vug_tv_is_number(b))
        return vug_tv_order(a, b);
    if (a.kind == VUG_TV_UNDEFINED || b.kind == VUG_TV_UNDEFINED) {
        (void)vug_tv_fail_undefined(run, a.kind == VUG_TV_UNDEFINED ? a : b);
        return 0;
    }
    if (vug_tv_is_string(a) && vug_tv_is_string(b)) {
        (void)vug_run_spend_bytes(run, a.str.len);
        const int order = vug_str_compare(vug_tv_bytes(a), vug_tv_bytes(b));
        return (order > 0) - (order < 0);
    }
    if (a.kind != b.kind || (a.kind != VUG_TV_LIST && a.kind != VUG_TV_TUPLE)) {
        (void)vug_run_fail(run, VUG_FORMAT, "'%s' not supported between instances of '%s' and '%s'",
                           op, vug_tv_type(a), vug_tv_type(b));
        return 0;
    }
    int order = 0;
    if (!vug_deeper(run))
        return 0;
    size_t i = 0;
    while (i < a.seq->n && i < b.seq->n && vug_run_spend(run, 1) &&
           vug_tv_equal(run, a.seq->item[i], b.seq->item[i]))
        i++;
    if (i < a.seq->n && i < b.seq->n)
        order = vug_tv_compare(run, a.seq->item[i], b.seq->item[i], op);
    else
        order = (a.seq->n > b.seq->n) - (a.seq->n < b.seq->n);
    run->depth--;
    return order;
}

bool vug_tv_in(vug_run *run, vug_tv what, vug_tv where)
{
    if (where.kind == VUG_TV_DICT)
        return vug_tdict_get(run, where.dict, what).kind != VUG_TV_ABSENT && vug_run_ok(run);
    if (where.kind == VUG_TV_STRING) {
        if (vug_tv_is_string(what))
            return vug_tstr_find(run, where.str, what.str, 0) != SIZE_MAX;
        (void)vug_run_fail(run, VUG_FORMAT, "'in <string>' requires string as left operand, not %s",
                           vug_tv_type(what));
        return false;
    }
    if (!vug_tv_is_iterable(where)) {
        (void)vug_run_fail(run, VUG_FORMAT, "argument of type '%s' is not iterable",
                           vug_tv_type(where));
        return false;
    }
    vug_titer it = vug_tv_iterate(run, where);
    for (vug_tv v; vug_titer_next(run, &it, &v);) {
        if (vug_tv_equal(run, v, what))
            return true;
    }
    return false;
}
