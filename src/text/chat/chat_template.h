#ifndef VUG_TEXT_CHAT_CHAT_TEMPLATE_H
#define VUG_TEXT_CHAT_CHAT_TEMPLATE_H

/* Making a vug_chat from the text of its template and its tokens, wherever they come from. */

#include "core/mem.h"
#include "text/chat/builtin_templates.h"
#include "text/chat/output_format.h"
#include "vug/chat.h"

#define VUG_CHAT_MAX_TEMPLATE ((size_t)1 << 20) /* bytes of its source */
#define VUG_CHAT_MAX_TOKENS   64

/* A variable such as bos_token, with the spelling of its token. */
typedef struct {
    vug_str name, spelling;
} vug_chat_token;

typedef struct {
    const char *name;            /* where the template came from */
    vug_str source;              /* Jinja */
    vug_str with_tools;          /* used for conversations with tools; empty: `source` is */
    const vug_chat_token *token; /* [n_tokens] */
    size_t n_tokens;
} vug_chat_parts;

/* Copies its input. Fails where a template cannot be parsed. */
VUG_MUST_CHECK vug_status vug_chat_create(const vug_chat_parts *parts, vug_chat **out,
                                          vug_err *err);
/* Writes messages as JSON. */
void vug_messages_write(const vug_message *message, size_t n, vug_buf *to);
/* How the model writes its answers. */
const vug_output_format *vug_chat_output_format(const vug_chat *chat);

#endif
