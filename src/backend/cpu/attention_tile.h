#ifndef VUG_BACKEND_CPU_ATTENTION_TILE_H
#define VUG_BACKEND_CPU_ATTENTION_TILE_H

/* attention.c distributes tiles of queries and splits of keys over the threads;
 * attention_block.c computes a tile over one block of keys. */

#include "backend/cpu/attention.h"

enum { VUG_CPU_QUERY_TILE_ROWS = 24 }; /* maximum query rows of a tile */

/* A tile of query rows of one KV head of one sequence: all its query heads of one token, then
 * those of the next token. */
typedef struct {
    const vug_cpu_env *env;
    const vug_cpu_attention_job *job;
    int64_t group;            /* query heads per KV head */
    const vug_span *span;     /* of the sequence */
    int64_t head;             /* the KV head */
    int64_t first_row, rows;  /* of the n * group rows of the sequence */
    int64_t first_token;      /* of the sequence, in the step */
    float *q, *p, *o, *total; /* scratch: [24][E], [24][64], [24][columns], [24][columns] */
    vug_cpu_softmax_state state[VUG_CPU_QUERY_TILE_ROWS], total_state[VUG_CPU_QUERY_TILE_ROWS];
} vug_cpu_query_tile;

/* A query's index in the step and its position in the sequence. */
typedef struct {
    int64_t token, position;
} vug_cpu_query;

static inline vug_cpu_query vug_cpu_query_at(const vug_cpu_query_tile *t, int64_t row)
{
    const int64_t n = (t->first_row + row) / t->group;
    return (vug_cpu_query){ t->first_token + n, t->span->past + n };
}

/* The keys that a query attends to; with a mask, from the first to the last of them. */
static inline vug_cpu_range vug_cpu_visible_keys(const vug_cpu_attention_job *job, vug_cpu_query q)
{
    if (job->mask.add)
        return job->mask.visible[q.token];
    const int64_t window = job->cache->window, end = q.position + 1;
    return (vug_cpu_range){ window > 0 && end > window ? end - window : 0, end };
}

/* Those of them in [first, first + n); none if first >= end in the result. */
static inline vug_cpu_range vug_cpu_visible_keys_in(const vug_cpu_attention_job *job,
                                                    vug_cpu_query q, int64_t first, int64_t n)
{
    vug_cpu_range keys = vug_cpu_visible_keys(job, q);
    keys.first = keys.first > first ? keys.first : first;
    keys.end = keys.end < first + n ? keys.end : first + n;
    return keys;
}

/* Adds the block of keys that begins at position `first` to the sums in `o` and `state`. */
void vug_cpu_attention_block(vug_cpu_query_tile *t, int64_t first);

#endif
