#include "ir/kv.h"

static const char *const names[VUG_KV_COUNT] = {
#define X(id, name) [VUG_KV_##id] = name,
    VUG_KV_TABLE(X)
#undef X
};

const char *vug_kv_name(vug_kv kv)
{
    return names[kv];
}

vug_kv vug_kv_find(vug_str name)
{
    int i = 0;
    while (i < VUG_KV_COUNT && !vug_str_is(name, names[i]))
        i++;
    return (vug_kv)i;
}
