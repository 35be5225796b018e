/* obj.name, obj[key] and slices, by the rules of Jinja's sandbox: what does not exist is
 * undefined, and so are methods that would change a value. */

#include "text/template/builtins.h"
#include "text/template/template_operations.h"
#include "text/template/template_strings.h"

static vug_tmpl_value bind_method(vug_tmpl_run *run, vug_tmpl_value obj,
                                  const vug_tmpl_builtin *builtin)
{
    vug_tmpl_method *method = vug_tmpl_alloc(run, 1, sizeof(*method));
    vug_tmpl_value *self = vug_tmpl_alloc(run, 1, sizeof(*self));
    if (!method || !self)
        return vug_tmpl_none();
    *self = obj;
    *method = (vug_tmpl_method){ builtin, self };
    return (vug_tmpl_value){ .kind = VUG_TMPL_METHOD, .method = method };
}

/* Python's getattr, or ABSENT. */
static vug_tmpl_value lookup_attr(vug_tmpl_run *run, vug_tmpl_value obj, vug_str name)
{
    const vug_tmpl_builtin *builtin = vug_tmpl_find_method(obj.kind, name);
    if (builtin && !builtin->params)
        return vug_tmpl_undefined(run, vug_tmpl_object_name(obj),
                                  name); /* unsafe, in Jinja's terms */
    if (builtin)
        return bind_method(run, obj, builtin);
    if (obj.kind == VUG_TMPL_NAMESPACE) {
        const vug_tmpl_value *v = vug_tmpl_vars_get(run, obj.vars, name);
        if (v)
            return *v;
    } else if (obj.kind == VUG_TMPL_LOOP || obj.kind == VUG_TMPL_MACRO) {
        return obj.callable->get_attr(run, obj.callable, name);
    }
    return (vug_tmpl_value){ .kind = VUG_TMPL_ABSENT };
}

static vug_tmpl_value element_at(vug_tmpl_run *run, vug_tmpl_value obj, int64_t index)
{
    size_t n;
    const vug_tmpl_value absent = { .kind = VUG_TMPL_ABSENT };
    if (!vug_tmpl_length(run, obj, &n))
        return absent;
    if (index < 0)
        index += (int64_t)n;
    if (index < 0 || (uint64_t)index >= n)
        return absent;
    if (obj.kind == VUG_TMPL_LIST || obj.kind == VUG_TMPL_TUPLE)
        return obj.seq->item[index];
    if (obj.kind == VUG_TMPL_RANGE)
        return vug_tmpl_int(vug_tmpl_range_at(obj.range, index));
    if (obj.kind != VUG_TMPL_STRING)
        return absent;
    const size_t from = vug_tmpl_char_offset(run, obj.str, (size_t)index);
    uint32_t cp;
    return vug_tmpl_string(
            vug_tmpl_substr(obj.str, from, from + vug_tmpl_decode_char(obj.str, from, &cp)));
}

/* Python's obj[key], or ABSENT. */
static vug_tmpl_value lookup_item(vug_tmpl_run *run, vug_tmpl_value obj, vug_tmpl_value key)
{
    if (obj.kind == VUG_TMPL_DICT && key.kind != VUG_TMPL_LIST && key.kind != VUG_TMPL_DICT)
        return vug_tmpl_dict_get(run, obj.dict, key);
    if (obj.kind != VUG_TMPL_DICT && vug_tmpl_is_int(key))
        return element_at(run, obj, vug_tmpl_as_i64(key));
    return (vug_tmpl_value){ .kind = VUG_TMPL_ABSENT };
}

vug_tmpl_value vug_tmpl_get_attr(vug_tmpl_run *run, vug_tmpl_value obj, vug_str name)
{
    if (obj.kind == VUG_TMPL_UNDEFINED)
        return vug_tmpl_fail_undefined(run, obj);
    vug_tmpl_value v = lookup_attr(run, obj, name);
    if (v.kind == VUG_TMPL_ABSENT && obj.kind == VUG_TMPL_DICT)
        v = vug_tmpl_dict_get(run, obj.dict,
                              vug_tmpl_string((vug_tmpl_str){ name.ptr, name.len, NULL }));
    return v.kind == VUG_TMPL_ABSENT ? vug_tmpl_undefined(run, vug_tmpl_object_name(obj), name) : v;
}

vug_tmpl_value vug_tmpl_get_item(vug_tmpl_run *run, vug_tmpl_value obj, vug_tmpl_value key)
{
    if (obj.kind == VUG_TMPL_UNDEFINED)
        return vug_tmpl_fail_undefined(run, obj);
    vug_tmpl_value v = lookup_item(run, obj, key);
    if (v.kind == VUG_TMPL_ABSENT && vug_tmpl_is_string(key))
        v = lookup_attr(run, obj, vug_tmpl_as_bytes(key));
    if (v.kind != VUG_TMPL_ABSENT)
        return v;
    const vug_tmpl_value name = vug_tmpl_is_string(key) ? key : vug_tmpl_to_repr(run, key);
    return vug_tmpl_undefined(run, vug_tmpl_object_name(obj), vug_tmpl_as_bytes(name));
}

