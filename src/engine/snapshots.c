/*
 * Snapshots: the windows of a session as they were before some of its tokens.
 *
 * Caches of sliding layers are rings and forget the way back. With the windows before a token,
 * and what the other caches still have, a session can go on from there as if it had never been
 * further.
 */
#include "engine/session.h"

vug_status vug_snapshots_init(vug_session *s, vug_err *err)
{
    const vug_model *m = s->model;
    const size_t most = vug_snapshots_most(m);
    if (most == 0)
        return VUG_OK;
    s->snapshot = vug_alloc_zero(most, sizeof(*s->snapshot));
    if (!s->snapshot)
        return VUG_FAIL_NOMEM(err, "snapshots", most * sizeof(*s->snapshot));
    for (size_t i = 0; i < most; i++)
        VUG_TRY(m->backend->windows_create(m->main.program, &s->snapshot[i].windows, err));
    return VUG_OK;
}

void vug_snapshots_release(vug_session *s)
{
    for (size_t i = 0; s->snapshot && i < vug_snapshots_most(s->model); i++) {
        if (s->snapshot[i].windows)
            s->model->backend->state_destroy(s->snapshot[i].windows);
    }
    vug_free(s->snapshot);
}

size_t vug_snapshots_most(const vug_model *m)
{
    return m->backend->sizes(m->main.program).windows_bytes ? (size_t)m->snapshots : 0;
}

const vug_snapshot *vug_snapshot_before(const vug_session *s, size_t n)
{
    const vug_snapshot *last = NULL;
    for (size_t i = 0; i < s->n_snapshots && s->snapshot[i].at <= n; i++)
        last = &s->snapshot[i];
    return last;
}

void vug_snapshots_forget(vug_session *s, size_t n)
{
    while (s->n_snapshots > 0 && s->snapshot[s->n_snapshots - 1].at > n)
        s->n_snapshots--;
}

/* The one that is missed the least when token `end` is reached: whoever goes back to where it
 * was, and finds the one before it, reads few tokens again beside those that lie behind. So they
 * become rarer towards the beginning, and one or two stay there. */
static size_t least_missed(const vug_session *s, size_t end)
{
    size_t least = 0, least_gap = 0, least_way = 0;
    for (size_t i = 0; i < s->n_snapshots; i++) {
        const size_t before = i > 0 ? s->snapshot[i - 1].at : 0;
        const size_t behind = i + 1 < s->n_snapshots ? s->snapshot[i + 1].at : end;
        const size_t gap = behind - before, way = end + (size_t)s->model->info.batch - before;
        if (i == 0 || gap * least_way < least_gap * way) {
            least = i;
            least_gap = gap;
            least_way = way;
        }
    }
    return least;
}

void vug_snapshot_take(vug_session *s, size_t n)
{
    const vug_model *m = s->model;
    vug_snapshots_forget(s, n);
    const bool there = s->n_snapshots > 0 && s->snapshot[s->n_snapshots - 1].at == n;
    if (vug_snapshots_most(m) == 0 || n == 0 || there || !vug_session_can_go_back(s, n))
        return;
    if (s->n_snapshots == vug_snapshots_most(m)) {
        const size_t i = least_missed(s, n);
        const vug_snapshot gone = s->snapshot[i];
        s->n_snapshots--;
        memmove(&s->snapshot[i], &s->snapshot[i + 1], (s->n_snapshots - i) * sizeof(gone));
        s->snapshot[s->n_snapshots] = gone;
    }
    vug_snapshot *next = &s->snapshot[s->n_snapshots++];
    next->at = n;
    m->backend->windows_save(m->main.program, next->windows, s->state, (int64_t)n);
}

void vug_snapshot_restore(vug_session *to, const vug_snapshot *snapshot)
{
    const vug_model *m = to->model;
    m->backend->windows_restore(m->main.program, to->state, snapshot->windows,
                                (int64_t)snapshot->at);
    to->written = to->floor = snapshot->at;
}
