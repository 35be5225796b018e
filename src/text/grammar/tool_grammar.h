#ifndef VUG_TEXT_GRAMMAR_TOOL_GRAMMAR_H
#define VUG_TEXT_GRAMMAR_TOOL_GRAMMAR_H

/*
 * Tool calls as a grammar: an answer with calls in the syntax of a model family, whose
 * arguments satisfy the schema of the called tool.
 */

#include "text/grammar/grammar_builder.h"
#include "text/tool_call_format.h"

#define VUG_TOOLS_MAX_BYTES ((size_t)4 << 20)
#define VUG_TOOLS_MAX       1024
#define VUG_TOOLS_MAX_CALLS 128 /* in one answer */

/* `is_token`: the vocabulary has the marker as a token, and only the token is the marker. */
typedef struct {
    const char *spelling; /* NULL: there is none */
    bool is_token;
} vug_tool_marker;

typedef struct {
    vug_str tools; /* a JSON array as in the OpenAI API */
    vug_str name;  /* the only tool that may be called; empty: any */
    bool required; /* else the answer may be any text, and text may precede a call */
    bool parallel; /* allow more than one call */
    vug_tool_call_format format;
    vug_tool_marker begin, end; /* around a call; LLAMA3 has none */
    vug_tool_marker quote;      /* GEMMA4: around a string; must be a token */
} vug_tool_grammar_options;

/* The grammar of an answer without its thinking. If the schema of a tool is not supported, the
 * error names the tool. */
VUG_MUST_CHECK vug_status vug_grammar_tool_calls(vug_grammar_builder *builder,
                                                 const vug_tool_grammar_options *options,
                                                 vug_grammar_expr *root, vug_err *err);

#endif
