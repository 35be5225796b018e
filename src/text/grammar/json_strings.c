#include "core/json_writer.h"
#include "text/grammar/grammar_expr.h"
#include "text/grammar/json_grammar.h"

/*
 * JSON strings (RFC 8259, section 7): classes of characters in every encoding, and given
 * strings in one encoding.
 */

#define MAX_CHAR         0x10ffffU
#define NON_ASCII        0x80U    /* from here on, escaping is optional */
#define SUPPLEMENTARY    0x10000U /* from here on, an escape needs a surrogate pair */
#define HIGH_SURROGATE   0xd800U
#define LOW_SURROGATE    0xdc00U
#define AFTER_SURROGATES 0xe000U

/* Sorted, disjoint, without surrogates. */
typedef struct {
    const vug_char_range *range;
    size_t n;
} json_char_set;

static bool set_contains(const json_char_set *set, uint32_t c)
{
    for (size_t i = 0; i < set->n; i++)
        if (c >= set->range[i].from && c <= set->range[i].to)
            return true;
    return false;
}

static vug_grammar_expr hex_digit(vug_grammar_builder *b, uint32_t from, uint32_t to)
{
    vug_char_range range[3];
    size_t n = 0;
    if (from < 10)
        range[n++] = (vug_char_range){ '0' + from, '0' + (to < 9 ? to : 9) };
    if (to >= 10) {
        const uint32_t first = from > 10 ? from - 10 : 0;
        range[n++] = (vug_char_range){ 'a' + first, 'a' + to - 10 };
        range[n++] = (vug_char_range){ 'A' + first, 'A' + to - 10 };
    }
    return vug_grammar_class(b, range, n, false);
}

/* The numbers `from` to `to` as `digits` hexadecimal digits, at most 4. */
static vug_grammar_expr hex_range(vug_grammar_builder *b, uint32_t from,
                                  uint32_t to, // NOLINT(misc-no-recursion)
                                  unsigned digits)
{
    if (digits == 0)
        return VUG_EMPTY_EXPR;
    const unsigned shift = 4 * (digits - 1);
    const uint32_t rest = ((uint32_t)1 << shift) - 1;
    uint32_t first = from >> shift, last = to >> shift;
    if (first == last)
        return VUG_GRAMMAR_SEQUENCE(b, hex_digit(b, first, first),
                                    hex_range(b, from & rest, to & rest, digits - 1));
    vug_grammar_expr part[3];
    size_t n = 0;
    if (from & rest) {
        part[n++] = VUG_GRAMMAR_SEQUENCE(b, hex_digit(b, first, first),
                                         hex_range(b, from & rest, rest, digits - 1));
        first++;
    }
    if ((to & rest) != rest) {
        part[n++] = VUG_GRAMMAR_SEQUENCE(b, hex_digit(b, last, last),
                                         hex_range(b, 0, to & rest, digits - 1));
        last--;
    }
    if (first <= last) {
        const vug_grammar_expr any = hex_digit(b, 0, 15);
        part[n++] = VUG_GRAMMAR_SEQUENCE(b, hex_digit(b, first, last),
                                         vug_grammar_repeat(b, any, digits - 1, digits - 1));
    }
    return vug_grammar_choice(b, part, n);
}

static vug_grammar_expr unicode_escape(vug_grammar_builder *b, uint32_t from, uint32_t to)
{
    return VUG_GRAMMAR_SEQUENCE(b, vug_grammar_text(b, "\\u"), hex_range(b, from, to, 4));
}

/* Both are offsets. `second` is every low surrogate unless `first` is a single one. */
static vug_grammar_expr surrogate_pair(vug_grammar_builder *b, vug_char_range first,
                                       vug_char_range second)
{
    return VUG_GRAMMAR_SEQUENCE(
            b, unicode_escape(b, HIGH_SURROGATE + first.from, HIGH_SURROGATE + first.to),
            unicode_escape(b, LOW_SURROGATE + second.from, LOW_SURROGATE + second.to));
}

