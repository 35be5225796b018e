#ifndef VUG_TEXT_GRAMMAR_TOOL_RULES_H
#define VUG_TEXT_GRAMMAR_TOOL_RULES_H

/*
 * Tool calls as a grammar: what an answer with calls looks like in a family's syntax, with
 * arguments that satisfy the schema of the tool which is called.
 */

#include "text/grammar/rules.h"

#define VUG_TOOLS_MAX_BYTES ((size_t)4 << 20)
#define VUG_TOOLS_MAX       1024
#define VUG_TOOLS_MAX_CALLS 128 /* in one answer */

/* X(id, what stands between the marks of a call) */
#define VUG_TOOL_FORM_TABLE(X)                                                                 \
    X(HERMES, "line end, {\"name\": N, \"arguments\": {}}, line end")                          \
    X(LLAMA3, "{\"name\": N, \"parameters\": {}}")                                             \
    X(QWEN3_CODER, "<function=N>, <parameter=K>, values, closing tags, on lines of their own") \
    X(GEMMA4, "call:N{key:value}, strings between quote marks")

typedef enum {
#define X(id, text) VUG_TOOL_##id,
    VUG_TOOL_FORM_TABLE(X)
#undef X
} vug_tool_form;

/* A mark of the syntax. `token`: the vocabulary has it as a token, and only that is it. */
typedef struct {
    const char *spelling; /* NULL: there is none */
    bool token;
} vug_tool_mark;

typedef struct {
    vug_str tools; /* a JSON array, as the OpenAI API has it */
    vug_str name;  /* the only one that may be called; empty: any */
    bool required; /* else any text without a call will do, and one may stand before it */
    bool parallel; /* more than one call */
    vug_tool_form form;
    vug_tool_mark begin, end; /* around a call; LLAMA3 goes without them */
    vug_tool_mark quote;      /* GEMMA4: around a string, which must be a token */
} vug_tool_use;

/* Of an answer from behind its thinking, if there is any. The schema of a tool that is not
 * supported is refused with the tool's name. */
VUG_MUST_CHECK vug_status vug_rules_tools(vug_rules *rules, const vug_tool_use *use, vug_node *root,
                                          vug_err *err);

#endif
