#ifndef VUG_BACKEND_CPU_CPU_H
#define VUG_BACKEND_CPU_CPU_H

/* What the files of this folder share; nobody else includes it but tests. */

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "core/os.h"

struct vug_device {
    const vug_cpu_kernels *kernels;
    vug_pool *pool;
};

/* What a parallel loop needs. */
typedef struct {
    const vug_cpu_kernels *kernels;
    vug_pool *pool;
    float *scratch;         /* [threads][scratch_floats], aligned to 64 bytes */
    int64_t scratch_floats; /* a multiple of 16 */
    float *shared;          /* by all threads: one job's at a time (program.h) */
    bool exact;             /* no product has activations in 8 bits */
    atomic_bool *cancel;    /* of the step that runs; NULL: it ends by itself */
} vug_cpu_env;

enum {
    VUG_CPU_LINE = 16, /* floats of a cache line */
    /* Of loops over single elements: below so many, waking the threads costs more than it
     * saves; and so many at a time. */
    VUG_CPU_FEW_ELEMENTS = 32 * 1024,
    VUG_CPU_CHUNK = 8 * 1024,
};

static inline int64_t vug_cpu_round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* Chunks of a job, dealt out to the threads as they come: who computes a chunk
 * makes no difference to its result. */
typedef struct {
    atomic_llong next;
    int64_t n;
    atomic_bool *cancel;
} vug_cpu_deal;

static inline void vug_cpu_deal_init(vug_cpu_deal *deal, const vug_cpu_env *env, int64_t n)
{
    atomic_init(&deal->next, 0);
    deal->n = n;
    deal->cancel = env->cancel;
}

/* The next chunk; at least deal->n when all are taken, or the step was cancelled: a product of
 * many rows can take longer than who cancels should wait. */
static inline int64_t vug_cpu_deal_take(vug_cpu_deal *deal)
{
    if (deal->cancel && atomic_load_explicit(deal->cancel, memory_order_relaxed))
        return deal->n;
    return atomic_fetch_add_explicit(&deal->next, 1, memory_order_relaxed);
}

/* Runs `work` over the chunks: here where there is little to do, else on all threads. */
static inline void vug_cpu_spread(const vug_cpu_env *env, vug_cpu_deal *deal, int64_t chunks,
                                  int64_t elements, vug_work *work, void *arg)
{
    vug_cpu_deal_init(deal, env, chunks);
    if (chunks == 1 || elements < VUG_CPU_FEW_ELEMENTS)
        work(arg, 0, 1);
    else
        vug_pool_run(env->pool, work, arg);
}

/* ---- linear.c ------------------------------------------------------------- */

enum { VUG_CPU_MATRICES = 8 }; /* most products of one input that run as one job */

typedef struct {
    vug_matrix w; /* [out,in] */
    int64_t out;
    float *y; /* [rows,out] */
} vug_cpu_matrix;

/* y = x w^T for `n` matrices; x [rows,in]. */
typedef struct {
    const float *x;
    int64_t rows, in;
    const vug_cpu_matrix *matrix;
    int n;
} vug_cpu_linear_job;

/* Rows first .. first + rows - 1 of the job, rows > 0, by matrices of their own. */
typedef struct {
    int64_t first, rows;
    const vug_cpu_matrix *matrix; /* [n of the job]; y is that of row 0 */
    int64_t first_chunk, slot;    /* for linear.c */
} vug_cpu_group;

/* Many products as one, each with its own rows and weights: groups cover the rows in
 * order. */
typedef struct {
    const float *x;
    const int32_t *index; /* row r is row index[r] of x; NULL: row r */
    int64_t rows, in;
    vug_cpu_group *group;
    int64_t n_groups;
    int n; /* matrices of a group */
} vug_cpu_grouped_job;

/* How products with a format are computed. */
typedef enum {
    VUG_CPU_DIRECT,  /* in F32, by kernels that read the format */
    VUG_CPU_DECODED, /* in F32, after rows of weights were decoded */
    VUG_CPU_ROUNDED, /* with activations in 8 bits */
} vug_cpu_way;

/* Floats of scratch per thread for products with weights [..,in] of a format. */
int64_t vug_cpu_linear_scratch(const vug_cpu_env *env, vug_dtype dtype, int64_t in);

