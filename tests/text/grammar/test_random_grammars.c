

#include "test.h"

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

typedef enum { EMPTY, LETTER, EITHER, SEQUENCE, CHOICE, REPEAT, BULKY, CALL, GRAPH } random_kind;
enum { N_KINDS = GRAPH + 1, STATES = 4, NOWHERE = STATES };

typedef struct {
    random_kind random_kind;
    uint32_t a, b; /* letters, nodes, or the called rule */
    uint32_t min, max;
    uint32_t to[STATES][2]; /* of a graph: where each letter leads */
    bool final[STATES];
} random_expr;

typedef struct {
    random_expr node[NODES];
    uint32_t rule[RULES];             /* the node of each rule */
    uint8_t ends[NODES][LONGEST + 1]; /* bits of positions */
    uint64_t seed;
} random_grammar;

static uint32_t random_below(random_grammar *g, uint32_t n)
{
    g->seed = g->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(g->seed >> 33) % n;
}

static void draw_grammar(random_grammar *g)
{
    for (uint32_t i = 0; i < NODES; i++) {
        random_expr *e = &g->node[i];
        *e = (random_expr){ .random_kind = i < 4 ? LETTER : (random_kind)random_below(g, N_KINDS) };
        e->a = e->random_kind == LETTER ? random_below(g, 2)
               : e->random_kind == CALL ? random_below(g, RULES)
                                        : random_below(g, i + !i);
        e->b = random_below(g, i + !i);
        e->min = random_below(g, 4);
        e->max = random_below(g, 3) == 0 ? VUG_REPEAT_UNBOUNDED : e->min + random_below(g, 5);
        for (uint32_t k = 0; k < STATES; k++) {
            e->to[k][0] = random_below(g, NOWHERE + 1);
            e->to[k][1] = random_below(g, NOWHERE + 1);
            e->final[k] = random_below(g, 3) == 0;
        }
    }
    for (uint32_t i = 0; i < RULES; i++)
        g->rule[i] = NODES - 1 - i;
}

/* ---- the recognizer -------------------------------------------------------------------- */

/* Where `node` may end if it begins at any of the positions. */
static uint8_t ends_after(const random_grammar *g, uint32_t node, uint8_t positions)
{
    uint8_t ends = 0;
    for (unsigned i = 0; i <= LONGEST; i++)
        ends |= positions >> i & 1 ? g->ends[node][i] : 0;
    return ends;
}

static uint8_t repeat_ends(const random_grammar *g, const random_expr *e, uint8_t from)
{
    uint8_t ends = e->min == 0 ? from : 0;
    /* More repetitions than the minimum plus one per letter change nothing. */
    const uint32_t most = e->min + LONGEST + 1;
    for (uint32_t i = 1; i <= (e->max < most ? e->max : most); i++) {
        from = ends_after(g, e->a, from);
        ends |= i >= e->min ? from : 0;
    }
    return ends;
}

static uint8_t graph_ends(const random_expr *e, unsigned at, const char *text, unsigned n)
{
    uint32_t state = 0;
    uint8_t ends = 0;
    for (unsigned count = 0; state != NOWHERE && count <= e->max; at++, count++) {
        if (e->final[state])
            ends |= (uint8_t)(1u << at);
        if (at == n)
            break;
        state = e->to[state][text[at] - 'a'];
    }
    return ends;
}

static uint8_t ends_of(const random_grammar *g, const random_expr *e, unsigned at, const char *text,
                       unsigned n)
{
    const uint8_t here = (uint8_t)(1u << at), behind = (uint8_t)(2u << at);
    switch (e->random_kind) {
    case EMPTY:
        return here;
    case LETTER:
        return at < n && text[at] == (char)('a' + (int)e->a) ? behind : 0;
    case EITHER:
        return at < n ? behind : 0;
    case SEQUENCE:
        return ends_after(g, e->b, g->ends[e->a][at]);
    case CHOICE:
        return g->ends[e->a][at] | g->ends[e->b][at];
    case REPEAT:
        return repeat_ends(g, e, here);
    case BULKY:
        return g->ends[e->a][at];
    case CALL:
        return g->ends[g->rule[e->a]][at];
    case GRAPH:
        return graph_ends(e, at, text, n);
    }
    return 0;
}

static bool reference_accepts(random_grammar *g, const char *text, unsigned n)
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

/* ---- the same grammar for the builder ------------------------------------------------------------- */

