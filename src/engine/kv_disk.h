#ifndef VUG_ENGINE_KV_DISK_H
#define VUG_ENGINE_KV_DISK_H

/*
 * The pages of prefixes on disk. Whole blocks are written behind the scenes when they are
 * published; a prefix that is no longer in memory, or that another process computed, is read back
 * into the prefix tree. A boundary is found again when every group still has the pages that it
 * needs there (prefix_tree.h).
 */

#include "engine/page_store.h"
#include "engine/prefix_tree.h"

typedef struct vug_kv_disk vug_kv_disk;

/* Pool and tree outlive the disk. */
VUG_MUST_CHECK vug_status vug_kv_disk_open(const vug_page_store_options *options, vug_kv_pool *pool,
                                           vug_prefix_tree *tree, vug_kv_disk **out, vug_err *err);
/* Writes what is queued. Accepts NULL. */
void vug_kv_disk_close(vug_kv_disk *disk);

/* The key of the first `blocks` blocks of tokens after the empty prefix `root`. */
vug_prefix_key vug_kv_disk_key(const vug_prefix_key *root, const int32_t *id, size_t blocks);
/* Queues the pages [groups] of the block with tokens id [VUG_KV_PAGE] after the prefix `chain`,
 * unless they are on disk, and makes `chain` the key of the block. The caller serializes this with
 * the steps of the device, as calls of the pool. */
void vug_kv_disk_put(vug_kv_disk *disk, vug_prefix_key *chain, const int32_t *id,
                     const vug_page *page);

/* Blocks of a prefix that are read back, in four calls, because the disk must not hold up the
 * device: the caller serializes `take` and `end` with it as calls of the pool, but not the others. */
typedef struct {
    size_t first, end;   /* blocks [first, end) are wanted, and the windows before `end` */
    vug_prefix_key *key; /* [end] of each block */
    vug_page *page;      /* [end, groups]; 0: not needed */
    size_t n_loaded;     /* blocks */
} vug_kv_disk_read;

/* Looks for more of the prefix id [n] after `root` than the first `have` tokens, in whole blocks.
 * False if there is nothing. */
bool vug_kv_disk_find(const vug_kv_disk *disk, const vug_prefix_key *root, const int32_t *id,
                      size_t n, size_t have, vug_kv_disk_read *read);
/* Takes pages for it; false if there is no memory. */
bool vug_kv_disk_take(vug_kv_disk *disk, vug_kv_disk_read *read);
/* Fills them. */
void vug_kv_disk_load(vug_kv_disk *disk, vug_kv_disk_read *read);
/* Publishes in the tree what was loaded, and releases everything. Follows every vug_kv_disk_find
 * that returned true. */
void vug_kv_disk_end(vug_kv_disk *disk, const vug_prefix_key *root, const int32_t *id,
                     vug_kv_disk_read *read);

#endif
