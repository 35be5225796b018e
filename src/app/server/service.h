#ifndef VUG_APP_SERVER_SERVICE_H
#define VUG_APP_SERVER_SERVICE_H

/*
 * The server: what stands between HTTP and the model. A request goes one way:
 *
 *     http/        accepts it (address, TLS, key, Host, limits) and finds its route
 *     routes.c     front threads: what each route does
 *     ask.c        reads the request (api/), checks it against the model
 *     form.c       finds or makes the grammar of the answer (grammars.c)
 *     worker.c     waits for the model in a queue
 *     answering.c  answers chats and completions; api/ writes JSON and events
 *     speech.c     generates on a session (sessions.c) and sends what is said
 *     echo.c       scores prompts
 *     http/        sends them, and notices when the client has gone
 *
 * service.c is the model on its way in and out, trace.c a record per request, metrics.c
 * what is counted. http/ knows nothing of models, api/ nothing of models or sockets.
 *
 * Until the model is there, requests get 503; /health says so.
 */

#include "app/server/http/http.h"
#include "vug/chat.h"

/* Borrowed until vug_service_destroy. */
typedef struct {
    const char *path; /* of the model */
    vug_model_options model;
    const char *chat_template; /* a file; NULL: the checkpoint's */
    vug_http_names aliases;    /* more names of the model; "*": any */
    const char *trace;         /* a folder; NULL: no records */
    int max_waiting;           /* requests */
    int max_sessions;          /* 0: as vug_sessions_init says */
    int max_tokens;            /* of answers to chats that do not say; 0: no limit */
    bool also_reasoning;
    vug_metrics *metrics;
    /* On the worker, once: the model is there, or `err` says why it is not. */
    void (*loaded)(vug_str name, const vug_model *model, int sessions, const vug_err *err,
                   void *user);
    void *user;
} vug_service_options;

typedef struct vug_service vug_service;

VUG_MUST_CHECK vug_status vug_service_create(const vug_service_options *options, vug_service **out,
                                             vug_err *err);
/* Loads the model, on the worker. */
void vug_service_start(vug_service *service);
/* From any thread: loading is given up. */
void vug_service_give_up(vug_service *service);
/* When every call has ended. */
void vug_service_destroy(vug_service *service);

/* Handlers of routes, whose `user` is the service. */
typedef void vug_service_handler(vug_http_call *call, void *service);
vug_service_handler vug_serve_chat, vug_serve_text, vug_serve_models, vug_serve_model,
        vug_serve_tokenize, vug_serve_detokenize, vug_serve_template, vug_serve_props,
        vug_serve_metrics, vug_serve_health;

/* Which server asks, for /health: until then it is not draining. */
void vug_service_serve(vug_service *service, vug_http *http);

#endif
