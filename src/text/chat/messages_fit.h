#ifndef VUG_TEXT_CHAT_MESSAGES_FIT_H
#define VUG_TEXT_CHAT_MESSAGES_FIT_H

/* Messages that were checked, made to fit a template: between messages.c and
 * messages_fit.c. */

#include "text/chat/messages.h"

typedef struct {
    vug_str role;
    const vug_jv *message;   /* as it came: what else it says goes along */
    const vug_jv *content;   /* a string or an array of text parts */
    vug_jv *calls;           /* with arguments that are objects; NULL: none */
    const vug_jv *reasoning; /* a string or NULL */
} vug_fit_turn;

/* NULL when out of memory. */
const vug_jv *vug_fit_turns(vug_fit_turn *turn, size_t n, const vug_refusals *refusals,
                            vug_arena *arena);

/* New values; NULL when out of memory. */
vug_jv *vug_fit_new(vug_arena *arena, vug_json_type type, const char *key);
vug_jv *vug_fit_string(vug_arena *arena, const char *key, vug_str text);
/* Behind `*last`, which is NULL for the first. */
void vug_fit_add(vug_jv *to, vug_jv **last, vug_jv *v);

#endif
