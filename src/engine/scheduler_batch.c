/* Chooses the tokens of a step, and the sequences that lose their pages if memory is short. */
#include "engine/scheduler_state.h"

#include <stdlib.h>

enum {
    DECODE_TOKENS = 16, /* with at most as many left, a sequence counts as generating */
    LEAST_CHUNK = 16,   /* tokens of prompts in a step, however slow they are */
    OLDEST_SHARE = 4,   /* a part of the tokens of prompts is for the oldest: 1 / OLDEST_SHARE */
    LONE_CHUNK = 128,   /* the same while nobody generates */
    ADMIT_TOKENS = 64,  /* that must fit beyond the prompt before a sequence gets pages */
};

/* ---- memory --------------------------------------------------------------------------- */

static bool is_part(const vug_scheduler *s, const vug_scheduled *sequence)
{
    for (size_t i = 0; i < s->now.n; i++) {
        if (s->now.part_of[i] == sequence)
            return true;
    }
    return false;
}

static bool is_idle(const vug_scheduled *sequence)
{
    return !sequence->job && !sequence->in_use;
}

/* Whether `a` loses its pages before `b`. */
static bool is_better_victim(const vug_scheduled *a, const vug_scheduled *b)
{
    if (is_idle(a) != is_idle(b))
        return is_idle(a);
    return a->admitted > b->admitted;
}

/* Whether `to` may have the pages of another sequence: those of idle ones, and, once it was admitted,
 * of newer ones that are not part of the step. */
static bool may_suspend(const vug_scheduler *s, const vug_scheduled *to, const vug_scheduled *other)
{
    const bool is_newer = to->admitted && other->admitted > to->admitted;
    return other != to && vug_kv_sequence_has_pages(&other->kv) && !is_part(s, other) &&
           (is_idle(other) || is_newer);
}

/* Takes the pages of the sequence that loses them first, for the sake of `to`. False if all others
 * are older or part of the step. */
static bool suspend_another(vug_scheduler *s, const vug_scheduled *to)
{
    vug_scheduled *victim = NULL;
    for (vug_scheduled *other = s->first; other; other = other->next) {
        if (may_suspend(s, to, other) && (!victim || is_better_victim(other, victim)))
            victim = other;
    }
    if (!victim)
        return false;
    vug_kv_sequence_suspend(&victim->kv);
    victim->ahead.has_result = false; /* its keys and values are gone */
    if (is_idle(victim))
        victim->admitted = 0;
    return true;
}

bool vug_scheduler_must_wait(const vug_scheduler *s, const vug_scheduled *to)
{
    for (const vug_scheduled *other = s->first; other; other = other->next) {
        if (other != to && vug_kv_sequence_has_pages(&other->kv))
            return true;
    }
    return s->now.n > 0 || s->n_reading > 0;
}

static uint64_t available_bytes(const vug_model *m)
{
    const vug_kv_pool_stats pool = vug_kv_pool_get_stats(m->kv_pool);
    return pool.budget - pool.used + vug_prefix_get_stats(m->prefix_tree).evictable;
}

/* The same with what `to` may take from others. */
static uint64_t obtainable_bytes(const vug_scheduler *s, const vug_scheduled *to)
{
    uint64_t bytes = available_bytes(s->model);
    for (const vug_scheduled *other = s->first; other; other = other->next)
        bytes += may_suspend(s, to, other) ? vug_kv_sequence_held(&other->kv) : 0;
    return bytes;
}

/* Whether there are pages that `to` may not take, but that become free. */
static bool others_keep_pages(const vug_scheduler *s, const vug_scheduled *to)
{
    for (const vug_scheduled *other = s->first; other; other = other->next) {
        if (other != to && vug_kv_sequence_has_pages(&other->kv) && !may_suspend(s, to, other))
            return true;
    }
    return s->now.n > 0 || s->n_reading > 0;
}

/* Whether a sequence without pages may begin: all of its prompt fits, and a little more. Others keep
 * their pages if they would lose them in vain. */
static bool admit(vug_scheduler *s, vug_scheduled *sequence)
{
    const size_t room = sequence->kv.capacity - sequence->kv.n_tokens;
    const size_t ask = sequence->job->n - sequence->done + ADMIT_TOKENS;
    const uint64_t lacks = vug_kv_sequence_lacks(&sequence->kv, ask < room ? ask : room);
    if (lacks > obtainable_bytes(s, sequence) && others_keep_pages(s, sequence))
        return false;
    while (lacks > available_bytes(s->model)) {
        if (!suspend_another(s, sequence))
            return !vug_scheduler_must_wait(s, sequence);
    }
    return true;
}

