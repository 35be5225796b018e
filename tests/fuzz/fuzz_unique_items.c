/*
 * text/grammar: texts for arrays whose items differ. The first byte selects a schema. A text that
 * the automaton matches, which accepts equal items, is accepted with them remembered exactly if
 * its arrays have none.
 */

#include "core/json.h"
#include "fuzz/fuzz.h"
#include "text/grammar/automaton_compiler.h"
#include "text/grammar/schema.h"
#include "text/grammar/unique_tokens.h"

static const struct {
    const char *schema;
    int depth; /* of the arrays whose items differ */
} cases[] = {
    { "{\"type\":\"array\",\"uniqueItems\":true}", 0 },
    { "{\"items\":{\"type\":\"array\",\"uniqueItems\":true}}", 1 },
};

static bool values_equal(const vug_jv *a, const vug_jv *b);

/* Keys of a tree differ. */
static bool has_equal_member(const vug_jv *object,
                             const vug_jv *member) // NOLINT(misc-no-recursion)
{
    const vug_jv *m = object->child;
    while (m && !(vug_str_equal(m->key, member->key) && values_equal(m, member)))
        m = m->next;
    return m != NULL;
}

/* Bounded by the depth of the JSON. */
static bool values_equal(const vug_jv *a, const vug_jv *b) // NOLINT(misc-no-recursion)
{
    if (a->type != b->type || a->n != b->n)
        return false;
    bool equal = true;
    if (a->type == VUG_JSON_BOOL)
        equal = a->boolean == b->boolean;
    else if (a->type == VUG_JSON_NUMBER)
        equal = a->f64 >= b->f64 && a->f64 <= b->f64;
    else if (a->type == VUG_JSON_STRING)
        equal = vug_str_equal(a->str, b->str);
    else if (a->type == VUG_JSON_OBJECT)
        for (const vug_jv *m = a->child; m && equal; m = m->next)
            equal = has_equal_member(b, m);
    else if (a->type == VUG_JSON_ARRAY)
        for (const vug_jv *m = a->child, *k = b->child; m && k && equal; m = m->next, k = k->next)
            equal = values_equal(m, k);
    return equal;
}

/* Whether an array at this depth has equal items. */
static bool has_equal_items(const vug_jv *v, int depth) // NOLINT(misc-no-recursion)
{
    bool found = false;
    if (v->type != VUG_JSON_ARRAY)
        return false;
    for (const vug_jv *a = v->child; a && !found; a = a->next) {
        if (depth > 0)
            found = has_equal_items(a, depth - 1);
        for (const vug_jv *b = a->next; b && depth == 0 && !found; b = b->next)
            found = values_equal(a, b);
    }
    return found;
}

static void match_text(const vug_automaton *automaton, vug_str text, int depth)
{
    vug_grammar_matcher matcher;
    vug_unique_items items = { 0 };
    vug_arena arena = { 0 };
    const vug_jv *tree = NULL;
    if (vug_grammar_matcher_init(&matcher, automaton, NULL) != VUG_OK)
        return;
    vug_stack_set plain = vug_grammar_matcher_start(&matcher);
    const vug_unique_matcher m = { &matcher, &items };
    const vug_stack_set unique = vug_unique_match(&m, plain, text, NULL);
    for (size_t i = 0; i < text.len && plain != VUG_STACK_SET_FAILED; i++)
        plain = vug_grammar_matcher_step(&matcher, plain, (uint8_t)text.ptr[i]);
    /* The tree has no object with the same key twice, and no number beyond a double. */
    if (plain != VUG_STACK_SET_FAILED && unique != VUG_STACK_SET_FAILED &&
        !vug_unique_items_failed(&items) && vug_stack_set_accepts(&matcher, plain) &&
        vug_json_tree(text, "text", &arena, &tree, NULL) == VUG_OK &&
        tree->n <= VUG_UNIQUE_MAX_ITEMS)
        VUG_ASSERT(vug_stack_set_accepts(&matcher, unique) == !has_equal_items(tree, depth));
    vug_arena_release(&arena);
    vug_unique_items_release(&items);
    vug_grammar_matcher_release(&matcher);
}

int vug_fuzz_unique_items(const uint8_t *data, size_t n)
{
    enum { N_CASES = sizeof(cases) / sizeof(*cases), MAX_TEXT = 2000 };
    if (n < 2 || n > MAX_TEXT)
        return 0;
    const size_t i = data[0] % N_CASES;
    vug_grammar_builder *builder = vug_grammar_builder_create();
    vug_automaton *automaton = NULL;
    vug_grammar_expr root = VUG_EMPTY_EXPR;
    if (builder &&
        vug_grammar_parse_schema(builder, vug_str_of(cases[i].schema), &root, NULL) == VUG_OK &&
        vug_automaton_create(builder, root, &automaton, NULL) == VUG_OK)
        match_text(automaton, (vug_str){ (const char *)data + 1, n - 1 }, cases[i].depth);
    vug_automaton_destroy(automaton);
    vug_grammar_builder_destroy(builder);
    return 0;
}
