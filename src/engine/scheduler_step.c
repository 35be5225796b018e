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
    for (size_t i = 0; i < s->now.n; i++)
        prompt += own_tokens(&s->now.part[i]) > 1 ? s->now.part[i].n : 0;
    if (prompt == 0) {
        s->decode_s += (seconds - s->decode_s) * (s->decode_s > 0 ? 0.25 : 1);
        return;
    }
    const bool mixed = s->now.n > 1 && seconds > s->decode_s;
    const double each = (mixed ? seconds - s->decode_s : seconds) / (double)prompt;
    if (prompt >= 16 || s->per_token_s == 0)
        s->per_token_s += (each - s->per_token_s) * (s->per_token_s > 0 ? 0.25 : 1);
}

/* Counts the finite rows of each part; the lock is not held. */
static void check_rows(const vug_scheduler *s)
{
    size_t row = 0;
    for (size_t i = 0; i < s->now.n; row += s->now.part[i++].rows)
        s->now.part_of[i]->n_finite =
                vug_step_count_finite(&s->model->main, row, s->now.part[i].rows);
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
 * if there are others, or if a list takes the place of a whole row, of which every logit changes. */
static bool take_lists(const vug_scheduler *s, const vug_scheduled *sequence, size_t row)
{
    for (size_t i = 0; i < sequence->n_finite; i++) {
        if (vug_step_row(&s->model->main, row + i).found.n == 0 ||
            sequence->job->logits[i].n_known == 0)
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
    if (!sequence->job) {
        vug_scheduler_keep_result(s, sequence, row);
        return;
    }
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
    if (sequence->n_steps > 0) {
        const vug_logits_source next = vug_step_row(&s->model->main, row);
        sequence->ahead.token = vug_logits_source_best(&next, sequence->job->logits[0].n_vocab);
    }
    vug_scheduled_finish(sequence, VUG_OK);
}

/* Appends the tokens of a step that succeeded and hands out the rows of logits. */
static void accept_step(vug_scheduler *s)
{
    size_t row = 0;
    for (size_t i = 0; i < s->now.n; row += s->now.part[i++].rows)
        accept_part(s, s->now.part_of[i], &s->now.part[i], row);
}

/* A step that is given up fails nobody: calls that are cancelled end by themselves, and the next
 * step computes the tokens of the others. */
static void fail_step(vug_scheduler *s, vug_status st, const vug_err *err)
{
    if (st == VUG_CANCELLED && vug_is_cancelled(&s->stop_step))
        return;
    for (size_t i = 0; i < s->now.n; i++) {
        if (!s->now.part_of[i]->job)
            continue; /* its call computes the token again */
        s->now.part_of[i]->err = *err;
        vug_scheduled_finish(s->now.part_of[i], st);
    }
}

/* ---- running a step ------------------------------------------------------------------------- */

/* When a step that begins now will probably end. */
static double predict_end(const vug_scheduler *s, double now)
{
    size_t prompt = 0;
    for (size_t i = 0; i < s->now.n; i++)
        prompt += own_tokens(&s->now.part[i]) > 1 ? s->now.part[i].n : 0;
    return now + s->decode_s + s->per_token_s * (double)prompt;
}

/* Whether each row of the current step has a list of its wanted logits. No step follows those of an
 * answer whose row has none; the lock is not held. */
static bool has_lists(const vug_scheduler *s)
{
    bool all = true;
    for (size_t row = 0; row < s->now.n; row++) {
        const bool listed = vug_step_row(&s->model->main, row).found.n > 0;
        s->now.part_of[row]->ahead.is_undecided |= !listed;
        all = all && listed;
    }
    return all;
}

/* How a step is run. */
typedef struct {
    bool was_ahead;   /* it was started before it became the current one */
    bool is_followed; /* another one is started behind it and goes on when this one has ended */
    bool is_lost;     /* after the step: its results are of no use */
} step_course;

/* Waits for a step whose results nobody wants. */
static void discard_step(vug_step_runner *runner)
{
    vug_err ignored;
    const vug_status unused = vug_step_finish(runner, &ignored);
    (void)unused;
}

/* Starts what is to be started, and waits for the current step; the lock is not held. */
static vug_status compute_step(vug_scheduler *s, step_course *course,
                               const vug_cancel_token *cancel, vug_err *err)
{
    vug_step_runner *runner = &s->model->main;
    vug_err ignored;
    vug_status st = VUG_OK;
    if (!course->was_ahead)
        st = vug_step_start(runner, s->now.part, s->now.n, false, cancel, err);
    course->is_followed =
            course->is_followed && st == VUG_OK &&
            vug_step_start(runner, s->ahead.part, s->ahead.n, true, NULL, &ignored) == VUG_OK;
    if (st == VUG_OK)
        st = vug_step_finish(runner, err);
    course->is_lost = course->is_followed && st == VUG_OK && !has_lists(s);
    if (course->is_followed && (st != VUG_OK || course->is_lost)) {
        discard_step(runner);
        course->is_followed = false;
    }
    if (st == VUG_OK && !course->is_lost)
        check_rows(s);
    return st;
}

/* Hands out what a step has computed. */
static void end_step(vug_scheduler *s, const step_course *course, vug_status st, const vug_err *err)
{
    for (size_t i = 0; i < s->now.n; i++)
        s->now.part_of[i]->n_steps--;
    /* After a lost step the calls still wait: the next one computes their tokens again. */
    if (st == VUG_OK && !course->is_lost)
        accept_step(s);
    else if (st != VUG_OK)
        fail_step(s, st, err);
    for (size_t i = 0; i < s->now.n; i++)
        s->now.part_of[i]->ahead.is_dropped &= s->now.part_of[i]->n_steps > 0;
}

/* How long the next step waits for the sequences of one that took so long. */
static double grace_after(double seconds)
{
    const double grace = seconds * GRACE_PART;
    return grace < LEAST_GRACE ? LEAST_GRACE : grace > MOST_GRACE ? MOST_GRACE : grace;
}

/* Runs the current step, which was chosen or started ahead; the lock is held except while the device
 * computes. */
static void run_step(vug_scheduler *s, bool was_ahead)
{
    vug_err err = { 0 };
    const double start = vug_now();
    s->running = true;
    for (size_t i = 0; i < s->now.n && !was_ahead; i++)
        s->now.part_of[i]->n_steps++;
    step_course course = { .was_ahead = was_ahead, .is_followed = vug_scheduler_plan_ahead(s) };
    const bool is_planned = course.is_followed, is_shared = s->now.n > 1;
    /* Steps ahead and those before them are short: nobody needs to give them up. */
    const bool is_short = was_ahead || is_planned;
    const vug_cancel_token *cancel = is_short    ? NULL
                                     : is_shared ? &s->stop_step
                                                 : s->now.part_of[0]->job->cancel;
    s->step_end = is_shared && !is_short ? predict_end(s, start) : 0;
    s->cancelled_at = 0;
    vug_cancel_token_reset(&s->stop_step);
    vug_mutex_unlock(s->lock);
    const vug_status st = compute_step(s, &course, cancel, &err);
    vug_mutex_lock(s->lock);
    /* A step ahead begins when the last one ends. If that was long ago, nobody knows when it ended. */
    const double end = vug_now(), seconds = end - (was_ahead ? s->last_end : start);
    if (st == VUG_OK && (!was_ahead || start - s->last_end < s->decode_s))
        measure_step(s, seconds);
    s->running = false;
    s->was_step = true;
    s->step_end = 0;
    s->has_ahead = course.is_followed;
    s->n_ahead += course.is_followed;
    if (is_planned && !course.is_followed)
        vug_scheduler_forget_ahead(s);
    end_step(s, &course, st, &err);
    s->last_end = end;
    s->deadline = end + grace_after(seconds);
}

/* Makes the step ahead the current one. */
static void take_ahead(vug_scheduler *s)
{
    const vug_step_parts now = s->now;
    s->now = s->ahead;
    s->ahead = now;
    s->has_ahead = false;
}

bool vug_scheduler_run_next(vug_scheduler *s, const vug_scheduled *caller)
{
    const bool was_ahead = s->has_ahead;
    if (was_ahead)
        take_ahead(s);
    else
        expect_nobody(s);
    const bool chosen = was_ahead || vug_scheduler_choose(s);
    if (chosen && s->now.n > 0) {
        if (caller) /* others watch for cancelled calls of the step */
            vug_scheduler_stop_watching(s, caller);
        run_step(s, was_ahead);
    }
    if (chosen)
        vug_cond_broadcast(s->changed);
    return chosen;
}

void vug_scheduler_finish_ahead(vug_scheduler *s)
{
    (void)vug_scheduler_run_next(s, NULL);
    (void)vug_scheduler_wake_ended(s);
}

void vug_scheduler_drop_ahead(vug_scheduler *s, vug_scheduled *sequence)
{
    sequence->ahead.has_result = false;
    sequence->ahead.is_dropped = sequence->n_steps > 0;
    while (sequence->n_steps > 0) {
        if (s->running || s->readers > 0)
            vug_scheduler_wait(s);
        else
            vug_scheduler_finish_ahead(s);
    }
}

/* Runs a step if its time has come; otherwise waits for a change. True: the job of the sequence has
 * ended, and the lock is not held any more. */
static bool run_or_wait(vug_scheduler *s, vug_scheduled *sequence)
{
    /* Steps and those who want the device alone take turns. */
    const bool is_busy = s->running || s->readers > 0 || (s->n_acquiring > 0 && s->was_step);
    if (!s->running && !s->has_ahead && s->n_expected > 0 && vug_now() < s->deadline)
        return vug_scheduler_wait_for_job(s, sequence, s->deadline);
    if (is_busy)
        return vug_scheduler_wait_for_job(s, sequence, 0);
    const bool chosen = vug_scheduler_run_next(s, sequence);
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
        if (sequence->n_steps == 0 && vug_is_cancelled(sequence->job->cancel))
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
    const bool is_computed = vug_scheduled_is_ahead_of(sequence, job);
    if (!is_computed)
        vug_scheduler_drop_ahead(s, sequence);
    sequence->ahead.n_more = job->n_more;
    sequence->ahead.wanted = job->wanted;
    if (is_computed && sequence->ahead.has_result) {
        vug_scheduler_take_result(s, sequence, job);
        vug_mutex_unlock(s->lock);
        return VUG_OK;
    }
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
