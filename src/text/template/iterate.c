/* Going through the elements of a value, and sorting them. */

#include "text/template/text.h"

bool vug_tv_is_iterable(vug_tv v)
{
    return vug_tv_has_items(v) || v.kind == VUG_TV_STRING || v.kind == VUG_TV_DICT ||
           v.kind == VUG_TV_RANGE || v.kind == VUG_TV_ITERATOR || v.kind == VUG_TV_UNDEFINED;
}

vug_titer vug_tv_iterate(vug_run *run, vug_tv v)
{
    if (!vug_tv_is_iterable(v))
        (void)vug_run_fail(run, VUG_FORMAT, "'%s' object is not iterable", vug_tv_type(v));
    return (vug_titer){ .of = v };
}

/* Modulo 2^64: elements fit into 64 bits, what lies between two of them may not. */
int64_t vug_range_at(const vug_trange *range, int64_t i)
{
    return (int64_t)((uint64_t)range->start + (uint64_t)i * (uint64_t)range->step);
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
        *out = vug_tv_int(vug_range_at(v.range, (int64_t)it->at++));
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
    if (vug_tv_has_items(v))
        return *v.seq;
    if (v.kind == VUG_TV_DICT)
        return (vug_tseq){ .item = v.dict->key, .n = v.dict->n };
    vug_tlist list = { 0 };
    vug_titer it = vug_tv_iterate(run, v);
    for (vug_tv item; vug_titer_next(run, &it, &item);)
        vug_tlist_add(run, &list, item);
    return (vug_tseq){ .item = list.item ? list.item : &vug_tv_nothing, .n = list.n };
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
