#ifndef VUG_ENGINE_PAGE_QUEUE_H
#define VUG_ENGINE_PAGE_QUEUE_H

/*
 * Copies of pages that wait to be written, in order, in a ring buffer of fixed size. Putting does
 * not allocate and does not wait for room. Any threads may put; one thread takes.
 */

#include "engine/page_file.h"

typedef struct vug_page_queue vug_page_queue;

/* `bytes` bounds the pages that wait, with some bytes for each of them. */
VUG_MUST_CHECK vug_status vug_page_queue_create(size_t bytes, vug_page_queue **out, vug_err *err);
/* Accepts NULL. */
void vug_page_queue_destroy(vug_page_queue *queue);

/* Copies a page to the end. False if there is no room, or after vug_page_queue_end. */
bool vug_page_queue_put(vug_page_queue *queue, const vug_page_id *id, const void *bytes, size_t n);
/* Waits for the first page. It stays valid and keeps its room until vug_page_queue_pop. False if
 * the queue has ended and is empty. */
bool vug_page_queue_front(vug_page_queue *queue, vug_page_id *id, vug_bytes *contents);
void vug_page_queue_pop(vug_page_queue *queue);
/* No page is put any more; those that wait can still be taken. */
void vug_page_queue_end(vug_page_queue *queue);

/* Waits until every page that was put before the call has been popped. */
void vug_page_queue_wait(vug_page_queue *queue);
/* Bytes in use. */
size_t vug_page_queue_bytes(vug_page_queue *queue);

#endif
