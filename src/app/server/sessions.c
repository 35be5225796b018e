#include "app/server/sessions.h"

#include "core/mem.h"
#include "core/os.h"

enum {
    MOST_BY_DEFAULT = 4,
    SHARE_OF_MEMORY = 8,
    WORTH_COPYING = 16, /* tokens; fewer, such as what opens every prompt, are as soon read */
};

static int fitting(const vug_memory_plan *plan, uint64_t bytes, int max, uint64_t limit)
{
    const bool free_choice = max == 0;
    uint64_t most = free_choice ? MOST_BY_DEFAULT : (uint64_t)max;
    const uint64_t room = free_choice ? vug_memory_size() / SHARE_OF_MEMORY : UINT64_MAX;
    if (bytes && room / bytes < most)
        most = room / bytes;
    const uint64_t left = limit > plan->total ? limit - plan->total : 0;
    if (limit && bytes && left / bytes + 1 < most)
        most = left / bytes + 1;
    return most < 1 ? 1 : (int)most;
}

static void say_memory(const vug_sessions *s)
{
    int n = 0;
    for (int i = 0; i < s->max; i++)
        n += s->kept[i].session != NULL;
    vug_metrics_set(s->metrics, VUG_METRIC_SESSIONS, n);
    vug_metrics_set(s->metrics, VUG_METRIC_CACHE_BYTES, (double)s->bytes * n);
}

static vug_status make(vug_sessions *s, vug_kept_session *kept, vug_err *err)
{
    VUG_TRY(vug_session_create(s->model, &kept->session, err));
    say_memory(s);
    return VUG_OK;
}

vug_status vug_sessions_init(vug_sessions *s, vug_model *model, int max, uint64_t limit,
                             vug_metrics *metrics, vug_err *err)
{
    const vug_memory_plan plan = vug_model_describe(model).memory;
    *s = (vug_sessions){ .model = model, .metrics = metrics };
    s->bytes = plan.session_cache + plan.session_buffers + plan.session_snapshots;
    s->max = fitting(&plan, s->bytes, max, limit);
    s->kept = vug_alloc_zero((size_t)s->max, sizeof(*s->kept));
    if (!s->kept)
        return VUG_FAIL_NOMEM(err, "sessions", (size_t)s->max * sizeof(*s->kept));
    const vug_status st = make(s, &s->kept[0], err);
    if (st != VUG_OK)
        vug_sessions_release(s);
    return st;
}

void vug_sessions_release(vug_sessions *s)
{
    for (int i = 0; s->kept && i < s->max; i++)
        vug_session_destroy(s->kept[i].session);
    vug_free(s->kept);
    *s = (vug_sessions){ 0 };
}

/* ---- finding one ---------------------------------------------------------------------- */

static size_t held(const vug_kept_session *kept)
{
    return kept->session ? vug_session_length(kept->session) : 0;
}

/* Whether a prompt that has `common` tokens with it goes on with what was said there, or asks
 * for the last answer again: then nobody else needs what lies behind. */
static bool goes_on(const vug_kept_session *kept, size_t common)
{
    return common > 0 && (common == held(kept) || common >= kept->n_said);
}

typedef struct {
    vug_kept_session *own; /* the prompt's conversation, or NULL */
    vug_kept_session
            *most; /* what has the most of the prompt that can be used; NULL: none has any */
    vug_kept_session *free; /* an empty one, or that which was not used the longest */
    size_t own_common, most_cached;
} found;

static bool is_freer(const vug_kept_session *a, const vug_kept_session *b)
{
    if (!b || (held(a) == 0) != (held(b) == 0))
        return !b || held(a) == 0;
    if (!a->session != !b->session)
        return a->session != NULL;
    return a->used < b->used;
}

static found find(vug_sessions *s, const vug_said *said)
{
    found f = { 0 };
    for (int i = 0; i < s->max; i++) {
        vug_kept_session *kept = &s->kept[i];
        size_t common = 0, cached = 0;
        if (held(kept) > 0)
            cached = vug_session_cached(kept->session, said->id, said->n, &common);
        if (goes_on(kept, common) && common > f.own_common) {
            f.own = kept;
            f.own_common = common;
        }
        if (cached > f.most_cached) {
            f.most = kept;
            f.most_cached = cached;
        }
        if (is_freer(kept, f.free))
            f.free = kept;
    }
    return f;
}

/* Where memory for another one is lacking, one of those that are there does. */
static vug_kept_session *any_made(vug_sessions *s)
{
    vug_kept_session *oldest = NULL;
    for (int i = 0; i < s->max; i++) {
        if (s->kept[i].session && (!oldest || s->kept[i].used < oldest->used))
            oldest = &s->kept[i];
    }
    return oldest;
}

vug_status vug_sessions_take(vug_sessions *s, const vug_said *said, vug_kept_session **out,
                             vug_err *err)
{
    const found f = find(s, said);
    vug_kept_session *kept = f.own ? f.own : f.free;
    VUG_ASSERT(kept); /* there is one at least */
    if (!kept->session) {
        const vug_status st = make(s, kept, err);
        if (st == VUG_NOMEM || st == VUG_LIMIT)
            kept = any_made(s);
        if (st != VUG_OK && (!kept || !kept->session))
            return st;
    }
    size_t common;
    if (f.most && f.most != kept &&
        f.most_cached >=
                WORTH_COPYING + vug_session_cached(kept->session, said->id, said->n, &common))
        vug_session_copy(kept->session, f.most->session, said->id, said->n);
    kept->n_said = said->n_said;
    kept->used = ++s->count;
    *out = kept;
    return VUG_OK;
}
