/* obj.name, obj[key] and slices, as Jinja's sandbox looks them up: what is not there is
 * undefined, and so is what would change a value. */

#include "text/template/ast.h"
#include "text/template/text.h"

vug_tv vug_tv_fail_undefined(vug_run *run, vug_tv v)
{
    const vug_tmissing *m = v.missing;
    if (!m)
        return vug_run_fail(run, VUG_FORMAT, "an undefined value");
    if (!m->of)
        return vug_run_fail(run, VUG_FORMAT, "'%.*s' is undefined", VUG_STR_ARG(m->name));
    if (!m->of[0])
        return vug_run_fail(run, VUG_FORMAT, "%.*s", VUG_STR_ARG(m->name));
    return vug_run_fail(run, VUG_FORMAT, "'%s' has no attribute '%.*s'", m->of,
                        VUG_STR_ARG(m->name));
}

static vug_tv method_of(vug_run *run, vug_tv obj, const vug_row *row)
{
    vug_tmethod *method = vug_run_alloc(run, 1, sizeof(*method));
    vug_tv *self = vug_run_alloc(run, 1, sizeof(*self));
    if (!method || !self)
        return vug_tv_none();
    *self = obj;
    *method = (vug_tmethod){ row, self };
    return (vug_tv){ .kind = VUG_TV_METHOD, .method = method };
}

/* Python's getattr, or ABSENT. */
static vug_tv own_attr(vug_run *run, vug_tv obj, vug_str name)
{
    const vug_row *row = vug_method_row(obj.kind, name);
    if (row && !row->fn)
        return vug_tv_undefined(run, vug_tv_object(obj), name); /* what Jinja calls unsafe */
    if (row)
        return method_of(run, obj, row);
    if (obj.kind == VUG_TV_NAMESPACE) {
        const vug_tv *v = vug_tvars_get(run, obj.vars, name);
        if (v)
            return *v;
    } else if (obj.kind == VUG_TV_LOOP) {
        return vug_loop_attr(run, obj.loop, name);
    } else if (obj.kind == VUG_TV_TUPLE && obj.named) {
        if (vug_str_is(name, "grouper"))
            return obj.seq->item[0];
        if (vug_str_is(name, "list"))
            return obj.seq->item[1];
    } else if (obj.kind == VUG_TV_CYCLER && vug_str_is(name, "current")) {
        return obj.seq->item[obj.seq->at];
    } else if (obj.kind == VUG_TV_MACRO && vug_str_is(name, "name")) {
        return vug_tv_string(
                (vug_tstr){ obj.macro->node->name.ptr, obj.macro->node->name.len, NULL });
    }
    return (vug_tv){ .kind = VUG_TV_ABSENT };
}

static vug_tv element(vug_run *run, vug_tv obj, int64_t index)
{
    size_t n;
    const vug_tv absent = { .kind = VUG_TV_ABSENT };
    if (!vug_tv_length(run, obj, &n))
        return absent;
    if (index < 0)
        index += (int64_t)n;
    if (index < 0 || (uint64_t)index >= n)
        return absent;
    if (obj.kind == VUG_TV_LIST || obj.kind == VUG_TV_TUPLE)
        return obj.seq->item[index];
    if (obj.kind == VUG_TV_RANGE)
        return vug_tv_int(vug_range_at(obj.range, index));
    if (obj.kind != VUG_TV_STRING)
        return absent;
    const size_t from = vug_tstr_offset(run, obj.str, (size_t)index);
    uint32_t cp;
    vug_tv out =
            vug_tv_string(vug_tstr_cut(obj.str, from, from + vug_tstr_char(obj.str, from, &cp)));
    out.safe = obj.safe;
    return out;
}

/* Python's obj[key], or ABSENT. */
static vug_tv own_item(vug_run *run, vug_tv obj, vug_tv key)
{
    if (obj.kind == VUG_TV_DICT && key.kind != VUG_TV_LIST && key.kind != VUG_TV_DICT)
        return vug_tdict_get(run, obj.dict, key);
    if (obj.kind != VUG_TV_DICT && vug_tv_is_int(key))
        return element(run, obj, vug_tv_i64(key));
    return (vug_tv){ .kind = VUG_TV_ABSENT };
}

vug_tv vug_tv_attr(vug_run *run, vug_tv obj, vug_str name)
{
    if (obj.kind == VUG_TV_UNDEFINED)
        return vug_tv_fail_undefined(run, obj);
    vug_tv v = own_attr(run, obj, name);
    if (v.kind == VUG_TV_ABSENT && obj.kind == VUG_TV_DICT)
        v = vug_tdict_get(run, obj.dict, vug_tv_string((vug_tstr){ name.ptr, name.len, NULL }));
    return v.kind == VUG_TV_ABSENT ? vug_tv_undefined(run, vug_tv_object(obj), name) : v;
}

vug_tv vug_tv_item(vug_run *run, vug_tv obj, vug_tv key)
{
    if (obj.kind == VUG_TV_UNDEFINED)
        return vug_tv_fail_undefined(run, obj);
    vug_tv v = own_item(run, obj, key);
    if (v.kind == VUG_TV_ABSENT && vug_tv_is_string(key))
        v = own_attr(run, obj, vug_tv_bytes(key));
    if (v.kind != VUG_TV_ABSENT)
        return v;
    const vug_tv name = vug_tv_is_string(key) ? key : vug_tv_repr(run, key);
    return vug_tv_undefined(run, vug_tv_object(obj), vug_tv_bytes(name));
}

