#include "text/grammar/regex_rules.h"

#include "core/text.h"

/*
 * What stands for one character: itself, an escape, a dot, a class in brackets. The
 * sets behind \d, \w, \s and the dot are those of ECMA-262 (22.2.2.9,
 * CharacterClassEscape; 12.2 and 12.3 for white space and line ends).
 */

enum { LAST_CHARACTER = 0x10ffff };

static const vug_char_range digits[] = { { '0', '9' } };
static const vug_char_range word[] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } };
static const vug_char_range space[] = { { 0x09, 0x0d },     { 0x20, 0x20 },     { 0xa0, 0xa0 },
                                        { 0x1680, 0x1680 }, { 0x2000, 0x200a }, { 0x2028, 0x2029 },
                                        { 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 },
                                        { 0xfeff, 0xfeff } };
static const vug_char_range line_end[] = { { '\n', '\n' }, { '\r', '\r' }, { 0x2028, 0x2029 } };

enum { SETS_MAX = sizeof(space) / sizeof(*space) };

/* The escapes of sets, in lower case; upper case is the rest. */
static const struct {
    char letter;
    uint8_t n;
    const vug_char_range *range;
} sets[] = {
    { 'd', sizeof(digits) / sizeof(*digits), digits },
    { 'w', sizeof(word) / sizeof(*word), word },
    { 's', sizeof(space) / sizeof(*space), space },
};

/* Escapes of one character. */
static const struct {
    char letter;
    uint8_t is;
} controls[] = { { 't', '\t' }, { 'n', '\n' }, { 'r', '\r' }, { 'f', '\f' }, { 'v', '\v' } };

/* Letters after a backslash that mean what is not here. */
static const struct {
    const char *letters;
    const char *what;
} refused[] = {
    { "123456789k", "backreferences are not supported" },
    { "bB", "word boundaries are not supported" },
    { "pP", "Unicode properties (\\p) are not supported; expected a class of ranges" },
    { "AzZG", "this anchor is not supported; expected ^ and $" },
};

/* ---- ranges ------------------------------------------------------------------- */

static void put(vug_regex *r, vug_buf *ranges, const vug_char_range *range, size_t n)
{
    if (ranges->len / sizeof(*range) + n > VUG_REGEX_MAX_RANGES)
        vug_regex_fail(r, VUG_LIMIT, r->at, "a class of too many ranges");
    else
        vug_buf_append(ranges, range, n * sizeof(*range));
}

static void put_set(vug_regex *r, vug_buf *ranges, const vug_char_range *range, size_t n,
                    bool negated)
{
    vug_char_range settled[SETS_MAX + 2];
    VUG_ASSERT(n <= SETS_MAX);
    put(r, ranges, settled, vug_ranges_settle(range, n, negated, settled));
}

static vug_node node_of(vug_regex *r, const vug_char_range *range, size_t n, bool negated)
{
    vug_node node = VUG_NODE_EMPTY;
    vug_char_range *settled = vug_alloc(n + 2, sizeof(*settled));
    if (!settled) {
        vug_regex_fail(r, VUG_NOMEM, r->at, "out of memory for a class");
        return node;
    }
    const size_t count = vug_ranges_settle(range, n, negated, settled);
    if (r->use->character)
        node = r->use->character(r->rules, settled, count, r->use->user);
    else
        node = vug_rules_class(r->rules, settled, count, false);
    vug_free(settled);
    return node;
}

/* ---- escapes -------------------------------------------------------------------- */

