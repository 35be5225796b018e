#ifndef VUG_BACKEND_CPU_ATTENTION_H
#define VUG_BACKEND_CPU_ATTENTION_H

/* Between attention.c, which deals out tiles and spans, and attention_block.c, which
 * takes a tile over one block of keys. */

#include "backend/cpu/cpu.h"

enum { VUG_CPU_TILE_ROWS = 24 };

/* Rows of one kv head of one sequence: all its query heads of one token, then of the
 * next. */
typedef struct {
    const vug_cpu_env *env;
    const vug_cpu_attention_job *job;
    int64_t group;        /* query heads per kv head */
    const uint8_t *k, *v; /* of the head, in the state */
    int64_t head;
    int64_t first_row, rows;  /* of the sequence's n * group */
    int64_t first_token;      /* of the sequence in the step */
    int64_t past;             /* of the sequence */
    float *q, *p, *o, *total; /* scratch: [24][E], [24][64], twice [24][columns] */
    vug_cpu_softmax state[VUG_CPU_TILE_ROWS], total_state[VUG_CPU_TILE_ROWS];
} vug_cpu_queries;

/* A query: its row among the step's tokens, and its place in its sequence. */
typedef struct {
    int64_t token, position;
} vug_cpu_query;

static inline vug_cpu_query vug_cpu_query_of(const vug_cpu_queries *t, int64_t row)
{
    const int64_t n = (t->first_row + row) / t->group;
    return (vug_cpu_query){ t->first_token + n, t->past + n };
}

/* Keys that a query sees, or with a mask the first to the last of them. */
static inline vug_cpu_range vug_cpu_keys_seen(const vug_cpu_attention_job *job, vug_cpu_query q)
{
    if (job->mask.add)
        return job->mask.seen[q.token];
    const int64_t window = job->cache->window, end = q.position + 1;
    return (vug_cpu_range){ window > 0 && end > window ? end - window : 0, end };
}

/* Those of them in [first, first + n); empty: first >= end. */
static inline vug_cpu_range vug_cpu_keys_within(const vug_cpu_attention_job *job, vug_cpu_query q,
                                                int64_t first, int64_t n)
{
    vug_cpu_range seen = vug_cpu_keys_seen(job, q);
    seen.first = seen.first > first ? seen.first : first;
    seen.end = seen.end < first + n ? seen.end : first + n;
    return seen;
}

/* Adds the block of keys that begins at position `first` to the sums in o and state. */
void vug_cpu_attention_block(vug_cpu_queries *t, int64_t first);

#endif
