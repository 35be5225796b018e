/*
 * weights, engine: one line of config.json followed by a safetensors file, in memory. Every
 * folded tensor must have all scales of its rows.
 */

#include "core/mem.h"
#include "engine/offline.h"
#include "fuzz/fuzz.h"
#include "quant/matrix.h"

enum { MAX_COLUMNS = 4096, MAX_ROWS = 1 << 16 }; /* bound the time of one input */

static void decode(const vug_tensor *t)
{
    float *row = vug_alloc(MAX_COLUMNS, sizeof(*row));
    int64_t rows = 1;
    VUG_ASSERT(t->rank >= 2 && t->scales.rows > 0 && t->scales.columns > 0);
    for (int i = 0; i < t->rank - 1; i++)
        rows = t->dim[i] < MAX_ROWS && rows < MAX_ROWS ? rows * t->dim[i] : MAX_ROWS;
    const int64_t each = t->dim[t->rank - 2];
    for (int64_t r = 0; row && t->dim[t->rank - 1] <= MAX_COLUMNS && r < rows; r++) {
        const vug_matrix m = vug_tensor_matrix_at(t, r - r % each);
        VUG_ASSERT(vug_tensor_has_matrix_at(t, r - r % each));
        vug_matrix_decode(&m, r % each, row);
    }
    vug_free(row);
}

static void fold(vug_str config, vug_weights *weights)
{
    vug_err err = { 0 };
    const vug_status st = vug_quantization_config_apply(config, "input", weights, &err);
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    for (size_t i = 0; st == VUG_OK && i < vug_weights_count(weights); i++) {
        const vug_tensor *t = vug_weights_at(weights, i);
        VUG_ASSERT(vug_weights_find(weights, t->name) == t);
        if (t->scales.scale)
            decode(t);
    }
}

int vug_fuzz_quantized(const uint8_t *data, size_t n)
{
    const uint8_t *end = n ? memchr(data, '\n', n) : NULL;
    const size_t config = end ? (size_t)(end - data) : n;
    const size_t rest = end ? n - config - 1 : 0;
    /* A copy of exactly this size, so that the sanitizer detects reads past its end. */
    uint8_t *file = vug_alloc(rest, 1);
    vug_weights *weights = NULL;
    if (!file)
        return 0;
    if (rest)
        memcpy(file, end + 1, rest);
    if (vug_weights_open_memory((vug_bytes){ file, rest }, "input", &weights, NULL) == VUG_OK) {
        fold((vug_str){ (const char *)data, config }, weights);
        vug_weights_close(weights);
    }
    vug_free(file);
    return 0;
}