/* The value of `least` to `most` hexadecimal digits, or -1. */
static int64_t hex(vug_regex *r, size_t least, size_t most)
{
    uint32_t value = 0;
    size_t n = 0;
    for (; n < most && r->at < r->text.len; n++, r->at++) {
        const char c = r->text.ptr[r->at];
        if (c >= '0' && c <= '9')
            value = value * 16 + (uint32_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            value = value * 16 + (uint32_t)((c | 32) - 'a' + 10);
        else
            break;
    }
    return n < least ? -1 : (int64_t)value;
}

/* After \u: four digits, twice where the first are half of a pair; or {...}. */
static int64_t unicode(vug_regex *r)
{
    if (vug_regex_skip(r, "{")) {
        const int64_t c = hex(r, 1, 6);
        return vug_regex_skip(r, "}") ? c : -1;
    }
    const int64_t high = hex(r, 4, 4);
    if (high < 0xd800 || high > 0xdbff)
        return high;
    const int64_t low = vug_regex_skip(r, "\\u") ? hex(r, 4, 4) : -1;
    return low < 0xdc00 || low > 0xdfff ? -1 : 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* The character of an escape, after its backslash and letter; -1 where it is none. */
static int64_t escaped(vug_regex *r, char letter)
{
    for (size_t i = 0; i < sizeof(controls) / sizeof(*controls); i++) {
        if (controls[i].letter == letter)
            return controls[i].is;
    }
    switch (letter) {
    case 'x':
        return hex(r, 2, 2);
    case 'u':
        return unicode(r);
    case '0':
        return vug_regex_skip(r, "0") || hex(r, 1, 1) >= 0 ? -1 : 0;
    case 'c':
        if (r->at < r->text.len && (r->text.ptr[r->at] | 32) >= 'a' &&
            (r->text.ptr[r->at] | 32) <= 'z')
            return r->text.ptr[r->at++] & 31;
        return -1;
    default:
        break;
    }
    const bool alphanumeric =
            (letter >= '0' && letter <= '9') || ((letter | 32) >= 'a' && (letter | 32) <= 'z');
    return alphanumeric || letter == '\0' || (uint8_t)letter >= 0x80 ? -1 : letter;
}

/* After a backslash. Gives the character, or -1 where it put a set into `ranges`. */
static int64_t escape(vug_regex *r, vug_buf *ranges, bool in_class)
{
    const size_t start = r->at - 1;
    char letter = '\0';
    if (r->at < r->text.len)
        letter = r->text.ptr[r->at++];
    if (in_class && letter == 'b')
        return '\b';
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
        if ((letter | 32) == sets[i].letter) {
            put_set(r, ranges, sets[i].range, sets[i].n, letter != sets[i].letter);
            return -1;
        }
    }
    for (size_t i = 0; letter && i < sizeof(refused) / sizeof(*refused); i++) {
        if (strchr(refused[i].letters, letter)) {
            vug_regex_fail(r, VUG_UNSUPPORTED, start, refused[i].what);
            return -1;
        }
    }
    const int64_t c = escaped(r, letter);
    if (c < 0 || c > LAST_CHARACTER || (c >= 0xd800 && c <= 0xdfff))
        vug_regex_fail(r, VUG_ARGUMENT, start, "an escape that is none, or of no character");
    return c;
}

/* A character as it is. */
static int64_t plain(vug_regex *r)
{
    uint32_t c = 0;
    const size_t n = vug_utf8_next(r->text.ptr + r->at, r->text.len - r->at, &c);
    if (n == 0)
        vug_regex_fail(r, VUG_ARGUMENT, r->at, "bytes that are no UTF-8");
    r->at += n;
    return (int64_t)c;
}

/* ---- classes --------------------------------------------------------------------- */

/* A member of a class, or -1 where it was a set. */
static int64_t member(vug_regex *r, vug_buf *ranges)
{
    if (vug_regex_looking_at(r, "[:") || vug_regex_looking_at(r, "[=") ||
        vug_regex_looking_at(r, "[.")) {
        vug_regex_fail(r, VUG_UNSUPPORTED, r->at, "POSIX classes are not supported");
        return -1;
    }
    return vug_regex_skip(r, "\\") ? escape(r, ranges, true) : plain(r);
}

/* A member, or two with a dash; behind a set a dash is itself. */
static void put_member(vug_regex *r, vug_buf *ranges)
{
    const size_t start = r->at;
    const int64_t from = member(r, ranges);
    int64_t to = from;
    if (from >= 0 && vug_regex_looking_at(r, "-") && !vug_regex_looking_at(r, "-]")) {
        r->at++;
        to = member(r, ranges);
        if (to < from)
            vug_regex_fail(r, VUG_ARGUMENT, start, "a range whose ends are not in order");
    }
    const vug_char_range range = { (uint32_t)from, (uint32_t)to };
    if (r->st == VUG_OK && from >= 0)
        put(r, ranges, &range, 1);
}

/* After the bracket. */
static vug_node bracket(vug_regex *r)
{
    const size_t start = r->at - 1;
    vug_buf ranges = { 0 };
    vug_node node = VUG_NODE_EMPTY;
    const bool negated = vug_regex_skip(r, "^");
    if (vug_regex_looking_at(r, "]"))
        vug_regex_fail(r, VUG_ARGUMENT, start, "an empty class");
    while (r->st == VUG_OK && !vug_regex_skip(r, "]")) {
        if (r->at == r->text.len)
            vug_regex_fail(r, VUG_ARGUMENT, start, "a class without its ]");
        else
            put_member(r, &ranges);
    }
    if (ranges.bad)
        vug_regex_fail(r, VUG_NOMEM, start, "out of memory for a class");
    if (r->st == VUG_OK)
        node = node_of(r, (const void *)ranges.ptr, ranges.len / sizeof(vug_char_range), negated);
    vug_buf_release(&ranges);
    return node;
}

vug_node vug_regex_any(vug_regex *r)
{
    return node_of(r, NULL, 0, true);
}

vug_node vug_regex_character(vug_regex *r)
{
    if (vug_regex_skip(r, "["))
        return bracket(r);
    if (vug_regex_skip(r, "."))
        return node_of(r, line_end, sizeof(line_end) / sizeof(*line_end), true);
    vug_buf ranges = { 0 };
    vug_node node = VUG_NODE_EMPTY;
    const bool set = vug_regex_skip(r, "\\");
    const int64_t c = set ? escape(r, &ranges, false) : plain(r);
    const vug_char_range one = { (uint32_t)c, (uint32_t)c };
    if (ranges.bad)
        vug_regex_fail(r, VUG_NOMEM, r->at, "out of memory for a class");
    if (r->st == VUG_OK && c >= 0)
        node = node_of(r, &one, 1, false);
    else if (r->st == VUG_OK)
        node = node_of(r, (const void *)ranges.ptr, ranges.len / sizeof(one), false);
    vug_buf_release(&ranges);
    return node;
}
