/* The pull reader: values and members, made of the tokens of json_lexer.c. */
#include "core/json.h"

#include <float.h>

#include "core/json_lexer.h"
#include "core/number.h"

static const char *const type_text[] = {
    [VUG_JSON_NULL] = "null",       [VUG_JSON_BOOL] = "true or false",
    [VUG_JSON_NUMBER] = "a number", [VUG_JSON_STRING] = "a string",
    [VUG_JSON_ARRAY] = "an array",  [VUG_JSON_OBJECT] = "an object",
};

/* True when the next value is of type `type`; otherwise fails. */
static bool expect_type(vug_json_reader *j, vug_json_type type)
{
    if (j->st != VUG_OK)
        return false;
    const vug_json_type found = vug_json_peek(j);
    if (found == type)
        return true;
    if (found == VUG_JSON_NOTHING)
        vug_json_fail_expected(j, type_text[type]);
    else
        vug_json_fail(j, VUG_FORMAT, "expected %s, found %s", type_text[type], type_text[found]);
    return false;
}

vug_json_reader vug_json_reader_over(vug_str src, const char *name, vug_arena *arena)
{
    return (vug_json_reader){ .src = src, .arena = arena, .name = name };
}

/* ---- containers ------------------------------------------------------------- */

vug_json_type vug_json_peek(vug_json_reader *j)
{
    if (j->st != VUG_OK)
        return VUG_JSON_NOTHING;
    vug_json_skip_space(j);
    const char c = vug_json_next_char(j);
    switch (c) {
    case '{':
        return VUG_JSON_OBJECT;
    case '[':
        return VUG_JSON_ARRAY;
    case '"':
        return VUG_JSON_STRING;
    case 't':
    case 'f':
        return VUG_JSON_BOOL;
    case 'n':
        return VUG_JSON_NULL;
    default:
        return c == '-' || vug_is_digit(c) ? VUG_JSON_NUMBER : VUG_JSON_NOTHING;
    }
}

static void enter_container(vug_json_reader *j, vug_json_type type)
{
    if (!expect_type(j, type))
        return;
    if (j->depth == VUG_JSON_MAX_DEPTH) {
        vug_json_fail(j, VUG_FORMAT, "nested deeper than %d levels", VUG_JSON_MAX_DEPTH);
        return;
    }
    j->pos++;
    j->first[j->depth++] = true;
}

void vug_json_enter_object(vug_json_reader *j)
{
    enter_container(j, VUG_JSON_OBJECT);
}

void vug_json_enter_array(vug_json_reader *j)
{
    enter_container(j, VUG_JSON_ARRAY);
}

/* Skips the comma before the next member, or the bracket `close` after the last one. */
static bool next_member(vug_json_reader *j, char close, const char *comma_or_close)
{
    if (j->st != VUG_OK)
        return false;
    VUG_ASSERT(j->depth > 0);
    bool *first = &j->first[j->depth - 1];
    vug_json_skip_space(j);
    const char c = vug_json_next_char(j);
    if (c == close) {
        j->pos++;
        j->depth--;
        return false;
    }
    if (!*first) {
        if (c != ',') {
            vug_json_fail_expected(j, comma_or_close);
            return false;
        }
        j->pos++;
        vug_json_skip_space(j);
    }
    *first = false;
    return true;
}

/* With `key` NULL the key is checked and not decoded. */
static bool next_key(vug_json_reader *j, vug_str *key)
{
    if (!next_member(j, '}', "',' or '}'"))
        return false;
    vug_str raw;
    bool escaped;
    if (vug_json_next_char(j) != '"') {
        vug_json_fail_expected(j, "a key in quotes");
        return false;
    }
    if (!vug_json_scan_string(j, &raw, &escaped))
        return false;
    vug_json_skip_space(j);
    if (vug_json_next_char(j) != ':') {
        vug_json_fail_expected(j, "':' after a key");
        return false;
    }
    j->pos++;
    if (key)
        *key = escaped ? vug_json_unescape(j, raw) : raw;
    return j->st == VUG_OK;
}

bool vug_json_key(vug_json_reader *j, vug_str *key)
{
    return next_key(j, key);
}

bool vug_json_element(vug_json_reader *j)
{
    if (!next_member(j, ']', "',' or ']'"))
        return false;
    const char c = vug_json_next_char(j);
    if (c != '\0' && c != ']')
        return true;
    vug_json_fail_expected(j, "a value");
    return false;
}