/* Characters above U+FFFF as escaped surrogate pairs (RFC 8259, section 7). */
static size_t surrogate_pairs(vug_grammar_builder *b, uint32_t from, uint32_t to,
                              vug_grammar_expr part[3])
{
    from -= SUPPLEMENTARY;
    to -= SUPPLEMENTARY;
    uint32_t first = from >> 10, last = to >> 10;
    const uint32_t first_low = from & 0x3ff, last_low = to & 0x3ff;
    size_t n = 0;
    if (first == last) {
        part[n++] = surrogate_pair(b, (vug_char_range){ first, first },
                                   (vug_char_range){ first_low, last_low });
        return n;
    }
    if (first_low > 0) {
        part[n++] = surrogate_pair(b, (vug_char_range){ first, first },
                                   (vug_char_range){ first_low, 0x3ff });
        first++;
    }
    if (last_low < 0x3ff) {
        part[n++] =
                surrogate_pair(b, (vug_char_range){ last, last }, (vug_char_range){ 0, last_low });
        last--;
    }
    if (first <= last)
        part[n++] =
                surrogate_pair(b, (vug_char_range){ first, last }, (vug_char_range){ 0, 0x3ff });
    return n;
}

/* The escapes of a range without ASCII, except control characters. */
static size_t unicode_escapes(vug_grammar_builder *b, vug_char_range range,
                              vug_grammar_expr part[4])
{
    size_t n = 0;
    if (range.from < SUPPLEMENTARY)
        part[n++] = unicode_escape(b, range.from,
                                   range.to < SUPPLEMENTARY ? range.to : SUPPLEMENTARY - 1);
    if (range.to >= SUPPLEMENTARY)
        n += surrogate_pairs(b, range.from > SUPPLEMENTARY ? range.from : SUPPLEMENTARY, range.to,
                             part + n);
    return n;
}

vug_grammar_expr vug_json_grammar_escaped_non_ascii(vug_grammar_builder *b)
{
    static const vug_char_range high[] = { { NON_ASCII, HIGH_SURROGATE - 1 },
                                           { AFTER_SURROGATES, MAX_CHAR } };
    vug_grammar_expr part[8];
    size_t n = unicode_escapes(b, high[0], part);
    n += unicode_escapes(b, high[1], part + n);
    return vug_grammar_choice(b, part, n);
}

static const char short_escapes[] =
        "\"\"\\\\//b\bf\fn\nr\rt\t"; /* letter, character, letter, ... */

static vug_grammar_expr short_escape(vug_grammar_builder *b, const json_char_set *set)
{
    vug_char_range letter[sizeof(short_escapes) / 2];
    size_t n = 0;
    for (size_t i = 0; i + 1 < sizeof(short_escapes); i += 2)
        if (set_contains(set, (unsigned char)short_escapes[i + 1]))
            letter[n++] =
                    (vug_char_range){ (uint32_t)short_escapes[i], (uint32_t)short_escapes[i] };
    if (n == 0)
        return vug_grammar_nothing(b);
    return VUG_GRAMMAR_SEQUENCE(b, vug_grammar_text(b, "\\"),
                                vug_grammar_class(b, letter, n, false));
}

/* The characters of the set that need no escape. */
static vug_grammar_expr unescaped_class(vug_grammar_builder *b, const json_char_set *set,
                                        vug_char_range *scratch)
{
    static const vug_char_range allowed[] = { { 0x20, '"' - 1 },
                                              { '"' + 1, '\\' - 1 },
                                              { '\\' + 1, MAX_CHAR } };
    size_t n = 0;
    for (size_t i = 0; i < set->n; i++) {
        for (size_t k = 0; k < sizeof(allowed) / sizeof(*allowed); k++) {
            const vug_char_range in = set->range[i];
            const uint32_t from = in.from > allowed[k].from ? in.from : allowed[k].from;
            const uint32_t to = in.to < allowed[k].to ? in.to : allowed[k].to;
            if (from <= to)
                scratch[n++] = (vug_char_range){ from, to };
        }
    }
    return n ? vug_grammar_class(b, scratch, n, false) : vug_grammar_nothing(b);
}

/* Whether the set contains every character from U+0080 on, which is the usual case. */
static bool has_all_non_ascii(const json_char_set *set)
{
    return set->n >= 2 && set->range[set->n - 1].from == AFTER_SURROGATES &&
           set->range[set->n - 1].to == MAX_CHAR && set->range[set->n - 2].from <= NON_ASCII &&
           set->range[set->n - 2].to == HIGH_SURROGATE - 1;
}

