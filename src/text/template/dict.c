/* Dictionaries: in the order of insertion, found through keys that are sorted, so that no
 * choice of keys makes them slow. */

#include <math.h>
#include <stdlib.h>

#include "text/template/value.h"

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
        const int order = vug_tv_order(a, b);
        /* Behind all others, and one key: sorting needs an order of everything. */
        return order != 2 ? order : isnan(vug_tv_f64(a)) - isnan(vug_tv_f64(b));
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

/* Whether it can be a key; tuples can when what they hold can. Long ones take as many steps
 * as comparing them once: keys are compared a few times each. */
static bool is_key(vug_run *run, vug_tv v, int depth)
{
    if (v.kind == VUG_TV_LIST || v.kind == VUG_TV_DICT || depth > 8)
        return false;
    if (v.kind == VUG_TV_STRING || v.kind == VUG_TV_BIG)
        (void)vug_run_spend_bytes(run, v.str.len);
    for (size_t i = 0; v.kind == VUG_TV_TUPLE && i < v.seq->n; i++) {
        if (!vug_run_spend(run, 1) || !is_key(run, v.seq->item[i], depth + 1))
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
        qsort(d->sorted, d->n, sizeof(const vug_tv *), by_key);
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
    const vug_tv **sorted = vug_run_alloc(run, n, sizeof(const vug_tv *));
    if (!d || !sorted)
        return vug_tv_none();
    for (size_t i = 0; i < n; i++) {
        if (!is_key(run, key[i], 0))
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
    if (!is_key(run, key, 0))
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
