#ifndef VUG_APP_REMOTE_LINK_H
#define VUG_APP_REMOTE_LINK_H

/*
 * HTTP to one server, with libcurl: where it is, the key, and requests that Ctrl-C ends at
 * once. No redirection is followed and no compression asked for; over https the certificate
 * must be right.
 */

#include "core/mem.h"

typedef struct vug_link vug_link;

/* http://HOST[:PORT][/PATH], https likewise, or unix:PATH; without a path it is /v1. `key` may
 * be NULL; so may `ca`, a PEM file of certificates to trust, borrowed, for the system's. */
VUG_MUST_CHECK vug_status vug_link_open(const char *url, const char *key, const char *ca,
                                        vug_link **out, vug_err *err);
void vug_link_close(vug_link *link);
/* How a sentence calls the server. */
const char *vug_link_name(const vug_link *link);

typedef struct {
    const char *path; /* "/models", below that of the URL */
    const char *body; /* JSON; NULL: a GET */
    size_t body_len;
    /* Of an answer with the status 200, as it comes. What it returns, unless VUG_OK, ends the
     * request. `stream`: it is an event stream. */
    vug_status (*on_bytes)(vug_str bytes, bool stream, void *user, vug_err *err);
    void *user;
} vug_link_request;

/* Any other status fails with what the server says. VUG_CANCELLED after Ctrl-C, for which
 * vug_interrupt_install has been called. */
VUG_MUST_CHECK vug_status vug_link_ask(vug_link *link, const vug_link_request *request,
                                       vug_err *err);

#endif
