#include "quant/internal.h"

#define vug_decode_none NULL
#define vug_encode_none NULL
#define vug_block_none  NULL

static const vug_codec codecs[VUG_DTYPE_COUNT] = {
#define DTYPE(id, name, elements, bytes, gguf, decode, encode, block) \
    [VUG_DTYPE_##id] = { vug_decode_##decode, vug_encode_##encode, vug_block_##block },
#include "ir/dtypes.def"
#undef DTYPE
};

const vug_codec *vug_codec_of(vug_dtype dtype)
{
    return &codecs[dtype];
}
