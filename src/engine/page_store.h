#ifndef VUG_ENGINE_PAGE_STORE_H
#define VUG_ENGINE_PAGE_STORE_H

/*
 * Pages of the key/value cache on disk: a cache of files that survives the process and that several
 * processes may share.
 *
 * A page is put under a key that names everything that decides its contents (prefix_key.h), so an
 * entry never changes and is either right or absent. A thread of the store writes pages behind the
 * caller's back. What it has written is found again after a restart, also after the process was
 * killed; each file has a checksum. The store may lose any page at any time: to the budget, a full
 * disk, or another process. It never fails a request.
 *
 * Thread-safe.
 */

#include "engine/page_file.h"

typedef struct vug_page_store vug_page_store;

typedef struct {
    const char *folder; /* made if missing, mode 0700; see page_folder.h */
    uint64_t budget;    /* bytes of all files, of all processes that share the folder */
    size_t queue;       /* bytes of pages that wait to be written */
    /* Called at most once, from the store's thread, when a page could not be written, as on a full
     * disk. May be NULL. */
    void (*warn)(void *user, const char *message);
    void *user;
} vug_page_store_options;

/* Starts the thread. The budget is kept by removing the least recently used files. Several
 * processes together may exceed it for a while, by an eighth each. */
VUG_MUST_CHECK vug_status vug_page_store_open(const vug_page_store_options *options,
                                              vug_page_store **out, vug_err *err);
/* Writes what is queued. Accepts NULL. */
void vug_page_store_close(vug_page_store *store);

/* Queues a copy of a page and returns whether there was room. Does not wait for the disk and does
 * not allocate. Pages are written in order, so a page that was put last, such as a manifest, is
 * there only if the store has tried all the others. */
bool vug_page_store_put(vug_page_store *store, const vug_page_id *id, const void *bytes, size_t n);
/* Reads a page of exactly `n` bytes; false if it is not there or not intact. `bytes` is undefined
 * then. A page in the queue is not there yet. */
VUG_MUST_CHECK bool vug_page_store_get(vug_page_store *store, const vug_page_id *id, void *bytes,
                                       size_t n);
/* Whether a page of `n` bytes is there, without reading it. Counts as a use, as get does: an engine
 * that serves a prefix from memory calls this, so that the prefix stays on disk. */
bool vug_page_store_has(vug_page_store *store, const vug_page_id *id, size_t n);
/* Waits until what was put before is written or dropped. */
void vug_page_store_flush(vug_page_store *store);

typedef struct {
    uint64_t bytes, files;  /* in the folder, as far as this process knows */
    uint64_t queued;        /* bytes that wait, with their entries */
    uint64_t hits, misses;  /* of get */
    uint64_t rejected;      /* files that get removed because they were not intact; also misses */
    uint64_t written;       /* pages */
    uint64_t written_bytes; /* of their contents */
    uint64_t removed;       /* files that this process removed for the budget */
    uint64_t dropped;       /* pages: the queue was full, or the page exceeds the budget */
    uint64_t failed;        /* pages that could not be written */
} vug_page_store_stats;
vug_page_store_stats vug_page_store_get_stats(vug_page_store *store);

#endif
