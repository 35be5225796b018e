#ifndef VUG_TEXT_CHAT_H
#define VUG_TEXT_CHAT_H

/*
 * Chat turns of the families whose format is built in, for checkpoints that
 * carry no template of their own.
 */

#include "core/status.h"

/* Whether `family` ("gemma3") has a built-in format. */
bool vug_chat_known(const char *family);

/* Renders `message[0..n)` as the family's template does. `bos` is the spelling of
 * its first token, "" for none. Roles are "user" and "assistant" (or "model") in
 * turns, after at most one "system" message. */
VUG_MUST_CHECK vug_status vug_chat_turns(const char *family, const char *bos,
                                         const vug_message *message, size_t n, bool open_reply,
                                         vug_text *out, vug_err *err);

#endif
