#ifndef VUG_TESTS_SERVE_HELP_H
#define VUG_TESTS_SERVE_HELP_H

/* `vug serve` as a program, with pebble, and what its clients read. Include after cmocka.h. */

#include <sys/types.h>

#include "app/server/service.h"
#include "core/json.h"
#include "http_help.h"

#define SERVE_MODEL "./models/pebble/." /* whose name is pebble all the same */

typedef struct {
    pid_t process;
    int out; /* what it prints */
    char text[512];
    size_t n;
    http_server at; /* only its port counts */
} serving;

/* On a free port, with more arguments, NULL at the end; returns when it listens. */
serving serve_begin(const char *const *more);
/* Reads what it prints until there is `text`. */
void serve_await(serving *s, const char *text);
/* serve_begin, until the model is there; with at least one argument, "-q" for instance. */
#define SERVE(...) serve_ready((const char *const[]){ __VA_ARGS__, NULL })
serving serve_ready(const char *const *more);
/* Its exit code after SIGTERM. */
int serve_end(serving *s);

/* The same inside of the test, with limits of its own: all routes, on a free port. */
typedef struct {
    vug_service *service;
    vug_http *http;
    vug_metrics *metrics;
    const vug_http_route *route; /* [n_routes], /health first */
    size_t n_routes;
    pthread_t thread;
    atomic_int loaded; /* 1 once the model is there */
    serving at;        /* only its port counts */
} served;

/* `how` without metrics. The model is not loaded yet: vug_service_start does that. */
void serve_inside(served *s, const char *model, const vug_http_options *how);
/* Drains, and frees. */
void serve_inside_end(served *s);

/* An answer as JSON. */
typedef struct {
    int status;
    vug_text head, text;
    vug_arena arena;
    const vug_jv *json;
} said;

/* A GET, or a POST when there is a body, on a connection of its own. */
said serve_ask(const serving *s, const char *path, const char *body);
/* The answer to what was sent on a connection. */
said serve_read(http_client *c);
void said_release(said *a);
/* "choices.0.message"; NULL when it is not there. */
const vug_jv *said_at(const said *a, const char *path);
double said_number(const said *a, const char *path);
void said_is(const said *a, const char *path, const char *text);

/* A stream of chats, taken apart by the rules of the API, each of which is checked: one id and
 * created, the role once and first, calls with indexes, an end for each choice, [DONE]. */
enum { HEARD_CHOICES = 4 };
typedef struct {
    vug_buf content[HEARD_CHOICES], thinking[HEARD_CHOICES];
    vug_buf calls[HEARD_CHOICES];    /* NAME(ARGUMENTS);.. */
    vug_buf logprobs[HEARD_CHOICES]; /* the tokens, one behind the other */
    char finish[HEARD_CHOICES][16];
    int prompt_tokens, completion_tokens; /* -1 without usage */
} heard;

heard serve_hear(const serving *s, const char *body);
void heard_release(heard *h);
/* The same of an answer that was no stream. */
heard serve_hear_whole(const serving *s, const char *body);

#endif
