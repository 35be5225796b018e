#ifndef VUG_APP_SERVER_HTTP_OWN_H
#define VUG_APP_SERVER_HTTP_OWN_H

/* What the files of this folder share; nobody else includes it. */

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <pthread.h>
#include <stdatomic.h>

#include "app/server/http/parse.h"

typedef struct vug_http_conn vug_http_conn;
typedef struct vug_http_listener vug_http_listener;

enum {
    VUG_HTTP_MAX_LISTENERS = 8,
    VUG_HTTP_MAX_PENDING = 64 << 10, /* bytes with libevent, before more is given to it */
};

/* Keys are padded with zeros, so that comparing one takes as long as another. */
typedef struct {
    char text[VUG_HTTP_MAX_KEY];
    size_t len;
} vug_http_key;

typedef struct vug_http_link vug_http_link;
struct vug_http_link {
    vug_http_link *next, *prev;
};

struct vug_http_listener {
    vug_http *http;
    struct evconnlistener *on;
    char address[128];
    bool is_unix;
};

/* Owned by the loop, but for what is said to be behind the lock or atomic. */
struct vug_http {
    vug_http_options opt; /* without zeros */
    const vug_http_route *route;
    size_t n_routes;
    void *user;
    struct event_base *base;
    struct event *wake;      /* active when `ready` has something, or `draining` changed */
    struct event *signal[3]; /* SIGTERM, SIGINT, SIGHUP */
    struct event *rest;      /* of listeners, when files have run out */
    struct event *last;      /* the end of draining */
    void *tls;               /* SSL_CTX; NULL: none */
    vug_http_listener listener[VUG_HTTP_MAX_LISTENERS];
    size_t n_listeners;
    bool any_address; /* listens on all of this machine */
    unsigned long long unix_device, unix_inode;
    bool owns_unix;
    vug_http_key *key; /* [n_keys] */
    size_t n_keys;
    char id[20]; /* the first part of request ids */
    uint64_t n_requests;
    vug_http_link all;     /* connections */
    vug_http_link waiting; /* those whose client has to do something, by `since` */
    int n_conns;
    bool drained; /* what draining begins with was done */
    bool gave_up; /* on answers that run */

    atomic_int drains;  /* how often it was asked to */
    atomic_size_t held; /* bytes of requests and answers in memory */
    atomic_size_t kept; /* of these, what the owners of calls keep */

    pthread_mutex_t lock;  /* guards what follows, and of each call what says so */
    pthread_cond_t called; /* an on_gone has returned */
    pthread_cond_t work;   /* for the threads of queued routes */
    vug_http_call *ready_first, **ready_last; /* have something to be sent, or have ended */
    vug_http_call *queue_first, **queue_last; /* wait for a thread */
    bool stop;
    pthread_t *thread;
    int n_threads;
    int n_calls; /* the loop's: not ended */
};

/* Its owner's, from the handler to the end; then the loop's, which frees it. */
struct vug_http_call {
    vug_http *http;
    const vug_http_route *route;
    vug_http_request request;
    vug_arena arena; /* of the request */
    vug_buf body;
    char id[48];
    size_t kept;  /* by its owner */
    double began; /* when the request was there */
    bool keep_alive;
    vug_str origin; /* that may read the answer; NULL ptr: none */

    vug_http_conn *conn; /* the loop's; NULL once the client has gone */

    /* behind the lock */
    bool queued; /* in the ready list */
    bool gone, begun, ended, calling;
    int status;
    char *type, *headers; /* of the answer; NULL where memory ran out */
    vug_buf out;          /* the body of a reply; events that the loop has not taken */
    void (*on_gone)(void *arg);
    void *on_gone_arg;
    vug_http_call *next_ready, *next_queued;
};

typedef enum {
    VUG_HTTP_HEAD,      /* waiting for a request, or in its head */
    VUG_HTTP_BODY,      /* in its body */
    VUG_HTTP_ANSWERING, /* `call` is with its owner */
    VUG_HTTP_FLUSHING,  /* the rest goes out, then it closes */
    VUG_HTTP_LINGERING, /* all is said: reading what still comes, so that the client reads ours */
} vug_http_phase;

/* The loop's. */
struct vug_http_conn {
    vug_http_link all, waiting;
    vug_http *http;
    struct bufferevent *io;
    struct event *timer; /* the deadline of the phase; in ANSWERING ticks */
    vug_http_phase phase;
    bool is_unix;
    bool hung_up;        /* the client sends no more */
    bool overrun;        /* it sent so far ahead that some was dropped */
    bool head_begun;     /* a byte of a request is there */
    bool said_head;      /* of the answer */
    bool stream;         /* the answer is one */
    bool keep;           /* the connection goes on after it */
    double since;        /* when the phase began */
    vug_buf head;        /* the bytes of the head so far */
    vug_http_call *call; /* being read or answered */
    vug_http_chunks chunks;
    double progress; /* when the client last took something; of one that lingers, sent */
    double spoke;    /* when something was last sent in a stream */
};

