#ifndef VUG_ENGINE_SCHEDULER_H
#define VUG_ENGINE_SCHEDULER_H

/*
 * The scheduler joins what different threads compute at the same time with one model. Each thread
 * extends a sequence of its own and waits; one of the waiting threads runs a step with the tokens
 * of many of them. So sampling, grammars and callbacks run on the threads of their requests and
 * never hold up a step of others.
 *
 * A step takes the next tokens of every sequence that is generating, then chunks of prompts: the
 * shortest first, and a part for the oldest. While a sequence generates, chunks are limited to what
 * takes about VUG_STEP_TARGET_S, measured. A step does not begin before the sequences of the last
 * one have come back with their next tokens, or a fraction of its time has passed. On a GPU, the next
 * step of sequences that all take their greatest logit is started before the last one ends
 * (scheduler_ahead.c). Of the calls that wait, one watches for what changes; the others sleep until their jobs have ended, which they are told
 * without the scheduler's lock: many threads that fight for it take longer than a step of a GPU.
 *
 * Drafts are tokens that may turn out to be wrong. Their keys and values are written behind the
 * accepted tokens, where the next step overwrites them, and only accepted tokens are published. They
 * are computed only while no other sequence is in use, which they would hold up.
 *
 * Every part of a step computes a row of logits, wanted or not. If the row of a part has a NaN or an
 * infinite number, the job fails, and the part's tokens are not appended: so what a NaN has spread
 * to is never published. The others of the step go on.
 *
 * A call that is cancelled ends at once if no step is computing its tokens. A step that others share
 * goes on, unless that would take longer than VUG_CANCEL_S: then it is given up, and the others'
 * tokens are computed again.
 *
 * If the page pool is full, sequences lose their pages: first those that are idle, then the
 * newest. They are computed again when there is memory; the oldest never loses its pages.
 *
 * All functions are thread-safe; a sequence is used by one thread at a time.
 */

#include "engine/speculation.h"
#include "engine/step.h"

#define VUG_STEP_TARGET_S      0.05
#define VUG_LONE_STEP_TARGET_S 0.5 /* while no sequence generates */
#define VUG_CANCEL_S           0.03

typedef struct vug_scheduler vug_scheduler;

/* What one call appends to a sequence. */
typedef struct {
    const int32_t *token; /* [n] */
    size_t n;
    size_t n_draft; /* the last tokens are drafts, at most VUG_MAX_DRAFT and less than n: computed
                       if there is room, in one step with the token before them, and not appended */
    vug_logits_row *logits; /* [rows + n_draft]: get the logits of the last tokens */
    size_t rows; /* 1, or 0 without logits and drafts; more only for vug_scheduler_run_alone */
    vug_logits_wanted wanted; /* of each row */
    int priority;             /* lower numbers go first */
    size_t n_more; /* calls that will probably come after this one, each with the token that the
                      wanted logits after the one before decide on */
    const vug_cancel_token *cancel;
} vug_extension;

typedef enum { VUG_CALL_SLEEPS, VUG_CALL_WATCHES, VUG_CALL_ENDS } vug_call_state;

/* Where a call sleeps while another one looks after its job. */
typedef struct {
    vug_mutex *lock; /* guards `state`; may be taken while the scheduler's lock is held */
    vug_cond *changed;
    vug_call_state state;
} vug_sleeping_call;

/* What was computed for a sequence before its calls have come (scheduler_ahead.c). */
typedef struct {
    size_t n_more;            /* of the last call */
    vug_logits_wanted wanted; /* of the last call */
    int32_t token;            /* of the first step ahead whose result no call has taken */
    bool has_result;          /* that step has ended, and no call has come */
    bool is_dropped;          /* no call will take the results of the steps that were started */
    bool is_undecided; /* the device could not decide on a token: it may be so with the next */
    vug_found_logits result; /* the token that it decides on, and what is reported, which are in */
    vug_candidate decided, top[VUG_MOST_FOUND];
} vug_steps_ahead;