static vug_grammar_expr build_graph(vug_grammar_builder *b, const random_expr *e)
{
    vug_grammar_edge edge[3 * STATES];
    size_t n = 0;
    for (uint32_t k = 0; k < STATES; k++) {
        for (uint32_t i = 0; i < 2; i++) {
            const vug_char_range letter = { 'a' + i, 'a' + i };
            if (e->to[k][i] != NOWHERE)
                edge[n++] = (vug_grammar_edge){ vug_grammar_class(b, &letter, 1, false), k,
                                                e->to[k][i] };
        }
        if (e->final[k])
            edge[n++] = (vug_grammar_edge){ VUG_EMPTY_EXPR, k, VUG_GRAMMAR_GRAPH_END };
    }
    return vug_grammar_bounded_graph(b, edge, n, e->max);
}

static vug_grammar_expr build_expr(vug_grammar_builder *b, const random_expr *e,
                                   const vug_grammar_expr *made, const vug_grammar_expr *declared)
{
    const vug_char_range letter = { 'a' + e->a, 'a' + e->a }, either = { 'a', 'b' };
    const vug_grammar_expr pair[2] = {
        made[e->random_kind == CALL || e->random_kind == LETTER ? 0 : e->a], made[e->b]
    };
    switch (e->random_kind) {
    case EMPTY:
        return VUG_EMPTY_EXPR;
    case LETTER:
        return vug_grammar_class(b, &letter, 1, false);
    case EITHER:
        return vug_grammar_class(b, &either, 1, false);
    case SEQUENCE:
        return vug_grammar_sequence(b, pair, 2);
    case CHOICE:
        return vug_grammar_choice(b, pair, 2);
    case REPEAT:
        return vug_grammar_repeat(b, pair[0], e->min, e->max);
    case BULKY: {
        /* A large alternative that no text here matches turns the expression into a separate
         * rule, and repetitions of it into counted loops. */
        const vug_grammar_expr bulk = vug_grammar_literal(
                b, vug_str_of("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"));
        return vug_grammar_choice(b, (vug_grammar_expr[]){ pair[0], bulk }, 2);
    }
    case CALL:
        return declared[e->a];
    case GRAPH:
        return build_graph(b, e);
    }
    return VUG_EMPTY_EXPR;
}

static vug_status build_automaton(const random_grammar *g, vug_automaton **out, vug_err *err)
{
    vug_grammar_expr made[NODES] = { 0 }, declared[RULES];
    vug_grammar_builder *b = vug_grammar_builder_create();
    assert_non_null(b);
    for (uint32_t i = 0; i < RULES; i++)
        declared[i] = vug_grammar_declare_rule(b);
    for (uint32_t i = 0; i < NODES; i++)
        made[i] = build_expr(b, &g->node[i], made, declared);
    for (uint32_t i = 0; i < RULES; i++)
        vug_grammar_define_rule(b, declared[i], made[g->rule[i]]);
    const vug_status st = vug_automaton_create(b, declared[0], out, err);
    vug_grammar_builder_destroy(b);
    return st;
}

/* Compares all texts of up to LONGEST letters. Returns how many match; none may without an
 * automaton. */
static size_t compare_all(random_grammar *g, const vug_automaton *a, uint64_t seed)
{
    size_t n_matches = 0;
    for (unsigned n = 0; n <= LONGEST; n++) {
        for (unsigned bits = 0; bits < 1u << n; bits++) {
            char text[LONGEST + 1] = "";
            for (unsigned i = 0; i < n; i++)
                text[i] = (char)('a' + (bits >> i & 1));
            const bool wanted = reference_accepts(g, text, n);
            const match_result result = a ? automaton_match(a, vug_str_of(text)) : MATCH_DEAD;
            if ((result == MATCH_WHOLE) != wanted || result == MATCH_FAILED)
                fail_msg("grammar %u, '%s': %d, expected %d", (unsigned)seed, text, (int)result,
                         (int)wanted);
            n_matches += wanted;
        }
    }
    return n_matches;
}

static void test_random_grammars_match_the_reference(void **state)
{
    (void)state;
    size_t n_compared = 0, n_matches = 0;
    for (uint64_t seed = 0; seed < GRAMMARS; seed++) {
        random_grammar g = { .seed = seed * 977 };
        vug_automaton *a = NULL;
        vug_err err = { 0 };
        draw_grammar(&g);
        const vug_status st = build_automaton(&g, &a, &err);
        if (st == VUG_OK) {
            n_matches += compare_all(&g, a, seed);
            n_compared++;
        } else if (strstr(err.msg, "no text matches")) {
            (void)compare_all(&g, NULL, seed);
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
        cmocka_unit_test(test_random_grammars_match_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
