#ifndef VUG_BACKEND_BACKEND_H
#define VUG_BACKEND_BACKEND_H

/*
 * The seam between the engine and a device: one vtable. A device compiles a
 * fused and planned graph into a program; a state holds the key/value caches of
 * one sequence, a workspace the planned buffers of a step; run executes one step
 * over any number of sequences.
 *
 * Contract of every backend (architecture, decision 9): the value of a token's
 * row in any output depends only on the token's own sequence up to it, to the
 * bit: never on how many tokens or sequences share the step, nor on how the
 * sequence was cut into steps.
 */

#include <stdatomic.h>

#include "ir/ir.h"
#include "ir/plan.h"
#include "ir/tensor.h"

typedef struct vug_device vug_device;
typedef struct vug_program vug_program;
typedef struct vug_state vug_state;
typedef struct vug_workspace vug_workspace;

/* A weight as the checkpoint holds it; borrowed for the life of the program.
 * Any alignment. */
typedef struct {
    const char *name;
    vug_dtype dtype;
    const uint8_t *data;
    vug_scales scales;
} vug_weight;

typedef struct {
    int64_t context; /* most tokens in a sequence */
    int64_t batch;   /* most tokens in a step: T <= batch */
    int64_t rows;    /* most rows of outputs in a step: R <= rows */
} vug_limits;

/* One attention layer's cache. */
typedef struct {
    int64_t window; /* 0: full */
    int64_t slots;  /* tokens held */
    uint64_t bytes; /* of its own */
    int source;     /* the layer that fills it: an earlier one's is read, and takes no bytes here */
} vug_cache_size;

/* What compiling found, before anything of a session is allocated. */
typedef struct {
    uint64_t copied_bytes;  /* weights converted at load */
    uint64_t program_bytes; /* tables of the program itself */
    uint64_t state_bytes;
    uint64_t windows_bytes; /* of a snapshot's; 0: no cache forgets anything */
    uint64_t workspace_bytes;
    const vug_cache_size *cache; /* [n_layers of the graph]; lives as long as the program */
} vug_program_sizes;

/* `n` tokens of one sequence, the first at position `past`. The state must hold
 * exactly the `past` tokens before, unless the graph is given them: then it is
 * scratch. */
typedef struct {
    vug_state *state;
    int64_t past;
    int64_t n;
} vug_span;

typedef struct {
    const vug_span *span; /* their tokens one after the other */
    int n_spans;
    const int32_t *token; /* [T], T = sum of n */
    const int32_t *row;   /* [R] indices into the step's tokens, ascending */
    int64_t n_rows;
    atomic_bool *cancel;      /* looked at all the time; may be NULL */
    const int32_t *position;  /* [T]; NULL: each span counts on from its past */
    const float *const *data; /* the graph's VUG_INPUT_DATA by index; P counts the pasts of all
                                 spans, S is the most of past + n; may be NULL without any */
} vug_step_in;

typedef struct {
    const char *isa; /* caps the kernels; NULL: the best */
    int threads;     /* 0: the physical cores */
} vug_device_options;

typedef struct {
    const char *name; /* "cpu" */
    VUG_MUST_CHECK vug_status (*open)(const vug_device_options *options, vug_device **out,
                                      vug_err *err);
    void (*close)(vug_device *device);
    vug_device_info (*describe)(const vug_device *device); /* NULL: of the machine */
    VUG_MUST_CHECK vug_status (*measure)(vug_device *device, vug_device_limits *out, vug_err *err);
    /* `weight[slot]` for every PARAM; graph and plan are borrowed. */
    VUG_MUST_CHECK vug_status (*compile)(vug_device *device, const vug_graph *graph,
                                         const vug_plan *plan, const vug_weight *weight,
                                         const vug_limits *limits, vug_program **out, vug_err *err);
    void (*release)(vug_program *program);
    vug_program_sizes (*sizes)(const vug_program *program);
    VUG_MUST_CHECK vug_status (*state_create)(const vug_program *program, vug_state **out,
                                              vug_err *err);
    void (*state_destroy)(vug_state *state);
    /* `to` then holds the first `n` tokens of a sequence as `from` does. */
    void (*state_copy)(const vug_program *program, vug_state *to, const vug_state *from, int64_t n);
    /* A state of another kind, with room for nothing but one window of each cache that forgets:
     * what a sequence needs, beside the caches that do not, to go on from an earlier token. */
    VUG_MUST_CHECK vug_status (*windows_create)(const vug_program *program, vug_state **out,
                                                vug_err *err);
    /* The windows before token `n`, which `from` must hold. */
    void (*windows_save)(const vug_program *program, vug_state *windows, const vug_state *from,
                         int64_t n);
    /* `to` then holds these tokens of the caches that forget, and none before them. */
    void (*windows_restore)(const vug_program *program, vug_state *to, const vug_state *windows,
                            int64_t n);
    VUG_MUST_CHECK vug_status (*workspace_create)(const vug_program *program, vug_workspace **out,
                                                  vug_err *err);
    void (*workspace_destroy)(vug_workspace *workspace);
    /* Steps of one device run one at a time. Allocates nothing. `output[i]` gets
     * graph output i, in F32 in host memory, valid until the workspace is used
     * again. VUG_CANCELLED leaves the states with unspecified contents from
     * `past` on, everything before intact. */
    VUG_MUST_CHECK vug_status (*run)(const vug_program *program, vug_workspace *workspace,
                                     const vug_step_in *in, const float **output, vug_err *err);
} vug_backend;

/* The backends of this build, the preferred first; `i` < vug_backend_count(). */
size_t vug_backend_count(void);
const vug_backend *vug_backend_at(size_t i);

#endif
