#ifndef VUG_ENGINE_SCHEDULER_STATE_H
#define VUG_ENGINE_SCHEDULER_STATE_H

/* The state of a scheduler, and what its files share. Only they and tests include this. */

#include "core/cancel.h"
#include "core/os.h"
#include "engine/scheduler.h"

/* How long others wait for the next call of a sequence that is to hold more tokens. In between, a
 * callback of its caller may begin another sequence with the same tokens, which must not wait for
 * ever. */
#define VUG_PLAN_S 1.0

/* The parts of a step. */
typedef struct {
    vug_step_part *part;     /* [batch] */
    vug_scheduled **part_of; /* [batch] their sequences */
    size_t n;
} vug_step_parts;

struct vug_scheduler {
    vug_model *model;
    vug_mutex *lock;   /* guards what follows, the model's pool and prefix tree, and sequences */
    vug_cond *changed; /* for the call that watches, and those that wait for no job */
    vug_scheduled *watching; /* of the calls that wait for a job, the one that looks after all of
                                them while others sleep; or NULL */
    vug_scheduled *first;    /* all sequences */
    size_t n_sequences;
    vug_scheduled **waiting; /* [n_sequences] scratch */
    size_t cap_waiting;
    bool running;        /* somebody uses the device */
    double step_end;     /* when the running step of several sequences will probably end; 0: none */
    double cancelled_at; /* when a call of that step was first seen to be cancelled; 0: none was */
    vug_cancel_token stop_step; /* of that step */
    int n_acquiring;            /* threads that wait for the device */
    bool was_step;              /* the device was last used for a step of sequences */
    int n_reading;              /* threads that hold pages to read them from disk */
    int readers;                /* callers that copy rows of logits from the workspace */
    size_t n_expected;          /* sequences that are about to be extended again */
    double deadline;            /* how long the next step waits for them */
    double decode_s;            /* the time of a step without prompts */
    double per_token_s;   /* the time that each token of a prompt adds to a step; 0: not known */
    vug_step_costs costs; /* of steps with drafts */
    bool is_alone;        /* at most one sequence was in use when the step was chosen */
    uint64_t n_admitted, n_arrived;
    vug_step_parts now;          /* the step that is chosen or running */
    vug_step_parts ahead;        /* the one that was started behind it */
    bool has_ahead;              /* there is one */
    bool goes_ahead;             /* there may be */
    double last_end;             /* of a step */
    size_t n_ahead, n_unclaimed; /* steps ahead so far; results that no call took */
};

/* The tokens that a waiting sequence must still compute, without drafts. */
static inline size_t vug_scheduled_remaining(const vug_scheduled *s)
{
    return s->kv.n_tokens - s->kv.n + s->job->n - s->job->n_draft - s->done;
}

/* Whether a part recomputes tokens whose pages were taken away. */
static inline bool vug_scheduled_is_lost(const vug_scheduled *s, const vug_step_part *part)
{
    return part->token == s->kv.token + s->kv.n;
}

/* Whether the job of a sequence ends with a part. */
static inline bool vug_scheduled_ends_with(const vug_scheduled *s, const vug_step_part *part)
{
    return !vug_scheduled_is_lost(s, part) &&
           s->done + part->n - part->n_draft == s->job->n - s->job->n_draft;
}

/* Others wait from now on for the next call of a sequence, unless it has the tokens of its plan. */
static inline void vug_scheduled_renew_plan(vug_scheduled *s)
{
    if (s->kv.n_tokens >= s->n_plan)
        s->plan = NULL;
    s->plan_end = vug_now() + VUG_PLAN_S;
}

/* Ends the job of a sequence. */
static inline void vug_scheduled_finish(vug_scheduled *s, vug_status st)
{
    s->job = NULL;
    vug_scheduled_renew_plan(s);
    s->st = st;
    s->must_wake = true;
}

/* Whether a step with a cancelled call is given up. Times of vug_now: the present one, when the
 * step will probably end, and when the call was first seen to be cancelled. */
