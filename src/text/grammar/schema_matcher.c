#include "core/utf8.h"
#include "text/grammar/regex_derivatives.h"
#include "text/grammar/regex_grammar.h"
#include "text/grammar/schema_internal.h"

/* Matches given strings and names of properties with regular expressions, by the same derivatives
 * that make grammars of them. Only the states that are met are made. */

typedef struct vug_schema_matcher {
    struct vug_schema_matcher *next;
    vug_str regex;
    bool search;
    vug_grammar_builder *builder; /* also of failures */
    vug_derivatives derivatives;
    uint32_t start;
} schema_matcher;

static schema_matcher *find_matcher(const vug_schema_compiler *s, vug_str regex, bool search)
{
    schema_matcher *m = s->matcher;
    while (m && (m->search != search || !vug_str_equal(m->regex, regex)))
        m = m->next;
    return m;
}

static schema_matcher *add_matcher(vug_schema_compiler *s, const vug_jv *at, vug_str regex,
                                   bool search)
{
    schema_matcher *m = vug_schema_alloc(s, 1, sizeof(*m));
    if (!m)
        return NULL;
    *m = (schema_matcher){ .next = s->matcher,
                           .regex = regex,
                           .search = search,
                           .builder = vug_grammar_builder_create() };
    if (!m->builder) {
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory: a pattern");
        return NULL;
    }
    const vug_regex_options options = { .search = search, .keep_lookahead = true };
    vug_grammar_expr root = VUG_EMPTY_EXPR;
    vug_err err = { 0 };
    const vug_status st = vug_grammar_parse_regex_with(m->builder, regex, &options, &root, &err);
    if (st != VUG_OK)
        vug_schema_fail(s, st, at, "%s", err.msg);
    m->start = vug_derivatives_init(&m->derivatives, m->builder, m->builder, root);
    s->matcher = m;
    return m;
}

/* The symbol of a character: that of the last range that begins at or before it. */
static uint32_t symbol_of(const vug_derivatives *d, uint32_t c)
{
    const uint32_t *cut = (const uint32_t *)(const void *)d->cut.ptr;
    size_t low = 0, high = d->cut.len / sizeof(*cut);
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (cut[middle] <= c)
            low = middle;
        else
            high = middle;
    }
    return ((const uint32_t *)(const void *)d->symbol_of.ptr)[low];
}

bool vug_schema_matches(vug_schema_compiler *s, const vug_jv *at, vug_str regex, bool search,
                        vug_str text)
{
    schema_matcher *m = find_matcher(s, regex, search);
    if (!m)
        m = add_matcher(s, at, regex, search);
    if (!m || !vug_schema_ok(s))
        return false;
    vug_derivatives *d = &m->derivatives;
    uint32_t state = m->start;
    for (size_t i = 0; i < text.len && !vug_derivatives_failed(d);) {
        uint32_t c = 0;
        const size_t n = vug_utf8_decode(text.ptr + i, text.len - i, &c);
        i += n ? n : 1;
        vug_derivatives_expand(d, state);
        if (!vug_derivatives_failed(d))
            state = vug_derivatives_next(d, state, symbol_of(d, c));
        if (!vug_schema_charge(s, 1))
            return false;
    }
    if (!vug_derivatives_failed(d))
        vug_derivatives_expand(d, state);
    vug_err err = { 0 };
    const vug_status st = vug_grammar_builder_ok(m->builder, &err);
    if (st != VUG_OK)
        vug_schema_fail(s, st, at, "%s", err.msg);
    return st == VUG_OK && vug_derivatives_accepts(d, state);
}

void vug_schema_release_matchers(vug_schema_compiler *s)
{
    for (schema_matcher *m = s->matcher; m; m = m->next) {
        vug_derivatives_release(&m->derivatives);
        vug_grammar_builder_destroy(m->builder);
    }
    s->matcher = NULL;
}
