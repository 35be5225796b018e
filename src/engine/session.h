#ifndef VUG_ENGINE_SESSION_H
#define VUG_ENGINE_SESSION_H

/* Sessions: what a cache holds of a sequence, the steps that extend it, and the ways back. */

#include "engine/engine.h"

/* The windows before token `at` (snapshots.c). */
typedef struct {
    vug_state *windows;
    size_t at;
} vug_snapshot;

struct vug_session {
    vug_model *model;
    vug_state *state;
    vug_workspace *workspace;
    vug_compiled wide; /* every row of logits, hidden states; compiled when first asked for */
    vug_workspace *wide_workspace;
    bool wide_hidden;
    int32_t *token; /* [context] what the cache holds */
    size_t n;
    size_t written;         /* most tokens the cache held since it last began at 0 or `floor` */
    size_t floor;           /* what the rings hold begins with the window before it */
    vug_snapshot *snapshot; /* [vug_snapshots_most]; in use: the first, ascending */
    size_t n_snapshots;
    int32_t *row;         /* [batch] scratch */
    vug_span *span;       /* [batch] likewise, of steps over several sessions; made for the first */
    int32_t *ragged;      /* [batch] their tokens */
    const float *logits;  /* [n_vocab] after token n - 1; NULL: none */
    const float **output; /* [outputs] scratch of a step */
    const float **hidden; /* [n_layers + 1] likewise */
    atomic_bool cancel;
};

/* Checks a prefix and keeps the longest usable part of the cache that it begins
 * with, at most n - 1 tokens: `cached`. */
VUG_MUST_CHECK vug_status vug_session_prepare(vug_session *session, const int32_t *id, size_t n,
                                              size_t *cached, vug_err *err);
/* Computes `n` tokens behind the cache's, in steps of at most `options->chunk`. */
VUG_MUST_CHECK vug_status vug_session_extend(vug_session *session, const int32_t *id, size_t n,
                                             const vug_forward_options *options, vug_err *err);

/* Whether a token at position `n` would find its whole window in every ring. */
bool vug_session_can_go_back(const vug_session *session, size_t n);

/* A wish to cancel that came too late for the call that now ends is not meant for
 * the next one. */
void vug_session_end_call(vug_session *session);

/* One step over different sessions of one model, each extended by its own tokens,
 * at least one: the logits of each session's last token, valid until the first
 * session is used again. All tokens together fit the batch. */
typedef struct {
    vug_session *session;
    const int32_t *token; /* [n] */
    size_t n;
} vug_step_part;
VUG_MUST_CHECK vug_status vug_sessions_step(const vug_step_part *part, size_t n_parts,
                                            vug_err *err);

/* ---- snapshots.c: the ways back of sliding layers ------------------------------ */

/* After a failure what is there is for vug_snapshots_release. */
VUG_MUST_CHECK vug_status vug_snapshots_init(vug_session *session, vug_err *err);
void vug_snapshots_release(vug_session *session);
/* That a session may have: 0 where no layer forgets. */
size_t vug_snapshots_most(const vug_model *model);
/* Of the window before token `n`, if the session has it still; those behind it go, and another
 * one where there is no room. */
void vug_snapshot_take(vug_session *session, size_t n);
/* The last one that is not behind token `n`, or NULL. */
const vug_snapshot *vug_snapshot_before(const vug_session *session, size_t n);
/* Those behind token `n`, where other tokens come now. */
void vug_snapshots_forget(vug_session *session, size_t n);
/* The caches of `to`, which hold as many tokens, have these windows now. */
void vug_snapshot_restore(vug_session *to, const vug_snapshot *snapshot);

#endif
