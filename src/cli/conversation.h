#ifndef VUG_CLI_CONVERSATION_H
#define VUG_CLI_CONVERSATION_H

/* The parts of a vug_conversation: messages, and what the options say about prompts. */

#include "cli/options.h"
#include "vug/chat.h"

/* Messages as JSON. All-zero is empty. */
typedef struct {
    vug_buf json; /* the messages, separated by commas */
    size_t n;
    vug_buf calls;       /* tool_calls of the last message, without brackets; empty: none */
    bool needs_response; /* the last message is a user message or a tool result */
} vug_chat_history;

/* Starts with the messages of --system and --messages. The caller releases `history`, which is
 * empty at first, on failure too. */
VUG_MUST_CHECK vug_status vug_chat_history_init(vug_chat_history *history, const vug_options *opt,
                                                vug_err *err);
/* Adds a message. `more` is JSON for further members, each after a comma, or "". */
void vug_chat_history_add(vug_chat_history *history, const char *role, vug_str content,
                          const char *more);
void vug_chat_history_release(vug_chat_history *history);
/* Writes an array of the messages; replaces the file atomically. */
VUG_MUST_CHECK vug_status vug_chat_history_save(const vug_chat_history *history, const char *path,
                                                vug_err *err);

/* The options of every prompt in a run. All-zero sets none. */
typedef struct {
    vug_text tools;
    vug_buf variables; /* a JSON object; empty: none */
    bool no_generation_prompt, strict;
    int thinking; /* maximum number of thinking tokens; 0: no limit */
} vug_prompt_options;

/* From --tools, --var, --thinking, --strict-template and --no-generation-prompt. */
VUG_MUST_CHECK vug_status vug_prompt_options_init(vug_prompt_options *p, const vug_options *opt,
                                                  vug_err *err);
void vug_prompt_options_release(vug_prompt_options *p);
/* `value` is JSON. */
void vug_prompt_options_add_variable(vug_prompt_options *p, vug_str name, vug_str value);
/* The conversation of `messages`, a JSON text; valid as long as both. */
vug_conversation vug_prompt_options_conversation(const vug_prompt_options *p, vug_str messages);
/* Renders `messages`, a JSON text. */
VUG_MUST_CHECK vug_status vug_prompt_options_render(const vug_prompt_options *p,
                                                    const vug_chat *chat, vug_str messages,
                                                    vug_prompt *out, vug_err *err);

#endif
