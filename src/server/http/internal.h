#ifndef VUG_SERVER_HTTP_INTERNAL_H
#define VUG_SERVER_HTTP_INTERNAL_H

/* Shared by the files of this folder only. Sections go from the lowest file to the highest. */

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <pthread.h>
#include <stdatomic.h>

#include "server/http/chunked_body.h"
#include "server/http/request_head.h"

typedef struct vug_http_conn vug_http_conn;

enum {
    VUG_HTTP_MAX_LISTENERS = 8,
    VUG_HTTP_OUTPUT_HIGH_WATER = 64 << 10, /* unsent bytes above which libevent gets no more */
    VUG_HTTP_CLIENT_CLOSED = 499,          /* for metrics only: disconnected before the response */
};

/* Zero-padded, so that comparing takes equally long for every key. */
typedef struct {
    char text[VUG_HTTP_MAX_KEY];
    size_t len;
} vug_http_key;

typedef struct vug_http_list_node vug_http_list_node;
struct vug_http_list_node {
    vug_http_list_node *next, *prev;
};

typedef struct {
    vug_http *http;
    struct evconnlistener *listener;
    char address[128];
    bool is_unix;
} vug_http_listener;

/* Belongs to the event loop, except for atomic members and those that the lock guards. */
struct vug_http {
    vug_http_options opt; /* with defaults filled in */
    const vug_http_route *routes;
    size_t n_routes;
    void *user;
    struct event_base *base;
    struct event *wake;          /* activated when `ready` or `drain_requests` changes */
    struct event *signal[3];     /* SIGTERM, SIGINT, SIGHUP */
    struct event *resume_accept; /* after file descriptors ran out */
    struct event *drain_timer;
    void *tls; /* SSL_CTX; NULL without TLS */
    vug_http_listener listener[VUG_HTTP_MAX_LISTENERS];
    size_t n_listeners;
    bool listens_on_any; /* 0.0.0.0 or :: */
    unsigned long long unix_device, unix_inode;
    bool owns_unix;
    vug_http_key *keys; /* [n_keys] */
    size_t n_keys;
    char id_prefix[20]; /* of request ids */
    uint64_t n_requests;
    vug_http_list_node connections;
    vug_http_list_node waiting; /* connections that wait for their client, longest first */
    int n_connections;
    int n_running; /* requests that have not ended */
    bool drain_started, drain_aborted;

    atomic_int drain_requests;
    atomic_size_t buffered_bytes; /* of requests and responses */
    atomic_size_t reserved_bytes; /* of these, reserved by request owners */

    pthread_mutex_t lock; /* guards what follows, and members of requests */
    pthread_cond_t callback_done;
    pthread_cond_t work_available;
    vug_http_request *ready_first, **ready_last; /* have output, or have ended */
    vug_http_request *queue_first, **queue_last; /* wait for a pool thread */
    bool stopping;
    pthread_t *threads;
    int n_threads;
};

/* Belongs to its owner until it ends, then to the event loop, which frees it. */
struct vug_http_request {
    vug_http *http;
    const vug_http_route *route;
    vug_http_request_head head;
    vug_arena arena; /* of the head */
    vug_buf body;
    char id[48];
    size_t reserved; /* bytes, by the owner */
    double received; /* time */
    bool keep_alive;
    vug_str allowed_origin; /* NULL ptr: none may read the response */

    vug_http_conn *conn; /* the loop's; NULL once the client has disconnected */

    /* guarded by http->lock: */
    bool in_ready_list;
    bool disconnected, stream_begun, ended, in_callback;
    int status;
    char *type, *headers; /* of the response; NULL when memory ran out */
    vug_buf out;          /* the response body, or events that the loop has not taken */
    void (*on_disconnect)(void *arg);
    void *on_disconnect_arg;
    vug_http_request *next_ready, *next_queued;
};

typedef enum {
    VUG_HTTP_READING_HEAD, /* or waiting for a request */
    VUG_HTTP_READING_BODY,
    VUG_HTTP_RESPONDING, /* the request is with its owner */
    VUG_HTTP_FLUSHING,   /* sends what is left, then lingers */
    VUG_HTTP_LINGERING,  /* reads and drops input, so that the client can read the response */
} vug_http_conn_state;

/* Belongs to the event loop. */
struct vug_http_conn {
    vug_http_list_node all, waiting;
    vug_http *http;
    struct bufferevent *io;
    struct event *timer; /* the next deadline or ping */
    vug_http_conn_state state;
    bool is_unix;
    bool read_closed;          /* the client sends no more */
    bool overrun;              /* pipelined input was dropped */
    bool head_begun;           /* a byte of the next request was received */
    bool headers_sent;         /* of the response */
    bool stream;               /* the response is one */
    bool keep_alive;           /* after the response */
    double state_since;        /* time */
    vug_buf head;              /* bytes of the request head so far */
    vug_http_request *request; /* being read or answered */
    vug_http_chunked_body chunks;
    double last_progress; /* when the client last accepted a byte; when lingering, sent one */
    double last_write;    /* to a stream */
};

/* ---- tls.c --------------------------------------------------------------------------- */

VUG_MUST_CHECK vug_status vug_http_tls_open(vug_http *http, vug_err *err);
void vug_http_tls_close(vug_http *http);
/* NULL when out of memory; otherwise takes `fd`. */
struct bufferevent *vug_http_tls_accept(vug_http *http, evutil_socket_t fd);
/* Sends the TLS notice that nothing more follows. */
void vug_http_tls_finish(struct bufferevent *io);

