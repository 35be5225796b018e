#include "text/grammar/schema.h"

/*
 * What a schema says of numbers: a range, and what they are multiples of. Both are meant of
 * the decimals that are written: 0.07 is a multiple of 0.01, whatever doubles make of it.
 */

enum {
    FRACTION = VUG_JSON_MAX_DIGITS,
    EXACT = 15, /* digits that a double tells apart */
    MAX_MULTIPLE = 1000,
    MAX_PRIME_PART = 16, /* of it, without its factors 2 and 5, which end early */
};

/* ---- reading ------------------------------------------------------------------- */

/* The stricter of two; `sign` is 1 for low ones. */
static void tighten(vug_bound *b, vug_bound other, int sign)
{
    const int order = b->given ? sign * vug_decimal_compare(&other.at, &b->at) : 1;
    if (order > 0)
        *b = other;
    else if (order == 0)
        b->open = b->open || other.open;
}

static void read_bounds(vug_schema *s, const vug_jv *schema, vug_number_range *r)
{
    static const struct {
        const char *keyword, *opens; /* the latter with true, up to draft 4 */
        bool low;
    } row[] = { { "minimum", "exclusiveMinimum", true },
                { "exclusiveMinimum", NULL, true },
                { "maximum", "exclusiveMaximum", false },
                { "exclusiveMaximum", NULL, false } };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        const vug_jv *word = vug_jv_get(schema, row[i].keyword);
        vug_bound b = { .given = true, .open = !row[i].opens };
        if (!vug_jv_is(word, VUG_JSON_NUMBER))
            continue;
        const vug_jv *opens = row[i].opens ? vug_jv_get(schema, row[i].opens) : NULL;
        if (vug_jv_is(opens, VUG_JSON_BOOL))
            b.open = opens->boolean;
        if (!vug_schema_decimal(s, word, &b.at) || b.at.n - b.at.point > FRACTION)
            vug_schema_fail(s, VUG_LIMIT, word, "a bound with too many digits");
        else
            tighten(row[i].low ? &r->low : &r->high, b, row[i].low ? 1 : -1);
    }
}

static const struct {
    const char *name, *low, *high; /* NULL: as a note for programmers only */
} formats[] = {
    { "int32", "-2147483648", "2147483647" },
    { "uint32", "0", "4294967295" },
    { "int64", "-9223372036854775808", "9223372036854775807" },
    { "uint64", "0", "18446744073709551615" },
    { "float", NULL, NULL },
    { "double", NULL, NULL },
};

/* The integers of OpenAPI and their ranges. */
static bool read_format(const vug_jv *format, vug_number_range *r)
{
    for (size_t i = 0; format && i < sizeof(formats) / sizeof(*formats); i++) {
        vug_bound low = { .given = true }, high = { .given = true };
        if (!vug_str_is(format->str, formats[i].name))
            continue;
        if (formats[i].low && vug_decimal_read(vug_str_of(formats[i].low), &low.at) &&
            vug_decimal_read(vug_str_of(formats[i].high), &high.at)) {
            tighten(&r->low, low, 1);
            tighten(&r->high, high, -1);
        }
        return true;
    }
    return false;
}

bool vug_schema_is_number_format(vug_str name)
{
    const vug_jv format = { .type = VUG_JSON_STRING, .str = name };
    vug_number_range r = { 0 };
    return read_format(&format, &r);
}

static uint32_t prime_part(uint32_t n)
{
    while (n % 2 == 0)
        n /= 2;
    while (n % 5 == 0)
        n /= 5;
    return n;
}

