#ifndef VUG_TEXT_CHAT_MESSAGE_ADAPTER_H
#define VUG_TEXT_CHAT_MESSAGE_ADAPTER_H

/* Checked messages while they are adapted to a template. Shared by the message_*.c files. */

#include "text/chat/messages.h"

typedef struct {
    vug_str role;
    const vug_jv *message;   /* as given: its other members are kept */
    const vug_jv *content;   /* a string, or an array of text parts */
    vug_jv *calls;           /* NULL: none */
    const vug_jv *reasoning; /* a string, or NULL */
} vug_message_turn;

/* Moves results of tools behind their calls, in the order of the calls: most templates match
 * them by position. False: out of memory. */
bool vug_turns_sort_results(vug_message_turn *turn, size_t n, vug_arena *arena);
/* NULL: out of memory. */
const vug_jv *vug_turns_adapt(vug_message_turn *turn, size_t n,
                              const vug_template_capabilities *capabilities, vug_arena *arena);

/* Checks the calls of a message and reads them into `turn`, with arguments as objects. Arguments
 * that are no object stay text, wrapped in an object if `wrap_text`. */
VUG_MUST_CHECK vug_status vug_turn_read_calls(const vug_jv *message, vug_message_turn *turn,
                                              bool wrap_text, vug_arena *arena, vug_err *err);

/* New JSON values; NULL: out of memory. */
vug_jv *vug_messages_new(vug_arena *arena, vug_json_type type, const char *key);
vug_jv *vug_messages_new_string(vug_arena *arena, const char *key, vug_str text);
/* A copy for another place in the tree; members are shared. */
vug_jv *vug_messages_copy(vug_arena *arena, const vug_jv *v);
vug_jv *vug_messages_new_text_part(vug_arena *arena, vug_str text);

#endif
