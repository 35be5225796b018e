/* passes: vug.toml, and with it core/toml. */

#include "core/mem.h"
#include "fuzz/fuzz.h"
#include "passes/passes.h"

int vug_fuzz_profile(const uint8_t *data, size_t n)
{
    vug_profile profile;
    vug_err err = { 0 };
    const vug_status st =
            vug_profile_read((vug_str){ (const char *)data, n }, "input", &profile, &err);
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK) {
        VUG_ASSERT(profile.tile_rows >= 0);
        VUG_ASSERT(memchr(profile.name, '\0', sizeof(profile.name)) != NULL);
    }
    return 0;
}
