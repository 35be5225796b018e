#include "core/number.h"
#include "core/utf8.h"
#include "text/grammar/lookahead.h"
#include "text/grammar/regex_grammar.h"
#include "text/grammar/schema_internal.h"

/* Strings with a length, patterns and formats. */

/* ---- patterns -------------------------------------------------------------------- */

typedef struct {
    const vug_jv *at; /* its place in the schema */
    vug_str regex;
    bool search;          /* may match anywhere in the string */
    bool negated;         /* must not match */
    const vug_jv *values; /* instead of a regex: a list of strings, one of which it must be */
} string_condition;

/* All of them must hold. */
typedef struct {
    string_condition *condition; /* [n] */
    size_t n;
    uint64_t min, max; /* code points; UINT64_MAX: no limit */
} string_constraints;

static bool has_length_bounds(const string_constraints *cs)
{
    return cs->min > 0 || cs->max != UINT64_MAX;
}

static vug_grammar_expr repeat_bounded(vug_grammar_builder *builder, vug_grammar_expr character,
                                       const string_constraints *cs)
{
    return vug_grammar_repeat(builder, character, (uint32_t)cs->min,
                              cs->max == UINT64_MAX ? VUG_REPEAT_UNBOUNDED : (uint32_t)cs->max);
}

static vug_grammar_expr pattern_expr(vug_schema_compiler *s, vug_grammar_builder *builder,
                                     const string_condition *c, vug_regex_options options)
{
    vug_grammar_expr expr = VUG_EMPTY_EXPR;
    vug_err err = { 0 };
    options.search = c->search;
    const vug_status st = vug_grammar_parse_regex_with(builder, c->regex, &options, &expr, &err);
    if (st != VUG_OK)
        vug_schema_fail(s, st, c->at, "%s", err.msg);
    return expr;
}

/* The characters of a given string. */
static vug_grammar_expr characters_expr(vug_schema_compiler *s, vug_grammar_builder *builder,
                                        vug_str text)
{
    vug_grammar_expr *part = vug_schema_alloc(s, text.len, sizeof(*part));
    size_t n = 0;
    for (size_t i = 0; part && i < text.len;) {
        uint32_t c = 0;
        const size_t length = vug_utf8_decode(text.ptr + i, text.len - i, &c);
        i += length ? length : 1;
        part[n++] = vug_grammar_class(builder, &(vug_char_range){ c, c }, 1, false);
    }
    return vug_grammar_sequence(builder, part, part ? n : 0);
}

static vug_grammar_expr values_expr(vug_schema_compiler *s, vug_grammar_builder *builder,
                                    const vug_jv *values)
{
    vug_grammar_expr *part = vug_schema_alloc(s, values->n, sizeof(*part));
    size_t n = 0;
    for (const vug_jv *v = values->child; part && v; v = v->next)
        part[n++] = characters_expr(s, builder, v->str);
    return vug_grammar_choice(builder, part, part ? n : 0);
}

static vug_grammar_expr condition_expr(vug_schema_compiler *s, vug_grammar_builder *builder,
                                       const string_condition *c)
{
    return c->values ? values_expr(s, builder, c->values)
                     : pattern_expr(s, builder, c, (vug_regex_options){ .keep_lookahead = true });
}

static vug_grammar_expr single_pattern(vug_schema_compiler *s, const string_condition *c)
{
    return pattern_expr(
            s, s->builder, c,
            (vug_regex_options){ .make_class = vug_json_grammar_class_callback, .user = &s->json });
}

/* Several patterns, a pattern and a length, or one that must not match: they become lookahead
 * before any text of the minimum length. The matcher counts characters up to the maximum. */
static vug_grammar_expr combined_patterns(vug_schema_compiler *s, const string_constraints *cs)
{
    vug_grammar_builder *source = vug_grammar_builder_create();
    vug_grammar_expr *part = vug_schema_alloc(s, cs->n + 1, sizeof(*part));
    vug_grammar_expr expr = VUG_EMPTY_EXPR;
    size_t n = 0;
    if (!source)
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory: patterns");
    if (source && part) {
        for (size_t i = 0; i < cs->n && vug_schema_ok(s); i++)
            part[n++] = vug_grammar_lookahead(source, condition_expr(s, source, &cs->condition[i]),
                                              cs->condition[i].negated);
        part[n++] = vug_grammar_repeat(source, vug_grammar_class(source, NULL, 0, true),
                                       (uint32_t)cs->min, VUG_REPEAT_UNBOUNDED);
        if (vug_schema_ok(s))
            expr = vug_grammar_resolve_lookahead(
                    s->builder, source, vug_grammar_sequence(source, part, n),
                    cs->max == UINT64_MAX ? VUG_REPEAT_UNBOUNDED : (uint32_t)cs->max,
                    vug_json_grammar_class_callback, &s->json);
    }
    vug_err err = { 0 };
    const vug_status st = vug_grammar_builder_ok(s->builder, &err);
    if (st != VUG_OK)
        vug_schema_fail(s, st, cs->n > 0 ? cs->condition->at : NULL, "%s", err.msg);
    vug_grammar_builder_destroy(source);
    return expr;
}