vug_status vug_scheduler_provide(vug_scheduler *s, vug_scheduled *sequence, size_t n)
{
    vug_status st;
    while ((st = vug_kv_sequence_reserve(&sequence->kv, n, &sequence->err)) == VUG_LIMIT) {
        if (!suspend_another(s, sequence))
            break;
    }
    return st;
}

/* ---- order ----------------------------------------------------------------------------- */

static bool is_generating(const vug_scheduled *s)
{
    return vug_scheduled_remaining(s) <= DECODE_TOKENS;
}

/* Sequences that generate come first, then short prompts; within each those with a
 * lower number of priority. */
static int compare_waiting(const void *a, const void *b)
{
    const vug_scheduled *x = *(vug_scheduled *const *)a, *y = *(vug_scheduled *const *)b;
    if (is_generating(x) != is_generating(y))
        return is_generating(x) ? -1 : 1;
    if (x->job->priority != y->job->priority)
        return x->job->priority < y->job->priority ? -1 : 1;
    const size_t left_x = vug_scheduled_remaining(x), left_y = vug_scheduled_remaining(y);
    if (!is_generating(x) && left_x != left_y)
        return left_x < left_y ? -1 : 1;
    return x->arrived < y->arrived ? -1 : 1;
}

/* Calls that are cancelled end as soon as their threads look. */
static size_t collect_waiting(vug_scheduler *s)
{
    size_t n = 0;
    for (vug_scheduled *sequence = s->first; sequence; sequence = sequence->next) {
        if (sequence->job && !vug_is_cancelled(sequence->job->cancel))
            s->waiting[n++] = sequence;
    }
    qsort(s->waiting, n, sizeof(vug_scheduled *), compare_waiting);
    return n;
}

/* ---- parts ----------------------------------------------------------------------------- */

/* What is left of a step. */
typedef struct {
    size_t tokens;
    size_t rows;   /* of logits that calls want */
    size_t checks; /* the same of those that only tell whether logits are finite */
    size_t drafts;
} step_room;

/* The drafts that a sequence gets if its next part has all its `own` other tokens. They never take
 * the memory of others. */
static size_t count_drafts(const vug_scheduler *s, const vug_scheduled *sequence, size_t own,
                           const step_room *room)
{
    const size_t wanted = sequence->job->n_draft, left = room->tokens - own;
    size_t n = wanted < room->drafts ? wanted : room->drafts;
    n = n < left ? n : left;
    const bool fits = vug_kv_sequence_lacks(&sequence->kv, own + n) <= available_bytes(s->model);
    return fits ? n : 0;
}

/* The part of at most `most` tokens that a sequence could have; n = 0: none. */
static vug_step_part next_part(const vug_scheduler *s, vug_scheduled *sequence, size_t most,
                               const step_room *room)
{
    const vug_extension *job = sequence->job;
    vug_kv_sequence *kv = &sequence->kv;
    const size_t lost = kv->n_tokens - kv->n, left = job->n - job->n_draft - sequence->done;
    vug_step_part part = { .sequence = kv };
    most = most < room->tokens ? most : room->tokens;
    part.token = lost > 0 ? kv->token + kv->n : job->token + sequence->done;
    if (lost > 0) {
        part.n = most < lost ? most : lost;
    } else if (most >= left && room->rows >= job->rows) {
        part.n_draft = job->n_draft > 0 ? count_drafts(s, sequence, left, room) : 0;
        part.n = left + part.n_draft;
        part.rows = job->rows + part.n_draft;
        part.wanted = job->wanted;
    } else {
        part.n = most < left - 1 ? most : left - 1; /* the last one waits for a row */
    }
    if (part.rows == 0 && room->checks == 0)
        part.n = 0;
    else if (part.rows == 0)
        part.rows = 1;
    return part;
}

/* Adds a part of at most `most` tokens to the step; returns the number of its tokens. */
static size_t add_part(vug_scheduler *s, vug_scheduled *sequence, size_t most, step_room *room)
{
    vug_kv_sequence *kv = &sequence->kv;
    if (!vug_kv_sequence_has_pages(kv) && !admit(s, sequence))
        return 0;
    if (!vug_kv_sequence_has_pages(kv) && kv->n_tokens > 0)
        vug_kv_sequence_resume(kv);
    const vug_step_part part = next_part(s, sequence, most, room);
    if (part.n == 0)
        return 0;
    const vug_status st = vug_scheduler_provide(s, sequence, part.n);
    if (st == VUG_LIMIT && vug_scheduler_must_wait(s, sequence))
        return 0;
    if (st != VUG_OK) {
        vug_scheduled_finish(sequence, st);
        return 0;
    }
    if (!sequence->admitted)
        sequence->admitted = ++s->n_admitted;
    s->now.part[s->now.n] = part;
    s->now.part_of[s->now.n++] = sequence;
    room->tokens -= part.n;
    if (sequence->job->rows > 0 && vug_scheduled_ends_with(sequence, &part))
        room->rows--;
    else
        room->checks--;
    return part.n;
}

