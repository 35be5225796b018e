#ifndef VUG_CLI_REMOTE_HTTP_CLIENT_H
#define VUG_CLI_REMOTE_HTTP_CLIENT_H

/*
 * HTTP requests to one server, with libcurl. Ctrl-C cancels a request at once. Redirects are not
 * followed and compression is not requested; HTTPS certificates are verified.
 */

#include "core/mem.h"

typedef struct vug_http_client vug_http_client;

/* `url` is http://HOST[:PORT][/PATH], the same with https, or unix:PATH; its path defaults to
 * /v1. `key` is an API key or NULL. `ca` is a PEM file of trusted certificates, borrowed, or NULL
 * for the system's. */
VUG_MUST_CHECK vug_status vug_http_client_open(const char *url, const char *key, const char *ca,
                                               vug_http_client **out, vug_err *err);
void vug_http_client_close(vug_http_client *client);
/* The name of the server in error messages. */
const char *vug_http_client_name(const vug_http_client *client);

typedef struct {
    const char *path; /* such as "/models", appended to the URL's */
    const char *body; /* JSON for a POST; NULL: a GET */
    size_t body_len;
    /* Receives the body of a response with status 200 in pieces; `stream` says that it is an event
     * stream. Any status but VUG_OK cancels the request. */
    vug_status (*on_bytes)(vug_str bytes, bool stream, void *user, vug_err *err);
    void *user;
} vug_http_client_request;

/* Fails with the server's error message if the status is not 200, and with VUG_CANCELLED on
 * Ctrl-C, for which the caller has called vug_interrupt_install. */
VUG_MUST_CHECK vug_status vug_http_client_perform(vug_http_client *client,
                                                  const vug_http_client_request *request,
                                                  vug_err *err);

#endif
