#ifndef VUG_CHAT_H
#define VUG_CHAT_H

/*
 * Conversations: renders messages as the prompt format that a checkpoint was trained
 * on, and separates its answer into content, thinking and tool calls.
 *
 *     messages, tools ─► vug_chat_render ─► prompt ─► vug_prompt_encode ─► tokens
 *     tokens of the answer ─► vug_response_parser ─► content, thinking, calls
 *
 * Errors, ownership and threads work as in vug.h. If a template is malformed or raises
 * an error, the error message contains the template's line and message.
 */

#include "vug/grammar.h"
#include "vug/vug.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- chat formats ---------------------------------------------------------- */

/* A checkpoint's chat format: its chat template and the way it writes tool calls and
 * thinking. Read-only: any number of threads may use it at once. */
typedef struct vug_chat vug_chat;

/* Opens the chat format of the checkpoint at `path`, a GGUF file or a folder; weights are
 * not needed. The template is the first one found of: `template_file`, a Jinja file (NULL:
 * none); chat_template.jinja; tokenizer_config.json or the GGUF metadata; the documented
 * format of the model family. `path` may be NULL if `template_file` is given. */
VUG_API VUG_MUST_CHECK vug_status vug_chat_open(const char *path, const char *template_file,
                                                vug_chat **out, vug_err *err);
/* Parses a template without a checkpoint; `name` appears in error messages. Special tokens
 * such as bos_token then come from the conversation's variables. */
VUG_API VUG_MUST_CHECK vug_status vug_chat_parse(const char *source, size_t len, const char *name,
                                                 vug_chat **out, vug_err *err);
VUG_API void vug_chat_close(vug_chat *chat);
/* The chat format of an open model, which owns it. NULL if it has none; `why`, which may be
 * NULL, then gets the reason. */
VUG_API const vug_chat *vug_model_chat(const vug_model *model, vug_err *why);
/* Where the template came from: a file, or "built in: gemma3". */
VUG_API const char *vug_chat_source(const vug_chat *chat);
/* Whether the template shows tools to the model; other templates ignore them. */
VUG_API bool vug_chat_supports_tools(const vug_chat *chat);

/* ---- prompts --------------------------------------------------------------- */

/* JSON texts; each may be NULL. `messages` is an array as in the OpenAI API, or an object
 * with the array under "messages". docs/chat.md lists what messages may contain. */
typedef struct {
    const char *messages;
    size_t messages_len;
    const char *tools; /* an array, or an object with the array under "tools" */
    size_t tools_len;
    const char *variables; /* an object of template variables, such as "enable_thinking" */
    size_t variables_len;
    bool no_generation_prompt; /* omit the tokens that open the answer */
    /* The beginning of the answer, which the model continues; NULL: none. It follows the tokens that
     * open the answer, and the end of the thinking if they open it. */
    const char *prefill;
    size_t prefill_len;
    bool strict; /* pass messages to the template unchanged. Otherwise messages that the
                    template would refuse are adapted: a system message is merged into the
                    user message that follows, and neighbours of one role into one */
} vug_conversation;

typedef struct {
    size_t from, to; /* bytes; `to` is exclusive */
} vug_range;

/* Tokens of a part of a prompt's text that are known, such as those of an answer that was
 * generated earlier. */
typedef struct {
    size_t from, to;   /* bytes; `to` is exclusive */
    const int32_t *id; /* [n] */
    size_t n;
} vug_replay;

/* The rendered text, with its BOS if the family has one. The `untrusted` ranges, ascending
 * and disjoint, cover the text that came from messages and tools: special tokens that are
 * spelled there stay text, so that no message can end a turn. */
typedef struct {
    vug_text text;
    vug_range *untrusted; /* [n_untrusted] */
    size_t n_untrusted;
    const vug_replay *replay; /* [n_replays], ascending and disjoint; the caller's */
    size_t n_replays;
} vug_prompt;

VUG_API void vug_prompt_release(vug_prompt *prompt);
VUG_API VUG_MUST_CHECK vug_status vug_chat_render(const vug_chat *chat,
                                                  const vug_conversation *conversation,
                                                  vug_prompt *out, vug_err *err);
/* The tokens of a prompt: of its replays those that are given, of the text between them the
 * tokenizer's. Special tokens are recognised outside of the untrusted ranges only; nothing is
 * added in front. */
VUG_API VUG_MUST_CHECK vug_status vug_prompt_encode(const vug_tokenizer *tokenizer,
                                                    const vug_prompt *prompt, vug_tokens *out,
                                                    vug_err *err);

/* Whether id [n] spell what the prompt has from byte `from` to `*to`, with no control token in
 * untrusted text: then they may replace it, as a vug_replay. The model reads the same text in any
 * case, but its cache has the tokens that were sampled, which may be others than the tokenizer's. */
