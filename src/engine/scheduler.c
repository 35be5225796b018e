/* The threads of sequences: who waits, who runs the step, and who gets which result. */
#include "engine/scheduler_batch.h"

#include "core/cancel.h"
#include "core/os.h"

/* How long a step waits for the sequences of the last one: a part of its time, within limits. */
#define GRACE_PART  0.25
#define LEAST_GRACE 3e-4
#define MOST_GRACE  0.02

#define CANCEL_POLL_S 0.01 /* how often those who wait look whether a call is cancelled */

/* ---- lifetime --------------------------------------------------------------------------- */

vug_status vug_scheduler_create(vug_model *model, vug_scheduler **out, vug_err *err)
{
    const size_t batch = (size_t)model->limits.batch;
    vug_scheduler *s = vug_alloc_zero(1, sizeof(*s));
    if (!s)
        return VUG_FAIL_NOMEM(err, "the scheduler", sizeof(*s));
    s->model = model;
    vug_step_costs_init(&s->costs);
    s->part = vug_alloc(batch, sizeof(*s->part));
    s->part_of = vug_alloc(batch, sizeof(vug_scheduled *));
    vug_status st = VUG_OK;
    if (!s->part || !s->part_of)
        st = VUG_FAIL_NOMEM(err, "the scheduler", batch * sizeof(*s->part));
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
    vug_free(s->part);
    vug_free(s->part_of);
    vug_free(s->waiting);
    vug_free(s);
}

