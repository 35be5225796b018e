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

void vug_scheduler_wait(vug_scheduler *s)
{
    vug_cond_wait_until(s->changed, s->lock, vug_now() + CANCEL_POLL_S);
    if (s->running)
        stop_step_if_late(s);
}
