/* Dictionaries, in the order of insertion. A sorted array of keys finds them by binary search, so
 * that no choice of keys makes them slow. */

#include <math.h>
#include <stdlib.h>

#include "text/template/template_run.h"

/* An internal order of keys: equal ones are adjacent, and kinds are apart. */
static int key_rank(vug_tmpl_value v)
{
    return vug_tmpl_is_number(v) ? VUG_TMPL_INT : (int)v.kind;
}

static int key_order(vug_tmpl_value a, vug_tmpl_value b)
{
    const int rank = key_rank(a) - key_rank(b);
    if (rank)
        return rank;
    if (vug_tmpl_is_number(a)) {
        const int order = vug_tmpl_compare_numbers(a, b);
        /* NaN sorts behind all numbers, as one key: sorting needs a total order. */
        return order != 2 ? order : isnan(vug_tmpl_as_f64(a)) - isnan(vug_tmpl_as_f64(b));
    }
    if (a.kind == VUG_TMPL_STRING || a.kind == VUG_TMPL_BIGINT)
        return vug_str_compare(vug_tmpl_as_bytes(a), vug_tmpl_as_bytes(b));
    if (a.kind != VUG_TMPL_TUPLE)
        return 0;
    for (size_t i = 0; i < a.seq->n && i < b.seq->n; i++) {
        const int order = key_order(a.seq->item[i], b.seq->item[i]);
        if (order)
            return order;
    }
    return (a.seq->n > b.seq->n) - (a.seq->n < b.seq->n);
}

/* Whether a value can be a key; a tuple can if its elements can. Charges for one comparison of a
 * long key: each is compared only a few times. */
static bool is_hashable(vug_tmpl_run *run, vug_tmpl_value v, int depth)
{
    if (v.kind == VUG_TMPL_LIST || v.kind == VUG_TMPL_DICT || depth > 8)
        return false;
    if (v.kind == VUG_TMPL_STRING || v.kind == VUG_TMPL_BIGINT)
        (void)vug_tmpl_charge_bytes(run, v.str.len);
    for (size_t i = 0; v.kind == VUG_TMPL_TUPLE && i < v.seq->n; i++) {
        if (!vug_tmpl_charge(run, 1) || !is_hashable(run, v.seq->item[i], depth + 1))
            return false;
    }
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    const vug_tmpl_value *x = *(const vug_tmpl_value *const *)a;
    const vug_tmpl_value *y = *(const vug_tmpl_value *const *)b;
    const int order = key_order(*x, *y);
    return order ? order : (x > y) - (x < y);
}

static void sort_keys(vug_tmpl_dict *d)
{
    for (size_t i = 0; i < d->n; i++)
        d->sorted[i] = &d->key[i];
    if (d->n > 1)
        qsort(d->sorted, d->n, sizeof(const vug_tmpl_value *), compare_keys);
}

/* Merges equal keys, which `sorted` has next to each other: the first keeps its place and gets
 * the value of the last. */
static void merge_equal_keys(vug_tmpl_run *run, vug_tmpl_dict *d, vug_tmpl_value *key,
                             vug_tmpl_value *value)
{
    size_t first = 0;
    bool *dropped = NULL;
    for (size_t i = 1; i < d->n; i++) {
        if (key_order(*d->sorted[first], *d->sorted[i]) != 0) {
            first = i;
            continue;
        }
        dropped = dropped ? dropped : vug_tmpl_alloc(run, d->n, sizeof(*dropped));
        if (!dropped)
            return;
        value[d->sorted[first] - key] = value[d->sorted[i] - key];
        dropped[d->sorted[i] - key] = true;
    }
    if (!dropped)
        return;
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (dropped[i])
            continue;
        key[n] = key[i];
        value[n++] = value[i];
    }
    d->n = n;
    sort_keys(d);
}

vug_tmpl_value vug_tmpl_new_dict(vug_tmpl_run *run, vug_tmpl_value *key, vug_tmpl_value *value,
                                 size_t n)
{
    vug_tmpl_dict *d = vug_tmpl_alloc(run, 1, sizeof(*d));
    const vug_tmpl_value **sorted = vug_tmpl_alloc(run, n, sizeof(const vug_tmpl_value *));
    if (!d || !sorted)
        return vug_tmpl_none();
    for (size_t i = 0; i < n; i++) {
        if (!is_hashable(run, key[i], 0))
            return vug_tmpl_fail(run, VUG_FORMAT, "unhashable type: '%s'",
                                 vug_tmpl_type_name(key[i]));
    }
    *d = (vug_tmpl_dict){ key, value, sorted, n };
    (void)vug_tmpl_charge(run, n / 4);
    sort_keys(d);
    merge_equal_keys(run, d, key, value);
    return (vug_tmpl_value){ .kind = VUG_TMPL_DICT, .dict = d };
}

vug_tmpl_value vug_tmpl_dict_get(vug_tmpl_run *run, const vug_tmpl_dict *dict, vug_tmpl_value key)
{
    if (!is_hashable(run, key, 0))
        return vug_tmpl_fail(run, VUG_FORMAT, "unhashable type: '%s'", vug_tmpl_type_name(key));
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
    return (vug_tmpl_value){ .kind = VUG_TMPL_ABSENT };
}
