#ifndef VUG_ENGINE_EVENT_QUEUE_H
#define VUG_ENGINE_EVENT_QUEUE_H

/*
 * The events of a request on their way from the thread that runs it to the thread that pulls them.
 * The queue has a limited length: who pushes waits until there is room, or the request is cancelled.
 */

#include "core/cancel.h"
#include "core/pool.h"
#include "vug/engine.h"

typedef struct vug_queued_event vug_queued_event;

typedef struct {
    vug_mutex *lock; /* guards what follows */
    vug_cond *changed;
    vug_queued_event *first, **last;
    vug_queued_event *pulled; /* the last one, whose data the caller still uses */
    size_t n, max;
    bool has_ended;
    vug_event end;
} vug_event_queue;

/* The queue stays at its address. The caller releases it even if this fails. */
VUG_MUST_CHECK vug_status vug_event_queue_init(vug_event_queue *queue, size_t max, vug_err *err);
/* Nobody uses the queue any more. */
void vug_event_queue_release(vug_event_queue *queue);

/* Whether vug_event_queue_push would wait. */
bool vug_event_queue_is_full(vug_event_queue *queue);
/* Appends a copy. With a cancelled token it does not wait. */
VUG_MUST_CHECK vug_status vug_event_queue_push(vug_event_queue *queue, const vug_event *event,
                                               const vug_cancel_token *cancel, vug_err *err);
/* The token of a waiting vug_event_queue_push was triggered. */
void vug_event_queue_wake(vug_event_queue *queue);
/* The last event, which is not copied. Nothing is pushed after it. */
void vug_event_queue_end(vug_event_queue *queue, const vug_event *event);

/* As vug_stream_next. */
bool vug_event_queue_next(vug_event_queue *queue, double timeout, vug_event *out);
/* Waits for vug_event_queue_end. */
void vug_event_queue_wait(vug_event_queue *queue);

#endif
