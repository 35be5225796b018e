#ifndef VUG_TEXT_CHAT_MESSAGES_H
#define VUG_TEXT_CHAT_MESSAGES_H

/*
 * Messages on their way to a template: read, checked, and made to fit a template that
 * refuses some of them.
 */

#include "core/json.h"

#define VUG_MESSAGES_MAX_BYTES ((size_t)64 << 20) /* of messages, tools, variables: each */

/* X(id): what a template refuses or leaves out, in the order in which it is repaired:
 *   STRING        content has to be a list of parts
 *   PARTS         content has to be a string: parts are joined by line ends
 *   DEVELOPER     the role becomes system
 *   SYSTEM        at the beginning: the role becomes user
 *   LATE_SYSTEM   behind other messages: likewise
 *   LONE_SYSTEM   with nobody else: the last one becomes the user's
 *   TEXT_ARGUMENTS  of a call: they become an object with that text
 *   CALLS         calls become text of the assistant, and results messages of the user
 *   STRAY_RESULT  of no call, as the role function may be: it becomes a message of the user
 *   AFTER_RESULT  of a user, behind results of tools: these become text of that message
 *   NEIGHBOURS    messages of one role that follow each other become one
 *   GREETING      in front of an assistant who speaks first comes an empty message of a user */
/* clang-format off */
#define VUG_REFUSAL_TABLE(X)                                                \
    X(STRING) X(PARTS) X(DEVELOPER) X(SYSTEM) X(LATE_SYSTEM) X(LONE_SYSTEM) \
    X(TEXT_ARGUMENTS) X(CALLS) X(STRAY_RESULT) X(AFTER_RESULT) X(NEIGHBOURS) X(GREETING)
/* clang-format on */

typedef enum {
#define X(id) VUG_REFUSES_##id,
    VUG_REFUSAL_TABLE(X)
#undef X
            VUG_REFUSAL_COUNT
} vug_refusal;

typedef struct {
    bool refuses[VUG_REFUSAL_COUNT];
} vug_refusals;

/* The array of messages; `json` may also be an object that has it under "messages". Only
 * that they are objects is checked. Values live in `arena` and in `json`. */
VUG_MUST_CHECK vug_status vug_messages_read(vug_str json, vug_arena *arena, const vug_jv **out,
                                            vug_err *err);
/* Checks what `list` holds, parses the arguments of its calls, and repairs what the
 * template refuses. Strings are shared with `list`. */
VUG_MUST_CHECK vug_status vug_messages_fit(const vug_jv *list, const vug_refusals *refusals,
                                           vug_arena *arena, const vug_jv **out, vug_err *err);
/* NULL for no text, null and an empty list; otherwise an array of functions. With `strict`
 * any array. */
VUG_MUST_CHECK vug_status vug_tools_read(vug_str json, bool strict, vug_arena *arena,
                                         const vug_jv **out, vug_err *err);

#endif
