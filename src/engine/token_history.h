#ifndef VUG_ENGINE_TOKEN_HISTORY_H
#define VUG_ENGINE_TOKEN_HISTORY_H

/* The tokens of a prompt and its answer as penalties see them. All of it is a function of the
 * sequence of tokens: pushing tokens and taking them back leaves no trace. */

#include "core/mem.h"
#include "core/status.h"

typedef struct {
    int64_t n_vocab;
    size_t max_tokens;
    bool count;     /* for the penalties: count the tokens of the window */
    int64_t window; /* the tokens that are counted, from the last one back; -1: all */
} vug_history_options;

typedef struct {
    vug_history_options options;
    int32_t *id; /* [n], room for max_tokens */
    size_t n;
    size_t n_prompt;    /* the first tokens are the prompt */
    size_t window_from; /* the first token that is counted */
    /* Unless options.count is false: */
    uint32_t *n_in_prompt, *n_in_answer; /* [n_vocab] occurrences in the window */
    int32_t *counted;                    /* [n_counted] has every id that occurs in the window */
    size_t n_counted;
    uint8_t *is_counted; /* [n_vocab] whether `counted` has the id */
} vug_token_history;

VUG_MUST_CHECK vug_status vug_history_init(vug_token_history *history,
                                           const vug_history_options *options, vug_err *err);
void vug_history_release(vug_token_history *history);
/* Empties the history and then holds a prompt; ids are below n_vocab, n is at most max_tokens. */
void vug_history_set_prompt(vug_token_history *history, const int32_t *id, size_t n);
/* Appends a token of the answer. */
void vug_history_push(vug_token_history *history, int32_t id);
/* Takes the last `n` tokens of the answer back. */
void vug_history_pop(vug_token_history *history, size_t n);
/* The distinct ids in the window, in no particular order. */
const int32_t *vug_history_distinct(vug_token_history *history, size_t *n);

#endif
