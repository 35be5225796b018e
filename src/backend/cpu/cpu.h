#ifndef VUG_BACKEND_CPU_CPU_H
#define VUG_BACKEND_CPU_CPU_H

/* What the files of this folder share. Only tests include it from outside. */

#include <stdatomic.h>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "core/cancel.h"
#include "core/pool.h"
#include "ir/activations.h"

struct vug_device {
    const vug_cpu_kernels *kernels;
    vug_pool *pool;
};

/* Where a job runs: kernels, threads and memory. */
typedef struct {
    const vug_cpu_kernels *kernels;
    vug_pool *pool;
    float *scratch;                 /* [threads][scratch_floats], aligned to 64 bytes */
    int64_t scratch_floats;         /* a multiple of 16 */
    float *shared;                  /* one block for all threads, used by one job at a time */
    vug_activations activations;    /* of matrix products */
    const vug_cancel_token *cancel; /* of the running step; may be NULL */
} vug_cpu_env;

enum {
    VUG_CPU_CACHE_LINE = 16, /* floats of a cache line */
    /* With fewer elements, waking the threads costs more than it saves. */
    VUG_CPU_MIN_PARALLEL_ELEMENTS = 32 * 1024,
    VUG_CPU_CHUNK_ELEMENTS = 8 * 1024, /* that a thread takes from an elementwise loop */
};

static inline int64_t vug_cpu_round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* The chunks of a job. Threads take the next one when they are free; which thread computes a
 * chunk does not change its result. */
typedef struct {
    atomic_llong next;
    int64_t n; /* chunks of the job */
    const vug_cancel_token *cancel;
} vug_cpu_work_queue;

static inline void vug_cpu_work_queue_init(vug_cpu_work_queue *queue, const vug_cpu_env *env,
                                           int64_t n)
{
    atomic_init(&queue->next, 0);
    queue->n = n;
    queue->cancel = env->cancel;
}

/* The index of the next chunk; at least queue->n when none is left. A cancelled step has none
 * left: a large product can take longer than the caller should wait after cancelling. */
static inline int64_t vug_cpu_work_queue_next(vug_cpu_work_queue *queue)
{
    if (vug_is_cancelled(queue->cancel))
        return queue->n;
    return atomic_fetch_add_explicit(&queue->next, 1, memory_order_relaxed);
}

/* Calls `work`, which takes chunks from the queue: on the calling thread if the job is small,
 * otherwise on all threads. */
static inline void vug_cpu_parallel_for(const vug_cpu_env *env, vug_cpu_work_queue *queue,
                                        int64_t chunks, int64_t elements, vug_pool_work *work,
                                        void *arg)
{
    vug_cpu_work_queue_init(queue, env, chunks);
    if (chunks == 1 || elements < VUG_CPU_MIN_PARALLEL_ELEMENTS)
        work(arg, 0, 1);
    else
        vug_pool_run(env->pool, work, arg);
}

/* ---- linear.c ------------------------------------------------------------- */

enum { VUG_CPU_MAX_PROJECTIONS = 8 }; /* maximum products of one input that run as one job */

/* y = x w^T */
typedef struct {
    vug_matrix w; /* [out,in] */
    int64_t out;
    float *y; /* [rows,out] */
} vug_cpu_projection;

/* `n` projections of the same x [rows,in]. */
typedef struct {
    const float *x;
    int64_t rows, in;
    const vug_cpu_projection *projection;
    int n;
} vug_cpu_linear_job;

/* Rows first .. first + rows - 1 of a grouped job, rows > 0, with weights of their own. */
typedef struct {
    int64_t first, rows;
    const vug_cpu_projection *projection; /* [n of the job]; y points to row 0 of the job */
    int64_t first_chunk;                  /* set by linear.c */
    int64_t first_q8;                     /* its place in x in 8 bits, in rows; set by linear.c */
} vug_cpu_row_group;

/* A grouped matrix product: groups of rows, each with its own weights. The groups cover all
 * rows in order. */
typedef struct {
    const float *x;
    const int32_t *index; /* row r is row index[r] of x; NULL: row r */
    int64_t rows, in;
    vug_cpu_row_group *group;
    int64_t n_groups;
    int n; /* projections of each group */
} vug_cpu_grouped_job;

/* How products with a weight format are computed. */
typedef enum {
    VUG_CPU_KERNEL_DIRECT,  /* in F32, by kernels that read the format */
    VUG_CPU_KERNEL_DECODED, /* in F32, after rows of weights were decoded */
    VUG_CPU_KERNEL_PAIRS,   /* BF16 weights with activations in BF16 */
    VUG_CPU_KERNEL_Q8,      /* with activations quantized to 8 bits */
} vug_cpu_kernel_kind;

