#ifndef VUG_BACKEND_BACKEND_H
#define VUG_BACKEND_BACKEND_H

/*
 * The interface between the engine and a device: one vtable. A device takes the weights of a
 * model once and compiles fused and planned graphs over them into programs. A kv holds the pages
 * of key/value caches, a workspace the buffers of a step. `run` executes one step over any number
 * of sequences, each of which has its page tables.
 *
 * Contract of a backend that is `batch_invariant` (architecture, decision 9): a token's row in any
 * output depends, to the bit, only on the tokens of its own sequence up to and including it. It
 * does not depend on which other tokens or sequences share the step, or on how the sequence was
 * cut into steps. With any other backend, and with activations in BF16_FAST (ir/activations.h), it may
 * differ by what rounding in F32 makes of it.
 */

#include <float.h>

#include "core/noise.h"
#include "core/portable_inline.h"
#include "ir/ir.h"
#include "ir/kv_layout.h"
#include "ir/plan.h"
#include "ir/tensor.h"
#include "vug/stats.h"

typedef struct vug_device vug_device;
typedef struct vug_device_weights vug_device_weights;
typedef struct vug_program vug_program;
typedef struct vug_kv vug_kv;
typedef struct vug_workspace vug_workspace;

/* A weight as the checkpoint holds it: a matrix [rows,columns], or a vector as one row. The bytes
 * may have any alignment and must outlive the device's weights. */
typedef struct {
    const char *name;
    vug_dtype dtype;
    int64_t rows, columns;
    const uint8_t *data;
    vug_scales scales;
} vug_weight;

typedef struct {
    int64_t context; /* maximum tokens of a sequence */
    int64_t batch;   /* maximum tokens of a step: T <= batch */
    int64_t rows;    /* maximum output rows of a step: R <= rows */
} vug_limits;

/* Sizes that are known after compiling, before anything else is allocated. */
typedef struct {
    uint64_t program_bytes; /* tables of the program itself */
    uint64_t workspace_bytes;
    uint64_t device_bytes; /* of a program and a workspace, what lies in memory that only the device
                              has, as its weights and pages do; 0: the device has no such memory */
} vug_program_sizes;

/* `n` tokens of one sequence, the first at position `past`. table[group][block] is the page of
 * positions VUG_KV_PAGE * block on, for every block that the tokens see or fill. The pages must
 * hold the `past` tokens before, unless the graph has the past as an input. The step writes
 * positions past .. past + n - 1 and nothing else. */
typedef struct {
    const vug_page *const *table;
    int64_t past;
    int64_t n;
} vug_span;

/* What an operation has cost, summed over its nodes and steps. */
typedef struct {
    uint64_t runs; /* of nodes */
    double seconds;
    double weight_bytes; /* of matrices of weights that products read */
    double flop;         /* of these products: two for each weight and row */
} vug_op_cost;

/* How a token is drawn from a row of logits (docs/sampling.md): at the temperature, the `top_k` best are
 * kept, of these the fewest that have the share `top_p` of the mass, of these those that are at least
 * `min_p` times as likely as the best; then the noise decides. */
typedef struct {
    double temperature; /* 0: no token is drawn */
    vug_noise noise;
    int64_t top_k; /* 0: all */
    double top_p;  /* 1: all */
    double min_p;  /* 0: all */
} vug_draw;

/* A change of a logit before its reader looks at it, by vug_change_logit. */
typedef struct {
    int32_t id;
    float value;
    int stage; /* changes of one stage are of different ids, or exclude the same one */
    bool is_repetition;
} vug_logit_change;

enum { VUG_MOST_CHANGES = 4096 }; /* of a row */

/* A repetition penalty divides (Keskar et al. 2019; below 0 it multiplies, as transformers does); all
 * others subtract, infinity if the id is excluded. */
VUG_INLINE float vug_change_logit(float logit, const vug_logit_change *change)
{
    if (!change->is_repetition)
        return logit - change->value;
    return logit > 0 ? logit / change->value : logit * change->value;
}

/* The logits of a row that its reader looks at: those among the `best` greatest of the first
 * `n_ids`, and those that are at most `margin` less than the least of these. All others may have the
 * value VUG_LOGIT_UNWANTED. `best` 0: all logits are wanted.
 *
 * With a `share` above 0 the reader keeps the fewest of the greatest logits that have this share of the
 * mass, which is the sum of exp(scale * logit) of the first n_ids. Then logits are left out only if it
 * keeps the same without them. `margin` is one with which that is likely. Only backends that screen
 * logits or draw tokens know shares.
 *
 * With a temperature of `draw` above 0 the reader takes the token that is drawn from the first n_ids, and
 * a backend that draws tokens may list this one alone. Only such a backend knows `allowed` and `change`:
 * ids without a bit count as if they were not among the first n_ids, and all of the above is about the
 * logits as the changes, which are ordered by their stages, leave them. Lists and rows have the model's
 * logits.
 *
 * With `top` above 0, for log-probabilities, such a backend lists a row only if it also reports the `top`
 * greatest of the first n_ids of the model's logits and their mass. */