vug_tv vug_tv_path(vug_run *run, vug_tv obj, vug_tv path, vug_tv otherwise)
{
    if (path.kind == VUG_TV_NONE || path.kind == VUG_TV_ABSENT)
        return obj;
    if (!vug_tv_is_string(path)) {
        const vug_tv v = vug_tv_item(run, obj, path);
        return v.kind == VUG_TV_UNDEFINED && vug_given_some(otherwise) ? otherwise : v;
    }
    const vug_tstr dot = { ".", 1, NULL };
    for (size_t at = 0; at <= path.str.len && vug_run_ok(run);) {
        const size_t found = vug_tstr_find(run, path.str, dot, at);
        const size_t end = found == SIZE_MAX ? path.str.len : found;
        const vug_tv part = vug_tv_string(vug_tstr_cut(path.str, at, end));
        int64_t index;
        const bool is_index = end > at && path.str.ptr[at] >= '0' && path.str.ptr[at] <= '9' &&
                              vug_parse_py_int(vug_tv_bytes(part), 10, &index);
        obj = vug_tv_item(run, obj, is_index ? vug_tv_int(index) : part);
        if (obj.kind == VUG_TV_UNDEFINED && vug_given_some(otherwise))
            obj = otherwise;
        at = end + 1;
    }
    return obj;
}

/* ---- slices ---------------------------------------------------------------------------- */

/* Where a bound of a slice lies, in what has `n` elements. */
static int64_t bound_at(vug_run *run, vug_tv bound, int64_t n, int64_t otherwise, bool down)
{
    if (bound.kind == VUG_TV_NONE || bound.kind == VUG_TV_ABSENT)
        return otherwise;
    if (!vug_tv_is_int(bound)) {
        (void)vug_run_fail(run, VUG_FORMAT, "slice indices must be integers or None, not %s",
                           vug_tv_type(bound));
        return 0;
    }
    int64_t v = vug_tv_i64(bound);
    if (v < 0)
        v = v < -n ? -1 : v + n;
    else if (v > n)
        v = n;
    if (down)
        return v >= n ? n - 1 : v;
    return v < 0 ? 0 : v;
}

static vug_tv slice_string(vug_run *run, vug_tv obj, const int64_t at[3])
{
    vug_tv out;
    if (at[1] == 1) {
        const size_t from = vug_tstr_offset(run, obj.str, (size_t)at[0]);
        const size_t to = vug_tstr_offset(run, obj.str, (size_t)(at[0] + at[2]));
        out = vug_tv_string(vug_tstr_cut(obj.str, from, to));
    } else {
        const size_t make = vug_make(run);
        for (int64_t i = 0; i < at[2] && vug_run_spend(run, 1); i++) {
            uint32_t cp;
            const size_t from = vug_tstr_offset(run, obj.str, (size_t)(at[0] + i * at[1]));
            const size_t len = vug_tstr_char(obj.str, from, &cp);
            vug_put(run, vug_tstr_cut(obj.str, from, from + len));
        }
        out = vug_made(run, make);
    }
    out.safe = obj.safe;
    return out;
}

vug_tv vug_tv_slice(vug_run *run, vug_tv obj, const vug_tv bound[3])
{
    size_t n;
    if (obj.kind == VUG_TV_UNDEFINED)
        return vug_tv_fail_undefined(run, obj);
    const bool sliced = obj.kind == VUG_TV_STRING || obj.kind == VUG_TV_LIST ||
                        obj.kind == VUG_TV_TUPLE || obj.kind == VUG_TV_RANGE;
    if (!sliced || !vug_tv_length(run, obj, &n))
        return vug_run_fail(run, VUG_FORMAT, "a %s cannot be sliced", vug_tv_type(obj));
    const int64_t step =
            vug_given_some(bound[2]) && vug_tv_is_int(bound[2]) ? vug_tv_i64(bound[2]) : 1;
    if (step == 0 || step == INT64_MIN)
        return vug_run_fail(run, VUG_FORMAT, "slice step cannot be zero");
    const bool down = step < 0;
    const int64_t size = (int64_t)n;
    const int64_t from = bound_at(run, bound[0], size, down ? size - 1 : 0, down);
    const int64_t to = bound_at(run, bound[1], size, down ? -1 : size, down);
    const int64_t way = down ? from - to : to - from;
    const int64_t stride = down ? -step : step;
    const int64_t count = way > 0 ? (way - 1) / stride + 1 : 0;
    const int64_t at[3] = { from, count > 1 ? step : 1, count };
    if (obj.kind == VUG_TV_STRING)
        return slice_string(run, obj, at);
    if (obj.kind == VUG_TV_RANGE) {
        vug_trange *r = vug_run_alloc(run, 1, sizeof(*r));
        if (!r)
            return vug_tv_none();
        *r = (vug_trange){ .start = vug_range_at(obj.range, from),
                           .stop = vug_range_at(obj.range, to),
                           .step = (int64_t)((uint64_t)obj.range->step * (uint64_t)step),
                           .n = (size_t)count };
        return (vug_tv){ .kind = VUG_TV_RANGE, .range = r };
    }
    if (at[1] == 1) /* lists do not change: a part of one is a look into it */
        return vug_tv_seq(run, obj.kind, obj.seq->item + from, (size_t)count);
    vug_tv *item = vug_run_alloc(run, (size_t)count, sizeof(*item));
    for (int64_t i = 0; item && i < count && vug_run_spend(run, 1); i++)
        item[i] = obj.seq->item[from + i * step];
    return item ? vug_tv_seq(run, obj.kind, item, (size_t)count) : vug_tv_none();
}
