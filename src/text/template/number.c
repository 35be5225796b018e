/* Python's numbers: arithmetic, and what it reads as a number. Whole numbers have 64 bits
 * here; a result that needs more is a failure. */

#include <math.h>

#include "core/text.h"
#include "text/template/rows.h"
#include "text/template/text.h"

static vug_tv too_large(vug_run *run)
{
    return vug_run_fail(run, VUG_FORMAT, "a whole number of more than 64 bits");
}

/* Rounded down, and what is left, which has the sign of `b`. */
static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t floor_rest(int64_t a, int64_t b)
{
    const int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static vug_tv power(vug_run *run, int64_t base, int64_t exponent)
{
    int64_t v = 1;
    for (int64_t e = exponent; e > 0; e >>= 1) {
        if ((e & 1) && __builtin_mul_overflow(v, base, &v))
            return too_large(run);
        if (e > 1 && __builtin_mul_overflow(base, base, &base))
            return too_large(run);
    }
    return vug_tv_int(v);
}

static vug_tv real(vug_run *run, int op, double a, double b)
{
    switch (op) {
    case '+':
        return vug_tv_float(a + b);
    case '-':
        return vug_tv_float(a - b);
    case '*':
        return vug_tv_float(a * b);
    case VUG_POWER:
        if (a == 0 && b < 0)
            return vug_run_fail(run, VUG_FORMAT, "0.0 cannot be raised to a negative power");
        if (a < 0 && isfinite(b) && b != floor(b))
            return vug_run_fail(run, VUG_FORMAT, "a complex number");
        if (isinf(pow(a, b)) && isfinite(a) && isfinite(b))
            return vug_run_fail(run, VUG_FORMAT, "numerical result out of range");
        return vug_tv_float(pow(a, b));
    default:
        break;
    }
    if (b == 0)
        return vug_run_fail(run, VUG_FORMAT, "division by zero");
    if (op == '/')
        return vug_tv_float(a / b);
    double rest = fmod(a, b);
    double whole = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) {
        rest += b;
        whole -= 1;
    } else if (rest == 0) {
        rest = copysign(0, b);
    }
    if (op == '%')
        return vug_tv_float(rest);
    const double rounded = floor(whole);
    return vug_tv_float(whole == 0 ? copysign(0, a / b) : rounded + (whole - rounded > 0.5));
}

static vug_tv integer(vug_run *run, int op, int64_t a, int64_t b)
{
    int64_t v = 0;
    switch (op) {
    case '+':
        return __builtin_add_overflow(a, b, &v) ? too_large(run) : vug_tv_int(v);
    case '-':
        return __builtin_sub_overflow(a, b, &v) ? too_large(run) : vug_tv_int(v);
    case '*':
        return __builtin_mul_overflow(a, b, &v) ? too_large(run) : vug_tv_int(v);
    case VUG_POWER:
        return b < 0 ? real(run, op, (double)a, (double)b) : power(run, a, b);
    case '/':
        return real(run, op, (double)a, (double)b);
    default:
        break;
    }
    if (b == 0)
        return vug_run_fail(run, VUG_FORMAT, "integer modulo by zero");
    if (b == -1) /* the smallest number has no negative */
        return op == '%' ? vug_tv_int(0) : integer(run, '-', 0, a);
    return vug_tv_int(op == '%' ? floor_rest(a, b) : floor_div(a, b));
}

/* ---- sequences ----------------------------------------------------------------------- */

static vug_tv repeat(vug_run *run, vug_tv v, int64_t times)
{
    if (times < 0)
        times = 0;
    if (vug_tv_is_string(v)) {
        const size_t from = vug_make(run);
        vug_put_repeated(run, v.str, times);
        vug_tv out = vug_made(run, from);
        out.safe = v.safe;
        return out;
    }
    const size_t n = v.seq->n;
    if (n > 0 && (uint64_t)times > VUG_RUN_MAX_VALUES / sizeof(vug_tv) / n)
        return vug_run_fail(run, VUG_FORMAT, "a list of %zu elements %lld times", n,
                            (long long)times);
    vug_tv *item = vug_run_alloc(run, n * (size_t)times, sizeof(*item));
    for (size_t i = 0; item && i < n * (size_t)times; i++)
        item[i] = v.seq->item[i % n];
    return item ? vug_tv_seq(run, v.kind, item, n * (size_t)times) : vug_tv_none();
}

/* The tail of the run holds `a`, with room for `more` bytes behind it and, where `marked`,
 * with marks; false: there is no memory. What is added to again gets room to spare. */
static bool extend_tail(vug_run *run, vug_tstr a, size_t more, bool marked)
{
    vug_ttail *tail = &run->tail;
    const bool is_tail = tail->ptr && a.ptr == tail->ptr && a.len == tail->used;
    if (!is_tail || more > tail->cap - tail->used) {
        const size_t cap = (a.len + more) * (is_tail ? 2 : 1);
        char *ptr = vug_run_alloc(run, cap, 1);
        if (!ptr || !vug_run_spend_bytes(run, a.len))
            return false;
        memcpy(ptr, a.ptr, a.len);
        *tail = (vug_ttail){ .ptr = ptr, .used = a.len, .cap = cap };
    }
    if (!marked || tail->mark)
        return true;
    tail->mark = vug_run_alloc(run, tail->cap, 1);
    for (size_t i = 0; tail->mark && a.mark && i < a.len; i++)
        tail->mark[i] = vug_tstr_foreign(a, i);
    return tail->mark != NULL;
}

