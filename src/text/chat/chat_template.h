#ifndef VUG_TEXT_CHAT_CHAT_TEMPLATE_H
#define VUG_TEXT_CHAT_CHAT_TEMPLATE_H

/* Making a vug_chat from the text of its template and its tokens, wherever they come from. */

#include "core/json.h"
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

/* What a template renders, as values in an arena. As in transformers (utils/chat_template_utils.py,
 * render_jinja_template), messages, tools, documents and add_generation_prompt are always set. */
typedef struct {
    const vug_jv *messages;
    const vug_jv *tools; /* NULL: none */
    const vug_jv *given; /* the caller's variables; NULL: none */
    bool no_generation_prompt, strict;
} vug_chat_input;

/* What the template wrote after the last text of a message or tool. */
vug_str vug_prompt_opening(const vug_prompt *prompt);

VUG_MUST_CHECK vug_status vug_chat_read(const vug_conversation *conversation, vug_arena *arena,
                                        vug_chat_input *out, vug_err *err);
VUG_MUST_CHECK vug_status vug_chat_render_input(const vug_chat *chat, const vug_chat_input *input,
                                                vug_arena *arena, vug_prompt *out, vug_err *err);

#endif
