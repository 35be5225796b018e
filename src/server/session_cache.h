#ifndef VUG_SERVER_SESSION_CACHE_H
#define VUG_SERVER_SESSION_CACHE_H

/*
 * Sessions kept between requests, so that a conversation continues from its KV cache. Used by one
 * thread.
 */

#include "server/metrics.h"
#include "vug/vug.h"

typedef struct {
    vug_session *session; /* NULL: not created yet */
    size_t n_stable;      /* of its last prompt */
    uint64_t last_used;   /* a counter value */
} vug_cached_session;

typedef struct {
    vug_model *model;
    vug_metrics *metrics;
    vug_cached_session *cached; /* [max] */
    int max;
    uint64_t bytes; /* of one session */
    uint64_t n_uses;
} vug_session_cache;

/* Creates one session at once. `max` 0: as many as fit into an eighth of the machine's memory, 1 to
 * 4. `limit`: on all memory of the model, or 0. */
VUG_MUST_CHECK vug_status vug_session_cache_init(vug_session_cache *s, vug_model *model, int max,
                                                 uint64_t limit, vug_metrics *metrics,
                                                 vug_err *err);
void vug_session_cache_release(vug_session_cache *s);

/* The tokens after `n_stable` open the answer; the next prompt of the conversation may not repeat
 * them. */
typedef struct {
    const int32_t *id; /* [n] */
    size_t n, n_stable;
} vug_session_cache_prompt;

/* Finds the session that shares the longest prefix with the prompt. If that belongs to another
 * conversation, which would be lost, the prefix is copied into an empty session or the least
 * recently used one. */
VUG_MUST_CHECK vug_status vug_session_cache_acquire(vug_session_cache *s,
                                                    const vug_session_cache_prompt *prompt,
                                                    vug_cached_session **out, vug_err *err);

#endif
