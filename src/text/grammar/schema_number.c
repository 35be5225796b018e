#include "text/grammar/schema_number.h"

/*
 * The range of numbers that a schema allows, and what they must be multiples of. Both apply to
 * decimals as they are written: 0.07 is a multiple of 0.01, although in doubles it is not.
 */

enum {
    MAX_FRACTION = VUG_JSON_MAX_DIGITS,
    EXACT_DIGITS = 15, /* significant digits that a double always distinguishes */
};

/* ---- reading ------------------------------------------------------------------- */

/* Replaces a bound by a stricter one. `sign` is 1 for lower bounds, -1 for upper ones. */
static void tighten_bound(vug_number_bound *b, vug_number_bound other, int sign)
{
    const int order = b->given ? sign * vug_decimal_compare(&other.at, &b->at) : 1;
    if (order > 0)
        *b = other;
    else if (order == 0)
        b->open = b->open || other.open;
}

static void read_bounds(vug_schema_compiler *s, const vug_jv *schema, vug_number_range *r)
{
    static const struct {
        const char *keyword, *opened_by; /* if true, as in draft 4, it excludes the bound */
        bool low;
    } row[] = { { "minimum", "exclusiveMinimum", true },
                { "exclusiveMinimum", NULL, true },
                { "maximum", "exclusiveMaximum", false },
                { "exclusiveMaximum", NULL, false } };
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        const vug_jv *keyword = vug_jv_get(schema, row[i].keyword);
        vug_number_bound b = { .given = true, .open = !row[i].opened_by };
        if (!vug_jv_is(keyword, VUG_JSON_NUMBER))
            continue;
        const vug_jv *opened_by = row[i].opened_by ? vug_jv_get(schema, row[i].opened_by) : NULL;
        if (vug_jv_is(opened_by, VUG_JSON_BOOL))
            b.open = opened_by->boolean;
        if (!vug_schema_decimal(s, keyword, &b.at) || b.at.n - b.at.point > MAX_FRACTION)
            vug_schema_fail(s, VUG_LIMIT, keyword, "a bound with too many digits");
        else
            tighten_bound(row[i].low ? &r->low : &r->high, b, row[i].low ? 1 : -1);
    }
}

static const struct {
    const char *name, *low, *high; /* NULL: the format has no effect */
} formats[] = {
    { "int32", "-2147483648", "2147483647" },
    { "uint32", "0", "4294967295" },
    { "int64", "-9223372036854775808", "9223372036854775807" },
    { "uint64", "0", "18446744073709551615" },
    { "float", NULL, NULL },
    { "double", NULL, NULL },
};

