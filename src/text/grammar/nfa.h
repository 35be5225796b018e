#ifndef VUG_TEXT_GRAMMAR_NFA_H
#define VUG_TEXT_GRAMMAR_NFA_H

/*
 * The stations between rules and the automaton; private to what makes it:
 *
 *     rules ─► plan (which nodes are rules of their own) ─► NFA per body ─► DFA per body
 */

#include "text/grammar/automaton.h"
#include "text/grammar/rule_nodes.h"

/* ---- plan: rule_plan.c ---------------------------------------------------- */

/* A node without a mark is a part of the bodies that refer to it. */
enum {
    VUG_PLAN_RULE = 1,  /* it has a body of its own, and is called */
    VUG_PLAN_COUNT = 2, /* of a repetition: its part is a body that is gone through so often */
};

typedef struct {
    uint8_t *mark; /* [nodes] */
} vug_rule_plan;

VUG_MUST_CHECK vug_status vug_rule_plan_make(const vug_rules *rules, vug_node root,
                                             vug_rule_plan *plan, vug_err *err);

/* ---- NFA: nfa.c ------------------------------------------------------------ */

#define VUG_NFA_NONE UINT32_MAX

typedef enum {
    VUG_NFA_SPLIT, /* goes on at `to` and at `or`, without a byte */
    VUG_NFA_BYTES, /* a byte of `from` to `upto` */
    VUG_NFA_ASCII, /* one of the set `other` */
    VUG_NFA_CALL,  /* the rule `rule` */
    VUG_NFA_FINAL, /* the end of the body */
} vug_nfa_kind;

typedef struct {
    uint8_t kind;
    uint8_t from, upto;
    uint32_t to;
    uint32_t other; /* a state, VUG_NFA_NONE for none; the rule; or the set */
} vug_nfa_state;

/* Classes have many ranges, most of them of one byte: together they are one state. */
typedef struct {
    uint64_t has[2]; /* bits, from 0 to 0x7f */
} vug_nfa_ascii;

typedef struct {
    vug_node node;
    uint32_t start; /* in the NFA */
} vug_nfa_body;

typedef struct {
    uint32_t body;
    uint32_t min, max;
} vug_nfa_rule;

typedef struct {
    vug_buf state; /* vug_nfa_state */
    vug_buf ascii; /* vug_nfa_ascii */
    vug_buf body;  /* vug_nfa_body; the first is the root's */
    vug_buf rule;  /* vug_nfa_rule; likewise */
} vug_nfa;

VUG_MUST_CHECK vug_status vug_nfa_make(const vug_rules *rules, vug_node root,
                                       const vug_rule_plan *plan, vug_nfa *nfa, vug_err *err);
void vug_nfa_release(vug_nfa *nfa);

#define VUG_NFA_STATE(nfa) ((vug_nfa_state *)(void *)(nfa)->state.ptr)
#define VUG_NFA_SET(nfa)   ((vug_nfa_ascii *)(void *)(nfa)->ascii.ptr)
#define VUG_NFA_BODY(nfa)  ((vug_nfa_body *)(void *)(nfa)->body.ptr)
#define VUG_NFA_RULE(nfa)  ((vug_nfa_rule *)(void *)(nfa)->rule.ptr)

/* ---- DFA: dfa.c ------------------------------------------------------------ */

/* States, edges, calls and rules of the automaton; the rest is left to be done. */
VUG_MUST_CHECK vug_status vug_dfa_make(const vug_nfa *nfa, vug_automaton *automaton, vug_err *err);

#endif