/* A sequence that takes part in steps. The members after `kv` belong to the scheduler. */
typedef struct vug_scheduled {
    vug_prefix_key root; /* of its prefixes; the caller may change it between calls */
    vug_kv_sequence kv;
    struct vug_scheduled *next;
    const vug_extension *job; /* of the call that waits; NULL: none */
    const int32_t *plan; /* [n_plan] the caller's: all tokens that the calls after begin will make
                            it hold, from the first one; NULL: none, or it holds them */
    size_t n_plan;
    double plan_end; /* the time of vug_now until which others wait for the next of these calls */
    vug_sleeping_call call;
    struct vug_scheduled *next_to_wake; /* of a list; of a call that was woken: whom it wakes */
    size_t done;                        /* tokens of the job that are cached */
    uint64_t admitted;                  /* the order in which sequences got pages; 0: not yet */
    uint64_t arrived;                   /* the order in which calls came */
    size_t first_row;                   /* of [n_rows] rows of logits in the step, to be copied */
    size_t n_rows;
    size_t n_finite; /* of the rows of its part of the step, before one with a NaN or an infinity */
    size_t n_draft;  /* the drafts of the last call that were computed */
    vug_steps_ahead ahead;
    vug_err err;
    vug_status st;  /* of the job */
    int n_steps;    /* with a part of it, that were started and not finished */
    bool must_wake; /* the job has ended, and the call does not know */
    bool was_alone; /* while the drafts were computed no other sequence was in use */
    bool in_use;    /* from begin to pause or end: it is not idle */
    bool expected;  /* the caller is about to extend it again */
} vug_scheduled;

VUG_MUST_CHECK vug_status vug_scheduler_create(vug_model *model, vug_scheduler **out, vug_err *err);
void vug_scheduler_destroy(vug_scheduler *scheduler);

/* Initializes a sequence of up to `capacity` tokens; it stays at its address until
 * vug_scheduler_remove, which is called even if this fails. */
VUG_MUST_CHECK vug_status vug_scheduler_add(vug_scheduler *scheduler, vug_scheduled *sequence,
                                            size_t capacity, vug_err *err);
void vug_scheduler_remove(vug_scheduler *scheduler, vug_scheduled *sequence);

/* Makes a sequence hold the longest prefix of id [n], at most n - 1 tokens, that is cached;
 * `whole`: with none, and it shares nothing with others. Waits while another sequence computes a
 * longer one, or is about to: the ids stay the caller's until the sequence holds them all, or until
 * pause, end or remove. */
void vug_scheduler_begin(vug_scheduler *scheduler, vug_scheduled *sequence, const int32_t *id,
                         size_t n, bool whole, const vug_cancel_token *cancel);
/* Marks a boundary of the sequence or of the tokens that will be appended to it. */
void vug_scheduler_mark(vug_scheduler *scheduler, vug_scheduled *sequence, vug_mark mark);
/* Appends tokens. On failure some of them may have been appended. */
VUG_MUST_CHECK vug_status vug_scheduler_extend(vug_scheduler *scheduler, vug_scheduled *sequence,
                                               const vug_extension *job, vug_err *err);
/* Lets other sequences begin with all its tokens. */
void vug_scheduler_share(vug_scheduler *scheduler, vug_scheduled *sequence);
/* Appends the first draft of the last call that is not appended yet. */
void vug_scheduler_accept_draft(vug_scheduler *scheduler, vug_scheduled *sequence, int32_t id);
/* Keeps the first `n` tokens, if that is possible without computing others again. */
void vug_scheduler_truncate(vug_scheduler *scheduler, vug_scheduled *sequence, size_t n);
/* What steps with drafts take, as the last answers measured it. */
vug_step_costs vug_scheduler_load_costs(vug_scheduler *scheduler);
void vug_scheduler_store_costs(vug_scheduler *scheduler, const vug_step_costs *costs);
/* Nobody waits for the next tokens of this sequence any more. */
void vug_scheduler_pause(vug_scheduler *scheduler, vug_scheduled *sequence);
/* Publishes and empties a sequence. */
void vug_scheduler_end(vug_scheduler *scheduler, vug_scheduled *sequence);

/* Runs a step of one sequence with a runner of its own, alone. The outputs stay the caller's. */
VUG_MUST_CHECK vug_status vug_scheduler_run_alone(vug_scheduler *scheduler, vug_scheduled *sequence,
                                                  vug_step_runner *runner, const vug_extension *job,
                                                  vug_err *err);
vug_cache_stats vug_scheduler_get_cache_stats(vug_scheduler *scheduler);
/* The device for other work, such as a program of a flow. */
void vug_scheduler_acquire_device(vug_scheduler *scheduler);
void vug_scheduler_release_device(vug_scheduler *scheduler);

#endif
