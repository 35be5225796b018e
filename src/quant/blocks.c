/*
 * Decoding of block formats: bytes to integers and scales, and those to weights. Layouts are
 * those of ggml (ggml-common.h) and MLX (mlx/ops.cpp, quantize); field names are ggml's.
 * Multi-byte fields are little-endian and unaligned.
 *
 * Decoding uses the same integers as matrix products, in the order of operations of ggml's
 * dequantize_row_X, so the weights have the same bits as ggml's.
 */
#include <math.h>

#include "quant/internal.h"

/* ---- nibbles ------------------------------------------------------------------- */

/* The values of E2M1 times two. */
static const int16_t e2m1[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };
/* The values of IQ4_NL and IQ4_XS. */
static const int16_t iq4[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113 };

/* The low nibbles are the first half of a block, the high nibbles the second. */
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

static void subtract_from_all(int16_t *q, int16_t by)
{
    for (int e = 0; e < 32; e++)
        q[e] = (int16_t)(q[e] - by);
}

static void map_values(int16_t *q, const int16_t *value)
{
    for (int e = 0; e < 32; e++)
        q[e] = value[q[e]];
}

/* A block with one scale and one offset. */
static void init_affine(vug_block *out, float scale, float offset)
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
    vug_block_init_plain(out, vug_half_at(b));
    split_nibbles(b + 2, out->q);
    subtract_from_all(out->q, 8);
}

/* d F16, m F16, qs [16] */
void vug_block_q4_1(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i * 20;
    init_affine(out, vug_half_at(b), vug_half_at(b + 2));
    split_nibbles(b + 4, out->q);
}

/* d F16, qh [4]: the fifth bits, qs [16] */
void vug_block_q5_0(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i * 22;
    vug_block_init_plain(out, vug_half_at(b));
    split_nibbles(b + 6, out->q);
    add_fifth_bits(b + 2, out->q);
    subtract_from_all(out->q, 16);
}

/* d F16, m F16, qh [4], qs [16] */
void vug_block_q5_1(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i * 24;
    init_affine(out, vug_half_at(b), vug_half_at(b + 2));
    split_nibbles(b + 8, out->q);
    add_fifth_bits(b + 4, out->q);
}

/* d F16, qs I8 [32] */
void vug_block_q8_0(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i * 34;
    vug_block_init_plain(out, vug_half_at(b));
    for (int e = 0; e < 32; e++)
        out->q[e] = vug_signed_byte(b[2 + e]);
}

/* d F16, qs [16] */
void vug_block_iq4_nl(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i * 18;
    vug_block_init_plain(out, vug_half_at(b));
    split_nibbles(b + 2, out->q);
    map_values(out->q, iq4);
}

/* 256 weights. d F16; the two high bits of eight scales in 16 bits; their four low bits [4];
 * qs [128] */
void vug_block_iq4_xs(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i / 8 * 136;
    const int64_t s = i % 8;
    const int low = b[4 + s / 2] >> (4 * (s % 2)) & 15, high = b[2 + s / 4] >> (2 * (s % 4)) & 3;
    vug_block_init_plain(out, vug_half_at(b));
    out->factor[0] = out->factor[1] = (int16_t)((low | high << 4) - 32);
    split_nibbles(b + 8 + 16 * s, out->q);
    map_values(out->q, iq4);
}

/* e: an exponent, qs [16]. The values are twice those of E2M1, so the scale is half that of
 * E8M0; 255 is not NaN here. */
void vug_block_mxfp4(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i * 17;
    vug_block_init_plain(out, ldexpf(1.0f, b[0] - 128));
    split_nibbles(b + 1, out->q);
    map_values(out->q, e2m1);
}

/* ---- MLX ------------------------------------------------------------------------- */

/* 32 numbers of `bits` bits, lowest bits first. */
static void read_bit_stream(const uint8_t *src, int bits, int16_t *q)
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
        init_affine(out, 1, 0);                                             \
        read_bit_stream(row + i * (32 * (bits) / 8), bits, out->q);         \
    }
AFFINE(2)
AFFINE(3)
AFFINE(4)
AFFINE(5)
AFFINE(6)
AFFINE(8)

void vug_block_mlx_fp4(const uint8_t *row, int64_t i, vug_block *out)
{
    vug_block_init_plain(out, 0.5f);
    read_bit_stream(row + i * 16, 4, out->q);
    map_values(out->q, e2m1);
}

/* ---- decoding ---------------------------------------------------------------------- */

void vug_block_decode(const vug_block *b, float *dst)
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
        vug_block_decode(&b, dst + i * 32);
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
