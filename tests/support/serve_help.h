#ifndef VUG_TESTS_SUPPORT_SERVE_HELP_H
#define VUG_TESTS_SUPPORT_SERVE_HELP_H

/* Runs `vug serve` with pebble, and parses its responses. Include after cmocka.h. */

#include <sys/types.h>

#include "core/json.h"
#include "http_help.h"
#include "server/internal.h"

#define SERVE_MODEL "./models/pebble/." /* the name is still pebble */

typedef struct {
    pid_t process;
    int out; /* its stdout */
    char text[512];
    size_t n;
    http_server at; /* only its port counts */
} server_process;

/* Starts it on a free port with NULL-terminated arguments; returns when it listens. */
server_process serve_begin(const char *const *more);
/* Reads its output until `text` appears. */
void serve_wait_for(server_process *s, const char *text);
/* Starts it and waits for the model; takes at least one argument. */
#define SERVE(...) serve_ready((const char *const[]){ __VA_ARGS__, NULL })
server_process serve_ready(const char *const *more);
/* Sends SIGTERM; returns the exit code. */
int serve_end(server_process *s);

/* The server inside the test process, with its own limits, on a free port. */
typedef struct {
    vug_service *service;
    vug_http *http;
    vug_metrics *metrics;
    const vug_http_route *route; /* [n_routes], /health first */
    size_t n_routes;
    pthread_t thread;
    atomic_int loaded; /* 1 when the model is loaded */
    server_process at; /* only its port counts */
} server_fixture;

/* `how` without metrics. The model is not loaded yet. */
void serve_inside(server_fixture *s, const char *model, const vug_http_options *how);
/* Loads the model and waits for that. */
void serve_inside_load(server_fixture *s);
/* Drains, and frees. */
void serve_inside_end(server_fixture *s);

/* A response parsed as JSON. */
typedef struct {
    int status;
    vug_text head, text;
    vug_arena arena;
    const vug_jv *json;
} json_response;

/* Sends a GET or, with a body, a POST on a new connection. */
json_response serve_request(const server_process *s, const char *path, const char *body);
/* Reads the next response of a connection. */
json_response serve_read_response(http_client *c);
void response_release(json_response *a);
/* "choices.0.message"; NULL when it is not there. */
const vug_jv *response_at(const json_response *a, const char *path);
double response_number(const json_response *a, const char *path);
void response_expect(const json_response *a, const char *path, const char *text);

/* An accumulated chat stream. The rules of the API are checked: one id and created, the role once
 * and first, calls with indexes, one finish reason per choice, [DONE]. */
enum { STREAM_CHOICES = 4 };
typedef struct {
    vug_buf content[STREAM_CHOICES], thinking[STREAM_CHOICES];
    vug_buf calls[STREAM_CHOICES];    /* NAME(ARGUMENTS);.. */
    vug_buf logprobs[STREAM_CHOICES]; /* the tokens, concatenated */
    char finish[STREAM_CHOICES][16];
    int prompt_tokens, completion_tokens; /* -1 without usage */
} chat_stream;

chat_stream serve_stream_chat(const server_process *s, const char *body);
void chat_stream_release(chat_stream *h);
/* The same from a response without a stream. */
chat_stream serve_whole_chat(const server_process *s, const char *body);

#endif
