#ifndef VUG_ENGINE_KV_POOL_H
#define VUG_ENGINE_KV_POOL_H

/*
 * The pages of a key/value cache, counted by reference, within one budget of bytes that all
 * groups share. A page gets memory when it is first taken; a free page keeps its memory until
 * another group needs it.
 *
 * Not thread-safe: the owner of the pool serializes calls with steps of the device.
 */

#include "backend/backend.h"

typedef struct vug_kv_pool vug_kv_pool;

/* Asked for memory, again and again, while the budget is exhausted: the owner of cached pages
 * releases some of them, whatever their group, and returns whether a page became free. It takes
 * no page. */
typedef bool vug_kv_reclaim(void *user);

/* Told that a page which had more references has only one left. It changes no reference. */
typedef void vug_kv_idle(void *user, int group, vug_page page);

/* Pages of a group. A device reserves address space for as many as fit the budget, at most this
 * number. */
enum { VUG_KV_MAX_PAGES = 1 << 24 };

/* The pool keeps a copy of `layout`. Backend and device must outlive the pool. Fails if `budget`
 * (bytes) does not hold a page of each group. */
VUG_MUST_CHECK vug_status vug_kv_pool_create(const vug_backend *backend, vug_device *device,
                                             const vug_kv_layout *layout, uint64_t budget,
                                             vug_kv_pool **out, vug_err *err);
/* Pages still in use are lost. Accepts NULL. */
void vug_kv_pool_destroy(vug_kv_pool *pool);
/* Replaces the function that vug_kv_page_take asks for memory; NULL: none. */
void vug_kv_pool_on_full(vug_kv_pool *pool, vug_kv_reclaim *reclaim, void *user);
/* Replaces the function that is told about pages with one reference; NULL: none. */
void vug_kv_pool_on_idle(vug_kv_pool *pool, vug_kv_idle *idle, void *user);

const vug_kv_layout *vug_kv_pool_layout(const vug_kv_pool *pool);
/* For the steps of a program. */
vug_kv *vug_kv_pool_kv(const vug_kv_pool *pool);
/* Pages of a group are 1 to this number. */
uint32_t vug_kv_pool_max_pages(const vug_kv_pool *pool, int group);
/* Bytes of one page of a group. */
uint64_t vug_kv_page_bytes(const vug_kv_pool *pool, int group);

/* Returns a page with one reference and unspecified contents, or 0 if the budget or the memory of
 * the device is exhausted and nothing could be reclaimed. */
vug_page vug_kv_page_take(vug_kv_pool *pool, int group);
/* Retaining and releasing page 0 does nothing. */
void vug_kv_page_retain(vug_kv_pool *pool, int group, vug_page page);
void vug_kv_page_release(vug_kv_pool *pool, int group, vug_page page);
/* References to a page that is in use: at least 1. */
uint32_t vug_kv_page_references(const vug_kv_pool *pool, int group, vug_page page);
/* Copies the contents of a page. */
void vug_kv_page_copy(vug_kv_pool *pool, int group, vug_page to, vug_page from);
/* Between a page and memory of vug_kv_page_bytes. */
void vug_kv_page_read(const vug_kv_pool *pool, int group, vug_page page, uint8_t *bytes);
void vug_kv_page_write(vug_kv_pool *pool, int group, vug_page page, const uint8_t *bytes);

typedef struct {
    uint64_t budget;    /* bytes */
    uint64_t used;      /* bytes of pages with references */
    uint64_t committed; /* bytes of pages that have memory, free ones included; <= budget */
    uint64_t pages;     /* pages with references, of all groups */
} vug_kv_pool_stats;
vug_kv_pool_stats vug_kv_pool_get_stats(const vug_kv_pool *pool);

#endif