/* How the products of a job want x. */
typedef struct {
    bool f32;  /* in lane order */
    bool q8;   /* in 8 bits */
    bool wide; /* and these in 16 */
} vug_cpu_wishes;
void vug_cpu_linear_wish(const vug_cpu_env *env, vug_dtype dtype, vug_cpu_wishes *to);
/* Floats of the memory that threads share for a job of `rows` rows in `groups` groups; false
 * when they cannot be counted. */
bool vug_cpu_linear_shared(const vug_cpu_wishes *wishes, int64_t rows, int64_t groups, int64_t in,
                           uint64_t *floats);
void vug_cpu_linear(const vug_cpu_env *env, const vug_cpu_linear_job *job);
void vug_cpu_linear_grouped(const vug_cpu_env *env, const vug_cpu_grouped_job *job);

/* ---- experts.c ------------------------------------------------------------ */

/* out [rows,width] = the sum over each row's route of its experts. */
typedef struct {
    const float *x;     /* [rows,width] */
    const float *route; /* [rows,2 k] */
    float *out;
    int64_t rows, width;
    int64_t n, k, hidden;               /* experts, those of a route, their width F */
    const vug_weight *gate, *up, *down; /* [n] of [F,D], [F,D], [D,F] */
    vug_op activation;
} vug_cpu_experts_job;

/* Of an EXPERTS node, all but x, route and out; `weight` by slot. */
vug_cpu_experts_job vug_cpu_experts_of(const vug_graph *g, const vug_node *node,
                                       const vug_weight *weight, int64_t rows);
/* Floats of the memory that threads share; false when they cannot be counted. */
bool vug_cpu_experts_shared(const vug_cpu_env *env, const vug_cpu_experts_job *job,
                            uint64_t *floats);
void vug_cpu_experts(const vug_cpu_env *env, const vug_cpu_experts_job *job);

/* ---- cache.c -------------------------------------------------------------- */

/*
 * Keys and values of one attention layer. The token at `position` has slot
 * position mod slots; slots are a multiple of VUG_CPU_BLOCK, so that a block of
 * keys is a block of slots. Keys lie in panels of 16, values in blocks of 64, in
 * the order in which the two products of attention read them:
 *
 *     k [K][slots/16][E][16]        v [K][slots/64][columns/16][64][16]
 *
 * In Q8 each group of 32 elements of E, or columns, has its scales in front of its
 * codes, 16 of a panel and 64 of a block:
 *
 *     k [K][slots/16][E/32] { F32 [16], I8 [32][16] }
 *     v [K][slots/64][E/32] { F32 [64], I8 [2][64][16] }
 */
typedef struct {
    vug_kv format;
    int64_t window; /* 0: full */
    int64_t slots;
    int64_t heads;       /* K */
    int64_t width;       /* E */
    int64_t columns;     /* E rounded up to 16 */
    int64_t panel_bytes; /* of the keys of 16 slots of a head */
    int64_t block_bytes; /* of the values of 64 */
    uint64_t k, v;       /* where they start in a state, in bytes; multiples of 16 */
} vug_cpu_cache;

struct vug_state {
    uint8_t *data;
};

/* With k at 0; false when the sizes overflow. */
bool vug_cpu_cache_init(vug_cpu_cache *cache, const vug_shape *k, int64_t window, vug_kv format,
                        const vug_limits *limits);
/* One that holds a window of a cache of such limits, with k at 0; without slots if that forgets
 * nothing. */
vug_cpu_cache vug_cpu_cache_window(const vug_cpu_cache *cache, const vug_limits *limits);
/* Of both. */
uint64_t vug_cpu_cache_bytes(const vug_cpu_cache *cache);

/* Where 16 columns of a block of values lie, from one of its rows on. */
typedef struct {
    const uint8_t *code; /* rows of 16 */
    const float *scale;  /* of each row; NULL: the format has none */
} vug_cpu_values;
vug_cpu_values vug_cpu_cache_values(const vug_cpu_cache *cache, const uint8_t *block,
                                    int64_t column, int64_t row);

/* Positions first .. end-1. */
typedef struct {
    int64_t first, end;
} vug_cpu_range;

