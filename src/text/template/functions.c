/* The functions that every template can call (jinja2/defaults.py, and what transformers
 * adds), and the methods of what they make. */

#include <time.h>

#include "text/template/ast.h"
#include "text/template/rows.h"
#include "text/template/text.h"

static vug_tv fn_range(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)self, (void)data;
    const bool one = !vug_given(arg[1]);
    const int64_t start = one ? 0 : vug_arg_int(run, arg[0], 0);
    const int64_t stop = vug_arg_int(run, one ? arg[0] : arg[1], 0);
    const int64_t step = vug_given(arg[2]) ? vug_arg_int(run, arg[2], 0) : 1;
    for (int i = 0; i < 3; i++) {
        if (arg[i].kind == VUG_TV_NONE)
            return vug_run_fail(run, VUG_FORMAT, "range: expected a whole number, found None");
    }
    if (step == 0)
        return vug_run_fail(run, VUG_FORMAT, "range() arg 3 must not be zero");
    uint64_t n = 0;
    if (step > 0 ? start < stop : start > stop) {
        const uint64_t way =
                step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
        const uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
        n = (way - 1) / stride + 1;
    }
    if (n > VUG_RUN_MAX_RANGE)
        return vug_run_fail(run, VUG_FORMAT, "range() of %llu elements, at most %d are allowed",
                            (unsigned long long)n, VUG_RUN_MAX_RANGE);
    vug_trange *range = vug_run_alloc(run, 1, sizeof(*range));
    if (!range)
        return vug_tv_none();
    *range = (vug_trange){ start, stop, step, (size_t)n };
    return (vug_tv){ .kind = VUG_TV_RANGE, .range = range };
}

/* dict(other, a=b): what `arg` holds of both, in order. */
static vug_tv merged(vug_run *run, const vug_tv *arg)
{
    vug_tlist key = { 0 };
    vug_tlist value = { 0 };
    if (arg[0].seq->n > 1)
        return vug_run_fail(run, VUG_FORMAT, "dict expected at most 1 argument, got %zu",
                            arg[0].seq->n);
    const vug_tv from = arg[0].seq->n ? arg[0].seq->item[0] : arg[1];
    const vug_tdict *dict[] = { from.kind == VUG_TV_DICT ? from.dict : NULL, arg[1].dict };
    if (!dict[0]) {
        const vug_tseq pairs = vug_tv_elements(run, from);
        for (size_t i = 0; i < pairs.n && vug_run_ok(run); i++) {
            const vug_tseq pair = vug_tv_elements(run, pairs.item[i]);
            if (pair.n != 2)
                return vug_run_fail(run, VUG_FORMAT, "dict: expected pairs");
            vug_tlist_add(run, &key, pair.item[0]);
            vug_tlist_add(run, &value, pair.item[1]);
        }
    }
    for (int d = 0; d < 2; d++) {
        for (size_t i = 0; dict[d] && i < dict[d]->n && vug_run_spend(run, 1); i++) {
            vug_tlist_add(run, &key, dict[d]->key[i]);
            vug_tlist_add(run, &value, dict[d]->value[i]);
        }
    }
    return vug_run_ok(run) ? vug_tv_dict(run, key.item, value.item, key.n) : vug_tv_none();
}

static vug_tv fn_dict(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)self, (void)data;
    return merged(run, arg);
}

static vug_tv fn_namespace(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)self, (void)data;
    const vug_tv all = merged(run, arg);
    vug_tvars *vars = vug_run_alloc(run, 1, sizeof(*vars));
    for (size_t i = 0; vars && vug_run_ok(run) && i < all.dict->n; i++) {
        const vug_tv name = all.dict->key[i];
        if (!vug_tv_is_string(name) || vug_str_starts(vug_tv_bytes(name), "_"))
            return vug_run_fail(run, VUG_FORMAT, "a namespace has no attributes of that name");
        vug_tvars_set(run, vars, vug_tv_bytes(name), all.dict->value[i]);
    }
    return vars ? (vug_tv){ .kind = VUG_TV_NAMESPACE, .vars = vars } : vug_tv_none();
}