VUG_API bool vug_prompt_match(const vug_tokenizer *tokenizer, const vug_prompt *prompt, size_t from,
                              const int32_t *id, size_t n, size_t *to);

enum { VUG_CHAT_MARKS = 4 };

typedef struct {
    vug_mark mark[VUG_CHAT_MARKS];
    size_t n;
} vug_chat_marks;

/* Where prompts may branch from that of a conversation, which has `n_tokens` tokens: in other
 * conversations with its system message, when the last question is edited, when it is answered,
 * and when the next question follows. These prompts are rendered to compare them; what the
 * template refuses has no mark. */
VUG_API VUG_MUST_CHECK vug_status vug_chat_mark(const vug_chat *chat,
                                                const vug_conversation *conversation,
                                                const vug_tokenizer *tokenizer,
                                                const vug_prompt *prompt, size_t n_tokens,
                                                vug_chat_marks *out, vug_err *err);

/* ---- tool calls ------------------------------------------------------------ */

/* Which tools an answer may or must call. */
typedef struct {
    const char *tools; /* a JSON array, as in vug_conversation */
    size_t tools_len;
    const char *name;            /* the one tool that must be called; NULL: any */
    bool required;               /* at least one call; otherwise the answer may be text, and text
                                    may precede a call */
    bool parallel;               /* allow more than one call */
    bool strict_schemas;         /* unknown keywords and formats of the tools' schemas are errors */
    const char *content_grammar; /* constrains an answer without calls; NULL: any text */
    size_t content_grammar_len;
    vug_grammar_kind content_grammar_kind;
} vug_tool_choice;

/* The grammar of such answers after their thinking, in the checkpoint's tool call format and
 * with arguments that match each tool's schema. VUG_UNSUPPORTED if the tool call format is
 * not known or a schema contains something that is not supported. */
VUG_API VUG_MUST_CHECK vug_status vug_chat_grammar(const vug_chat *chat,
                                                   const vug_tokenizer *tokenizer,
                                                   const vug_tool_choice *choice, vug_grammar **out,
                                                   vug_err *err);

/* ---- answers --------------------------------------------------------------- */

typedef enum {
    VUG_PART_CONTENT,   /* text for the user */
    VUG_PART_THINKING,  /* reasoning text */
    VUG_PART_CALL,      /* a tool call begins; text: the whole name of the tool */
    VUG_PART_ARGUMENTS, /* the next part of the call's arguments, JSON text */
    VUG_PART_CALL_END,  /* the call is complete: its arguments are one JSON object */
    VUG_PART_CALL_DROP, /* the call was malformed: discard it; its text follows as content */
} vug_part_kind;

typedef struct {
    vug_part_kind kind;
    size_t call;      /* the index of the tool call that the part belongs to, from 0 */
    const char *text; /* whole UTF-8 characters; not NUL-terminated */
    size_t len;
} vug_part;

/* Return false to stop the parser: it ignores all later tokens. */
typedef bool vug_part_fn(const vug_part *part, void *user);

/* Separates a generation into parts, token by token. Used by one thread at a time. */
typedef struct vug_response_parser vug_response_parser;

/* `tools` and `prompt` are only needed during vug_response_parser_create. */
typedef struct {
    const vug_chat *chat;
    const vug_tokenizer *tokenizer;
    const vug_prompt *prompt; /* the prompt of the answer, which may open its thinking */
    const char *tools;        /* JSON; gives argument types that the call format lacks; or NULL */
    size_t tools_len;
    bool no_tool_calls; /* treat what looks like a tool call as content */
    vug_part_fn *on_part;
    void *user; /* passed to on_part */
} vug_response_parser_options;

VUG_API VUG_MUST_CHECK vug_status vug_response_parser_create(
        const vug_response_parser_options *options, vug_response_parser **out, vug_err *err);
VUG_API void vug_response_parser_destroy(vug_response_parser *parser);
/* Takes the next generated token, which may be a stop token. */
VUG_API VUG_MUST_CHECK vug_status vug_response_parser_push(vug_response_parser *parser, int32_t id,
                                                           vug_err *err);
/* Reports text that was held back. A call that is incomplete keeps the arguments so far and
 * gets no VUG_PART_CALL_END. */
VUG_API VUG_MUST_CHECK vug_status vug_response_parser_finish(vug_response_parser *parser,
                                                             vug_err *err);
/* Whether on_part has returned false. */
VUG_API bool vug_response_parser_is_stopped(const vug_response_parser *parser);
/* Whether the answer is inside its thinking. */
VUG_API bool vug_response_parser_is_thinking(const vug_response_parser *parser);
/* The text that closes the thinking; NULL if the chat format has no thinking. */
VUG_API const char *vug_response_parser_thinking_end(const vug_response_parser *parser);

#ifdef __cplusplus
}
#endif

#endif
