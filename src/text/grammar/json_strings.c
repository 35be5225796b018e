#include "core/json.h"
#include "text/grammar/json_rules.h"
#include "text/grammar/rule_nodes.h"

/*
 * The characters of JSON's strings (RFC 8259, section 7) in each of their spellings, and
 * given strings in one.
 */

#define MAX_CHAR  0x10ffffU
#define HIGH      0x80U    /* from here on an escape is a choice */
#define ASTRAL    0x10000U /* from here on it takes two */
#define SURROGATE 0xd800U
#define LOW_HALF  0xdc00U
#define AFTER     0xe000U

/* Ascending, apart, without surrogates. */
typedef struct {
    const vug_char_range *range;
    size_t n;
} char_set;

static bool contains(const char_set *set, uint32_t c)
{
    for (size_t i = 0; i < set->n; i++)
        if (c >= set->range[i].from && c <= set->range[i].to)
            return true;
    return false;
}

static vug_node hex_digit(vug_rules *r, uint32_t from, uint32_t to)
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
    return vug_rules_class(r, range, n, false);
}

/* `digits` of them, at most 4, for the numbers `from` to `to`. */
static vug_node hex_range(vug_rules *r, uint32_t from, uint32_t to, // NOLINT(misc-no-recursion)
                          unsigned digits)
{
    if (digits == 0)
        return VUG_NODE_EMPTY;
    const unsigned shift = 4 * (digits - 1);
    const uint32_t rest = ((uint32_t)1 << shift) - 1;
    uint32_t first = from >> shift, last = to >> shift;
    if (first == last)
        return VUG_SEQUENCE(r, hex_digit(r, first, first),
                            hex_range(r, from & rest, to & rest, digits - 1));
    vug_node part[3];
    size_t n = 0;
    if (from & rest) {
        part[n++] = VUG_SEQUENCE(r, hex_digit(r, first, first),
                                 hex_range(r, from & rest, rest, digits - 1));
        first++;
    }
    if ((to & rest) != rest) {
        part[n++] =
                VUG_SEQUENCE(r, hex_digit(r, last, last), hex_range(r, 0, to & rest, digits - 1));
        last--;
    }
    if (first <= last) {
        const vug_node any = hex_digit(r, 0, 15);
        part[n++] = VUG_SEQUENCE(r, hex_digit(r, first, last),
                                 vug_rules_repeat(r, any, digits - 1, digits - 1));
    }
    return vug_rules_choice(r, part, n);
}

static vug_node escape(vug_rules *r, uint32_t from, uint32_t to)
{
    return VUG_SEQUENCE(r, vug_rules_text(r, "\\u"), hex_range(r, from, to, 4));
}

/* One first half, or a stretch of them with every second half. */
static vug_node pair(vug_rules *r, vug_char_range first, vug_char_range second)
{
    return VUG_SEQUENCE(r, escape(r, SURROGATE + first.from, SURROGATE + first.to),
                        escape(r, LOW_HALF + second.from, LOW_HALF + second.to));
}

/* Characters past U+FFFF as two escapes (RFC 8259, section 7). */
static size_t pairs(vug_rules *r, uint32_t from, uint32_t to, vug_node part[3])
{
    from -= ASTRAL;
    to -= ASTRAL;
    uint32_t first = from >> 10, last = to >> 10;
    const uint32_t a = from & 0x3ff, b = to & 0x3ff;
    size_t n = 0;
    if (first == last) {
        part[n++] = pair(r, (vug_char_range){ first, first }, (vug_char_range){ a, b });
        return n;
    }
    if (a > 0) {
        part[n++] = pair(r, (vug_char_range){ first, first }, (vug_char_range){ a, 0x3ff });
        first++;
    }
    if (b < 0x3ff) {
        part[n++] = pair(r, (vug_char_range){ last, last }, (vug_char_range){ 0, b });
        last--;
    }
    if (first <= last)
        part[n++] = pair(r, (vug_char_range){ first, last }, (vug_char_range){ 0, 0x3ff });
    return n;
}

/* The escapes of a range that has no ASCII but control characters. */
static size_t escapes(vug_rules *r, vug_char_range range, vug_node part[4])
{
    size_t n = 0;
    if (range.from < ASTRAL)
        part[n++] = escape(r, range.from, range.to < ASTRAL ? range.to : ASTRAL - 1);
    if (range.to >= ASTRAL)
        n += pairs(r, range.from > ASTRAL ? range.from : ASTRAL, range.to, part + n);
    return n;
}

/* Those of all characters from U+0080 on. */
vug_node vug_json_high(vug_rules *r)
{
    static const vug_char_range high[] = { { HIGH, SURROGATE - 1 }, { AFTER, MAX_CHAR } };
    vug_node part[8];
    size_t n = escapes(r, high[0], part);
    n += escapes(r, high[1], part + n);
    return vug_rules_choice(r, part, n);
}

static const char letter_of[] = "\"\"\\\\//b\bf\fn\nr\rt\t"; /* letter, character */

static vug_node short_escape(vug_rules *r, const char_set *set)
{
    vug_char_range letter[sizeof(letter_of) / 2];
    size_t n = 0;
    for (size_t i = 0; i + 1 < sizeof(letter_of); i += 2)
        if (contains(set, (unsigned char)letter_of[i + 1]))
            letter[n++] = (vug_char_range){ (uint32_t)letter_of[i], (uint32_t)letter_of[i] };
    if (n == 0)
        return vug_rules_nothing(r);
    return VUG_SEQUENCE(r, vug_rules_text(r, "\\"), vug_rules_class(r, letter, n, false));
}

/* Those of the set that may stand for themselves. */
static vug_node plain(vug_rules *r, const char_set *set, vug_char_range *scratch)
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
    return n ? vug_rules_class(r, scratch, n, false) : vug_rules_nothing(r);
}