/* What is added to the scores in place of the rule of order and window. */
typedef struct {
    const float *add; /* [T,columns] by the key's position; -inf: not seen; NULL: no mask */
    int64_t columns;
    const vug_cpu_range *seen; /* [T] from a row's first key that is seen to its last */
} vug_cpu_mask;

/* Finds `seen` [T] of the mask; the spans are the step's. */
VUG_MUST_CHECK vug_status vug_cpu_mask_init(vug_cpu_mask *mask, const vug_span *span, int n_spans,
                                            vug_cpu_range *seen, vug_err *err);

typedef struct {
    const vug_cpu_cache *cache;
    const vug_span *span; /* their tokens one after the other */
    int n_spans;
    int64_t heads;          /* H */
    const float *q, *k, *v; /* [T,H,E], [T,K,E], [T,K,E] */
    float *out;             /* [T,H,E] */
    vug_cpu_score score;
    vug_cpu_mask mask;
    int tile_rows; /* most of a tile; 0: as many as there may be */
} vug_cpu_attention_job;

/* Writes the step's keys and values into the states. */
void vug_cpu_cache_append(const vug_cpu_env *env, const vug_cpu_attention_job *job);
/* Writes what a layer may see of the past that is given, k, v [P,K,E] of the spans'
 * pasts one after the other. */
void vug_cpu_cache_load(const vug_cpu_env *env, const vug_cpu_attention_job *job, const float *k,
                        const float *v);
/* The slots of the first `n` tokens, or all of a ring that they have filled. */
void vug_cpu_cache_copy(const vug_cpu_cache *cache, vug_state *to, const vug_state *from,
                        int64_t n);

/* The window before token `n`; the caches differ in their slots alone, and one of them is of
 * windows: where that has none, nothing is to be done. */
void vug_cpu_cache_move(const vug_cpu_cache *to, vug_state *to_state, const vug_cpu_cache *from,
                        const vug_state *from_state, int64_t n);

/* ---- attention.c ---------------------------------------------------------- */

int64_t vug_cpu_attention_scratch(int64_t width);
/* Floats for the parts of a step of few rows, to be joined. */
int64_t vug_cpu_attention_partial(const vug_cpu_cache *cache);
void vug_cpu_attention(const vug_cpu_env *env, const vug_cpu_attention_job *job);

/* ---- elementwise.c -------------------------------------------------------- */

/* One node whose rows are computed one by one. */
typedef struct {
    vug_op op;
    int64_t rows, width; /* of the output; heads count as rows */
    const float *in[VUG_MAX_INPUTS];
    float *out;
    const float *w;               /* of norms, the bias added, and of BIAS: [width] */
    float eps;                    /* of norms */
    float by;                     /* of SCALE, SOFTCAP, EMBED, GAIN */
    const int32_t *index;         /* TAKE: [rows] of in[0]; EMBED: of the table */
    vug_matrix table;             /* EMBED: [.., width] */
    int64_t heads;                /* ROPE, NORM_ROPE, HEAD: rows per token of the input */
    int64_t head;                 /* HEAD */
    int64_t dims;                 /* of the rotation */
    const vug_attr_table *angles; /* ROPE_TABLE */
    const vug_attr_router *router;
    int64_t experts; /* ROUTER: logits of a row */
} vug_cpu_rows_job;

void vug_cpu_rows(const vug_cpu_env *env, const vug_cpu_rows_job *job);

/* ---- measure.c ------------------------------------------------------------ */

/* One probe with all threads of the pool, over `n` bytes (far more than the
 * caches hold); bytes and operations per second. */
double vug_cpu_measure_read(const vug_cpu_env *env, const uint8_t *bytes, int64_t n);
double vug_cpu_measure_fma(const vug_cpu_env *env);
VUG_MUST_CHECK vug_status vug_cpu_measure(vug_device *device, vug_device_limits *out, vug_err *err);

/* ---- program.c ------------------------------------------------------------ */

VUG_MUST_CHECK vug_status vug_cpu_compile(vug_device *device, const vug_graph *graph,
                                          const vug_plan *plan, const vug_weight *weight,
                                          const vug_limits *limits, vug_program **out,
                                          vug_err *err);
void vug_cpu_release(vug_program *program);

extern const vug_backend vug_backend_cpu;

#endif
