#ifndef VUG_BACKEND_CUDA_INTERNAL_H
#define VUG_BACKEND_CUDA_INTERNAL_H

/*
 * What the files of the CUDA backend share. The vtable's objects are these types; vug_device * and
 * so on are only their names outside of this folder.
 *
 * A step runs on one stream: its inputs are copied to the device in one piece, every node launches
 * its kernels, the outputs are copied back, and the step waits for the stream.
 */

#include "backend/checks.h"
#include "backend/cuda/activation_blocks.h"
#include "backend/cuda/attention_kernels.h"
#include "backend/cuda/cuda.h"
#include "backend/cuda/prefill.h"
#include "backend/cuda/step_kernels.h"
#include "backend/cuda/weight_tiles.h"

/* ---- device.c -------------------------------------------------------------------- */

typedef struct {
    cudaStream_t stream;
    cudaStream_t recording;   /* where graphs are recorded; nothing runs on it */
    int processors, clusters; /* multiprocessors; on compute capability 9.0, vug_cuda_clusters */
    int capability;           /* major number of the compute capability */
    uint64_t memory;
} vug_cuda_device;

/* ---- device_memory.c ------------------------------------------------------------- */

/* VUG_OK, or a failure that says what could not be done, and why. */
VUG_MUST_CHECK vug_status vug_cuda_check(cudaError_t result, const char *what, vug_err *err);
/* Memory of the device's pool, which any stream may use at once. */
VUG_MUST_CHECK vug_status vug_cuda_alloc(uint64_t bytes, const char *what, void **out,
                                         vug_err *err);
/* Gives memory, or NULL, back to the pool; no stream may use it any more. The pool counts it as
 * free at once, as it does not after cudaFree. */
void vug_cuda_free(void *memory);
/* What the pool holds, and what could still be allocated; `device` may be NULL. */
vug_device_memory vug_cuda_memory_used(const vug_device *device);
uint64_t vug_cuda_memory_available(const vug_device *device);
/* Places `bytes` at the end of a block of `*end` bytes, aligned to 256; false on overflow. */
bool vug_cuda_add_part(uint64_t bytes, uint64_t *end, uint64_t *at);

/* ---- device_weights.c ------------------------------------------------------------ */

typedef struct {
    vug_cuda_device *device;
    vug_weight *weight; /* [n] as they were given, for checks */
    vug_matrix *matrix; /* [n] on the device; a weight of one row is stored in F32, others in
                            tiles if their format has these (weight_tiles.h) */
    size_t n;
    uint8_t *block; /* all of them */
    uint64_t bytes;
    bool loaded;
    vug_arena arena;
} vug_cuda_weights;

/* Bytes of a row; a sixteenth of a row of tiles. */
int64_t vug_cuda_row_bytes(const vug_matrix *matrix);
VUG_MUST_CHECK vug_status vug_cuda_weights_create(vug_device *device, const vug_weight *weight,
                                                  size_t n, vug_device_weights **out, vug_err *err);
VUG_MUST_CHECK vug_status vug_cuda_weights_load(vug_device_weights *weights, vug_err *err);
void vug_cuda_weights_destroy(vug_device_weights *weights);
uint64_t vug_cuda_weights_bytes(const vug_device_weights *weights);

/* ---- kv_memory.c ----------------------------------------------------------------- */

/* The pages of each group; page i is page[i - 1], NULL while it has no memory. */
typedef struct {
    cudaStream_t stream;
    struct {
        uint8_t **page;
        uint64_t page_bytes;
        uint32_t pages;
    } group[VUG_KV_MAX_GROUPS];
    int n_groups;
} vug_cuda_kv;

/* The cache of layer `index` of a group; false when the sizes overflow. */
bool vug_cuda_kv_cache_init(vug_cuda_kv_cache *cache, const vug_kv_group *group, int index,
                            vug_kv_format format);
