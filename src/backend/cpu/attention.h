#ifndef VUG_BACKEND_CPU_ATTENTION_H
#define VUG_BACKEND_CPU_ATTENTION_H

/* The key/value cache of a layer, and attention over it. */

#include "backend/cpu/cpu.h"

/* ---- kv_cache.c -------------------------------------------------------------- */

/*
 * The keys and values of one attention layer. A page of its group holds the layers one after the
 * other, of each layer the KV heads, of each head the keys in panels of 16 positions and then the
 * values, in the order in which the two products of attention read them:
 *
 *     k [4][E][16]        v [columns/16][64][16]
 *
 * In Q8 each group of 32 elements of E, or of columns, begins with its scales, 16 in a panel
 * and 64 in a page, followed by its codes:
 *
 *     k [4][E/32] { F32 [16], I8 [32][16] }
 *     v [E/32] { F32 [64], I8 [2][64][16] }
 */
typedef struct {
    vug_kv_format format;
    int64_t window;      /* 0: full */
    int64_t heads;       /* K */
    int64_t width;       /* E */
    int64_t columns;     /* E rounded up to 16 */
    int64_t panel_bytes; /* keys of 16 positions of a head */
    int64_t value_bytes; /* values of a page of a head */
    int group;           /* of the layout */
    uint64_t offset;     /* of the layer in a page */
} vug_cpu_kv_cache;

/* The memory of all pages. */
struct vug_kv {
    struct {
        uint8_t *base; /* page i begins at base + (i - 1) * page_bytes; NULL: no pages */
        uint64_t page_bytes;
        uint32_t pages;
    } group[VUG_KV_MAX_GROUPS];
    int n_groups;
};

/* The cache of layer `index` of a group; false when the sizes overflow. */
bool vug_cpu_kv_cache_init(vug_cpu_kv_cache *cache, const vug_kv_group *group, int index,
                           vug_kv_format format);
/* Bytes of a page's keys and values of a layer. */
uint64_t vug_cpu_kv_cache_bytes(const vug_cpu_kv_cache *cache);
/* Bytes of a page of a group; 0 on overflow. */
uint64_t vug_cpu_kv_page_bytes(const vug_device *device, const vug_kv_layout *layout, int group);

/* The keys of a head in the page of block `block` of a sequence. */
static inline uint8_t *vug_cpu_kv_keys(const vug_cpu_kv_cache *c, const vug_kv *kv,
                                       const vug_span *span, int64_t head, int64_t block)
{
    const uint64_t page = span->table[c->group][block] - (uint64_t)1;
    const int64_t head_bytes = VUG_KV_PAGE / VUG_CPU_PANEL * c->panel_bytes + c->value_bytes;
    return kv->group[c->group].base + page * kv->group[c->group].page_bytes + c->offset +
           head * head_bytes;
}

/* The values that follow these keys. */
static inline uint8_t *vug_cpu_kv_values_after(const vug_cpu_kv_cache *c, uint8_t *keys)
{
    return keys + VUG_KV_PAGE / VUG_CPU_PANEL * c->panel_bytes;
}

/* 16 columns of a page's values, from one of its rows on. An odd panel of 16 columns follows an even
 * one, whose scales it shares. */
typedef struct {
    const uint8_t *code; /* rows of 16 */
    int64_t panel_bytes; /* from an even panel to the odd one */
    const float *scale;  /* one of each row; NULL: the format has none */
} vug_cpu_value_rows;
vug_cpu_value_rows vug_cpu_kv_cache_values(const vug_cpu_kv_cache *cache, const uint8_t *values,
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
    vug_kv *kv;
    const vug_span *span; /* their tokens follow each other in q, k, v and out */
    int n_spans;
    int64_t heads;          /* H */
    const float *q, *k, *v; /* [T,H,E], [T,K,E], [T,K,E] */
    float *out;             /* [T,H,E] */
    vug_cpu_score_params score;
    vug_cpu_attention_mask mask;
    int tile_rows; /* maximum query rows of a tile; 0: the default */
} vug_cpu_attention_job;

/* Writes the step's keys and values into the pages. */
void vug_cpu_kv_cache_append(const vug_cpu_env *env, const vug_cpu_attention_job *job);
/* Writes a past that is an input of the graph: k, v [P,K,E], the pasts of the spans one after
 * the other. Tokens that the window hides are skipped. */
void vug_cpu_kv_cache_load(const vug_cpu_env *env, const vug_cpu_attention_job *job, const float *k,
                           const float *v);
/* ---- kv_memory.c --------------------------------------------------------------- */

VUG_MUST_CHECK vug_status vug_cpu_kv_create(vug_device *device, const vug_kv_layout *layout,
                                            const uint32_t *pages, vug_kv **out, vug_err *err);
void vug_cpu_kv_destroy(vug_kv *kv);
VUG_MUST_CHECK vug_status vug_cpu_kv_commit(vug_kv *kv, int group, vug_page page, vug_err *err);
void vug_cpu_kv_discard(vug_kv *kv, int group, vug_page page);
void vug_cpu_kv_copy(vug_kv *kv, int group, vug_page to, vug_page from);
void vug_cpu_kv_read(const vug_kv *kv, int group, vug_page page, uint8_t *bytes);
void vug_cpu_kv_write(vug_kv *kv, int group, vug_page page, const uint8_t *bytes);

/* ---- attention.c ---------------------------------------------------------- */

/* Floats of scratch per thread for heads of `width`. */
int64_t vug_cpu_attention_scratch_floats(int64_t width);
/* Floats of shared memory for the partial sums of a step of few rows. */
int64_t vug_cpu_attention_partial_floats(const vug_cpu_kv_cache *cache, const vug_limits *limits);
void vug_cpu_attention(const vug_cpu_env *env, const vug_cpu_attention_job *job);

#endif
