#ifndef VUG_TESTS_SUPPORT_KV_HELP_H
#define VUG_TESTS_SUPPORT_KV_HELP_H

/*
 * A device that has nothing but key/value pages, for tests of the page pool and of what uses it.
 * A page contains a 64-bit number for each of its positions; a page that gets memory contains
 * other numbers than before. Misuse fails the running test: a page out of range, without memory,
 * or given memory twice.
 */

#include "backend/backend.h"

/* Initialize `memory` only. */
typedef struct {
    uint64_t memory;                      /* bytes that its pages can have at most */
    uint64_t committed;                   /* bytes that they have */
    uint64_t commits, discards;           /* calls so far */
    uint32_t reserved[VUG_KV_MAX_GROUPS]; /* pages of each group */
    int caches;                           /* created and not yet destroyed */
} help_kv_device;

/* Only its functions for key/value caches exist. */
extern const vug_backend help_kv_backend;
vug_device *help_kv_open(help_kv_device *device);

/* A group whose pages have `pages` times VUG_KV_PAGE * 8 bytes. */
vug_kv_group help_kv_group(int64_t window, int pages);
/* The numbers of a page [VUG_KV_PAGE]. */
uint64_t *help_kv_at(vug_kv *kv, int group, vug_page page);

#endif
