/*
 * Decoding of ggml's K formats (ggml-common.h, block_qN_K): super-blocks of 256 weights with
 * d, and in some formats dmin, in F16, and with a small integer scale, and in some formats a
 * minimum, per 16 or 32 weights. Weights are in the order of dequantize_row_qN_K.
 */
#include "quant/internal.h"

/* Two bits each: weight l of block j of a half is in byte l, from bit 2 j on. */
static void read_pairs(const uint8_t *qs, int64_t shift, int16_t *q)
{
    for (int l = 0; l < 32; l++)
        q[l] = (int16_t)(qs[l] >> shift & 3);
}

/* scales [16]: a scale in the low nibble, a minimum in the high one; qs [64]; d; dmin */
void vug_block_q2_k(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i / 8 * 84;
    const int64_t s = i % 8;
    out->scale = vug_half_at(b + 80);
    out->offset = -vug_half_at(b + 82);
    for (int half = 0; half < 2; half++) {
        out->factor[half] = (int16_t)(b[2 * s + half] & 15);
        out->minimum[half] = (int16_t)(b[2 * s + half] >> 4);
    }
    read_pairs(b + 16 + s / 4 * 32, s % 4 * 2, out->q);
}

/* Q3_K has 16 scales of 6 bits in 12 bytes: the low four bits are the nibbles of the first
 * eight bytes, the high two bits are in the last four bytes. */
static int16_t q3_scale(const uint8_t *scales, int64_t k)
{
    const int low = k < 8 ? scales[k] & 15 : scales[k - 8] >> 4;
    const int high = scales[8 + k % 4] >> (2 * (k / 4)) & 3;
    return (int16_t)((low | high << 4) - 32);
}

/* hmask [32]: bit s of byte l is 0 when 4 is subtracted from weight l of block s;
 * qs [64]; scales [12]; d */
void vug_block_q3_k(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i / 8 * 110;
    const int64_t s = i % 8;
    vug_block_init_plain(out, vug_half_at(b + 108));
    for (int half = 0; half < 2; half++)
        out->factor[half] = q3_scale(b + 96, 2 * s + half);
    read_pairs(b + 32 + s / 4 * 32, s % 4 * 2, out->q);
    for (int l = 0; l < 32; l++)
        out->q[l] = (int16_t)(out->q[l] - (b[l] >> s & 1 ? 0 : 4));
}

/* Q4_K and Q5_K begin with d, dmin, then eight scales and eight minima of 6 bits in 12 bytes.
 * The first four of each are the low six bits of a byte. The others have their low four bits
 * in the last four bytes, and their high two bits above those of the first four. */
static void read_q45_scales(const uint8_t *b, int64_t s, vug_block *out)
{
    const uint8_t *scales = b + 4;
    int scale, minimum;
    if (s < 4) {
        scale = scales[s] & 63;
        minimum = scales[s + 4] & 63;
    } else {
        scale = (scales[s + 4] & 15) | scales[s - 4] >> 6 << 4;
        minimum = scales[s + 4] >> 4 | scales[s] >> 6 << 4;
    }
    out->scale = vug_half_at(b);
    out->offset = -vug_half_at(b + 2);
    out->factor[0] = out->factor[1] = (int16_t)scale;
    out->minimum[0] = out->minimum[1] = (int16_t)minimum;
}

/* Blocks 2 k and 2 k + 1 are the low and the high nibbles of 32 bytes. */
static void read_nibbles(const uint8_t *qs, int64_t s, int16_t *q)
{
    for (int l = 0; l < 32; l++)
        q[l] = (int16_t)(qs[s / 2 * 32 + l] >> (s % 2 * 4) & 15);
}

/* d, dmin, scales [12], qs [128] */
void vug_block_q4_k(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i / 8 * 144;
    const int64_t s = i % 8;
    read_q45_scales(b, s, out);
    read_nibbles(b + 16, s, out->q);
}

/* d, dmin, scales [12], qh [32]: bit s of byte l is the fifth bit of weight l of block s;
 * qs [128] */
void vug_block_q5_k(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i / 8 * 176;
    const int64_t s = i % 8;
    read_q45_scales(b, s, out);
    read_nibbles(b + 48, s, out->q);
    for (int l = 0; l < 32; l++)
        out->q[l] = (int16_t)(out->q[l] | (b[16 + l] >> s & 1) << 4);
}

/* ql [128]: of the four blocks of a half the first two have the low nibbles of its 64 bytes,
 * the others the high nibbles; qh [64]: two bits each; scales I8 [16]; d */
void vug_block_q6_k(const uint8_t *row, int64_t i, vug_block *out)
{
    const uint8_t *b = row + i / 8 * 210;
    const int64_t s = i % 8, half = s / 4, j = s % 4;
    const uint8_t *ql = b + 64 * half + 32 * (j % 2), *qh = b + 128 + 32 * half;
    vug_block_init_plain(out, vug_half_at(b + 208));
    for (int k = 0; k < 2; k++)
        out->factor[k] = vug_signed_byte(b[192 + 2 * s + k]);
    for (int l = 0; l < 32; l++)
        out->q[l] = (int16_t)(((ql[l] >> (j / 2 * 4) & 15) | (qh[l] >> (2 * j) & 3) << 4) - 32);
}
