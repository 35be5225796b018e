/*
 * Weights in blocks: how each format's bytes become integers and scales, and from these
 * weights. Layouts are ggml's (ggml-common.h) and MLX's (mlx/ops.cpp, quantize); names
 * of fields are ggml's. Multi-byte fields are little-endian and of any alignment.
 *
 * A weight is decoded from the same integers that products are made of, in the order of
 * operations that ggml's dequantize_row_X has, so both give its bits.
 */
#include <math.h>

#include "ir/codecs.h"
#include "ir/tensor.h"

/* ---- nibbles ------------------------------------------------------------------- */

/* E2M1, times two. */
static const int16_t e2m1[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };
/* The values of IQ4_NL and IQ4_XS. */
static const int16_t iq4[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113 };

/* The lower nibbles are the first half of a block, the upper ones the second. */
static void split_nibbles(const uint8_t *qs, int16_t *q)
{
    for (int e = 0; e < 16; e++) {
        q[e] = (int16_t)(qs[e] & 15);
        q[e + 16] = (int16_t)(qs[e] >> 4);
    }
}

static void add_fifth_bits(const uint8_t *qh, int16_t *q)
{
    for (int e = 0; e < 32; e++)
        q[e] = (int16_t)(q[e] | (qh[e / 8] >> (e % 8) & 1) << 4);
}

static void subtract(int16_t *q, int16_t by)
{
    for (int e = 0; e < 32; e++)
        q[e] = (int16_t)(q[e] - by);
}

static void look_up(int16_t *q, const int16_t *value)
{
    for (int e = 0; e < 32; e++)
        q[e] = value[q[e]];
}

/* A block of integers with one minimum. */
static void affine(vug_block *out, float scale, float offset)
{
    out->scale = scale;
    out->offset = offset;
    out->factor[0] = out->factor[1] = 1;
    out->minimum[0] = out->minimum[1] = 1;
}

/* ---- ggml, 32 weights to a block ------------------------------------------------- */

/* d F16, qs [16] */
void vug_block_q4_0(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i * 18;
    vug_block_plain(out, vug_half_at(b));
    split_nibbles(b + 2, out->q);
    subtract(out->q, 8);
}

/* d F16, m F16, qs [16] */
void vug_block_q4_1(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i * 20;
    affine(out, vug_half_at(b), vug_half_at(b + 2));
    split_nibbles(b + 4, out->q);
}

/* d F16, qh [4]: a fifth bit of each, qs [16] */
void vug_block_q5_0(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i * 22;
    vug_block_plain(out, vug_half_at(b));
    split_nibbles(b + 6, out->q);
    add_fifth_bits(b + 2, out->q);
    subtract(out->q, 16);
}

/* d F16, m F16, qh [4], qs [16] */
void vug_block_q5_1(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i * 24;
    affine(out, vug_half_at(b), vug_half_at(b + 2));
    split_nibbles(b + 8, out->q);
    add_fifth_bits(b + 4, out->q);
}

/* d F16, qs I8 [32] */
void vug_block_q8_0(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i * 34;
    vug_block_plain(out, vug_half_at(b));
    for (int e = 0; e < 32; e++)
        out->q[e] = vug_signed_byte(b[2 + e]);
}

/* d F16, qs [16] */
void vug_block_iq4_nl(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i * 18;
    vug_block_plain(out, vug_half_at(b));
    split_nibbles(b + 2, out->q);
    look_up(out->q, iq4);
}

/* 256 weights. d F16; two upper bits of eight scales in 16 bits; four lower ones [4];
 * qs [128] */
void vug_block_iq4_xs(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i / 8 * 136;
    const int64_t s = i % 8;
    const int low = b[4 + s / 2] >> (4 * (s % 2)) & 15, high = b[2 + s / 4] >> (2 * (s % 4)) & 3;
    vug_block_plain(out, vug_half_at(b));
    out->factor[0] = out->factor[1] = (int16_t)((low | high << 4) - 32);
    split_nibbles(b + 8 + 16 * s, out->q);
    look_up(out->q, iq4);
}

/* e: an exponent, qs [16]. The values are E2M1's times two, so the scale is half of
 * E8M0's; 255 is no NaN here. */
void vug_block_mxfp4(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i * 17;
    vug_block_plain(out, ldexpf(1.0f, b[0] - 128));
    split_nibbles(b + 1, out->q);
    look_up(out->q, e2m1);
}

/* ---- MLX ------------------------------------------------------------------------- */

