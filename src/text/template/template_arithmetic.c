/* Python's arithmetic. Whole numbers have 64 bits; a result that needs more is a failure. */

#include <math.h>

#include "text/template/template_operations.h"
#include "text/template/template_strings.h"

static vug_tmpl_value too_large(vug_tmpl_run *run)
{
    return vug_tmpl_fail(run, VUG_FORMAT, "a whole number of more than 64 bits");
}

/* The quotient rounded down, and the remainder, which has the sign of `b`. */
static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t floor_rest(int64_t a, int64_t b)
{
    const int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static vug_tmpl_value int_power(vug_tmpl_run *run, int64_t base, int64_t exponent)
{
    int64_t v = 1;
    for (int64_t e = exponent; e > 0; e >>= 1) {
        if ((e & 1) && __builtin_mul_overflow(v, base, &v))
            return too_large(run);
        if (e > 1 && __builtin_mul_overflow(base, base, &base))
            return too_large(run);
    }
    return vug_tmpl_int(v);
}

static vug_tmpl_value float_binary(vug_tmpl_run *run, int op, double a, double b)
{
    switch (op) {
    case '+':
        return vug_tmpl_float(a + b);
    case '-':
        return vug_tmpl_float(a - b);
    case '*':
        return vug_tmpl_float(a * b);
    case VUG_TMPL_OP_POWER:
        if (a == 0 && b < 0)
            return vug_tmpl_fail(run, VUG_FORMAT, "0.0 cannot be raised to a negative power");
        if (a < 0 && isfinite(b) && b != floor(b))
            return vug_tmpl_fail(run, VUG_FORMAT, "a complex number");
        if (isinf(pow(a, b)) && isfinite(a) && isfinite(b))
            return vug_tmpl_fail(run, VUG_FORMAT, "numerical result out of range");
        return vug_tmpl_float(pow(a, b));
    default:
        break;
    }
    if (b == 0)
        return vug_tmpl_fail(run, VUG_FORMAT, "division by zero");
    if (op == '/')
        return vug_tmpl_float(a / b);
    double rest = fmod(a, b);
    double whole = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) {
        rest += b;
        whole -= 1;
    } else if (rest == 0) {
        rest = copysign(0, b);
    }
    if (op == '%')
        return vug_tmpl_float(rest);
    const double rounded = floor(whole);
    return vug_tmpl_float(whole == 0 ? copysign(0, a / b) : rounded + (whole - rounded > 0.5));
}

static vug_tmpl_value int_binary(vug_tmpl_run *run, int op, int64_t a, int64_t b)
{
    int64_t v = 0;
    switch (op) {
    case '+':
        return __builtin_add_overflow(a, b, &v) ? too_large(run) : vug_tmpl_int(v);
    case '-':
        return __builtin_sub_overflow(a, b, &v) ? too_large(run) : vug_tmpl_int(v);
    case '*':
        return __builtin_mul_overflow(a, b, &v) ? too_large(run) : vug_tmpl_int(v);
    case VUG_TMPL_OP_POWER:
        return b < 0 ? float_binary(run, op, (double)a, (double)b) : int_power(run, a, b);
    case '/':
        return float_binary(run, op, (double)a, (double)b);
    default:
        break;
    }
    if (b == 0)
        return vug_tmpl_fail(run, VUG_FORMAT, "integer modulo by zero");
    if (b == -1) /* the smallest number has no negation */
        return op == '%' ? vug_tmpl_int(0) : int_binary(run, '-', 0, a);
    return vug_tmpl_int(op == '%' ? floor_rest(a, b) : floor_div(a, b));
}

/* ---- sequences ----------------------------------------------------------------------- */

