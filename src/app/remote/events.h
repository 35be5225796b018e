#ifndef VUG_APP_REMOTE_EVENTS_H
#define VUG_APP_REMOTE_EVENTS_H

/*
 * Server-sent events, read as they come, in pieces of any size (the HTML standard, "Parsing
 * an event stream"): lines end with LF, CR or both, those that begin with a colon are
 * comments, the data of an event may have several. Names of events and the like are left out:
 * OpenAI's API has none.
 */

#include "core/mem.h"

/* Most bytes of one event, and of one line. */
#define VUG_EVENTS_MAX ((size_t)16 << 20)

/* All-zero is the beginning of a stream. */
typedef struct {
    vug_buf line; /* so far */
    vug_buf data; /* of the event, so far */
    bool has_data;
    bool after_cr; /* an LF now belongs to the line that ended */
    bool begun;    /* the first line is read; a byte order mark in front of it is none of it */
} vug_events;

/* `data` is valid during the call. What it returns, unless VUG_OK, ends the feeding. */
typedef vug_status vug_event_fn(vug_str data, void *user, vug_err *err);

VUG_MUST_CHECK vug_status vug_events_feed(vug_events *e, vug_str bytes, vug_event_fn *on_event,
                                          void *user, vug_err *err);
void vug_events_release(vug_events *e);

#endif
