#ifndef VUG_APP_SERVER_HTTP_HTTP_H
#define VUG_APP_SERVER_HTTP_HTTP_H

/*
 * HTTP, and nothing of models: an ordinary client of libevent.
 *
 *     http.c         opening, the loop, ends (drain, signals)
 *     listen.c       addresses, unix sockets, new connections
 *     tls.c          certificates
 *     guard.c        keys, the Host header, origins
 *     parse.c        bytes of a request to its parts; chunks.c: bodies that come in chunks
 *     conn.c         the life of a connection; read.c: bytes that have come
 *     route.c        a request to its handler, or refused
 *     send.c         heads of answers, bytes on their way out
 *     call.c         a request that is being answered, from any thread
 *
 * One thread, the caller of vug_http_run, is the loop: it alone touches sockets. A
 * request that was read whole and passed all checks becomes a call, which goes to the
 * handler of its route: on the loop where the route says nothing, which is for answers
 * that are there already, or on one of a few threads (VUG_HTTP_QUEUED) where reading the
 * request may take a while.
 *
 * Who owns a call. The handler does, and whom it hands it to, until the call is ended
 * by exactly one of vug_http_reply, vug_http_fail and vug_http_stream_end; each may be
 * called on any thread, and the pointer is dead from then on. What the accessors return
 * lives as long. When the client leaves, the call stays valid for its owner, says so
 * (vug_http_gone, on_gone), swallows what is written, and must be ended all the same.
 * Of one call, functions are called by one thread at a time; vug_http_gone by any.
 *
 * A client has left when it closes, or closes only its sending side, at any time before
 * its answer is complete: TCP does not tell the two apart. It counts as having left, too,
 * when it takes nothing for `stall_s`, or lets more than `max_unsent` bytes of a stream
 * pile up: writing to a client never waits.
 *
 * All times are wall clock. Of options, 0 and NULL stand for what the comment says.
 */

#include "app/server/api/error.h"
#include "app/server/metrics.h"
#include "core/bytes.h"
#include "core/mem.h"
#include "core/status.h"

enum {
    VUG_HTTP_MAX_HEAD = 32 << 10,      /* bytes of a request line and headers; of trailers */
    VUG_HTTP_MAX_HEADERS = 100,        /* in one request */
    VUG_HTTP_MAX_TARGET = 8 << 10,     /* bytes of path and query */
    VUG_HTTP_MAX_CHUNK_LINE = 1 << 10, /* bytes of the line before a chunk */
    VUG_HTTP_MAX_AHEAD = 256 << 10,    /* bytes kept of later requests while one is answered */
    VUG_HTTP_MAX_KEYS = 1024,
    VUG_HTTP_MAX_KEY = 256, /* bytes */
};

typedef struct {
    const char **item; /* borrowed */
    size_t n;
} vug_http_names;

/* Strings are borrowed until vug_http_close. */
typedef struct {
    const char *host;               /* to listen on; 127.0.0.1 */
    int port;                       /* 0: any free one, see vug_http_address */
    const char *unix_path;          /* NULL: none */
    bool no_tcp;                    /* only the unix socket */
    const char *tls_cert, *tls_key; /* PEM; both or none */
    vug_http_names keys;    /* one of which a request must show; none: no key is asked for */
    const char *key_file;   /* more of them, a line each */
    bool insecure;          /* other machines may come without a key */
    vug_http_names origins; /* web pages that may read answers; "*": any */
    vug_http_names hosts;   /* names in Host beside those of this machine; "*": any */
    size_t max_body;        /* bytes of one; 32 MiB */
    size_t max_unsent;      /* bytes of a stream that wait for its client; 4 MiB */
    size_t max_held;        /* bytes of all requests and answers in memory; 256 MiB */
    int max_connections;    /* 1024 */
    int threads;            /* for queued routes; 2 */
    double head_s;          /* for request line and headers, once begun; 10 */
    double body_s;          /* for the body; 60 */
    double idle_s;          /* between requests, and before the first; 75 */
    double stall_s;         /* without a byte taken by the client; 30 */
    double ping_s;          /* of silence in a stream, then a comment is sent; 5 */
    double drain_s;         /* for answers that run at the end; 30 */
    bool signals;           /* SIGTERM and SIGINT end it, SIGHUP is ignored */
    vug_metrics *metrics;   /* borrowed; may be NULL */
} vug_http_options;

