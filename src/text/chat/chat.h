#ifndef VUG_TEXT_CHAT_CHAT_H
#define VUG_TEXT_CHAT_CHAT_H

/*
 * A chat template with what belongs to it, apart from where it lies: what the
 * vug_chat of chat.h is made of.
 */

#include "core/mem.h"
#include "text/chat/formats.h"
#include "text/chat/syntax.h"
#include "vug/chat.h"

#define VUG_CHAT_MAX_TEMPLATE ((size_t)1 << 20) /* bytes of its source, as of any template */
#define VUG_CHAT_MAX_TOKENS   64

/* A variable such as bos_token, and how the token is spelled. */
typedef struct {
    vug_str name, spelling;
} vug_chat_token;

typedef struct {
    const char *name;            /* where the template came from */
    vug_str source;              /* Jinja */
    vug_str with_tools;          /* the one for conversations with tools; empty: the same */
    const vug_chat_token *token; /* [n_tokens] */
    size_t n_tokens;
} vug_chat_parts;

/* Copies. A template that cannot be parsed is an error. */
VUG_MUST_CHECK vug_status vug_chat_create(const vug_chat_parts *parts, vug_chat **out,
                                          vug_err *err);
/* Messages as JSON. */
void vug_messages_write(const vug_message *message, size_t n, vug_buf *to);
/* How its answers are written. */
const vug_syntax *vug_chat_syntax(const vug_chat *chat);

#endif