typedef struct {
    int64_t best, n_ids;
    double margin;
    double share, scale;
    vug_draw draw;
    const uint32_t *allowed;        /* a bit for each of n_ids; NULL: all are allowed */
    const vug_logit_change *change; /* [n_changes] n_changes <= VUG_MOST_CHANGES */
    size_t n_changes;
    int64_t top;
} vug_logits_wanted;

#define VUG_LOGIT_UNWANTED (-FLT_MAX)

/* A token that may be drawn. */
typedef struct {
    int32_t id;
    float logit;
} vug_candidate;

/* The wanted logits of a row as a list, perhaps with some others: at most VUG_MOST_FOUND, in any
 * order. The same for the `top` ones. `mass` is the sum of the masses of the first n_ids relative to the
 * greatest logit, in 2^-40 (engine/token_mass.h). */
typedef struct {
    const vug_candidate *logit;
    size_t n;
    const vug_candidate *top; /* [n_top] */
    size_t n_top;
    uint64_t mass;
} vug_found_logits;

enum { VUG_MOST_FOUND = 1024 };

enum { VUG_STEPS_STARTED = 2 }; /* and not finished, at most */

typedef struct {
    vug_kv *kv;           /* of the program's layout; NULL: the graph has no caches */
    const vug_span *span; /* their tokens follow each other in `token` */
    int n_spans;
    const int32_t *token; /* [T], T = sum of n; NULL: the graph embeds none */
    const int32_t *row;   /* [R] indices into the step's tokens, ascending */
    int64_t n_rows;
    const vug_cancel_token *cancel; /* polled during the step; may be NULL */
    const int32_t *position;        /* [T]; NULL: past, past + 1, ... of each span */
    const float *const *data; /* the graph's VUG_INPUT_DATA by index. P is the sum of the spans'
                                 `past`, S the maximum of past + n. NULL if the graph has none */
    vug_op_cost *cost;        /* [VUG_OP_COUNT] to which the step adds; NULL: nothing is timed. A
                                 backend that cannot tell operations apart adds nothing */
    const vug_logits_wanted *wanted; /* [R] of the graph's output "logits", if that is a product;
                                        NULL: all. A backend may compute more */
    vug_found_logits *found;         /* [R] all-zero; NULL if `wanted` is. A backend may list the
                                        wanted logits of a row here, valid as long as the outputs,
                                        if all logits of the row are finite. The row of "logits" is
                                        unspecified then */
    vug_head_stats *head_stats;      /* to which the step adds; may be NULL */
    /* Of `start` alone: [T] rows of the step before. Token i is what row follows[i] draws or, without a
     * draw, the id of the greatest of its wanted logits, the lowest of equals; `token` has valid ids that
     * are not used. NULL: `token` has them all. */
    const int32_t *follows;
} vug_step_in;

typedef struct {
    const char *isa;       /* the best kernel set to use, by name; NULL: the best of the machine */
    int threads;           /* 0: the physical cores */
    uint64_t memory_limit; /* bytes that weights, caches and buffers may take; 0: no limit */
} vug_device_options;