/* Floats of scratch per thread for products with weights [..,in] of a format. */
int64_t vug_cpu_linear_scratch_floats(const vug_cpu_env *env, vug_dtype dtype, int64_t in);

/* The forms of x that the products of a job read. */
typedef struct {
    bool f32;   /* in lane order */
    bool pairs; /* rounded to BF16, and these pairs in lane order */
    bool q8;    /* quantized to 8 bits */
    bool tiles; /* the same, and groups of many rows in tiles */
} vug_cpu_input_formats;
/* Adds what products with weights [..,in] of `dtype` read. */
void vug_cpu_linear_add_input_format(const vug_cpu_env *env, vug_dtype dtype, int64_t in,
                                     vug_cpu_input_formats *to);
/* Floats of shared memory for a job of `rows` rows; false on overflow. */
bool vug_cpu_linear_shared_floats(const vug_cpu_input_formats *formats, int64_t rows, int64_t in,
                                  uint64_t *floats);
void vug_cpu_linear(const vug_cpu_env *env, const vug_cpu_linear_job *job);
void vug_cpu_linear_grouped(const vug_cpu_env *env, const vug_cpu_grouped_job *job);

/* ---- experts.c ------------------------------------------------------------ */

/* out [rows,width]: each row is the weighted sum of the outputs of its k experts. */
typedef struct {
    const float *x;     /* [rows,width] */
    const float *route; /* [rows,2 k]: indices of experts, then their weights */
    float *out;
    int64_t rows, width;
    int64_t n, k, hidden;               /* experts, experts per row, their hidden width F */
    const vug_weight *gate, *up, *down; /* [n] of [F,D], [F,D], [D,F] */
    vug_op activation;
} vug_cpu_experts_job;

/* The job of an EXPERTS node, without x, route and out. `weight` is indexed by slot. */
vug_cpu_experts_job vug_cpu_make_experts_job(const vug_graph *g, const vug_node *node,
                                             const vug_weight *weight, int64_t rows);
/* Floats of shared memory; false on overflow. */
bool vug_cpu_experts_shared_floats(const vug_cpu_env *env, const vug_cpu_experts_job *job,
                                   uint64_t *floats);
/* Floats of scratch per thread. */
int64_t vug_cpu_experts_scratch_floats(const vug_cpu_env *env, const vug_cpu_experts_job *job);
void vug_cpu_experts(const vug_cpu_env *env, const vug_cpu_experts_job *job);

/* ---- row_ops.c -------------------------------------------------------- */

/* A node whose output rows are computed one by one. */
typedef struct {
    const vug_node *node;            /* its operation and attributes */
    int64_t rows, width;             /* of the output; each head is a row */
    const float *in[VUG_MAX_INPUTS]; /* inputs that are values or data */
    const vug_shape *in_shape[VUG_MAX_INPUTS];
    float *out;
    const float *w;       /* a weight vector; in norms, with the bias added */
    vug_matrix table;     /* an embedding table [.., width] */
    const int32_t *index; /* tokens, positions or output rows of the step */
} vug_cpu_row_job;

/* Computes row `row` of the output. Every operation that is computed row by row has such a
 * function, in row_ops.c if it uses kernels and in ref.c if not. */
typedef void vug_cpu_row_fn(const vug_cpu_kernels *kernels, const vug_cpu_row_job *job,
                            int64_t row);
#define OP(id, name, class, by, operands, attrs, rule) vug_cpu_row_fn vug_cpu_row_##name;
#include "ir/ops.def"
#undef OP

void vug_cpu_run_rows(const vug_cpu_env *env, const vug_cpu_row_job *job);

/* ---- measure.c ------------------------------------------------------------ */

/* One probe on all threads of the pool. Reading `n` bytes, a multiple of 512 KiB, which are not in a cache,
 * returns bytes per second: those of the faster half, of which one is read in order and one as streams.
 * Multiply-adds return operations per second. */
double vug_cpu_measure_read(const vug_cpu_env *env, const uint8_t *bytes, int64_t n);
double vug_cpu_measure_fma(const vug_cpu_env *env);
VUG_MUST_CHECK vug_status vug_cpu_measure(vug_device *device, vug_device_limits *out, vug_err *err);

/* ---- program.c ------------------------------------------------------------ */

VUG_MUST_CHECK vug_status vug_cpu_compile(vug_device_weights *weights, const vug_graph *graph,
                                          const vug_plan *plan, const vug_limits *limits,
                                          vug_program **out, vug_err *err);
void vug_cpu_release(vug_program *program);

extern const vug_backend vug_backend_cpu;

#endif
