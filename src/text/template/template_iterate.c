/* Iterating over the elements of a value, and counting them. */

#include "text/template/template_operations.h"
#include "text/template/template_strings.h"

bool vug_tmpl_is_iterable(vug_tmpl_value v)
{
    return vug_tmpl_has_items(v) || v.kind == VUG_TMPL_STRING || v.kind == VUG_TMPL_DICT ||
           v.kind == VUG_TMPL_RANGE || v.kind == VUG_TMPL_ITERATOR || v.kind == VUG_TMPL_UNDEFINED;
}

vug_tmpl_iter vug_tmpl_iterate(vug_tmpl_run *run, vug_tmpl_value v)
{
    if (!vug_tmpl_is_iterable(v))
        (void)vug_tmpl_fail(run, VUG_FORMAT, "'%s' object is not iterable", vug_tmpl_type_name(v));
    return (vug_tmpl_iter){ .of = v };
}

/* Modulo 2^64: elements fit into 64 bits, their differences may not. */
int64_t vug_tmpl_range_at(const vug_tmpl_range *range, int64_t i)
{
    return (int64_t)((uint64_t)range->start + (uint64_t)i * (uint64_t)range->step);
}

bool vug_tmpl_iter_next(vug_tmpl_run *run, vug_tmpl_iter *it, vug_tmpl_value *out)
{
    const vug_tmpl_value v = it->of;
    if (!vug_tmpl_charge(run, 1))
        return false;
    switch (v.kind) {
    case VUG_TMPL_LIST:
    case VUG_TMPL_TUPLE:
    case VUG_TMPL_VIEW:
        if (it->at >= v.seq->n)
            return false;
        *out = v.seq->item[it->at++];
        return true;
    case VUG_TMPL_ITERATOR:
        if (v.seq->at >= v.seq->n)
            return false;
        *out = v.seq->item[v.seq->at++];
        return true;
    case VUG_TMPL_DICT:
        if (it->at >= v.dict->n)
            return false;
        *out = v.dict->key[it->at++];
        return true;
    case VUG_TMPL_RANGE:
        if (it->at >= v.range->n)
            return false;
        *out = vug_tmpl_int(vug_tmpl_range_at(v.range, (int64_t)it->at++));
        return true;
    case VUG_TMPL_STRING: {
        uint32_t cp;
        if (it->at >= v.str.len)
            return false;
        const size_t n = vug_tmpl_decode_char(v.str, it->at, &cp);
        *out = vug_tmpl_string(vug_tmpl_substr(v.str, it->at, it->at + n));
        it->at += n;
        return true;
    }
    default:
        return false;
    }
}

vug_tmpl_seq vug_tmpl_elements(vug_tmpl_run *run, vug_tmpl_value v)
{
    if (vug_tmpl_has_items(v))
        return *v.seq;
    if (v.kind == VUG_TMPL_DICT)
        return (vug_tmpl_seq){ .item = v.dict->key, .n = v.dict->n };
    vug_tmpl_list list = { 0 };
    vug_tmpl_iter it = vug_tmpl_iterate(run, v);
    for (vug_tmpl_value item; vug_tmpl_iter_next(run, &it, &item);)
        vug_tmpl_list_append(run, &list, item);
    return (vug_tmpl_seq){ .item = list.item ? list.item : &vug_tmpl_absent, .n = list.n };
}

bool vug_tmpl_length(vug_tmpl_run *run, vug_tmpl_value v, size_t *out)
{
    *out = 0;
    if (v.kind == VUG_TMPL_STRING)
        *out = vug_tmpl_count_chars(run, v.str);
    else if (vug_tmpl_has_items(v))
        *out = v.seq->n;
    else if (v.kind == VUG_TMPL_DICT)
        *out = v.dict->n;
    else if (v.kind == VUG_TMPL_RANGE)
        *out = v.range->n;
    else
        return v.kind == VUG_TMPL_UNDEFINED;
    return true;
}