static vug_tmpl_value repeat_value(vug_tmpl_run *run, vug_tmpl_value v, int64_t times)
{
    if (times < 0)
        times = 0;
    if (vug_tmpl_is_string(v)) {
        const size_t from = vug_tmpl_build_begin(run);
        vug_tmpl_write_repeated(run, v.str, times);
        return vug_tmpl_build_end(run, from);
    }
    const size_t n = v.seq->n;
    if (n > 0 && (uint64_t)times > VUG_TMPL_MAX_MEMORY / sizeof(vug_tmpl_value) / n)
        return vug_tmpl_fail(run, VUG_FORMAT, "a list of %zu elements %lld times", n,
                             (long long)times);
    vug_tmpl_value *item = vug_tmpl_alloc(run, n * (size_t)times, sizeof(*item));
    for (size_t i = 0; item && i < n * (size_t)times; i++)
        item[i] = v.seq->item[i % n];
    return item ? vug_tmpl_new_seq(run, v.kind, item, n * (size_t)times) : vug_tmpl_none();
}

/* Makes the tail of the run hold `a`, with room for `more` bytes and, where `tainted`, a taint
 * per byte. A string that is appended to again gets spare room. False: out of memory. */
static bool extend_tail(vug_tmpl_run *run, vug_tmpl_str a, size_t more, bool tainted)
{
    vug_tmpl_tail *tail = &run->tail;
    const bool is_tail = tail->ptr && a.ptr == tail->ptr && a.len == tail->used;
    if (!is_tail || more > tail->cap - tail->used) {
        const size_t cap = (a.len + more) * (is_tail ? 2 : 1);
        char *ptr = vug_tmpl_alloc(run, cap, 1);
        if (!ptr || !vug_tmpl_charge_bytes(run, a.len))
            return false;
        memcpy(ptr, a.ptr, a.len);
        *tail = (vug_tmpl_tail){ .ptr = ptr, .used = a.len, .cap = cap };
    }
    if (!tainted || tail->taint)
        return true;
    tail->taint = vug_tmpl_alloc(run, tail->cap, 1);
    for (size_t i = 0; tail->taint && a.taint && i < a.len; i++)
        tail->taint[i] = vug_tmpl_is_tainted(a, i);
    return tail->taint != NULL;
}

static vug_tmpl_value concat_strings(vug_tmpl_run *run, vug_tmpl_value a, vug_tmpl_value b)
{
    if (a.str.len + b.str.len > VUG_TMPL_MAX_OUTPUT)
        return vug_tmpl_fail(run, VUG_FORMAT, "a string of more than %zu bytes",
                             VUG_TMPL_MAX_OUTPUT);
    if (a.str.len == 0 || b.str.len == 0)
        return a.str.len == 0 ? b : a;
    const bool clean = !a.str.taint && !b.str.taint;
    const bool all = a.str.taint == VUG_TMPL_TAINT_ALL && b.str.taint == VUG_TMPL_TAINT_ALL;
    if (!vug_tmpl_charge_bytes(run, b.str.len) ||
        !extend_tail(run, a.str, b.str.len, !clean && !all))
        return vug_tmpl_none();
    vug_tmpl_tail *tail = &run->tail;
    memcpy(tail->ptr + tail->used, b.str.ptr, b.str.len);
    for (size_t i = 0; tail->taint && i < b.str.len; i++)
        tail->taint[tail->used + i] = vug_tmpl_is_tainted(b.str, i);
    tail->used += b.str.len;
    return vug_tmpl_string((vug_tmpl_str){ tail->ptr, tail->used,
                                           clean ? NULL
                                           : all ? VUG_TMPL_TAINT_ALL
                                                 : tail->taint });
}

