#ifndef VUG_TEXT_CHAT_OUTPUT_FORMAT_H
#define VUG_TEXT_CHAT_OUTPUT_FORMAT_H

/*
 * How model families write thinking and tool calls into their answers. Which format a
 * checkpoint uses is detected from its chat template.
 */

#include "core/bytes.h"
#include "text/tool_call_format.h"

/* X(id): the markers of a format. Where the vocabulary has a token with a marker's spelling,
 * only that token is the marker; the same letters are text. */
#define VUG_MARKER_TABLE(X) X(THINK) X(THINK_END) X(CALL) X(CALL_END) X(QUOTE)

typedef enum {
#define X(id) VUG_MARKER_##id,
    VUG_MARKER_TABLE(X)
#undef X
            VUG_MARKER_COUNT
} vug_marker;

typedef struct {
    const char *marker[VUG_MARKER_COUNT]; /* spelling; NULL: the format has none */
    const char *thinking_label;           /* opens the thinking, is no part of it; or NULL */
    const char *thinking_end;             /* text that closes the thinking; NULL: none */
    vug_tool_call_format call_format;     /* valid where there is a CALL marker */
} vug_output_format;

/* Reads the format off the text of a chat template. */
vug_output_format vug_output_format_detect(vug_str source);
/* True where a prompt that ends like this has opened the thinking already. */
bool vug_output_format_opens_thinking(const vug_output_format *format, vug_str prompt);

#endif
