#ifndef VUG_APP_SERVER_HTTP_PARSE_H
#define VUG_APP_SERVER_HTTP_PARSE_H

/*
 * Requests of HTTP/1.0 and 1.1 (RFC 9112), strictly: no bare line feeds, no folded lines,
 * no blanks before colons, one length and one only. What two readers could understand
 * differently is refused. Nothing here does I/O.
 */

#include "app/server/http/http.h"

typedef struct {
    vug_str name; /* in lower case */
    vug_str value;
} vug_http_field;

/* Everything lives in the arena. */
typedef struct {
    vug_str method;
    vug_str path; /* without the query, %-escapes undone; "*" for the whole server */
    vug_str host; /* of the target or of Host, with its port; NULL ptr: none */
    vug_http_field *field;
    size_t n_fields;
    int minor; /* of HTTP/1.x */
    bool has_length, chunked;
    uint64_t length;
    bool keep_alive;
    bool expects_continue;
} vug_http_request;

/* How many bytes the head takes, with the blank line at its end; 0: that is not there yet.
 * The first `from` bytes were looked at before. */
size_t vug_http_head_end(vug_str bytes, size_t from);
/* False fills `error`. */
bool vug_http_parse(vug_str head, vug_arena *arena, vug_http_request *out, vug_api_error *error);
/* `name` in lower case; of several the first; ptr is NULL when there is none. */
vug_str vug_http_field_of(const vug_http_request *request, const char *name);
bool vug_http_is_token(vug_str text);
bool vug_http_same(vug_str a, const char *b); /* but for case */

/* ---- chunked bodies (chunks.c) ------------------------------------------------------- */

typedef enum { VUG_HTTP_MORE, VUG_HTTP_DONE, VUG_HTTP_BAD, VUG_HTTP_BIG } vug_http_progress;

typedef struct {
    int state;       /* 0: before the first byte */
    uint64_t left;   /* of the chunk */
    size_t line;     /* bytes of the line before it */
    size_t trailers; /* bytes of these so far */
} vug_http_chunks;

/* Takes what it can of `bytes`, says in *used how many, and appends the data in them to
 * `to`, at most `max` in all. */
vug_http_progress vug_http_chunks_feed(vug_http_chunks *c, vug_str bytes, size_t max, vug_buf *to,
                                       size_t *used);

#endif
