#ifndef VUG_STATS_H
#define VUG_STATS_H

/*
 * What steps of a model cost: time and bytes of each operation, what the head's screen saves, the
 * memory that the device holds, and what of the model is on which device.
 */

#include "vug/vug.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- time of operations --------------------------------------------------------------------- */

/* What an operation of the model's graph has cost, summed over its nodes and steps. */
typedef struct {
    const char *name; /* as in vug_model_graph, such as "linear" */
    uint64_t runs;    /* of nodes */
    double seconds;
    double weight_bytes; /* that matrix products read: each matrix once per step */
    double flop;         /* of these products: two for each weight and row */
} vug_op_timing;

/* Begins to add up the cost of operations, from 0, or stops. No step of the model may run at the
 * same time. On devices that cannot tell operations apart all costs stay 0. */
VUG_API void vug_model_time_ops(vug_model *model, bool on);
VUG_API size_t vug_op_count(void);
/* `i` < vug_op_count(). */
VUG_API vug_op_timing vug_model_op_timing(const vug_model *model, size_t i);

/* ---- the head's screen ---------------------------------------------------------------------- */

/* What the head's screen has saved since the model was opened (vug_model_options.head_screen). */
typedef struct {
    uint64_t rows;      /* of logits of which only some were wanted */
    uint64_t screened;  /* of these, the rows of which only some logits were computed */
    uint64_t logits;    /* computed in `rows`, */
    uint64_t of;        /* of so many */
    double saved_bytes; /* of weights that were not read; below 0 if the screen read more */
} vug_head_stats;

/* From any thread between steps; while a step runs, some of it may be counted. */
VUG_API vug_head_stats vug_model_head_stats(const vug_model *model);

/* ---- the device --------------------------------------------------------------------------------- */

/* Whether the last step of the model failed with VUG_DEVICE: a GPU that is lost works again only in
 * another process. From any thread. */
VUG_API bool vug_model_device_failed(const vug_model *model);

/* What a device's allocator holds, in bytes, over all models of the process. */
typedef struct {
    uint64_t active; /* in use */
    uint64_t cached; /* freed, but kept for later use */
    uint64_t peak;   /* the most that was in use */
} vug_device_memory;

/* All 0 on a device without an allocator of its own, such as the CPU. */
VUG_API vug_device_memory vug_model_device_memory(const vug_model *model);

/* ---- models on two devices ------------------------------------------------------------------ */

/* What of a model is on a device (gpu_layers and cpu_experts of vug_model_options). Bytes are planned
 * before anything is allocated. */
typedef struct {
    const char *device;
    int64_t first_layer, n_layers;
    int64_t n_expert_layers; /* layers whose experts it computes for another part, which has the rest */
    uint64_t weights; /* that steps read there, as large as in the files; a tied head is on both
                               devices */
    uint64_t session_cache; /* keys and values of one session with the whole context */
    uint64_t buffers;       /* of a step */
} vug_model_part;

/* 1; one more if the layers are on two devices, and one more for experts on the CPU. */
VUG_API size_t vug_model_part_count(const vug_model *model);
/* `i` < vug_model_part_count(); the part with the embedding is first, that of experts last. */
VUG_API vug_model_part vug_model_part_at(const vug_model *model, size_t i);

#ifdef __cplusplus
}
#endif

#endif
