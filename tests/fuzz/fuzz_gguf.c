/*
 * weights: one GGUF file in memory. Every tensor and every value of the metadata must be
 * inside the file and be found by its name. Then models: its config, and the flow over its
 * tensors; and text: its tokenizer.
 */

#include <stdlib.h>

#include "core/mem.h"
#include "fuzz/fuzz.h"
#include "models/models.h"
#include "text/text.h"
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
    while (vug_gguf_next_string(&it, &s)) {
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

static int by_name(const void *a, const void *b)
{
    const vug_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name.ptr, (*y)->name.ptr);
}

static void build(const vug_config *config, const vug_tensor_list *list)
{
    vug_binding binding;
    vug_graph graph;
    vug_gguf_builder back = { 0 };
    vug_err err = { 0 };
    if (vug_binding_init(config, list, &binding, &err) != VUG_OK) {
        VUG_ASSERT(err.msg[0] != '\0');
        return;
    }
    if (vug_model_build_graph(&binding, false, &graph, &err) == VUG_OK)
        vug_graph_release(&graph);
    vug_binding_release(&binding);
    (void)!vug_config_write_gguf(config, &back, NULL);
    vug_gguf_builder_release(&back);
}

static void read_model(const vug_weights *weights)
{
    const size_t n = vug_weights_count(weights);
    const vug_tensor **sorted = vug_alloc(n ? n : 1, sizeof(vug_tensor *));
    vug_config *config = vug_alloc(1, sizeof(*config));
    const vug_tensor_list list = { sorted, n, "input", VUG_NAMES_GGUF };
    vug_err err = { 0 };
    for (size_t i = 0; sorted && i < n; i++)
        sorted[i] = vug_weights_at(weights, i);
    if (sorted && n)
        qsort(sorted, n, sizeof(vug_tensor *), by_name);
    if (sorted && config) {
        const vug_status st = vug_config_read_gguf(vug_weights_gguf(weights), &list, config, &err);
        VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
        if (st == VUG_OK)
            build(config, &list);
    }
    vug_free(config);
    vug_free(sorted);
}

static void read_tokenizer(const vug_gguf *gguf)
{
    static const char text[] = "<bos>ab aba\n\xe2\x82\xac";
    vug_tokenizer *t = NULL;
    vug_tokens tokens = { 0 };
    vug_err err = { 0 };
    const vug_status st = vug_tokenizer_from_gguf(gguf, &t, &err);
    VUG_ASSERT((st == VUG_OK) == (t != NULL));
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (t && vug_tokenizer_encode(t, text, sizeof(text) - 1, 3, &tokens, NULL) == VUG_OK) {
        vug_text back = { 0 };
        (void)!vug_tokenizer_decode(t, tokens.id, tokens.n, false, &back, NULL);
        vug_text_release(&back);
    }
    vug_tokens_release(&tokens);
    vug_tokenizer_close(t);
}

int vug_fuzz_gguf(const uint8_t *data, size_t n)
{
    /* A copy of exactly this size, so that the sanitizer detects reads past its end. */
    uint8_t *file = vug_alloc(n, 1);
    if (!file)
        return 0;
    if (n)
        memcpy(file, data, n);
    vug_weights *weights = NULL;
    vug_err err = { 0 };
    vug_status st = vug_weights_open_gguf_memory((vug_bytes){ file, n }, "input", &weights, &err);
    VUG_ASSERT((st == VUG_OK) == (weights != NULL));
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK) {
        walk(weights, n);
        read_model(weights);
        read_tokenizer(vug_weights_gguf(weights));
    }
    vug_weights_close(weights);
    vug_free(file);
    return 0;
}
