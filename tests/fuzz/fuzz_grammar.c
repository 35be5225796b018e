/*
 * text: grammars. The first byte says which kind, the rest is the grammar, and after a
 * NUL the bytes of a text that is walked over it. Whatever was accepted: where a text
 * stands never depends on how it came there, a place that is dead stays dead, and a
 * text that may go on can be brought to an end or to a limit.
 */

#include "fuzz/fuzz.h"
#include "text/grammar/walk.h"

enum { MAX_STEPS = 400 };

static bool alive(vug_place at)
{
    return at != VUG_PLACE_DEAD && at != VUG_PLACE_FAILED;
}

/* Any byte that leads on; a place without one is the end. */
static vug_place go_on(vug_walk *walk, vug_place at)
{
    const vug_automaton *a = walk->a;
    for (uint32_t c = 0; c < a->n_classes; c++) {
        const vug_place to = vug_walk_step(walk, at, a->byte_of[c]);
        if (to != VUG_PLACE_DEAD)
            return to;
    }
    VUG_ASSERT(vug_place_done(walk, at));
    return VUG_PLACE_DEAD;
}

static void walk_over(const vug_automaton *automaton, vug_str text)
{
    vug_walk walk;
    vug_err err = { 0 };
    bool forgotten = false;
    if (vug_walk_init(&walk, automaton, NULL) != VUG_OK)
        return;
    vug_place at = vug_walk_start(&walk);
    for (size_t i = 0; i < text.len && alive(at); i++) {
        const vug_place to = vug_walk_step(&walk, at, (uint8_t)text.ptr[i]);
        VUG_ASSERT(to == VUG_PLACE_FAILED ||
                   to == vug_walk_compute(&walk, at, automaton->class_of[(uint8_t)text.ptr[i]]));
        at = to;
    }
    if (alive(at) && vug_walk_begin(&walk, &at, &forgotten, NULL) == VUG_OK) {
        for (size_t i = 0; i < MAX_STEPS && alive(at); i++)
            at = go_on(&walk, at);
    }
    if (at == VUG_PLACE_FAILED)
        VUG_ASSERT(vug_walk_why(&walk, &err) != VUG_OK && err.msg[0] != '\0');
    vug_walk_release(&walk);
}

static vug_status read_rules(char kind, vug_rules *rules, vug_str text, vug_node *root,
                             vug_err *err)
{
    if (kind == 'g')
        return vug_rules_gbnf(rules, text, root, err);
    return vug_rules_regex_part(rules, text, &(vug_regex_use){ .search = kind == 's' }, root, err);
}

int vug_fuzz_grammar(const uint8_t *data, size_t n)
{
    const char *bytes = (const char *)data;
    if (n == 0)
        return 0;
    const char *nul = memchr(bytes + 1, '\0', n - 1);
    const size_t len = nul ? (size_t)(nul - bytes) - 1 : n - 1;
    vug_rules *rules = vug_rules_create();
    vug_automaton *automaton = NULL;
    vug_node root = VUG_NODE_EMPTY;
    vug_err err = { 0 };
    if (!rules)
        return 0;
    vug_status st = read_rules(bytes[0], rules, (vug_str){ bytes + 1, len }, &root, &err);
    if (st == VUG_OK)
        st = vug_automaton_create(rules, root, &automaton, &err);
    VUG_ASSERT((st == VUG_OK) == (automaton != NULL));
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK)
        walk_over(automaton, nul ? (vug_str){ nul + 1, n - len - 2 } : (vug_str){ 0 });
    vug_automaton_destroy(automaton);
    vug_rules_destroy(rules);
    return 0;
}
