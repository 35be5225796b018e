#include "text/grammar/schema_number.h"

/*
 * Numbers between bounds, digit by digit: which digits may come next depends on whether the
 * digits so far equal those of a bound. So bounds are exact, whatever their number of digits.
 *
 *     7 to 123: [7-9] | [1-9][0-9] | 1 ([0-1][0-9] | 2[0-3])
 */

enum {
    MAX_INTEGER = VUG_JSON_MAX_DIGITS,
    MAX_FRACTION = VUG_JSON_MAX_DIGITS,
    MAX_PLACES = MAX_INTEGER + MAX_FRACTION,
};

/* No digits lead to a number of the range. */
static const vug_grammar_expr NO_DIGITS = UINT32_MAX - 1;

/* Builds the numbers from 0 on with `n_integer` digits before the decimal point. */
typedef struct {
    vug_schema_compiler *s;
    int n_integer, n_fraction;
    char low[MAX_PLACES], high[MAX_PLACES]; /* the digits of the bounds */
    bool low_open, high_open;
    bool no_integer; /* a digit after the point must not be 0 */
} digit_builder;

/* After `at` digits. `low`, `high`: they equal those of the bound. */
typedef struct {
    int at;
    bool low, high;
    bool nonzero; /* a digit after the point is not 0 */
} digit_place;

static vug_grammar_expr next_digit(digit_builder *d, digit_place p);

static bool all_zeros(const char *digit, int from)
{
    for (int i = from; i < MAX_PLACES; i++)
        if (digit[i] != 0)
            return false;
    return true;
}

static bool may_end(const digit_builder *d, digit_place p)
{
    if (d->no_integer && !p.nonzero)
        return false;
    if (p.low && (d->low_open || !all_zeros(d->low, p.at)))
        return false;
    return !(p.high && d->high_open && all_zeros(d->high, p.at));
}

/* Any digits from here on. */
static vug_grammar_expr any_digits(const digit_builder *d, int at)
{
    vug_grammar_builder *b = d->s->builder;
    const vug_grammar_expr digit = d->s->json.digit;
    if (at > d->n_integer)
        return vug_grammar_repeat(b, digit, 0, (uint32_t)(d->n_integer + d->n_fraction - at));
    const uint32_t n = (uint32_t)(d->n_integer - at);
    const vug_grammar_expr integer = vug_grammar_repeat(b, digit, n, n);
    if (d->n_fraction == 0)
        return integer;
    const vug_grammar_expr fraction = VUG_GRAMMAR_SEQUENCE(
            b, vug_grammar_text(b, "."), vug_grammar_repeat(b, digit, 1, (uint32_t)d->n_fraction));
    return VUG_GRAMMAR_SEQUENCE(b, integer, vug_grammar_optional(b, fraction));
}

/* Any digits after the point from here on, the last one not 0. */
static vug_grammar_expr any_fraction(const digit_builder *d, int at)
{
    vug_grammar_builder *b = d->s->builder;
    const int left = d->n_integer + d->n_fraction - at;
    if (left == 0)
        return NO_DIGITS;
    const vug_grammar_expr digits =
            VUG_GRAMMAR_SEQUENCE(b, vug_grammar_repeat(b, d->s->json.digit, 0, (uint32_t)left - 1),
                                 vug_grammar_digit(b, 1, 9));
    return at > d->n_integer ? digits : VUG_GRAMMAR_SEQUENCE(b, vug_grammar_text(b, "."), digits);
}

/* One level of recursion per digit. */
static vug_grammar_expr following_digits(digit_builder *d,
                                         digit_place p) // NOLINT(misc-no-recursion)
{
    if (!p.low && !p.high && (!d->no_integer || p.nonzero))
        return any_digits(d, p.at);
    if (!p.low && !p.high && p.at >= d->n_integer)
        return any_fraction(d, p.at);
    if (p.at < d->n_integer)
        return next_digit(d, p);
    vug_grammar_expr part[2];
    size_t n = 0;
    if (may_end(d, p))
        part[n++] = VUG_EMPTY_EXPR;
    if (p.at < d->n_integer + d->n_fraction) {
        const vug_grammar_expr more = next_digit(d, p);
        if (more != NO_DIGITS)
            part[n++] = p.at > d->n_integer
                                ? more
                                : VUG_GRAMMAR_SEQUENCE(d->s->builder,
                                                       vug_grammar_text(d->s->builder, "."), more);
    }
    return n ? vug_grammar_choice(d->s->builder, part, n) : NO_DIGITS;
}

/* The digits `from` to `to` and what may follow them. */
static size_t add_digits(digit_builder *d, unsigned from, unsigned to, // NOLINT(misc-no-recursion)
                         digit_place next, vug_grammar_expr *part)
{
    vug_grammar_builder *b = d->s->builder;
    if (!vug_schema_charge(d->s, 1))
        return 0;
    if (next.at > d->n_integer && from == 0 && to > 0 && d->no_integer && !next.nonzero) {
        const size_t n = add_digits(d, 0, 0, next, part);
        return n + add_digits(d, 1, to, next, part + n);
    }
    next.nonzero = next.nonzero || (next.at > d->n_integer && from > 0);
    const vug_grammar_expr rest = following_digits(d, next);
    if (rest != NO_DIGITS)
        *part = VUG_GRAMMAR_SEQUENCE(b, vug_grammar_digit(b, from, to), rest);
    return rest != NO_DIGITS;
}

