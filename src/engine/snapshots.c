/*
 * Snapshots: copies of a session's sliding windows as they were before some of its tokens.
 *
 * The caches of sliding layers are rings that overwrite old tokens. With a copy of the windows
 * before a token, and the other caches as they are, a session can go back to that token.
 */
#include "engine/session.h"

/* The number of snapshots that a session can keep; 0 if the model has no sliding layers. */
static size_t max_snapshots(const vug_model *m)
{
    return m->backend->sizes(m->main.program).window_snapshot_bytes ? (size_t)m->snapshots : 0;
}

vug_status vug_snapshots_init(vug_session *s, vug_err *err)
{
    const vug_model *m = s->model;
    const size_t most = max_snapshots(m);
    if (most == 0)
        return VUG_OK;
    s->snapshot = vug_alloc_zero(most, sizeof(*s->snapshot));
    if (!s->snapshot)
        return VUG_FAIL_NOMEM(err, "snapshots", most * sizeof(*s->snapshot));
    for (size_t i = 0; i < most; i++)
        VUG_TRY(m->backend->window_snapshot_create(m->main.program, &s->snapshot[i].windows, err));
    return VUG_OK;
}

void vug_snapshots_release(vug_session *s)
{
    for (size_t i = 0; s->snapshot && i < max_snapshots(s->model); i++) {
        if (s->snapshot[i].windows)
            s->model->backend->state_destroy(s->snapshot[i].windows);
    }
    vug_free(s->snapshot);
}

const vug_snapshot *vug_snapshot_before(const vug_session *s, size_t n)
{
    const vug_snapshot *last = NULL;
    for (size_t i = 0; i < s->n_snapshots && s->snapshot[i].at <= n; i++)
        last = &s->snapshot[i];
    return last;
}

void vug_snapshots_drop_after(vug_session *s, size_t n)
{
    while (s->n_snapshots > 0 && s->snapshot[s->n_snapshots - 1].at > n)
        s->n_snapshots--;
}

/* The snapshot whose loss costs the least once the session is at token `end`. Without it, going
 * back to its token restores the one before and computes the gap again; the cost is that gap
 * relative to the distance from the end. So snapshots thin out towards the beginning, where one or
 * two remain. */
static size_t least_useful(const vug_session *s, size_t end)
{
    size_t least = 0, least_gap = 0, least_distance = 0;
    for (size_t i = 0; i < s->n_snapshots; i++) {
        const size_t before = i > 0 ? s->snapshot[i - 1].at : 0;
        const size_t after = i + 1 < s->n_snapshots ? s->snapshot[i + 1].at : end;
        const size_t gap = after - before, distance = end + (size_t)s->model->info.batch - before;
        if (i == 0 || gap * least_distance < least_gap * distance) {
            least = i;
            least_gap = gap;
            least_distance = distance;
        }
    }
    return least;
}

bool vug_session_can_go_back(const vug_session *s, size_t n)
{
    const vug_program_sizes sizes = s->model->backend->sizes(s->model->main.program);
    const int64_t end = (int64_t)n, written = (int64_t)s->written;
    for (int64_t i = 0; i < s->model->info.n_layers; i++) {
        const vug_cache_size *c = &sizes.cache[i];
        const int64_t first_needed = end - c->window + 1, first_held = written - c->slots;
        if (c->window && first_held > 0 && first_needed < first_held)
            return false;
    }
    return n >= s->floor;
}

void vug_snapshot_take(vug_session *s, size_t n)
{
    const vug_model *m = s->model;
    vug_snapshots_drop_after(s, n);
    const bool exists = s->n_snapshots > 0 && s->snapshot[s->n_snapshots - 1].at == n;
    if (max_snapshots(m) == 0 || n == 0 || exists || !vug_session_can_go_back(s, n))
        return;
    if (s->n_snapshots == max_snapshots(m)) {
        const size_t i = least_useful(s, n);
        const vug_snapshot removed = s->snapshot[i];
        s->n_snapshots--;
        memmove(&s->snapshot[i], &s->snapshot[i + 1], (s->n_snapshots - i) * sizeof(removed));
        s->snapshot[s->n_snapshots] = removed;
    }
    vug_snapshot *next = &s->snapshot[s->n_snapshots++];
    next->at = n;
    m->backend->window_snapshot_save(m->main.program, next->windows, s->state, (int64_t)n);
}

void vug_snapshot_restore(vug_session *to, const vug_snapshot *snapshot)
{
    const vug_model *m = to->model;
    m->backend->window_snapshot_restore(m->main.program, to->state, snapshot->windows,
                                        (int64_t)snapshot->at);
    to->written = to->floor = snapshot->at;
}
