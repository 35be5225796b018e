#include "text/grammar/schema.h"

#include <stdio.h>

/*
 * Strings: of a length, of a pattern, of a format.
 */

/* ---- formats --------------------------------------------------------------------- */

#define YEAR "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
#define BY_4 "(0[48]|[2468][048]|[13579][26])"
#define LEAP "([0-9]{2}" BY_4 "|" BY_4 "00)"
#define DAY  "(0[1-9]|1[0-9]|2[0-8])"
#define DATE                                                                                \
    "(" YEAR "-((0[13578]|1[02])-(" DAY "|29|3[01]|30)|(0[469]|11)-(" DAY "|29|30)|02-" DAY \
    ")|" LEAP "-02-29)"
#define CLOCK     "([01][0-9]|2[0-3]):[0-5][0-9]"
#define TIME      CLOCK ":[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]" CLOCK ")"
#define HOURS     "[0-9]{1,4}"
#define CLOCKWORK "T(" HOURS "H(" HOURS "M(" HOURS "S)?)?|" HOURS "M(" HOURS "S)?|" HOURS "S)"
#define DAYS      "(" HOURS "Y(" HOURS "M(" HOURS "D)?)?|" HOURS "M(" HOURS "D)?|" HOURS "D)"
#define LABEL     "[A-Za-z0-9]([A-Za-z0-9-]{0,59}[A-Za-z0-9])?"
#define HOST      LABEL "(\\." LABEL "){0,3}"
#define ATOM      "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,20}"
#define BYTE      "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define HEX       "[0-9A-Fa-f]"
#define G         "[0-9A-Fa-f]{1,4}"
#define NAME      "([A-Za-z0-9._~!$&'()*+,;=-]|%" HEX "{2})"
#define USER      "([A-Za-z0-9._~!$&'()*+,;=:-]|%" HEX "{2})"
#define PCHAR     "([A-Za-z0-9._~!$&'()*+,;=:@-]|%" HEX "{2})"
#define AFTER     "([A-Za-z0-9._~!$&'()*+,;=:@/?-]|%" HEX "{2})*"

/* X(name, whole text, shortest, longest or 0): RFC 3339 without leap seconds and with years
 * from 0001 on; RFC 5321 without quoted names; RFC 1123; RFC 4291 without dotted numbers;
 * RFC 3986 without addresses in brackets; RFC 4122; RFC 6901. */
#define FORMATS(X)                                                                            \
    X("date", DATE, 10, 10)                                                                   \
    X("time", TIME, 9, 24)                                                                    \
    X("date-time", DATE "T" TIME, 20, 35)                                                     \
    X("duration", "P(" HOURS "W|" DAYS "(" CLOCKWORK ")?|" CLOCKWORK ")", 3, 0)               \
    X("uuid", HEX "{8}-(" HEX "{4}-){3}" HEX "{12}", 36, 36)                                  \
    X("email", ATOM "(\\." ATOM "){0,2}@" HOST, 3, 0)                                         \
    X("hostname", HOST, 1, 247)                                                               \
    X("ipv4", "(" BYTE "\\.){3}" BYTE, 7, 15)                                                 \
    X("ipv6",                                                                                 \
      "(" G ":){7}" G "|(" G ":){1,7}:|(" G ":){1,6}:" G "|(" G ":){1,5}(:" G "){1,2}|(" G    \
      ":){1,4}(:" G "){1,3}|(" G ":){1,3}(:" G "){1,4}|(" G ":){1,2}(:" G "){1,5}|" G ":(:" G \
      "){1,6}|:((:" G "){1,7}|:)",                                                            \
      2, 39)                                                                                  \
    X("uri",                                                                                  \
      "[A-Za-z][A-Za-z0-9+.-]*:(//(" USER "*@)?" NAME "*(:[0-9]*)?(/" PCHAR "*)*|/?" PCHAR    \
      "+(/" PCHAR "*)*)([?]" AFTER ")?(#" AFTER ")?",                                         \
      3, 0)                                                                                   \
    X("json-pointer", "(/([^/~]|~[01])*)*", 0, 0)

typedef struct {
    const char *name, *regex;
    uint64_t shortest, longest;
} format_row;

static const format_row formats[] = {
#define X(name, regex, shortest, longest) { name, regex, shortest, longest },
    FORMATS(X)
#undef X
};

static const format_row *find_format(vug_str name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (vug_str_is(name, formats[i].name))
            return &formats[i];
    return NULL;
}

bool vug_schema_is_string_format(vug_str name)
{
    return find_format(name) != NULL;
}

/* ---- patterns -------------------------------------------------------------------- */

typedef struct {
    const vug_jv *pattern;
    const format_row *format;
    uint64_t min, max; /* code points; UINT64_MAX: no limit */
} wanted;

static vug_node regex(vug_schema *s, vug_str text, bool search, const vug_jv *at)
{
    vug_node node = VUG_NODE_EMPTY;
    vug_err err = { 0 };
    const vug_regex_use use = { .search = search,
                                .character = vug_json_character,
                                .user = &s->json };
    const vug_status st = vug_rules_regex_part(s->rules, text, &use, &node, &err);
    if (st != VUG_OK)
        vug_schema_fail(s, st, at, "%s", err.msg);
    return node;
}

/* The end of one character of an expression: "[..]", ".", "\d", "x"; 0: none is there. */
static size_t after_character(vug_str text, size_t i)
{
    if (i >= text.len || strchr("()|*+?{}^$", text.ptr[i]))
        return 0;
    if (text.ptr[i] == '\\') /* of the letters those that are one character alone */
        return i + 1 < text.len && strchr("dDwWsS.-/", text.ptr[i + 1]) ? i + 2 : 0;
    if (text.ptr[i] != '[')
        return (unsigned char)text.ptr[i] < 0x80 ? i + 1 : 0;
    for (i++; i < text.len && text.ptr[i] != ']'; i++)
        i += text.ptr[i] == '\\';
    return i < text.len ? i + 1 : 0;
}

