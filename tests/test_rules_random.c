#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "grammar_help.h"

/*
 * Grammars drawn by chance against a recognizer that cannot be wrong: for every text of
 * two letters up to a length, whether it matches, and whether what is dead stays dead.
 * The recognizer computes, for every expression and every position, at which positions it
 * may end, again and again until nothing changes. It knows nothing of rules, unlike that of
 * rules_help.h: so what their builder makes simpler is measured, too, and what begins with
 * itself has a meaning.
 */

enum { NODES = 24, RULES = 4, LONGEST = 7, GRAMMARS = 4000 };

typedef enum { EMPTY, LETTER, EITHER, SEQUENCE, CHOICE, REPEAT, BULKY, CALL } kind;

typedef struct {
    kind kind;
    uint32_t a, b; /* letters, nodes, or the rule that is called */
    uint32_t min, max;
} expression;

typedef struct {
    expression node[NODES];
    uint32_t rule[RULES];             /* their nodes */
    uint8_t ends[NODES][LONGEST + 1]; /* bits of positions */
    uint64_t seed;
} grammar;

static uint32_t below(grammar *g, uint32_t n)
{
    g->seed = g->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(g->seed >> 33) % n;
}

static void draw(grammar *g)
{
    for (uint32_t i = 0; i < NODES; i++) {
        expression *e = &g->node[i];
        *e = (expression){ .kind = i < 4 ? LETTER : (kind)below(g, 8) };
        e->a = e->kind == LETTER ? below(g, 2)
               : e->kind == CALL ? below(g, RULES)
                                 : below(g, i + !i);
        e->b = below(g, i + !i);
        e->min = below(g, 4);
        e->max = below(g, 3) == 0 ? VUG_REPEAT_FOREVER : e->min + below(g, 5);
    }
    for (uint32_t i = 0; i < RULES; i++)
        g->rule[i] = NODES - 1 - i;
}

/* ---- the recognizer -------------------------------------------------------------------- */

/* Where `node` may end after any of the positions. */
static uint8_t after(const grammar *g, uint32_t node, uint8_t positions)
{
    uint8_t ends = 0;
    for (unsigned i = 0; i <= LONGEST; i++)
        ends |= positions >> i & 1 ? g->ends[node][i] : 0;
    return ends;
}

static uint8_t repeated(const grammar *g, const expression *e, uint8_t from)
{
    uint8_t ends = e->min == 0 ? from : 0;
    /* More than one time per letter, and those that must be, changes nothing. */
    const uint32_t most = e->min + LONGEST + 1;
    for (uint32_t i = 1; i <= (e->max < most ? e->max : most); i++) {
        from = after(g, e->a, from);
        ends |= i >= e->min ? from : 0;
    }
    return ends;
}

static uint8_t ends_of(const grammar *g, const expression *e, unsigned at, const char *text,
                       unsigned n)
{
    const uint8_t here = (uint8_t)(1u << at), behind = (uint8_t)(2u << at);
    switch (e->kind) {
    case EMPTY:
        return here;
    case LETTER:
        return at < n && text[at] == (char)('a' + (int)e->a) ? behind : 0;
    case EITHER:
        return at < n ? behind : 0;
    case SEQUENCE:
        return after(g, e->b, g->ends[e->a][at]);
    case CHOICE:
        return g->ends[e->a][at] | g->ends[e->b][at];
    case REPEAT:
        return repeated(g, e, here);
    case BULKY:
        return g->ends[e->a][at];
    case CALL:
        return g->ends[g->rule[e->a]][at];
    }
    return 0;
}

static bool matches(grammar *g, const char *text, unsigned n)
{
    memset(g->ends, 0, sizeof(g->ends));
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < NODES; i++) {
            for (unsigned at = 0; at <= n; at++) {
                const uint8_t ends = ends_of(g, &g->node[i], at, text, n);
                changed = changed || ends != g->ends[i][at];
                g->ends[i][at] = ends;
            }
        }
    }
    return g->ends[g->rule[0]][0] >> n & 1;
}

