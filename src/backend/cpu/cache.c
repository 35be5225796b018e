/* The key/value caches: their sizes, and writing a step's tokens into them. */
#include "backend/cpu/cpu.h"

/* A window needs the keys of all queries of a step at once: those of the first
 * query, window - 1 before it, and the step's own. */
bool vug_cpu_cache_init(vug_cpu_cache *cache, const vug_shape *k, int64_t window,
                        const vug_limits *limits)
{
    int64_t slots = limits->context;
    if (window > 0 && window - 1 < slots - limits->batch)
        slots = window - 1 + limits->batch;
    if (slots > INT64_MAX - VUG_CPU_BLOCK)
        return false;
    *cache = (vug_cpu_cache){ .window = window,
                              .slots = vug_cpu_round_up(slots, VUG_CPU_BLOCK),
                              .heads = k->dim[1],
                              .width = k->dim[2],
                              .columns = vug_cpu_round_up(k->dim[2], VUG_CPU_PANEL) };
    uint64_t bytes = 2 * sizeof(float);
    return vug_mul_size(bytes, (uint64_t)cache->slots, &bytes) &&
           vug_mul_size(bytes, (uint64_t)cache->heads, &bytes) &&
           vug_mul_size(bytes, (uint64_t)cache->columns, &bytes);
}

uint64_t vug_cpu_cache_floats(const vug_cpu_cache *cache)
{
    return (uint64_t)(cache->slots * cache->heads * (cache->width + cache->columns));
}

/* ---- appending ------------------------------------------------------------ */

/* A chunk is the tokens of one span that fall into one block of 64 positions, of one kv
 * head. */
typedef struct {
    const vug_cpu_attention_job *job;
    vug_cpu_deal deal;
} append;

static int64_t span_blocks(const vug_span *span)
{
    return (span->past + span->n - 1) / VUG_CPU_BLOCK - span->past / VUG_CPU_BLOCK + 1;
}

/* k, v [E] of one head become those of one slot. */
static void write_slot(const vug_cpu_cache *c, float *data, int64_t head, int64_t slot,
                       const float *kv[2])
{
    float *k = data + c->k + (head * c->slots + slot / VUG_CPU_PANEL * VUG_CPU_PANEL) * c->width +
               slot % VUG_CPU_PANEL;
    for (int64_t e = 0; e < c->width; e++)
        k[e * VUG_CPU_PANEL] = kv[0][e];
    float *v = data + c->v + (head * c->slots + slot / VUG_CPU_BLOCK * VUG_CPU_BLOCK) * c->columns +
               slot % VUG_CPU_BLOCK * VUG_CPU_PANEL;
    for (int64_t e = 0; e < c->width; e += VUG_CPU_PANEL) {
        const int64_t n = c->width - e < VUG_CPU_PANEL ? c->width - e : VUG_CPU_PANEL;
        memcpy(v + e * VUG_CPU_BLOCK, kv[1] + e, (size_t)n * sizeof(float));
    }
}

static void append_block(const append *a, int64_t i)
{
    const vug_cpu_attention_job *job = a->job;
    const vug_cpu_cache *c = job->cache;
    const int64_t head = i % c->heads;
    int64_t block = i / c->heads, row = 0;
    const vug_span *span = job->span;
    for (; block >= span_blocks(span); span++) {
        block -= span_blocks(span);
        row += span->n;
    }
    const int64_t from = (span->past / VUG_CPU_BLOCK + block) * VUG_CPU_BLOCK;
    const int64_t end = span->past + span->n;
    int64_t position = from > span->past ? from : span->past;
    for (; position < end && position < from + VUG_CPU_BLOCK; position++) {
        const int64_t at = ((row + position - span->past) * c->heads + head) * c->width;
        write_slot(c, span->state->data, head, position % c->slots,
                   (const float *[2]){ job->k + at, job->v + at });
    }
}

static void append_blocks(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    append *a = arg;
    for (int64_t i; (i = vug_cpu_deal_take(&a->deal)) < a->deal.n;)
        append_block(a, i);
}

void vug_cpu_cache_append(const vug_cpu_env *env, const vug_cpu_attention_job *job)
{
    append a = { .job = job };
    int64_t blocks = 0, tokens = 0;
    for (int i = 0; i < job->n_spans; i++) {
        blocks += span_blocks(&job->span[i]);
        tokens += job->span[i].n;
    }
    vug_cpu_deal_init(&a.deal, blocks * job->cache->heads);
    if (tokens < VUG_CPU_BLOCK)
        append_blocks(&a, 0, 1);
    else
        vug_pool_run(env->pool, append_blocks, &a);
}

/* Only the last window - 1 tokens can be seen; older ones may not fit the slots. */
void vug_cpu_cache_load(const vug_cpu_env *env, const vug_cpu_attention_job *job, const float *k,
                        const float *v)
{
    const vug_cpu_cache *c = job->cache;
    for (int i = 0; i < job->n_spans; i++) {
        const int64_t past = job->span[i].past;
        const int64_t first = c->window > 0 && past >= c->window ? past - c->window + 1 : 0;
        const vug_span span = { job->span[i].state, first, past - first };
        vug_cpu_attention_job load = { .cache = c, .span = &span, .n_spans = 1 };
        load.k = k + first * c->heads * c->width;
        load.v = v + first * c->heads * c->width;
        if (span.n > 0)
            vug_cpu_cache_append(env, &load);
        k += past * c->heads * c->width;
        v += past * c->heads * c->width;
    }
}