static vug_grammar_expr next_digit(digit_builder *d, digit_place p) // NOLINT(misc-no-recursion)
{
    const unsigned first = p.at == 0 && d->n_integer > 1 ? 1 : 0;
    unsigned from = p.low ? (unsigned)d->low[p.at] : first;
    unsigned to = p.high ? (unsigned)d->high[p.at] : 9;
    const digit_place next = { .at = p.at + 1, .nonzero = p.nonzero };
    digit_place at_bound = next;
    vug_grammar_expr part[12];
    size_t n = 0;
    if (from > to)
        return NO_DIGITS;
    if (p.low && from >= first) {
        at_bound.low = true;
        at_bound.high = p.high && from == to;
        n += add_digits(d, from, from, at_bound, part + n);
    }
    if (p.high && !(p.low && from == to) && to >= first) {
        at_bound.low = false;
        at_bound.high = true;
        n += add_digits(d, to, to, at_bound, part + n);
    }
    from += p.low;
    if (from < first)
        from = first;
    if (!p.high || to > 0) {
        to -= p.high;
        if (from <= to)
            n += add_digits(d, from, to, next, part + n);
    }
    return n ? vug_grammar_choice(d->s->builder, part, n) : NO_DIGITS;
}

/* ---- the whole range -------------------------------------------------------------------- */

/* The digits of a bound, aligned to a number with `n_integer` digits before the point. */
static void place_digits(const vug_decimal *at, int n_integer, char to[MAX_PLACES])
{
    for (int i = 0; i < MAX_PLACES; i++) {
        const int k = i - (n_integer - at->point);
        to[i] = 0;
        if (at->n > 0 && k >= 0 && k < at->n)
            to[i] = at->digit[k];
    }
}

static int integer_digits(const vug_decimal *at)
{
    return at->n == 0 || at->point < 1 ? 1 : at->point;
}

typedef struct {
    vug_grammar_expr part[2 * MAX_INTEGER + 2];
    size_t n;
} number_parts;

static void add_part(vug_schema_compiler *s, vug_grammar_expr node, bool negative, number_parts *to)
{
    vug_grammar_builder *b = s->builder;
    to->part[to->n++] = negative ? VUG_GRAMMAR_SEQUENCE(b, vug_grammar_text(b, "-"), node) : node;
}

/* Numbers with `n_integer` digits before the point, between bounds that are not negative. */
static void add_length(vug_schema_compiler *s, const vug_number_range *r, int n_integer,
                       bool negative, number_parts *to)
{
    digit_builder d = { .s = s,
                        .n_integer = n_integer,
                        .n_fraction = r->n_fraction,
                        .no_integer = r->no_integer,
                        .low_open = r->low.open,
                        .high_open = r->high.open };
    digit_place start = { .at = 0 };
    start.low = r->low.given && integer_digits(&r->low.at) == n_integer;
    start.high = r->high.given && integer_digits(&r->high.at) == n_integer;
    place_digits(&r->low.at, n_integer, d.low);
    place_digits(&r->high.at, n_integer, d.high);
    const vug_grammar_expr node = next_digit(&d, start);
    if (node != NO_DIGITS)
        add_part(s, node, negative, to);
}

/* All numbers with `first` to `last` digits before the point, at least 2. */
static void add_lengths(vug_schema_compiler *s, const vug_number_range *r, int first, int last,
                        bool negative, number_parts *to)
{
    const digit_builder d = {
        .s = s, .n_integer = 1, .n_fraction = r->n_fraction, .no_integer = r->no_integer
    };
    if (first > last)
        return;
    const vug_grammar_expr more =
            vug_grammar_repeat(s->builder, s->json.digit, (uint32_t)first - 1, (uint32_t)last - 1);
    add_part(s,
             VUG_GRAMMAR_SEQUENCE(s->builder, vug_grammar_digit(s->builder, 1, 9), more,
                                  r->no_integer ? any_fraction(&d, 1) : any_digits(&d, 1)),
             negative, to);
}

static void add_magnitudes(vug_schema_compiler *s, vug_number_range r, bool negative,
                           number_parts *to)
{
    if (r.low.given && !r.low.open && r.low.at.n == 0)
        r.low.given = false;
    if (r.multiple > 1 || r.n_excluded > 0) {
        add_part(s, vug_schema_multiples_expr(s, &r), negative, to);
        return;
    }
    const int first = r.low.given ? integer_digits(&r.low.at) : 1;
    int last = r.high.given ? integer_digits(&r.high.at) : MAX_INTEGER;
    last = last < MAX_INTEGER ? last : MAX_INTEGER;
    if (first <= last)
        add_length(s, &r, first, negative, to);
    add_lengths(s, &r, first + 1, last - 1, negative, to);
    if (last > first)
        add_length(s, &r, last, negative, to);
}

/* Negative numbers are magnitudes between the exchanged bounds. */
static void add_negative(vug_schema_compiler *s, const vug_number_range *r, number_parts *to)
{
    vug_number_range magnitudes = *r;
    magnitudes.low = r->high;
    magnitudes.high = r->low;
    magnitudes.low.at.negative = magnitudes.high.at.negative = false;
    if (!r->high.given || !r->high.at.negative) /* never write -0 */
        magnitudes.low = (vug_number_bound){ .given = true, .open = true };
    add_magnitudes(s, magnitudes, true, to);
}

static void add_positive(vug_schema_compiler *s, const vug_number_range *r, number_parts *to)
{
    vug_number_range magnitudes = *r;
    if (r->low.given && r->low.at.negative)
        magnitudes.low = (vug_number_bound){ .given = false };
    add_magnitudes(s, magnitudes, false, to);
}

vug_grammar_expr vug_schema_number_range_expr(vug_schema_compiler *s, const vug_number_range *r)
{
    number_parts to = { .n = 0 };
    if (!r->low.given || r->low.at.negative)
        add_negative(s, r, &to);
    if (!r->high.given || !r->high.at.negative)
        add_positive(s, r, &to);
    return vug_grammar_choice(s->builder, to.part, to.n);
}
