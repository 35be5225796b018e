/* The key/value cache of a layer: its place in a page, and writing a step's tokens into it. */
#include "backend/cpu/attention.h"
#include "quant/codec.h"

enum { PANEL = VUG_CPU_PANEL, BLOCK = VUG_KV_PAGE, GROUP = VUG_KV_Q8_BLOCK };

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

bool vug_cpu_kv_cache_init(vug_cpu_kv_cache *cache, const vug_kv_group *group, int index,
                           vug_kv_format format)
{
    const int64_t width = group->width, element = element_bytes(format);
    const int64_t scale = scale_bytes(format);
    *cache = (vug_cpu_kv_cache){ .format = format,
                                 .window = group->window,
                                 .heads = group->heads,
                                 .width = width,
                                 .columns = vug_cpu_round_up(width, PANEL) };
    uint64_t bytes = 4 * sizeof(float) * BLOCK; /* more than a column's keys, values and scales */
    if (!vug_mul_size(bytes, (uint64_t)cache->heads, &bytes) ||
        !vug_mul_size(bytes, (uint64_t)cache->columns, &bytes) ||
        !vug_mul_size(bytes, (uint64_t)group->n_layers, &bytes) || bytes > INT64_MAX / 2)
        return false;
    cache->panel_bytes = PANEL * (width * element + groups_of(width) * scale);
    cache->value_bytes = BLOCK * (cache->columns * element + groups_of(width) * scale);
    cache->offset = (uint64_t)index * vug_cpu_kv_cache_bytes(cache);
    return true;
}

uint64_t vug_cpu_kv_cache_bytes(const vug_cpu_kv_cache *c)
{
    return (uint64_t)(c->heads * (BLOCK / PANEL * c->panel_bytes + c->value_bytes));
}

vug_cpu_value_rows vug_cpu_kv_cache_values(const vug_cpu_kv_cache *c, const uint8_t *values,
                                           int64_t column, int64_t row)
{
    const int64_t size = element_bytes(c->format), scale = scale_bytes(c->format);
    values += column / GROUP * BLOCK * (GROUP * size + scale);
    const int64_t code = BLOCK * scale + (column % GROUP * BLOCK + row * PANEL) * size;
    return (vug_cpu_value_rows){ .code = values + code,
                                 .panel_bytes = size * BLOCK * PANEL,
                                 .scale =
                                         scale ? (const float *)(const void *)values + row : NULL };
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

static void write_value(const append_run *a, uint8_t *values, int64_t row, const float *v)
{
    const vug_cpu_kv_cache *c = a->job->cache;
    const int64_t size = element_bytes(c->format), scale = scale_bytes(c->format);
    for (int64_t e = 0; e < c->width; e += GROUP) {
        const int64_t n = c->width - e < GROUP ? c->width - e : GROUP;
        encoded_group g;
        encode_group(a->kernels, c->format, v + e, n, &g);
        memcpy(values + row * scale, &g.scale, (size_t)scale);
        values += BLOCK * scale;
        for (int64_t i = 0; i < n; i += PANEL) {
            const int64_t m = n - i < PANEL ? n - i : PANEL;
            memcpy(values + row * PANEL * size, g.code + i * size, (size_t)(m * size));
            values += size * PANEL * BLOCK;
        }
    }
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
    uint8_t *keys = vug_cpu_kv_keys(c, job->kv, span, head, from / BLOCK);
    uint8_t *values = vug_cpu_kv_values_after(c, keys);
    for (; position < end && position < from + BLOCK; position++) {
        const int64_t at = ((row + position - span->past) * c->heads + head) * c->width;
        const int64_t slot = position - from;
        write_key(a, keys + slot / PANEL * c->panel_bytes, slot % PANEL, job->k + at);
        write_value(a, values, slot, job->v + at);
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

/* Only the last window - 1 tokens are visible; the sequence has no pages for older ones. */
void vug_cpu_kv_cache_load(const vug_cpu_env *env, const vug_cpu_attention_job *job, const float *k,
                           const float *v)
{
    const vug_cpu_kv_cache *c = job->cache;
    for (int i = 0; i < job->n_spans; i++) {
        const int64_t past = job->span[i].past;
        const int64_t first = c->window > 0 && past >= c->window ? past - c->window + 1 : 0;
        const vug_span span = { job->span[i].table, first, past - first };
        vug_cpu_attention_job load = { .cache = c, .kv = job->kv, .span = &span, .n_spans = 1 };
        load.k = k + first * c->heads * c->width;
        load.v = v + first * c->heads * c->width;
        if (span.n > 0)
            vug_cpu_kv_cache_append(env, &load);
        k += past * c->heads * c->width;
        v += past * c->heads * c->width;
    }
}
