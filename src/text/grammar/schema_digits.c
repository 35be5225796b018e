#include "text/grammar/schema.h"

/*
 * Numbers between bounds, digit by digit: which digits may come depends on whether those
 * before are the bound's own. So a bound is exact however many digits it has.
 *
 *     7 to 123: [7-9] | [1-9][0-9] | 1 ([0-1][0-9] | 2[0-3])
 *
 * A multiple is a remainder that is carried along.
 */

enum {
    WHOLE = VUG_JSON_MAX_DIGITS,
    FRACTION = VUG_JSON_MAX_DIGITS,
    PLACES = WHOLE + FRACTION,
};

static const vug_node DEAD = UINT32_MAX - 1; /* no digits do it */

/* Numbers from 0 with `n_whole` digits before the point. */
typedef struct {
    vug_schema *s;
    int n_whole, n_fraction;
    char low[PLACES], high[PLACES]; /* digits of the bounds */
    bool low_open, high_open;
    uint32_t multiple;
    int scale;
    vug_node *made; /* as below */
} digits;

/* After `at` digits, of which all were the bound's where that is told. */
typedef struct {
    int at;
    bool low, high;
    uint32_t rest; /* of the division by the multiple */
} place;

static vug_node digit_at(digits *d, place p);

static bool zeros(const char *digit, int from)
{
    for (int i = from; i < PLACES; i++)
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

static bool may_end(const digits *d, place p)
{
    const int left = d->n_whole + d->scale - p.at; /* zeros, as far as the multiple goes */
    if (p.rest * power_of_ten(left, d->multiple) % d->multiple != 0)
        return false;
    if (p.low && (d->low_open || !zeros(d->low, p.at)))
        return false;
    return !(p.high && d->high_open && zeros(d->high, p.at));
}

/* Every digit may come from here on. */
static vug_node free_digits(const digits *d, int at)
{
    vug_rules *r = d->s->rules;
    const vug_node digit = d->s->json.digit;
    if (at > d->n_whole)
        return vug_rules_repeat(r, digit, 0, (uint32_t)(d->n_whole + d->n_fraction - at));
    const uint32_t n = (uint32_t)(d->n_whole - at);
    const vug_node whole = vug_rules_repeat(r, digit, n, n);
    if (d->n_fraction == 0)
        return whole;
    const vug_node fraction = VUG_SEQUENCE(r, vug_rules_text(r, "."),
                                           vug_rules_repeat(r, digit, 1, (uint32_t)d->n_fraction));
    return VUG_SEQUENCE(r, whole, vug_rules_optional(r, fraction));
}

/* At most one call per digit. */
static vug_node after(digits *d, place p) // NOLINT(misc-no-recursion)
{
    if (!p.low && !p.high && d->multiple == 1)
        return free_digits(d, p.at);
    if (p.at < d->n_whole)
        return digit_at(d, p);
    vug_node part[2];
    size_t n = 0;
    if (may_end(d, p))
        part[n++] = VUG_NODE_EMPTY;
    if (p.at < d->n_whole + d->n_fraction) {
        const vug_node more = digit_at(d, p);
        if (more != DEAD)
            part[n++] = p.at > d->n_whole
                                ? more
                                : VUG_SEQUENCE(d->s->rules, vug_rules_text(d->s->rules, "."), more);
    }
    return n ? vug_rules_choice(d->s->rules, part, n) : DEAD;
}

/* Remembered where no bound is near: two remainders that the digits to come make one are
 * one, so that multiples of 100 look at the last two digits only. */
static vug_node after_free(digits *d, int at, uint32_t rest) // NOLINT(misc-no-recursion)
{
    const int left = d->n_whole + d->scale - at;
    const uint32_t key = rest * power_of_ten(left, d->multiple) % d->multiple;
    vug_node *made = &d->made[(uint32_t)left * d->multiple + key];
    if (*made == 0) {
        vug_node node = after(d, (place){ .at = at, .rest = rest });
        if (node != DEAD && node != VUG_NODE_EMPTY) {
            const vug_node rule = vug_rules_declare(d->s->rules);
            vug_rules_define(d->s->rules, rule, node);
            node = rule;
        }
        *made = node + 1;
    }
    return *made - 1;
}

/* One part for the digits `from` to `to`, after which the place is alike. */
static size_t put_digits(digits *d, unsigned from, unsigned to, // NOLINT(misc-no-recursion)
                         place next, vug_node *part)
{
    size_t n = 0;
    vug_rules *r = d->s->rules;
    if (!vug_schema_step(d->s, 1))
        return 0;
    if (d->multiple == 1) {
        const vug_node rest = after(d, next);
        if (rest != DEAD)
            part[n++] = VUG_SEQUENCE(r, vug_rules_digit(r, from, to), rest);
        return n;
    }
    for (unsigned digit = from; digit <= to; digit++) {
        place here = next;
        here.rest = (next.rest * 10 + digit) % d->multiple;
        const vug_node rest =
                here.low || here.high ? after(d, here) : after_free(d, here.at, here.rest);
        if (rest != DEAD)
            part[n++] = VUG_SEQUENCE(r, vug_rules_digit(r, digit, digit), rest);
    }
    return n;
}

static vug_node digit_at(digits *d, place p) // NOLINT(misc-no-recursion)
{
    const unsigned first = p.at == 0 && d->n_whole > 1 ? 1 : 0;
    unsigned from = p.low ? (unsigned)d->low[p.at] : first;
    unsigned to = p.high ? (unsigned)d->high[p.at] : 9;
    const place next = { .at = p.at + 1, .rest = p.rest };
    place edge = next;
    vug_node part[12];
    size_t n = 0;
    if (from > to)
        return DEAD;
    if (p.low && from >= first) {
        edge.low = true;
        edge.high = p.high && from == to;
        n += put_digits(d, from, from, edge, part + n);
    }
    if (p.high && !(p.low && from == to) && to >= first) {
        edge.low = false;
        edge.high = true;
        n += put_digits(d, to, to, edge, part + n);
    }
    from += p.low;
    if (from < first)
        from = first;
    if (!p.high || to > 0) {
        to -= p.high;
        if (from <= to)
            n += put_digits(d, from, to, next, part + n);
    }
    return n ? vug_rules_choice(d->s->rules, part, n) : DEAD;
}

/* ---- a whole range -------------------------------------------------------------------- */

/* Of the digit before the point that is `i` places behind the first of n. */
static void spread(const vug_decimal *at, int n_whole, char to[PLACES])
{
    for (int i = 0; i < PLACES; i++) {
        const int k = i - (n_whole - at->point);
        to[i] = 0;
        if (at->n > 0 && k >= 0 && k < at->n)
            to[i] = at->digit[k];
    }
}

static int whole_digits(const vug_decimal *at)
{
    return at->n == 0 || at->point < 1 ? 1 : at->point;
}

typedef struct {
    vug_node part[2 * WHOLE + 2];
    size_t n;
    vug_node *
            made; /* [WHOLE + scale + 1][multiple]: digits to come, remainder; 1 more than the node */
} parts;

static void put_part(vug_schema *s, vug_node node, bool negative, parts *to)
{
    vug_rules *r = s->rules;
    to->part[to->n++] = negative ? VUG_SEQUENCE(r, vug_rules_text(r, "-"), node) : node;
}

/* Sizes of `n_whole` digits between the bounds, which are not negative. */
static void put_length(vug_schema *s, const vug_number_range *r, int n_whole, bool negative,
                       parts *to)
{
    digits d = { .s = s,
                 .n_whole = n_whole,
                 .n_fraction = r->n_fraction,
                 .multiple = r->multiple,
                 .scale = r->scale,
                 .low_open = r->low.open,
                 .high_open = r->high.open,
                 .made = to->made };
    place start = { .at = 0 };
    start.low = r->low.given && whole_digits(&r->low.at) == n_whole;
    start.high = r->high.given && whole_digits(&r->high.at) == n_whole;
    spread(&r->low.at, n_whole, d.low);
    spread(&r->high.at, n_whole, d.high);
    const vug_node node = digit_at(&d, start);
    if (node != DEAD)
        put_part(s, node, negative, to);
}

/* All of `first` to `last` digits, at least 2. */
static void put_lengths(vug_schema *s, const vug_number_range *r, int first, int last,
                        bool negative, parts *to)
{
    const digits d = { .s = s, .n_whole = 1, .n_fraction = r->n_fraction };
    if (first > last)
        return;
    const vug_node more =
            vug_rules_repeat(s->rules, s->json.digit, (uint32_t)first - 1, (uint32_t)last - 1);
    put_part(s, VUG_SEQUENCE(s->rules, vug_rules_digit(s->rules, 1, 9), more, free_digits(&d, 1)),
             negative, to);
}

static void put_sizes(vug_schema *s, vug_number_range r, bool negative, parts *to)
{
    if (r.low.given && !r.low.open && r.low.at.n == 0)
        r.low.given = false;
    const int first = r.low.given ? whole_digits(&r.low.at) : 1;
    int last = r.high.given ? whole_digits(&r.high.at) : WHOLE;
    last = last < WHOLE ? last : WHOLE;
    if (first <= last)
        put_length(s, &r, first, negative, to);
    if (r.multiple > 1) {
        for (int n = first + 1; n < last; n++)
            put_length(s, &r, n, negative, to);
    } else {
        put_lengths(s, &r, first + 1, last - 1, negative, to);
    }
    if (last > first)
        put_length(s, &r, last, negative, to);
}

/* Negative numbers are their sizes with the bounds exchanged. */
static void put_negative(vug_schema *s, const vug_number_range *r, parts *to)
{
    vug_number_range sizes = *r;
    sizes.low = r->high;
    sizes.high = r->low;
    sizes.low.at.negative = sizes.high.at.negative = false;
    if (!r->high.given || !r->high.at.negative) /* -0 is nobody's wish */
        sizes.low = (vug_bound){ .given = true, .open = true };
    put_sizes(s, sizes, true, to);
}

static void put_positive(vug_schema *s, const vug_number_range *r, parts *to)
{
    vug_number_range sizes = *r;
    if (r->low.given && r->low.at.negative)
        sizes.low = (vug_bound){ .given = false };
    put_sizes(s, sizes, false, to);
}

vug_node vug_schema_digits(vug_schema *s, const vug_number_range *r)
{
    parts to = { .n = 0 };
    if (r->multiple > 1)
        to.made =
                vug_schema_alloc(s, (size_t)(WHOLE + r->scale + 1) * r->multiple, sizeof(*to.made));
    if (!vug_schema_ok(s))
        return VUG_NODE_EMPTY;
    if (!r->low.given || r->low.at.negative)
        put_negative(s, r, &to);
    if (!r->high.given || !r->high.at.negative)
        put_positive(s, r, &to);
    return vug_rules_choice(s->rules, to.part, to.n);
}
