/* The key/value caches: their sizes, and writing a step's tokens into them. */
#include "backend/cpu/attention.h"
#include "quant/codec.h"

enum { PANEL = VUG_CPU_PANEL, BLOCK = VUG_CPU_KEY_BLOCK, GROUP = VUG_KV_Q8_BLOCK };

/* ---- sizes ------------------------------------------------------------------ */

static int64_t element_bytes(vug_kv_format format)
{
    return format == VUG_KV_F32 ? 4 : format == VUG_KV_Q8 ? 1 : 2;
}

/* The scale of one group of a slot. Scales are stored apart from the elements. */
static int64_t scale_bytes(vug_kv_format format)
{
    return format == VUG_KV_Q8 ? (int64_t)sizeof(float) : 0;
}

static int64_t groups_of(int64_t width)
{
    return (width + GROUP - 1) / GROUP;
}

/* A window must hold the keys of all queries of a step at once: the window - 1 keys before the
 * first query and those of the step. */
static int64_t slots_needed(int64_t window, const vug_limits *limits)
{
    if (window > 0 && window - 1 < limits->context - limits->batch)
        return window - 1 + limits->batch;
    return limits->context;
}

static uint64_t key_bytes(const vug_cpu_kv_cache *c)
{
    return (uint64_t)(c->slots / PANEL * c->heads * c->panel_bytes);
}

bool vug_cpu_kv_cache_init(vug_cpu_kv_cache *cache, const vug_shape *k, int64_t window,
                           vug_kv_format format, const vug_limits *limits)
{
    const int64_t slots = slots_needed(window, limits), width = k->dim[2];
    const int64_t element = element_bytes(format), scale = scale_bytes(format);
    if (slots > INT64_MAX - BLOCK)
        return false;
    *cache = (vug_cpu_kv_cache){ .format = format,
                                 .window = window,
                                 .slots = vug_cpu_round_up(slots, BLOCK),
                                 .heads = k->dim[1],
                                 .width = width,
                                 .columns = vug_cpu_round_up(width, PANEL) };
    uint64_t bytes = 2 * sizeof(float);
    if (!vug_mul_size(bytes, (uint64_t)cache->slots, &bytes) ||
        !vug_mul_size(bytes, (uint64_t)cache->heads, &bytes) ||
        !vug_mul_size(bytes, (uint64_t)cache->columns, &bytes))
        return false;
    cache->panel_bytes = PANEL * (width * element + groups_of(width) * scale);
    cache->block_bytes = BLOCK * (cache->columns * element + groups_of(width) * scale);
    cache->v = key_bytes(cache);
    return true;
}

/* A window may begin and end within a block, so a snapshot has one block more. */
vug_cpu_kv_cache vug_cpu_kv_cache_window_snapshot(const vug_cpu_kv_cache *cache,
                                                  const vug_limits *limits)
{
    vug_cpu_kv_cache snapshot = *cache;
    const int64_t slots = vug_cpu_round_up(cache->window, BLOCK) + BLOCK;
    if (cache->slots == 0 || slots_needed(cache->window, limits) == limits->context)
        snapshot.slots = 0;
    else if (slots < cache->slots)
        snapshot.slots = slots;
    snapshot.k = 0;
    snapshot.v = key_bytes(&snapshot);
    return snapshot;
}

uint64_t vug_cpu_kv_cache_bytes(const vug_cpu_kv_cache *c)
{
    return (uint64_t)(c->heads *
                      (c->slots / PANEL * c->panel_bytes + c->slots / BLOCK * c->block_bytes));
}

vug_cpu_value_rows vug_cpu_kv_cache_values(const vug_cpu_kv_cache *c, const uint8_t *block,
                                           int64_t column, int64_t row)
{
    const int64_t size = element_bytes(c->format), scale = scale_bytes(c->format);
    block += column / GROUP * BLOCK * (GROUP * size + scale);
    const int64_t code = BLOCK * scale + (column % GROUP * BLOCK + row * PANEL) * size;
    return (vug_cpu_value_rows){ block + code,
                                 scale ? (const float *)(const void *)block + row : NULL };
}

/* ---- encoding ------------------------------------------------------------------ */

/* Up to 32 neighbouring elements of a key or value, in the format of the cache. */
typedef struct {
    uint8_t code[GROUP * sizeof(float)];
    float scale;
} encoded_group;