typedef struct {
    const char *name; /* "cpu" */
    bool batch_invariant;
    /* The most that the device's rounding changes a logit of a checkpoint in F32 (docs/arithmetic.md),
     * with activations in BF16 and otherwise; 0: no more than sums in F32. */
    struct {
        double bf16, other;
    } logit_error;
    /* What the values of precision.activations mean on the device, for people; NULL: what they say. */
    const char *activations_meaning[VUG_ACTIVATIONS_COUNT];
    VUG_MUST_CHECK vug_status (*open)(const vug_device_options *options, vug_device **out,
                                      vug_err *err);
    void (*close)(vug_device *device);
    vug_device_info (*describe)(const vug_device *device); /* NULL describes the machine */
    /* Bytes that could still be allocated on the device. */
    uint64_t (*memory_available)(const vug_device *device);
    /* What the device's own allocator holds; NULL: it has none. */
    vug_device_memory (*memory_used)(const vug_device *device);
    VUG_MUST_CHECK vug_status (*measure)(vug_device *device, vug_device_limits *out, vug_err *err);
    /* `weight[slot]` for every PARAM of the graphs that will be compiled over them; data NULL: no
     * graph uses the slot. The table is copied, the bytes are borrowed. Fails, before it loads
     * any, if the device or its memory limit cannot hold them. */
    VUG_MUST_CHECK vug_status (*weights_create)(vug_device *device, const vug_weight *weight,
                                                size_t n, vug_device_weights **out, vug_err *err);
    /* Copies the weights to the device, which weights_create has made room for. A step does so if
     * nobody has; NULL: there is nothing to copy. */
    VUG_MUST_CHECK vug_status (*weights_load)(vug_device_weights *weights, vug_err *err);
    /* After the programs that were compiled over them. */
    void (*weights_destroy)(vug_device_weights *weights);
    /* Bytes of the device's memory that hold weights, without the mapped file. A program may add
     * some when it is compiled; programs that need the same share them. */
    uint64_t (*weights_bytes)(const vug_device_weights *weights);
    /* Bytes of those in formats that the device does not compute with, and that it has decoded to
     * BF16; NULL: it decodes none. */
    uint64_t (*weights_decoded)(const vug_device_weights *weights);
    /* Weights, graph and plan are borrowed. Different threads may compile at the same time. */
    VUG_MUST_CHECK vug_status (*compile)(vug_device_weights *weights, const vug_graph *graph,
                                         const vug_plan *plan, const vug_limits *limits,
                                         vug_program **out, vug_err *err);
    void (*release)(vug_program *program);
    vug_program_sizes (*sizes)(const vug_program *program);
    /* What its user should know about how the program computes, in a line; or NULL. The function is
     * NULL if there never is anything. */
    const char *(*note)(const vug_program *program);
    /* Whether steps take less time if few logits are wanted, enough for the caller to spend some on
     * finding out which; NULL: no. */
    bool (*screens_logits)(const vug_program *program);
    /* Whether steps draw the tokens of rows that want it (vug_logits_wanted.draw); NULL: no. */
    bool (*draws_tokens)(const vug_program *program);
    /* The layout of the caches that the program's steps need; it lives as long as the program. */
    const vug_kv_layout *(*kv_layout)(const vug_program *program);
    /* A key/value cache: pages of the groups of a layout (ir/kv_layout.h). Which pages are in use
     * is the caller's affair. Bytes of a page of a group. */
    uint64_t (*kv_page_bytes)(const vug_device *device, const vug_kv_layout *layout, int group);
    /* Reserves room for pages 1 .. pages[g] of each group; no page has memory yet. The layout is
     * borrowed. */
    VUG_MUST_CHECK vug_status (*kv_create)(vug_device *device, const vug_kv_layout *layout,
                                           const uint32_t *pages, vug_kv **out, vug_err *err);
    void (*kv_destroy)(vug_kv *kv);
    /* Gives a page memory, or takes it away; its contents are unspecified afterwards. */
    VUG_MUST_CHECK vug_status (*kv_commit)(vug_kv *kv, int group, vug_page page, vug_err *err);
    void (*kv_discard)(vug_kv *kv, int group, vug_page page);
    void (*kv_copy)(vug_kv *kv, int group, vug_page to, vug_page from);
    /* Between a page and `bytes` [kv_page_bytes] in host memory, in a format of the backend. */
    void (*kv_read)(const vug_kv *kv, int group, vug_page page, uint8_t *bytes);
    void (*kv_write)(vug_kv *kv, int group, vug_page page, const uint8_t *bytes);
    VUG_MUST_CHECK vug_status (*workspace_create)(const vug_program *program, vug_workspace **out,
                                                  vug_err *err);
    void (*workspace_destroy)(vug_workspace *workspace);
    /* Steps of one device run one at a time. Allocates nothing. `output[i]` is set to graph
     * output i, F32 in host memory, valid until the workspace is used again. After
     * VUG_CANCELLED the pages are unspecified from `past` on and intact before it. */
    VUG_MUST_CHECK vug_status (*run)(const vug_program *program, vug_workspace *workspace,
                                     const vug_step_in *in, const float **output, vug_err *err);
    /* The same in two halves, so that a step can be started while the one before it runs: at most
     * VUG_STEPS_STARTED are started and not finished, and they are finished in order. What `in`
     * points to stays the caller's until then. A step that follows another one wants the greatest
     * logit of each row or a draw, as that one does. If another step was started behind it, a row
     * that has no list in `found` has no logits either. NULL: the device only runs steps. */
    VUG_MUST_CHECK vug_status (*start)(const vug_program *program, vug_workspace *workspace,
                                       const vug_step_in *in, vug_err *err);
    VUG_MUST_CHECK vug_status (*finish)(const vug_program *program, vug_workspace *workspace,
                                        const float **output, vug_err *err);
} vug_backend;

/* The backends of this build, preferred ones first; `i` < vug_backend_count(). */
size_t vug_backend_count(void);
const vug_backend *vug_backend_at(size_t i);

#endif