static vug_tv fn_cycler(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)self, (void)data;
    if (arg[0].seq->n == 0)
        return vug_run_fail(run, VUG_FORMAT, "cycler: at least one item has to be provided");
    return vug_tv_seq(run, VUG_TV_CYCLER, arg[0].seq->item, arg[0].seq->n);
}

static vug_tv fn_joiner(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)self, (void)data;
    vug_tv *by = vug_run_alloc(run, 1, sizeof(*by));
    if (!by)
        return vug_tv_none();
    *by = vug_given(arg[0]) ? arg[0] : vug_tv_text(", ");
    return vug_tv_seq(run, VUG_TV_JOINER, by, 1);
}

static vug_tv fn_raise(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)self, (void)data;
    const vug_tv message = vug_tv_str(run, arg[0]);
    return vug_run_fail(run, VUG_FORMAT, "%.*s", VUG_STR_ARG(vug_tv_bytes(message)));
}

/* The time in the form that strftime has. */
static vug_tv fn_strftime_now(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)self, (void)data;
    enum { MAX_FORMAT = 200, MAX_TIME = 4096 };
    const vug_tstr s = vug_arg_string(run, arg[0]);
    char format[MAX_FORMAT + 2];
    char text[MAX_TIME];
    if (s.len > MAX_FORMAT || memchr(s.ptr, '\0', s.len))
        return vug_run_fail(run, VUG_FORMAT, "strftime_now: expected a format of at most %d bytes",
                            MAX_FORMAT);
    (void)memcpy(format, s.ptr, s.len);
    format[s.len] = '.'; /* so that no time at all is not taken for too long a one */
    format[s.len + 1] = '\0';
    const time_t now = (time_t)run->now;
    struct tm local;
    if (!localtime_r(&now, &local))
        return vug_run_fail(run, VUG_FORMAT, "strftime_now: a time that no calendar has");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    const size_t n = strftime(text, sizeof(text), format, &local);
#pragma GCC diagnostic pop
    if (n == 0)
        return vug_run_fail(run, VUG_FORMAT, "strftime_now: more than %d bytes", MAX_TIME);
    const size_t from = vug_make(run);
    vug_put_bytes(run, text, n - 1, s.mark != NULL);
    return vug_made(run, from);
}

const vug_row vug_functions[] = {
    { "range", "start stop? step?", fn_range, 0 },
    { "dict", "* **", fn_dict, 0 },
    { "namespace", "* **", fn_namespace, 0 },
    { "cycler", "*", fn_cycler, 0 },
    { "joiner", "sep?", fn_joiner, 0 },
    { "raise_exception", "message", fn_raise, 0 },
    { "strftime_now", "format", fn_strftime_now, 0 },
    { "lipsum", "", NULL, 0 },
    { NULL, NULL, NULL, 0 },
};

/* ---- methods of cyclers and loops ---------------------------------------------------------- */

static vug_tv cycler_next(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)run, (void)arg, (void)data;
    const vug_tv v = self.seq->item[self.seq->at];
    self.seq->at = (self.seq->at + 1) % self.seq->n;
    return v;
}

static vug_tv cycler_reset(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)run, (void)arg, (void)data;
    self.seq->at = 0;
    return vug_tv_none();
}

const vug_row vug_cycler_methods[] = {
    { "next", "", cycler_next, 0 },
    { "reset", "", cycler_reset, 0 },
    { NULL, NULL, NULL, 0 },
};

static vug_tv loop_cycle(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const vug_tseq *seq = arg[0].seq;
    if (seq->n == 0)
        return vug_run_fail(run, VUG_FORMAT, "no items for cycling given");
    return seq->item[(size_t)self.loop->index0 % seq->n];
}

static vug_tv loop_changed(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const bool same = self.loop->changed.kind == VUG_TV_TUPLE &&
                      vug_tv_equal(run, self.loop->changed, arg[0]);
    self.loop->changed = arg[0];
    return vug_tv_bool(!same);
}

const vug_row vug_loop_methods[] = {
    { "cycle", "*", loop_cycle, 0 },
    { "changed", "*", loop_changed, 0 },
    { NULL, NULL, NULL, 0 },
};
