#ifndef VUG_TEXT_CHAT_MESSAGES_H
#define VUG_TEXT_CHAT_MESSAGES_H

/* Reading and checking messages, and adapting them to what a template supports. */

#include "core/json.h"

#define VUG_MESSAGES_MAX_BYTES ((size_t)64 << 20) /* of messages, of tools, of variables */

/* X(id): what a template may not support, in the order of the adaptations, and the adaptation:
 *   STRING           content that is a string: it becomes a list of parts
 *   PARTS            content that is a list of parts: they are joined by line ends
 *   DEVELOPER        the role developer: it becomes system
 *   SYSTEM           a system message at the beginning: it becomes the user's
 *   LATE_SYSTEM      a system message later on: it becomes the user's
 *   LONE_SYSTEM      only system messages: the last one becomes the user's
 *   TEXT_ARGUMENTS   arguments of a call that are no object: one is made around the text
 *   CALLS            tool calls: they become text of the assistant, results text of the user
 *   STRAY_RESULT     a result without a call: it becomes the user's
 *   AFTER_RESULT     a user's message behind results: these become text of that message
 *   REPEATED_ROLE    neighbouring messages of one role: they are joined
 *   ASSISTANT_FIRST  an assistant that speaks first: an empty user's message precedes it */
/* clang-format off */
#define VUG_CAPABILITY_TABLE(X)                                                \
    X(STRING) X(PARTS) X(DEVELOPER) X(SYSTEM) X(LATE_SYSTEM) X(LONE_SYSTEM) \
    X(TEXT_ARGUMENTS) X(CALLS) X(STRAY_RESULT) X(AFTER_RESULT) X(REPEATED_ROLE) X(ASSISTANT_FIRST)
/* clang-format on */

typedef enum {
#define X(id) VUG_CAPABILITY_##id,
    VUG_CAPABILITY_TABLE(X)
#undef X
            VUG_CAPABILITY_COUNT
} vug_template_capability;

/* All zero: the template supports everything. */
typedef struct {
    bool lacks[VUG_CAPABILITY_COUNT];
} vug_template_capabilities;

/* Reads the array of messages, which may be the member "messages" of an object. Checks only
 * that they are objects. Values point into `arena` and `json`. */
VUG_MUST_CHECK vug_status vug_messages_read(vug_str json, vug_arena *arena, const vug_jv **out,
                                            vug_err *err);
/* Checks the messages of `list`, parses the arguments of their calls, and adapts them to the
 * template. Strings are shared with `list`. */
VUG_MUST_CHECK vug_status vug_messages_adapt(const vug_jv *list,
                                             const vug_template_capabilities *capabilities,
                                             vug_arena *arena, const vug_jv **out, vug_err *err);
/* Reads the array of tools, which may be the member "tools" of an object; NULL for an empty
 * text, null and an empty array. `strict` takes any array as it is. */
VUG_MUST_CHECK vug_status vug_tools_read(vug_str json, bool strict, vug_arena *arena,
                                         const vug_jv **out, vug_err *err);

#endif
