/* The definition of attention, and of how a cache rounds keys and values. */
#include <math.h>

#include "backend/cpu/ref.h"
#include "quant/codec.h"

/* Up to 32 elements, quantized like activations. The F32 scale cannot overflow or underflow
 * before the elements do. An infinity makes all of them NaN. */
static void round_group(const float *x, int64_t n, float *out)
{
    float padded[VUG_KV_Q8_BLOCK] = { 0 }, scale;
    int8_t q[VUG_KV_Q8_BLOCK];
    int16_t sum[VUG_KV_Q8_BLOCK / 16];
    memcpy(padded, x, (size_t)n * sizeof(*x));
    vug_ref_quantize_block(padded, q, &scale, sum);
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)q[i] * scale;
}

void vug_ref_round_kv(vug_kv_format format, const float *x, int64_t n, float *out)
{
    if (format == VUG_KV_Q8) {
        for (int64_t i = 0; i < n; i += VUG_KV_Q8_BLOCK)
            round_group(x + i, n - i < VUG_KV_Q8_BLOCK ? n - i : VUG_KV_Q8_BLOCK, out + i);
        return;
    }
    const vug_dtype dtype = format == VUG_KV_F16    ? VUG_DTYPE_F16
                            : format == VUG_KV_BF16 ? VUG_DTYPE_BF16
                                                    : VUG_DTYPE_F32;
    for (int64_t i = 0; i < n; i++) {
        uint8_t bytes[4];
        vug_codec_of(dtype)->encode(&x[i], bytes, 1);
        vug_codec_of(dtype)->decode(bytes, &out[i], 1);
    }
}

enum { MAX_WIDTH = 4096 };

/* The state of the softmax and the weighted sum of values over some keys. */
typedef struct {
    float max, sum;
    float out[MAX_WIDTH];
} split_sums;

static float score_of(const float *q, const vug_ref_attention_job *h, int64_t key)
{
    float s = 0;
    for (int64_t e = 0; e < h->width; e++)
        s = fmaf(q[e], h->k[(key * h->heads + h->head) * h->width + e], s);
    s *= h->score.scale;
    if (h->score.softcap > 0)
        s = vug_ref_tanh(s / h->score.softcap) * h->score.softcap;
    return h->mask ? s + h->mask[key] : s;
}

static bool is_visible(const vug_ref_attention_job *h, int64_t key)
{
    return !h->mask || h->mask[key] != -INFINITY;
}

/* The first to the last visible key; a mask may hide more keys between them. */
static void find_keys(const vug_ref_attention_job *h, int64_t *first, int64_t *end)
{
    *end = h->position + 1;
    *first = h->window > 0 && *end > h->window ? *end - h->window : 0;
    if (!h->mask)
        return;
    *first = 0;
    *end = h->keys;
    while (*first < *end && !is_visible(h, *first))
        (*first)++;
    while (*first < *end && !is_visible(h, *end - 1))
        (*end)--;
}

/* Adds keys first .. end-1, which are in one block of 64. Each run of consecutive visible keys
 * is summed apart and then added to the output. */
static void add_block(const float *q, const vug_ref_attention_job *h, int64_t first, int64_t end,
                      split_sums *to)
{
    float p[VUG_CPU_KEY_BLOCK], max = to->max;
    for (int64_t key = first; key < end; key++) {
        p[key - first] = is_visible(h, key) ? score_of(q, h, key) : -INFINITY;
        max = p[key - first] > max ? p[key - first] : max;
    }
    if (max == -INFINITY)
        return;
    float lane[VUG_CPU_LANES] = { 0 };
    for (int64_t key = first; key < end; key++) {
        p[key - first] = is_visible(h, key) ? vug_ref_exp(p[key - first] - max) : 0;
        lane[key % VUG_CPU_LANES] += p[key - first];
    }
    const float rescale = vug_ref_exp(to->max - max);
    to->sum = fmaf(to->sum, rescale, vug_ref_sum_lanes(lane));
    to->max = max;
    for (int64_t e = 0; e < h->width; e++) {
        to->out[e] *= rescale;
        for (int64_t key = first; key < end; key++) {
            float s = 0;
            for (; key < end && is_visible(h, key); key++)
                s = fmaf(p[key - first], h->v[(key * h->heads + h->head) * h->width + e], s);
            to->out[e] += s;
        }
    }
}

/*
 * Online softmax (Milakov and Gimelshein 2018) over blocks of 64 keys. Blocks and splits begin
 * at fixed positions, so the order of the sums depends only on the query's position and the
 * window. Each split is summed from zero and then joined to those before it, so splits can be
 * computed independently. Hidden keys are excluded from the sums, never multiplied by zero.
 */
void vug_ref_attention(const float *q, const vug_ref_attention_job *h, float *out)
{
    int64_t first, end;
    find_keys(h, &first, &end);
    split_sums total = { 0 }, split;
    for (int64_t at = first; at < end;) {
        const int64_t split_end = (at / VUG_CPU_KEY_SPLIT + 1) * VUG_CPU_KEY_SPLIT;
        const bool is_first = at == first;
        split = (split_sums){ .max = -INFINITY };
        while (at < end && at < split_end) {
            const int64_t block_end = (at / VUG_CPU_KEY_BLOCK + 1) * VUG_CPU_KEY_BLOCK;
            const int64_t stop = block_end < end ? block_end : end;
            add_block(q, h, at, stop, &split);
            at = stop;
        }
        if (is_first) {
            total = split;
            continue;
        }
        if (split.max == -INFINITY)
            continue;
        const float max = split.max > total.max ? split.max : total.max;
        const float a = vug_ref_exp(total.max - max), b = vug_ref_exp(split.max - max);
        for (int64_t e = 0; e < h->width; e++)
            total.out[e] = fmaf(split.out[e], b, total.out[e] * a);
        total.sum = fmaf(split.sum, b, total.sum * a);
        total.max = max;
    }
    const float r = 1.0f / total.sum;
    for (int64_t e = 0; e < h->width; e++)
        out[e] = total.out[e] * r;
}
