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

/* The names as the paths of a graph whose states are the nodes of the trie, and one more in which
 * the name differs from all given ones. */
typedef struct {
    vug_schema_compiler *s;
    const name_node *trie; /* [n_nodes] */
    uint32_t n_nodes;
    vug_grammar_expr end;          /* the closing quote, if there are quotes */
    vug_grammar_expr text;         /* any characters, and the end */
    vug_grammar_expr special_text; /* the same after a character that is not plain */
    vug_grammar_edge *edge;
    size_t n;
} name_graph;

static void add_name_edge(name_graph *g, uint32_t from, vug_grammar_expr label, uint32_t to)
{
    g->edge[g->n++] = (vug_grammar_edge){ .label = label, .from = from, .to = to };
}

static vug_grammar_expr single_character(name_graph *g, vug_char_range c)
{
    const vug_json_grammar *json = &g->s->json;
    if (!vug_json_grammar_is_plain(c.from))
        return vug_json_grammar_class(json, &c, 1);
    vug_grammar_expr *single = &g->s->name_characters.single[c.from];
    if (*single == VUG_EMPTY_EXPR)
        *single = vug_json_grammar_class(json, &c, 1);
    return *single;
}

/* The characters that no given name has at node `at`. If all of `used` are plain, those that are
 * not plain and what follows them are the same expression at all nodes of all objects. */
static void add_other_characters(name_graph *g, uint32_t at, const vug_char_range *used, size_t n)
{
    const vug_json_grammar *json = &g->s->json;
    bool plain = !json->bare_keys;
    for (size_t i = 0; i < n; i++)
        plain = plain && vug_json_grammar_is_plain(used[i].from);
    if (!plain) {
        add_name_edge(g, at, vug_json_grammar_key_char_except(json, used, n), g->n_nodes);
        return;
    }
    vug_schema_name_characters *made = &g->s->name_characters;
    /* Most nodes have one child or none. */
    vug_grammar_expr *known = n == 0   ? &made->all
                              : n == 1 ? &made->all_but_single[used->from]
                                       : NULL;
    const vug_grammar_expr others =
            known && *known ? *known : vug_json_grammar_plain_except(json, used, n);
    if (known)
        *known = others;
    add_name_edge(g, at, others, g->n_nodes);
    add_name_edge(g, at, g->special_text, VUG_GRAMMAR_GRAPH_END);
}

/* What may follow at node `at`: the end, if no given name ends here; a character of a given name;
 * or another one, and then anything. */
static void add_node_edges(name_graph *g, uint32_t at)
{
    const name_node *trie = g->trie;
    const vug_json_grammar *json = &g->s->json;
    size_t n_children = 0, n_used = 0;
    for (uint32_t k = trie[at].child; k; k = trie[k].next)
        n_children++;
    vug_char_range *used = vug_schema_alloc(g->s, n_children, sizeof(*used));
    if (!used)
        return;
    if (!trie[at].ends && !(at == 0 && json->bare_keys))
        add_name_edge(g, at, g->end, VUG_GRAMMAR_GRAPH_END);
    for (uint32_t k = trie[at].child; k; k = trie[k].next) {
        if (json->bare_keys && !vug_json_grammar_is_bare_key_char(trie[k].c))
            continue;
        used[n_used] = (vug_char_range){ trie[k].c, trie[k].c };
        add_name_edge(g, at, single_character(g, used[n_used++]), k);
    }
    add_other_characters(g, at, used, n_used);
}

static vug_grammar_expr name_graph_expr(vug_schema_compiler *s, const name_node *trie, uint32_t n)
{
    vug_grammar_builder *b = s->builder;
    name_graph g = { .s = s, .trie = trie, .n_nodes = n };
    g.end = s->json.bare_keys ? VUG_EMPTY_EXPR : s->json.quote;
    g.text = VUG_GRAMMAR_SEQUENCE(
            b,
            vug_grammar_repeat(b, vug_json_grammar_key_char_except(&s->json, NULL, 0), 0,
                               VUG_REPEAT_UNBOUNDED),
            g.end);
    if (!s->json.bare_keys)
        g.special_text = VUG_GRAMMAR_SEQUENCE(b, s->json.special_character, g.text);
    g.edge = vug_schema_alloc(s, 4 * (size_t)n + 1, sizeof(*g.edge)); /* n - 1 nodes are children */
    for (uint32_t at = 0; g.edge && at < n && vug_schema_ok(s); at++)
        add_node_edges(&g, at);
    if (g.edge)
        add_name_edge(&g, n, g.text, VUG_GRAMMAR_GRAPH_END);
    return vug_schema_ok(s) ? vug_grammar_graph(b, g.edge, g.n) : VUG_EMPTY_EXPR;
}

static vug_grammar_expr additional_name_expr(vug_schema_compiler *s, const vug_str *name,
                                             size_t n_names)
{
    size_t max_nodes = 1;
    for (size_t i = 0; i < n_names; i++)
        max_nodes += name[i].len;
    name_node *trie = vug_schema_alloc(s, max_nodes, sizeof(*trie));
    if (!trie)
        return VUG_EMPTY_EXPR;
    uint32_t n = 1;
    for (size_t i = 0; i < n_names; i++) {
        uint32_t at = 0;
        for (size_t k = 0; k < name[i].len;)
            at = find_or_add_child(s, trie, at, read_character(name[i], &k), &n);
        trie[at].ends = true;
    }
    const vug_grammar_expr rest = name_graph_expr(s, trie, n);
    return s->json.bare_keys ? rest : VUG_GRAMMAR_SEQUENCE(s->builder, s->json.quote, rest);
}

vug_grammar_expr vug_schema_additional_name_expr(vug_schema_compiler *s, const vug_str *name,
                                                 size_t n)
{
    vug_buf key = { 0 };
    const uint32_t spelling = s->json.escapes + 2U * s->json.bare_keys + 4U * s->json.as_parameters;
    if (s->name_characters.spelling != spelling)
        s->name_characters = (vug_schema_name_characters){ .spelling = spelling };
    vug_buf_append(&key, &spelling, sizeof(spelling));
    for (size_t i = 0; i < n; i++) {
        const uint32_t length = (uint32_t)name[i].len;
        vug_buf_append(&key, &length, sizeof(length));
        vug_buf_append(&key, name[i].ptr, name[i].len);
    }
    vug_grammar_expr expr = VUG_EMPTY_EXPR;
    if (!vug_expr_cache_find(&s->additional_names, &key, &expr) && vug_schema_ok(s)) {
        expr = additional_name_expr(s, name, n);
        vug_expr_cache_add(&s->additional_names, expr);
    }
    vug_buf_release(&key);
    return expr;
}
