#ifndef VUG_SERVER_HTTP_REQUEST_HEAD_H
#define VUG_SERVER_HTTP_REQUEST_HEAD_H

/*
 * A strict parser of HTTP/1.0 and 1.1 request heads (RFC 9112): no bare line feeds, no folded
 * lines, no blanks before colons, exactly one length. Whatever two servers could interpret
 * differently is an error. Does no I/O.
 */

#include "server/http/http.h"

typedef struct {
    vug_str name; /* lower case */
    vug_str value;
} vug_http_header_field;

/* Everything lives in the arena. */
typedef struct {
    vug_str method;
    vug_str path; /* %-decoded, without the query; "*" for the whole server */
    vug_str host; /* of the target or Host, with its port; NULL ptr: none */
    vug_http_header_field *field;
    size_t n_fields;
    int minor; /* of HTTP/1.x */
    bool has_length, chunked;
    uint64_t length;
    bool keep_alive;
    bool expects_continue;
} vug_http_request_head;

/* The size of the head with its final blank line; 0 while that is missing. Bytes before `from` were
 * searched already. */
size_t vug_http_find_head_end(vug_str bytes, size_t from);
/* False fills `error`. */
bool vug_http_parse_head(vug_str bytes, vug_arena *arena, vug_http_request_head *out,
                         vug_api_error *error);
/* The first header of that lower-case name; ptr is NULL when there is none. */
vug_str vug_http_find_header(const vug_http_request_head *r, const char *name);
bool vug_http_is_token(vug_str text);
bool vug_http_equal_ignore_case(vug_str a, const char *b); /* ASCII */

#endif
