#ifndef VUG_ENGINE_CONSTRAINTS_H
#define VUG_ENGINE_CONSTRAINTS_H

/* Constraints on an answer: tokens that a grammar forbids or forces, and the end of thinking when
 * its budget is spent. */

#include "engine/session.h"
#include "vug/chat.h"
#include "vug/grammar.h"

enum { VUG_MAX_FORCED = 256 }; /* tokens that can be forced at once */

typedef struct {
    bool ended;              /* no token may follow */
    int32_t forced;          /* the token that must follow; -1: more than one may */
    const uint32_t *allowed; /* a bit for each id that may follow; NULL: all may */
} vug_next_token;

/* Which tokens a grammar and a thinking budget allow next. */
typedef struct {
    const vug_model *model;
    vug_response_parser *parser; /* the caller's; or NULL */
    vug_grammar_state *state;    /* NULL: no grammar */
    uint32_t *allowed;           /* [n_words] a bit per id */
    size_t n_words;
    int32_t forced[VUG_MAX_FORCED]; /* [n_forced] the next tokens, from `next` on */
    size_t n_forced, next;
    bool closing;          /* the forced tokens close the thinking: the grammar ignores them */
    int64_t thinking_left; /* tokens; below 0: no limit */
    bool may_stop;         /* stop tokens end the answer */
    bool is_found;         /* `found` has the next token */
    vug_next_token found;
} vug_constraints;

VUG_MUST_CHECK vug_status vug_constraints_init(vug_constraints *c,
                                               const vug_generate_options *options,
                                               const vug_model *model, vug_err *err);
void vug_constraints_release(vug_constraints *c);

/* The next token, as valid as the constraints are unchanged. Only the first call after a change takes
 * time. */
VUG_MUST_CHECK vug_status vug_constraints_next(vug_constraints *c, vug_next_token *out,
                                               vug_err *err);
/* Handles a stop token of the model. If the model is still thinking and the grammar requires text
 * after that, the thinking ends instead: its closing tokens are forced, and `*stops` is false. */
VUG_MUST_CHECK vug_status vug_constraints_on_stop(vug_constraints *c, bool *stops, vug_err *err);
/* Advances by a token that was allowed and does not end the answer. */
VUG_MUST_CHECK vug_status vug_constraints_accept(vug_constraints *c, int32_t id, vug_err *err);

#endif