uint64_t vug_cuda_kv_page_bytes(const vug_device *device, const vug_kv_layout *layout, int group);
VUG_MUST_CHECK vug_status vug_cuda_kv_create(vug_device *device, const vug_kv_layout *layout,
                                             const uint32_t *pages, vug_kv **out, vug_err *err);
void vug_cuda_kv_destroy(vug_kv *cache);
VUG_MUST_CHECK vug_status vug_cuda_kv_commit(vug_kv *kv, int group, vug_page page, vug_err *err);
void vug_cuda_kv_discard(vug_kv *cache, int group, vug_page page);
void vug_cuda_kv_copy(vug_kv *cache, int group, vug_page to, vug_page from);
void vug_cuda_kv_read(const vug_kv *cache, int group, vug_page page, uint8_t *bytes);
void vug_cuda_kv_write(vug_kv *cache, int group, vug_page page, const uint8_t *bytes);

/* ---- program.c ------------------------------------------------------------------- */

/* Products that run as one launch (lower.c): of up to three matrices, or of two with an activation.
 * In a step of one row, the launch also computes the norm and the sum before it. */
typedef struct {
    uint32_t at; /* the node in whose place they run */
    uint32_t linear[VUG_CUDA_MAX_PARTS];
    int n;
    uint32_t activation, norm, add; /* nodes; 0: none */
    bool shares_norm;               /* others read it, too, later */
    uint32_t source; /* the node that gives the rows, if nothing else reads it; 0: another does */
    uint32_t gated;  /* the source, if an activation: with many rows this product computes it */
} vug_cuda_product;

typedef struct {
    vug_cuda_device *device;
    vug_cuda_weights *weights;
    const vug_graph *graph; /* borrowed, as the plan */
    const vug_plan *plan;
    vug_limits limits;
    int64_t token_dim;
    vug_kv_layout kv_layout;
    vug_cuda_kv_cache *cache;  /* [n_layers]; heads 0: the layer has no cache of its own */
    const uint8_t **constant;  /* [nodes] on the device: the frequencies of a table of rotations,
                                  or the addresses of an EXPERTS node's weights, 9 for each expert:
                                  data, scales, biases of gate, then up, then down */
    uint8_t *constants;        /* all of them, */
    uint64_t constant_bytes;   /* so many bytes */
    vug_cuda_product *product; /* [n_products] */
    int32_t *product_of;       /* [nodes] the product that a node is part of, or -1 */
    int32_t n_products;
    bool plain_products;  /* their weights are BF16 */
    uint32_t *rotated_by; /* [nodes] the ATTENTION node that rotates a query or key itself, or 0 */
    uint32_t *row_reader; /* [nodes] the product, by its first node, that alone reads it, or 0 */
    uint64_t *offset;     /* [nodes] of a value, in bytes */
    bool data_by_token;   /* all data inputs of the graph have a row of fixed size for each token */
    uint64_t value_bytes; /* of all values */
    uint64_t scratch_bytes; /* of a step, beside the values */
    uint64_t output_bytes;  /* of all outputs */
    int32_t logits;         /* the output "logits"; -1: there is none */
    vug_program_sizes sizes;
    vug_arena arena;
} vug_cuda_program;

/* Bytes of a workspace's `pages_done`, and of its `rows_done` and `best` each. */
uint64_t vug_cuda_pages_done_bytes(const vug_cuda_program *p);
uint64_t vug_cuda_row_words_bytes(const vug_cuda_program *p);
VUG_MUST_CHECK vug_status vug_cuda_compile(vug_device_weights *weights, const vug_graph *graph,
                                           const vug_plan *plan, const vug_limits *limits,
                                           vug_program **out, vug_err *err);
void vug_cuda_release(vug_program *program);

/* ---- kernel_choice.c --------------------------------------------------------------- */

/* Terms in BF16 of the rows that products read (weight_tiles.h). */
int vug_cuda_terms(const vug_cuda_program *p);
/* Pages that attention computes side by side in a step of so many tokens, of sequences of up to so
 * many positions; 0: one after the other. */
