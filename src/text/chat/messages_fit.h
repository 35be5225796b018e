#ifndef VUG_TEXT_CHAT_MESSAGES_FIT_H
#define VUG_TEXT_CHAT_MESSAGES_FIT_H

/* Messages that were checked, made to fit a template: between messages.c and
 * messages_fit.c. */

#include "text/chat/messages.h"

typedef struct {
    vug_str role;
    const vug_jv *message;   /* as it came: what else it says goes along */
    const vug_jv *content;   /* a string or an array of text parts */
    vug_jv *calls;           /* NULL: none */
    const vug_jv *reasoning; /* a string or NULL */
} vug_fit_turn;

/* Puts results of tools behind their calls and in the order of these, which is how most
 * templates tell them apart. False when out of memory. */
bool vug_fit_results(vug_fit_turn *turn, size_t n, vug_arena *arena);
/* NULL when out of memory. */
const vug_jv *vug_fit_turns(vug_fit_turn *turn, size_t n, const vug_refusals *refusals,
                            vug_arena *arena);

/* Checks the calls that a message has and reads them into `turn`, their arguments as
 * objects; a text that is none stays text, in an object if `no_text`. */
VUG_MUST_CHECK vug_status vug_fit_calls_of(const vug_jv *message, vug_fit_turn *turn, bool no_text,
                                           vug_arena *arena, vug_err *err);

/* New values; NULL when out of memory. */
vug_jv *vug_fit_new(vug_arena *arena, vug_json_type type, const char *key);
vug_jv *vug_fit_string(vug_arena *arena, const char *key, vug_str text);
/* Can stand in another place; what it holds is shared. */
vug_jv *vug_fit_copy(vug_arena *arena, const vug_jv *v);
vug_jv *vug_fit_text_part(vug_arena *arena, vug_str text);
/* Behind `*last`, which is NULL for the first. */
void vug_fit_add(vug_jv *to, vug_jv **last, vug_jv *v);

#endif
