#ifndef VUG_ENGINE_SESSION_H
#define VUG_ENGINE_SESSION_H

/* Sessions: one sequence, the steps that extend it, and its last logits. */

#include "engine/scheduler.h"

struct vug_session {
    vug_model *model;
    vug_scheduled sequence;
    bool ignore_tree;         /* the next prefix is computed as a whole */
    vug_step_runner all_rows; /* a program with logits of every row and hidden states; compiled on
                                 first use */
    bool all_rows_hidden;     /* it has hidden states */
    bool has_logits;
    vug_logits_row logits[1 + VUG_MAX_DRAFT]; /* after the last call's last token, and after each
                                                 of its drafts */
    vug_logits_wanted wanted;                 /* of the rows of the next steps */
    size_t n_more; /* calls that will probably append the best tokens after the next step */
    int32_t draft[VUG_MAX_DRAFT]; /* [n_draft] of the last call */
    size_t n_draft;
    size_t n_accepted;    /* the first drafts, which belong to the sequence now */
    const float **hidden; /* [n_layers + 1] scratch of a step */
};

/* Whether a session of the model can hold these tokens. */
VUG_MUST_CHECK vug_status vug_model_check_tokens(const vug_model *model, const int32_t *id,
                                                 size_t n, vug_err *err);
/* Checks a prefix and keeps the longest part of it that is cached: `cached` tokens, at most
 * n - 1. */
VUG_MUST_CHECK vug_status vug_session_prepare(vug_session *session, const int32_t *id, size_t n,
                                              const vug_cancel_token *cancel, size_t *cached,
                                              vug_err *err);
/* Appends tokens in one step, of which the last `n_draft` are drafts. Those that were computed, in
 * order, are accepted with vug_session_accept_draft. `options`: its priority and cancel token. */
VUG_MUST_CHECK vug_status vug_session_extend_with_drafts(vug_session *session, const int32_t *id,
                                                         size_t n, size_t n_draft,
                                                         const vug_forward_options *options,
                                                         vug_err *err);
/* Appends `id` if it is the next draft. Returns false if it is not, or if there is none. */
bool vug_session_accept_draft(vug_session *session, int32_t id);
/* The logits that vug_session_logits gives; NULL: none. */
const vug_logits_row *vug_session_row(const vug_session *session);
/* Marks the place before token `at` as one where a later prompt may branch. */
void vug_session_mark(vug_session *session, size_t at, vug_mark_kind kind);

#endif
