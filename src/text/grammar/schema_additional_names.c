#include "core/utf8.h"
#include "text/grammar/schema_internal.h"

/* The names of additional properties: all names but the given ones. */

/* A trie of the given names, by character. */
typedef struct {
    uint32_t c;
    uint32_t child, next; /* node numbers; 0: none */
    bool ends;            /* a name ends here */
} name_node;

static uint32_t find_or_add_child(vug_schema_compiler *s, name_node *trie, uint32_t parent,
                                  uint32_t c, uint32_t *n)
{
    uint32_t *to = &trie[parent].child;
    while (*to && trie[*to].c != c && vug_schema_charge(s, 1))
        to = &trie[*to].next;
    if (*to == 0) {
        trie[*n] = (name_node){ .c = c };
        *to = (*n)++;
    }
    return *to;
}

static uint32_t read_character(vug_str text, size_t *i)
{
    uint32_t c = 0;
    const size_t n = vug_utf8_decode(text.ptr + *i, text.len - *i, &c);
    *i += n ? n : 1;
    return c;
}

/* What may follow at node `at`: nothing, if no given name ends here; a character that no given
 * name has here, and then anything; or a character of a given name, and then rest[child]. */
static vug_grammar_expr other_than_names(vug_schema_compiler *s, const name_node *trie,
                                         const vug_grammar_expr *rest, uint32_t at,
                                         vug_grammar_expr anything)
{
    size_t n_children = 0;
    for (uint32_t k = trie[at].child; k; k = trie[k].next)
        n_children++;
    vug_char_range *used = vug_alloc(n_children + 1, sizeof(*used));
    vug_grammar_expr *part = vug_alloc(n_children + 2, sizeof(*part));
    vug_grammar_expr out = VUG_EMPTY_EXPR;
    size_t n = 0, n_used = 0;
    if (used && part) {
        if (!trie[at].ends && !(at == 0 && s->json.bare_keys))
            part[n++] = VUG_EMPTY_EXPR;
        for (uint32_t k = trie[at].child; k; k = trie[k].next) {
            if (s->json.bare_keys && !vug_json_grammar_is_bare_key_char(trie[k].c))
                continue;
            used[n_used++] = (vug_char_range){ trie[k].c, trie[k].c };
            part[n++] = VUG_GRAMMAR_SEQUENCE(
                    s->builder, vug_json_grammar_class(&s->json, &used[n_used - 1], 1), rest[k]);
        }
        part[n++] = VUG_GRAMMAR_SEQUENCE(
                s->builder, vug_json_grammar_key_char_except(&s->json, used, n_used), anything);
        out = vug_grammar_choice(s->builder, part, n);
    } else {
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory");
    }
    vug_free(used);
    vug_free(part);
    return out;
}

vug_grammar_expr vug_schema_additional_name_expr(vug_schema_compiler *s, const vug_str *name,
                                                 size_t n_names)
{
    size_t max_nodes = 1;
    for (size_t i = 0; i < n_names; i++)
        max_nodes += name[i].len;
    name_node *trie = vug_schema_alloc(s, max_nodes, sizeof(*trie));
    vug_grammar_expr *rest = vug_schema_alloc(s, max_nodes, sizeof(*rest));
    if (!rest)
        return VUG_EMPTY_EXPR;
    uint32_t n = 1;
    for (size_t i = 0; i < n_names; i++) {
        uint32_t at = 0;
        for (size_t k = 0; k < name[i].len;)
            at = find_or_add_child(s, trie, at, read_character(name[i], &k), &n);
        trie[at].ends = true;
    }
    const vug_grammar_expr anything =
            vug_grammar_repeat(s->builder, vug_json_grammar_key_char_except(&s->json, NULL, 0), 0,
                               VUG_REPEAT_UNBOUNDED);
    /* Children have higher numbers than their parents. Each node is a rule, since the expression
     * would otherwise be as deep as the longest name. */
    for (uint32_t at = n; at-- > 0 && vug_schema_ok(s);) {
        rest[at] = vug_grammar_declare_rule(s->builder);
        vug_grammar_define_rule(s->builder, rest[at],
                                other_than_names(s, trie, rest, at, anything));
    }
    if (s->json.bare_keys)
        return rest[0];
    return VUG_GRAMMAR_SEQUENCE(s->builder, s->json.quote, rest[0], s->json.quote);
}