/* The end of what stands for one character: "[..]", ".", "\d", "x". 0 if there is none. */
static size_t end_of_character(vug_str text, size_t i)
{
    if (i >= text.len || strchr("()|*+?{}^$", text.ptr[i]))
        return 0;
    if (text.ptr[i] == '\\') /* escapes that stand for one character */
        return i + 1 < text.len && strchr("dDwWsS.-/", text.ptr[i + 1]) ? i + 2 : 0;
    if (text.ptr[i] != '[')
        return (unsigned char)text.ptr[i] < 0x80 ? i + 1 : 0;
    for (i++; i < text.len && text.ptr[i] != ']'; i++)
        i += text.ptr[i] == '\\';
    return i < text.len ? i + 1 : 0;
}

static bool read_count(vug_str text, size_t *i, uint64_t *out)
{
    const size_t start = *i;
    *out = 0;
    for (; *i < text.len && vug_is_digit(text.ptr[*i]) && *i < start + 6; ++*i)
        *out = *out * 10 + (uint64_t)(text.ptr[*i] - '0');
    return *i > start;
}

/* "*", "+", "?", "{2}", "{2,}", "{2,3}" or nothing. False if it is malformed. */
static bool read_quantifier(vug_str text, size_t *i, uint64_t *min, uint64_t *max)
{
    const int c = *i < text.len ? text.ptr[*i] : 0;
    *min = c == '*' || c == '?' ? 0 : 1;
    *max = c == '*' || c == '+' ? UINT64_MAX : 1;
    if (c == '*' || c == '+' || c == '?')
        ++*i;
    if (c != '{')
        return true;
    ++*i;
    if (!read_count(text, i, min))
        return false;
    *max = *min;
    if (*i < text.len && text.ptr[*i] == ',') {
        ++*i;
        if (!read_count(text, i, max))
            *max = UINT64_MAX;
    }
    return *i < text.len && text.ptr[(*i)++] == '}';
}

static bool is_pattern(const string_condition *c)
{
    return c->search && !c->negated && !c->values;
}

/* The most common pattern with a length is a repeated character, as in "^[a-z]+$". Its own count
 * is narrowed to the length, which costs no states. False for any other pattern. */
static bool narrow_repetition(vug_schema_compiler *s, const string_constraints *cs,
                              vug_grammar_expr *expr)
{
    const vug_str text =
            cs->n == 1 && is_pattern(cs->condition) ? cs->condition->regex : (vug_str){ 0 };
    uint64_t min, max;
    const size_t end = text.len > 0 && text.ptr[0] == '^' ? end_of_character(text, 1) : 0;
    size_t i = end;
    if (end == 0 || !read_quantifier(text, &i, &min, &max) || i + 1 != text.len ||
        text.ptr[i] != '$')
        return false;
    string_condition one = *cs->condition;
    one.regex = (vug_str){ text.ptr + 1, end - 1 };
    one.search = false;
    const string_constraints bounds = { .min = cs->min > min ? cs->min : min,
                                        .max = cs->max < max ? cs->max : max };
    *expr = bounds.min > bounds.max ? vug_grammar_nothing(s->builder)
                                    : repeat_bounded(s->builder, single_pattern(s, &one), &bounds);
    return true;
}

/* ---- strings ---------------------------------------------------------------------- */

static void add_condition(string_constraints *cs, string_condition c)
{
    bool duplicate = false;
    for (size_t i = 0; i < cs->n; i++)
        duplicate = duplicate || (cs->condition[i].search == c.search && !c.values &&
                                  cs->condition[i].negated == c.negated &&
                                  vug_str_equal(cs->condition[i].regex, c.regex));
    if (!duplicate)
        cs->condition[cs->n++] = c;
}

static void add_format(string_constraints *cs, const vug_jv *at, const vug_schema_format *f)
{
    add_condition(cs, (string_condition){ .at = at, .regex = vug_str_of(f->regex) });
    /* Drop length bounds that the format implies. */
    if (cs->min <= f->shortest)
        cs->min = 0;
    if (f->longest && cs->max >= f->longest)
        cs->max = UINT64_MAX;
}

static void read_conditions(vug_schema_case c, string_constraints *cs)
{
    for (size_t i = 0; i < c.n; i++) {
        const vug_jv *pattern = vug_jv_get(c.schema[i], "pattern");
        const vug_jv *format = vug_jv_get(c.schema[i], "format");
        const vug_schema_format *f = format && !vug_schema_ignores_format(c.schema[i], format)
                                             ? vug_schema_find_format(format->str)
                                             : NULL;
        const vug_jv *other = vug_jv_get(c.schema[i], VUG_KEYWORD_NOT_PATTERN);
        const vug_jv *values = vug_jv_get(c.schema[i], VUG_KEYWORD_NOT_VALUES);
        if (pattern)
            add_condition(
                    cs, (string_condition){ .at = pattern, .regex = pattern->str, .search = true });
        if (other)
            add_condition(cs, (string_condition){ .at = other,
                                                  .regex = other->str,
                                                  .search = true,
                                                  .negated = true });
        if (values)
            add_condition(cs,
                          (string_condition){ .at = values, .negated = true, .values = values });
        if (f)
            add_format(cs, format, f);
    }
}

