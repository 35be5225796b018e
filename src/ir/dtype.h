#ifndef VUG_IR_DTYPE_H
#define VUG_IR_DTYPE_H

/* Element formats: names and sizes. quant/codec.h has their reference codecs. */

#include "core/bytes.h"

typedef enum {
#define DTYPE(id, name, elements, bytes, gguf, decode, encode, block) VUG_DTYPE_##id,
#include "ir/dtypes.def"
#undef DTYPE
    VUG_DTYPE_COUNT
} vug_dtype;

#define VUG_NO_GGUF (-1)

typedef struct {
    const char *name;
    int elements; /* per block */
    int bytes;    /* per block */
    int gguf;     /* its number in GGUF files; VUG_NO_GGUF: none */
} vug_dtype_info;

const vug_dtype_info *vug_dtype_of(vug_dtype dtype);
/* VUG_DTYPE_COUNT if no format has this name; case is ignored. */
vug_dtype vug_dtype_find(vug_str name);
/* The format with this number in GGUF files, or VUG_DTYPE_COUNT. */
vug_dtype vug_dtype_of_gguf(uint32_t number);
/* Whether safetensors headers may name the format. */
static inline bool vug_dtype_in_safetensors(vug_dtype dtype)
{
    return dtype <= VUG_DTYPE_F4;
}
/* Bytes of `n` elements; false on overflow, or if `n` is not a whole number of blocks. */
bool vug_dtype_size(vug_dtype dtype, uint64_t n, uint64_t *bytes);
/* Bytes of a row of whole blocks; cannot overflow for a row that is in memory. */
int64_t vug_dtype_row(vug_dtype dtype, int64_t columns);

#endif
