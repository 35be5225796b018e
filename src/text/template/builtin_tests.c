/* The tests of `is` (jinja2/tests.py). */

#include "text/template/builtins.h"
#include "text/template/template_operations.h"

static vug_tmpl_value is_kind(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                              int kind)
{
    (void)run, (void)arg;
    return vug_tmpl_bool(self.kind == (vug_tmpl_kind)kind);
}

static vug_tmpl_value is_defined(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                 int data)
{
    (void)run, (void)arg, (void)data;
    return vug_tmpl_bool(self.kind != VUG_TMPL_UNDEFINED);
}

static vug_tmpl_value is_truth(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                               int value)
{
    (void)run, (void)arg;
    return vug_tmpl_bool(self.kind == VUG_TMPL_BOOL && self.boolean == (value != 0));
}

static vug_tmpl_value is_integer(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                 int data)
{
    (void)run, (void)arg, (void)data;
    return vug_tmpl_bool(self.kind == VUG_TMPL_INT || self.kind == VUG_TMPL_BIGINT);
}

static vug_tmpl_value is_number(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                int data)
{
    (void)run, (void)arg, (void)data;
    return vug_tmpl_bool(vug_tmpl_is_number(self) || self.kind == VUG_TMPL_BIGINT);
}

static vug_tmpl_value is_sequence(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                  int data)
{
    (void)arg, (void)data;
    size_t n;
    return vug_tmpl_bool(self.kind != VUG_TMPL_VIEW && vug_tmpl_length(run, self, &n));
}

static vug_tmpl_value is_iterable(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                  int data)
{
    (void)run, (void)arg, (void)data;
    return vug_tmpl_bool(vug_tmpl_is_iterable(self) || self.kind == VUG_TMPL_LOOP);
}

static vug_tmpl_value is_callable(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                  int data)
{
    (void)run, (void)arg, (void)data;
    return vug_tmpl_bool(self.kind == VUG_TMPL_MACRO || self.kind == VUG_TMPL_FUNCTION ||
                         self.kind == VUG_TMPL_METHOD || self.kind == VUG_TMPL_LOOP ||
                         self.kind == VUG_TMPL_UNDEFINED);
}

static vug_tmpl_value is_sameas(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                int data)
{
    (void)data;
    const vug_tmpl_value other = arg[0];
    if (self.kind != other.kind)
        return vug_tmpl_bool(false);
    if (self.kind == VUG_TMPL_LIST || self.kind == VUG_TMPL_TUPLE || self.kind == VUG_TMPL_DICT ||
        self.kind == VUG_TMPL_ITERATOR)
        return vug_tmpl_bool(self.vars == other.vars);
    return vug_tmpl_bool(vug_tmpl_equal(run, self, other));
}

/* Comparisons, by operator. */
enum { EQ, NE, LT, LE, GT, GE };

static vug_tmpl_value is_compared(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                                  int op)
{
    static const char *const text[] = { "==", "!=", "<", "<=", ">", ">=" };
    if (op == EQ || op == NE)
        return vug_tmpl_bool(vug_tmpl_equal(run, self, arg[0]) == (op == EQ));
    const int order = vug_tmpl_compare(run, self, arg[0], text[op]);
    if (order == 2)
        return vug_tmpl_bool(false);
    return vug_tmpl_bool(op == LT   ? order < 0
                         : op == LE ? order <= 0
                         : op == GT ? order > 0
                                    : order >= 0);
}

static vug_tmpl_value is_in(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                            int data)
{
    (void)data;
    return vug_tmpl_bool(vug_tmpl_is_in(run, self, arg[0]));
}

static vug_tmpl_value is_divisible(vug_tmpl_run *run, vug_tmpl_value self,
                                   const vug_tmpl_value *arg, int data)
{
    (void)data;
    const vug_tmpl_value rest = vug_tmpl_binary(run, '%', self, arg[0]);
    return vug_tmpl_bool(vug_tmpl_equal(run, rest, vug_tmpl_int(0)));
}

static vug_tmpl_value is_odd(vug_tmpl_run *run, vug_tmpl_value self, const vug_tmpl_value *arg,
                             int odd)
{
    (void)arg;
    const vug_tmpl_value rest = vug_tmpl_binary(run, '%', self, vug_tmpl_int(2));
    return vug_tmpl_bool(vug_tmpl_equal(run, rest, vug_tmpl_int(odd)));
}

const vug_tmpl_builtin vug_tmpl_value_tests[] = {
    { "defined", "", is_defined, 0 },
    { "undefined", "", is_kind, VUG_TMPL_UNDEFINED },
    { "none", "", is_kind, VUG_TMPL_NONE },
    { "boolean", "", is_kind, VUG_TMPL_BOOL },
    { "float", "", is_kind, VUG_TMPL_FLOAT },
    { "string", "", is_kind, VUG_TMPL_STRING },
    { "mapping", "", is_kind, VUG_TMPL_DICT },
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
    { "escaped", "", NULL, 0 },
    { "lower", "", NULL, 0 },
    { "upper", "", NULL, 0 },
    { NULL, NULL, NULL, 0 },
};
