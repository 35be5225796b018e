/* The device for others: programs of flows, and steps of one sequence alone. */
#include "engine/scheduler_state.h"

static void acquire_device(vug_scheduler *s)
{
    s->n_acquiring++;
    while (s->running || s->readers > 0 || s->has_ahead) {
        if (s->running || s->readers > 0)
            vug_cond_wait(s->changed, s->lock);
        else
            vug_scheduler_finish_ahead(s);
    }
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
    vug_scheduler_drop_ahead(s, sequence);
    acquire_device(s);
    if (!sequence->admitted)
        sequence->admitted = ++s->n_admitted;
    vug_status st;
    for (;;) {
        s->now.n = 0;
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
        vug_scheduler_wait(s);
        acquire_device(s);
    }
    release_device(s);
    vug_mutex_unlock(s->lock);
    return st;
}
