#ifndef VUG_TEXT_GRAMMAR_INLINE_PLAN_H
#define VUG_TEXT_GRAMMAR_INLINE_PLAN_H

/*
 * Decides which expressions become rules with a body of their own and which are inlined into
 * the bodies that refer to them. The first pass of automaton_compiler.c.
 */

#include "text/grammar/grammar_builder.h"

/* An expression without flags is inlined. */
enum {
    VUG_PLAN_SEPARATE_RULE = 1, /* has a body of its own, and is called */
    VUG_PLAN_COUNTED_LOOP = 2,  /* a repetition: its part becomes a body that runs that often */
};

typedef struct {
    uint8_t *flags; /* [exprs]; freed by the caller, also after a failure */
} vug_inline_plan;

VUG_MUST_CHECK vug_status vug_inline_plan_create(const vug_grammar_builder *builder,
                                                 vug_grammar_expr root, vug_inline_plan *plan,
                                                 vug_err *err);

#endif
