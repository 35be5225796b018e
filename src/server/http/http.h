#ifndef VUG_SERVER_HTTP_HTTP_H
#define VUG_SERVER_HTTP_HTTP_H

/*
 * The HTTP transport, built on libevent and independent of models. Lower files never call
 * higher ones:
 *
 *     http_server.c        opens and closes, runs the event loop, drains, handles signals
 *     listener.c           TCP and unix listening sockets
 *     connection_events.c  what happens when a connection is readable, writable or timed out
 *     request_reader.c     received bytes to requests; rejects requests
 *     router.c             validates a request and passes it to its handler
 *     http_response.c      response heads and bodies, to the connection
 *     connection.c         connection state, timers, buffer accounting
 *     handler_pool.c       threads for queued routes
 *     http_request.c       the request that a handler owns, from any thread
 *     access.c             API keys, the Host header, origins
 *     request_head.c       parses a request head; chunked_body.c: chunked bodies
 *     tls.c                certificates
 *
 * The thread that calls vug_http_run is the event loop; only it touches sockets. A request that was
 * received whole and passed all checks goes to the handler of its route: on the loop, for responses
 * that are quick to make, or on a pool thread (VUG_HTTP_QUEUED) when reading the request may take a
 * while.
 *
 * The handler owns the request, and may hand it on, until exactly one of vug_http_reply,
 * vug_http_fail and vug_http_stream_end ends it. Each may be called on any thread; afterwards the
 * pointer and what the accessors returned are invalid. When the client disconnects, the request
 * stays valid for its owner, reports it (vug_http_disconnected, vug_http_on_disconnect), ignores
 * what is written, and must still be ended. Only one thread at a time may use a request, except for
 * vug_http_disconnected.
 *
 * A client counts as disconnected when it closes the connection or only its sending side before its
 * response is complete (TCP does not tell the two apart), when it accepts no byte for `stall_s`, or
 * when more than `max_unsent` bytes of a stream pile up. Writing to a client never blocks.
 *
 * All times are wall clock, in seconds. Options that are 0 or NULL take the default in the comment.
 */

#include "core/bytes.h"
#include "core/mem.h"
#include "core/status.h"
#include "server/api/error.h"
#include "server/metrics.h"

enum {
    VUG_HTTP_MAX_HEAD = 32 << 10,       /* bytes of a request line and headers; of trailers */
    VUG_HTTP_MAX_HEADERS = 100,         /* in one request */
    VUG_HTTP_MAX_TARGET = 8 << 10,      /* bytes of path and query */
    VUG_HTTP_MAX_CHUNK_LINE = 1 << 10,  /* bytes of the line before a chunk */
    VUG_HTTP_MAX_PIPELINED = 256 << 10, /* bytes of later requests kept during a response */
    VUG_HTTP_MAX_KEYS = 1024,
    VUG_HTTP_MAX_KEY = 256, /* bytes */
};

/* X(id, code, phrase): every status that is sent. */
#define VUG_HTTP_STATUS_TABLE(X)                                 \
    X(OK, 200, "OK")                                             \
    X(NO_CONTENT, 204, "No Content")                             \
    X(BAD_REQUEST, 400, "Bad Request")                           \
    X(UNAUTHORIZED, 401, "Unauthorized")                         \
    X(FORBIDDEN, 403, "Forbidden")                               \
    X(NOT_FOUND, 404, "Not Found")                               \
    X(METHOD_NOT_ALLOWED, 405, "Method Not Allowed")             \
    X(REQUEST_TIMEOUT, 408, "Request Timeout")                   \
    X(LENGTH_REQUIRED, 411, "Length Required")                   \
    X(CONTENT_TOO_LARGE, 413, "Content Too Large")               \
    X(URI_TOO_LONG, 414, "URI Too Long")                         \
    X(UNSUPPORTED_MEDIA_TYPE, 415, "Unsupported Media Type")     \
    X(EXPECTATION_FAILED, 417, "Expectation Failed")             \
    X(TOO_MANY_REQUESTS, 429, "Too Many Requests")               \
    X(HEADERS_TOO_LARGE, 431, "Request Header Fields Too Large") \
    X(INTERNAL_ERROR, 500, "Internal Server Error")              \
    X(NOT_IMPLEMENTED, 501, "Not Implemented")                   \
    X(UNAVAILABLE, 503, "Service Unavailable")                   \
    X(UNSUPPORTED_VERSION, 505, "HTTP Version Not Supported")

enum {
#define X(id, code, phrase) VUG_HTTP_##id = (code),
    VUG_HTTP_STATUS_TABLE(X)
#undef X
};

typedef struct {
    const char **item; /* [n], borrowed */
    size_t n;
} vug_string_list;

