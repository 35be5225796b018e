#ifndef VUG_CHAT_H
#define VUG_CHAT_H

/*
 * Conversations: from messages to the prompt that a checkpoint was trained on,
 * and from its answer back to content, thinking and tool calls.
 *
 *     messages, tools ─► vug_chat_render ─► prompt ─► vug_prompt_encode ─► tokens
 *     tokens of the answer ─► vug_reply ─► content, thinking, calls
 *
 * Errors, ownership and threads are as vug.h says. Of a template that raises, or
 * that is wrong, the sentence gives its line and its message.
 */

#include "vug/grammar.h"
#include "vug/vug.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- how a checkpoint speaks ---------------------------------------------- */

/* A chat template with what belongs to it. Read-only: any number of threads may
 * use it at once. */
typedef struct vug_chat vug_chat;

/* Of the checkpoint at `path`, a GGUF file or a folder, of which no weights are
 * needed: its chat_template.jinja, the template in its tokenizer_config.json or
 * in the GGUF file, or else the documented format of its family.
 * `template_file`, a Jinja template, comes before all of them; NULL: none. Without a
 * checkpoint, `path` NULL, it stands alone. */
VUG_API VUG_MUST_CHECK vug_status vug_chat_open(const char *path, const char *template_file,
                                                vug_chat **out, vug_err *err);
/* Of a template's text alone; `name` is for sentences. Its bos_token and the like are
 * variables of the conversation. */
VUG_API VUG_MUST_CHECK vug_status vug_chat_parse(const char *source, size_t len, const char *name,
                                                 vug_chat **out, vug_err *err);
VUG_API void vug_chat_close(vug_chat *chat);
/* Of an open model, which owns it; NULL where it has none, and `why`, which may be
 * NULL, then says so. */
VUG_API const vug_chat *vug_model_chat(const vug_model *model, vug_err *why);
/* Where the template came from, for a person: a file, or "built in: gemma3". */
VUG_API const char *vug_chat_source(const vug_chat *chat);
/* Whether the template tells the model of tools; one that does not leaves them out. */
VUG_API bool vug_chat_prints_tools(const vug_chat *chat);

/* ---- prompts --------------------------------------------------------------- */

/* JSON texts; NULL where there is none. `messages` is an array as the OpenAI API
 * has it, or an object with that under "messages": roles user, assistant, system,
 * developer and tool; content as a string, null or a list of parts; tool_calls,
 * tool_call_id, name, reasoning_content. docs/chat.md has all of it. */
typedef struct {
    const char *messages;
    size_t messages_len;
    const char *tools; /* an array, or an object with that under "tools" */
    size_t tools_len;
    const char *variables; /* an object: what else the template may ask for, "enable_thinking" */
    size_t variables_len;
    bool no_reply; /* without the tokens that open the answer */
    bool strict;   /* roles go to the template as they are. Otherwise those that it
                      refuses are made to fit: a system message joins the user's that
                      follows, neighbours of one role become one */
} vug_conversation;

typedef struct {
    size_t from, to; /* bytes; `to` is behind the last */
} vug_range;

/* The rendered text, with its BOS where the family has one. In `plain`, ascending
 * and apart, lies what came from messages and tools: special tokens that are spelled
 * there are text, so that nobody's message can end a turn. */
typedef struct {
    vug_text text;
    vug_range *plain; /* [n_plain] */
    size_t n_plain;
} vug_prompt;

VUG_API void vug_prompt_release(vug_prompt *prompt);
VUG_API VUG_MUST_CHECK vug_status vug_chat_render(const vug_chat *chat,
                                                  const vug_conversation *conversation,
                                                  vug_prompt *out, vug_err *err);
/* The tokens of a prompt: special ones outside of `plain` become the tokens that they
 * name, nothing is added in front. */
VUG_API VUG_MUST_CHECK vug_status vug_prompt_encode(const vug_tokenizer *tokenizer,
                                                    const vug_prompt *prompt, vug_tokens *out,
                                                    vug_err *err);

/* ---- tool calls ------------------------------------------------------------ */

/* Which of the tools an answer calls. */
typedef struct {
    const char *tools; /* a JSON array, as in vug_conversation */
    size_t tools_len;
    const char *name;      /* the only one, which is then called; NULL: any */
    bool required;         /* at least one call; else text will do, and may stand before a call */
    bool parallel;         /* more than one */
    const char *otherwise; /* a grammar, of an answer that calls nothing; NULL: any text */
    size_t otherwise_len;
    vug_grammar_kind otherwise_kind;
} vug_tool_choice;

/* The grammar of such answers, from behind their thinking, in the way that the checkpoint
 * writes calls, with arguments as each tool's schema has them. VUG_UNSUPPORTED where that
 * way is not known, or a schema says what is not supported. */
VUG_API VUG_MUST_CHECK vug_status vug_chat_grammar(const vug_chat *chat,
                                                   const vug_tokenizer *tokenizer,
                                                   const vug_tool_choice *choice, vug_grammar **out,
                                                   vug_err *err);

/* ---- answers --------------------------------------------------------------- */

typedef enum {
    VUG_PART_CONTENT,   /* text for the user */
    VUG_PART_THINKING,  /* text of the model to itself */
    VUG_PART_CALL,      /* a tool call begins; text: its name, whole */
    VUG_PART_ARGUMENTS, /* JSON text, the next stretch of the call's arguments */
    VUG_PART_CALL_END,  /* the call is complete: its arguments are one JSON object */
    VUG_PART_CALL_DROP, /* it was malformed: forget it; its text follows as content */
} vug_part_kind;

typedef struct {
    vug_part_kind kind;
    size_t call;      /* which one, from 0, of the kinds that belong to a call */
    const char *text; /* UTF-8, never cut inside a character; not NUL-terminated */
    size_t len;
} vug_part;

/* Return false to hear no more; later calls on the reply then do nothing. */
typedef bool vug_part_fn(const vug_part *part, void *user);

/* Takes a generation apart, as it comes. Used by one thread at a time. */
typedef struct vug_reply vug_reply;

/* `tools` and `prompt` are needed while the reply is made only. */
typedef struct {
    const vug_chat *chat;
    const vug_tokenizer *tokenizer;
    const vug_prompt *prompt; /* says how the answer begins: some templates open the thinking */
    const char *tools;        /* JSON: types of arguments where the syntax does not say; NULL */
    size_t tools_len;
    bool no_calls; /* what looks like a call is content */
    vug_part_fn *on_part;
    void *user; /* handed to on_part */
} vug_reply_options;

VUG_API VUG_MUST_CHECK vug_status vug_reply_create(const vug_reply_options *options,
                                                   vug_reply **out, vug_err *err);
VUG_API void vug_reply_destroy(vug_reply *reply);
/* The next generated token; a stop token may be among them. */
VUG_API VUG_MUST_CHECK vug_status vug_reply_push(vug_reply *reply, int32_t id, vug_err *err);
/* What was held back. A call that is cut short keeps the arguments that came, without
 * VUG_PART_CALL_END. */
VUG_API VUG_MUST_CHECK vug_status vug_reply_finish(vug_reply *reply, vug_err *err);
/* Whether on_part has asked to hear no more. */
VUG_API bool vug_reply_is_over(const vug_reply *reply);
/* Whether the answer is inside its thinking, and the text that closes it properly; NULL
 * where the template knows of no thinking. */
VUG_API bool vug_reply_is_thinking(const vug_reply *reply);
VUG_API const char *vug_reply_thinking_end(const vug_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