static vug_tv concat(vug_run *run, vug_tv a, vug_tv b)
{
    if (a.safe != b.safe) { /* what is added to markup is escaped */
        const size_t from = vug_make(run);
        const vug_tv part[] = { a, b };
        for (int i = 0; i < 2; i++) {
            if (part[i].safe)
                vug_put(run, part[i].str);
            else
                vug_put_escaped(run, part[i].str);
        }
        vug_tv out = vug_made(run, from);
        out.safe = true;
        return out;
    }
    if (a.str.len + b.str.len > VUG_RUN_MAX_OUTPUT)
        return vug_run_fail(run, VUG_FORMAT, "a string of more than %zu bytes", VUG_RUN_MAX_OUTPUT);
    if (a.str.len == 0 || b.str.len == 0)
        return a.str.len == 0 ? b : a;
    const bool clean = !a.str.mark && !b.str.mark;
    const bool all = a.str.mark == VUG_MARK_ALL && b.str.mark == VUG_MARK_ALL;
    if (!vug_run_spend_bytes(run, b.str.len) || !extend_tail(run, a.str, b.str.len, !clean && !all))
        return vug_tv_none();
    vug_ttail *tail = &run->tail;
    memcpy(tail->ptr + tail->used, b.str.ptr, b.str.len);
    for (size_t i = 0; tail->mark && i < b.str.len; i++)
        tail->mark[tail->used + i] = vug_tstr_foreign(b.str, i);
    tail->used += b.str.len;
    vug_tv out = vug_tv_string((vug_tstr){ tail->ptr, tail->used,
                                           clean ? NULL
                                           : all ? VUG_MARK_ALL
                                                 : tail->mark });
    out.safe = a.safe;
    return out;
}

/* Lists that are added to again and again grow at their end, as strings do. */
static vug_tv join_lists(vug_run *run, vug_tv a, vug_tv b)
{
    const size_t n = a.seq->n;
    vug_tlist *tail = &run->list_tail;
    const bool is_tail = tail->item && a.seq->item == tail->item && n == tail->n;
    if (!is_tail || b.seq->n > tail->cap - n) {
        const size_t cap = (n + b.seq->n) * (is_tail ? 2 : 1);
        vug_tv *item = vug_run_alloc(run, cap, sizeof(*item));
        if (!item || !vug_run_spend(run, n / 8))
            return vug_tv_none();
        if (n)
            memcpy(item, a.seq->item, n * sizeof(*item));
        *tail = (vug_tlist){ item, n, cap };
    }
    if (b.seq->n)
        memcpy(tail->item + n, b.seq->item, b.seq->n * sizeof(*tail->item));
    tail->n += b.seq->n;
    return vug_tv_seq(run, a.kind, tail->item, tail->n);
}

static bool can_repeat(vug_tv v)
{
    return vug_tv_is_string(v) || v.kind == VUG_TV_LIST || v.kind == VUG_TV_TUPLE;
}

vug_tv vug_tv_binary(vug_run *run, int op, vug_tv a, vug_tv b)
{
    if (vug_tv_is_int(a) && vug_tv_is_int(b))
        return integer(run, op, vug_tv_i64(a), vug_tv_i64(b));
    if (vug_tv_is_number(a) && vug_tv_is_number(b))
        return real(run, op, vug_tv_f64(a), vug_tv_f64(b));
    if (op == '%' && vug_tv_is_string(a))
        return vug_tstr_percent(run, a.str, b);
    if (a.kind == VUG_TV_UNDEFINED || b.kind == VUG_TV_UNDEFINED)
        return vug_tv_fail_undefined(run, a.kind == VUG_TV_UNDEFINED ? a : b);
    if (op == '+' && vug_tv_is_string(a) && vug_tv_is_string(b))
        return concat(run, a, b);
    if (op == '+' && a.kind == b.kind && (a.kind == VUG_TV_LIST || a.kind == VUG_TV_TUPLE))
        return join_lists(run, a, b);
    if (op == '*' && can_repeat(a) && vug_tv_is_int(b))
        return repeat(run, a, vug_tv_i64(b));
    if (op == '*' && can_repeat(b) && vug_tv_is_int(a))
        return repeat(run, b, vug_tv_i64(a));
    if (a.kind == VUG_TV_BIG || b.kind == VUG_TV_BIG)
        return too_large(run);
    if (op == '+' && vug_tv_is_string(a))
        return vug_run_fail(run, VUG_FORMAT, "can only concatenate str (not \"%s\") to str",
                            vug_tv_type(b));
    const char text[] = { (char)(op == VUG_FLOOR || op == VUG_POWER ? op >> 8 : op), '\0' };
    return vug_run_fail(run, VUG_FORMAT, "unsupported operand type(s) for %s%s: '%s' and '%s'",
                        text, op == VUG_FLOOR || op == VUG_POWER ? text : "", vug_tv_type(a),
                        vug_tv_type(b));
}