/* The number formats of OpenAPI. False if there is no such format. */
static bool read_format(const vug_jv *format, vug_number_range *r)
{
    for (size_t i = 0; format && i < sizeof(formats) / sizeof(*formats); i++) {
        vug_number_bound low = { .given = true }, high = { .given = true };
        if (!vug_str_is(format->str, formats[i].name))
            continue;
        if (formats[i].low && vug_decimal_parse(vug_str_of(formats[i].low), &low.at) &&
            vug_decimal_parse(vug_str_of(formats[i].high), &high.at)) {
            tighten_bound(&r->low, low, 1);
            tighten_bound(&r->high, high, -1);
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

static void fail_multiple(vug_schema_compiler *s, const vug_jv *keyword)
{
    vug_schema_fail(s, VUG_UNSUPPORTED, keyword,
                    "multiples of %.*s are not supported: the digits, and the least common "
                    "multiple of all that apply, must make a number of at most %u",
                    VUG_STR_ARG(keyword->str), (unsigned)VUG_MAX_MULTIPLE);
}

/* Makes `multiple` the least common multiple with that of the schema. It is 0 before the first. */
static void read_multiple_of(vug_schema_compiler *s, const vug_jv *schema, vug_number_range *r)
{
    const vug_jv *keyword = vug_jv_get(schema, "multipleOf");
    vug_decimal d;
    if (!keyword)
        return;
    const bool fits = vug_schema_decimal(s, keyword, &d) && d.n - d.point < EXACT_DIGITS;
    const int scale = fits && d.n - d.point > r->scale ? d.n - d.point : r->scale;
    uint32_t by = fits ? vug_decimal_scaled(&d, scale) : 0;
    for (; r->scale < scale && r->multiple <= VUG_MAX_MULTIPLE; r->scale++)
        r->multiple *= 10;
    r->scale = scale;
    if (r->multiple != 0 && by != 0 && by <= VUG_MAX_MULTIPLE)
        by = vug_schema_common_multiple(r->multiple, by);
    if (by == 0 || by > VUG_MAX_MULTIPLE)
        fail_multiple(s, keyword);
    else
        r->multiple = by;
}

/* What integers must not be multiples of, after `multiple` has been read. */
static void read_not_multiples(vug_schema_compiler *s, vug_schema_case c, vug_number_range *r)
{
    uint32_t common = r->multiple;
    for (size_t i = 0; i < c.n && vug_schema_ok(s); i++) {
        const vug_jv *keyword = vug_jv_get(c.schema[i], VUG_KEYWORD_NOT_MULTIPLE_OF);
        vug_decimal d;
        if (!keyword || !vug_schema_decimal(s, keyword, &d))
            continue;
        const uint32_t by = vug_decimal_scaled(&d, 0);
        if (by != 0 && by <= VUG_MAX_MULTIPLE)
            common = vug_schema_common_multiple(common, by);
        if (by == 0 || by > VUG_MAX_MULTIPLE || common > VUG_MAX_MULTIPLE || r->scale > 0 ||
            r->n_excluded == VUG_MAX_NOT_MULTIPLES)
            fail_multiple(s, keyword);
        else
            r->excluded[r->n_excluded++] = by;
    }
}

/* A decimal next to an excluded bound must not round to the bound when it is read as a double. */
static void limit_fraction(vug_schema_compiler *s, vug_schema_case c, vug_number_range *r)
{
    const vug_number_bound *both[2] = { &r->low, &r->high };
    for (size_t i = 0; i < 2; i++) {
        const vug_decimal *at = &both[i]->at;
        if (!both[i]->given || !both[i]->open)
            continue;
        const int point = at->n == 0 || at->point < 1 ? 1 : at->point;
        const int left = point > EXACT_DIGITS    ? 0
                         : point == EXACT_DIGITS ? 1
                                                 : EXACT_DIGITS - point;
        if (at->n > at->point + left)
            vug_schema_fail(s, VUG_LIMIT,
                            vug_schema_find_keyword(c, i ? "exclusiveMaximum" : "exclusiveMinimum"),
                            "a bound with too many digits");
        r->n_fraction = left < r->n_fraction ? left : r->n_fraction;
    }
}

/* Only numbers of at most `n` digits before the decimal point. */
static void limit_integer_part(vug_number_range *r, int n)
{
    vug_number_bound b = { .given = true,
                           .open = true,
                           .at = { .n = 1, .point = n + 1, .digit = { 1 } } };
    tighten_bound(&r->high, b, -1);
    b.at.negative = true;
    tighten_bound(&r->low, b, 1);
}

static vug_number_range read_range(vug_schema_compiler *s, vug_schema_case c, unsigned types)
{
    vug_number_range r = { .n_fraction = types & VUG_TYPE_FRACTION ? MAX_FRACTION : 0,
                           .no_integer = !(types & VUG_TYPE_INTEGER) };
    for (size_t i = 0; i < c.n && vug_schema_ok(s); i++) {
        read_bounds(s, c.schema[i], &r);
        (void)read_format(vug_jv_get(c.schema[i], "format"), &r);
        read_multiple_of(s, c.schema[i], &r);
    }
    if (r.multiple != 0 && r.n_fraction > r.scale)
        r.n_fraction = r.scale;
    if (r.multiple == 0)
        r.multiple = 1;
    if (!(types & VUG_TYPE_FRACTION))
        read_not_multiples(s, c, &r);
    /* A double distinguishes so many digits from an integer. */
    if (r.no_integer)
        limit_integer_part(&r, (EXACT_DIGITS + 1) / 2);
    if (r.no_integer && r.n_fraction > EXACT_DIGITS / 2 - 1)
        r.n_fraction = EXACT_DIGITS / 2 - 1;
    limit_fraction(s, c, &r);
    /* A multiple of a fraction must be read as it was written. */
    if (r.scale > 0)
        limit_integer_part(&r, EXACT_DIGITS - r.scale);
    return r;
}

static bool is_empty_range(const vug_number_range *r)
{
    if (!r->low.given || !r->high.given)
        return false;
    const int order = vug_decimal_compare(&r->low.at, &r->high.at);
    return order > 0 || (order == 0 && (r->low.open || r->high.open));
}

bool vug_schema_number_unsatisfiable(vug_schema_compiler *s, vug_schema_case c)
{
    const vug_number_range r = read_range(s, c, VUG_TYPE_INTEGER | VUG_TYPE_FRACTION);
    return vug_schema_ok(s) && is_empty_range(&r);
}

vug_grammar_expr vug_schema_number_expr(vug_schema_compiler *s, vug_schema_case c, unsigned types)
{
    const vug_number_range r = read_range(s, c, types);
    const bool simple =
            !r.low.given && !r.high.given && r.multiple == 1 && r.scale == 0 && r.n_excluded == 0;
    if (!vug_schema_ok(s))
        return VUG_EMPTY_EXPR;
    /* What is a multiple of an integer is an integer. */
    if (is_empty_range(&r) ||
        (r.no_integer && r.scale == 0 && vug_schema_find_keyword(c, "multipleOf")))
        return vug_grammar_nothing(s->builder);
    if (r.no_integer && r.scale > 0)
        vug_schema_fail(s, VUG_UNSUPPORTED, vug_schema_find_keyword(c, "multipleOf"),
                        "multiples that must not be integers are not supported");
    if (simple && r.n_fraction == 0)
        return s->json.integer;
    if (simple && r.n_fraction == MAX_FRACTION)
        return s->json.number;
    return vug_schema_number_range_expr(s, &r);
}
