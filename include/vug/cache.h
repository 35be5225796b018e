#ifndef VUG_CACHE_H
#define VUG_CACHE_H

/* The cache of keys and values: plain values, part of vug.h. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The memory for keys and values, at one moment. */
typedef struct {
    uint64_t budget;                    /* bytes */
    uint64_t used;                      /* bytes that sessions hold */
    uint64_t cached;                    /* bytes of cached prefixes that no session holds */
    uint64_t snapshots, snapshot_bytes; /* the bytes are a part of `used` and `cached` */
    uint64_t evictions;                 /* pages that were dropped because memory was short */
    uint64_t sessions;                  /* that hold keys and values */
    uint64_t pages;                     /* used or cached */
} vug_cache_stats;

/* Why later prompts may branch at a place, in the order in which the cache gives places up. */
typedef enum {
    VUG_MARK_PROMPT, /* on the way of a long prompt, or near the end of one without marks */
    VUG_MARK_TURN,   /* the last user turn, the opening of the answer */
    VUG_MARK_SYSTEM, /* the end of the system turn */
} vug_mark_kind;

/* A later prompt may have the same first `at` tokens and others from there on. The cache keeps
 * what layers with a sliding window need to continue there. */
typedef struct {
    size_t at;
    vug_mark_kind kind;
} vug_mark;

typedef enum {
    VUG_MISS_NONE,     /* everything was used but the last token, whose logits are needed */
    VUG_MISS_DIFFERS,  /* no cached sequence goes on like the prompt */
    VUG_MISS_EVICTED,  /* the next pages were evicted, or there is no memory to copy the last one */
    VUG_MISS_SNAPSHOT, /* the windows of layers with a sliding window were not kept there */
} vug_miss_reason;

/* Why no more of a prompt was taken from the cache. */
typedef struct {
    vug_miss_reason reason;
    size_t n_same; /* the first tokens of the prompt that a sequence which is or was cached has, too; at
                      least those that were taken */
    int32_t cached; /* the token of such a sequence after them; -1: it ends there */
} vug_cache_miss;

#ifdef __cplusplus
}
#endif

#endif
