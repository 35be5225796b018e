#include "engine/event_queue.h"

#include <string.h>

#include "core/mem.h"
#include "core/os.h"

/* The event's log-probabilities and its text follow in the same block. */
struct vug_queued_event {
    vug_queued_event *next;
    vug_event event;
};

vug_status vug_event_queue_init(vug_event_queue *q, size_t max, vug_err *err)
{
    *q = (vug_event_queue){ .max = max };
    q->last = &q->first;
    VUG_TRY(vug_mutex_create(&q->lock, err));
    return vug_cond_create(&q->changed, err);
}

void vug_event_queue_release(vug_event_queue *q)
{
    while (q->first) {
        vug_queued_event *next = q->first->next;
        vug_free(q->first);
        q->first = next;
    }
    vug_free(q->pulled);
    vug_cond_destroy(q->changed);
    vug_mutex_destroy(q->lock);
}

static vug_queued_event *copy_event(const vug_event *event)
{
    const vug_piece *piece = &event->piece;
    const size_t top_bytes = piece->n_top * sizeof(*piece->top);
    vug_queued_event *copy = vug_alloc(1, sizeof(*copy) + top_bytes + piece->len);
    if (!copy)
        return NULL;
    vug_logprob *top = (vug_logprob *)(copy + 1);
    char *text = (char *)top + top_bytes;
    *copy = (vug_queued_event){ .event = *event };
    if (piece->n_top > 0)
        memcpy(top, piece->top, top_bytes);
    if (piece->len > 0)
        memcpy(text, piece->text, piece->len);
    copy->event.piece.top = top;
    copy->event.piece.text = text;
    return copy;
}

bool vug_event_queue_is_full(vug_event_queue *q)
{
    vug_mutex_lock(q->lock);
    const bool full = q->n >= q->max;
    vug_mutex_unlock(q->lock);
    return full;
}

vug_status vug_event_queue_push(vug_event_queue *q, const vug_event *event,
                                const vug_cancel_token *cancel, vug_err *err)
{
    vug_queued_event *copy = copy_event(event);
    if (!copy)
        return VUG_FAIL_NOMEM(err, "an event", sizeof(*copy) + event->piece.len);
    vug_mutex_lock(q->lock);
    while (q->n >= q->max && !vug_is_cancelled(cancel))
        vug_cond_wait(q->changed, q->lock);
    *q->last = copy;
    q->last = &copy->next;
    q->n++;
    vug_cond_broadcast(q->changed);
    vug_mutex_unlock(q->lock);
    return VUG_OK;
}

void vug_event_queue_wake(vug_event_queue *q)
{
    vug_mutex_lock(q->lock);
    vug_cond_broadcast(q->changed);
    vug_mutex_unlock(q->lock);
}

void vug_event_queue_end(vug_event_queue *q, const vug_event *event)
{
    vug_mutex_lock(q->lock);
    q->end = *event;
    q->has_ended = true;
    vug_cond_broadcast(q->changed);
    vug_mutex_unlock(q->lock);
}

bool vug_event_queue_next(vug_event_queue *q, double timeout, vug_event *out)
{
    const double deadline = vug_now() + (timeout < 1e9 ? timeout : 1e9);
    bool timed_out = false;
    vug_mutex_lock(q->lock);
    vug_free(q->pulled);
    q->pulled = NULL;
    while (!q->first && !q->has_ended && !timed_out) {
        if (timeout < 0)
            vug_cond_wait(q->changed, q->lock);
        else if (vug_now() < deadline)
            vug_cond_wait_until(q->changed, q->lock, deadline);
        else
            timed_out = true;
    }
    if (q->first) {
        q->pulled = q->first;
        q->first = q->pulled->next;
        if (!q->first)
            q->last = &q->first;
        q->n--;
        *out = q->pulled->event;
        vug_cond_broadcast(q->changed);
    } else if (!timed_out) {
        *out = q->end;
    }
    vug_mutex_unlock(q->lock);
    return !timed_out;
}

void vug_event_queue_wait(vug_event_queue *q)
{
    vug_mutex_lock(q->lock);
    while (!q->has_ended)
        vug_cond_wait(q->changed, q->lock);
    vug_mutex_unlock(q->lock);
}