/* Whether a sequence generates whose next token is not there yet: it is being sampled. */
static bool is_another_between_steps(const vug_scheduler *s)
{
    for (const vug_scheduled *sequence = s->first; sequence; sequence = sequence->next) {
        if (sequence->in_use && !sequence->job && sequence->kv.n_tokens > 0)
            return true;
    }
    return false;
}

/* The tokens of prompts that a step may take, so that neither sequences that generate nor new
 * ones wait too long. */
static size_t chunk_tokens(const vug_scheduler *s)
{
    const bool is_lone = s->now.n == 0 && !is_another_between_steps(s);
    const double target = is_lone ? VUG_LONE_STEP_TARGET_S : VUG_STEP_TARGET_S;
    const size_t least = is_lone ? LONE_CHUNK : LEAST_CHUNK;
    if (s->per_token_s == 0)
        return is_lone ? (size_t)s->model->limits.batch : least;
    const double n = target / s->per_token_s;
    return n > (double)least ? (size_t)n : least;
}

static vug_scheduled *oldest_of(vug_scheduled *const *sequence, size_t n)
{
    vug_scheduled *oldest = NULL;
    for (size_t i = 0; i < n; i++) {
        if (sequence[i]->job && (!oldest || sequence[i]->arrived < oldest->arrived))
            oldest = sequence[i];
    }
    return oldest;
}

/* The oldest of several prompts gets its share first, so that short ones cannot hold it up. */
static void add_prompts(vug_scheduler *s, vug_scheduled *const *prompt, size_t n, step_room *room)
{
    vug_scheduled *oldest = n > 1 ? oldest_of(prompt, n) : NULL;
    if (oldest)
        (void)add_part(s, oldest, (room->tokens + OLDEST_SHARE - 1) / OLDEST_SHARE, room);
    for (size_t i = 0; i < n && room->tokens > 0; i++) {
        if (prompt[i] != oldest && prompt[i]->job)
            (void)add_part(s, prompt[i], room->tokens, room);
    }
}

/* Fails the oldest job, if it cannot go on even with all the memory. */
static bool fail_oldest(vug_scheduler *s, size_t n_waiting)
{
    vug_scheduled *oldest = oldest_of(s->waiting, n_waiting);
    if (!oldest || vug_scheduler_must_wait(s, oldest))
        return false;
    const vug_kv_pool_stats pool = vug_kv_pool_get_stats(s->model->kv_pool);
    const uint64_t needed = vug_kv_sequence_lacks(&oldest->kv, oldest->job->n - oldest->done);
    vug_scheduled_finish(oldest,
                         VUG_FAIL(&oldest->err, VUG_LIMIT,
                                  "the sequence needs another %.1f MB of keys and values, but only "
                                  "%.1f MB are allowed and %.1f are in use",
                                  (double)needed / 1e6, (double)pool.budget / 1e6,
                                  (double)pool.used / 1e6));
    return true;
}

bool vug_scheduler_is_alone(const vug_scheduler *s)
{
    size_t n = 0;
    for (const vug_scheduled *sequence = s->first; sequence; sequence = sequence->next)
        n += sequence->in_use;
    return n <= 1;
}

bool vug_scheduler_choose(vug_scheduler *s)
{
    const vug_limits *limits = &s->model->limits;
    const size_t n = collect_waiting(s);
    size_t at = 0;
    s->is_alone = vug_scheduler_is_alone(s);
    /* A sequence that is alone has one part, which needs rows for drafts or a check. */
    step_room room = { .tokens = (size_t)limits->batch,
                       .rows = (size_t)limits->rows,
                       .checks = VUG_MAX_DRAFT,
                       .drafts = s->is_alone ? VUG_MAX_DRAFT : 0 };
    s->now.n = 0;
    for (; at < n && is_generating(s->waiting[at]); at++) {
        if (room.tokens > 0)
            (void)add_part(s, s->waiting[at], DECODE_TOKENS, &room);
    }
    if (chunk_tokens(s) < room.tokens)
        room.tokens = chunk_tokens(s);
    add_prompts(s, s->waiting + at, n - at, &room);
    return s->now.n > 0 || fail_oldest(s, n);
}
