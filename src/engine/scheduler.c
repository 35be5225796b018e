/* The scheduler itself, its sequences, and what it tells about them. */
#include "engine/scheduler_state.h"

/* ---- lifetime --------------------------------------------------------------------------- */

static vug_status alloc_parts(vug_step_parts *parts, size_t batch, vug_err *err)
{
    parts->part = vug_alloc(batch, sizeof(*parts->part));
    parts->part_of = vug_alloc(batch, sizeof(vug_scheduled *));
    if (!parts->part || !parts->part_of)
        return VUG_FAIL_NOMEM(err, "the scheduler", batch * sizeof(*parts->part));
    return VUG_OK;
}

vug_status vug_scheduler_create(vug_model *model, vug_scheduler **out, vug_err *err)
{
    const size_t batch = (size_t)model->limits.batch;
    vug_scheduler *s = vug_alloc_zero(1, sizeof(*s));
    if (!s)
        return VUG_FAIL_NOMEM(err, "the scheduler", sizeof(*s));
    s->model = model;
    vug_step_costs_init(&s->costs);
    s->goes_ahead = model->backend->start && !model->is_split;
    vug_status st = alloc_parts(&s->now, batch, err);
    if (st == VUG_OK)
        st = alloc_parts(&s->ahead, batch, err);
    if (st == VUG_OK)
        st = vug_mutex_create(&s->lock, err);
    if (st == VUG_OK)
        st = vug_cond_create(&s->changed, err);
    if (st != VUG_OK) {
        vug_scheduler_destroy(s);
        return st;
    }
    *out = s;
    return VUG_OK;
}

void vug_scheduler_destroy(vug_scheduler *s)
{
    if (!s)
        return;
    VUG_ASSERT(!s->first);
    vug_cond_destroy(s->changed);
    vug_mutex_destroy(s->lock);
    vug_free(s->now.part);
    vug_free(s->now.part_of);
    vug_free(s->ahead.part);
    vug_free(s->ahead.part_of);
    vug_free(s->waiting);
    vug_free(s);
}

vug_status vug_scheduler_add(vug_scheduler *s, vug_scheduled *sequence, size_t capacity,
                             vug_err *err)
{
    *sequence = (vug_scheduled){ 0 };
    const vug_kv_shared shared = { s->model->kv_pool, s->model->prefix_tree, s->model->kv_disk };
    VUG_TRY(vug_mutex_create(&sequence->call.lock, err));
    VUG_TRY(vug_cond_create(&sequence->call.changed, err));
    VUG_TRY(vug_kv_sequence_init(&sequence->kv, &shared, capacity, err));
    vug_status st = VUG_OK;
    vug_mutex_lock(s->lock);
    vug_scheduled **grown =
            vug_grow_array(s->waiting, &s->cap_waiting, s->n_sequences, sizeof(vug_scheduled *));
    if (grown) {
        s->waiting = grown;
        s->n_sequences++;
        sequence->next = s->first;
        s->first = sequence;
    } else {
        st = VUG_FAIL_NOMEM(err, "a sequence", s->n_sequences * sizeof(vug_scheduled *));
    }
    vug_mutex_unlock(s->lock);
    return st;
}

void vug_scheduler_remove(vug_scheduler *s, vug_scheduled *sequence)
{
    vug_mutex_lock(s->lock);
    vug_scheduler_drop_ahead(s, sequence);
    vug_scheduler_stop_expecting(s, sequence);
    if (sequence->kv.pool)
        vug_kv_sequence_end(&sequence->kv);
    for (vug_scheduled **at = &s->first; *at; at = &(*at)->next) {
        if (*at != sequence)
            continue;
        *at = sequence->next;
        s->n_sequences--;
        break;
    }
    vug_cond_broadcast(s->changed);
    vug_mutex_unlock(s->lock);
    vug_kv_sequence_release(&sequence->kv);
    vug_cond_destroy(sequence->call.changed);
    vug_mutex_destroy(sequence->call.lock);
}

/* ---- sequences ---------------------------------------------------------------------------- */

void vug_scheduler_mark(vug_scheduler *s, vug_scheduled *sequence, vug_mark mark)
{
    vug_mutex_lock(s->lock);
    vug_kv_sequence_mark(&sequence->kv, mark);
    vug_mutex_unlock(s->lock);
}

void vug_scheduler_share(vug_scheduler *s, vug_scheduled *sequence)
{
    vug_mutex_lock(s->lock);
    vug_scheduler_drop_ahead(s, sequence);
    vug_kv_sequence_publish_copy(&sequence->kv);
    vug_mutex_unlock(s->lock);
}

void vug_scheduler_accept_draft(vug_scheduler *s, vug_scheduled *sequence, int32_t id)
{
    vug_mutex_lock(s->lock);
    vug_scheduler_drop_ahead(s, sequence);
    vug_kv_sequence_accept(&sequence->kv, id);
    vug_mutex_unlock(s->lock);
}

void vug_scheduler_truncate(vug_scheduler *s, vug_scheduled *sequence, size_t n)
{
    vug_mutex_lock(s->lock);
    vug_scheduler_drop_ahead(s, sequence);
    (void)vug_kv_sequence_truncate(&sequence->kv, n);
    vug_mutex_unlock(s->lock);
}

vug_step_costs vug_scheduler_load_costs(vug_scheduler *s)
{
    vug_mutex_lock(s->lock);
    const vug_step_costs costs = s->costs;
    vug_mutex_unlock(s->lock);
    return costs;
}

void vug_scheduler_store_costs(vug_scheduler *s, const vug_step_costs *costs)
{
    vug_mutex_lock(s->lock);
    s->costs = *costs;
    vug_mutex_unlock(s->lock);
}

void vug_scheduler_pause(vug_scheduler *s, vug_scheduled *sequence)
{
    vug_mutex_lock(s->lock);
    vug_scheduler_stop_expecting(s, sequence);
    sequence->ahead.has_result = false;
    sequence->ahead.is_dropped = sequence->n_steps > 0; /* nobody waits for these to end */
    sequence->in_use = false;
    sequence->plan = NULL;
    vug_cond_broadcast(s->changed); /* its pages may be taken now */
    vug_mutex_unlock(s->lock);
}

void vug_scheduler_end(vug_scheduler *s, vug_scheduled *sequence)
{
    vug_mutex_lock(s->lock);
    vug_scheduler_drop_ahead(s, sequence);
    vug_scheduler_stop_expecting(s, sequence);
    vug_kv_sequence_end(&sequence->kv);
    sequence->admitted = 0;
    sequence->in_use = false;
    sequence->plan = NULL;
    vug_cond_broadcast(s->changed);
    vug_mutex_unlock(s->lock);
}

vug_cache_stats vug_scheduler_get_cache_stats(vug_scheduler *s)
{
    vug_mutex_lock(s->lock);
    const vug_kv_pool_stats pool = vug_kv_pool_get_stats(s->model->kv_pool);
    const vug_prefix_stats tree = vug_prefix_get_stats(s->model->prefix_tree);
    vug_cache_stats stats = {
        .budget = pool.budget,
        .used = pool.used - tree.evictable,
        .cached = tree.evictable,
        .snapshots = tree.snapshots,
        .snapshot_bytes = tree.snapshot_bytes,
        .evictions = tree.evictions,
        .pages = pool.pages,
    };
    for (const vug_scheduled *sequence = s->first; sequence; sequence = sequence->next)
        stats.sessions += vug_kv_sequence_has_pages(&sequence->kv);
    vug_mutex_unlock(s->lock);
    return stats;
}
