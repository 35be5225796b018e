#include "ir/activations.h"

static const char *const names[VUG_ACTIVATIONS_COUNT] = {
#define X(id, name) [VUG_ACTIVATIONS_##id] = name,
    VUG_ACTIVATIONS(X)
#undef X
};

const char *vug_activations_name(vug_activations activations)
{
    return names[activations];
}

vug_activations vug_activations_find(vug_str name)
{
    int i = 0;
    while (i < VUG_ACTIVATIONS_COUNT && !vug_str_is(name, names[i]))
        i++;
    return (vug_activations)i;
}