typedef struct vug_http vug_http;
typedef struct vug_http_call vug_http_call;

enum {
    VUG_HTTP_PREFIX = 1, /* the path only begins so */
    VUG_HTTP_QUEUED = 2, /* the handler may take a while: not on the loop, nor for who has left */
    VUG_HTTP_OPEN = 4,   /* asks for no key, and answers while the server drains */
};

typedef struct {
    const char *method; /* "GET" answers HEAD too; "POST" wants a body of JSON */
    const char *path;
    unsigned flags;
    void (*handler)(vug_http_call *call, void *user); /* owns the call */
} vug_http_route;

/* ---- the server -------------------------------------------------------------------- */

/* Listens; requests wait until vug_http_run. `routes` are borrowed; the first match counts. */
VUG_MUST_CHECK vug_status vug_http_open(const vug_http_options *options,
                                        const vug_http_route *routes, size_t n_routes, void *user,
                                        vug_http **out, vug_err *err);
/* "http://127.0.0.1:8080", "unix:/run/vug.sock"; NULL from i = how many there are. */
const char *vug_http_address(const vug_http *http, size_t i);
/* Serves until it was drained, and returns once every call is ended and no handler runs. */
VUG_MUST_CHECK vug_status vug_http_run(vug_http *http, vug_err *err);
/* From any thread, more than once. New requests get 503; answers that run are finished, or
 * given up after `drain_s`, or when asked a second time. */
void vug_http_drain(vug_http *http);
bool vug_http_draining(vug_http *http); /* any thread */
/* Not while it runs; accepts NULL. */
void vug_http_close(vug_http *http);

/* ---- a call: the request ----------------------------------------------------------- */

vug_str vug_http_path(const vug_http_call *call); /* %-escapes are undone; NUL-terminated */
vug_str vug_http_rest(const vug_http_call *call); /* of it, behind the path of the route */
/* `name` in lower case; of several the first; ptr is NULL when there is none. */
vug_str vug_http_header(const vug_http_call *call, const char *name);
vug_str vug_http_body(const vug_http_call *call);
const char *vug_http_request_id(const vug_http_call *call); /* as x-request-id says it */

/* Counts memory that the owner keeps for the call until its end. False, and not counted, when all
 * calls together would keep more than `max_held`: the call is to be failed. */
bool vug_http_keep(vug_http_call *call, size_t bytes);

/* ---- a call: the answer ------------------------------------------------------------ */

/* `fn(arg)` is called when the client leaves: at most once, on any thread, soon, and never
 * after the call was ended. It must not block nor end the call; it may run before this
 * returns. Whoever ends a call waits for it, so do neither under a lock that `fn` takes. */
void vug_http_on_gone(vug_http_call *call, void (*fn)(void *arg), void *arg);
bool vug_http_gone(vug_http_call *call);

typedef struct {
    int status;          /* 0: 200 */
    const char *type;    /* NULL: application/json */
    const char *headers; /* lines "name: value\r\n"; NULL: none */
} vug_http_head;

/* Ends the call. Takes `body`, which is left empty; head is copied; NULL is 200 and JSON. */
void vug_http_reply(vug_http_call *call, const vug_http_head *head, vug_buf *body);
/* Ends the call with an error of the API; 429 and 503 say when to come again. */
void vug_http_fail(vug_http_call *call, const vug_api_error *error);

/* Sends the head of an event stream at once, and from then on comments in silence. */
void vug_http_stream_begin(vug_http_call *call, const char *headers);
/* Whole events, as "data: {..}\n\n". False when the client has gone. */
bool vug_http_stream_event(vug_http_call *call, vug_str bytes);
/* Ends the call. */
void vug_http_stream_end(vug_http_call *call);

#endif
