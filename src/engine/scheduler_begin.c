/* Beginning a sequence with what is cached of its prefix, on disk too, or what another sequence
 * computes at the time. */
#include "engine/scheduler_state.h"

#include "core/os.h"

/* The tokens that a sequence will hold when its caller has what it wants, as far as is known. */
static size_t future_length(const vug_scheduled *s)
{
    if (s->plan && (s->job || vug_now() < s->plan_end))
        return s->n_plan;
    return s->job ? s->kv.n + vug_scheduled_remaining(s) : 0;
}

static int32_t future_token(const vug_scheduled *s, size_t i)
{
    if (s->plan)
        return s->plan[i];
    return i < s->kv.n_tokens ? s->kv.token[i] : s->job->token[s->done + i - s->kv.n_tokens];
}

/* Whether a sequence is computing more of the prefix than the first `have` tokens, by a page at
 * least. */
static bool is_computing(const vug_scheduled *s, const int32_t *id, size_t n, size_t have)
{
    const size_t end = future_length(s);
    const size_t common_end = (n < end ? n : end) / VUG_KV_PAGE * VUG_KV_PAGE;
    size_t common = 0;
    if (common_end < have + VUG_KV_PAGE || common_end <= s->kv.n)
        return false;
    while (common < common_end && future_token(s, common) == id[common])
        common++;
    common = common / VUG_KV_PAGE * VUG_KV_PAGE;
    return common >= have + VUG_KV_PAGE && common > s->kv.n;
}

/* Whether `b` can use what `a` computes. */
static bool can_share(const vug_scheduled *a, const vug_scheduled *b)
{
    return !a->kv.is_private && memcmp(&a->root, &b->root, sizeof(a->root)) == 0;
}

static bool is_being_computed(const vug_scheduler *s, const vug_scheduled *by_others_than,
                              const int32_t *id, size_t n, size_t have)
{
    for (const vug_scheduled *other = s->first; other; other = other->next) {
        /* The root of a sequence that computes nothing is its caller's to change. */
        if (other != by_others_than && is_computing(other, id, n, have) &&
            can_share(other, by_others_than))
            return true;
    }
    return false;
}

/* Whether a sequence can go on as it is: the tokens are its own and others, and the tree does not
 * have a page more. */
static bool continues(const vug_scheduler *s, const vug_scheduled *sequence, const int32_t *id,
                      size_t n)
{
    const vug_kv_sequence *kv = &sequence->kv;
    if (kv->n_tokens == 0 || kv->n_tokens >= n ||
        memcmp(kv->token, id, kv->n_tokens * sizeof(*id)) != 0)
        return false;
    return kv->is_private ||
           vug_prefix_peek(s->model->prefix_tree, &kv->key, id, n, n - 1) < kv->n + VUG_KV_PAGE;
}

/* Reads into the tree what the disk has of a prefix beyond the tree; others go on meanwhile. */
static void read_from_disk(vug_scheduler *s, const vug_prefix_key *key, const int32_t *id, size_t n)
{
    vug_kv_disk *disk = s->model->kv_disk;
    vug_kv_disk_read read;
    const size_t have = vug_prefix_peek(s->model->prefix_tree, key, id, n, n);
    vug_mutex_unlock(s->lock);
    const bool found = vug_kv_disk_find(disk, key, id, n, have, &read);
    vug_mutex_lock(s->lock);
    if (!found)
        return;
    s->n_reading++;
    if (vug_kv_disk_take(disk, &read)) {
        vug_mutex_unlock(s->lock);
        vug_kv_disk_load(disk, &read);
        vug_mutex_lock(s->lock);
    }
    vug_kv_disk_end(disk, key, id, &read);
    s->n_reading--;
    vug_cond_broadcast(s->changed); /* the pages may be taken now */
}

/* Tells others which tokens the sequence will hold. */
static void set_plan(vug_scheduled *sequence, const int32_t *id, size_t n)
{
    sequence->plan = id;
    sequence->n_plan = n;
    vug_scheduled_renew_plan(sequence);
}

void vug_scheduler_begin(vug_scheduler *s, vug_scheduled *sequence, const int32_t *id, size_t n,
                         bool whole, const vug_cancel_token *cancel)
{
    const vug_model *m = s->model;
    const vug_prefix_key *key = &sequence->root;
    vug_mutex_lock(s->lock);
    vug_scheduler_drop_ahead(s, sequence);
    sequence->in_use = true;
    sequence->ahead.is_undecided = false;
    sequence->plan = NULL; /* two that wait for each other would wait for ever */
    /* The next step still waits for a sequence that goes on. */
    if (!whole && continues(s, sequence, id, n)) {
        sequence->kv.miss = (vug_cache_miss){
            .reason = sequence->kv.n_tokens + 1 == n ? VUG_MISS_NONE : VUG_MISS_DIFFERS,
            .n_same = sequence->kv.n_tokens,
            .cached = -1,
        };
        set_plan(sequence, id, n);
        vug_mutex_unlock(s->lock);
        return;
    }
    vug_scheduler_stop_expecting(s, sequence);
    vug_kv_sequence_end(&sequence->kv);
    sequence->admitted = 0;
    vug_cond_broadcast(s->changed);
    while (!whole && !vug_is_cancelled(cancel) &&
           is_being_computed(s, sequence, id, n - 1,
                             vug_prefix_peek(m->prefix_tree, key, id, n, n - 1)))
        vug_scheduler_wait(s);
    if (!whole)
        set_plan(sequence, id, n); /* before others get the lock, while the disk is read */
    if (!whole && m->kv_disk && !vug_is_cancelled(cancel))
        read_from_disk(s, key, id, n - 1);
    if (whole)
        vug_kv_sequence_begin_private(&sequence->kv);
    else
        vug_kv_sequence_begin(&sequence->kv, key, id, n, n - 1);
    vug_scheduled_renew_plan(sequence);
    if (vug_kv_sequence_has_pages(&sequence->kv))
        sequence->admitted = ++s->n_admitted;
    vug_mutex_unlock(s->lock);
}
