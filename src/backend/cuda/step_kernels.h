#ifndef VUG_BACKEND_CUDA_STEP_KERNELS_H
#define VUG_BACKEND_CUDA_STEP_KERNELS_H

/* The kernels at the begin and the end of a step; see kernels.h. */

#include "backend/cuda/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- copy_inputs.cu --------------------------------------------------------------- */

/* The inputs of a step. A token below 0 is what row -1 - token of the step before decided. */
typedef struct {
    const uint32_t *from; /* [words] in pinned memory of the host */
    uint32_t *to;
    int64_t words, token, tokens; /* of which words token .. token + tokens - 1 are the tokens */
    const int32_t *best;          /* as in vug_cuda_wanted_job */
} vug_cuda_inputs_job;
void vug_cuda_copy_inputs(cudaStream_t stream, const vug_cuda_inputs_job *job);

/* ---- wanted_logits.cu ------------------------------------------------------------- */

typedef struct {
    vug_logit_change change;
    float from_model; /* the logit without changes, for the device to store */
} vug_cuda_change;

/* As vug_logits_wanted; best 0: the row is not listed. */
typedef struct {
    double margin;
    int32_t best, n_ids;
    vug_draw draw;
    const uint32_t *allowed;
    vug_cuda_change *change; /* [n_changes] */
    int32_t n_changes;
    int32_t top;
} vug_cuda_wanted;

/* A list of wanted logits, or the token that is drawn, for the host to read; n < 0: there is none,
 * because a logit is not a finite number, or because there are too many. */
typedef struct {
    int32_t n;
    vug_candidate logit[VUG_MOST_FOUND];
    uint64_t mass; /* of a report */
} vug_cuda_found;

typedef struct {
    float *logits; /* [rows,width], the same before and after */
    int64_t rows, width;
    const vug_cuda_wanted *wanted; /* [rows] */
    uint32_t *scratch;             /* vug_cuda_wanted_bytes */
    uint32_t *done;                /* [rows]: 0 before and after */
    vug_cuda_found *found;         /* [rows] in pinned memory of the host */
    vug_cuda_found *report;        /* the same for the `top` logits of rows that want them */
    int32_t *best; /* [rows] for rows that draw: the id; for rows that want one logit: its id, the
                      lowest of equals; 0 for those without a list */
    bool draws;    /* a row wants a draw */
    bool changes;  /* a row has changes */
    bool reports;  /* a row wants a report */
    vug_cuda_launch_options launch;
} vug_cuda_wanted_job;
uint64_t vug_cuda_wanted_bytes(int64_t rows);
void vug_cuda_list_wanted(cudaStream_t stream, const vug_cuda_wanted_job *job);

#ifdef __cplusplus
}
#endif

#endif
