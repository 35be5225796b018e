#ifndef VUG_ENGINE_SESSION_H
#define VUG_ENGINE_SESSION_H

/* Sessions: the KV cache of a sequence, the steps that extend it, and snapshots to go back. */

#include "engine/internal.h"

/* The sliding windows as they were before token `at` (snapshots.c). */
typedef struct {
    vug_state *windows;
    size_t at;
} vug_snapshot;

struct vug_session {
    vug_model *model;
    vug_state *state;
    vug_workspace *workspace;
    vug_compiled all_logits; /* a program with logits of every row and hidden states; compiled on
                                first use */
    vug_workspace *all_logits_workspace;
    bool all_logits_hidden; /* it has hidden states */
    int32_t *token;         /* [context] the tokens in the cache */
    size_t n;
    size_t written;         /* the greatest `n` since the cache last started at 0 or at `floor` */
    size_t floor;           /* the rings hold no windows before this token's */
    vug_snapshot *snapshot; /* the first n_snapshots are in use, ascending */
    size_t n_snapshots;
    int32_t *row;         /* [batch] scratch */
    vug_span *batch_span; /* [batch] scratch of vug_sessions_step, created on first use */
    int32_t *batch_token; /* [batch] scratch of vug_sessions_step */
    const float *logits;  /* [n_vocab] after token n - 1; NULL: none */
    const float **output; /* [outputs] scratch of a step */
    const float **hidden; /* [n_layers + 1] scratch of a step */
};

/* Checks a prefix and keeps the longest part of it that the cache can reuse: `cached` tokens, at
 * most n - 1. */
VUG_MUST_CHECK vug_status vug_session_prepare(vug_session *session, const int32_t *id, size_t n,
                                              size_t *cached, vug_err *err);

/* Runs one step over different sessions of one model and appends at least one token to each of
 * them. The logits of each session's last token are valid until the first session is used again.
 * All tokens together must fit the batch. */
typedef struct {
    vug_session *session;
    const int32_t *token; /* [n] */
    size_t n;
} vug_step_part;
VUG_MUST_CHECK vug_status vug_sessions_step(const vug_step_part *part, size_t n_parts,
                                            vug_err *err);

/* ---- snapshots.c --------------------------------------------------------------- */

/* The caller releases the snapshots even if this fails. */
VUG_MUST_CHECK vug_status vug_snapshots_init(vug_session *session, vug_err *err);
void vug_snapshots_release(vug_session *session);
/* Whether every ring still holds the whole window of a token at position `n`. */
bool vug_session_can_go_back(const vug_session *session, size_t n);
/* Saves the windows before token `n`, if the rings still hold them. Drops the snapshots after
 * token `n` and, if no slot is free, the least useful one. */
void vug_snapshot_take(vug_session *session, size_t n);
/* The last snapshot at or before token `n`, or NULL. */
const vug_snapshot *vug_snapshot_before(const vug_session *session, size_t n);
/* Drops the snapshots after token `n`. */
void vug_snapshots_drop_after(vug_session *session, size_t n);
/* Puts the windows of a snapshot into the caches of `to`, which hold its other tokens. */
void vug_snapshot_restore(vug_session *to, const vug_snapshot *snapshot);

#endif