/* ---- access.c ------------------------------------------------------------------------ */

VUG_MUST_CHECK vug_status vug_http_load_keys(vug_http *http, vug_err *err);
VUG_MUST_CHECK vug_status vug_http_check_access_options(const vug_http_options *options,
                                                        vug_err *err);
/* Also finds the allowed origin of the request. False fills `error`. */
bool vug_http_check_host(const vug_http *http, const vug_http_conn *conn, vug_http_request *request,
                         vug_api_error *error);
/* False fills `error`. */
bool vug_http_check_key(const vug_http *http, const vug_http_request *request,
                        vug_api_error *error);

/* ---- http_request.c ------------------------------------------------------------------ */

vug_http_request *vug_http_request_create(vug_http *http);
void vug_http_request_destroy(vug_http_request *request);
/* Counts the request in metrics and destroys it. */
void vug_http_request_finish(vug_http_request *request, int status);
/* The client has disconnected: tells the owner, or finishes a request that has ended. */
void vug_http_request_detach(vug_http_request *request);
/* As vug_http_fail, with more header lines. */
void vug_http_fail_with_headers(vug_http_request *request, const vug_api_error *error,
                                const char *headers);
/* The next request that has output or has ended, or NULL. */
vug_http_request *vug_http_next_ready(vug_http *http);

/* ---- handler_pool.c ------------------------------------------------------------------ */

VUG_MUST_CHECK vug_status vug_http_handler_pool_start(vug_http *http, vug_err *err);
void vug_http_handler_pool_stop(vug_http *http);
void vug_http_handler_pool_submit(vug_http_request *request);

/* ---- connection.c -------------------------------------------------------------------- */

/* Called by libevent; the argument is the connection. */
typedef struct {
    bufferevent_data_cb readable, writable;
    event_callback_fn timeout;
} vug_http_conn_callbacks;

typedef enum {
    VUG_HTTP_NOTHING_DUE,
    VUG_HTTP_STALLED,
    VUG_HTTP_PING_DUE,
    VUG_HTTP_STATE_EXPIRED,
} vug_http_due;

/* Takes `fd`. */
void vug_http_conn_open(vug_http *http, evutil_socket_t fd, bool is_unix,
                        const vug_http_conn_callbacks *callbacks);
/* Closes it at once. The owner of a request that is being answered is notified. */
void vug_http_conn_close(vug_http_conn *conn);
/* Also restarts the time that the state may last. */
void vug_http_conn_set_state(vug_http_conn *conn, vug_http_conn_state state);
/* The request was received or rejected, and is to be answered. */
void vug_http_conn_begin_response(vug_http_conn *conn);
/* libevent has the whole response: prepares for the next request, or flushes and lingers. */
void vug_http_conn_end_response(vug_http_conn *conn, bool keep_alive);
/* Stops sending and reads on until the client closes. Closing now could reset the connection before
 * the client has read the response. */
void vug_http_conn_linger(vug_http_conn *conn);
void vug_http_conn_schedule_timer(vug_http_conn *conn);
vug_http_due vug_http_conn_due(const vug_http_conn *conn);
size_t vug_http_conn_unsent(const vug_http_conn *conn);
/* The connection that has waited longest for its client and buffers at least `bytes`, or NULL. */
vug_http_conn *vug_http_conn_oldest_waiting(vug_http *http, size_t bytes);
/* Closes it to make room; false for NULL. */
bool vug_http_conn_evict(vug_http_conn *conn);
void vug_http_close_connections(vug_http *http, bool only_idle);
/* Whether a connection is not idle. */
bool vug_http_has_busy_connection(const vug_http *http);

/* ---- http_response.c ----------------------------------------------------------------- */

/* Sends what the request has ready. After the last byte, finishes the request and returns true if
 * the connection is ready to read on. */
bool vug_http_send_response(vug_http_request *request);
void vug_http_send_ping(vug_http_conn *conn);

/* ---- router.c ------------------------------------------------------------------------ */

/* Checks the parsed head and finds the route. False rejects the request: fills `error`, and sets
 * *headers to more header lines or NULL. */
bool vug_http_validate_request(const vug_http_conn *conn, vug_http_request *request,
                               vug_api_error *error, const char **headers);
/* Passes the request, whose body is complete, to its handler. */
void vug_http_dispatch(vug_http_request *request);

/* ---- request_reader.c ---------------------------------------------------------------- */

/* Consumes buffered input as the connection's state demands. */
void vug_http_receive(vug_http_conn *conn);
/* Answers the request being read with an error. The connection ends too, unless the request was
 * whole. */
void vug_http_reject(vug_http_conn *conn, vug_api_error_kind kind, const char *fmt, ...)
        VUG_PRINTF(3, 4);

/* ---- connection_events.c ------------------------------------------------------------- */

/* Takes `fd`. */
void vug_http_accept(vug_http *http, evutil_socket_t fd, bool is_unix);
/* Sends what the request has ready, and reads on when that was all. */
void vug_http_continue_response(vug_http_request *request);

/* ---- listener.c ---------------------------------------------------------------------- */

VUG_MUST_CHECK vug_status vug_http_listen(vug_http *http, vug_err *err);
void vug_http_stop_listening(vug_http *http);

#endif
