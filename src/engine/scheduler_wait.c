/* Waiting: for the next tokens of sequences, for steps to end, and for cancelled calls. */
#include "engine/scheduler_state.h"

#include "core/os.h"

#define CANCEL_POLL_S 0.01 /* how often those who wait look whether a call is cancelled */

void vug_scheduler_stop_expecting(vug_scheduler *s, vug_scheduled *sequence)
{
    if (!sequence->expected)
        return;
    sequence->expected = false;
    if (--s->n_expected == 0)
        vug_cond_broadcast(s->changed);
}

/* ---- cancelled calls ------------------------------------------------------------------------ */

static bool has_cancelled_part(const vug_scheduler *s)
{
    for (size_t i = 0; i < s->now.n; i++) {
        const vug_extension *job = s->now.part_of[i]->job;
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

static void wait_until(vug_scheduler *s, double until)
{
    const double poll = vug_now() + CANCEL_POLL_S;
    vug_cond_wait_until(s->changed, s->lock, until > 0 && until < poll ? until : poll);
    if (s->running)
        stop_step_if_late(s);
}

void vug_scheduler_wait(vug_scheduler *s)
{
    wait_until(s, 0);
}

/* ---- calls that wait for their jobs ----------------------------------------------------------- */

/* If all calls waited for `changed`, every change would wake all of them, to fight for the lock. So
 * one watches, and a call whose job has ended is told so without the lock. */

/* Sleeps until the call is woken, or cancelled. */
static vug_call_state sleep_call(vug_sleeping_call *call, const vug_cancel_token *cancel)
{
    vug_mutex_lock(call->lock);
    while (call->state == VUG_CALL_SLEEPS && !vug_is_cancelled(cancel))
        vug_cond_wait_until(call->changed, call->lock, vug_now() + CANCEL_POLL_S);
    const vug_call_state state = call->state;
    vug_mutex_unlock(call->lock);
    return state;
}

static void wake_call(vug_sleeping_call *call, vug_call_state state)
{
    vug_mutex_lock(call->lock);
    call->state = state;
    vug_cond_broadcast(call->changed);
    vug_mutex_unlock(call->lock);
}

bool vug_scheduler_wait_for_job(vug_scheduler *s, vug_scheduled *sequence, double until)
{
    const vug_cancel_token *cancel = sequence->job->cancel;
    if (!s->watching)
        s->watching = sequence;
    if (s->watching == sequence || vug_is_cancelled(cancel)) {
        wait_until(s, until);
        return false;
    }
    sequence->call.state = VUG_CALL_SLEEPS; /* nobody wakes it without the lock: its job runs */
    vug_mutex_unlock(s->lock);
    if (sleep_call(&sequence->call, cancel) == VUG_CALL_ENDS) {
        vug_scheduled_wait_for_end(sequence);
        return true;
    }
    vug_mutex_lock(s->lock);
    return false;
}

/* Lets a call other than that of `sequence` watch. */
static void replace_watching(vug_scheduler *s, const vug_scheduled *sequence)
{
    s->watching = s->first;
    while (s->watching && (!s->watching->job || s->watching == sequence))
        s->watching = s->watching->next;
    if (s->watching)
        wake_call(&s->watching->call, VUG_CALL_WATCHES);
}

void vug_scheduler_stop_watching(vug_scheduler *s, const vug_scheduled *sequence)
{
    if (s->watching == sequence)
        replace_watching(s, sequence);
}

/* To wake a thread takes microseconds, so a thread wakes at most WAKERS calls of a list, and each of
 * these wakes its share of the others before it returns (vug_scheduled_wait_for_end). */
enum { WAKERS = 8 };

static void wake_list(vug_scheduled *list)
{
    vug_scheduled *share[WAKERS] = { NULL };
    for (size_t i = 0; list; i = (i + 1) % WAKERS) {
        vug_scheduled *next = list->next_to_wake;
        list->next_to_wake = share[i];
        share[i] = list;
        list = next;
    }
    /* A sequence may be gone once its call was woken. */
    for (size_t i = 0; i < WAKERS && share[i]; i++)
        wake_call(&share[i]->call, VUG_CALL_ENDS);
}

bool vug_scheduler_wake_ended(vug_scheduler *s)
{
    vug_scheduled *ended = NULL;
    if (s->watching && !s->watching->job)
        replace_watching(s, s->watching);
    for (vug_scheduled *sequence = s->first; sequence; sequence = sequence->next) {
        if (!sequence->must_wake)
            continue;
        sequence->must_wake = false;
        sequence->next_to_wake = ended;
        ended = sequence;
    }
    if (!ended)
        return false;
    vug_mutex_unlock(s->lock);
    wake_list(ended);
    vug_mutex_lock(s->lock);
    return true;
}

void vug_scheduled_wait_for_end(vug_scheduled *sequence)
{
    vug_sleeping_call *call = &sequence->call;
    vug_mutex_lock(call->lock);
    while (call->state != VUG_CALL_ENDS)
        vug_cond_wait(call->changed, call->lock);
    vug_mutex_unlock(call->lock);
    vug_scheduled *others = sequence->next_to_wake;
    sequence->next_to_wake = NULL;
    wake_list(others);
}
