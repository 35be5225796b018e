#ifndef VUG_BACKEND_CPU_ATTENTION_H
#define VUG_BACKEND_CPU_ATTENTION_H

/* The key/value cache of a layer, and attention over it. */

#include "backend/cpu/cpu.h"

/* ---- kv_cache.c -------------------------------------------------------------- */

/*
 * The keys and values of one attention layer, a ring buffer: the token at `position` is in
 * slot position mod slots. slots is a multiple of VUG_CPU_KEY_BLOCK, so a block of keys is
 * a block of slots. Keys are stored in panels of 16, values in blocks of 64, in the order in
 * which the two products of attention read them:
 *
 *     k [K][slots/16][E][16]        v [K][slots/64][columns/16][64][16]
 *
 * In Q8 each group of 32 elements of E, or of columns, begins with its scales, 16 in a panel
 * and 64 in a block, followed by its codes:
 *
 *     k [K][slots/16][E/32] { F32 [16], I8 [32][16] }
 *     v [K][slots/64][E/32] { F32 [64], I8 [2][64][16] }
 */
typedef struct {
    vug_kv_format format;
    int64_t window; /* 0: full */
    int64_t slots;
    int64_t heads;       /* K */
    int64_t width;       /* E */
    int64_t columns;     /* E rounded up to 16 */
    int64_t panel_bytes; /* keys of 16 slots of a head */
    int64_t block_bytes; /* values of 64 slots of a head */
    uint64_t k, v;       /* offsets in a state, in bytes; multiples of 16 */
} vug_cpu_kv_cache;

struct vug_state {
    uint8_t *data;
};

/* Sets k to 0; false when the sizes overflow. */
bool vug_cpu_kv_cache_init(vug_cpu_kv_cache *cache, const vug_shape *k, int64_t window,
                           vug_kv_format format, const vug_limits *limits);
/* The layout of a snapshot of this cache's sliding window, with k at 0. It has no slots if the
 * cache never drops a token. */
vug_cpu_kv_cache vug_cpu_kv_cache_window_snapshot(const vug_cpu_kv_cache *cache,
                                                  const vug_limits *limits);
/* Bytes of keys and values. */
uint64_t vug_cpu_kv_cache_bytes(const vug_cpu_kv_cache *cache);

/* 16 columns of a block of values, from one of its rows on. */
typedef struct {
    const uint8_t *code; /* rows of 16 */
    const float *scale;  /* one of each row; NULL: the format has none */
} vug_cpu_value_rows;
vug_cpu_value_rows vug_cpu_kv_cache_values(const vug_cpu_kv_cache *cache, const uint8_t *block,
                                           int64_t column, int64_t row);

/* first .. end-1: keys by position, or other indices. */
typedef struct {
    int64_t first, end;
} vug_cpu_range;

/* An additive mask. It replaces the causal order and the window. */
typedef struct {
    const float *add; /* [T,columns] by the key's position; -inf: hidden; NULL: no mask */
    int64_t columns;
    const vug_cpu_range *visible; /* [T] from the first visible key of a row to its last */
} vug_cpu_attention_mask;

/* Fills visible [T] and sets it in the mask; the spans are those of the step. */
VUG_MUST_CHECK vug_status vug_cpu_attention_mask_init(vug_cpu_attention_mask *mask,
                                                      const vug_span *span, int n_spans,
                                                      vug_cpu_range *visible, vug_err *err);

typedef struct {
    const vug_cpu_kv_cache *cache;
    const vug_span *span; /* their tokens follow each other in q, k, v and out */
    int n_spans;
    int64_t heads;          /* H */
    const float *q, *k, *v; /* [T,H,E], [T,K,E], [T,K,E] */
    float *out;             /* [T,H,E] */
    vug_cpu_score_params score;
    vug_cpu_attention_mask mask;
    int tile_rows; /* maximum query rows of a tile; 0: the default */
} vug_cpu_attention_job;

/* Writes the step's keys and values into the states. */
void vug_cpu_kv_cache_append(const vug_cpu_env *env, const vug_cpu_attention_job *job);
/* Writes a past that is an input of the graph: k, v [P,K,E], the pasts of the spans one after
 * the other. Tokens that the window hides are skipped. */
void vug_cpu_kv_cache_load(const vug_cpu_env *env, const vug_cpu_attention_job *job, const float *k,
                           const float *v);
/* Copies the slots of the first `n` tokens: all slots if the ring has wrapped around. */
void vug_cpu_kv_cache_copy(const vug_cpu_kv_cache *cache, vug_state *to, const vug_state *from,
                           int64_t n);

/* Copies the window before token `n` between a cache and its window snapshot, in either
 * direction. Does nothing if the snapshot has no slots. */
void vug_cpu_kv_cache_copy_window(const vug_cpu_kv_cache *to, vug_state *to_state,
                                  const vug_cpu_kv_cache *from, const vug_state *from_state,
                                  int64_t n);

/* ---- attention.c ---------------------------------------------------------- */

/* Floats of scratch per thread for heads of `width`. */
int64_t vug_cpu_attention_scratch_floats(int64_t width);
/* Floats of shared memory for the partial sums of a step of few rows. */
int64_t vug_cpu_attention_partial_floats(const vug_cpu_kv_cache *cache);
void vug_cpu_attention(const vug_cpu_env *env, const vug_cpu_attention_job *job);

#endif