int64_t vug_cuda_side_pages(const vug_node *node, int64_t tokens, int64_t positions);
/* Whether attention with a cache runs on tensor cores (prefill.h). */
bool vug_cuda_rounds_attention(const vug_cuda_program *p, const vug_node *node);

/* Where the parts of an EXPERTS node lie in scratch memory, in bytes; `choices` is the number of rows times
 * that of experts of each. In narrow groups and on plain kernels the products of the gates are at its begin. */
typedef struct {
    uint64_t up, down;          /* [choices,hidden], [choices,width] */
    int64_t group_rows, groups; /* of a group (0: plain kernels, 1: no groups); the most groups */
    uint64_t expert, choice, used; /* of groups (vug_cuda_sort_job) */
    uint64_t terms, hidden, bytes; /* of groups, with sums; of activations in wide ones; of all */
} vug_cuda_expert_space;
vug_cuda_expert_space vug_cuda_place_experts(const vug_cuda_program *p, const vug_node *node,
                                             int64_t rows);
/* The most that up to `most_rows` rows take. */
uint64_t vug_cuda_expert_bytes(const vug_cuda_program *p, const vug_node *node, int64_t most_rows);

/* ---- lower.c ---------------------------------------------------------------------- */

/* Finds the products of a program and places its values. */
VUG_MUST_CHECK vug_status vug_cuda_lower(vug_cuda_program *p, vug_err *err);

/* ---- step_inputs.c ----------------------------------------------------------------- */

/* Memory that grows when a step needs more than any step before. */
typedef struct {
    uint8_t *host; /* [VUG_STEPS_STARTED,bytes] pinned; NULL in a buffer without it */
    uint8_t *device;
    uint64_t bytes;
} vug_cuda_buffer;

void vug_cuda_buffer_release(vug_cuda_buffer *buffer);

/* Which step runs, for functions of the host in its middle. */
typedef struct {
    int32_t started;      /* its index in the workspace's `started` */
    int32_t tokens, rows; /* with padding */
} vug_cuda_step_id;

/* The inputs of a step, on the device. */
typedef struct {
    const int32_t *token, *position, *row;   /* [T], [T], [R] */
    const vug_cuda_token *query;             /* [T] */
    const vug_cuda_token *row_query;         /* [R] */
    const vug_cuda_wanted *wanted;           /* [R]; of a step that wants all: unspecified */
    uint8_t *const *page[VUG_KV_MAX_GROUPS]; /* of all sequences, one after the other */
    const vug_cuda_step_id *id;
    int64_t keys; /* the most positions of a sequence; more in a step that repeats */
} vug_cuda_step_inputs;

/* ---- run.c ------------------------------------------------------------------------- */

typedef struct vug_cuda_graphs vug_cuda_graphs;
typedef struct vug_cuda_padding vug_cuda_padding;
typedef struct vug_cuda_host_calls vug_cuda_host_calls;

/* A step that was started. */
typedef struct {
    vug_step_in in;
    cudaEvent_t end;
    const float **output;  /* [outputs of the graph] */
    vug_cuda_found *found; /* [2 rows] pinned, lists and reports; NULL: the program has no logits */
    vug_err failure;       /* of a function of the host; code VUG_OK: none */
} vug_cuda_started;

typedef struct {
    const vug_cuda_program *program;
    vug_cuda_graphs *graphs;
    vug_cuda_padding *padding;
    vug_cuda_host_calls *host_calls; /* NULL: the program has none */
    uint8_t *block;                  /* the values, then scratch */
    uint8_t *scratch;
    uint32_t *pages_done; /* zeros (vug_cuda_decode_attention_job) */
    uint32_t *rows_done;  /* zeros (vug_cuda_wanted_job) */
    int32_t *best;        /* [rows] of the last step with lists (vug_cuda_wanted_job) */
    uint8_t *outputs;     /* pinned */
    vug_cuda_started started[VUG_STEPS_STARTED];
    int next, n_started; /* started[next] is the one that is started next; those before it run */
    vug_cuda_buffer inputs;
    vug_cuda_buffer *data;    /* [n_data] for the data inputs of the graph, of a step that cannot
                                 be a graph */
    const uint8_t **data_now; /* [n_data] those of the running step, on the device */
    int n_data;
    vug_arena arena;
} vug_cuda_workspace;