/* listen.c */
VUG_MUST_CHECK vug_status vug_http_listen(vug_http *http, vug_err *err);
void vug_http_unlisten(vug_http *http);

/* tls.c */
VUG_MUST_CHECK vug_status vug_http_tls_open(vug_http *http, vug_err *err);
void vug_http_tls_close(vug_http *http);
/* NULL when out of memory; takes `fd` otherwise. */
struct bufferevent *vug_http_tls_accept(vug_http *http, evutil_socket_t fd);
/* Says that nothing more will be sent. */
void vug_http_tls_finish(struct bufferevent *io);

/* guard.c */
VUG_MUST_CHECK vug_status vug_http_keys_open(vug_http *http, vug_err *err);
VUG_MUST_CHECK vug_status vug_http_check_names(const vug_http_options *options, vug_err *err);
/* Whether the request may go on; false fills `error`. Finds the origin of the call. */
bool vug_http_guard_host(const vug_http *http, const vug_http_conn *conn, vug_http_call *call,
                         vug_api_error *error);
bool vug_http_guard_key(const vug_http *http, const vug_http_call *call, vug_api_error *error);

/* conn.c: when, and in which phase */
/* Takes `fd`. */
void vug_http_conn_open(vug_http *http, evutil_socket_t fd, bool is_unix);
/* At once; the owner of a call that is being answered is told. */
void vug_http_conn_close(vug_http_conn *conn);
/* Begins a phase, and with it the time that it may last. */
void vug_http_conn_enter(vug_http_conn *conn, vug_http_phase phase);
/* The request is there, or refused: its call is to be answered. */
void vug_http_conn_answer(vug_http_conn *conn);
/* The answer is with libevent: goes on with the next request, or ends when it is out. The
 * connection is not freed here; only callbacks of libevent do that. */
void vug_http_conn_next(vug_http_conn *conn, bool keep);
/* Sets the timer for what is due next. */
void vug_http_conn_arm(vug_http_conn *conn);
size_t vug_http_conn_unsent(const vug_http_conn *conn);
/* The one that has waited for its client the longest, of those that hold so many bytes, or NULL. */
vug_http_conn *vug_http_conn_longest(vug_http *http, size_t bytes);
/* Closes it for others; false for NULL. */
bool vug_http_conn_evict(vug_http_conn *conn);
/* Closes all connections, or those that wait for a request. */
void vug_http_conn_sweep(vug_http *http, bool all);
/* Whether there is one that does not. */
bool vug_http_conn_busy(const vug_http *http);

/* read.c: bytes that have come */
/* Takes what is there for the phase the connection is in. */
void vug_http_read(vug_http_conn *conn);
/* Answers the request that is being read with an error, after which the connection ends
 * unless the request was whole. */
void vug_http_refuse(vug_http_conn *conn, vug_api_error_kind kind, const char *fmt, ...)
        VUG_PRINTF(3, 4);

/* route.c */
/* The head was parsed. False when the request is refused, which fills `error` and sets
 * *headers, lines for the answer or NULL. */
bool vug_http_admit(const vug_http_conn *conn, vug_http_call *call, vug_api_error *error,
                    const char **headers);
/* Gives the call, whose body is there, to its handler. */
void vug_http_dispatch(vug_http_call *call);

/* send.c */
/* What the call has ready. When that was all, the call is freed and its connection goes on. */
void vug_http_send(vug_http_call *call);
void vug_http_send_ping(vug_http_conn *conn);

/* call.c */
vug_http_call *vug_http_call_create(vug_http *http);
void vug_http_call_destroy(vug_http_call *call);
/* Its client has gone: the loop lets go of it. */
void vug_http_call_leave(vug_http_call *call);
/* As vug_http_fail, with more headers. */
void vug_http_fail_with(vug_http_call *call, const vug_api_error *error, const char *headers);
/* The next call that has something to send or has ended, or NULL; the loop's. */
vug_http_call *vug_http_take_ready(vug_http *http);
VUG_MUST_CHECK vug_status vug_http_threads_open(vug_http *http, vug_err *err);
void vug_http_threads_close(vug_http *http);
void vug_http_queue(vug_http_call *call);

#endif
