#ifndef VUG_IR_CODECS_H
#define VUG_IR_CODECS_H

/* The codecs that dtypes.def names, for the files of this folder that hold them and the
 * table that lists them. Others reach them through vug_dtype_of and vug_matrix. */

#include "ir/dtype.h"

#define DTYPE(id, name, elements, bytes, gguf, decode, encode, block) \
    vug_decode_fn vug_decode_##decode;                                \
    vug_encode_fn vug_encode_##encode;                                \
    vug_block_fn vug_block_##block;
#include "ir/dtypes.def"
#undef DTYPE

/* The F16 at `src`. */
float vug_half_at(const uint8_t *src);

static inline int16_t vug_signed_byte(uint8_t b)
{
    return (int16_t)(b < 128 ? b : b - 256);
}

/* A block of plain integers: without factors, and without a minimum. Adding the offset
 * then adds -0, which changes no number, not even the sign of a zero. */
static inline void vug_block_plain(vug_block *out, float scale)
{
    out->scale = scale;
    out->offset = -0.0f;
    out->factor[0] = out->factor[1] = 1;
    out->minimum[0] = out->minimum[1] = 0;
}

#endif