vug_tmpl_value vug_tmpl_get_path(vug_tmpl_run *run, vug_tmpl_value obj, vug_tmpl_value path,
                                 vug_tmpl_value otherwise)
{
    if (path.kind == VUG_TMPL_NONE || path.kind == VUG_TMPL_ABSENT)
        return obj;
    if (!vug_tmpl_is_string(path)) {
        const vug_tmpl_value v = vug_tmpl_get_item(run, obj, path);
        return v.kind == VUG_TMPL_UNDEFINED && vug_tmpl_has_value(otherwise) ? otherwise : v;
    }
    const vug_tmpl_str dot = { ".", 1, NULL };
    for (size_t at = 0; at <= path.str.len && vug_tmpl_ok(run);) {
        const size_t found = vug_tmpl_find(run, path.str, dot, at);
        const size_t end = found == SIZE_MAX ? path.str.len : found;
        const vug_tmpl_value part = vug_tmpl_string(vug_tmpl_substr(path.str, at, end));
        int64_t index;
        const bool is_index = end > at && path.str.ptr[at] >= '0' && path.str.ptr[at] <= '9' &&
                              vug_tmpl_parse_int(vug_tmpl_as_bytes(part), 10, &index);
        obj = vug_tmpl_get_item(run, obj, is_index ? vug_tmpl_int(index) : part);
        if (obj.kind == VUG_TMPL_UNDEFINED && vug_tmpl_has_value(otherwise))
            obj = otherwise;
        at = end + 1;
    }
    return obj;
}

/* ---- slices ---------------------------------------------------------------------------- */

/* The index that a bound of a slice stands for, among `n` elements. */
static int64_t resolve_bound(vug_tmpl_run *run, vug_tmpl_value bound, int64_t n, int64_t otherwise,
                             bool down)
{
    if (bound.kind == VUG_TMPL_NONE || bound.kind == VUG_TMPL_ABSENT)
        return otherwise;
    if (!vug_tmpl_is_int(bound)) {
        (void)vug_tmpl_fail(run, VUG_FORMAT, "slice indices must be integers or None, not %s",
                            vug_tmpl_type_name(bound));
        return 0;
    }
    int64_t v = vug_tmpl_as_i64(bound);
    if (v < 0)
        v = v < -n ? -1 : v + n;
    else if (v > n)
        v = n;
    if (down)
        return v >= n ? n - 1 : v;
    return v < 0 ? 0 : v;
}

static vug_tmpl_value slice_string(vug_tmpl_run *run, vug_tmpl_value obj, const int64_t at[3])
{
    if (at[1] == 1) {
        const size_t from = vug_tmpl_char_offset(run, obj.str, (size_t)at[0]);
        const size_t to = vug_tmpl_char_offset(run, obj.str, (size_t)(at[0] + at[2]));
        return vug_tmpl_string(vug_tmpl_substr(obj.str, from, to));
    }
    const size_t begin = vug_tmpl_build_begin(run);
    for (int64_t i = 0; i < at[2] && vug_tmpl_charge(run, 1); i++) {
        uint32_t cp;
        const size_t from = vug_tmpl_char_offset(run, obj.str, (size_t)(at[0] + i * at[1]));
        const size_t len = vug_tmpl_decode_char(obj.str, from, &cp);
        vug_tmpl_write(run, vug_tmpl_substr(obj.str, from, from + len));
    }
    return vug_tmpl_build_end(run, begin);
}

vug_tmpl_value vug_tmpl_get_slice(vug_tmpl_run *run, vug_tmpl_value obj,
                                  const vug_tmpl_value bound[3])
{
    size_t n;
    if (obj.kind == VUG_TMPL_UNDEFINED)
        return vug_tmpl_fail_undefined(run, obj);
    const bool sliced = obj.kind == VUG_TMPL_STRING || obj.kind == VUG_TMPL_LIST ||
                        obj.kind == VUG_TMPL_TUPLE || obj.kind == VUG_TMPL_RANGE;
    if (!sliced || !vug_tmpl_length(run, obj, &n))
        return vug_tmpl_fail(run, VUG_FORMAT, "a %s cannot be sliced", vug_tmpl_type_name(obj));
    const int64_t step = vug_tmpl_has_value(bound[2]) && vug_tmpl_is_int(bound[2])
                                 ? vug_tmpl_as_i64(bound[2])
                                 : 1;
    if (step == 0 || step == INT64_MIN)
        return vug_tmpl_fail(run, VUG_FORMAT, "slice step cannot be zero");
    const bool down = step < 0;
    const int64_t size = (int64_t)n;
    const int64_t from = resolve_bound(run, bound[0], size, down ? size - 1 : 0, down);
    const int64_t to = resolve_bound(run, bound[1], size, down ? -1 : size, down);
    const int64_t way = down ? from - to : to - from;
    const int64_t stride = down ? -step : step;
    const int64_t count = way > 0 ? (way - 1) / stride + 1 : 0;
    const int64_t at[3] = { from, count > 1 ? step : 1, count };
    if (obj.kind == VUG_TMPL_STRING)
        return slice_string(run, obj, at);
    if (obj.kind == VUG_TMPL_RANGE) {
        vug_tmpl_range *r = vug_tmpl_alloc(run, 1, sizeof(*r));
        if (!r)
            return vug_tmpl_none();
        *r = (vug_tmpl_range){ .start = vug_tmpl_range_at(obj.range, from),
                               .stop = vug_tmpl_range_at(obj.range, to),
                               .step = (int64_t)((uint64_t)obj.range->step * (uint64_t)step),
                               .n = (size_t)count };
        return (vug_tmpl_value){ .kind = VUG_TMPL_RANGE, .range = r };
    }
    if (at[1] == 1) /* lists are immutable: a part shares their memory */
        return vug_tmpl_new_seq(run, obj.kind, obj.seq->item + from, (size_t)count);
    vug_tmpl_value *item = vug_tmpl_alloc(run, (size_t)count, sizeof(*item));
    for (int64_t i = 0; item && i < count && vug_tmpl_charge(run, 1); i++)
        item[i] = obj.seq->item[from + i * step];
    return item ? vug_tmpl_new_seq(run, obj.kind, item, (size_t)count) : vug_tmpl_none();
}
