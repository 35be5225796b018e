/*
 * Steps that are started before the last one has ended. If the greatest logit or a draw decides on the
 * next token of every sequence of a step, a device can compute that token's step without the host: it is
 * started behind the first one, and the device has no gap between them. What the host does for a step (its
 * inputs, its launches, sampling, callbacks) takes place while the device computes another. Sequences that
 * end with the first step have no part in the second one.
 *
 * The calls come later. One that brings the token of its sequence's step ahead gets that step's result;
 * if the step has ended by then, the result was kept for it. Any other call of the sequence waits until
 * the step has ended, and its result is dropped: as those of a draft, its keys and values lie behind the
 * sequence's tokens, where the next step overwrites them.
 *
 * At most two steps are started at once: `now`, which somebody waits for, and `ahead`. The first call
 * that comes back makes the step ahead the current one, starts another behind it, and waits for it.
 */
#include "engine/scheduler_state.h"

/* ---- starting --------------------------------------------------------------------------------- */

/* Whether a device decides on a token, and on those after it: grammars and penalties depend on the one
 * before. */
static bool decides(const vug_logits_wanted *wanted)
{
    const bool is_greedy = wanted->best == 1 && wanted->margin == 0 && wanted->share == 0;
    return (is_greedy || wanted->draw.temperature > 0) && !wanted->allowed &&
           wanted->n_changes == 0;
}

/* What the next token is chosen by. */
static vug_logits_wanted next_wanted(const vug_logits_wanted *wanted)
{
    vug_logits_wanted next = *wanted;
    next.draw.noise.position++;
    return next;
}

/* Whether two choices among the same logits take the same token, and report as much. */
static bool is_same_choice(const vug_logits_wanted *a, const vug_logits_wanted *b)
{
    const vug_draw *x = &a->draw, *y = &b->draw;
    if (a->n_ids != b->n_ids || a->top != b->top || x->temperature != y->temperature)
        return false;
    return x->temperature == 0 ||
           (x->noise.seed == y->noise.seed && x->noise.position == y->noise.position &&
            x->top_k == y->top_k && x->top_p == y->top_p && x->min_p == y->min_p);
}

/* Whether a part of the current step has a list in place of a row of logits, which a step behind it
 * would overwrite. A part that does not end its job wants no logits. */
static bool has_list(const vug_scheduled *sequence, const vug_step_part *part)
{
    return part->n == 1 && decides(&part->wanted) && !sequence->ahead.is_undecided;
}

/* Whether another token comes after a part of the current step. Without a call, it is the part of a step
 * ahead itself. */
static bool goes_on(const vug_scheduled *sequence)
{
    return sequence->in_use &&
           (sequence->job ? sequence->job->n_more >= 1 : sequence->ahead.n_more >= 2);
}

/* Whether the next token of a sequence that goes on can follow. Drafts are computed for a sequence
 * alone. */
static bool can_follow(vug_scheduled *sequence, bool is_alone)
{
    const vug_extension *job = sequence->job;
    const vug_steps_ahead *ahead = &sequence->ahead;
    vug_err ignored;
    return !ahead->has_result && !ahead->is_dropped && !(is_alone && job && job->n_draft > 0) &&
           sequence->kv.n + 2 <= sequence->kv.capacity &&
           vug_kv_sequence_reserve(&sequence->kv, 2, &ignored) == VUG_OK;
}

/* Whether a call waits for a step that it can be a part of: it would wait for one more. */
static bool is_waiting(const vug_scheduler *s)
{
    for (const vug_scheduled *sequence = s->first; sequence; sequence = sequence->next) {
        if (sequence->job && sequence->n_steps == 0)
            return true;
    }
    return false;
}

bool vug_scheduler_plan_ahead(vug_scheduler *s)
{
    if (!s->goes_ahead || s->model->times_ops || s->n_acquiring > 0 || is_waiting(s))
        return false;
    const bool is_alone = vug_scheduler_is_alone(s);
    s->ahead.n = 0;
    for (size_t i = 0; i < s->now.n; i++) {
        vug_scheduled *sequence = s->now.part_of[i];
        if (!has_list(sequence, &s->now.part[i]))
            return false;
        if (!goes_on(sequence))
            continue;
        if (!can_follow(sequence, is_alone))
            return false;
        s->ahead.part_of[s->ahead.n] = sequence;
        s->ahead.part[s->ahead.n++] =
                (vug_step_part){ .sequence = &sequence->kv,
                                 .token = &sequence->ahead.token,
                                 .n = 1,
                                 .rows = 1,
                                 .n_before = 1,
                                 .follows = i,
                                 .wanted = next_wanted(&s->now.part[i].wanted) };
    }
    for (size_t i = 0; i < s->ahead.n; i++)
        s->ahead.part_of[i]->n_steps++;
    return s->ahead.n > 0;
}

void vug_scheduler_forget_ahead(vug_scheduler *s)
{
    for (size_t i = 0; i < s->ahead.n; i++)
        s->ahead.part_of[i]->n_steps--;
}

/* ---- results ---------------------------------------------------------------------------------- */

static void store_result(vug_steps_ahead *ahead, const vug_found_logits *found)
{
    ahead->has_result = true;
    ahead->decided = found->logit[0];
    for (size_t i = 0; i < found->n_top; i++)
        ahead->top[i] = found->top[i];
    ahead->result = *found;
    ahead->result.logit = &ahead->decided;
    ahead->result.top = ahead->top;
}

void vug_scheduler_keep_result(vug_scheduler *s, vug_scheduled *sequence, size_t row)
{
    vug_steps_ahead *ahead = &sequence->ahead;
    const vug_found_logits found = vug_step_row(&s->model->main, row).found;
    /* What follows a result that is not kept is of no use; nor is a second result. */
    if (!ahead->has_result && !ahead->is_dropped && found.n == 1) {
        store_result(ahead, &found);
    } else {
        s->n_unclaimed++;
        ahead->is_dropped = sequence->n_steps > 0;
    }
    if (sequence->in_use && !sequence->expected) {
        sequence->expected = true;
        s->n_expected++;
    }
}

bool vug_scheduled_is_ahead_of(const vug_scheduled *sequence, const vug_extension *job)
{
    const vug_steps_ahead *ahead = &sequence->ahead;
    const vug_logits_wanted next = next_wanted(&ahead->wanted);
    return (ahead->has_result || sequence->n_steps > 0) && !ahead->is_dropped && job->rows == 1 &&
           job->n - job->n_draft == 1 && job->token[0] == ahead->token && decides(&job->wanted) &&
           is_same_choice(&job->wanted, &next);
}

void vug_scheduler_take_result(vug_scheduler *s, vug_scheduled *sequence, const vug_extension *job)
{
    vug_steps_ahead *ahead = &sequence->ahead;
    const vug_logits_source row = { .found = ahead->result };
    vug_kv_sequence_append(&sequence->kv, job->token, 1);
    vug_logits_row_set(&job->logits[0], &row);
    ahead->has_result = false;
    ahead->token = ahead->decided.id;
    sequence->n_draft = 0;
    sequence->was_alone = s->is_alone;
    s->n_expected += !sequence->expected;
    sequence->expected = true;
    vug_scheduled_renew_plan(sequence);
}
