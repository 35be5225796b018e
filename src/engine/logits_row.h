#ifndef VUG_ENGINE_LOGITS_ROW_H
#define VUG_ENGINE_LOGITS_ROW_H

/* A row of logits that outlives the step which computed it. If the step listed only the wanted ones,
 * taking them over and choosing a token take a time that does not depend on the vocabulary. */

#include "backend/backend.h"
#include "core/mem.h"
#include "core/status.h"

/* A row of a step's logits: [n_vocab], or a list if that is not empty. */
typedef struct {
    const float *all;
    vug_found_logits found;
} vug_logits_source;

typedef struct {
    float *logit; /* [n_vocab]; VUG_LOGIT_UNWANTED where it is not known */
    size_t n_vocab;
    int32_t *known; /* [n_known] the ids of the known logits; n_known 0: all are */
    size_t n_known;
    vug_candidate *top; /* [n_top] as in vug_found_logits; n_top 0: the step reported none */
    size_t n_top;
    uint64_t mass;
} vug_logits_row;

/* The id of the greatest of the first `n` logits, the lowest among equals. */
int32_t vug_logits_source_best(const vug_logits_source *from, size_t n);

/* All logits are known, and unspecified. */
VUG_MUST_CHECK vug_status vug_logits_row_init(vug_logits_row *row, size_t n_vocab, vug_err *err);
/* Accepts an all-zero row. */
void vug_logits_row_release(vug_logits_row *row);
void vug_logits_row_set(vug_logits_row *row, const vug_logits_source *from);
/* The id of the greatest logit, the lowest among equals. */
int32_t vug_logits_row_best(const vug_logits_row *row);

#endif
