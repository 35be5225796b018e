#include "test.h"

#include "block_help.h"

#include <math.h>

#include "backend/cpu/kernels.h"
#include "checkpoint/internal.h"
#include "core/mem.h"
#include "quant/matrix.h"

enum { GUARD = 64 };

int block_format_count(void)
{
    int n = 0;
    for (int d = 0; d < VUG_DTYPE_COUNT; d++)
        n += vug_codec_of((vug_dtype)d)->block != NULL;
    return n;
}

vug_dtype block_format(int i)
{
    int d = 0;
    for (;; d++) {
        if (vug_codec_of((vug_dtype)d)->block && i-- == 0)
            return (vug_dtype)d;
    }
}

static uint8_t *guarded_bytes(size_t bytes, size_t shift)
{
    uint8_t *base = vug_alloc(bytes + shift + 2 * (size_t)GUARD, 1);
    assert_non_null(base);
    memset(base, 0xff, bytes + shift + 2 * (size_t)GUARD);
    return base + GUARD + shift;
}

vug_matrix block_weights(rng *r, vug_dtype dtype, int64_t rows, int64_t columns, size_t shift)
{
    const vug_dtype_info *info = vug_dtype_of(dtype);
    const bool apart = !vug_codec_of(dtype)->decode, fp4 = dtype == VUG_DTYPE_MLX_FP4;
    const int64_t group = (int64_t)info->elements << (apart && !fp4 && rng_bits(r) % 2);
    columns = (columns + group - 1) / group * group;
    const size_t blocks = (size_t)(rows * columns / info->elements);
    const uint64_t seed = rng_bits(r);
    const float deviation = 1 / sqrtf((float)columns);
    uint8_t *data = guarded_bytes(blocks * (size_t)info->bytes, shift);
    vug_random_blocks(dtype, seed, 0, blocks, deviation, data);
    vug_matrix m = matrix_over(dtype, data, columns);
    if (!apart)
        return m;
    const size_t n = (size_t)(rows * columns / group);
    uint8_t *scale = guarded_bytes(2 * n, shift), *bias = fp4 ? NULL : guarded_bytes(2 * n, shift);
    vug_random_scales(dtype, seed, 0, n, deviation, scale, bias);
    m.scales = (vug_scales){ .scale = scale,
                             .bias = bias,
                             .dtype = fp4 ? VUG_DTYPE_E8M0 : VUG_DTYPE_BF16,
                             .rows = 1,
                             .columns = group,
                             .stride = columns / group };
    return m;
}

vug_matrix random_matrix(rng *r, vug_dtype dtype, int64_t rows, int64_t columns, size_t shift)
{
    if (vug_codec_of(dtype)->block)
        return block_weights(r, dtype, rows, columns, shift);
    return matrix_over(dtype, random_weights(r, dtype, (size_t)(rows * columns), shift), columns);
}

void block_weights_free(const vug_matrix *m, size_t shift)
{
    const uint8_t *parts[] = { m->data, m->scales.scale, m->scales.bias };
    for (int i = 0; i < 3; i++) {
        if (parts[i])
            vug_free((uint8_t *)parts[i] - GUARD - shift);
    }
}

float *block_weights_decoded(const vug_matrix *m, int64_t rows)
{
    float *w = vug_alloc((size_t)(rows * m->columns), sizeof(*w));
    assert_non_null(w);
    for (int64_t i = 0; i < rows; i++)
        vug_matrix_decode(m, i, w + i * m->columns);
    return w;
}
