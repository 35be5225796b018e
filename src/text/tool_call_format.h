#ifndef VUG_TEXT_TOOL_CALL_FORMAT_H
#define VUG_TEXT_TOOL_CALL_FORMAT_H

/* X(id, what stands between the markers of a tool call): how model families write calls. */
#define VUG_TOOL_CALL_FORMAT_TABLE(X)                                                          \
    X(HERMES, "line end, {\"name\": N, \"arguments\": {}}, line end")                          \
    X(LLAMA3, "{\"name\": N, \"parameters\": {}}; may be the whole answer, without markers")   \
    X(QWEN3_CODER, "<function=N>, <parameter=K>, values, closing tags, on lines of their own") \
    X(GEMMA4, "call:N{key:value}, strings between quote markers")

typedef enum {
#define X(id, text) VUG_TOOL_CALL_##id,
    VUG_TOOL_CALL_FORMAT_TABLE(X)
#undef X
} vug_tool_call_format;

#endif
