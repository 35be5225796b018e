#ifndef VUG_TEXT_GRAMMAR_AUTOMATON_H
#define VUG_TEXT_GRAMMAR_AUTOMATON_H

/*
 * What a grammar becomes: a pushdown automaton over bytes, read-only from then on.
 *
 * Every rule that stays a rule has a body, a deterministic automaton whose edges are
 * ranges of bytes and calls of rules (Woods 1970, "Transition network grammars for
 * natural language analysis"). A call puts a frame on the stack and goes on in the body
 * that is called; at a final state the frame goes, and the caller goes on at `back`.
 *
 * Repetitions with counts are rules, too: their bodies are gone through `min` to `max`
 * times, and frames count. So x{1000} has as many states as x, and where all but the
 * counts is the same, masks are shared.
 */

#include "text/grammar/rules.h"

#define VUG_AUTOMATON_MAX_STATES ((uint32_t)1 << 20) /* before and after it is deterministic */
#define VUG_AUTOMATON_MAX_WORK   ((uint64_t)1 << 25) /* steps to make it so */

typedef struct {
    uint8_t from, to; /* both are in it */
    uint32_t state;
} vug_byte_edge;

typedef struct {
    uint32_t rule;
    uint32_t back; /* a state */
} vug_call_edge;

typedef struct {
    uint32_t edge, call; /* the first of its edges, which ascend; those of the next state follow */
    uint32_t start;      /* of its body */
    bool final;
    bool last; /* final, and nothing leaves it: who calls with such a `back` need not return */
} vug_automaton_state;

typedef struct {
    uint32_t start;    /* of the body */
    uint32_t min, max; /* 1, 1 of an ordinary rule; max may be VUG_REPEAT_FOREVER; min is 0 where
                          the body may be empty */
} vug_automaton_rule;

typedef struct {
    vug_automaton_state *state; /* [n_states + 1] */
    vug_byte_edge *edge;
    vug_call_edge *call;
    vug_automaton_rule *rule; /* the first is the root; it is ordinary */
    uint32_t n_states, n_edges, n_calls, n_rules;
    uint8_t class_of[256]; /* bytes that no edge tells apart have one class */
    uint8_t byte_of[256];  /* one byte of each */
    uint32_t n_classes;
} vug_automaton;

/* Every state can reach the end of its body; a grammar that matches nothing, or with a
 * rule that can begin with itself, is refused. */
VUG_MUST_CHECK vug_status vug_automaton_create(const vug_rules *rules, vug_node root,
                                               vug_automaton **out, vug_err *err);
void vug_automaton_destroy(vug_automaton *automaton);

#endif
