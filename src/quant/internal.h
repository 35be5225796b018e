#ifndef VUG_QUANT_INTERNAL_H
#define VUG_QUANT_INTERNAL_H

/* The codecs that dtypes.def names. Files of this folder define them and codec.c lists
 * them; other folders call vug_codec_of and the functions of quant/matrix.h. */

#include "quant/codec.h"

#define DTYPE(id, name, elements, bytes, gguf, decode, encode, block) \
    vug_decode_fn vug_decode_##decode;                                \
    vug_encode_fn vug_encode_##encode;                                \
    vug_block_fn vug_block_##block;
#include "ir/dtypes.def"
#undef DTYPE

/* The F16 at `src`. */
float vug_half_at(const uint8_t *src);

/* The 32 weights of a block. */
void vug_block_decode(const vug_block *b, float *dst);

static inline int16_t vug_signed_byte(uint8_t b)
{
    return (int16_t)(b < 128 ? b : b - 256);
}

/* A block with a scale and no offset. The offset is -0, because adding -0 changes no number,
 * not even the sign of a zero. */
static inline void vug_block_init_plain(vug_block *out, float scale)
{
    out->scale = scale;
    out->offset = -0.0f;
    out->factor[0] = out->factor[1] = 1;
    out->minimum[0] = out->minimum[1] = 0;
}

#endif
