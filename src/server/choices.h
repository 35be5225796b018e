#ifndef VUG_SERVER_CHOICES_H
#define VUG_SERVER_CHOICES_H

/*
 * The choices of a request, which are generated at the same time: on the thread that runs the
 * request, and on other threads of the queue as they become free. The first choice of a prompt
 * computes the prompt, and the others begin when that is done.
 */

#include "server/internal.h"

/* Generates choice `i`: its prompt is i / request->api.n. Runs without the request's lock. */
typedef vug_status vug_choice_fn(void *user, size_t i, vug_err *err);

/* Generates all choices, up to the first failure, which cancels the others. request->lock exists
 * meanwhile. */
VUG_MUST_CHECK vug_status vug_server_run_choices(vug_server_request *request,
                                                 vug_choice_fn *generate, void *user, vug_err *err);
/* The prompt is computed. Under the request's lock; any number of times. */
void vug_server_choices_ready(vug_server_choices *choices, size_t prompt);

#endif
