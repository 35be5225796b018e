#ifndef VUG_APP_SERVER_SESSIONS_H
#define VUG_APP_SERVER_SESSIONS_H

/*
 * Sessions that are kept between requests, so that a conversation that goes on finds what
 * the model has read of it. Used by one thread.
 */

#include "app/server/metrics.h"
#include "vug/vug.h"

typedef struct {
    vug_session *session; /* NULL: not made yet */
    size_t n_said;        /* of its last prompt */
    uint64_t used;        /* when, by a count */
    bool cancelled;       /* perhaps its next call ends at once */
} vug_kept_session;

typedef struct {
    vug_model *model;
    vug_metrics *metrics;
    vug_kept_session *kept; /* [max] */
    int max;
    uint64_t bytes; /* of one */
    uint64_t count;
} vug_sessions;

/* With one session made already. `max` 0: as many as fit into an eighth of the machine's
 * memory, 1 to 4. `limit`: of all memory, or 0. */
VUG_MUST_CHECK vug_status vug_sessions_init(vug_sessions *s, vug_model *model, int max,
                                            uint64_t limit, vug_metrics *metrics, vug_err *err);
void vug_sessions_release(vug_sessions *s);

/* A prompt, and how many of its tokens somebody has said: those behind them open the
 * answer, and conversations that go on may not repeat them. */
typedef struct {
    const int32_t *id; /* [n] */
    size_t n, n_said;
} vug_said;

/*
 * The one for a prompt, of all sessions the one that has the most of it. Where that is the
 * beginning of another conversation, which would be lost, it is copied into one that is
 * empty, or else that was not used the longest.
 */
VUG_MUST_CHECK vug_status vug_sessions_take(vug_sessions *s, const vug_said *said,
                                            vug_kept_session **out, vug_err *err);

#endif
