#include "ir/dtype.h"

#include <ctype.h>

#define NO_GGUF VUG_NO_GGUF

static const vug_dtype_info dtypes[VUG_DTYPE_COUNT] = {
#define DTYPE(id, name, elements, bytes, gguf, decode, encode, block) \
    [VUG_DTYPE_##id] = { name, elements, bytes, gguf },
#include "ir/dtypes.def"
#undef DTYPE
};

const vug_dtype_info *vug_dtype_of(vug_dtype dtype)
{
    return &dtypes[dtype];
}

static bool matches_name(vug_str given, const char *name)
{
    size_t i = 0;
    while (i < given.len && name[i] && toupper((unsigned char)given.ptr[i]) == name[i])
        i++;
    return i == given.len && !name[i];
}

vug_dtype vug_dtype_find(vug_str name)
{
    int i = 0;
    while (i < VUG_DTYPE_COUNT && !matches_name(name, dtypes[i].name))
        i++;
    return (vug_dtype)i;
}

vug_dtype vug_dtype_of_gguf(uint32_t number)
{
    int i = 0;
    while (i < VUG_DTYPE_COUNT && (dtypes[i].gguf < 0 || (uint32_t)dtypes[i].gguf != number))
        i++;
    return (vug_dtype)i;
}

bool vug_dtype_size(vug_dtype dtype, uint64_t n, uint64_t *bytes)
{
    const uint64_t elements = (uint64_t)dtypes[dtype].elements;
    return n % elements == 0 && vug_mul_size(n / elements, (uint64_t)dtypes[dtype].bytes, bytes);
}

int64_t vug_dtype_row(vug_dtype dtype, int64_t columns)
{
    return columns / dtypes[dtype].elements * dtypes[dtype].bytes;
}