static void encode_group(const vug_cpu_kernels *kernels, vug_kv_format format, const float *x,
                         int64_t n, encoded_group *out)
{
    float padded[GROUP] = { 0 };
    int16_t sum[GROUP / 16];
    switch (format) {
    case VUG_KV_F32:
        memcpy(out->code, x, (size_t)n * sizeof(*x));
        break;
    case VUG_KV_F16:
        vug_codec_of(VUG_DTYPE_F16)->encode(x, out->code, (size_t)n);
        break;
    case VUG_KV_BF16:
        vug_codec_of(VUG_DTYPE_BF16)->encode(x, out->code, (size_t)n);
        break;
    case VUG_KV_Q8:
    case VUG_KV_COUNT:
        memcpy(padded, x, (size_t)n * sizeof(*x));
        kernels->quantize(padded, GROUP, (int8_t *)out->code, &out->scale, sum);
        break;
    }
}

/* ---- appending ------------------------------------------------------------ */

/* A chunk of the work is one KV head of the tokens of one span in one block of 64
 * positions. */
typedef struct {
    const vug_cpu_kernels *kernels;
    const vug_cpu_attention_job *job;
    vug_cpu_work_queue queue;
} append_run;

static int64_t span_blocks(const vug_span *span)
{
    return (span->past + span->n - 1) / BLOCK - span->past / BLOCK + 1;
}

/* Writes elements of `size` bytes with a stride of 16 elements. */
static void write_strided(const uint8_t *code, int64_t size, int64_t n, uint8_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        if (size == 4)
            memcpy(to + i * PANEL * 4, code + i * 4, 4);
        else if (size == 2)
            memcpy(to + i * PANEL * 2, code + i * 2, 2);
        else
            to[i * PANEL] = code[i];
    }
}

static void write_key(const append_run *a, uint8_t *panel, int64_t lane, const float *k)
{
    const vug_cpu_kv_cache *c = a->job->cache;
    const int64_t size = element_bytes(c->format), scale = scale_bytes(c->format);
    for (int64_t e = 0; e < c->width; e += GROUP) {
        const int64_t n = c->width - e < GROUP ? c->width - e : GROUP;
        encoded_group g;
        encode_group(a->kernels, c->format, k + e, n, &g);
        memcpy(panel + lane * scale, &g.scale, (size_t)scale);
        panel += PANEL * scale;
        write_strided(g.code, size, n, panel + lane * size);
        panel += n * PANEL * size;
    }
}

static void write_value(const append_run *a, uint8_t *block, int64_t row, const float *v)
{
    const vug_cpu_kv_cache *c = a->job->cache;
    const int64_t size = element_bytes(c->format), scale = scale_bytes(c->format);
    for (int64_t e = 0; e < c->width; e += GROUP) {
        const int64_t n = c->width - e < GROUP ? c->width - e : GROUP;
        encoded_group g;
        encode_group(a->kernels, c->format, v + e, n, &g);
        memcpy(block + row * scale, &g.scale, (size_t)scale);
        block += BLOCK * scale;
        for (int64_t i = 0; i < n; i += PANEL) {
            const int64_t m = n - i < PANEL ? n - i : PANEL;
            memcpy(block + row * PANEL * size, g.code + i * size, (size_t)(m * size));
            block += size * PANEL * BLOCK;
        }
    }
}

/* Writes k, v [E] of one head to a slot. */
static void write_slot(const append_run *a, uint8_t *data, int64_t head, int64_t slot,
                       const float *kv[2])
{
    const vug_cpu_kv_cache *c = a->job->cache;
    const int64_t panel = head * (c->slots / PANEL) + slot / PANEL;
    const int64_t block = head * (c->slots / BLOCK) + slot / BLOCK;
    write_key(a, data + c->k + panel * c->panel_bytes, slot % PANEL, kv[0]);
    write_value(a, data + c->v + block * c->block_bytes, slot % BLOCK, kv[1]);
}

static void append_block(const append_run *a, int64_t i)
{
    const vug_cpu_attention_job *job = a->job;
    const vug_cpu_kv_cache *c = job->cache;
    const int64_t head = i % c->heads;
    int64_t block = i / c->heads, row = 0;
    const vug_span *span = job->span;
    for (; block >= span_blocks(span); span++) {
        block -= span_blocks(span);
        row += span->n;
    }
    const int64_t from = (span->past / BLOCK + block) * BLOCK;
    const int64_t end = span->past + span->n;
    int64_t position = from > span->past ? from : span->past;
    for (; position < end && position < from + BLOCK; position++) {
        const int64_t at = ((row + position - span->past) * c->heads + head) * c->width;
        write_slot(a, span->state->data, head, position % c->slots,
                   (const float *[2]){ job->k + at, job->v + at });
    }
}

