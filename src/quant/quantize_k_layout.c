/*
 * The layouts of ggml's K formats: how the numbers of a super-block become bytes. blocks_k.c
 * decodes them.
 */
#include <string.h>

#include "quant/quantize_search.h"

/* Packs two bits of 4 * 32 weights, from bit `low` on: pair j of byte l is of weight 32 j + l. */
static void put_pairs(const int8_t *q, int low, uint8_t *to)
{
    for (int l = 0; l < 32; l++) {
        int byte = 0;
        for (int j = 0; j < 4; j++)
            byte |= (q[32 * j + l] >> low & 3) << 2 * j;
        to[l] = (uint8_t)byte;
    }
}

/* Byte l of 32 has the low bits of weights l and l + 32. */
static void put_nibbles(const int8_t *q, uint8_t *to)
{
    for (int l = 0; l < 32; l++)
        to[l] = (uint8_t)((q[l] & 15) | (q[l + 32] & 15) << 4);
}

static void pack_q2_k(const vug_super_block *b, uint8_t *dst)
{
    for (int k = 0; k < 16; k++)
        dst[k] = (uint8_t)(b->scale[k] | b->minimum[k] << 4);
    for (ptrdiff_t h = 0; h < 2; h++)
        put_pairs(b->q + 128 * h, 0, dst + 16 + 32 * h);
    vug_put_f16(b->d, dst + 80);
    vug_put_f16(b->dmin, dst + 82);
}

static void pack_q3_k(vug_super_block *b, uint8_t *dst)
{
    memset(dst, 0, 110);
    for (int e = 0; e < VUG_SUPER_BLOCK; e++) {
        b->q[e] = (int8_t)(b->q[e] + 4); /* the third bit is stored apart */
        dst[e % 32] = (uint8_t)(dst[e % 32] | (b->q[e] >> 2) << e / 32);
    }
    for (ptrdiff_t h = 0; h < 2; h++)
        put_pairs(b->q + 128 * h, 0, dst + 32 + 32 * h);
    for (int k = 0; k < 16; k++) {
        const int s = b->scale[k] + 32;
        uint8_t *low = dst + 96 + k % 8, *high = dst + 104 + k % 4;
        *low = (uint8_t)(*low | (s & 15) << (k < 8 ? 0 : 4));
        *high = (uint8_t)(*high | (s >> 4) << 2 * (k / 4));
    }
    vug_put_f16(b->d, dst + 108);
}

/* Eight scales and eight minima of 6 bits in 12 bytes. */
static void put_six_bits(const vug_super_block *b, uint8_t *to)
{
    for (int k = 0; k < 4; k++) {
        to[k] = (uint8_t)(b->scale[k] | b->scale[k + 4] >> 4 << 6);
        to[k + 4] = (uint8_t)(b->minimum[k] | b->minimum[k + 4] >> 4 << 6);
        to[k + 8] = (uint8_t)((b->scale[k + 4] & 15) | (b->minimum[k + 4] & 15) << 4);
    }
}

static void pack_q4_k(const vug_super_block *b, uint8_t *dst)
{
    vug_put_f16(b->d, dst);
    vug_put_f16(b->dmin, dst + 2);
    put_six_bits(b, dst + 4);
    for (ptrdiff_t p = 0; p < 4; p++)
        put_nibbles(b->q + 64 * p, dst + 16 + 32 * p);
}

static void pack_q5_k(const vug_super_block *b, uint8_t *dst)
{
    vug_put_f16(b->d, dst);
    vug_put_f16(b->dmin, dst + 2);
    put_six_bits(b, dst + 4);
    for (int l = 0; l < 32; l++) {
        int byte = 0;
        for (int k = 0; k < 8; k++)
            byte |= (b->q[32 * k + l] >> 4) << k;
        dst[16 + l] = (uint8_t)byte;
    }
    for (ptrdiff_t p = 0; p < 4; p++)
        put_nibbles(b->q + 64 * p, dst + 48 + 32 * p);
}

static void pack_q6_k(vug_super_block *b, uint8_t *dst)
{
    for (int e = 0; e < VUG_SUPER_BLOCK; e++)
        b->q[e] = (int8_t)(b->q[e] + 32);
    for (ptrdiff_t h = 0; h < 2; h++) {
        const int8_t *half = b->q + 128 * h;
        for (int l = 0; l < 64; l++)
            dst[64 * h + l] = (uint8_t)((half[l] & 15) | (half[l + 64] & 15) << 4);
        put_pairs(half, 4, dst + 128 + 32 * h);
    }
    for (int k = 0; k < 16; k++)
        dst[192 + k] = (uint8_t)b->scale[k];
    vug_put_f16(b->d, dst + 208);
}

static void pack_iq4_xs(const vug_super_block *b, uint8_t *dst)
{
    memset(dst, 0, 8);
    vug_put_f16(b->d, dst);
    for (int k = 0; k < 8; k++) {
        const int s = b->scale[k] + 32;
        dst[2 + k / 4] = (uint8_t)(dst[2 + k / 4] | (s >> 4) << 2 * (k % 4));
        dst[4 + k / 2] = (uint8_t)(dst[4 + k / 2] | (s & 15) << 4 * (k % 2));
        for (int l = 0; l < 16; l++)
            dst[8 + 16 * k + l] = (uint8_t)(b->q[32 * k + l] | b->q[32 * k + l + 16] << 4);
    }
}

void vug_pack_super_block(vug_dtype dtype, vug_super_block *b, uint8_t *dst)
{
    switch (dtype) {
    case VUG_DTYPE_Q2_K:
        pack_q2_k(b, dst);
        break;
    case VUG_DTYPE_Q3_K:
        pack_q3_k(b, dst);
        break;
    case VUG_DTYPE_Q4_K:
        pack_q4_k(b, dst);
        break;
    case VUG_DTYPE_Q5_K:
        pack_q5_k(b, dst);
        break;
    case VUG_DTYPE_Q6_K:
        pack_q6_k(b, dst);
        break;
    default:
        pack_iq4_xs(b, dst);
        break;
    }
}
