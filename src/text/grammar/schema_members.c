#include "text/grammar/schema_internal.h"

/* The members of an object, in the order of its properties; some are optional. */

/* ---- without counting ---------------------------------------------------------------- */

/* `members` matches the objects with at least one member of the properties so far. Property p
 * is appended so that p occurs at most twice:
 *
 *     p optional:  members (, p)?   or, if there may be no members before p:  ... | p
 *     p required:  members , p      or, if there may be no members before p:  (members ,)? p
 */
typedef struct {
    vug_grammar_expr members;
    bool is_first;     /* no property has been appended yet */
    bool may_be_empty; /* all properties so far are optional */
    int depth;
} member_chain;

enum { CHAIN_RULE_DEPTH = 40 }; /* a longer chain becomes a rule, which bounds the depth */

static void append_to_chain(vug_schema_compiler *s, member_chain *c, vug_grammar_expr pair,
                            bool required, uint32_t max)
{
    vug_grammar_builder *b = s->builder;
    const vug_grammar_expr next = VUG_GRAMMAR_SEQUENCE(b, s->json.comma, pair);
    vug_grammar_expr first = pair;
    if (max > 1)
        first = VUG_GRAMMAR_SEQUENCE(
                b, pair,
                vug_grammar_repeat(b, next, 0, max == VUG_REPEAT_UNBOUNDED ? max : max - 1));
    const vug_grammar_expr more = vug_grammar_repeat(b, next, required ? 1 : 0, max);
    if (c->is_first)
        c->members = first;
    else if (!c->may_be_empty)
        c->members = VUG_GRAMMAR_SEQUENCE(b, c->members, more);
    else if (required)
        c->members = VUG_GRAMMAR_SEQUENCE(
                b, vug_grammar_optional(b, VUG_GRAMMAR_SEQUENCE(b, c->members, s->json.comma)),
                pair);
    else
        c->members = VUG_GRAMMAR_CHOICE(b, VUG_GRAMMAR_SEQUENCE(b, c->members, more), first);
    c->is_first = false;
    c->may_be_empty = c->may_be_empty && !required;
    if (++c->depth % CHAIN_RULE_DEPTH == 0) {
        const vug_grammar_expr rule = vug_grammar_declare_rule(b);
        vug_grammar_define_rule(b, rule, c->members);
        c->members = rule;
    }
}

static vug_grammar_expr chained_members(vug_schema_compiler *s, const vug_schema_members *m)
{
    member_chain c = { .is_first = true, .may_be_empty = true };
    for (size_t i = 0; i < m->n; i++)
        if (m->member[i].pair != VUG_EMPTY_EXPR)
            append_to_chain(s, &c, m->member[i].pair, m->member[i].required, 1);
    if (m->open)
        append_to_chain(s, &c, m->additional, false, VUG_REPEAT_UNBOUNDED);
    vug_grammar_expr part[2];
    size_t n = 0;
    if (c.may_be_empty && m->min == 0)
        part[n++] = vug_json_grammar_empty(&s->json, '{');
    if (!c.is_first)
        part[n++] = vug_json_grammar_brackets(&s->json, '{', c.members);
    return vug_grammar_choice(s->builder, part, n);
}

/* ---- with a minimum or a maximum --------------------------------------------------------- */

enum { MAX_COUNTED = 1 << 16 };

/* after[k] matches what may follow once k members have been written. It is updated from the
 * properties after `member` to those from `member` on. */
static void prepend_counted(vug_schema_compiler *s, const vug_schema_members *m,
                            const vug_schema_object_member *member, vug_grammar_expr *after,
                            size_t n_counts)
{
    vug_grammar_builder *b = s->builder;
    const bool capped = m->max != UINT64_MAX;
    /* In ascending order, because after[k] refers to the old after[k + 1]. */
    for (size_t k = 0; k < n_counts; k++) {
        const size_t then = k + 1 < n_counts ? k + 1 : k;
        vug_grammar_expr part[2];
        size_t n = 0;
        if (k + 1 < n_counts || !capped)
            part[n++] = k ? VUG_GRAMMAR_SEQUENCE(b, s->json.comma, member->pair, after[then])
                          : VUG_GRAMMAR_SEQUENCE(b, member->pair, after[then]);
        if (!member->required)
            part[n++] = after[k];
        const vug_grammar_expr expr = vug_grammar_choice(b, part, n);
        after[k] = vug_grammar_declare_rule(b);
        vug_grammar_define_rule(b, after[k], expr);
    }
}

