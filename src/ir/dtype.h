#ifndef VUG_IR_DTYPE_H
#define VUG_IR_DTYPE_H

/*
 * Element formats and their reference codecs: plain C, one element at a time,
 * the definition that every kernel is tested against.
 */

#include "core/bytes.h"

typedef enum {
#define DTYPE(id, name, elements, bytes, gguf, decode, encode, block) VUG_DTYPE_##id,
#include "ir/dtypes.def"
#undef DTYPE
    VUG_DTYPE_COUNT
} vug_dtype;

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

/* Block `i` of 32 weights of the row that begins at `row`. Where scales lie apart
 * (vug_scales), `scale` is what they have to be multiplied with, and the offset is the
 * caller's to fill. */
typedef void vug_block_fn(const uint8_t *row, int64_t i, vug_block *out);

#define VUG_NO_GGUF (-1)

typedef struct {
    const char *name;
    int elements;          /* per block */
    int bytes;             /* per block */
    int gguf;              /* its number in GGUF files; VUG_NO_GGUF: none */
    vug_decode_fn *decode; /* NULL: not computed with, or only with scales that lie apart */
    vug_encode_fn *encode; /* NULL: it takes a search (quantize.h) */
    vug_block_fn *block;   /* NULL: elements are numbers by themselves */
} vug_dtype_info;

const vug_dtype_info *vug_dtype_of(vug_dtype dtype);
/* VUG_DTYPE_COUNT when no format has this name; letters of either case. */
vug_dtype vug_dtype_find(vug_str name);
/* The format with this number in GGUF files, or VUG_DTYPE_COUNT. */
vug_dtype vug_dtype_of_gguf(uint32_t number);
/* Whether safetensors headers may say it. */
static inline bool vug_dtype_in_safetensors(vug_dtype dtype)
{
    return dtype <= VUG_DTYPE_F4;
}
/* Bytes of `n` elements; false on overflow or when `n` is no whole number of blocks. */
bool vug_dtype_size(vug_dtype dtype, uint64_t n, uint64_t *bytes);
/* Those of a row of whole blocks that is in memory. */
int64_t vug_dtype_row(vug_dtype dtype, int64_t columns);

#endif
