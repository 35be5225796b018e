#ifndef VUG_APP_SERVER_SESSIONS_H
#define VUG_APP_SERVER_SESSIONS_H

/*
 * Sessions that are kept between requests, each with the tokens in its cache, so that a
 * conversation that goes on finds its beginning there. Used by one thread.
 */

#include "app/server/metrics.h"
#include "vug/vug.h"

typedef struct {
    vug_session *session; /* NULL: not made yet */
    int32_t *id;          /* [n]: what the cache holds */
    size_t n, cap;
    uint64_t used;  /* when, by a count */
    bool cancelled; /* perhaps its next call ends at once */
} vug_kept;

typedef struct {
    vug_model *model;
    vug_metrics *metrics;
    vug_kept *kept; /* [max] */
    int max;
    uint64_t bytes; /* of one */
    uint64_t count;
} vug_sessions;

/* With one session made already. `max` 0: as many as fit into an eighth of the machine's
 * memory, 1 to 4. `limit`: of all memory, or 0. */
VUG_MUST_CHECK vug_status vug_sessions_init(vug_sessions *s, vug_model *model, int max,
                                            uint64_t limit, vug_metrics *metrics, vug_err *err);
void vug_sessions_release(vug_sessions *s);

/*
 * The one for a prompt. What a conversation has in its cache is worth keeping: a session is
 * taken for another prompt only if that begins with at least half of it, or is all in it,
 * as when an answer is asked for again; of those the one that shares most. Else a new one
 * while there may be more, else the one that shares at least half of the prompt, else that
 * which was not used the longest.
 */
VUG_MUST_CHECK vug_status vug_sessions_take(vug_sessions *s, const int32_t *id, size_t n,
                                            vug_kept **out, vug_err *err);
/* After a call: what was given to it, and what it generated. */
void vug_sessions_keep(vug_kept *kept, const int32_t *id, size_t n, const vug_tokens *answer);

#endif
