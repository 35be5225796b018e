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
    const vug_jv *at; /* in the schema */
    vug_str regex;
    bool search; /* it may match anywhere in the string */
} condition;

/* Of a string; all of them hold. */
typedef struct {
    condition *of;
    size_t n;
    uint64_t min, max; /* code points; UINT64_MAX: no limit */
} wanted;

static bool is_bounded(const wanted *w)
{
    return w->min > 0 || w->max != UINT64_MAX;
}

static vug_node counted(vug_rules *rules, vug_node character, const wanted *w)
{
    return vug_rules_repeat(rules, character, (uint32_t)w->min,
                            w->max == UINT64_MAX ? VUG_REPEAT_FOREVER : (uint32_t)w->max);
}

static vug_node regex(vug_schema *s, vug_rules *rules, const condition *c, vug_regex_use use)
{
    vug_node node = VUG_NODE_EMPTY;
    vug_err err = { 0 };
    use.search = c->search;
    const vug_status st = vug_rules_regex_part(rules, c->regex, &use, &node, &err);
    if (st != VUG_OK)
        vug_schema_fail(s, st, c->at, "%s", err.msg);
    return node;
}

static vug_node alone(vug_schema *s, const condition *c)
{
    return regex(s, s->rules, c,
                 (vug_regex_use){ .character = vug_json_character, .user = &s->json });
}

/* A pattern, where there are others that hold as well. */
static vug_node together(vug_schema *s, const wanted *w)
{
    vug_rules *plain = vug_rules_create();
    vug_node *part = vug_schema_alloc(s, w->n + 1, sizeof(*part));
    vug_node node = VUG_NODE_EMPTY;
    size_t n = 0;
    if (!plain)
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory: patterns");
    if (plain && part) {
        if (is_bounded(w))
            part[n++] = vug_rules_ahead(
                    plain, counted(plain, vug_rules_class(plain, NULL, 0, true), w), false);
        for (size_t i = 0; i < w->n && vug_schema_ok(s); i++, n++) {
            part[n] = regex(s, plain, &w->of[i], (vug_regex_use){ .ahead = true });
            if (i + 1 < w->n)
                part[n] = vug_rules_ahead(plain, part[n], false);
        }
        if (vug_schema_ok(s))
            node = vug_rules_regular(s->rules, plain, vug_rules_sequence(plain, part, n),
                                     vug_json_character, &s->json);
    }
    vug_rules_destroy(plain);
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

/* Of the commonest pattern beside a length, "^[a-z]+$", a character many times: its own
 * count is narrowed, which costs no states. False where it is another pattern. */
static bool narrowed(vug_schema *s, const wanted *w, vug_node *node)
{
    const vug_str text = w->n == 1 && w->of->search ? w->of->regex : (vug_str){ 0 };
    uint64_t min, max;
    const size_t end = text.len > 0 && text.ptr[0] == '^' ? after_character(text, 1) : 0;
    size_t i = end;
    if (end == 0 || !read_times(text, &i, &min, &max) || i + 1 != text.len || text.ptr[i] != '$')
        return false;
    condition one = *w->of;
    one.regex = (vug_str){ text.ptr + 1, end - 1 };
    one.search = false;
    const wanted both = { .min = w->min > min ? w->min : min, .max = w->max < max ? w->max : max };
    *node = both.min > both.max ? vug_rules_nothing(s->rules)
                                : counted(s->rules, alone(s, &one), &both);
    return true;
}

/* ---- strings ---------------------------------------------------------------------- */

static void add(wanted *w, condition c)
{
    bool there = false;
    for (size_t i = 0; i < w->n; i++)
        there = there || (w->of[i].search == c.search && vug_str_equal(w->of[i].regex, c.regex));
    if (!there)
        w->of[w->n++] = c;
}

static void add_format(wanted *w, const vug_jv *at, const format_row *f)
{
    add(w, (condition){ at, vug_str_of(f->regex), false });
    /* What it says of the length by itself need not be said again. */
    if (w->min <= f->shortest)
        w->min = 0;
    if (f->longest && w->max >= f->longest)
        w->max = UINT64_MAX;
}

/* Libraries write the pattern of a format beside its name (zod: email, uuid, ipv4), and for
 * JSON Schema a format is a remark: where a schema has a pattern, too, that decides. */
static void read_conditions(vug_schema_case c, wanted *w)
{
    for (size_t i = 0; i < c.n; i++) {
        const vug_jv *pattern = vug_jv_get(c.of[i], "pattern");
        const vug_jv *format = vug_jv_get(c.of[i], "format");
        const format_row *f =
                format && !vug_schema_has_pattern(c.of[i]) ? find_format(format->str) : NULL;
        if (pattern)
            add(w, (condition){ pattern, pattern->str, true });
        if (f)
            add_format(w, format, f);
    }
}

static vug_node make_string(vug_schema *s, const wanted *w)
{
    vug_node inside = VUG_NODE_EMPTY;
    if (w->n == 0)
        inside = counted(s->rules, s->json.character, w);
    else if (w->n == 1 && !is_bounded(w))
        inside = alone(s, w->of);
    else if (!narrowed(s, w, &inside))
        inside = together(s, w);
    return VUG_SEQUENCE(s->rules, s->json.quote, inside, s->json.quote);
}

/* Many properties have the same, and what looks ahead takes its time: it is made once. */
static vug_node known_string(vug_schema *s, const wanted *w)
{
    vug_buf key = { 0 };
    const uint32_t head[] = { (uint32_t)w->min, (uint32_t)w->max, s->json.escapes };
    vug_buf_append(&key, head, sizeof(head));
    for (size_t i = 0; i < w->n; i++) {
        const uint32_t one[] = { w->of[i].search, (uint32_t)w->of[i].regex.len };
        vug_buf_append(&key, one, sizeof(one));
        vug_buf_append(&key, w->of[i].regex.ptr, w->of[i].regex.len);
    }
    vug_buf_append(&key, "\0\0\0", 3 - (key.len + 3) % 4);
    const uint32_t id = vug_sets_intern(&s->strings, (const void *)key.ptr, key.len / 4);
    if (id == s->string_rule.len / sizeof(vug_node)) {
        const vug_node made = make_string(s, w);
        vug_buf_append(&s->string_rule, &made, sizeof(made));
    }
    if (key.bad || id == VUG_SETS_NONE || s->string_rule.bad)
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory: strings");
    vug_buf_release(&key);
    return vug_schema_ok(s) ? ((vug_node *)(void *)s->string_rule.ptr)[id] : VUG_NODE_EMPTY;
}

vug_node vug_schema_string(vug_schema *s, vug_schema_case c)
{
    wanted w = { .of = vug_schema_alloc(s, 2 * c.n + 1, sizeof(condition)),
                 .min = vug_schema_count(c, "minLength", false, 0),
                 .max = vug_schema_count(c, "maxLength", true, UINT64_MAX) };
    if (!vug_schema_ok(s) || w.min > w.max)
        return vug_rules_nothing(s->rules);
    if (w.min > VUG_RULES_MAX_REPEAT || (w.max != UINT64_MAX && w.max > VUG_RULES_MAX_REPEAT)) {
        vug_schema_fail(
                s, VUG_LIMIT,
                vug_schema_find(c, w.min > VUG_RULES_MAX_REPEAT ? "minLength" : "maxLength"),
                "more than %d characters", VUG_RULES_MAX_REPEAT);
        return VUG_NODE_EMPTY;
    }
    read_conditions(c, &w);
    return w.n == 0 && !is_bounded(&w) ? s->json.string : known_string(s, &w);
}
