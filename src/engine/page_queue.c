/*
 * The ring buffer. `first` and `last` count bytes since the beginning, so last - first is what is in
 * use, and their remainders are places in the ring. An entry and its page lie in one piece: if they
 * do not fit before the end of the ring, an entry that only fills the rest comes before them.
 */
#include "engine/page_queue.h"

#include <pthread.h>

#include "core/mem.h"

enum { ENTRY = 64 }; /* bytes of an entry; every place is a multiple of it */

typedef struct {
    uint64_t size; /* of the page */
    uint64_t room; /* in the ring, with the entry */
    vug_page_id id;
    bool is_filler;
} queue_entry;

_Static_assert(sizeof(queue_entry) <= ENTRY, "an entry fits its place");

struct vug_page_queue {
    uint8_t *ring; /* [size] */
    size_t size;
    uint64_t first, last;
    bool ended;
    pthread_mutex_t lock;
    pthread_cond_t filled, popped;
};

vug_status vug_page_queue_create(size_t bytes, vug_page_queue **out, vug_err *err)
{
    const size_t size = bytes / ENTRY * ENTRY;
    vug_page_queue *queue = vug_alloc_zero(1, sizeof(*queue));
    /* Not zeroed: the system provides memory for what is used. */
    uint8_t *ring = vug_alloc(size ? size : 1, 1);
    if (!queue || !ring) {
        vug_free(queue);
        vug_free(ring);
        return VUG_FAIL_NOMEM(err, "the queue of pages to write", bytes);
    }
    queue->ring = ring;
    queue->size = size;
    (void)pthread_mutex_init(&queue->lock, NULL);
    (void)pthread_cond_init(&queue->filled, NULL);
    (void)pthread_cond_init(&queue->popped, NULL);
    *out = queue;
    return VUG_OK;
}

void vug_page_queue_destroy(vug_page_queue *queue)
{
    if (!queue)
        return;
    (void)pthread_cond_destroy(&queue->popped);
    (void)pthread_cond_destroy(&queue->filled);
    (void)pthread_mutex_destroy(&queue->lock);
    vug_free(queue->ring);
    vug_free(queue);
}

static queue_entry *entry_at(const vug_page_queue *queue, uint64_t place)
{
    return (queue_entry *)(void *)(queue->ring + place % queue->size);
}

/* Takes `room` bytes in one piece, or returns NULL. The caller has the lock. */
static queue_entry *take_room(vug_page_queue *queue, uint64_t room)
{
    if (queue->size == 0)
        return NULL;
    /* An empty ring has its whole size in one piece. */
    if (queue->first == queue->last)
        queue->first = queue->last = (queue->last + queue->size - 1) / queue->size * queue->size;
    const uint64_t rest = queue->size - queue->last % queue->size;
    const uint64_t filler = room > rest ? rest : 0;
    if (queue->ended || room > queue->size ||
        queue->last - queue->first + filler + room > queue->size)
        return NULL;
    if (filler)
        *entry_at(queue, queue->last) = (queue_entry){ .room = filler, .is_filler = true };
    queue->last += filler;
    queue_entry *entry = entry_at(queue, queue->last);
    queue->last += room;
    return entry;
}

bool vug_page_queue_put(vug_page_queue *queue, const vug_page_id *id, const void *bytes, size_t n)
{
    if (n > queue->size)
        return false;
    const uint64_t room = ENTRY + ((uint64_t)n + ENTRY - 1) / ENTRY * ENTRY;
    (void)pthread_mutex_lock(&queue->lock);
    queue_entry *entry = take_room(queue, room);
    if (entry) {
        *entry = (queue_entry){ .size = n, .room = room, .id = *id };
        if (n)
            memcpy((uint8_t *)entry + ENTRY, bytes, n);
        (void)pthread_cond_signal(&queue->filled);
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return entry != NULL;
}

bool vug_page_queue_front(vug_page_queue *queue, vug_page_id *id, vug_bytes *contents)
{
    (void)pthread_mutex_lock(&queue->lock);
    while (queue->first == queue->last && !queue->ended)
        (void)pthread_cond_wait(&queue->filled, &queue->lock);
    const bool any = queue->first != queue->last;
    if (any) {
        if (entry_at(queue, queue->first)->is_filler)
            queue->first += entry_at(queue, queue->first)->room;
        const queue_entry *entry = entry_at(queue, queue->first);
        *id = entry->id;
        *contents = (vug_bytes){ (const uint8_t *)entry + ENTRY, (size_t)entry->size };
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return any;
}

void vug_page_queue_pop(vug_page_queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    queue->first += entry_at(queue, queue->first)->room;
    (void)pthread_cond_broadcast(&queue->popped);
    (void)pthread_mutex_unlock(&queue->lock);
}

void vug_page_queue_end(vug_page_queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    queue->ended = true;
    (void)pthread_cond_broadcast(&queue->filled);
    (void)pthread_mutex_unlock(&queue->lock);
}

void vug_page_queue_wait(vug_page_queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    const uint64_t until = queue->last;
    while (queue->first < until)
        (void)pthread_cond_wait(&queue->popped, &queue->lock);
    (void)pthread_mutex_unlock(&queue->lock);
}

size_t vug_page_queue_bytes(vug_page_queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    const size_t used = (size_t)(queue->last - queue->first);
    (void)pthread_mutex_unlock(&queue->lock);
    return used;
}
