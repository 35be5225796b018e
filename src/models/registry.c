/* The registry of architectures, and nothing else: see vug_arch_count in models.h. */
#include "models/models.h"

#define ARCH(name) extern const vug_arch vug_arch_##name;
#include "models/registry.def"
#undef ARCH

static const vug_arch *const registry[] = {
#define ARCH(name) &vug_arch_##name,
#include "models/registry.def"
#undef ARCH
};

size_t vug_arch_count(void)
{
    return sizeof(registry) / sizeof(registry[0]);
}

const vug_arch *vug_arch_at(size_t i)
{
    return registry[i];
}