static inline bool vug_scheduler_should_stop(double now, double step_end, double cancelled_at)
{
    const double end = step_end > now ? step_end : now;
    return end - cancelled_at > VUG_CANCEL_S;
}

/* ---- scheduler_wait.c: called with the lock ------------------------------------------- */

/* Nobody is about to extend the sequence any more. */
void vug_scheduler_stop_expecting(vug_scheduler *scheduler, vug_scheduled *sequence);
/* Waits for a change, or a while: nothing tells that a call is cancelled. Gives up a step that
 * a cancelled call has waited for too long. */
void vug_scheduler_wait(vug_scheduler *scheduler);
/* The same for the call of a sequence whose job has not ended; one that watches returns at the time
 * `until`, if that is not 0. True: the job has ended, and the lock is not held any more. */
bool vug_scheduler_wait_for_job(vug_scheduler *scheduler, vug_scheduled *sequence, double until);
/* Lets another call watch, if this one does. */
void vug_scheduler_stop_watching(vug_scheduler *scheduler, const vug_scheduled *sequence);
/* Wakes the calls whose jobs have ended; false: there are none. Releases the lock meanwhile, so that
 * they do not wait for it. */
bool vug_scheduler_wake_ended(vug_scheduler *scheduler);
/* Waits until somebody, perhaps this thread, has woken the call of a sequence whose job has ended,
 * and wakes the calls that were left to it; the lock is not held. */
void vug_scheduled_wait_for_end(vug_scheduled *sequence);

/* ---- scheduler_step.c: called with the lock ------------------------------------------- */

/* Runs the step that was started ahead or, without one, the next one that can be chosen, for the call of
 * `caller` or, with NULL, for nobody's; the device is free. Returns false if nothing changed. */
bool vug_scheduler_run_next(vug_scheduler *scheduler, const vug_scheduled *caller);
/* Waits for the step that was started ahead, and wakes the calls that end with it. */
void vug_scheduler_finish_ahead(vug_scheduler *scheduler);
/* Drops what was computed ahead for a sequence, after its steps have ended. */
void vug_scheduler_drop_ahead(vug_scheduler *scheduler, vug_scheduled *sequence);

/* ---- scheduler_ahead.c: called with the lock ------------------------------------------ */

/* Whether a step may follow the current one before it ends; then `ahead` has its parts. */
bool vug_scheduler_plan_ahead(vug_scheduler *scheduler);
/* The planned step was not started, or its results are lost. */
void vug_scheduler_forget_ahead(vug_scheduler *scheduler);
/* Keeps the result of a part for the call that has not come yet; `row` is its row of logits. */
void vug_scheduler_keep_result(vug_scheduler *scheduler, vug_scheduled *sequence, size_t row);
/* Whether a call brings the token of the first step ahead of its sequence. */
bool vug_scheduled_is_ahead_of(const vug_scheduled *sequence, const vug_extension *job);
/* Ends a call with the result that was kept for it. */
void vug_scheduler_take_result(vug_scheduler *scheduler, vug_scheduled *sequence,
                               const vug_extension *job);

/* ---- scheduler_batch.c: called with the lock ------------------------------------------ */

/* Whether at most one sequence is in use. */
bool vug_scheduler_is_alone(const vug_scheduler *scheduler);

/* Fills the parts of the next step and takes its pages. Without any part, the waiting sequences
 * wait for the pages of others; if there are no others, the job of the oldest one fails. Returns
 * false if nothing changed. */
bool vug_scheduler_choose(vug_scheduler *scheduler);
/* Whether others, or the parts of the step, hold pages that `to` may not take, but will get. */
bool vug_scheduler_must_wait(const vug_scheduler *scheduler, const vug_scheduled *to);
/* Provides the pages for the next `n` tokens of a sequence, at the cost of newer sequences. */
VUG_MUST_CHECK vug_status vug_scheduler_provide(vug_scheduler *scheduler, vug_scheduled *sequence,
                                                size_t n);

#endif
