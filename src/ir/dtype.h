#ifndef VUG_IR_DTYPE_H
#define VUG_IR_DTYPE_H

/*
 * Element formats and their reference codecs: plain C, one element at a time,
 * the definition that every kernel is tested against.
 */

#include "core/bytes.h"

typedef enum {
#define DTYPE(id, name, elements, bytes, codec) VUG_DTYPE_##id,
#include "ir/dtypes.def"
#undef DTYPE
    VUG_DTYPE_COUNT
} vug_dtype;

/* `src` may have any alignment. `n` is a multiple of the block's elements. */
typedef void vug_decode_fn(const uint8_t *src, float *dst, size_t n);
/* Rounds to nearest, ties to even; overflow gives infinity, as IEEE 754 says. */
typedef void vug_encode_fn(const float *src, uint8_t *dst, size_t n);

typedef struct {
    const char *name;
    int elements;          /* per block */
    int bytes;             /* per block */
    vug_decode_fn *decode; /* NULL: a format that vug stores but does not compute with */
    vug_encode_fn *encode;
} vug_dtype_info;

const vug_dtype_info *vug_dtype_of(vug_dtype dtype);
/* VUG_DTYPE_COUNT when no format has this name; letters of either case. */
vug_dtype vug_dtype_find(vug_str name);
/* Bytes of `n` elements; false on overflow or when `n` is no whole number of blocks. */
bool vug_dtype_size(vug_dtype dtype, uint64_t n, uint64_t *bytes);

#endif