static void append_blocks(void *arg, int thread, int n_threads)
{
    (void)thread;
    (void)n_threads;
    append_run *a = arg;
    for (int64_t i; (i = vug_cpu_work_queue_next(&a->queue)) < a->queue.n;)
        append_block(a, i);
}

void vug_cpu_kv_cache_append(const vug_cpu_env *env, const vug_cpu_attention_job *job)
{
    append_run a = { .kernels = env->kernels, .job = job };
    int64_t blocks = 0, tokens = 0;
    for (int i = 0; i < job->n_spans; i++) {
        blocks += span_blocks(&job->span[i]);
        tokens += job->span[i].n;
    }
    vug_cpu_work_queue_init(&a.queue, env, blocks * job->cache->heads);
    if (tokens < BLOCK)
        append_blocks(&a, 0, 1);
    else
        vug_pool_run(env->pool, append_blocks, &a);
}

/* Only the last window - 1 tokens are visible; older ones may exceed the slots. */
void vug_cpu_kv_cache_load(const vug_cpu_env *env, const vug_cpu_attention_job *job, const float *k,
                           const float *v)
{
    const vug_cpu_kv_cache *c = job->cache;
    for (int i = 0; i < job->n_spans; i++) {
        const int64_t past = job->span[i].past;
        const int64_t first = c->window > 0 && past >= c->window ? past - c->window + 1 : 0;
        const vug_span span = { job->span[i].state, first, past - first };
        vug_cpu_attention_job load = { .cache = c, .span = &span, .n_spans = 1 };
        load.k = k + first * c->heads * c->width;
        load.v = v + first * c->heads * c->width;
        if (span.n > 0)
            vug_cpu_kv_cache_append(env, &load);
        k += past * c->heads * c->width;
        v += past * c->heads * c->width;
    }
}

/* Slots are stored in panels of keys and blocks of values, one head after the other. */
void vug_cpu_kv_cache_copy(const vug_cpu_kv_cache *c, vug_state *to, const vug_state *from,
                           int64_t n)
{
    const int64_t slots = n < c->slots ? n : c->slots;
    const int64_t keys = (slots + PANEL - 1) / PANEL * c->panel_bytes;
    const int64_t values = (slots + BLOCK - 1) / BLOCK * c->block_bytes;
    for (int64_t head = 0; head < c->heads; head++) {
        const uint64_t k = c->k + (uint64_t)(head * (c->slots / PANEL) * c->panel_bytes);
        const uint64_t v = c->v + (uint64_t)(head * (c->slots / BLOCK) * c->block_bytes);
        memcpy(to->data + k, from->data + k, (size_t)keys);
        memcpy(to->data + v, from->data + v, (size_t)values);
    }
}

/* The index of a head's slots for a block of positions, in blocks. */
static uint64_t block_index(const vug_cpu_kv_cache *c, int64_t head, int64_t block)
{
    const int64_t blocks = c->slots / BLOCK;
    return (uint64_t)(head * blocks + block % blocks);
}

void vug_cpu_kv_cache_copy_window(const vug_cpu_kv_cache *to, vug_state *to_state,
                                  const vug_cpu_kv_cache *from, const vug_state *from_state,
                                  int64_t n)
{
    const uint64_t keys = (uint64_t)(BLOCK / PANEL * to->panel_bytes);
    const uint64_t values = (uint64_t)to->block_bytes;
    const int64_t first = n < to->window ? 0 : n - to->window + 1;
    if (to->slots == 0 || from->slots == 0)
        return;
    for (int64_t head = 0; head < to->heads; head++) {
        for (int64_t block = first / BLOCK; block * BLOCK < n; block++) {
            const uint64_t a = block_index(to, head, block), b = block_index(from, head, block);
            memcpy(to_state->data + to->k + a * keys, from_state->data + from->k + b * keys, keys);
            memcpy(to_state->data + to->v + a * values, from_state->data + from->v + b * values,
                   values);
        }
    }
}
