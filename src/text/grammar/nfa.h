#ifndef VUG_TEXT_GRAMMAR_NFA_H
#define VUG_TEXT_GRAMMAR_NFA_H

/* The bodies of rules as nondeterministic automata, between expressions and the DFA. */

#include "text/grammar/automaton.h"
#include "text/grammar/inline_plan.h"

#define VUG_NFA_MAX_STATES ((uint32_t)1 << 19)

#define VUG_NFA_NONE UINT32_MAX

typedef enum {
    VUG_NFA_SPLIT, /* continues at `to` and at `other` without reading a byte */
    VUG_NFA_BYTES, /* reads a byte of `from` to `upto` */
    VUG_NFA_ASCII, /* reads a byte of the set `other` */
    VUG_NFA_TABLE, /* reads a byte of the entries `other` to `to` - 1 and continues at the entry's
                      state; the entries are sorted and disjoint */
    VUG_NFA_CALL,  /* calls the rule `other` */
    VUG_NFA_FINAL, /* the end of the body */
} vug_nfa_kind;

typedef struct {
    uint8_t kind;
    uint8_t from, upto;
    uint32_t to;    /* the next state */
    uint32_t other; /* a state or VUG_NFA_NONE, a rule, or a set: see vug_nfa_kind */
} vug_nfa_state;

/* Classes often have many ranges of one ASCII character each; one state holds all of them. */
typedef struct {
    uint64_t has[2]; /* bits 0 to 0x7f */
} vug_nfa_ascii_set;

/* Most states of graphs are deterministic already. Such a state is one of the NFA, not one for each
 * of its edges. */
typedef struct {
    uint8_t from, upto;
    uint32_t to;
} vug_nfa_entry;

typedef struct {
    vug_grammar_expr expr;
    uint32_t start; /* state */
} vug_nfa_body;

typedef struct {
    uint32_t body;
    uint32_t min, max;
} vug_nfa_rule;

typedef struct {
    vug_buf state; /* vug_nfa_state */
    vug_buf ascii; /* vug_nfa_ascii_set */
    vug_buf entry; /* vug_nfa_entry */
    vug_buf body;  /* vug_nfa_body; the first is the root's */
    vug_buf rule;  /* vug_nfa_rule; the first is the root */
} vug_nfa;

VUG_MUST_CHECK vug_status vug_nfa_build(const vug_grammar_builder *builder, vug_grammar_expr root,
                                        const vug_inline_plan *plan, vug_nfa *nfa, vug_err *err);
void vug_nfa_release(vug_nfa *nfa);

#define VUG_NFA_STATE(nfa)     ((vug_nfa_state *)(void *)(nfa)->state.ptr)
#define VUG_NFA_ASCII_SET(nfa) ((vug_nfa_ascii_set *)(void *)(nfa)->ascii.ptr)
#define VUG_NFA_ENTRY(nfa)     ((vug_nfa_entry *)(void *)(nfa)->entry.ptr)
#define VUG_NFA_BODY(nfa)      ((vug_nfa_body *)(void *)(nfa)->body.ptr)
#define VUG_NFA_RULE(nfa)      ((vug_nfa_rule *)(void *)(nfa)->rule.ptr)

#endif
