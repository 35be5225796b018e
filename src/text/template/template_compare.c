/* Comparing values: equality, order, membership, and sorting. */

#include "text/template/template_operations.h"
#include "text/template/template_strings.h"

static bool equal_items(vug_tmpl_run *run, const vug_tmpl_value *a, const vug_tmpl_value *b,
                        size_t n)
{
    for (size_t i = 0; i < n && vug_tmpl_charge(run, 1); i++) {
        if (!vug_tmpl_equal(run, a[i], b[i]))
            return false;
    }
    return true;
}

static bool equal_dicts(vug_tmpl_run *run, const vug_tmpl_dict *a, const vug_tmpl_dict *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n && vug_tmpl_charge(run, 1); i++) {
        const vug_tmpl_value other = vug_tmpl_dict_get(run, b, a->key[i]);
        if (other.kind == VUG_TMPL_ABSENT || !vug_tmpl_equal(run, a->value[i], other))
            return false;
    }
    return true;
}

bool vug_tmpl_equal(vug_tmpl_run *run, vug_tmpl_value a, vug_tmpl_value b)
{
    if (vug_tmpl_is_number(a) && vug_tmpl_is_number(b))
        return vug_tmpl_compare_numbers(a, b) == 0;
    if (a.kind != b.kind)
        return false;
    bool equal = false;
    if (!vug_tmpl_descend(run)) {
        return false;
    } else if (a.kind == VUG_TMPL_STRING || a.kind == VUG_TMPL_BIGINT) {
        (void)vug_tmpl_charge_bytes(run, a.str.len);
        equal = vug_str_equal(vug_tmpl_as_bytes(a), vug_tmpl_as_bytes(b));
    } else if (vug_tmpl_has_items(a)) {
        equal = a.seq->n == b.seq->n &&
                (a.seq == b.seq || equal_items(run, a.seq->item, b.seq->item, a.seq->n));
    } else if (a.kind == VUG_TMPL_DICT) {
        equal = a.dict == b.dict || equal_dicts(run, a.dict, b.dict);
    } else if (a.kind == VUG_TMPL_RANGE) {
        equal = a.range->n == b.range->n &&
                (a.range->n == 0 || (a.range->start == b.range->start &&
                                     (a.range->n == 1 || a.range->step == b.range->step)));
    } else {
        equal = a.kind == VUG_TMPL_UNDEFINED || a.kind == VUG_TMPL_NONE || a.vars == b.vars;
    }
    run->depth--;
    return equal;
}

int vug_tmpl_compare(vug_tmpl_run *run, vug_tmpl_value a, vug_tmpl_value b, const char *op)
{
    if (vug_tmpl_is_number(a) && vug_tmpl_is_number(b))
        return vug_tmpl_compare_numbers(a, b);
    if (a.kind == VUG_TMPL_UNDEFINED || b.kind == VUG_TMPL_UNDEFINED) {
        (void)vug_tmpl_fail_undefined(run, a.kind == VUG_TMPL_UNDEFINED ? a : b);
        return 0;
    }
    if (vug_tmpl_is_string(a) && vug_tmpl_is_string(b)) {
        (void)vug_tmpl_charge_bytes(run, a.str.len);
        const int order = vug_str_compare(vug_tmpl_as_bytes(a), vug_tmpl_as_bytes(b));
        return (order > 0) - (order < 0);
    }
    if (a.kind != b.kind || (a.kind != VUG_TMPL_LIST && a.kind != VUG_TMPL_TUPLE)) {
        (void)vug_tmpl_fail(run, VUG_FORMAT,
                            "'%s' not supported between instances of '%s' and '%s'", op,
                            vug_tmpl_type_name(a), vug_tmpl_type_name(b));
        return 0;
    }
    int order = 0;
    if (!vug_tmpl_descend(run))
        return 0;
    size_t i = 0;
    while (i < a.seq->n && i < b.seq->n && vug_tmpl_charge(run, 1) &&
           vug_tmpl_equal(run, a.seq->item[i], b.seq->item[i]))
        i++;
    if (i < a.seq->n && i < b.seq->n)
        order = vug_tmpl_compare(run, a.seq->item[i], b.seq->item[i], op);
    else
        order = (a.seq->n > b.seq->n) - (a.seq->n < b.seq->n);
    run->depth--;
    return order;
}

bool vug_tmpl_is_in(vug_tmpl_run *run, vug_tmpl_value what, vug_tmpl_value where)
{
    if (where.kind == VUG_TMPL_DICT)
        return vug_tmpl_dict_get(run, where.dict, what).kind != VUG_TMPL_ABSENT && vug_tmpl_ok(run);
    if (where.kind == VUG_TMPL_STRING) {
        if (vug_tmpl_is_string(what))
            return vug_tmpl_find(run, where.str, what.str, 0) != SIZE_MAX;
        (void)vug_tmpl_fail(run, VUG_FORMAT,
                            "'in <string>' requires string as left operand, not %s",
                            vug_tmpl_type_name(what));
        return false;
    }
    if (!vug_tmpl_is_iterable(where)) {
        (void)vug_tmpl_fail(run, VUG_FORMAT, "argument of type '%s' is not iterable",
                            vug_tmpl_type_name(where));
        return false;
    }
    vug_tmpl_iter it = vug_tmpl_iterate(run, where);
    for (vug_tmpl_value v; vug_tmpl_iter_next(run, &it, &v);) {
        if (vug_tmpl_equal(run, v, what))
            return true;
    }
    return false;
}

/* ---- sorting -------------------------------------------------------------------------- */

/* Merges the sorted halves of `order`, which are indices of keys. */
static void merge_halves(vug_tmpl_run *run, const vug_tmpl_value *key, uint32_t *order,
                         uint32_t *spare, const size_t bound[3], bool reverse)
{
    size_t a = bound[0];
    size_t b = bound[1];
    for (size_t i = bound[0]; i < bound[2]; i++) {
        bool take_b = a >= bound[1];
        if (!take_b && b < bound[2] && vug_tmpl_charge(run, 1)) {
            const int c = reverse ? vug_tmpl_compare(run, key[order[a]], key[order[b]], "<")
                                  : vug_tmpl_compare(run, key[order[b]], key[order[a]], "<");
            take_b = c < 0;
        }
        spare[i] = order[take_b ? b++ : a++];
    }
    memcpy(order + bound[0], spare + bound[0], (bound[2] - bound[0]) * sizeof(*order));
}

void vug_tmpl_sort(vug_tmpl_run *run, vug_tmpl_value *item, const vug_tmpl_value *key, size_t n,
                   bool reverse)
{
    uint32_t *order = vug_tmpl_alloc(run, n, sizeof(*order));
    uint32_t *spare = vug_tmpl_alloc(run, n, sizeof(*spare));
    vug_tmpl_value *copy = vug_tmpl_alloc(run, n, sizeof(*copy));
    if (!order || !spare || !copy || n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (size_t width = 1; width < n && vug_tmpl_ok(run); width *= 2) {
        for (size_t from = 0; from + width < n; from += 2 * width) {
            const size_t end = from + 2 * width < n ? from + 2 * width : n;
            merge_halves(run, key, order, spare, (const size_t[]){ from, from + width, end },
                         reverse);
        }
    }
    memcpy(copy, item, n * sizeof(*item));
    for (size_t i = 0; i < n; i++)
        item[i] = copy[order[i]];
}