void vug_json_skip(vug_json_reader *j)
{
    const int base = j->depth;
    uint64_t objects = 0; /* bit d: the container at depth d is an object */
    _Static_assert(VUG_JSON_MAX_DEPTH <= 64, "one bit per level");
    while (j->st == VUG_OK) {
        vug_str raw;
        bool escaped;
        const int depth = j->depth;
        switch (vug_json_peek(j)) {
        case VUG_JSON_OBJECT:
            enter_container(j, VUG_JSON_OBJECT);
            objects |= depth < VUG_JSON_MAX_DEPTH ? UINT64_C(1) << depth : 0;
            break;
        case VUG_JSON_ARRAY:
            enter_container(j, VUG_JSON_ARRAY);
            objects &= ~(depth < VUG_JSON_MAX_DEPTH ? UINT64_C(1) << depth : 0);
            break;
        case VUG_JSON_STRING:
            (void)vug_json_scan_string(j, &raw, &escaped);
            break;
        case VUG_JSON_NUMBER:
            (void)vug_json_scan_number(j);
            break;
        case VUG_JSON_BOOL:
            (void)vug_json_scan_literal(j, j->src.ptr[j->pos] == 't' ? "true" : "false");
            break;
        case VUG_JSON_NULL:
            (void)vug_json_scan_literal(j, "null");
            break;
        case VUG_JSON_NOTHING:
            vug_json_fail_expected(j, "a value");
            return;
        }
        bool more = false;
        while (j->st == VUG_OK && j->depth > base && !more)
            more = objects >> (j->depth - 1) & 1 ? next_key(j, NULL) : vug_json_element(j);
        if (!more)
            return;
    }
}

/* ---- values -------------------------------------------------------------- */

vug_str vug_json_string(vug_json_reader *j)
{
    vug_str raw;
    bool escaped;
    if (!expect_type(j, VUG_JSON_STRING) || !vug_json_scan_string(j, &raw, &escaped))
        return (vug_str){ 0 };
    return escaped ? vug_json_unescape(j, raw) : raw;
}

bool vug_json_bool(vug_json_reader *j)
{
    if (!expect_type(j, VUG_JSON_BOOL))
        return false;
    if (j->src.ptr[j->pos] == 't')
        return vug_json_scan_literal(j, "true");
    (void)vug_json_scan_literal(j, "false");
    return false;
}

/* False when the value does not fit. */
static bool parse_magnitude(vug_str digits, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < digits.len; i++) {
        const uint64_t d = (uint64_t)(digits.ptr[i] - '0');
        if (v > (UINT64_MAX - d) / 10)
            return false;
        v = v * 10 + d;
    }
    *out = v;
    return true;
}

int64_t vug_json_i64(vug_json_reader *j, int64_t min, int64_t max)
{
    if (!expect_type(j, VUG_JSON_NUMBER))
        return 0;
    const vug_json_number x = vug_json_scan_number(j);
    if (j->st != VUG_OK)
        return 0;
    const bool minus = x.text.ptr[0] == '-';
    uint64_t m = 0;
    bool fits = x.whole && parse_magnitude(vug_str_from(x.text, minus), &m) &&
                m <= (uint64_t)INT64_MAX + minus;
    /* Negated as unsigned: the smallest number has no positive counterpart. */
    const int64_t v = fits ? (int64_t)(minus ? 0 - m : m) : 0;
    if (fits && v >= min && v <= max)
        return v;
    j->pos -= x.text.len;
    vug_json_fail(j, VUG_FORMAT, "expected a whole number from %lld to %lld, found %.*s",
                  (long long)min, (long long)max, (int)(x.text.len < 40 ? x.text.len : 40),
                  x.text.ptr);
    return 0;
}

uint64_t vug_json_u64(vug_json_reader *j, uint64_t max)
{
    if (!expect_type(j, VUG_JSON_NUMBER))
        return 0;
    const vug_json_number x = vug_json_scan_number(j);
    if (j->st != VUG_OK)
        return 0;
    uint64_t v = 0;
    if (x.whole && x.text.ptr[0] != '-' && parse_magnitude(x.text, &v) && v <= max)
        return v;
    j->pos -= x.text.len;
    vug_json_fail(j, VUG_FORMAT, "expected a whole number from 0 to %llu, found %.*s",
                  (unsigned long long)max, (int)(x.text.len < 40 ? x.text.len : 40), x.text.ptr);
    return 0;
}

double vug_json_f64(vug_json_reader *j)
{
    if (!expect_type(j, VUG_JSON_NUMBER))
        return 0;
    const vug_json_number x = vug_json_scan_number(j);
    if (j->st != VUG_OK)
        return 0;
    const double v = vug_parse_decimal(x.text);
    if (v <= DBL_MAX && v >= -DBL_MAX)
        return v;
    j->pos -= x.text.len;
    vug_json_fail(j, VUG_FORMAT, "number too large");
    return 0;
}

vug_status vug_json_finish(vug_json_reader *j, vug_err *err)
{
    if (j->st == VUG_OK) {
        VUG_ASSERT(j->depth == 0);
        vug_json_skip_space(j);
        if (j->pos < j->src.len)
            vug_json_fail_expected(j, "the end");
    }
    if (j->st != VUG_OK && err)
        *err = j->err;
    return j->st;
}
