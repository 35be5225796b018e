/*
 * weights, engine: one safetensors file in memory behind a line that is its config.json.
 * What is folded has all the scales that its rows ask for.
 */

#include "core/mem.h"
#include "engine/engine.h"
#include "fuzz/fuzz.h"

enum { MOST_COLUMNS = 4096, MOST_ROWS = 1 << 16 }; /* more are more of the same */

static void decode(const vug_tensor *t)
{
    float *row = vug_alloc(MOST_COLUMNS, sizeof(*row));
    int64_t rows = 1;
    VUG_ASSERT(t->rank >= 2 && t->scales.rows > 0 && t->scales.columns > 0);
    for (int i = 0; i < t->rank - 1; i++)
        rows = t->dim[i] < MOST_ROWS && rows < MOST_ROWS ? rows * t->dim[i] : MOST_ROWS;
    const int64_t each = t->dim[t->rank - 2];
    for (int64_t r = 0; row && t->dim[t->rank - 1] <= MOST_COLUMNS && r < rows; r++) {
        const vug_matrix m = vug_tensor_from(t, r - r % each);
        VUG_ASSERT(vug_tensor_begins(t, r - r % each));
        vug_matrix_decode(&m, r % each, row);
    }
    vug_free(row);
}

static void fold(vug_str config, vug_weights *weights)
{
    vug_err err = { 0 };
    const vug_status st = vug_checkpoint_fold(config, "input", weights, &err);
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
    /* A copy of exactly this size: a read past its end is a report. */
    uint8_t *file = vug_alloc(rest, 1);
    vug_weights *weights = NULL;
    if (!file)
        return 0;
    if (rest)
        memcpy(file, end + 1, rest);
    if (vug_weights_over((vug_bytes){ file, rest }, "input", &weights, NULL) == VUG_OK) {
        fold((vug_str){ (const char *)data, config }, weights);
        vug_weights_close(weights);
    }
    vug_free(file);
    return 0;
}