static uint32_t common(uint32_t a, uint32_t b)
{
    while (b) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The multiple of all of them; 0: none was read. */
static void read_multiple(vug_schema *s, const vug_jv *schema, vug_number_range *r)
{
    const vug_jv *word = vug_jv_get(schema, "multipleOf");
    vug_decimal d;
    if (!word)
        return;
    const bool fits = vug_schema_decimal(s, word, &d) && d.n - d.point < EXACT;
    const int scale = fits && d.n - d.point > r->scale ? d.n - d.point : r->scale;
    uint32_t by = fits ? vug_decimal_scaled(&d, scale) : 0;
    for (; r->scale < scale && r->multiple <= MAX_MULTIPLE; r->scale++)
        r->multiple *= 10;
    r->scale = scale;
    if (r->multiple != 0 && by != 0 && by <= MAX_MULTIPLE)
        by = r->multiple / common(r->multiple, by) * by;
    if (by == 0 || by > MAX_MULTIPLE || prime_part(by) > MAX_PRIME_PART)
        vug_schema_fail(s, VUG_UNSUPPORTED, word,
                        "multiples of %.*s: at most %d, all digits taken together, and without "
                        "the factors 2 and 5 at most %d, are supported",
                        VUG_STR_ARG(word->str), MAX_MULTIPLE, MAX_PRIME_PART);
    else
        r->multiple = by;
}

/* Decimals next to an open bound must not become the bound when they are read as
 * doubles. */
static void limit_fraction(vug_schema *s, vug_schema_case c, vug_number_range *r)
{
    const vug_bound *both[2] = { &r->low, &r->high };
    for (size_t i = 0; i < 2; i++) {
        const vug_decimal *at = &both[i]->at;
        if (!both[i]->given || !both[i]->open)
            continue;
        const int point = at->n == 0 || at->point < 1 ? 1 : at->point;
        const int left = point > EXACT ? 0 : point == EXACT ? 1 : EXACT - point;
        if (at->n > at->point + left)
            vug_schema_fail(s, VUG_LIMIT,
                            vug_schema_find(c, i ? "exclusiveMaximum" : "exclusiveMinimum"),
                            "a bound with too many digits");
        r->n_fraction = left < r->n_fraction ? left : r->n_fraction;
    }
}

/* A multiple of a fraction stays one only if it is read as it was written: of all digits as
 * many as a double keeps. */
static void limit_whole(vug_number_range *r)
{
    vug_bound b = { .given = true,
                    .open = true,
                    .at = { .n = 1, .point = EXACT - r->scale + 1, .digit = { 1 } } };
    if (r->scale == 0)
        return;
    tighten(&r->high, b, -1);
    b.at.negative = true;
    tighten(&r->low, b, 1);
}

static vug_number_range read_range(vug_schema *s, vug_schema_case c, bool fractions)
{
    vug_number_range r = { .n_fraction = fractions ? FRACTION : 0 };
    for (size_t i = 0; i < c.n && vug_schema_ok(s); i++) {
        read_bounds(s, c.of[i], &r);
        (void)read_format(vug_jv_get(c.of[i], "format"), &r);
        read_multiple(s, c.of[i], &r);
    }
    if (r.multiple != 0 && r.n_fraction > r.scale)
        r.n_fraction = r.scale;
    if (r.multiple == 0)
        r.multiple = 1;
    limit_fraction(s, c, &r);
    limit_whole(&r);
    return r;
}

static bool is_empty(const vug_number_range *r)
{
    if (!r->low.given || !r->high.given)
        return false;
    const int order = vug_decimal_compare(&r->low.at, &r->high.at);
    return order > 0 || (order == 0 && (r->low.open || r->high.open));
}

bool vug_schema_number_impossible(vug_schema *s, vug_schema_case c)
{
    const vug_number_range r = read_range(s, c, true);
    return vug_schema_ok(s) && is_empty(&r);
}

vug_node vug_schema_number(vug_schema *s, vug_schema_case c, bool fractions)
{
    const vug_number_range r = read_range(s, c, fractions);
    if (!vug_schema_ok(s))
        return VUG_NODE_EMPTY;
    if (!r.low.given && !r.high.given && r.multiple == 1 && r.n_fraction == 0)
        return s->json.integer;
    if (!r.low.given && !r.high.given && r.multiple == 1 && r.n_fraction == FRACTION)
        return s->json.number;
    return is_empty(&r) ? vug_rules_nothing(s->rules) : vug_schema_digits(s, &r);
}
