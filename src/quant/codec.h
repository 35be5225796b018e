#ifndef VUG_QUANT_CODEC_H
#define VUG_QUANT_CODEC_H

/*
 * The reference codecs of the element formats: plain C, one element at a time.
 * Every kernel is tested against them.
 */

#include "ir/dtype.h"

/* `src` may have any alignment. `n` is a multiple of the block's elements. */
typedef void vug_decode_fn(const uint8_t *src, float *dst, size_t n);
/* Rounds to nearest, ties to even; overflow gives infinity, as IEEE 754 says, and E4M3,
 * which has none, the largest value, as in torch 2.15. */
typedef void vug_encode_fn(const float *src, uint8_t *dst, size_t n);

/* 32 neighbouring weights of a row as integers. Weight e, of half s = e / 16, is
 *
 *     scale * (factor[s] * q[e]) + offset * minimum[s]
 *
 * and products with weights in blocks are defined by these (docs/arithmetic.md). No sum
 * over a block of |factor[s] * q[e]| * 127 or |minimum[s]| * 127 passes 2^24, whatever
 * the bytes are: the largest is Q6_K's, 32 * 128 * 32 * 127. Decoded, the weight is
 * (scale * factor[s]) * q[e] + offset * minimum[s], each operation in F32. A format
 * without minima has an offset of -0, which changes nothing. */
typedef struct {
    int16_t q[32];
    int16_t factor[2], minimum[2];
    float scale, offset;
} vug_block;

/* Block `i` of 32 weights of the row that begins at `row`. If the format's scales are stored
 * apart (vug_scales), the caller multiplies `scale` with them and fills in the offset. */
typedef void vug_block_fn(const uint8_t *row, int64_t i, vug_block *out);

typedef struct {
    vug_decode_fn *decode; /* NULL: not computed with, or only together with vug_scales */
    vug_encode_fn *encode; /* NULL: encoding takes a search (quantize.h) */
    vug_block_fn *block;   /* NULL: elements are numbers by themselves */
} vug_codec;

const vug_codec *vug_codec_of(vug_dtype dtype);

#endif
