#include "ir/kv_format.h"

static const char *const names[VUG_KV_COUNT] = {
#define X(id, name) [VUG_KV_##id] = name,
    VUG_KV_FORMATS(X)
#undef X
};

const char *vug_kv_format_name(vug_kv_format kv)
{
    return names[kv];
}

vug_kv_format vug_kv_format_find(vug_str name)
{
    int i = 0;
    while (i < VUG_KV_COUNT && !vug_str_is(name, names[i]))
        i++;
    return (vug_kv_format)i;
}