/* ---- the same for the builder ------------------------------------------------------------- */

static vug_node build_one(vug_rules *r, const expression *e, const vug_node *made,
                          const vug_node *declared)
{
    const vug_char_range letter = { 'a' + e->a, 'a' + e->a }, either = { 'a', 'b' };
    const vug_node pair[2] = { made[e->kind == CALL || e->kind == LETTER ? 0 : e->a], made[e->b] };
    switch (e->kind) {
    case EMPTY:
        return VUG_NODE_EMPTY;
    case LETTER:
        return vug_rules_class(r, &letter, 1, false);
    case EITHER:
        return vug_rules_class(r, &either, 1, false);
    case SEQUENCE:
        return vug_rules_sequence(r, pair, 2);
    case CHOICE:
        return vug_rules_choice(r, pair, 2);
    case REPEAT:
        return vug_rules_repeat(r, pair[0], e->min, e->max);
    case BULKY: {
        /* Another way that no text here takes, and that makes it large: so it becomes a
         * rule of its own, and repetitions of it are counted. */
        const vug_node bulk = vug_rules_literal(
                r, vug_str_of("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"));
        return vug_rules_choice(r, (vug_node[]){ pair[0], bulk }, 2);
    }
    case CALL:
        return declared[e->a];
    }
    return VUG_NODE_EMPTY;
}

static vug_status build(const grammar *g, vug_automaton **out, vug_err *err)
{
    vug_node made[NODES] = { 0 }, declared[RULES];
    vug_rules *r = vug_rules_create();
    assert_non_null(r);
    for (uint32_t i = 0; i < RULES; i++)
        declared[i] = vug_rules_declare(r);
    for (uint32_t i = 0; i < NODES; i++)
        made[i] = build_one(r, &g->node[i], made, declared);
    for (uint32_t i = 0; i < RULES; i++)
        vug_rules_define(r, declared[i], made[g->rule[i]]);
    const vug_status st = vug_automaton_create(r, declared[0], out, err);
    vug_rules_destroy(r);
    return st;
}

/* Every text of two letters and at most LONGEST of them; returns how many match. Without
 * an automaton none may. */
static size_t compare(grammar *g, const vug_automaton *a, uint64_t seed)
{
    size_t n_matches = 0;
    for (unsigned n = 0; n <= LONGEST; n++) {
        for (unsigned bits = 0; bits < 1u << n; bits++) {
            char text[LONGEST + 1] = "";
            for (unsigned i = 0; i < n; i++)
                text[i] = (char)('a' + (bits >> i & 1));
            const bool wanted = matches(g, text, n);
            const text_fate fate = a ? automaton_fate(a, vug_str_of(text)) : TEXT_DEAD;
            if ((fate == TEXT_WHOLE) != wanted || fate == TEXT_FAILED)
                fail_msg("grammar %u, '%s': %d, expected %d", (unsigned)seed, text, (int)fate,
                         (int)wanted);
            n_matches += wanted;
        }
    }
    return n_matches;
}

static void test_random_grammars(void **state)
{
    (void)state;
    size_t n_compared = 0, n_matches = 0;
    for (uint64_t seed = 0; seed < GRAMMARS; seed++) {
        grammar g = { .seed = seed * 977 };
        vug_automaton *a = NULL;
        vug_err err = { 0 };
        draw(&g);
        const vug_status st = build(&g, &a, &err);
        if (st == VUG_OK) {
            n_matches += compare(&g, a, seed);
            n_compared++;
        } else if (strstr(err.msg, "no text matches")) {
            (void)compare(&g, NULL, seed);
        } else {
            assert_non_null(strstr(err.msg, "left recursion"));
        }
        vug_automaton_destroy(a);
    }
    assert_true(n_compared > GRAMMARS / 4);
    assert_true(n_matches > n_compared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_grammars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
