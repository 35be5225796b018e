/* Values: making them, comparing them, going through them. */

#include "text/template_value.h"

#include <math.h>
#include <stdlib.h>

#include "text/template_text.h"

const uint8_t vug_mark_all[1] = { 1 };

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
    *seq = (vug_tseq){ .item = item, .n = n };
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
    (void)vug_run_spend(run, vars->n / 16);
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
    if (vars->n == vars->cap) {
        const size_t cap = vars->cap ? vars->cap * 2 : 4;
        vug_str *names = vug_run_alloc(run, cap, sizeof(*names));
        vug_tv *values = vug_run_alloc(run, cap, sizeof(*values));
        if (!names || !values)
            return;
        if (vars->n) {
            memcpy(names, vars->name, vars->n * sizeof(*names));
            memcpy(values, vars->value, vars->n * sizeof(*values));
        }
        *vars = (vug_tvars){ names, values, vars->n, cap };
    }
    vars->name[vars->n] = name;
    vars->value[vars->n++] = value;
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
    if (depth > VUG_RUN_MAX_NESTED)
        return vug_run_fail(run, VUG_FORMAT, "a variable is nested deeper than %d levels",
                            VUG_RUN_MAX_NESTED);
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

/* ---- dictionaries -------------------------------------------------------------------- */

/* An order of keys that has nothing to do with Python's: what is equal is next to each
 * other, and kinds are apart. */
static int key_rank(vug_tv v)
{
    return vug_tv_is_number(v) ? VUG_TV_INT : (int)v.kind;
}

static int key_order(vug_tv a, vug_tv b)
{
    const int rank = key_rank(a) - key_rank(b);
    if (rank)
        return rank;
    if (vug_tv_is_number(a)) {
        if (vug_tv_is_int(a) && vug_tv_is_int(b))
            return (vug_tv_i64(a) > vug_tv_i64(b)) - (vug_tv_i64(a) < vug_tv_i64(b));
        return (vug_tv_f64(a) > vug_tv_f64(b)) - (vug_tv_f64(a) < vug_tv_f64(b));
    }
    if (a.kind == VUG_TV_STRING || a.kind == VUG_TV_BIG)
        return vug_str_compare(vug_tv_bytes(a), vug_tv_bytes(b));
    if (a.kind != VUG_TV_TUPLE)
        return 0;
    for (size_t i = 0; i < a.seq->n && i < b.seq->n; i++) {
        const int order = key_order(a.seq->item[i], b.seq->item[i]);
        if (order)
            return order;
    }
    return (a.seq->n > b.seq->n) - (a.seq->n < b.seq->n);
}

/* Whether it can be a key; tuples can when what they hold can. */
static bool is_key(vug_tv v, int depth)
{
    if (v.kind == VUG_TV_LIST || v.kind == VUG_TV_DICT || depth > 8)
        return false;
    for (size_t i = 0; v.kind == VUG_TV_TUPLE && i < v.seq->n; i++) {
        if (!is_key(v.seq->item[i], depth + 1))
            return false;
    }
    return true;
}

static int by_key(const void *a, const void *b)
{
    const vug_tv *x = *(const vug_tv *const *)a;
    const vug_tv *y = *(const vug_tv *const *)b;
    const int order = key_order(*x, *y);
    return order ? order : (x > y) - (x < y);
}

static void sort_keys(vug_tdict *d)
{
    for (size_t i = 0; i < d->n; i++)
        d->sorted[i] = &d->key[i];
    if (d->n > 1)
        qsort(d->sorted, d->n, sizeof(*d->sorted), by_key);
}

/* Merges equal keys, which `sorted` has next to each other. */
static void unite(vug_tdict *d, vug_tv *key, vug_tv *value)
{
    size_t gone = 0;
    for (size_t i = 1, first = 0; i < d->n; i++) {
        if (key_order(*d->sorted[first], *d->sorted[i]) != 0) {
            first = i;
            continue;
        }
        value[d->sorted[first] - key] = value[d->sorted[i] - key];
        gone++;
        d->sorted[i] = d->sorted[first];
    }
    if (gone == 0)
        return;
    for (size_t i = 0; i < d->n; i++)
        key[i].named = true; /* goes, unless .. */
    for (size_t i = 0; i < d->n; i++)
        key[d->sorted[i] - key].named = false;
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (key[i].named)
            continue;
        key[n] = key[i];
        value[n++] = value[i];
    }
    d->n = n;
    sort_keys(d);
}

