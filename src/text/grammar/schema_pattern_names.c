#include "text/grammar/schema_pattern_names.h"

#include "text/grammar/schema_nodes.h"

/*
 * Names of additional properties under patternProperties and propertyNames. Patterns may overlap:
 * for each choice of patterns, the names that match exactly these are one class, whose values
 * satisfy the schemas of all of them. Patterns that begin with different texts have no name in
 * common.
 */

enum {
    MAX_PATTERNS = 32, /* different ones */
    MAX_CLASSES = 256,
};

typedef struct {
    vug_schema_compiler *s;
    vug_schema_case c;
    vug_schema_set names;                /* of propertyNames */
    const vug_jv *pattern[MAX_PATTERNS]; /* members of patternProperties */
    size_t n;
    uint32_t excludes[MAX_PATTERNS]; /* a bit for each pattern without a name in common */
    vug_jv *excluded;                /* a schema: none of the known names */
    vug_schema_name_classes out;
} name_splitter;

static size_t find_pattern(const name_splitter *p, vug_str regex)
{
    size_t i = 0;
    while (i < p->n && !vug_str_equal(p->pattern[i]->key, regex))
        i++;
    return i;
}

/* Whether a regular expression is a choice of alternatives, outside of groups. */
static bool has_alternatives(vug_str regex)
{
    bool in_class = false, found = false;
    size_t depth = 0;
    for (size_t i = 0; i < regex.len && !found; i++) {
        const char c = regex.ptr[i];
        if (c == '\\')
            i++;
        else if (in_class || c == '[')
            in_class = c != ']';
        else if (c == '(')
            depth++;
        else if (c == ')')
            depth--;
        else
            found = c == '|' && depth == 0;
    }
    return found;
}

/* The text that all names begin with which match a pattern; empty if that is not obvious. */
static vug_str literal_beginning(vug_str regex)
{
    size_t n = 1;
    if (!vug_str_starts(regex, "^") || has_alternatives(regex))
        return (vug_str){ 0 };
    while (n < regex.len && regex.ptr[n] != '\0' && !strchr("^$.*+?()[]{}|\\", regex.ptr[n]))
        n++;
    if (n < regex.len && strchr("*?{", regex.ptr[n])) /* the last character is optional */
        while (n > 1 && ((unsigned char)regex.ptr[--n] & 0xC0) == 0x80)
            continue;
    return (vug_str){ regex.ptr + 1, n - 1 };
}

static bool begin_differently(vug_str a, vug_str b)
{
    const size_t n = a.len < b.len ? a.len : b.len;
    return n > 0 && memcmp(a.ptr, b.ptr, n) != 0;
}

static void compare_patterns(name_splitter *p)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < i; k++)
            if (begin_differently(literal_beginning(p->pattern[i]->key),
                                  literal_beginning(p->pattern[k]->key))) {
                p->excludes[i] |= 1U << k;
                p->excludes[k] |= 1U << i;
            }
}

static void collect_patterns(name_splitter *p)
{
    for (size_t i = 0; i < p->c.n; i++) {
        const vug_jv *patterns = vug_schema_pattern_properties(p->c.schema[i]);
        for (const vug_jv *m = patterns ? patterns->child : NULL; m; m = m->next) {
            if (find_pattern(p, m->key) < p->n)
                continue;
            if (p->n == MAX_PATTERNS) {
                vug_schema_fail(p->s, VUG_LIMIT, patterns, "more than %d patterns of names",
                                MAX_PATTERNS);
                return;
            }
            p->pattern[p->n++] = m;
        }
    }
}

/* The schemas for the values of names that match the patterns in `matched`, a bit for each. */
static vug_schema_set values_of(const name_splitter *p, uint32_t matched)
{
    size_t n_max = p->c.n, n = 0;
    for (size_t i = 0; i < p->c.n; i++) {
        const vug_jv *patterns = vug_schema_pattern_properties(p->c.schema[i]);
        n_max += patterns ? patterns->n : 0;
    }
    const vug_jv **list = vug_schema_alloc_list(p->s, n_max);
    for (size_t i = 0; list && i < p->c.n; i++) {
        const vug_jv *patterns = vug_schema_pattern_properties(p->c.schema[i]);
        const size_t before = n;
        for (const vug_jv *m = patterns ? patterns->child : NULL; m; m = m->next)
            if (matched >> find_pattern(p, m->key) & 1)
                list[n++] = m;
        const vug_jv *rest =
                n == before ? vug_jv_get(p->c.schema[i], "additionalProperties") : NULL;
        if (rest)
            list[n++] = rest;
    }
    return (vug_schema_set){ list, n };
}