/* Appends in place to the list that was made last, as concat_strings does. */
static vug_tmpl_value join_lists(vug_tmpl_run *run, vug_tmpl_value a, vug_tmpl_value b)
{
    const size_t n = a.seq->n;
    vug_tmpl_list *tail = &run->list_tail;
    const bool is_tail = tail->item && a.seq->item == tail->item && n == tail->n;
    if (!is_tail || b.seq->n > tail->cap - n) {
        const size_t cap = (n + b.seq->n) * (is_tail ? 2 : 1);
        vug_tmpl_value *item = vug_tmpl_alloc(run, cap, sizeof(*item));
        if (!item || !vug_tmpl_charge(run, n / 8))
            return vug_tmpl_none();
        if (n)
            memcpy(item, a.seq->item, n * sizeof(*item));
        *tail = (vug_tmpl_list){ item, n, cap };
    }
    if (b.seq->n)
        memcpy(tail->item + n, b.seq->item, b.seq->n * sizeof(*tail->item));
    tail->n += b.seq->n;
    return vug_tmpl_new_seq(run, a.kind, tail->item, tail->n);
}

static bool can_repeat(vug_tmpl_value v)
{
    return vug_tmpl_is_string(v) || v.kind == VUG_TMPL_LIST || v.kind == VUG_TMPL_TUPLE;
}

vug_tmpl_value vug_tmpl_binary(vug_tmpl_run *run, int op, vug_tmpl_value a, vug_tmpl_value b)
{
    if (vug_tmpl_is_int(a) && vug_tmpl_is_int(b))
        return int_binary(run, op, vug_tmpl_as_i64(a), vug_tmpl_as_i64(b));
    if (vug_tmpl_is_number(a) && vug_tmpl_is_number(b))
        return float_binary(run, op, vug_tmpl_as_f64(a), vug_tmpl_as_f64(b));
    if (op == '%' && vug_tmpl_is_string(a))
        return vug_tmpl_format_percent(run, a.str, b);
    if (a.kind == VUG_TMPL_UNDEFINED || b.kind == VUG_TMPL_UNDEFINED)
        return vug_tmpl_fail_undefined(run, a.kind == VUG_TMPL_UNDEFINED ? a : b);
    if (op == '+' && vug_tmpl_is_string(a) && vug_tmpl_is_string(b))
        return concat_strings(run, a, b);
    if (op == '+' && a.kind == b.kind && (a.kind == VUG_TMPL_LIST || a.kind == VUG_TMPL_TUPLE))
        return join_lists(run, a, b);
    if (op == '*' && can_repeat(a) && vug_tmpl_is_int(b))
        return repeat_value(run, a, vug_tmpl_as_i64(b));
    if (op == '*' && can_repeat(b) && vug_tmpl_is_int(a))
        return repeat_value(run, b, vug_tmpl_as_i64(a));
    if (a.kind == VUG_TMPL_BIGINT || b.kind == VUG_TMPL_BIGINT)
        return too_large(run);
    if (op == '+' && vug_tmpl_is_string(a))
        return vug_tmpl_fail(run, VUG_FORMAT, "can only concatenate str (not \"%s\") to str",
                             vug_tmpl_type_name(b));
    const char text[] = {
        (char)(op == VUG_TMPL_OP_FLOORDIV || op == VUG_TMPL_OP_POWER ? op >> 8 : op), '\0'
    };
    return vug_tmpl_fail(run, VUG_FORMAT, "unsupported operand type(s) for %s%s: '%s' and '%s'",
                         text, op == VUG_TMPL_OP_FLOORDIV || op == VUG_TMPL_OP_POWER ? text : "",
                         vug_tmpl_type_name(a), vug_tmpl_type_name(b));
}

vug_tmpl_value vug_tmpl_negate(vug_tmpl_run *run, vug_tmpl_value v, bool minus)
{
    if (v.kind == VUG_TMPL_UNDEFINED)
        return vug_tmpl_fail_undefined(run, v);
    if (!vug_tmpl_is_number(v))
        return vug_tmpl_fail(run, VUG_FORMAT, "bad operand type for unary %c: '%s'",
                             minus ? '-' : '+', vug_tmpl_type_name(v));
    if (v.kind == VUG_TMPL_FLOAT)
        return minus ? vug_tmpl_float(-v.f64) : v;
    return int_binary(run, minus ? '-' : '+', 0, vug_tmpl_as_i64(v));
}