static bool read_number(vug_str text, size_t *i, uint64_t *out)
{
    const size_t start = *i;
    *out = 0;
    for (; *i < text.len && text.ptr[*i] >= '0' && text.ptr[*i] <= '9' && *i < start + 6; ++*i)
        *out = *out * 10 + (uint64_t)(text.ptr[*i] - '0');
    return *i > start;
}

/* "*", "+", "?", "{2}", "{2,}", "{2,3}" or nothing; false where it is something else. */
static bool read_times(vug_str text, size_t *i, uint64_t *min, uint64_t *max)
{
    const int c = *i < text.len ? text.ptr[*i] : 0;
    *min = c == '*' || c == '?' ? 0 : 1;
    *max = c == '*' || c == '+' ? UINT64_MAX : 1;
    if (c == '*' || c == '+' || c == '?')
        ++*i;
    if (c != '{')
        return true;
    ++*i;
    if (!read_number(text, i, min))
        return false;
    *max = *min;
    if (*i < text.len && text.ptr[*i] == ',') {
        ++*i;
        if (!read_number(text, i, max))
            *max = UINT64_MAX;
    }
    return *i < text.len && text.ptr[(*i)++] == '}';
}

/* A pattern and a length together are for one kind of pattern only: "^[a-z]+$", a
 * character many times, whose own length is then the narrower of the two. */
static vug_node bounded_pattern(vug_schema *s, const wanted *w)
{
    const vug_str text = w->pattern->str;
    uint64_t min, max;
    const size_t end = text.len > 0 && text.ptr[0] == '^' ? after_character(text, 1) : 0;
    size_t i = end;
    if (end == 0 || !read_times(text, &i, &min, &max) || i + 1 != text.len || text.ptr[i] != '$') {
        vug_schema_fail(s, VUG_UNSUPPORTED, w->pattern,
                        "beside minLength or maxLength a pattern must be one character with its "
                        "count, as ^[a-z]+$");
        return VUG_NODE_EMPTY;
    }
    min = w->min > min ? w->min : min;
    max = w->max < max ? w->max : max;
    if (min > max)
        return vug_rules_nothing(s->rules);
    const vug_node one = regex(s, (vug_str){ text.ptr + 1, end - 1 }, false, w->pattern);
    return vug_rules_repeat(s->rules, one, (uint32_t)min,
                            max == UINT64_MAX ? VUG_REPEAT_FOREVER : (uint32_t)max);
}

/* ---- strings ---------------------------------------------------------------------- */

static void read_pattern(vug_schema *s, const vug_jv *schema, wanted *w)
{
    const vug_jv *pattern = vug_jv_get(schema, "pattern"), *format = vug_jv_get(schema, "format");
    const format_row *row = format ? find_format(format->str) : NULL;
    if (pattern && w->pattern && !vug_str_equal(pattern->str, w->pattern->str))
        vug_schema_fail(s, VUG_UNSUPPORTED, pattern, "a second pattern for the same string");
    if (row && w->format && row != w->format)
        vug_schema_fail(s, VUG_UNSUPPORTED, format, "a second format for the same string");
    w->pattern = pattern ? pattern : w->pattern;
    w->format = row ? row : w->format;
}

static vug_node formatted(vug_schema *s, vug_schema_case c, const wanted *w)
{
    const format_row *f = w->format;
    if (w->min > f->shortest || (w->max != UINT64_MAX && (f->longest == 0 || w->max < f->longest)))
        vug_schema_fail(s, VUG_UNSUPPORTED, vug_schema_find(c, "format"),
                        "a minLength or maxLength that the format does not have by itself");
    return regex(s, vug_str_of(f->regex), false, vug_schema_find(c, "format"));
}

vug_node vug_schema_string(vug_schema *s, vug_schema_case c)
{
    wanted w = { .min = vug_schema_count(c, "minLength", false, 0),
                 .max = vug_schema_count(c, "maxLength", true, UINT64_MAX) };
    for (size_t i = 0; i < c.n && vug_schema_ok(s); i++)
        read_pattern(s, c.of[i], &w);
    if (!vug_schema_ok(s) || w.min > w.max)
        return vug_rules_nothing(s->rules);
    if (w.min > VUG_RULES_MAX_REPEAT || (w.max != UINT64_MAX && w.max > VUG_RULES_MAX_REPEAT)) {
        vug_schema_fail(
                s, VUG_LIMIT,
                vug_schema_find(c, w.min > VUG_RULES_MAX_REPEAT ? "minLength" : "maxLength"),
                "more than %d characters", VUG_RULES_MAX_REPEAT);
        return VUG_NODE_EMPTY;
    }
    vug_node inside;
    const bool bounded = w.min > 0 || w.max != UINT64_MAX;
    if (!w.pattern && !w.format && !bounded)
        return s->json.string;
    /* Libraries write the pattern of a format beside its name (zod: email, uuid, ipv4), and
     * for JSON Schema a format is a remark: where there is a pattern, it decides. */
    if (w.pattern)
        inside = bounded ? bounded_pattern(s, &w) : regex(s, w.pattern->str, true, w.pattern);
    else if (w.format)
        inside = formatted(s, c, &w);
    else
        inside = vug_rules_repeat(s->rules, s->json.character, (uint32_t)w.min,
                                  w.max == UINT64_MAX ? VUG_REPEAT_FOREVER : (uint32_t)w.max);
    return VUG_SEQUENCE(s->rules, s->json.quote, inside, s->json.quote);
}
