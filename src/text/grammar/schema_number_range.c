#include "text/grammar/schema_number.h"

/*
 * Numbers between bounds, digit by digit: which digits may come next depends on whether the
 * digits so far equal those of a bound. So bounds are exact, whatever their number of digits.
 *
 *     7 to 123: [7-9] | [1-9][0-9] | 1 ([0-1][0-9] | 2[0-3])
 *
 * For multiples, the remainder of the digits so far is carried along.
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
    uint32_t multiple;
    int scale;
    vug_grammar_expr *memo; /* see number_parts */
} digit_builder;

/* After `at` digits. `low`, `high`: they equal those of the bound. */
typedef struct {
    int at;
    bool low, high;
    uint32_t remainder; /* of the digits so far divided by the multiple */
} digit_place;

static vug_grammar_expr next_digit(digit_builder *d, digit_place p);

static bool all_zeros(const char *digit, int from)
{
    for (int i = from; i < MAX_PLACES; i++)
        if (digit[i] != 0)
            return false;
    return true;
}

static uint32_t power_of_ten(int n, uint32_t modulo)
{
    uint32_t out = 1 % modulo;
    for (int i = 0; i < n; i++)
        out = out * 10 % modulo;
    return out;
}

static bool may_end(const digit_builder *d, digit_place p)
{
    const int left = d->n_integer + d->scale - p.at; /* zeros that the multiple would still need */
    if (p.remainder * power_of_ten(left, d->multiple) % d->multiple != 0)
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

/* One level of recursion per digit. */
static vug_grammar_expr following_digits(digit_builder *d,
                                         digit_place p) // NOLINT(misc-no-recursion)
{
    if (!p.low && !p.high && d->multiple == 1)
        return any_digits(d, p.at);
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

/* Memoized, since no bound applies any more. Remainders that the digits to come make equal
 * share an entry, so that multiples of 100 depend on the last two digits only. */
static vug_grammar_expr following_free_digits(digit_builder *d, int at,
                                              uint32_t remainder) // NOLINT(misc-no-recursion)
{
    const int left = d->n_integer + d->scale - at;
    const uint32_t key = remainder * power_of_ten(left, d->multiple) % d->multiple;
    vug_grammar_expr *memo = &d->memo[(uint32_t)left * d->multiple + key];
    if (*memo == 0) {
        vug_grammar_expr node =
                following_digits(d, (digit_place){ .at = at, .remainder = remainder });
        if (node != NO_DIGITS && node != VUG_EMPTY_EXPR) {
            const vug_grammar_expr rule = vug_grammar_declare_rule(d->s->builder);
            vug_grammar_define_rule(d->s->builder, rule, node);
            node = rule;
        }
        *memo = node + 1;
    }
    return *memo - 1;
}

/* The digits `from` to `to` and what may follow them. */
static size_t add_digits(digit_builder *d, unsigned from, unsigned to, // NOLINT(misc-no-recursion)
                         digit_place next, vug_grammar_expr *part)
{
    size_t n = 0;
    vug_grammar_builder *b = d->s->builder;
    if (!vug_schema_charge(d->s, 1))
        return 0;
    if (d->multiple == 1) {
        const vug_grammar_expr rest = following_digits(d, next);
        if (rest != NO_DIGITS)
            part[n++] = VUG_GRAMMAR_SEQUENCE(b, vug_grammar_digit(b, from, to), rest);
        return n;
    }
    for (unsigned digit = from; digit <= to; digit++) {
        digit_place here = next;
        here.remainder = (next.remainder * 10 + digit) % d->multiple;
        const vug_grammar_expr rest = here.low || here.high
                                              ? following_digits(d, here)
                                              : following_free_digits(d, here.at, here.remainder);
        if (rest != NO_DIGITS)
            part[n++] = VUG_GRAMMAR_SEQUENCE(b, vug_grammar_digit(b, digit, digit), rest);
    }
    return n;
}

static vug_grammar_expr next_digit(digit_builder *d, digit_place p) // NOLINT(misc-no-recursion)
{
    const unsigned first = p.at == 0 && d->n_integer > 1 ? 1 : 0;
    unsigned from = p.low ? (unsigned)d->low[p.at] : first;
    unsigned to = p.high ? (unsigned)d->high[p.at] : 9;
    const digit_place next = { .at = p.at + 1, .remainder = p.remainder };
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
    /* [MAX_INTEGER + scale + 1][multiple]: by digits to come and remainder; expr + 1 */
    vug_grammar_expr *memo;
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
                        .multiple = r->multiple,
                        .scale = r->scale,
                        .low_open = r->low.open,
                        .high_open = r->high.open,
                        .memo = to->memo };
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
    const digit_builder d = { .s = s, .n_integer = 1, .n_fraction = r->n_fraction };
    if (first > last)
        return;
    const vug_grammar_expr more =
            vug_grammar_repeat(s->builder, s->json.digit, (uint32_t)first - 1, (uint32_t)last - 1);
    add_part(s,
             VUG_GRAMMAR_SEQUENCE(s->builder, vug_grammar_digit(s->builder, 1, 9), more,
                                  any_digits(&d, 1)),
             negative, to);
}

static void add_magnitudes(vug_schema_compiler *s, vug_number_range r, bool negative,
                           number_parts *to)
{
    if (r.low.given && !r.low.open && r.low.at.n == 0)
        r.low.given = false;
    const int first = r.low.given ? integer_digits(&r.low.at) : 1;
    int last = r.high.given ? integer_digits(&r.high.at) : MAX_INTEGER;
    last = last < MAX_INTEGER ? last : MAX_INTEGER;
    if (first <= last)
        add_length(s, &r, first, negative, to);
    if (r.multiple > 1) {
        for (int n = first + 1; n < last; n++)
            add_length(s, &r, n, negative, to);
    } else {
        add_lengths(s, &r, first + 1, last - 1, negative, to);
    }
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
    if (r->multiple > 1)
        to.memo = vug_schema_alloc(s, (size_t)(MAX_INTEGER + r->scale + 1) * r->multiple,
                                   sizeof(*to.memo));
    if (!vug_schema_ok(s))
        return VUG_EMPTY_EXPR;
    if (!r->low.given || r->low.at.negative)
        add_negative(s, r, &to);
    if (!r->high.given || !r->high.at.negative)
        add_positive(s, r, &to);
    return vug_grammar_choice(s->builder, to.part, to.n);
}