/* A string that matches exactly the patterns in `matched`, satisfies propertyNames and is none of
 * the known names. */
static vug_grammar_expr name_expr(const name_splitter *p, uint32_t matched)
{
    vug_schema_compiler *s = p->s;
    vug_jv *all = vug_schema_new_node(s, VUG_JSON_ARRAY, "allOf");
    (void)vug_schema_add_typed(s, all, VUG_TYPE_STRING);
    for (size_t i = 0; i < p->n; i++)
        if (!(p->excludes[i] & matched))
            vug_schema_add_text(s, vug_schema_add_object(s, all, ""),
                                matched >> i & 1 ? "pattern" : VUG_KEYWORD_NOT_PATTERN,
                                p->pattern[i]->key);
    const vug_jv **list = vug_schema_alloc_list(s, p->names.n + p->n + 2);
    size_t n = 0;
    for (const vug_jv *m = list ? all->child : NULL; m; m = m->next)
        list[n++] = m;
    for (size_t i = 0; list && i < p->names.n; i++)
        list[n++] = p->names.schema[i];
    if (list && p->excluded)
        list[n++] = p->excluded;
    const vug_schema_cases cases = vug_schema_set_cases(s, (vug_schema_set){ list, n });
    vug_grammar_expr *part = vug_schema_alloc(s, cases.n, sizeof(*part));
    for (size_t i = 0; part && i < cases.n; i++) {
        size_t n_values;
        part[i] = vug_schema_given_values(cases.list[i], &n_values)
                          ? vug_schema_given_values_expr(s, cases.list[i])
                          : vug_schema_string_expr(s, cases.list[i]);
    }
    return vug_grammar_choice(s->builder, part, part ? cases.n : 0);
}

/* The number of choices of patterns that have `matched`, and any from `next` on; counting ends above
 * MAX_CLASSES. */
static size_t count_choices(const name_splitter *p, size_t next, // NOLINT(misc-no-recursion)
                            uint32_t matched)
{
    if (next == p->n)
        return 1;
    const size_t without = count_choices(p, next + 1, matched);
    return without > MAX_CLASSES || (p->excludes[next] & matched)
                   ? without
                   : without + count_choices(p, next + 1, matched | 1U << next);
}

/* Adds the classes of these choices. */
static void add_classes(name_splitter *p, size_t next,
                        uint32_t matched) // NOLINT(misc-no-recursion)
{
    if (!vug_schema_ok(p->s))
        return;
    if (next < p->n) {
        add_classes(p, next + 1, matched);
        if (!(p->excludes[next] & matched))
            add_classes(p, next + 1, matched | 1U << next);
        return;
    }
    const vug_schema_set values = values_of(p, matched);
    if (!vug_schema_has_false(values))
        p->out.list[p->out.n++] = (vug_schema_name_class){ name_expr(p, matched), values };
}

vug_schema_name_classes vug_schema_split_names(vug_schema_compiler *s, vug_schema_case c,
                                               vug_schema_set names, const vug_str *known,
                                               size_t n_known)
{
    name_splitter p = { .s = s, .c = c, .names = names };
    collect_patterns(&p);
    compare_patterns(&p);
    if (n_known > 0) {
        p.excluded = vug_schema_new_node(s, VUG_JSON_OBJECT, "");
        vug_jv *list = vug_schema_add_list(s, p.excluded, VUG_KEYWORD_NOT_VALUES);
        for (size_t i = 0; i < n_known && vug_schema_charge(s, i / 8); i++)
            vug_schema_add_text(s, list, "", known[i]);
    }
    const size_t n = count_choices(&p, 0, 0);
    if (n > MAX_CLASSES)
        vug_schema_fail(s, VUG_LIMIT, p.pattern[0],
                        "more than %d combinations of patterns of names", MAX_CLASSES);
    p.out.list = vug_schema_alloc(s, n, sizeof(*p.out.list));
    add_classes(&p, 0, 0);
    return p.out;
}