vug_tv vug_tv_negate(vug_run *run, vug_tv v, bool minus)
{
    if (v.kind == VUG_TV_UNDEFINED)
        return vug_tv_fail_undefined(run, v);
    if (!vug_tv_is_number(v))
        return vug_run_fail(run, VUG_FORMAT, "bad operand type for unary %c: '%s'",
                            minus ? '-' : '+', vug_tv_type(v));
    if (v.kind == VUG_TV_FLOAT)
        return minus ? vug_tv_float(-v.f64) : v;
    return integer(run, minus ? '-' : '+', 0, vug_tv_i64(v));
}

/* ---- numbers from text ------------------------------------------------------------------ */

static vug_str stripped(vug_str s)
{
    const vug_tstr t = vug_tstr_strip(NULL, (vug_tstr){ s.ptr, s.len, NULL }, NULL,
                                      VUG_STRIP_LEFT | VUG_STRIP_RIGHT);
    return vug_tstr_bytes(t);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(vug_str s, const char *word)
{
    if (s.len != strlen(word))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if ((s.ptr[i] | 0x20) != word[i])
            return false;
    }
    return true;
}

enum { MAX_SPELLING = 400 };

/* Copies digits with single underscores between, without these. */
static size_t digits(vug_str s, size_t at, char *to, size_t *n)
{
    const size_t from = at;
    while (at < s.len && *n < MAX_SPELLING - 8 &&
           (is_digit(s.ptr[at]) ||
            (s.ptr[at] == '_' && at > from && at + 1 < s.len && is_digit(s.ptr[at + 1])))) {
        if (s.ptr[at] != '_')
            to[(*n)++] = s.ptr[at];
        at++;
    }
    return at;
}

bool vug_parse_py_float(vug_str text, double *out)
{
    vug_str s = stripped(text);
    char spelling[MAX_SPELLING];
    size_t n = 0;
    const bool minus = s.len > 0 && s.ptr[0] == '-';
    if (s.len > 0 && (minus || s.ptr[0] == '+'))
        s = vug_str_from(s, 1);
    if (is_word(s, "inf") || is_word(s, "infinity") || is_word(s, "nan")) {
        *out = is_word(s, "nan") ? NAN : minus ? -INFINITY : INFINITY;
        return true;
    }
    spelling[n++] = '0';
    size_t at = digits(s, 0, spelling, &n);
    size_t count = n - 1;
    if (at < s.len && s.ptr[at] == '.') {
        const size_t point = n;
        spelling[n++] = '.';
        at = digits(s, at + 1, spelling, &n);
        count += n - point - 1;
        if (n == point + 1)
            spelling[n++] = '0';
    }
    if (count == 0)
        return false;
    if (at < s.len && (s.ptr[at] | 0x20) == 'e') {
        spelling[n++] = 'e';
        at++;
        if (at < s.len && (s.ptr[at] == '-' || s.ptr[at] == '+'))
            spelling[n++] = s.ptr[at++];
        const size_t exponent = n;
        at = digits(s, at, spelling, &n);
        if (n == exponent)
            return false;
    }
    if (at != s.len)
        return false;
    *out = vug_decimal_f64((vug_str){ spelling, n });
    if (minus)
        *out = -*out;
    return true;
}

static int digit_of(char c)
{
    if (is_digit(c))
        return c - '0';
    const char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
}

/* 0x, 0o or 0b in front: its base, where `base` is that or 0. */
static int prefix_base(vug_str s, int base)
{
    static const struct {
        char letter;
        int base;
    } row[] = { { 'x', 16 }, { 'o', 8 }, { 'b', 2 } };
    for (size_t i = 0; i < 3 && s.len > 2 && s.ptr[0] == '0'; i++) {
        if ((s.ptr[1] | 0x20) == row[i].letter && (base == 0 || base == row[i].base))
            return row[i].base;
    }
    return 0;
}

bool vug_parse_py_int(vug_str text, int base, int64_t *out)
{
    vug_str s = stripped(text);
    const bool minus = s.len > 0 && s.ptr[0] == '-';
    if (s.len > 0 && (minus || s.ptr[0] == '+'))
        s = vug_str_from(s, 1);
    const int prefix = prefix_base(s, base);
    if (prefix)
        s = vug_str_from(s, s.ptr[2] == '_' ? 3 : 2);
    const bool zeros = base == 0 && !prefix && s.len > 1 && s.ptr[0] == '0';
    if (prefix || base == 0)
        base = prefix ? prefix : 10;
    int64_t v = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '_' && i > 0 && i + 1 < s.len && s.ptr[i - 1] != '_')
            continue;
        const int d = digit_of(s.ptr[i]);
        if (d >= base || (zeros && d > 0) || __builtin_mul_overflow(v, base, &v) ||
            __builtin_sub_overflow(v, d, &v)) /* below 0, where there is one number more */
            return false;
    }
    if (s.len == 0 || (!minus && v == INT64_MIN))
        return false;
    *out = minus ? v : -v;
    return true;
}
