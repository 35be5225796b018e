#ifndef VUG_TESTS_HTTP_HELP_H
#define VUG_TESTS_HTTP_HELP_H

/*
 * A server with toy routes in a thread, and a client of raw sockets. Include after cmocka.h.
 *
 *     GET  /health         open, "ok"
 *     GET  /echo           the path
 *     GET  /named/...      the rest of the path
 *     GET  /big            8 MiB
 *     POST /echo           the body; /queued-echo does so on another thread
 *     POST /hold           kept in `held` until the test ends it
 *     POST /held-stream    likewise, after the head of a stream was sent
 *     POST /stream         as many events "data: I\n\n" as the body says
 *     POST /gush           events until the client has gone
 *     POST /stay           the body, and then stays with the handler until `may_return`
 *     POST /hang-up        closes the client's socket, whose number is the body, and answers;
 *                          /hang-up-stream with a stream, which is kept in `held`
 */

#include <pthread.h>
#include <stdatomic.h>

#include "app/server/http/http.h"

enum { HTTP_BIG = 8 << 20, HTTP_MAX_HELD = 8 };

typedef struct {
    vug_http *http;
    vug_metrics *metrics;
    pthread_t thread;
    int port;
    bool unbounded; /* the last /gush was never refused */
    atomic_int n_held, n_gone, n_gushed, n_stayed, may_return, done;
    vug_http_call *_Atomic held[HTTP_MAX_HELD];
} http_server;

/* Listens on a free port of this machine unless `options` say otherwise; they may be NULL. What
 * clients send waits until http_go, and no limit on them runs before. */
http_server *http_listen(const vug_http_options *options);
void http_go(http_server *s);
/* Both. */
http_server *http_start(const vug_http_options *options);
/* Drains, waits for the end and frees. Calls that are held must have been ended. */
void http_stop(http_server *s);
/* Adds one to an atomic_int. */
void http_count(void *counter);
/* Waits until *what >= n, a minute at most. */
void http_await(atomic_int *what, int n);
/* Likewise, until that many connections are left. */
void http_await_connections(const http_server *s, int n);

typedef struct {
    int fd;
    vug_buf in;
} http_client;

http_client http_connect(const http_server *s);
void http_send_text(http_client *c, const char *text);
/* False when the connection is closed already. */
bool http_send_bytes(http_client *c, const void *bytes, size_t n);
/* A GET or, with a body, a POST of JSON. */
void http_ask(http_client *c, const char *path, const char *body);
void http_close(http_client *c);
/* Reads until the server closes, and checks that nothing more has come. */
void http_expect_end(http_client *c);
/* Reads until `text` was received, and drops everything up to its end. */
void http_expect_text(http_client *c, const char *text);

typedef struct {
    int status;
    vug_text head, body; /* chunks are put together */
} http_answer;

/* The next answer on the connection, interim ones included; status 0 when it closes before. */
http_answer http_read_answer(http_client *c, bool has_body);
/* The value of a header line, or NULL: up to the line's end. */
bool http_header_is(const http_answer *a, const char *name, const char *value);
bool http_has_header(const http_answer *a, const char *name);
void http_answer_release(http_answer *a);
/* Reads an answer, compares its status and, unless NULL, a part of its body. */
void http_expect(http_client *c, int status, const char *part);
/* Whether it is an error as clients know them; `code` NULL: null. */
void http_check_error(const http_answer *a, int status, const char *type, const char *code);
/* Reads an invalid_request_error without a code. */
void http_expect_error(http_client *c, int status);

/* The process has grown by less than `most` bytes since it had `before` of
 * vug_memory_resident(). A sanitizer keeps what was freed and notes beside what is in use:
 * nothing is checked under one. */
void http_expect_grown_less(uint64_t before, uint64_t most);

/* A certificate for localhost that nobody has signed, and its key, as PEM files. */
void http_write_certificate(const char *cert, const char *key);

#endif