/* 32 numbers of `bits` bits, the lowest bits first. */
static void read_stream(const uint8_t *src, int bits, int16_t *q)
{
    uint32_t held = 0;
    int n_held = 0;
    for (int e = 0; e < 32; e++) {
        while (n_held < bits) {
            held |= (uint32_t)*src++ << n_held;
            n_held += 8;
        }
        q[e] = (int16_t)(held & ((1u << bits) - 1));
        held >>= bits;
        n_held -= bits;
    }
}

#define AFFINE(bits)                                                        \
    void vug_block_mlx##bits(const uint8_t *row, int64_t i, vug_block *out) \
    {                                                                       \
        affine(out, 1, 0);                                                  \
        read_stream(row + i * (32 * (bits) / 8), bits, out->q);             \
    }
AFFINE(2)
AFFINE(3)
AFFINE(4)
AFFINE(5)
AFFINE(6)
AFFINE(8)

void vug_block_mlx_fp4(const uint8_t *row, int64_t i, vug_block *out)
{
    vug_block_plain(out, 0.5f);
    read_stream(row + i * 16, 4, out->q);
    look_up(out->q, e2m1);
}

/* ---- decoding ---------------------------------------------------------------------- */

static void decode_block(const vug_block *b, float *dst)
{
    for (int s = 0; s < 2; s++) {
        const float scale = b->scale * (float)b->factor[s];
        const float offset = b->offset * (float)b->minimum[s];
        for (int e = 16 * s; e < 16 * s + 16; e++)
            dst[e] = scale * (float)b->q[e] + offset;
    }
}

static void decode_blocks(vug_block_fn *block, const uint8_t *src, float *dst, size_t n)
{
    vug_block b;
    for (size_t i = 0; i < n / 32; i++) {
        block(src, (int64_t)i, &b);
        decode_block(&b, dst + i * 32);
    }
}

#define DECODER(format)                                                \
    void vug_decode_##format(const uint8_t *src, float *dst, size_t n) \
    {                                                                  \
        decode_blocks(vug_block_##format, src, dst, n);                \
    }
DECODER(q4_0)
DECODER(q4_1)
DECODER(q5_0)
DECODER(q5_1)
DECODER(q8_0)
DECODER(q2_k)
DECODER(q3_k)
DECODER(q4_k)
DECODER(q5_k)
DECODER(q6_k)
DECODER(iq4_nl)
DECODER(iq4_xs)
DECODER(mxfp4)

/* ---- rows of a weight ----------------------------------------------------------------- */

static const uint8_t *row_of(const vug_matrix *m, int64_t row)
{
    return m->data + row * vug_dtype_row(m->dtype, m->columns);
}

/* The scale or the bias, as `from` says, of the weight at [row,column]. */
static float apart(const vug_scales *s, const uint8_t *from, int64_t row, int64_t column)
{
    const vug_dtype_info *info = vug_dtype_of(s->dtype);
    const int64_t at = row / s->rows * s->stride + column / s->columns;
    float x;
    info->decode(from + at * info->bytes, &x, 1);
    return x;
}

/* A bias of -0 changes nothing, not even the sign of a zero. */
static void scale_run(float *w, int64_t n, float scale, float bias)
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

/* By tiles; the last one of a row may be narrower. */
static void apply_scales(const vug_scales *s, int64_t row, int64_t columns, float *w)
{
    for (int64_t first = 0, n; first < columns; first += n) {
        const float scale = apart(s, s->scale, row, first);
        const float bias = s->bias ? apart(s, s->bias, row, first) : -0.0f;
        n = columns - first < s->columns ? columns - first : s->columns;
        scale_run(w + first, n, scale, bias);
    }
}

void vug_matrix_decode(const vug_matrix *m, int64_t row, float *dst)
{
    const vug_dtype_info *info = vug_dtype_of(m->dtype);
    if (info->decode) {
        info->decode(row_of(m, row), dst, (size_t)m->columns);
        if (m->scales.scale)
            apply_scales(&m->scales, row, m->columns, dst);
        return;
    }
    vug_block b;
    for (int64_t i = 0; i < m->columns / 32; i++) {
        vug_matrix_block(m, row, i, &b);
        decode_block(&b, dst + i * 32);
    }
}

void vug_matrix_block(const vug_matrix *m, int64_t row, int64_t i, vug_block *out)
{
    const vug_scales *s = &m->scales;
    vug_dtype_of(m->dtype)->block(row_of(m, row), i, out);
    if (s->scale)
        out->scale *= apart(s, s->scale, row, i * 32);
    if (s->bias)
        out->offset = apart(s, s->bias, row, i * 32);
}