/* contentEncoding is an annotation, but a model that is asked for Base64 should write it. It is
 * enforced where nothing else constrains the string, since its automaton is then small. */
static void read_encoding(vug_schema_case c, string_constraints *cs)
{
    const vug_jv *encoding = vug_schema_find_keyword(c, "contentEncoding");
    if (cs->n == 0 && !has_length_bounds(cs) && vug_jv_is(encoding, VUG_JSON_STRING) &&
        vug_str_is(encoding->str, "base64"))
        add_format(cs, encoding, vug_schema_find_format(vug_str_of("byte")));
}

/* Whether the characters of the string are certainly those of the regex alone: as "^[a-z]+$", but
 * not "a|^b$". */
static bool is_whole(const string_condition *c)
{
    const vug_str text = c->regex;
    const bool escaped = text.len > 1 && text.ptr[text.len - 2] == '\\';
    return !c->search || (text.len > 1 && text.ptr[0] == '^' && text.ptr[text.len - 1] == '$' &&
                          !escaped && !memchr(text.ptr, '|', text.len));
}

/* A pattern that may match anywhere is made deterministic by combined_patterns: with any text
 * before and after it, token masks would be slow. */
static vug_grammar_expr build_string(vug_schema_compiler *s, const string_constraints *cs)
{
    vug_grammar_expr content = VUG_EMPTY_EXPR;
    if (cs->n == 0)
        content = repeat_bounded(s->builder, s->json.any_character, cs);
    else if (cs->n == 1 && !has_length_bounds(cs) && !cs->condition->negated &&
             is_whole(cs->condition))
        content = single_pattern(s, cs->condition);
    else if (!narrow_repetition(s, cs, &content))
        content = combined_patterns(s, cs);
    return VUG_GRAMMAR_SEQUENCE(s->builder, s->json.quote, content, s->json.quote);
}

enum { STEPS_OF_LOOKAHEAD = 2 }; /* of work, for one step of combining patterns */

/* Many properties share their constraints, and lookahead is expensive: compile each once. */
static vug_grammar_expr cached_string(vug_schema_compiler *s, const string_constraints *cs)
{
    vug_buf key = { 0 };
    const uint32_t head[] = { (uint32_t)cs->min, (uint32_t)cs->max, s->json.escapes };
    vug_buf_append(&key, head, sizeof(head));
    for (size_t i = 0; i < cs->n; i++) {
        const string_condition *c = &cs->condition[i];
        const uint32_t one[] = { c->search + 2U * c->negated, (uint32_t)c->regex.len,
                                 c->values ? (uint32_t)c->values->n : UINT32_MAX };
        vug_buf_append(&key, one, sizeof(one));
        vug_buf_append(&key, c->regex.ptr, c->regex.len);
        for (const vug_jv *v = c->values ? c->values->child : NULL; v; v = v->next) {
            const uint32_t length = (uint32_t)v->str.len;
            vug_buf_append(&key, &length, sizeof(length));
            vug_buf_append(&key, v->str.ptr, v->str.len);
        }
    }
    vug_grammar_expr expr = VUG_EMPTY_EXPR;
    if (!vug_expr_cache_find(&s->strings, &key, &expr) && vug_schema_ok(s)) {
        const uint64_t before = s->builder->lookahead_work;
        expr = build_string(s, cs);
        (void)vug_schema_charge(s,
                                STEPS_OF_LOOKAHEAD * (size_t)(s->builder->lookahead_work - before));
        vug_expr_cache_add(&s->strings, expr);
    }
    vug_buf_release(&key);
    return expr;
}

vug_grammar_expr vug_schema_string_expr(vug_schema_compiler *s, vug_schema_case c)
{
    string_constraints cs = { .condition =
                                      vug_schema_alloc(s, 4 * c.n + 1, sizeof(string_condition)),
                              .min = vug_schema_strictest_count(c, "minLength", false, 0),
                              .max = vug_schema_strictest_count(c, "maxLength", true, UINT64_MAX) };
    if (!vug_schema_ok(s) || cs.min > cs.max)
        return vug_grammar_nothing(s->builder);
    if (cs.min > VUG_GRAMMAR_MAX_REPEAT ||
        (cs.max != UINT64_MAX && cs.max > VUG_GRAMMAR_MAX_REPEAT)) {
        vug_schema_fail(s, VUG_LIMIT,
                        vug_schema_find_keyword(c, cs.min > VUG_GRAMMAR_MAX_REPEAT ? "minLength"
                                                                                   : "maxLength"),
                        "more than %d characters", VUG_GRAMMAR_MAX_REPEAT);
        return VUG_EMPTY_EXPR;
    }
    read_conditions(c, &cs);
    read_encoding(c, &cs);
    return cs.n == 0 && !has_length_bounds(&cs) ? s->json.string : cached_string(s, &cs);
}
