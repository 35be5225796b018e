#ifndef VUG_SERVER_HTTP_CHUNKED_BODY_H
#define VUG_SERVER_HTTP_CHUNKED_BODY_H

/* Decodes bodies with Transfer-Encoding: chunked, piece by piece. Does no I/O. */

#include "core/bytes.h"
#include "core/mem.h"

typedef enum {
    VUG_HTTP_BODY_INCOMPLETE,
    VUG_HTTP_BODY_COMPLETE,
    VUG_HTTP_BODY_MALFORMED,
    VUG_HTTP_BODY_TOO_LARGE,
} vug_http_body_result;

typedef struct {
    int state;       /* 0: before the first byte */
    uint64_t left;   /* bytes of the chunk */
    size_t line;     /* bytes of the line before it */
    size_t trailers; /* bytes so far */
} vug_http_chunked_body;

/* Consumes *used bytes of `bytes` and appends the data in them to `to`, up to `max` in total. */
vug_http_body_result vug_http_chunked_body_feed(vug_http_chunked_body *c, vug_str bytes, size_t max,
                                                vug_buf *to, size_t *used);

#endif
