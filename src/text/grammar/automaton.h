#ifndef VUG_TEXT_GRAMMAR_AUTOMATON_H
#define VUG_TEXT_GRAMMAR_AUTOMATON_H

/*
 * A compiled grammar: a pushdown automaton over bytes, read-only once it is built.
 *
 * Every rule that is not inlined has a body, a deterministic automaton whose edges are ranges
 * of bytes and calls of rules (Woods 1970, "Transition network grammars for natural language
 * analysis"). A call pushes a frame and continues in the body of the rule; at a final state
 * the frame is popped, and the caller continues at `return_state`.
 *
 * Large counted repetitions are rules, too: their body runs `min` to `max` times, and the
 * frame counts. So x{1000} has as many states as x, and frames that differ only in their
 * counts share token masks.
 *
 * The body of a graph with bounded paths runs once, and its frame counts the edges of the graph:
 * each of them ends with a call of VUG_RULE_COUNT, at most `max` of which are allowed.
 */

#include "text/grammar/grammar_expr.h"

#define VUG_AUTOMATON_MAX_STATES ((uint32_t)1 << 19)
/* Steps of the subset construction, less than 0.1 s. */
#define VUG_AUTOMATON_MAX_WORK ((uint64_t)20 << 20)

#define VUG_STATE_NONE UINT32_MAX
#define VUG_RULE_COUNT UINT32_MAX /* called by the edges of graphs with bounded paths; no rule */

typedef struct {
    uint8_t from, to; /* inclusive */
    uint32_t state;
} vug_byte_edge;

typedef struct {
    uint32_t rule; /* or VUG_RULE_COUNT */
    uint32_t return_state;
} vug_call_edge;

typedef struct {
    uint32_t edge, call; /* the first of each; they end where those of the next state begin.
                            Edges are sorted by byte. */
    uint32_t start;      /* of the body that the state belongs to */
    uint32_t distance;   /* the least count left with which the end of the body can be reached: in
                            the body of a bounded graph the counted edges to its end, else 1 */
    bool counts_edges;   /* in the body of a bounded graph */
    bool unique_items;   /* the start of the body of a JSON array whose items differ */
    bool final;
    bool final_only; /* final, without edges and calls: a call that returns here is a tail call */
} vug_automaton_state;

typedef struct {
    uint32_t start;    /* of the body */
    uint32_t min, max; /* 1, 1 for an ordinary rule; max may be VUG_REPEAT_UNBOUNDED; min is 0 if
                          the body may match the empty text, and for bounded graphs */
} vug_automaton_rule;

typedef struct {
    vug_automaton_state *state; /* [n_states + 1] */
    vug_byte_edge *edge;
    vug_call_edge *call;
    vug_automaton_rule *rule; /* the first is the root, an ordinary rule */
    uint32_t n_states, n_edges, n_calls, n_rules;
    uint8_t class_of[256]; /* bytes that no edge distinguishes share a class */
    uint8_t byte_of[256];  /* one byte of each class */
    uint32_t n_classes;
    bool has_unique_items; /* a state has `unique_items` */
} vug_automaton;

/* Completes an automaton after its states, edges, calls and rules are filled in: finds distances,
 * removes what cannot reach the end of its body, finds `final_only` states and byte classes, and
 * sets `min` to 0 for bodies that may be empty. Refuses a grammar that matches no text.
 *
 * `left_recursive` becomes the start state of a body that can call itself before it reads a
 * byte, which would push frames forever; else VUG_STATE_NONE. */
VUG_MUST_CHECK vug_status vug_automaton_finish(vug_automaton *automaton, uint32_t *left_recursive,
                                               vug_err *err);
void vug_automaton_destroy(vug_automaton *automaton);

#endif
