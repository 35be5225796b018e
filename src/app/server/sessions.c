#include "app/server/sessions.h"

#include <string.h>

#include "core/mem.h"
#include "core/os.h"

enum { MOST_BY_DEFAULT = 4, SHARE_OF_MEMORY = 8 };

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

static vug_status make(vug_sessions *s, vug_kept *kept, vug_err *err)
{
    const size_t cap = (size_t)vug_model_describe(s->model).context;
    int32_t *id = vug_alloc(cap, sizeof(*id));
    if (!id)
        return VUG_FAIL_NOMEM(err, "a session", cap * sizeof(*id));
    const vug_status st = vug_session_create(s->model, &kept->session, err);
    if (st != VUG_OK) {
        vug_free(id);
        return st;
    }
    kept->id = id;
    kept->cap = cap;
    say_memory(s);
    return VUG_OK;
}

vug_status vug_sessions_init(vug_sessions *s, vug_model *model, int max, uint64_t limit,
                             vug_metrics *metrics, vug_err *err)
{
    const vug_memory_plan plan = vug_model_describe(model).memory;
    *s = (vug_sessions){ .model = model, .metrics = metrics };
    s->bytes = plan.session_cache + plan.session_buffers;
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
    for (int i = 0; s->kept && i < s->max; i++) {
        vug_session_destroy(s->kept[i].session);
        vug_free(s->kept[i].id);
    }
    vug_free(s->kept);
    *s = (vug_sessions){ 0 };
}

static size_t shared(const vug_kept *kept, const int32_t *id, size_t n)
{
    size_t k = 0;
    while (k < kept->n && k < n && kept->id[k] == id[k])
        k++;
    return k;
}

/* Prefers what shares more, then what was used longer ago. */
static bool is_better(const vug_kept *a, size_t shared_a, const vug_kept *b, size_t shared_b)
{
    return !b || shared_a > shared_b || (shared_a == shared_b && a->used < b->used);
}

static vug_kept *find(vug_sessions *s, const int32_t *id, size_t n)
{
    vug_kept *going_on = NULL, *similar = NULL, *empty = NULL, *oldest = NULL;
    size_t most = 0, most_similar = 0;
    for (int i = 0; i < s->max; i++) {
        vug_kept *kept = &s->kept[i];
        const size_t k = shared(kept, id, n);
        if (!kept->session || kept->n == 0) {
            if (!empty || (!empty->session && kept->session))
                empty = kept;
            continue;
        }
        if ((k >= kept->n - k || k + 1 >= n) && is_better(kept, k, going_on, most)) {
            going_on = kept;
            most = k;
        }
        if (k >= n - k && is_better(kept, k, similar, most_similar)) {
            similar = kept;
            most_similar = k;
        }
        if (!oldest || kept->used < oldest->used)
            oldest = kept;
    }
    if (going_on)
        return going_on;
    if (empty)
        return empty;
    return similar ? similar : oldest;
}

/* Where memory for another one is lacking, one of those that are there does. */
static vug_kept *any_made(vug_sessions *s)
{
    vug_kept *oldest = NULL;
    for (int i = 0; i < s->max; i++) {
        if (s->kept[i].session && (!oldest || s->kept[i].used < oldest->used))
            oldest = &s->kept[i];
    }
    return oldest;
}

vug_status vug_sessions_take(vug_sessions *s, const int32_t *id, size_t n, vug_kept **out,
                             vug_err *err)
{
    vug_kept *kept = find(s, id, n);
    if (!kept->session) {
        const vug_status st = make(s, kept, err);
        if (st == VUG_NOMEM || st == VUG_LIMIT)
            kept = any_made(s);
        else if (st != VUG_OK)
            return st;
    }
    kept->used = ++s->count;
    *out = kept;
    return VUG_OK;
}

void vug_sessions_keep(vug_kept *kept, const int32_t *id, size_t n, const vug_tokens *answer)
{
    const size_t held = vug_session_length(kept->session);
    const size_t of_prompt = held < n ? held : n;
    const size_t more = held - of_prompt < answer->n ? held - of_prompt : answer->n;
    memcpy(kept->id, id, of_prompt * sizeof(*id));
    if (more)
        memcpy(kept->id + of_prompt, answer->id, more * sizeof(*id));
    kept->n = of_prompt + more;
}
