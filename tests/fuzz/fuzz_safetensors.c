/*
 * weights: one safetensors file in memory. Every entry of the directory must have `bytes`
 * readable bytes that agree with format and shape.
 */

#include "core/mem.h"
#include "fuzz/fuzz.h"
#include "weights/weights.h"

static uint8_t touch(const vug_tensor *t)
{
    uint8_t sum = 0;
    for (uint64_t i = 0; i < t->bytes; i++)
        sum = (uint8_t)(sum ^ t->data[i]);
    return sum;
}

int vug_fuzz_safetensors(const uint8_t *data, size_t n)
{
    /* A copy of exactly this size, so that the sanitizer detects reads past its end. */
    uint8_t *file = vug_alloc(n, 1);
    if (!file)
        return 0;
    if (n)
        memcpy(file, data, n);
    vug_weights *weights = NULL;
    vug_err err = { 0 };
    vug_status st = vug_weights_open_memory((vug_bytes){ file, n }, "input", &weights, &err);
    VUG_ASSERT((st == VUG_OK) == (weights != NULL));
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK) {
        volatile uint8_t sink = 0;
        uint64_t total = 0;
        for (size_t i = 0; i < vug_weights_count(weights); i++) {
            const vug_tensor *t = vug_weights_at(weights, i);
            VUG_ASSERT(vug_weights_find(weights, t->name) == t);
            total += t->bytes;
            sink = (uint8_t)(sink ^ touch(t));
        }
        VUG_ASSERT(total <= n); /* tensors do not overlap */
        vug_weights_close(weights);
    }
    vug_free(file);
    return 0;
}
