/* The threads of sequences: who waits, who runs the step, and who gets which result. */
#include "engine/scheduler_state.h"

#include "core/os.h"

/* How long a step waits for the sequences of the last one: a part of its time, within limits. */
#define GRACE_PART  0.25
#define LEAST_GRACE 3e-4
#define MOST_GRACE  0.02

/* ---- the results of a step ------------------------------------------------------------------ */

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
    size_t row = 0;
    for (size_t i = 0; i < s->n_parts; row += s->part[i++].rows)
        s->part_of[i]->n_finite = vug_step_count_finite(&s->model->main, row, s->part[i].rows);
}

static vug_status fail_not_finite(vug_scheduled *sequence, const vug_step_part *part)
{
    return VUG_FAIL(&sequence->err, VUG_FORMAT,
                    "the model computes logits that are not finite numbers after tokens %zu to %zu "
                    "(the last is id %d): its weights may be damaged",
                    sequence->kv.n, sequence->kv.n + own_tokens(part) - 1,
                    part->token[own_tokens(part) - 1]);
}

/* Takes over the rows of a job that are listed, which takes less time than to wake its thread; false
 * if there are others. */
static bool take_lists(const vug_scheduler *s, const vug_scheduled *sequence, size_t row)
{
    for (size_t i = 0; i < sequence->n_finite; i++) {
        if (vug_step_row(&s->model->main, row + i).found.n == 0)
            return false;
    }
    for (size_t i = 0; i < sequence->n_finite; i++) {
        const vug_logits_source from = vug_step_row(&s->model->main, row + i);
        vug_logits_row_set(&sequence->job->logits[i], &from);
    }
    return true;
}

/* Appends a part of a step that succeeded; `row` is its first row of logits. */
static void accept_part(vug_scheduler *s, vug_scheduled *sequence, const vug_step_part *part,
                        size_t row)
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
    const bool has_rows = sequence->job->rows > 0;
    const bool is_read = has_rows && !take_lists(s, sequence, row);
    sequence->first_row = row;
    sequence->n_rows = is_read ? sequence->n_finite : 0;
    sequence->n_draft = sequence->n_finite - own_rows;
    sequence->was_alone = s->is_alone;
    s->readers += is_read;
    s->n_expected += has_rows;
    sequence->expected = has_rows;
    vug_scheduled_finish(sequence, VUG_OK);
}

/* Appends the tokens of a step that succeeded and hands out the rows of logits. */
static void accept_step(vug_scheduler *s)
{
    size_t row = 0;
    for (size_t i = 0; i < s->n_parts; row += s->part[i++].rows)
        accept_part(s, s->part_of[i], &s->part[i], row);
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

/* ---- running a step ------------------------------------------------------------------------- */

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

/* Runs a step if its time has come; otherwise waits for a change. True: the job of the sequence has
 * ended, and the lock is not held any more. */
static bool run_or_wait(vug_scheduler *s, vug_scheduled *sequence)
{
    /* Steps and those who want the device alone take turns. */
    const bool is_busy = s->running || s->readers > 0 || (s->n_acquiring > 0 && s->was_step);
    if (!s->running && s->n_expected > 0 && vug_now() < s->deadline)
        return vug_scheduler_wait_for_job(s, sequence, s->deadline);
    if (is_busy)
        return vug_scheduler_wait_for_job(s, sequence, 0);
    expect_nobody(s);
    const bool chosen = vug_scheduler_choose(s);
    if (chosen && s->n_parts > 0) {
        vug_scheduler_stop_watching(s, sequence); /* others watch for cancelled calls of the step */
        run_step(s);
    }
    if (chosen)
        vug_cond_broadcast(s->changed);
    const bool woken = vug_scheduler_wake_ended(s);
    return !chosen && !woken && vug_scheduler_wait_for_job(s, sequence, 0);
}

/* Copies the rows of a job that its step has left to its thread; others go on meanwhile. Until the
 * deadline, the call that watches decides about the next step. */
static void read_rows(vug_scheduler *s, const vug_scheduled *sequence, const vug_extension *job)
{
    for (size_t i = 0; i < sequence->n_rows; i++) {
        const vug_logits_source from = vug_step_row(&s->model->main, sequence->first_row + i);
        vug_logits_row_set(&job->logits[i], &from);
    }
    vug_mutex_lock(s->lock);
    const bool is_watched = s->watching && s->n_expected > 0 && vug_now() < s->deadline;
    if (--s->readers == 0 && (!is_watched || s->n_acquiring > 0))
        vug_cond_broadcast(s->changed);
    vug_mutex_unlock(s->lock);
}

/* Begins with the lock, and ends without it and the job. */
static void run_job(vug_scheduler *s, vug_scheduled *sequence)
{
    while (sequence->job) {
        if (!sequence->in_step && vug_is_cancelled(sequence->job->cancel))
            vug_scheduled_finish(sequence, VUG_FAIL(&sequence->err, VUG_CANCELLED, "cancelled"));
        else if (run_or_wait(s, sequence))
            return;
    }
    (void)vug_scheduler_wake_ended(s);
    vug_mutex_unlock(s->lock);
    vug_scheduled_wait_for_end(sequence);
}

vug_status vug_scheduler_extend(vug_scheduler *s, vug_scheduled *sequence, const vug_extension *job,
                                vug_err *err)
{
    VUG_ASSERT(job->rows <= 1 && (job->n_draft == 0 || (job->rows == 1 && job->n_draft < job->n)));
    vug_mutex_lock(s->lock);
    /* Nobody is woken: this thread looks itself whether a step may run. */
    s->n_expected -= sequence->expected;
    sequence->expected = false;
    sequence->job = job;
    sequence->done = 0;
    sequence->n_rows = 0;
    sequence->in_use = true;
    sequence->arrived = ++s->n_arrived;
    sequence->call.state = VUG_CALL_SLEEPS;
    run_job(s, sequence);
    if (sequence->st == VUG_OK && sequence->n_rows > 0)
        read_rows(s, sequence, job);
    if (sequence->st != VUG_OK && err)
        *err = sequence->err;
    return sequence->st;
}
