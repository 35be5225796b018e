/* The devices of this build. */
#include "engine/internal.h"

size_t vug_device_count(void)
{
    return vug_backend_count();
}

vug_device_info vug_device_get(size_t i)
{
    return vug_backend_at(i)->describe(NULL);
}

const vug_backend *vug_backend_select(const char *name, vug_err *err)
{
    for (size_t i = 0; i < vug_backend_count(); i++) {
        const vug_backend *b = vug_backend_at(i);
        if (name ? strcmp(b->name, name) == 0 : b->describe(NULL).available)
            return b;
    }
    (void)VUG_FAIL(err, VUG_ARGUMENT, "unknown device '%s'; `vug devices` lists the devices",
                   name ? name : "");
    return NULL;
}

const vug_backend *vug_backend_host(void)
{
    return vug_backend_select("cpu", NULL);
}

vug_status vug_device_measure(const char *device, int threads, vug_device_limits *out, vug_err *err)
{
    const vug_backend *backend = vug_backend_select(device, err);
    if (!backend)
        return VUG_ARGUMENT;
    const vug_device_options options = { .threads = threads };
    vug_device *opened;
    VUG_TRY(backend->open(&options, &opened, err));
    const vug_status st = backend->measure(opened, out, err);
    backend->close(opened);
    return st;
}
