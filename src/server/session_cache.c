#include "server/session_cache.h"

#include "core/mem.h"
#include "core/os.h"

enum {
    MAX_BY_DEFAULT = 4,
    MEMORY_SHARE = 8,
    MIN_COPIED = 16, /* tokens; recomputing fewer, such as the start of every prompt, is as fast */
};

static int count_fitting(const vug_memory_plan *plan, uint64_t bytes, int max, uint64_t limit)
{
    const bool by_default = max == 0;
    uint64_t most = by_default ? MAX_BY_DEFAULT : (uint64_t)max;
    const uint64_t room = by_default ? vug_memory_size() / MEMORY_SHARE : UINT64_MAX;
    if (bytes && room / bytes < most)
        most = room / bytes;
    const uint64_t left = limit > plan->total ? limit - plan->total : 0;
    if (limit && bytes && left / bytes + 1 < most)
        most = left / bytes + 1;
    return most < 1 ? 1 : (int)most;
}

static void update_metrics(const vug_session_cache *s)
{
    int n = 0;
    for (int i = 0; i < s->max; i++)
        n += s->cached[i].session != NULL;
    vug_metrics_set(s->metrics, VUG_METRIC_SESSIONS, n);
    vug_metrics_set(s->metrics, VUG_METRIC_CACHE_BYTES, (double)s->bytes * n);
}

static vug_status create_session(vug_session_cache *s, vug_cached_session *cached, vug_err *err)
{
    VUG_TRY(vug_session_create(s->model, &cached->session, err));
    update_metrics(s);
    return VUG_OK;
}

vug_status vug_session_cache_init(vug_session_cache *s, vug_model *model, int max, uint64_t limit,
                                  vug_metrics *metrics, vug_err *err)
{
    const vug_memory_plan plan = vug_model_describe(model).memory;
    *s = (vug_session_cache){ .model = model, .metrics = metrics };
    s->bytes = plan.session_cache + plan.session_buffers + plan.session_snapshots;
    s->max = count_fitting(&plan, s->bytes, max, limit);
    s->cached = vug_alloc_zero((size_t)s->max, sizeof(*s->cached));
    if (!s->cached)
        return VUG_FAIL_NOMEM(err, "sessions", (size_t)s->max * sizeof(*s->cached));
    const vug_status st = create_session(s, &s->cached[0], err);
    if (st != VUG_OK)
        vug_session_cache_release(s);
    return st;
}

void vug_session_cache_release(vug_session_cache *s)
{
    for (int i = 0; s->cached && i < s->max; i++)
        vug_session_destroy(s->cached[i].session);
    vug_free(s->cached);
    *s = (vug_session_cache){ 0 };
}

/* ---- finding one ---------------------------------------------------------------------- */

static size_t session_length(const vug_cached_session *cached)
{
    return cached->session ? vug_session_length(cached->session) : 0;
}

/* Whether a prompt that shares `common` tokens with a session continues its conversation or repeats
 * its last request: then the rest of the session is not needed any more. */
static bool is_same_conversation(const vug_cached_session *cached, size_t common)
{
    return common > 0 && (common == session_length(cached) || common >= cached->n_stable);
}

typedef struct {
    vug_cached_session *own;  /* of the prompt's conversation, or NULL */
    vug_cached_session *best; /* with the longest usable prefix; NULL: none has any */
    vug_cached_session *free; /* empty, or least recently used */
    size_t own_common, best_usable;
} session_search;

static bool is_better_victim(const vug_cached_session *a, const vug_cached_session *b)
{
    if (!b || (session_length(a) == 0) != (session_length(b) == 0))
        return !b || session_length(a) == 0;
    if (!a->session != !b->session)
        return a->session != NULL;
    return a->last_used < b->last_used;
}

static session_search search_sessions(vug_session_cache *s, const vug_session_cache_prompt *prompt)
{
    session_search f = { 0 };
    for (int i = 0; i < s->max; i++) {
        vug_cached_session *cached = &s->cached[i];
        size_t common = 0, usable = 0;
        if (session_length(cached) > 0)
            usable = vug_session_cached(cached->session, prompt->id, prompt->n, &common);
        if (is_same_conversation(cached, common) && common > f.own_common) {
            f.own = cached;
            f.own_common = common;
        }
        if (usable > f.best_usable) {
            f.best = cached;
            f.best_usable = usable;
        }
        if (is_better_victim(cached, f.free))
            f.free = cached;
    }
    return f;
}

/* Used when there is no memory for another session. */
static vug_cached_session *oldest_session(vug_session_cache *s)
{
    vug_cached_session *oldest = NULL;
    for (int i = 0; i < s->max; i++) {
        if (s->cached[i].session && (!oldest || s->cached[i].last_used < oldest->last_used))
            oldest = &s->cached[i];
    }
    return oldest;
}

vug_status vug_session_cache_acquire(vug_session_cache *s, const vug_session_cache_prompt *prompt,
                                     vug_cached_session **out, vug_err *err)
{
    const session_search f = search_sessions(s, prompt);
    vug_cached_session *cached = f.own ? f.own : f.free;
    VUG_ASSERT(cached); /* there is at least one */
    if (!cached->session) {
        const vug_status st = create_session(s, cached, err);
        if (st == VUG_NOMEM || st == VUG_LIMIT)
            cached = oldest_session(s);
        if (st != VUG_OK && (!cached || !cached->session))
            return st;
    }
    size_t common;
    if (f.best && f.best != cached &&
        f.best_usable >=
                MIN_COPIED + vug_session_cached(cached->session, prompt->id, prompt->n, &common))
        vug_session_copy(cached->session, f.best->session, prompt->id, prompt->n);
    cached->n_stable = prompt->n_stable;
    cached->last_used = ++s->n_uses;
    *out = cached;
    return VUG_OK;
}