/* Strings are borrowed until vug_http_close. */
typedef struct {
    const char *host;               /* to listen on; 127.0.0.1 */
    int port;                       /* 0: any free port, see vug_http_address */
    const char *unix_path;          /* NULL: no unix socket */
    bool no_tcp;                    /* only the unix socket */
    const char *tls_cert, *tls_key; /* PEM; both or none */
    vug_string_list keys;           /* API keys; without any, requests need none */
    const char *key_file;           /* more keys, one per line */
    bool insecure;                  /* allow other machines without an API key */
    vug_string_list origins;        /* web origins that may read responses; "*": any */
    vug_string_list hosts;          /* accepted in Host, besides local names; "*": any */
    size_t max_body;                /* bytes of one request body; 32 MiB */
    size_t max_unsent;              /* bytes of a stream that its client has not accepted; 4 MiB */
    size_t max_buffered;            /* bytes of all requests and responses in memory; 256 MiB */
    int max_connections;            /* 1024 */
    int threads;                    /* for queued routes; 2 */
    double head_s;                  /* for request line and headers, once begun; 10 */
    double body_s;                  /* for the body; 60 */
    double idle_s;                  /* between requests, and before the first; 75 */
    double stall_s;                 /* without a byte accepted by the client; 30 */
    double ping_s;                  /* of silence in a stream until a comment is sent; 5 */
    double drain_s;                 /* for running requests at shutdown; 30 */
    bool signals;                   /* SIGTERM and SIGINT drain, SIGHUP is ignored */
    vug_metrics *metrics;           /* borrowed; may be NULL */
} vug_http_options;

typedef struct vug_http vug_http;
typedef struct vug_http_request vug_http_request;

/* GET answers HEAD too; POST requires a JSON body. */
typedef enum { VUG_HTTP_GET, VUG_HTTP_POST, VUG_HTTP_OPTIONS } vug_http_method;

enum {
    VUG_HTTP_PREFIX = 1, /* matches every path that begins with the route's */
    VUG_HTTP_QUEUED = 2, /* runs on a pool thread, unless the client has disconnected */
    VUG_HTTP_PUBLIC = 4, /* needs no API key, and works while the server drains */
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): a row reads as "GET /path" */
typedef struct {
    vug_http_method method;
    const char *path;
    unsigned flags;
    void (*handler)(vug_http_request *request, void *user); /* owns the request */
} vug_http_route;

/* ---- the server -------------------------------------------------------------------- */

/* Starts listening; requests wait until vug_http_run. `routes` are borrowed; the first match
 * wins. */
VUG_MUST_CHECK vug_status vug_http_open(const vug_http_options *options,
                                        const vug_http_route *routes, size_t n_routes, void *user,
                                        vug_http **out, vug_err *err);
/* Address i, such as "http://127.0.0.1:8080" or "unix:/run/vug.sock"; NULL after the last. */
const char *vug_http_address(const vug_http *http, size_t i);
/* Serves until drained; returns when every request has ended and no handler runs. */
VUG_MUST_CHECK vug_status vug_http_run(vug_http *http, vug_err *err);
/* From any thread. New requests get 503; running ones are aborted after `drain_s` or by a second
 * call. */
void vug_http_drain(vug_http *http);
bool vug_http_draining(vug_http *http); /* from any thread */
/* Not while vug_http_run runs; accepts NULL. */
void vug_http_close(vug_http *http);

/* ---- requests ---------------------------------------------------------------------- */

vug_str vug_http_path(const vug_http_request *request); /* %-decoded, NUL-terminated */
/* The rest of the path after that of a VUG_HTTP_PREFIX route. */
vug_str vug_http_path_suffix(const vug_http_request *request);
/* The first header of that lower-case name; ptr is NULL when there is none. */
vug_str vug_http_header(const vug_http_request *request, const char *name);
/* The valid key that the request came with; empty if the server has no keys. */
vug_str vug_http_api_key(const vug_http_request *request);
vug_str vug_http_body(const vug_http_request *request);
const char *vug_http_request_id(const vug_http_request *request); /* the x-request-id header */

/* Accounts for memory that the owner keeps until the request ends. False, with nothing reserved,
 * when all requests together would exceed `max_buffered`: the owner should fail the request. */
bool vug_http_reserve(vug_http_request *request, size_t bytes);

/* ---- responses --------------------------------------------------------------------- */

/* Calls `fn(arg)` at most once when the client disconnects: on any thread, perhaps before this
 * returns, never after the request has ended. `fn` must not block or end the request. Ending a
 * request waits for `fn`: hold no lock that it takes. */
void vug_http_on_disconnect(vug_http_request *request, void (*fn)(void *arg), void *arg);
bool vug_http_disconnected(vug_http_request *request);

typedef struct {
    int status;          /* 0: 200 */
    const char *type;    /* NULL: application/json */
    const char *headers; /* lines "name: value\r\n"; NULL: none */
} vug_http_response_head;

/* Ends the request. Takes `body` and leaves it empty; copies `head`, where NULL means 200 and
 * JSON. */
void vug_http_reply(vug_http_request *request, const vug_http_response_head *head, vug_buf *body);
/* Ends the request with an API error; 429 and 503 carry Retry-After. */
void vug_http_fail(vug_http_request *request, const vug_api_error *error);

/* Sends the head of an event stream at once, and from then on a comment after `ping_s` of
 * silence. */
void vug_http_stream_begin(vug_http_request *request, const char *headers);
/* Sends whole events, such as "data: {..}\n\n". False when the client has disconnected. */
bool vug_http_stream_event(vug_http_request *request, vug_str bytes);
/* Ends the request. */
void vug_http_stream_end(vug_http_request *request);

#endif
