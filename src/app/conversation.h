#ifndef VUG_APP_CONVERSATION_H
#define VUG_APP_CONVERSATION_H

/* A list of messages: kept by a chat, read from and written to JSON. */

#include "core/mem.h"
#include "core/status.h"

/* All-zero is an empty one. Everything lives in the arena. */
typedef struct {
    vug_message *message; /* [n] */
    size_t n, cap;
    vug_arena arena;
    bool dropped_parts; /* a system message had parts that the template leaves out */
} vug_conversation;

/* Copies. A content with a NUL byte is refused. */
VUG_MUST_CHECK vug_status vug_conversation_add(vug_conversation *c, const char *role,
                                               const char *content, size_t len, vug_err *err);
void vug_conversation_pop(vug_conversation *c);
void vug_conversation_release(vug_conversation *c);

/*
 * Adds the messages of a JSON text: an array, or an object with "messages".
 * Content in parts is joined as Gemma's template does it: each text trimmed and
 * nothing between them, an image as its placeholder; of a leading system
 * message the first part alone, untrimmed. `name` is for sentences.
 */
VUG_MUST_CHECK vug_status vug_conversation_parse(vug_conversation *c, vug_str json,
                                                 const char *name, vug_err *err);
/* An array of {"role","content"}; the file is replaced in one step. */
VUG_MUST_CHECK vug_status vug_conversation_save(const vug_conversation *c, const char *path,
                                                vug_err *err);

#endif