/* What may follow the last property: additional members. */
static void init_counted(vug_schema_compiler *s, const vug_schema_members *m,
                         vug_grammar_expr *after, size_t n_counts)
{
    vug_grammar_builder *b = s->builder;
    for (size_t k = 0; k < n_counts; k++) {
        const uint32_t left = m->max != UINT64_MAX ? (uint32_t)(m->max - k) : VUG_REPEAT_UNBOUNDED;
        const vug_grammar_expr next = VUG_GRAMMAR_SEQUENCE(b, s->json.comma, m->additional);
        if (!m->open || left == 0)
            after[k] = k >= m->min && k > 0 ? VUG_EMPTY_EXPR : vug_grammar_nothing(b);
        else if (k > 0)
            after[k] = vug_grammar_repeat(b, next, k < m->min, left);
        else
            after[k] = VUG_GRAMMAR_SEQUENCE(
                    b, m->additional,
                    vug_grammar_repeat(b, next, 0, left == VUG_REPEAT_UNBOUNDED ? left : left - 1));
    }
}

static vug_grammar_expr counted_members(vug_schema_compiler *s, const vug_schema_members *m)
{
    const bool capped = m->max != UINT64_MAX;
    const size_t n_counts = (size_t)(capped ? m->max : m->min > 1 ? m->min : 1) + 1;
    if (n_counts > MAX_COUNTED || n_counts * (m->n + 1) > MAX_COUNTED) {
        vug_schema_fail(s, VUG_LIMIT,
                        vug_schema_find_keyword(m->c, capped ? "maxProperties" : "minProperties"),
                        "too many properties to count");
        return VUG_EMPTY_EXPR;
    }
    vug_grammar_expr *after = vug_schema_alloc(s, n_counts, sizeof(*after));
    if (!after)
        return VUG_EMPTY_EXPR;
    init_counted(s, m, after, n_counts);
    bool may_be_empty = true;
    for (size_t i = m->n; i-- > 0;) {
        if (m->member[i].pair == VUG_EMPTY_EXPR)
            continue;
        may_be_empty = may_be_empty && !m->member[i].required;
        prepend_counted(s, m, &m->member[i], after, n_counts);
    }
    vug_grammar_expr part[2];
    size_t n = 0;
    if (may_be_empty && m->min == 0)
        part[n++] = vug_json_grammar_empty(&s->json, '{');
    part[n++] = vug_json_grammar_brackets(&s->json, '{', after[0]);
    return vug_grammar_choice(s->builder, part, n);
}

/* Additional names may repeat, so counting them proves one distinct member only. */
static bool must_count(vug_schema_compiler *s, const vug_schema_members *m)
{
    size_t n_required = 0, n_possible = 0;
    for (size_t i = 0; i < m->n; i++) {
        n_required += m->member[i].required;
        n_possible += m->member[i].pair != VUG_EMPTY_EXPR;
    }
    const bool min_matters = m->min > n_required && !(m->min == 1 && n_required == 0);
    const bool max_matters = m->max != UINT64_MAX && (m->open || m->max < n_possible);
    if (m->open && m->min > (n_required ? n_required : 1))
        vug_schema_fail(
                s, VUG_UNSUPPORTED, vug_schema_find_keyword(m->c, "minProperties"),
                "this minProperties is not supported together with additional properties: a "
                "grammar cannot keep their names distinct");
    return min_matters || max_matters;
}

vug_grammar_expr vug_schema_members_expr(vug_schema_compiler *s, const vug_schema_members *m)
{
    return must_count(s, m) ? counted_members(s, m) : chained_members(s, m);
}
