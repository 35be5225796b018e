#ifndef VUG_CLI_REMOTE_SSE_PARSER_H
#define VUG_CLI_REMOTE_SSE_PARSER_H

/*
 * Parser for server-sent events (HTML standard, "Parsing an event stream"), fed with pieces of
 * any size. Only data lines count: the OpenAI API uses no event names, ids or retry times.
 */

#include "core/mem.h"

/* Maximum size of an event, and of a line, in bytes. */
#define VUG_SSE_MAX_EVENT ((size_t)16 << 20)

/* All-zero is the start of a stream. */
typedef struct {
    vug_buf line; /* the current line so far */
    vug_buf data; /* of the current event so far */
    bool has_data;
    bool after_cr; /* a following LF belongs to the last line end */
    bool begun;    /* the first line, which may have a byte order mark, is past */
} vug_sse_parser;

/* `data` is valid during the call. Any status but VUG_OK ends the parsing and is returned. */
typedef vug_status vug_sse_event_fn(vug_str data, void *user, vug_err *err);

VUG_MUST_CHECK vug_status vug_sse_parser_feed(vug_sse_parser *p, vug_str bytes,
                                              vug_sse_event_fn *on_event, void *user, vug_err *err);
void vug_sse_parser_release(vug_sse_parser *p);

#endif
