#include "text/grammar/grammar_compiler.h"

#include "text/grammar/automaton_compiler.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/grammar_internal.h"
#include "text/grammar/regex_grammar.h"
#include "text/grammar/schema.h"

enum { MAX_TEXT = 16 << 20 }; /* bytes of a grammar */

vug_status vug_grammar_parse(vug_grammar_builder *builder, vug_grammar_kind kind, vug_str text,
                             vug_grammar_expr *root, vug_err *err)
{
    switch (kind) {
    case VUG_GRAMMAR_JSON:
        return vug_grammar_parse_schema(builder, vug_str_of("{\"type\":\"object\"}"), root, err);
    case VUG_GRAMMAR_STRICT_SCHEMA:
        builder->strict_schemas = true;
        return vug_grammar_parse_schema(builder, text, root, err);
    case VUG_GRAMMAR_SCHEMA:
        builder->strict_schemas = false;
        return vug_grammar_parse_schema(builder, text, root, err);
    case VUG_GRAMMAR_REGEX:
        return vug_grammar_parse_regex(builder, text, root, err);
    case VUG_GRAMMAR_GBNF:
        return vug_grammar_parse_gbnf(builder, text, root, err);
    }
    return VUG_FAIL(err, VUG_ARGUMENT, "a grammar of the kind %d, expected a vug_grammar_kind",
                    (int)kind);
}

/* The caller destroys the grammar after a failure. */
static vug_status compile_parts(vug_grammar *g, const vug_grammar_builder *builder,
                                vug_grammar_expr root, vug_err *err)
{
    VUG_TRY(vug_automaton_create(builder, root, &g->automaton, err));
    g->cache = vug_alloc_zero(1, sizeof(*g->cache));
    if (!g->cache)
        return VUG_FAIL_NOMEM(err, "a grammar", sizeof(*g->cache));
    if (builder->warnings.len > 0) {
        g->warnings = vug_alloc(builder->warnings.len + 1, 1);
        if (!g->warnings)
            return VUG_FAIL_NOMEM(err, "the warnings of a grammar", builder->warnings.len + 1);
        memcpy(g->warnings, builder->warnings.ptr, builder->warnings.len);
        g->warnings[builder->warnings.len] = '\0';
    }
    VUG_TRY(vug_mask_cache_init(g->cache, g->tokenizer, err));
    if (!g->automaton->has_unique_items)
        return VUG_OK;
    return vug_unique_vocabulary_create(g->tokenizer, g->cache->groups, g->cache->n_words,
                                        &g->vocabulary, err);
}

vug_status vug_grammar_compile(const vug_grammar_builder *builder, vug_grammar_expr root,
                               const vug_tokenizer *tokenizer, vug_grammar **out, vug_err *err)
{
    vug_grammar *g = vug_alloc_zero(1, sizeof(*g));
    if (!g)
        return VUG_FAIL(err, VUG_NOMEM, "out of memory: a grammar");
    g->tokenizer = tokenizer;
    const vug_status st = compile_parts(g, builder, root, err);
    if (st == VUG_OK)
        *out = g;
    else
        vug_grammar_destroy(g);
    return st;
}

/* A grammar may be too ambiguous for the matcher. Those that are so at the first byte are refused
 * here, rather than when a text begins. */
static vug_status check_beginning(const vug_grammar *g, vug_err *err)
{
    vug_grammar_matcher m;
    VUG_TRY(vug_grammar_matcher_init(&m, g->automaton, err));
    const vug_stack_set start = vug_grammar_matcher_start(&m);
    bool possible = start != VUG_STACK_SET_FAILED;
    for (uint32_t i = 0; i < g->automaton->n_classes && possible; i++)
        possible = vug_grammar_matcher_step(&m, start, g->automaton->byte_of[i]) !=
                   VUG_STACK_SET_FAILED;
    const vug_status st = possible ? VUG_OK : vug_grammar_matcher_error(&m, err);
    vug_grammar_matcher_release(&m);
    return st;
}

vug_status vug_grammar_create(vug_grammar_kind kind, const char *text, size_t len,
                              const vug_tokenizer *tokenizer, vug_grammar **out, vug_err *err)
{
    vug_grammar_expr root = VUG_EMPTY_EXPR;
    if (len > MAX_TEXT)
        return VUG_FAIL(err, VUG_LIMIT, "a grammar of %zu bytes, at most %d are supported", len,
                        MAX_TEXT);
    vug_grammar_builder *builder = vug_grammar_builder_create();
    if (!builder)
        return VUG_FAIL(err, VUG_NOMEM, "out of memory: a grammar");
    vug_status st = vug_grammar_parse(builder, kind, (vug_str){ text, len }, &root, err);
    if (st == VUG_OK) {
        st = vug_grammar_compile(builder, root, tokenizer, out, err);
        if (st == VUG_OK && kind == VUG_GRAMMAR_GBNF) {
            st = check_beginning(*out, err);
            if (st != VUG_OK) {
                vug_grammar_destroy(*out);
                *out = NULL;
            }
        }
        /* Errors found while parsing say so themselves. */
        if (st != VUG_OK && (kind == VUG_GRAMMAR_SCHEMA || kind == VUG_GRAMMAR_STRICT_SCHEMA))
            st = vug_fail_within(err, st, "schema");
    }
    vug_grammar_builder_destroy(builder);
    return st;
}

void vug_grammar_destroy(vug_grammar *g)
{
    if (!g)
        return;
    if (g->cache && g->cache->lock)
        vug_mask_cache_release(g->cache);
    vug_free(g->cache);
    vug_unique_vocabulary_destroy(g->vocabulary);
    vug_automaton_destroy(g->automaton);
    vug_free(g->warnings);
    vug_free(g);
}

const char *vug_grammar_warnings(const vug_grammar *g)
{
    return g->warnings ? g->warnings : "";
}

size_t vug_grammar_bytes(const vug_grammar *g)
{
    const vug_automaton *a = g->automaton;
    return sizeof(*g) + sizeof(*g->cache) + sizeof(*a) + (a->n_states + 1) * sizeof(*a->state) +
           a->n_edges * sizeof(*a->edge) + a->n_calls * sizeof(*a->call) +
           a->n_rules * sizeof(*a->rule) + vug_mask_cache_bytes(g->cache) +
           vug_unique_vocabulary_bytes(g->vocabulary);
}
