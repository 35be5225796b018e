#ifndef VUG_TESTS_SUPPORT_HTTP_HELP_H
#define VUG_TESTS_SUPPORT_HTTP_HELP_H

/*
 * A server with toy routes in a thread, and a client of raw sockets. Include after cmocka.h.
 *
 *     GET  /health         public, "ok"
 *     GET  /echo           the path
 *     GET  /named/...      the rest of the path
 *     GET  /big            8 MiB
 *     POST /echo           the body; /queued-echo does so on another thread
 *     POST /hold           stored in `held` until the test ends it
 *     POST /held-stream    as /hold, after the head of a stream was sent
 *     POST /stream         as many events "data: I\n\n" as the body says
 *     POST /gush           events until the client has disconnected
 *     POST /stay           the body; then the handler waits for `may_return`
 *     POST /hang-up        closes the client's socket, whose number is the body, and answers;
 *                          /hang-up-stream with a stream, which is stored in `held`
 */

#include <pthread.h>
#include <stdatomic.h>

#include "server/http/http.h"

enum { HTTP_BIG = 8 << 20, HTTP_MAX_HELD = 8 };

typedef struct {
    vug_http *http;
    vug_metrics *metrics;
    pthread_t thread;
    int port;
    bool unbounded; /* the last /gush was never stopped */
    atomic_int n_held, n_disconnected, n_gushed, n_stayed, may_return, done;
    vug_http_request *_Atomic held[HTTP_MAX_HELD];
} http_server;

/* Listens on a free local port unless `options` say otherwise; they may be NULL. Requests wait, and
 * no timeout runs, until http_run. */
http_server *http_listen(const vug_http_options *options);
void http_run(http_server *s);
/* http_listen and http_run. */
http_server *http_start(const vug_http_options *options);
/* Drains, waits for the end and frees. Held requests must have been ended. */
void http_stop(http_server *s);
/* Adds one to an atomic_int. */
void http_count(void *counter);
/* Waits until *what >= n, a minute at most. */
void http_wait_for(atomic_int *what, int n);
/* Waits until at most `n` connections are left. */
void http_wait_for_connections(const http_server *s, int n);

typedef struct {
    int fd;
    vug_buf in;
} http_client;

http_client http_connect(const http_server *s);
void http_send_text(http_client *c, const char *text);
/* False when the connection is closed already. */
bool http_send_bytes(http_client *c, const void *bytes, size_t n);
/* A GET or, with a body, a POST of JSON. */
void http_send_request(http_client *c, const char *path, const char *body);
void http_close(http_client *c);
/* Reads until the server closes the connection; expects no more bytes. */
void http_expect_end(http_client *c);
/* Reads until `text` was received, and drops everything up to its end. */
void http_expect_text(http_client *c, const char *text);

typedef struct {
    int status;
    vug_text head, body; /* chunks are put together */
} http_response;

/* The next response, including interim ones; status 0 when the connection closes before. */
http_response http_read_response(http_client *c, bool has_body);
/* Whether the header exists and has the value. */
bool http_header_is(const http_response *a, const char *name, const char *value);
bool http_has_header(const http_response *a, const char *name);
void http_response_release(http_response *a);
/* Reads a response and expects its status and, unless NULL, a part of its body. */
void http_expect(http_client *c, int status, const char *part);
/* Expects an error of the API; a NULL `code` stands for null. */
void http_check_error(const http_response *a, int status, const char *type, const char *code);
/* Reads an invalid_request_error without a code. */
void http_expect_error(http_client *c, int status);

/* Expects that resident memory has grown by less than `most` bytes from `before`. Checks nothing
 * under a sanitizer, which keeps freed memory. */
void http_expect_grown_less(uint64_t before, uint64_t most);

/* Writes a self-signed certificate for localhost and its key as PEM files. */
void http_write_certificate(const char *cert, const char *key);

#endif