static vug_grammar_expr all_encodings(const vug_json_grammar *json, const json_char_set *set,
                                      vug_grammar_expr *part, vug_char_range *scratch)
{
    vug_grammar_builder *b = json->builder;
    const vug_grammar_expr common[] = { unescaped_class(b, set, scratch), short_escape(b, set) };
    size_t n = 0;
    for (size_t i = 0; i < 2; i++)
        if (common[i] != vug_grammar_nothing(b))
            part[n++] = common[i];
    const bool high = has_all_non_ascii(set) && json->escaped_non_ascii != VUG_EMPTY_EXPR;
    for (size_t i = 0; i < set->n; i++) {
        const vug_char_range in = set->range[i];
        if (in.from < 0x20)
            n += unicode_escapes(b, (vug_char_range){ in.from, in.to < 0x20 ? in.to : 0x1f },
                                 part + n);
        if (in.to >= NON_ASCII && !high)
            n += unicode_escapes(
                    b, (vug_char_range){ in.from > NON_ASCII ? in.from : NON_ASCII, in.to },
                    part + n);
    }
    if (high)
        part[n++] = json->escaped_non_ascii;
    return vug_grammar_choice(b, part, n);
}

static void fail_nomem(vug_grammar_builder *b)
{
    VUG_GRAMMAR_FAIL(b, VUG_NOMEM, "out of memory: a JSON grammar");
}

/* Copies the ranges, without '<' if `no_angle_brackets`. `to` has room for n + 1. */
static size_t filter_ranges(const vug_char_range *range, size_t n, bool no_tags, vug_char_range *to)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        vug_char_range here = range[i];
        if (no_tags && here.from <= '<' && here.to >= '<') {
            if (here.from < '<')
                to[count++] = (vug_char_range){ here.from, '<' - 1 };
            here.from = '<' + 1;
        }
        if (here.from <= here.to)
            to[count++] = here;
    }
    return count;
}

vug_grammar_expr vug_json_grammar_class(const vug_json_grammar *json, const vug_char_range *range,
                                        size_t n)
{
    vug_char_range *kept = vug_alloc(n + 1, sizeof(*kept));
    vug_char_range *scratch = vug_alloc(3 * (n + 1) + 1, sizeof(*scratch));
    vug_grammar_expr *part = vug_alloc(5 * (n + 1) + 3, sizeof(*part));
    vug_grammar_expr out = VUG_EMPTY_EXPR;
    if (kept && scratch && part) {
        const json_char_set set = { kept, filter_ranges(range, n, json->no_angle_brackets, kept) };
        out = json->escapes ? all_encodings(json, &set, part, scratch)
                            : vug_grammar_class(json->builder, kept, set.n, false);
    } else {
        fail_nomem(json->builder);
    }
    vug_free(kept);
    vug_free(scratch);
    vug_free(part);
    return out;
}

vug_grammar_expr vug_json_grammar_class_callback(vug_grammar_builder *builder,
                                                 const vug_char_range *range, size_t n, void *json)
{
    (void)builder;
    return vug_json_grammar_class(json, range, n);
}

vug_grammar_expr vug_json_grammar_class_except(const vug_json_grammar *json,
                                               const vug_char_range *range, size_t n)
{
    vug_char_range *to = vug_alloc(n + 2, sizeof(*to));
    vug_grammar_expr out = VUG_EMPTY_EXPR;
    if (to)
        out = vug_json_grammar_class(json, to, vug_char_ranges_normalize(range, n, true, to));
    else
        fail_nomem(json->builder);
    vug_free(to);
    return out;
}

/* A bit for each character from U+0020 to U+007F but `"`, `/` and `\`. */
static const uint64_t plain_characters[2] = { 0xffff7ffb00000000, 0xffffffffefffffff };

bool vug_json_grammar_is_plain(uint32_t c)
{
    return c < VUG_JSON_PLAIN_END && (plain_characters[c / 64] >> (c % 64) & 1);
}

