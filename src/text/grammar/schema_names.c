#include "core/text.h"
#include "text/grammar/schema.h"

/*
 * The names that are none of those given: what additional properties may be called.
 */

/* A tree of the names, character by character. */
typedef struct {
    uint32_t c;
    uint32_t child, next; /* numbers of nodes; 0: none */
    bool ends;            /* a name ends here */
} letter;

static uint32_t find_child(vug_schema *s, letter *tree, uint32_t parent, uint32_t c, uint32_t *n)
{
    uint32_t *to = &tree[parent].child;
    while (*to && tree[*to].c != c && vug_schema_step(s, 1))
        to = &tree[*to].next;
    if (*to == 0) {
        tree[*n] = (letter){ .c = c };
        *to = (*n)++;
    }
    return *to;
}

static uint32_t next_character(vug_str text, size_t *i)
{
    uint32_t c = 0;
    const size_t n = vug_utf8_next(text.ptr + *i, text.len - *i, &c);
    *i += n ? n : 1;
    return c;
}

/* What may follow after the letters so far: nothing more, where they are no name; a letter
 * that no name has here and then anything; or a letter that one has. */
static vug_node not_name(vug_schema *s, const letter *tree, const vug_node *rest, uint32_t at,
                         vug_node anything)
{
    size_t n_children = 0;
    for (uint32_t k = tree[at].child; k; k = tree[k].next)
        n_children++;
    vug_char_range *used = vug_alloc(n_children + 1, sizeof(*used));
    vug_node *part = vug_alloc(n_children + 2, sizeof(*part));
    vug_node out = VUG_NODE_EMPTY;
    size_t n = 0, n_used = 0;
    if (used && part) {
        if (!tree[at].ends && !(at == 0 && s->json.bare))
            part[n++] = VUG_NODE_EMPTY;
        for (uint32_t k = tree[at].child; k; k = tree[k].next) {
            if (s->json.bare && !vug_json_is_bare(tree[k].c))
                continue;
            used[n_used++] = (vug_char_range){ tree[k].c, tree[k].c };
            part[n++] =
                    VUG_SEQUENCE(s->rules, vug_json_class(&s->json, &used[n_used - 1], 1), rest[k]);
        }
        part[n++] = VUG_SEQUENCE(s->rules, vug_json_name_but(&s->json, used, n_used), anything);
        out = vug_rules_choice(s->rules, part, n);
    } else {
        vug_schema_fail(s, VUG_NOMEM, NULL, "out of memory");
    }
    vug_free(used);
    vug_free(part);
    return out;
}

vug_node vug_schema_other_name(vug_schema *s, const vug_str *name, size_t n_names)
{
    size_t most = 1;
    for (size_t i = 0; i < n_names; i++)
        most += name[i].len;
    letter *tree = vug_schema_alloc(s, most, sizeof(*tree));
    vug_node *rest = vug_schema_alloc(s, most, sizeof(*rest));
    if (!rest)
        return VUG_NODE_EMPTY;
    uint32_t n = 1;
    for (size_t i = 0; i < n_names; i++) {
        uint32_t at = 0;
        for (size_t k = 0; k < name[i].len;)
            at = find_child(s, tree, at, next_character(name[i], &k), &n);
        tree[at].ends = true;
    }
    const vug_node anything =
            vug_rules_repeat(s->rules, vug_json_name_but(&s->json, NULL, 0), 0, VUG_REPEAT_FOREVER);
    /* Children have higher numbers than their parents. Rules, or the expression would be
     * as deep as the longest name. */
    for (uint32_t at = n; at-- > 0 && vug_schema_ok(s);) {
        rest[at] = vug_rules_declare(s->rules);
        vug_rules_define(s->rules, rest[at], not_name(s, tree, rest, at, anything));
    }
    if (s->json.bare)
        return rest[0];
    return VUG_SEQUENCE(s->rules, s->json.quote, rest[0], s->json.quote);
}
