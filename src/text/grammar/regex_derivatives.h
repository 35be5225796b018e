#ifndef VUG_TEXT_GRAMMAR_REGEX_DERIVATIVES_H
#define VUG_TEXT_GRAMMAR_REGEX_DERIVATIVES_H

/*
 * A deterministic automaton over characters for an expression with lookahead. Used by
 * lookahead.c only.
 *
 * What an expression leaves of a text after its first character is an expression again
 * (Brzozowski 1964, "Derivatives of regular expressions"). Here it is a set of alternatives
 * (Antimirov 1996, "Partial derivatives of regular expressions"):
 *
 *     alternative: a continuation, part by part, and constraints on the rest of the text
 *
 * A constraint is a set of alternatives, too, which the rest must match, or must not match; it
 * advances together with its alternative. There are finitely many sets of
 * alternatives: they are the states of the automaton.
 */

#include "text/grammar/grammar_builder.h"

#define VUG_DERIVATIVES_DEAD 0 /* the state without alternatives */

typedef struct {
    vug_grammar_builder *source, *to; /* failures and work are charged to `to` */
    vug_intern_table continuations;   /* {expr, continuation after it}, named by id + 1 */
    vug_intern_table constraints;     /* 2 * state, + 1 if the rest must not match it */
    vug_intern_table alternatives;    /* {continuation, constraints} */
    vug_intern_table states;          /* alternatives */
    vug_intern_table symbols;         /* the classes that contain the characters of a symbol */
    vug_buf cut;                      /* uint32_t: where ranges of equal symbol begin, sorted */
    vug_buf symbol_of;                /* uint32_t: the symbol of each cut */
    vug_buf info;                     /* derivatives_info, for each state */
    vug_buf next;                     /* uint32_t [states][symbols]: states */
    vug_buf stamp;                    /* uint32_t: the last opening that met each alternative */
    uint32_t n_openings;
    uint32_t any_alternative, any_state; /* any text matches */
} vug_derivatives;

/* Prepares the automaton of `root`. Returns its start state. Failures are kept in `to`. */
uint32_t vug_derivatives_init(vug_derivatives *d, vug_grammar_builder *to,
                              vug_grammar_builder *source, vug_grammar_expr root);
void vug_derivatives_release(vug_derivatives *d);

/* Computes whether a state accepts and where each symbol leads from it. */
void vug_derivatives_expand(vug_derivatives *d, uint32_t state);
bool vug_derivatives_accepts(const vug_derivatives *d, uint32_t state);
static inline uint32_t vug_derivatives_next(const vug_derivatives *d, uint32_t state, size_t symbol)
{
    return ((const uint32_t *)(const void *)d->next.ptr)[state * d->symbols.n + symbol];
}

static inline bool vug_derivatives_failed(const vug_derivatives *d)
{
    return d->to->st != VUG_OK || d->source->st != VUG_OK;
}
/* Charges work, and fails past the limits. */
void vug_derivatives_charge(vug_derivatives *d, size_t n);
/* Appends to a buffer; running out of memory is a failure. */
void vug_derivatives_append(vug_derivatives *d, vug_buf *list, const void *element, size_t size);

#endif
