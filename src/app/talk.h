#ifndef VUG_APP_TALK_H
#define VUG_APP_TALK_H

/* What a chat remembers, and what the options say of prompts: everything that a
 * vug_conversation is made of. */

#include "app/options.h"
#include "vug/chat.h"

/* Messages as JSON. All-zero is an empty one. */
typedef struct {
    vug_buf json; /* the messages, with commas between them */
    size_t n;
    vug_buf calls; /* tool_calls of the last message, without the brackets; empty: none */
    bool open;     /* the last message wants an answer: a user's, or the result of a call */
} vug_talk;

/* A message with a content; `more`, further members as JSON, each with a comma in front,
 * or "". */
void vug_talk_add(vug_talk *talk, const char *role, vug_str content, const char *more);
void vug_talk_release(vug_talk *talk);
/* Adds the messages of a file: an array, or an object with that under "messages". */
VUG_MUST_CHECK vug_status vug_talk_load(vug_talk *talk, const char *path, vug_err *err);
/* The array; the file is replaced in one step. */
VUG_MUST_CHECK vug_status vug_talk_save(const vug_talk *talk, const char *path, vug_err *err);

/* What belongs to every prompt of a run. All-zero is nothing. */
typedef struct {
    vug_text tools;
    vug_buf variables; /* an object */
    bool no_reply, strict;
    int thinking; /* most tokens of it; 0: no limit */
} vug_setting;

/* --tools, --var, --thinking, --strict-template, --no-generation-prompt. */
VUG_MUST_CHECK vug_status vug_setting_init(vug_setting *setting, const vug_options *opt,
                                           vug_err *err);
void vug_setting_release(vug_setting *setting);
/* Adds a variable; `value` is JSON. */
void vug_setting_add(vug_setting *setting, vug_str name, vug_str value);

/* Renders `messages`, a JSON text. */
VUG_MUST_CHECK vug_status vug_setting_render(const vug_setting *setting, const vug_chat *chat,
                                             vug_str messages, vug_prompt *out, vug_err *err);

#endif
