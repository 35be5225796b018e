/* Rows of a weight: its codec, and the scales in tensors of their own. */
#include "quant/matrix.h"

#include "quant/internal.h"

static const uint8_t *row_data(const vug_matrix *m, int64_t row)
{
    return m->data + row * vug_dtype_row(m->dtype, m->columns);
}

/* The scale or the bias, from the tensor `from`, of the weight at [row,column]. */
static float load_scale(const vug_scales *s, const uint8_t *from, int64_t row, int64_t column)
{
    const int64_t at = row / s->rows * s->stride + column / s->columns;
    float x;
    vug_codec_of(s->dtype)->decode(from + at * vug_dtype_of(s->dtype)->bytes, &x, 1);
    return x;
}

/* A bias of -0 changes nothing, not even the sign of a zero. */
static void scale_and_bias(float *w, int64_t n, float scale, float bias)
{
    enum { EIGHT = 8 }; /* at a time, for vectors */
    int64_t e = 0;
    for (; e + EIGHT <= n; e += EIGHT) {
        for (int j = 0; j < EIGHT; j++)
            w[e + j] = w[e + j] * scale + bias;
    }
    for (; e < n; e++)
        w[e] = w[e] * scale + bias;
}

/* One tile after another; the last tile of a row may be narrower. */
static void apply_scales(const vug_scales *s, int64_t row, int64_t columns, float *w)
{
    for (int64_t first = 0, n; first < columns; first += n) {
        const float scale = load_scale(s, s->scale, row, first);
        const float bias = s->bias ? load_scale(s, s->bias, row, first) : -0.0f;
        n = columns - first < s->columns ? columns - first : s->columns;
        scale_and_bias(w + first, n, scale, bias);
    }
}

void vug_matrix_decode(const vug_matrix *m, int64_t row, float *dst)
{
    const vug_codec *codec = vug_codec_of(m->dtype);
    if (codec->decode) {
        codec->decode(row_data(m, row), dst, (size_t)m->columns);
        if (m->scales.scale)
            apply_scales(&m->scales, row, m->columns, dst);
        return;
    }
    vug_block b;
    for (int64_t i = 0; i < m->columns / 32; i++) {
        vug_matrix_block(m, row, i, &b);
        vug_block_decode(&b, dst + i * 32);
    }
}

void vug_matrix_block(const vug_matrix *m, int64_t row, int64_t i, vug_block *out)
{
    const vug_scales *s = &m->scales;
    vug_codec_of(m->dtype)->block(row_data(m, row), i, out);
    if (s->scale)
        out->scale *= load_scale(s, s->scale, row, i * 32);
    if (s->bias)
        out->offset = load_scale(s, s->bias, row, i * 32);
}