/* Whether everything from U+0080 on is in the set, which is the usual case. */
static bool has_high(const char_set *set)
{
    return set->n >= 2 && set->range[set->n - 1].from == AFTER &&
           set->range[set->n - 1].to == MAX_CHAR && set->range[set->n - 2].from <= HIGH &&
           set->range[set->n - 2].to == SURROGATE - 1;
}

static vug_node spellings(const vug_json_rules *json, const char_set *set, vug_node *part,
                          vug_char_range *scratch)
{
    vug_rules *r = json->rules;
    size_t n = 0;
    part[n++] = plain(r, set, scratch);
    part[n++] = short_escape(r, set);
    const bool high = has_high(set) && json->high != VUG_NODE_EMPTY;
    for (size_t i = 0; i < set->n; i++) {
        const vug_char_range in = set->range[i];
        if (in.from < 0x20)
            n += escapes(r, (vug_char_range){ in.from, in.to < 0x20 ? in.to : 0x1f }, part + n);
        if (in.to >= HIGH && !high)
            n += escapes(r, (vug_char_range){ in.from > HIGH ? in.from : HIGH, in.to }, part + n);
    }
    if (high)
        part[n++] = json->high;
    return vug_rules_choice(r, part, n);
}

static void refuse(vug_rules *r, vug_status st, const char *why)
{
    if (r->st == VUG_OK)
        r->st = VUG_FAIL(&r->err, st, "%s", why);
}

static void fail_nomem(vug_rules *r)
{
    refuse(r, VUG_NOMEM, "out of memory: a grammar of JSON");
}

/* All of them, or those but '<'; `to` has room for n + 1. */
static size_t keep(const vug_char_range *range, size_t n, bool no_tags, vug_char_range *to)
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

vug_node vug_json_class(const vug_json_rules *json, const vug_char_range *range, size_t n)
{
    vug_char_range *kept = vug_alloc(n + 1, sizeof(*kept));
    vug_char_range *scratch = vug_alloc(3 * (n + 1) + 1, sizeof(*scratch));
    vug_node *part = vug_alloc(5 * (n + 1) + 3, sizeof(*part));
    vug_node out = VUG_NODE_EMPTY;
    if (kept && scratch && part) {
        const char_set set = { kept, keep(range, n, json->no_tags, kept) };
        out = json->escapes ? spellings(json, &set, part, scratch)
                            : vug_rules_class(json->rules, kept, set.n, false);
    } else {
        fail_nomem(json->rules);
    }
    vug_free(kept);
    vug_free(scratch);
    vug_free(part);
    return out;
}

vug_node vug_json_character(vug_rules *rules, const vug_char_range *range, size_t n, void *json)
{
    (void)rules;
    return vug_json_class(json, range, n);
}

vug_node vug_json_class_but(const vug_json_rules *json, const vug_char_range *range, size_t n)
{
    vug_char_range *to = vug_alloc(n + 2, sizeof(*to));
    vug_node out = VUG_NODE_EMPTY;
    if (to)
        out = vug_json_class(json, to, vug_ranges_settle(range, n, true, to));
    else
        fail_nomem(json->rules);
    vug_free(to);
    return out;
}

/* A given string that would end the parameter that it is in. */
static void refuse_tags(const vug_json_rules *json, vug_str text)
{
    for (size_t i = 0; json->no_tags && i < text.len; i++)
        if (vug_str_starts(vug_str_from(text, i), "</"))
            refuse(json->rules, VUG_UNSUPPORTED, "a value with '</' in it, which ends a parameter");
}

vug_node vug_json_literal(const vug_json_rules *json, vug_str text)
{
    refuse_tags(json, text);
    if (!json->escapes)
        return VUG_SEQUENCE(json->rules, json->quote, vug_rules_literal(json->rules, text),
                            json->quote);
    vug_buf buf = { 0 };
    vug_json_write_string(&buf, text.ptr, text.len);
    if (buf.bad)
        fail_nomem(json->rules);
    const vug_node out = vug_rules_literal(json->rules, (vug_str){ buf.ptr, buf.len });
    vug_buf_release(&buf);
    return out;
}

/* ---- names ------------------------------------------------------------------------- */

static const vug_char_range bare_letter[] = {
    { '-', '-' }, { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' }
};
enum { N_BARE = sizeof(bare_letter) / sizeof(*bare_letter) };

bool vug_json_is_bare(uint32_t c)
{
    bool is = false;
    for (size_t i = 0; i < N_BARE; i++)
        is = is || (c >= bare_letter[i].from && c <= bare_letter[i].to);
    return is;
}

vug_node vug_json_name(const vug_json_rules *json, vug_str text)
{
    bool bare = json->bare && text.len > 0;
    if (json->bare && text.len == 0)
        refuse(json->rules, VUG_UNSUPPORTED, "an empty name, where names stand without quotes");
    for (size_t i = 0; i < text.len; i++)
        bare = bare && vug_json_is_bare((unsigned char)text.ptr[i]);
    return bare ? vug_rules_literal(json->rules, text) : vug_json_literal(json, text);
}

vug_node vug_json_name_but(const vug_json_rules *json, const vug_char_range *range, size_t n)
{
    if (!json->bare)
        return vug_json_class_but(json, range, n);
    vug_char_range left['z' + 1];
    size_t n_left = 0;
    for (uint32_t c = '-'; c <= 'z'; c++) {
        bool taken = !vug_json_is_bare(c);
        for (size_t i = 0; i < n && !taken; i++)
            taken = c >= range[i].from && c <= range[i].to;
        if (!taken)
            left[n_left++] = (vug_char_range){ c, c };
    }
    return vug_rules_class(json->rules, left, n_left, false);
}