vug_status vug_scheduler_add(vug_scheduler *s, vug_scheduled *sequence, size_t capacity,
                             vug_err *err)
{
    *sequence = (vug_scheduled){ 0 };
    const vug_kv_shared shared = { s->model->kv_pool, s->model->prefix_tree, s->model->kv_disk };
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

/* The sequence is not expected any more. */
static void stop_expecting(vug_scheduler *s, vug_scheduled *sequence)
{
    if (!sequence->expected)
        return;
    sequence->expected = false;
    if (--s->n_expected == 0)
        vug_cond_broadcast(s->changed);
}

void vug_scheduler_remove(vug_scheduler *s, vug_scheduled *sequence)
{
    vug_mutex_lock(s->lock);
    stop_expecting(s, sequence);
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
}

/* ---- a step ------------------------------------------------------------------------------- */

static void expect_nobody(vug_scheduler *s)
{
    for (vug_scheduled *sequence = s->first; sequence && s->n_expected > 0;
         sequence = sequence->next) {
        s->n_expected -= sequence->expected;
        sequence->expected = false;
    }
}

/* The tokens of a part without its drafts. */
static size_t own_tokens(const vug_step_part *part)
{
    return part->n - part->n_draft;
}

/* Learns what the step's tokens cost. A step of prompts alone says most about them. */
static void measure_step(vug_scheduler *s, double seconds)
{
    size_t prompt = 0;
    for (size_t i = 0; i < s->n_parts; i++)
        prompt += own_tokens(&s->part[i]) > 1 ? s->part[i].n : 0;
    if (prompt == 0) {
        s->decode_s += (seconds - s->decode_s) * (s->decode_s > 0 ? 0.25 : 1);
        return;
    }
    const bool mixed = s->n_parts > 1 && seconds > s->decode_s;
    const double each = (mixed ? seconds - s->decode_s : seconds) / (double)prompt;
    if (prompt >= 16 || s->per_token_s == 0)
        s->per_token_s += (each - s->per_token_s) * (s->per_token_s > 0 ? 0.25 : 1);
}

/* Counts the finite rows of each part; the lock is not held. */
static void check_rows(const vug_scheduler *s)
{
    const size_t n_vocab = (size_t)s->model->info.n_vocab;
    const float *row = vug_step_logits(&s->model->main);
    for (size_t i = 0; i < s->n_parts; i++) {
        s->part_of[i]->n_finite = vug_step_count_finite(row, s->part[i].rows, n_vocab);
        row += s->part[i].rows * n_vocab;
    }
}

static vug_status fail_not_finite(vug_scheduled *sequence, const vug_step_part *part)
{
    return VUG_FAIL(&sequence->err, VUG_FORMAT,
                    "the model computes logits that are not finite numbers after tokens %zu to %zu "
                    "(the last is id %d): its weights may be damaged",
                    sequence->kv.n, sequence->kv.n + own_tokens(part) - 1,
                    part->token[own_tokens(part) - 1]);
}

/* Appends a part of a step that succeeded; `row` is its first row of logits. */
static void accept_part(vug_scheduler *s, vug_scheduled *sequence, const vug_step_part *part,
                        const float *row)
{
    const size_t own_rows = part->rows - part->n_draft;
    if (sequence->n_finite < own_rows) {
        vug_scheduled_finish(sequence, fail_not_finite(sequence, part));
        return;
    }
    const bool ends = vug_scheduled_ends_with(sequence, part);
    const bool was_lost = vug_scheduled_is_lost(sequence, part);
    vug_kv_sequence_append(&sequence->kv, part->token, own_tokens(part));
    sequence->done += was_lost ? 0 : own_tokens(part);
    if (!ends)
        return;
    const bool is_read = sequence->job->rows > 0;
    sequence->row = row;
    sequence->n_rows = is_read ? sequence->n_finite : 0;
    sequence->n_draft = sequence->n_finite - own_rows;
    sequence->was_alone = s->is_alone;
    s->readers += is_read;
    s->n_expected += is_read;
    sequence->expected = is_read;
    vug_scheduled_finish(sequence, VUG_OK);
}

/* Appends the tokens of a step that succeeded and hands out the rows of logits. */
static void accept_step(vug_scheduler *s)
{
    const float *row = vug_step_logits(&s->model->main);
    for (size_t i = 0; i < s->n_parts; i++) {
        accept_part(s, s->part_of[i], &s->part[i], row);
        row += s->part[i].rows * (size_t)s->model->info.n_vocab;
    }
}

/* A step that is given up fails nobody: calls that are cancelled end by themselves, and the next
 * step computes the tokens of the others. */
static void fail_step(vug_scheduler *s, vug_status st, const vug_err *err)
{
    if (st == VUG_CANCELLED && vug_is_cancelled(&s->stop_step))
        return;
    for (size_t i = 0; i < s->n_parts; i++) {
        s->part_of[i]->err = *err;
        vug_scheduled_finish(s->part_of[i], st);
    }
}

/* ---- cancelled calls ------------------------------------------------------------------------ */

static bool has_cancelled_part(const vug_scheduler *s)
{
    for (size_t i = 0; i < s->n_parts; i++) {
        const vug_extension *job = s->part_of[i]->job;
        if (job && vug_is_cancelled(job->cancel))
            return true;
    }
    return false;
}

/* Gives up the running step if somebody has waited too long for it to end. */
static void stop_step_if_late(vug_scheduler *s)
{
    if (s->step_end == 0 || !has_cancelled_part(s))
        return;
    const double now = vug_now();
    if (s->cancelled_at == 0)
        s->cancelled_at = now;
    if (vug_scheduler_should_stop(now, s->step_end, s->cancelled_at))
        vug_cancel_token_trigger(&s->stop_step);
}

/* Waits for a change, or a while: nothing tells that a call is cancelled. */
static void wait_for_change(vug_scheduler *s)
{
    vug_cond_wait_until(s->changed, s->lock, vug_now() + CANCEL_POLL_S);
    if (s->running)
        stop_step_if_late(s);
}

/* When a step that begins now will probably end. */
static double predict_end(const vug_scheduler *s, double now)
{
    size_t prompt = 0;
    for (size_t i = 0; i < s->n_parts; i++)
        prompt += own_tokens(&s->part[i]) > 1 ? s->part[i].n : 0;
    return now + s->decode_s + s->per_token_s * (double)prompt;
}

/* Runs the chosen step; the lock is held except while the device computes. */
static void run_step(vug_scheduler *s)
{
    vug_err err = { 0 };
    const double start = vug_now();
    const bool is_shared = s->n_parts > 1;
    const vug_cancel_token *cancel = is_shared ? &s->stop_step : s->part_of[0]->job->cancel;
    s->running = true;
    s->step_end = is_shared ? predict_end(s, start) : 0;
    s->cancelled_at = 0;
    vug_cancel_token_reset(&s->stop_step);
    for (size_t i = 0; i < s->n_parts; i++)
        s->part_of[i]->in_step = true;
    vug_mutex_unlock(s->lock);
    const vug_status st = vug_step_run(&s->model->main, s->part, s->n_parts, cancel, &err);
    const double seconds = vug_now() - start, grace = seconds * GRACE_PART;
    if (st == VUG_OK)
        check_rows(s);
    vug_mutex_lock(s->lock);
    s->running = false;
    s->was_step = true;
    s->step_end = 0;
    for (size_t i = 0; i < s->n_parts; i++)
        s->part_of[i]->in_step = false;
    if (st == VUG_OK) {
        measure_step(s, seconds);
        accept_step(s);
    } else {
        fail_step(s, st, &err);
    }
    s->deadline = start + seconds +
                  (grace < LEAST_GRACE  ? LEAST_GRACE
                   : grace > MOST_GRACE ? MOST_GRACE
                                        : grace);
}

/* Runs a step if its time has come; otherwise waits for a change. */
static void run_or_wait(vug_scheduler *s)
{
    /* Steps and those who want the device alone take turns. */
    if (s->running || s->readers > 0 || (s->n_acquiring > 0 && s->was_step))
        wait_for_change(s);
    else if (s->n_expected > 0 && vug_now() < s->deadline)
        vug_cond_wait_until(s->changed, s->lock, s->deadline);
    else {
        expect_nobody(s);
        if (!vug_scheduler_choose(s)) {
            wait_for_change(s);
            return;
        }
        if (s->n_parts > 0)
            run_step(s);
        vug_cond_broadcast(s->changed);
    }
}

vug_status vug_scheduler_extend(vug_scheduler *s, vug_scheduled *sequence, const vug_extension *job,
                                vug_err *err)
{
    VUG_ASSERT(job->rows <= 1 && (job->n_draft == 0 || (job->rows == 1 && job->n_draft < job->n)));
    vug_mutex_lock(s->lock);
    stop_expecting(s, sequence);
    sequence->job = job;
    sequence->done = 0;
    sequence->in_use = true;
    sequence->arrived = ++s->n_arrived;
    while (sequence->job) {
        if (!sequence->in_step && vug_is_cancelled(job->cancel))
            vug_scheduled_finish(sequence, VUG_FAIL(&sequence->err, VUG_CANCELLED, "cancelled"));
        else
            run_or_wait(s);
    }
    const vug_status st = sequence->st;
    if (st == VUG_OK && job->rows > 0) {
        vug_mutex_unlock(s->lock);
        memcpy(job->logits, sequence->row,
               sequence->n_rows * (size_t)s->model->info.n_vocab * sizeof(float));
        vug_mutex_lock(s->lock);
        if (--s->readers == 0)
            vug_cond_broadcast(s->changed);
    }
    vug_mutex_unlock(s->lock);
    if (st != VUG_OK && err)
        *err = sequence->err;
    return st;
}

/* ---- prefixes ----------------------------------------------------------------------------- */

/* Token `i` of what a waiting sequence will have cached. */
static int32_t future_token(const vug_scheduled *s, size_t i)
{
    return i < s->kv.n_tokens ? s->kv.token[i] : s->job->token[s->done + i - s->kv.n_tokens];
}

/* Whether a sequence is computing more of the prefix than the first `have` tokens, by a page at
 * least. */
static bool is_computing(const vug_scheduled *s, const int32_t *id, size_t n, size_t have)
{
    const size_t end = s->kv.n + vug_scheduled_remaining(s);
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
        if (other != by_others_than && other->job && can_share(other, by_others_than) &&
            is_computing(other, id, n, have))
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

void vug_scheduler_begin(vug_scheduler *s, vug_scheduled *sequence, const int32_t *id, size_t n,
                         bool whole, const vug_cancel_token *cancel)
{
    const vug_model *m = s->model;
    const vug_prefix_key *key = &sequence->root;
    vug_mutex_lock(s->lock);
    stop_expecting(s, sequence);
    sequence->in_use = true;
    if (!whole && continues(s, sequence, id, n)) {
        vug_mutex_unlock(s->lock);
        return;
    }
    vug_kv_sequence_end(&sequence->kv);
    sequence->admitted = 0;
    vug_cond_broadcast(s->changed);
    while (!whole && !vug_is_cancelled(cancel) &&
           is_being_computed(s, sequence, id, n - 1,
                             vug_prefix_peek(m->prefix_tree, key, id, n, n - 1)))
        wait_for_change(s);
    if (!whole && m->kv_disk && !vug_is_cancelled(cancel))
        read_from_disk(s, key, id, n - 1);
    if (whole)
        vug_kv_sequence_begin_private(&sequence->kv);
    else
        vug_kv_sequence_begin(&sequence->kv, key, id, n, n - 1);
    if (vug_kv_sequence_has_pages(&sequence->kv))
        sequence->admitted = ++s->n_admitted;
    vug_mutex_unlock(s->lock);
}

void vug_scheduler_mark(vug_scheduler *s, vug_scheduled *sequence, vug_mark mark)
{
    vug_mutex_lock(s->lock);
    vug_kv_sequence_mark(&sequence->kv, mark);
    vug_mutex_unlock(s->lock);
}

void vug_scheduler_accept_draft(vug_scheduler *s, vug_scheduled *sequence, int32_t id)
{
    vug_mutex_lock(s->lock);
    vug_kv_sequence_accept(&sequence->kv, id);
    vug_mutex_unlock(s->lock);
}

void vug_scheduler_truncate(vug_scheduler *s, vug_scheduled *sequence, size_t n)
{
    vug_mutex_lock(s->lock);
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
    stop_expecting(s, sequence);
    sequence->in_use = false;
    vug_cond_broadcast(s->changed); /* its pages may be taken now */
    vug_mutex_unlock(s->lock);
}

void vug_scheduler_end(vug_scheduler *s, vug_scheduled *sequence)
{
    vug_mutex_lock(s->lock);
    stop_expecting(s, sequence);
    vug_kv_sequence_end(&sequence->kv);
    sequence->admitted = 0;
    sequence->in_use = false;
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

/* ---- the device for others ------------------------------------------------------------------ */

static void acquire_device(vug_scheduler *s)
{
    s->n_acquiring++;
    while (s->running || s->readers > 0)
        vug_cond_wait(s->changed, s->lock);
    s->n_acquiring--;
    s->running = true;
    s->was_step = false;
}

static void release_device(vug_scheduler *s)
{
    s->running = false;
    vug_cond_broadcast(s->changed);
}

void vug_scheduler_acquire_device(vug_scheduler *s)
{
    vug_mutex_lock(s->lock);
    acquire_device(s);
    vug_mutex_unlock(s->lock);
}

void vug_scheduler_release_device(vug_scheduler *s)
{
    vug_mutex_lock(s->lock);
    release_device(s);
    vug_mutex_unlock(s->lock);
}

/* Runs a part of `sequence` alone; the caller has acquired the device. */
static vug_status run_part(vug_scheduler *s, vug_scheduled *sequence, vug_step_runner *runner,
                           const vug_step_part *part, const vug_cancel_token *cancel, vug_err *err)
{
    vug_status st = vug_scheduler_provide(s, sequence, part->n);
    if (st != VUG_OK) {
        *err = sequence->err;
        return st;
    }
    vug_mutex_unlock(s->lock);
    st = vug_step_run(runner, part, 1, cancel, err);
    vug_mutex_lock(s->lock);
    if (st == VUG_OK)
        vug_kv_sequence_append(&sequence->kv, part->token, part->n);
    return st;
}

/* Computes the tokens again whose pages were taken away. */
static vug_status restore_sequence(vug_scheduler *s, vug_scheduled *sequence,
                                   const vug_cancel_token *cancel, vug_err *err)
{
    vug_kv_sequence *kv = &sequence->kv;
    const size_t batch = (size_t)s->model->limits.batch;
    if (kv->n < kv->n_tokens && !vug_kv_sequence_has_pages(kv))
        vug_kv_sequence_resume(kv);
    while (kv->n < kv->n_tokens) {
        const size_t lost = kv->n_tokens - kv->n;
        const vug_step_part part = {
            .sequence = kv,
            .token = kv->token + kv->n,
            .n = lost < batch ? lost : batch,
        };
        VUG_TRY(run_part(s, sequence, &s->model->main, &part, cancel, err));
    }
    return VUG_OK;
}

vug_status vug_scheduler_run_alone(vug_scheduler *s, vug_scheduled *sequence,
                                   vug_step_runner *runner, const vug_extension *job, vug_err *err)
{
    const vug_step_part part = {
        .sequence = &sequence->kv, .token = job->token, .n = job->n, .rows = job->rows
    };
    vug_err ignored;
    err = err ? err : &ignored;
    vug_mutex_lock(s->lock);
    acquire_device(s);
    if (!sequence->admitted)
        sequence->admitted = ++s->n_admitted;
    vug_status st;
    for (;;) {
        s->n_parts = 0;
        st = restore_sequence(s, sequence, job->cancel, err);
        if (st == VUG_OK)
            st = run_part(s, sequence, runner, &part, job->cancel, err);
        if (st != VUG_LIMIT || !vug_scheduler_must_wait(s, sequence))
            break;
        if (vug_is_cancelled(job->cancel)) {
            st = VUG_FAIL(err, VUG_CANCELLED, "cancelled");
            break;
        }
        release_device(s);
        wait_for_change(s);
        acquire_device(s);
    }
    release_device(s);
    vug_mutex_unlock(s->lock);
    return st;
}