/* The ranges of the bits that are set. Returns how many there are. */
static size_t ranges_of_bits(const uint64_t bits[2], vug_char_range to[NON_ASCII])
{
    size_t n = 0;
    for (uint32_t word = 0; word < 2; word++) {
        for (uint64_t left = bits[word]; left;) {
            const uint32_t from = (uint32_t)__builtin_ctzll(left);
            const uint64_t ends = ~(left >> from);
            const uint32_t length = ends ? (uint32_t)__builtin_ctzll(ends) : 64;
            const vug_char_range range = { 64 * word + from, 64 * word + from + length - 1 };
            if (n > 0 && to[n - 1].to + 1 == range.from)
                to[n - 1].to = range.to;
            else
                to[n++] = range;
            left = from + length < 64 ? left >> (from + length) << (from + length) : 0;
        }
    }
    return n;
}

vug_grammar_expr vug_json_grammar_plain_except(const vug_json_grammar *json,
                                               const vug_char_range *range, size_t n)
{
    uint64_t left[2] = { plain_characters[0], plain_characters[1] };
    vug_char_range to[NON_ASCII];
    if (json->no_angle_brackets)
        left['<' / 64] &= ~((uint64_t)1 << '<' % 64);
    for (size_t i = 0; i < n; i++)
        for (uint32_t c = range[i].from; c <= range[i].to && c < NON_ASCII; c++)
            left[c / 64] &= ~((uint64_t)1 << c % 64);
    return vug_grammar_class(json->builder, to, ranges_of_bits(left, to), false);
}

/* A given string with a closing tag would end the parameter that contains it. */
static void refuse_closing_tags(const vug_json_grammar *json, vug_str text)
{
    for (size_t i = 0; json->no_angle_brackets && i < text.len; i++)
        if (vug_str_starts(vug_str_from(text, i), "</"))
            VUG_GRAMMAR_FAIL(json->builder, VUG_UNSUPPORTED,
                             "a value that contains '</', which ends a parameter");
}

vug_grammar_expr vug_json_grammar_string(const vug_json_grammar *json, vug_str text)
{
    refuse_closing_tags(json, text);
    if (!json->escapes)
        return VUG_GRAMMAR_SEQUENCE(json->builder, json->quote,
                                    vug_grammar_literal(json->builder, text), json->quote);
    vug_buf buf = { 0 };
    vug_json_append_string(&buf, text.ptr, text.len);
    if (buf.bad)
        fail_nomem(json->builder);
    const vug_grammar_expr out = vug_grammar_literal(json->builder, (vug_str){ buf.ptr, buf.len });
    vug_buf_release(&buf);
    return out;
}

/* ---- keys ------------------------------------------------------------------------- */

static const vug_char_range bare_key_ranges[] = {
    { '-', '-' }, { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' }
};
enum { N_BARE_KEY_RANGES = sizeof(bare_key_ranges) / sizeof(*bare_key_ranges) };

bool vug_json_grammar_is_bare_key_char(uint32_t c)
{
    bool is = false;
    for (size_t i = 0; i < N_BARE_KEY_RANGES; i++)
        is = is || (c >= bare_key_ranges[i].from && c <= bare_key_ranges[i].to);
    return is;
}

vug_grammar_expr vug_json_grammar_key(const vug_json_grammar *json, vug_str text)
{
    bool bare = json->bare_keys && text.len > 0;
    if (json->bare_keys && text.len == 0)
        VUG_GRAMMAR_FAIL(json->builder, VUG_UNSUPPORTED,
                         "an empty name, which cannot be written without quotes");
    for (size_t i = 0; i < text.len; i++)
        bare = bare && vug_json_grammar_is_bare_key_char((unsigned char)text.ptr[i]);
    return bare ? vug_grammar_literal(json->builder, text) : vug_json_grammar_string(json, text);
}

vug_grammar_expr vug_json_grammar_key_char_except(const vug_json_grammar *json,
                                                  const vug_char_range *range, size_t n)
{
    if (!json->bare_keys)
        return vug_json_grammar_class_except(json, range, n);
    vug_char_range left['z' + 1];
    size_t n_left = 0;
    for (uint32_t c = '-'; c <= 'z'; c++) {
        bool taken = !vug_json_grammar_is_bare_key_char(c);
        for (size_t i = 0; i < n && !taken; i++)
            taken = c >= range[i].from && c <= range[i].to;
        if (!taken)
            left[n_left++] = (vug_char_range){ c, c };
    }
    return vug_grammar_class(json->builder, left, n_left, false);
}
