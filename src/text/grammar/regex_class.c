#include "core/number.h"
#include "text/grammar/regex_internal.h"

#include "core/utf8.h"

/*
 * Parses what stands for one character. \d, \w, \s and the dot mean what ECMA-262 says
 * (22.2.2.9, CharacterClassEscape; 12.2 and 12.3 for white space and line terminators).
 */

enum { LAST_CHARACTER = 0x10ffff };

static const vug_char_range digit_ranges[] = { { '0', '9' } };
static const vug_char_range word_ranges[] = {
    { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' }
};
static const vug_char_range space_ranges[] = { { 0x09, 0x0d },     { 0x20, 0x20 },
                                               { 0xa0, 0xa0 },     { 0x1680, 0x1680 },
                                               { 0x2000, 0x200a }, { 0x2028, 0x2029 },
                                               { 0x202f, 0x202f }, { 0x205f, 0x205f },
                                               { 0x3000, 0x3000 }, { 0xfeff, 0xfeff } };
static const vug_char_range line_end_ranges[] = { { '\n', '\n' },
                                                  { '\r', '\r' },
                                                  { 0x2028, 0x2029 } };

enum { MAX_CLASS_RANGES = sizeof(space_ranges) / sizeof(*space_ranges) };

/* Escapes that stand for a class; in upper case, for its complement. */
static const struct {
    char letter;
    uint8_t n;
    const vug_char_range *range;
} class_escapes[] = {
    { 'd', sizeof(digit_ranges) / sizeof(*digit_ranges), digit_ranges },
    { 'w', sizeof(word_ranges) / sizeof(*word_ranges), word_ranges },
    { 's', sizeof(space_ranges) / sizeof(*space_ranges), space_ranges },
};

/* Escapes that stand for one control character. */
static const struct {
    char letter;
    uint8_t character;
} control_escapes[] = { { 't', '\t' }, { 'n', '\n' }, { 'r', '\r' }, { 'f', '\f' }, { 'v', '\v' } };

/* Escapes that are not supported. */
static const struct {
    const char *letters;
    const char *why;
} unsupported_escapes[] = {
    { "123456789k", "backreferences are not supported" },
    { "bB", "word boundaries are not supported" },
    { "pP", "Unicode properties (\\p) are not supported; expected a class of ranges" },
    { "AzZG", "this anchor is not supported; expected ^ and $" },
};

/* ---- ranges ------------------------------------------------------------------- */

static void append_ranges(vug_regex_parser *p, vug_buf *ranges, const vug_char_range *range,
                          size_t n)
{
    if (ranges->len / sizeof(*range) + n > VUG_REGEX_MAX_RANGES)
        vug_regex_parser_fail(p, VUG_LIMIT, p->at, "a class with too many ranges");
    else
        vug_buf_append(ranges, range, n * sizeof(*range));
}

static void append_class(vug_regex_parser *p, vug_buf *ranges, const vug_char_range *range,
                         size_t n, bool negated)
{
    vug_char_range normalized[MAX_CLASS_RANGES + 2];
    VUG_ASSERT(n <= MAX_CLASS_RANGES);
    append_ranges(p, ranges, normalized, vug_char_ranges_normalize(range, n, negated, normalized));
}

static vug_grammar_expr class_expr(vug_regex_parser *p, const vug_char_range *range, size_t n,
                                   bool negated)
{
    vug_grammar_expr expr = VUG_EMPTY_EXPR;
    vug_char_range *normalized = vug_alloc(n + 2, sizeof(*normalized));
    if (!normalized) {
        vug_regex_parser_fail(p, VUG_NOMEM, p->at, "out of memory for a class");
        return expr;
    }
    const size_t count = vug_char_ranges_normalize(range, n, negated, normalized);
    if (p->options->make_class)
        expr = p->options->make_class(p->builder, normalized, count, p->options->user);
    else
        expr = vug_grammar_class(p->builder, normalized, count, false);
    vug_free(normalized);
    return expr;
}

/* ---- escapes -------------------------------------------------------------------- */

/* The value of `least` to `most` hexadecimal digits, or -1. */
static int64_t parse_hex(vug_regex_parser *p, size_t least, size_t most)
{
    uint32_t value = 0;
    size_t n = 0;
    for (; n < most && p->at < p->text.len; n++, p->at++) {
        const int digit = vug_hex_digit(p->text.ptr[p->at]);
        if (digit < 0)
            break;
        value = value * 16 + (uint32_t)digit;
    }
    return n < least ? -1 : (int64_t)value;
}

/* After \u: four digits, two such escapes for a surrogate pair, or {...}. */
static int64_t parse_unicode_escape(vug_regex_parser *p)
{
    if (vug_regex_parser_skip(p, "{")) {
        const int64_t c = parse_hex(p, 1, 6);
        return vug_regex_parser_skip(p, "}") ? c : -1;
    }
    const int64_t high = parse_hex(p, 4, 4);
    if (high < 0xd800 || high > 0xdbff)
        return high;
    const int64_t low = vug_regex_parser_skip(p, "\\u") ? parse_hex(p, 4, 4) : -1;
    return low < 0xdc00 || low > 0xdfff ? -1 : 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* The character of an escape, after its backslash and letter. -1 if there is no such escape. */
static int64_t parse_character_escape(vug_regex_parser *p, char letter)
{
    for (size_t i = 0; i < sizeof(control_escapes) / sizeof(*control_escapes); i++) {
        if (control_escapes[i].letter == letter)
            return control_escapes[i].character;
    }
    switch (letter) {
    case 'x':
        return parse_hex(p, 2, 2);
    case 'u':
        return parse_unicode_escape(p);
    case '0':
        return vug_regex_parser_skip(p, "0") || parse_hex(p, 1, 1) >= 0 ? -1 : 0;
    case 'c':
        if (p->at < p->text.len && (p->text.ptr[p->at] | 32) >= 'a' &&
            (p->text.ptr[p->at] | 32) <= 'z')
            return p->text.ptr[p->at++] & 31;
        return -1;
    default:
        break;
    }
    const bool alphanumeric =
            (letter >= '0' && letter <= '9') || ((letter | 32) >= 'a' && (letter | 32) <= 'z');
    return alphanumeric || letter == '\0' || (uint8_t)letter >= 0x80 ? -1 : letter;
}

/* After a backslash. Returns the character, or -1 for a class, which is added to `ranges`. */
static int64_t parse_escape(vug_regex_parser *p, vug_buf *ranges, bool in_class)
{
    const size_t start = p->at - 1;
    char letter = '\0';
    if (p->at < p->text.len)
        letter = p->text.ptr[p->at++];
    if (in_class && letter == 'b')
        return '\b';
    for (size_t i = 0; i < sizeof(class_escapes) / sizeof(*class_escapes); i++) {
        if ((letter | 32) == class_escapes[i].letter) {
            append_class(p, ranges, class_escapes[i].range, class_escapes[i].n,
                         letter != class_escapes[i].letter);
            return -1;
        }
    }
    for (size_t i = 0; letter && i < sizeof(unsupported_escapes) / sizeof(*unsupported_escapes);
         i++) {
        if (strchr(unsupported_escapes[i].letters, letter)) {
            vug_regex_parser_fail(p, VUG_UNSUPPORTED, start, unsupported_escapes[i].why);
            return -1;
        }
    }
    const int64_t c = parse_character_escape(p, letter);
    if (c < 0 || c > LAST_CHARACTER || (c >= 0xd800 && c <= 0xdfff))
        vug_regex_parser_fail(p, VUG_ARGUMENT, start, "an invalid escape");
    return c;
}

/* A character that stands for itself. */
static int64_t parse_plain_character(vug_regex_parser *p)
{
    uint32_t c = 0;
    const size_t n = vug_utf8_decode(p->text.ptr + p->at, p->text.len - p->at, &c);
    if (n == 0)
        vug_regex_parser_fail(p, VUG_ARGUMENT, p->at, "invalid UTF-8");
    p->at += n;
    return (int64_t)c;
}

/* ---- classes --------------------------------------------------------------------- */

/* Returns a character, or -1 for a class, which is added to `ranges`. */
static int64_t parse_class_member(vug_regex_parser *p, vug_buf *ranges)
{
    if (vug_regex_parser_looking_at(p, "[:") || vug_regex_parser_looking_at(p, "[=") ||
        vug_regex_parser_looking_at(p, "[.")) {
        vug_regex_parser_fail(p, VUG_UNSUPPORTED, p->at, "POSIX classes are not supported");
        return -1;
    }
    return vug_regex_parser_skip(p, "\\") ? parse_escape(p, ranges, true)
                                          : parse_plain_character(p);
}

/* A character, a class escape or a range. After a class escape, a dash stands for itself. */
static void append_class_member(vug_regex_parser *p, vug_buf *ranges)
{
    const size_t start = p->at;
    const int64_t from = parse_class_member(p, ranges);
    int64_t to = from;
    if (from >= 0 && vug_regex_parser_looking_at(p, "-") && !vug_regex_parser_looking_at(p, "-]")) {
        p->at++;
        to = parse_class_member(p, ranges);
        if (to < from)
            vug_regex_parser_fail(p, VUG_ARGUMENT, start, "the ends of a range are not in order");
    }
    const vug_char_range range = { (uint32_t)from, (uint32_t)to };
    if (p->st == VUG_OK && from >= 0)
        append_ranges(p, ranges, &range, 1);
}

/* After the opening bracket. */
static vug_grammar_expr parse_bracket(vug_regex_parser *p)
{
    const size_t start = p->at - 1;
    vug_buf ranges = { 0 };
    vug_grammar_expr expr = VUG_EMPTY_EXPR;
    const bool negated = vug_regex_parser_skip(p, "^");
    if (vug_regex_parser_looking_at(p, "]"))
        vug_regex_parser_fail(p, VUG_ARGUMENT, start, "an empty class");
    while (p->st == VUG_OK && !vug_regex_parser_skip(p, "]")) {
        if (p->at == p->text.len)
            vug_regex_parser_fail(p, VUG_ARGUMENT, start, "a class without its ]");
        else
            append_class_member(p, &ranges);
    }
    if (ranges.bad)
        vug_regex_parser_fail(p, VUG_NOMEM, start, "out of memory for a class");
    if (p->st == VUG_OK)
        expr = class_expr(p, (const void *)ranges.ptr, ranges.len / sizeof(vug_char_range),
                          negated);
    vug_buf_release(&ranges);
    return expr;
}

vug_grammar_expr vug_regex_any_character(vug_regex_parser *p)
{
    return class_expr(p, NULL, 0, true);
}

vug_grammar_expr vug_regex_parse_character(vug_regex_parser *p)
{
    if (vug_regex_parser_skip(p, "["))
        return parse_bracket(p);
    if (vug_regex_parser_skip(p, "."))
        return class_expr(p, line_end_ranges, sizeof(line_end_ranges) / sizeof(*line_end_ranges),
                          true);
    vug_buf ranges = { 0 };
    vug_grammar_expr expr = VUG_EMPTY_EXPR;
    const bool is_class_escape = vug_regex_parser_skip(p, "\\");
    const int64_t c = is_class_escape ? parse_escape(p, &ranges, false) : parse_plain_character(p);
    const vug_char_range one = { (uint32_t)c, (uint32_t)c };
    if (ranges.bad)
        vug_regex_parser_fail(p, VUG_NOMEM, p->at, "out of memory for a class");
    if (p->st == VUG_OK && c >= 0)
        expr = class_expr(p, &one, 1, false);
    else if (p->st == VUG_OK)
        expr = class_expr(p, (const void *)ranges.ptr, ranges.len / sizeof(one), false);
    vug_buf_release(&ranges);
    return expr;
}
