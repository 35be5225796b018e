/* What stands behind `is` (jinja2/tests.py). */

#include "text/template/ast.h"
#include "text/template/rows.h"
#include "text/template/text.h"
#include "text/unicode.h"

static vug_tv is_kind(vug_run *run, vug_tv self, const vug_tv *arg, int kind)
{
    (void)run, (void)arg;
    return vug_tv_bool(self.kind == (vug_tv_kind)kind);
}

static vug_tv is_defined(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)run, (void)arg, (void)data;
    return vug_tv_bool(self.kind != VUG_TV_UNDEFINED);
}

static vug_tv is_truth(vug_run *run, vug_tv self, const vug_tv *arg, int value)
{
    (void)run, (void)arg;
    return vug_tv_bool(self.kind == VUG_TV_BOOL && self.boolean == (value != 0));
}

static vug_tv is_integer(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)run, (void)arg, (void)data;
    return vug_tv_bool(self.kind == VUG_TV_INT || self.kind == VUG_TV_BIG);
}

static vug_tv is_number(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)run, (void)arg, (void)data;
    return vug_tv_bool(vug_tv_is_number(self) || self.kind == VUG_TV_BIG);
}

static vug_tv is_sequence(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)arg, (void)data;
    size_t n;
    return vug_tv_bool(self.kind != VUG_TV_VIEW && vug_tv_length(run, self, &n));
}

static vug_tv is_iterable(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)run, (void)arg, (void)data;
    return vug_tv_bool(vug_tv_is_iterable(self) || self.kind == VUG_TV_LOOP);
}

static vug_tv is_callable(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)run, (void)arg, (void)data;
    return vug_tv_bool(self.kind == VUG_TV_MACRO || self.kind == VUG_TV_FUNCTION ||
                       self.kind == VUG_TV_METHOD || self.kind == VUG_TV_JOINER ||
                       self.kind == VUG_TV_LOOP || self.kind == VUG_TV_UNDEFINED);
}

static vug_tv is_sameas(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const vug_tv other = arg[0];
    if (self.kind != other.kind)
        return vug_tv_bool(false);
    if (self.kind == VUG_TV_LIST || self.kind == VUG_TV_TUPLE || self.kind == VUG_TV_DICT ||
        self.kind == VUG_TV_ITERATOR)
        return vug_tv_bool(self.vars == other.vars);
    return vug_tv_bool(vug_tv_equal(run, self, other));
}

/* The comparisons, by their operator. */
enum { EQ, NE, LT, LE, GT, GE };

static vug_tv is_compared(vug_run *run, vug_tv self, const vug_tv *arg, int op)
{
    static const char *const text[] = { "==", "!=", "<", "<=", ">", ">=" };
    if (op == EQ || op == NE)
        return vug_tv_bool(vug_tv_equal(run, self, arg[0]) == (op == EQ));
    const int order = vug_tv_compare(run, self, arg[0], text[op]);
    if (order == 2)
        return vug_tv_bool(false);
    return vug_tv_bool(op == LT   ? order < 0
                       : op == LE ? order <= 0
                       : op == GT ? order > 0
                                  : order >= 0);
}

static vug_tv is_in(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    return vug_tv_bool(vug_tv_in(run, self, arg[0]));
}

static vug_tv is_divisible(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)data;
    const vug_tv rest = vug_tv_binary(run, '%', self, arg[0]);
    return vug_tv_bool(vug_tv_equal(run, rest, vug_tv_int(0)));
}

static vug_tv is_odd(vug_run *run, vug_tv self, const vug_tv *arg, int odd)
{
    (void)arg;
    const vug_tv rest = vug_tv_binary(run, '%', self, vug_tv_int(2));
    return vug_tv_bool(vug_tv_equal(run, rest, vug_tv_int(odd)));
}

static vug_tv is_case(vug_run *run, vug_tv self, const vug_tv *arg, int upper)
{
    (void)arg;
    const vug_row *row = vug_method_row(VUG_TV_STRING, vug_str_of(upper ? "isupper" : "islower"));
    return vug_row_call(run, "test", row, vug_tv_str(run, self), &(vug_targs){ 0 });
}

static vug_tv is_escaped(vug_run *run, vug_tv self, const vug_tv *arg, int data)
{
    (void)run, (void)arg, (void)data;
    return vug_tv_bool(vug_tv_is_string(self) && self.safe);
}

static vug_tv is_known(vug_run *run, vug_tv self, const vug_tv *arg, int filter)
{
    (void)arg;
    const vug_str name = vug_tstr_bytes(vug_arg_string(run, self));
    const vug_row *row = filter ? vug_filter_row(name) : vug_test_row(name);
    return vug_tv_bool(row != NULL);
}

const vug_row vug_tests[] = {
    { "defined", "", is_defined, 0 },
    { "undefined", "", is_kind, VUG_TV_UNDEFINED },
    { "none", "", is_kind, VUG_TV_NONE },
    { "boolean", "", is_kind, VUG_TV_BOOL },
    { "float", "", is_kind, VUG_TV_FLOAT },
    { "string", "", is_kind, VUG_TV_STRING },
    { "mapping", "", is_kind, VUG_TV_DICT },
    { "true", "", is_truth, 1 },
    { "false", "", is_truth, 0 },
    { "integer", "", is_integer, 0 },
    { "number", "", is_number, 0 },
    { "sequence", "", is_sequence, 0 },
    { "iterable", "", is_iterable, 0 },
    { "callable", "", is_callable, 0 },
    { "sameas", "other", is_sameas, 0 },
    { "eq", "b", is_compared, EQ },
    { "equalto", "b", is_compared, EQ },
    { "==", "b", is_compared, EQ },
    { "ne", "b", is_compared, NE },
    { "!=", "b", is_compared, NE },
    { "lt", "b", is_compared, LT },
    { "lessthan", "b", is_compared, LT },
    { "<", "b", is_compared, LT },
    { "le", "b", is_compared, LE },
    { "<=", "b", is_compared, LE },
    { "gt", "b", is_compared, GT },
    { "greaterthan", "b", is_compared, GT },
    { ">", "b", is_compared, GT },
    { "ge", "b", is_compared, GE },
    { ">=", "b", is_compared, GE },
    { "in", "seq", is_in, 0 },
    { "divisibleby", "num", is_divisible, 0 },
    { "odd", "", is_odd, 1 },
    { "even", "", is_odd, 0 },
    { "upper", "", is_case, 1 },
    { "lower", "", is_case, 0 },
    { "escaped", "", is_escaped, 0 },
    { "filter", "", is_known, 1 },
    { "test", "", is_known, 0 },
    { NULL, NULL, NULL, 0 },
};
