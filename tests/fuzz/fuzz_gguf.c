/*
 * weights: one GGUF file in memory. Every tensor and every value of the metadata must be
 * what it says: inside the file, and reachable by its name.
 */

#include "core/mem.h"
#include "fuzz/fuzz.h"
#include "weights/weights.h"

static uint8_t touch(const uint8_t *bytes, uint64_t n)
{
    uint8_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum = (uint8_t)(sum ^ bytes[i]);
    return sum;
}

static void walk_value(const vug_gguf_value *v)
{
    enum { MANY = 1000 };
    vug_str s;
    uint64_t n = 0, u = 0;
    int64_t i = 0;
    double f = 0;
    bool b = false;
    vug_gguf_strings it = vug_gguf_strings_of(v);
    while (vug_gguf_next(&it, &s)) {
        (void)touch((const uint8_t *)s.ptr, s.len);
        n++;
    }
    VUG_ASSERT(n == (v->is_array && v->type == VUG_GGUF_STRING ? v->count : 0));
    if (v->is_array && v->type == VUG_GGUF_STRING)
        VUG_ASSERT(it.reader.pos == v->bytes.len);
    if (vug_gguf_string(v, &s))
        (void)touch((const uint8_t *)s.ptr, s.len);
    const uint64_t many = v->count < MANY ? v->count : MANY;
    for (uint64_t k = 0; k < many; k++) {
        const bool number = vug_gguf_f64(v, k, &f);
        VUG_ASSERT(number || !(vug_gguf_u64(v, k, &u) || vug_gguf_i64(v, k, &i)));
        VUG_ASSERT(number + vug_gguf_bool(v, k, &b) == (v->type != VUG_GGUF_STRING));
    }
    VUG_ASSERT(!vug_gguf_f64(v, v->count, &f) && !vug_gguf_bool(v, v->count, &b));
}

static void walk(const vug_weights *weights, size_t n)
{
    const vug_gguf *gguf = vug_weights_gguf(weights);
    uint64_t total = 0;
    volatile uint8_t sink = 0;
    VUG_ASSERT(gguf != NULL);
    for (size_t i = 0; i < gguf->n; i++) {
        VUG_ASSERT(vug_gguf_find(gguf, gguf->value[i].key) == &gguf->value[i]);
        total += gguf->value[i].bytes.len;
        walk_value(&gguf->value[i]);
    }
    for (size_t i = 0; i < vug_weights_count(weights); i++) {
        const vug_tensor *t = vug_weights_at(weights, i);
        VUG_ASSERT(vug_weights_find(weights, t->name) == t);
        total += t->bytes;
        sink = (uint8_t)(sink ^ touch(t->data, t->bytes));
    }
    VUG_ASSERT(total <= n); /* nothing overlaps */
}

int vug_fuzz_gguf(const uint8_t *data, size_t n)
{
    /* A copy of exactly this size: a read past its end is a report. */
    uint8_t *file = vug_alloc(n, 1);
    if (!file)
        return 0;
    if (n)
        memcpy(file, data, n);
    vug_weights *weights = NULL;
    vug_err err = { 0 };
    vug_status st = vug_weights_over_gguf((vug_bytes){ file, n }, "input", &weights, &err);
    VUG_ASSERT((st == VUG_OK) == (weights != NULL));
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK)
        walk(weights, n);
    vug_weights_close(weights);
    vug_free(file);
    return 0;
}