vug_tv vug_tv_dict(vug_run *run, vug_tv *key, vug_tv *value, size_t n)
{
    vug_tdict *d = vug_run_alloc(run, 1, sizeof(*d));
    const vug_tv **sorted = vug_run_alloc(run, n, sizeof(*sorted));
    if (!d || !sorted)
        return vug_tv_none();
    for (size_t i = 0; i < n; i++) {
        if (!is_key(key[i], 0))
            return vug_run_fail(run, VUG_FORMAT, "unhashable type: '%s'", vug_tv_type(key[i]));
    }
    *d = (vug_tdict){ key, value, sorted, n };
    (void)vug_run_spend(run, n / 4);
    sort_keys(d);
    unite(d, key, value);
    return (vug_tv){ .kind = VUG_TV_DICT, .dict = d };
}

vug_tv vug_tdict_get(vug_run *run, const vug_tdict *dict, vug_tv key)
{
    if (!is_key(key, 0))
        return vug_run_fail(run, VUG_FORMAT, "unhashable type: '%s'", vug_tv_type(key));
    size_t from = 0;
    size_t to = dict->n;
    while (from < to) {
        const size_t mid = from + (to - from) / 2;
        const int order = key_order(*dict->sorted[mid], key);
        if (order == 0)
            return dict->value[dict->sorted[mid] - dict->key];
        if (order < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return (vug_tv){ .kind = VUG_TV_ABSENT };
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

static bool is_seq(vug_tv v)
{
    return v.kind == VUG_TV_LIST || v.kind == VUG_TV_TUPLE || v.kind == VUG_TV_VIEW;
}

bool vug_tv_length(vug_run *run, vug_tv v, size_t *out)
{
    *out = 0;
    if (v.kind == VUG_TV_STRING)
        *out = vug_tstr_chars(run, v.str);
    else if (is_seq(v))
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

static bool deeper(vug_run *run)
{
    if (run->depth >= VUG_RUN_MAX_DEPTH) {
        (void)vug_run_fail(run, VUG_FORMAT, "values nested deeper than %d levels",
                           VUG_RUN_MAX_DEPTH);
        return false;
    }
    run->depth++;
    return vug_run_spend(run, 1);
}

static bool equal_items(vug_run *run, const vug_tv *a, const vug_tv *b, size_t n)
{
    for (size_t i = 0; i < n && vug_run_ok(run); i++) {
        if (!vug_tv_equal(run, a[i], b[i]))
            return false;
    }
    return true;
}

static bool equal_dicts(vug_run *run, const vug_tdict *a, const vug_tdict *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n && vug_run_ok(run); i++) {
        const vug_tv other = vug_tdict_get(run, b, a->key[i]);
        if (other.kind == VUG_TV_ABSENT || !vug_tv_equal(run, a->value[i], other))
            return false;
    }
    return true;
}

static bool equal_numbers(vug_tv a, vug_tv b)
{
    if (vug_tv_is_int(a) && vug_tv_is_int(b))
        return vug_tv_i64(a) == vug_tv_i64(b);
    return vug_tv_f64(a) == vug_tv_f64(b);
}

bool vug_tv_equal(vug_run *run, vug_tv a, vug_tv b)
{
    if (vug_tv_is_number(a) && vug_tv_is_number(b))
        return equal_numbers(a, b);
    if (a.kind != b.kind)
        return false;
    bool equal = false;
    if (!deeper(run)) {
        return false;
    } else if (a.kind == VUG_TV_STRING || a.kind == VUG_TV_BIG) {
        (void)vug_run_spend_bytes(run, a.str.len);
        equal = vug_str_equal(vug_tv_bytes(a), vug_tv_bytes(b));
    } else if (is_seq(a)) {
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
    if (vug_tv_is_int(a) && vug_tv_is_int(b))
        return (vug_tv_i64(a) > vug_tv_i64(b)) - (vug_tv_i64(a) < vug_tv_i64(b));
    if (vug_tv_is_number(a) && vug_tv_is_number(b)) {
        const double x = vug_tv_f64(a);
        const double y = vug_tv_f64(b);
        return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2; /* 2: nan, no comparison is true */
    }
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
    if (!deeper(run))
        return 0;
    size_t i = 0;
    while (i < a.seq->n && i < b.seq->n && vug_run_ok(run) &&
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

/* ---- going through ---------------------------------------------------------------------- */

bool vug_tv_is_iterable(vug_tv v)
{
    return is_seq(v) || v.kind == VUG_TV_STRING || v.kind == VUG_TV_DICT ||
           v.kind == VUG_TV_RANGE || v.kind == VUG_TV_ITERATOR || v.kind == VUG_TV_UNDEFINED;
}

vug_titer vug_tv_iterate(vug_run *run, vug_tv v)
{
    if (!vug_tv_is_iterable(v))
        (void)vug_run_fail(run, VUG_FORMAT, "'%s' object is not iterable", vug_tv_type(v));
    return (vug_titer){ .of = v };
}

bool vug_titer_next(vug_run *run, vug_titer *it, vug_tv *out)
{
    const vug_tv v = it->of;
    if (!vug_run_spend(run, 1))
        return false;
    switch (v.kind) {
    case VUG_TV_LIST:
    case VUG_TV_TUPLE:
    case VUG_TV_VIEW:
        if (it->at >= v.seq->n)
            return false;
        *out = v.seq->item[it->at++];
        return true;
    case VUG_TV_ITERATOR:
        if (v.seq->at >= v.seq->n)
            return false;
        *out = v.seq->item[v.seq->at++];
        return true;
    case VUG_TV_DICT:
        if (it->at >= v.dict->n)
            return false;
        *out = v.dict->key[it->at++];
        return true;
    case VUG_TV_RANGE:
        if (it->at >= v.range->n)
            return false;
        *out = vug_tv_int(v.range->start + (int64_t)it->at++ * v.range->step);
        return true;
    case VUG_TV_STRING: {
        uint32_t cp;
        if (it->at >= v.str.len)
            return false;
        const size_t n = vug_tstr_char(v.str, it->at, &cp);
        *out = vug_tv_string(vug_tstr_cut(v.str, it->at, it->at + n));
        it->at += n;
        return true;
    }
    default:
        return false;
    }
}

vug_tseq vug_tv_elements(vug_run *run, vug_tv v)
{
    if (is_seq(v))
        return *v.seq;
    if (v.kind == VUG_TV_DICT)
        return (vug_tseq){ .item = v.dict->key, .n = v.dict->n };
    vug_tlist list = { 0 };
    vug_titer it = vug_tv_iterate(run, v);
    for (vug_tv item; vug_titer_next(run, &it, &item);)
        vug_tlist_add(run, &list, item);
    return (vug_tseq){ .item = list.item, .n = list.n };
}

/* Merges the sorted halves of `order`, which are numbers of keys. */
static void merge(vug_run *run, const vug_tv *key, uint32_t *order, uint32_t *spare,
                  const size_t bound[3], bool reverse)
{
    size_t a = bound[0];
    size_t b = bound[1];
    for (size_t i = bound[0]; i < bound[2]; i++) {
        bool take_b = a >= bound[1];
        if (!take_b && b < bound[2] && vug_run_spend(run, 1)) {
            const int c = reverse ? vug_tv_compare(run, key[order[a]], key[order[b]], "<")
                                  : vug_tv_compare(run, key[order[b]], key[order[a]], "<");
            take_b = c < 0;
        }
        spare[i] = order[take_b ? b++ : a++];
    }
    memcpy(order + bound[0], spare + bound[0], (bound[2] - bound[0]) * sizeof(*order));
}

void vug_tv_sort(vug_run *run, vug_tv *item, const vug_tv *key, size_t n, bool reverse)
{
    uint32_t *order = vug_run_alloc(run, n, sizeof(*order));
    uint32_t *spare = vug_run_alloc(run, n, sizeof(*spare));
    vug_tv *copy = vug_run_alloc(run, n, sizeof(*copy));
    if (!order || !spare || !copy || n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (size_t width = 1; width < n && vug_run_ok(run); width *= 2) {
        for (size_t from = 0; from + width < n; from += 2 * width) {
            const size_t end = from + 2 * width < n ? from + 2 * width : n;
            merge(run, key, order, spare, (const size_t[]){ from, from + width, end }, reverse);
        }
    }
    memcpy(copy, item, n * sizeof(*item));
    for (size_t i = 0; i < n; i++)
        item[i] = copy[order[i]];
}