/* The most tokens of a step that can be a graph: of one sequence, or one of each. */
enum { VUG_CUDA_REPEATED_TOKENS = 16, VUG_CUDA_REPEATED_SEQUENCES = 64 };
/* Whether a step can be a graph: it has few tokens, of one sequence or one of each, and data only by
 * token. The inputs of such a step are laid out for more positions than it has, so that the next
 * step has the same layout. */
bool vug_cuda_repeats(const vug_cuda_workspace *ws, const vug_step_in *in, int64_t tokens);
/* The most positions that the inputs of a step are laid out for. */
int64_t vug_cuda_most_keys(const vug_cuda_program *p);
/* The elements of a value of a step. */
int64_t vug_cuda_elements_of(const vug_shape *shape, const vug_step_in *in, int64_t tokens);

/* What the launches of a step need. */
typedef struct {
    const vug_cuda_program *program;
    const vug_cuda_workspace *ws;
    const vug_step_in *in;
    cudaStream_t stream;
    vug_cuda_step_inputs inputs;
    vug_cuda_inputs_job copy; /* brings them to the device */
    int64_t tokens;
    vug_cuda_wanted_job lists; /* rows 0: the step lists no logits */
} vug_cuda_step;

/* Fills `inputs` and `copy` of the step that is started next, and brings to the device what `copy` does not.
 * step->tokens counts those of padding, too, for which step->in has no data: its data, and what it
 * follows, are those of the first `given` tokens. */
VUG_MUST_CHECK vug_status vug_cuda_fill_inputs(vug_cuda_workspace *ws, int64_t given,
                                               vug_cuda_step *step, vug_err *err);

static inline float *vug_cuda_value_at(const vug_cuda_step *s, vug_val v)
{
    return (float *)(void *)(s->ws->block + s->program->offset[v.id]);
}

/* A computed value, or data of the step. */
static inline const float *vug_cuda_input_at(const vug_cuda_step *s, vug_val v)
{
    const vug_node *node = vug_graph_at(s->program->graph, v);
    return node->op == VUG_OP_INPUT
                   ? (const float *)(const void *)s->ws->data_now[node->at.input.index]
                   : vug_cuda_value_at(s, v);
}

/* Whether there are kernels for an operation, or none are needed (launch.c). */
bool vug_cuda_has_launch(vug_op op);
/* Launches the kernels of node `id` (launch.c). */
void vug_cuda_launch_node(const vug_cuda_step *step, uint32_t id);
/* Whether it launches any: those of some nodes run in the launch of another. */
bool vug_cuda_launches(const vug_cuda_step *step, uint32_t id);

/* ---- run.c: the backend's functions ---------------------------------------------------- */

VUG_MUST_CHECK vug_status vug_cuda_start(const vug_program *program, vug_workspace *workspace,
                                         const vug_step_in *in, vug_err *err);
VUG_MUST_CHECK vug_status vug_cuda_finish(const vug_program *program, vug_workspace *workspace,
                                          const float **output, vug_err *err);
VUG_MUST_CHECK vug_status vug_cuda_workspace_create(const vug_program *program, vug_workspace **out,
                                                    vug_err *err);
void vug_cuda_workspace_destroy(vug_workspace *workspace);
VUG_MUST_CHECK vug_status vug_cuda_run(const vug_program *program, vug_workspace *workspace,
                                       const vug_step_in *in, const float **output, vug_err *err);

#endif
