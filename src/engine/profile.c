/* Which profile a model or a flow is compiled by. */
#include <stdio.h>

#include "engine/engine.h"

static vug_status read_profile(const char *path, vug_profile *out, vug_err *err)
{
    vug_text text;
    VUG_TRY(vug_read_file(path, VUG_MAX_PROFILE, &text, err));
    const vug_status st = vug_profile_read((vug_str){ text.ptr, text.len }, path, out, err);
    vug_text_release(&text);
    return st;
}

/* The built-in ones differ in name alone: a program for any number of tokens does
 * the same for one. */
static bool built_in(const char *name, vug_profile *out)
{
    if (strcmp(name, "prefill") != 0 && strcmp(name, "decode") != 0)
        return false;
    *out = (vug_profile){ .built_in = true };
    (void)snprintf(out->name, sizeof(out->name), "%s", name);
    return true;
}

vug_status vug_profile_find(const char *profile, const char *folder, const char *otherwise,
                            vug_profile *out, vug_err *err)
{
    if (profile)
        return built_in(profile, out) ? VUG_OK : read_profile(profile, out, err);
    (void)built_in(otherwise, out);
    if (!folder)
        return VUG_OK;
    char *path = vug_path_join(folder, "vug.toml");
    if (!path)
        return VUG_FAIL_NOMEM(err, folder, strlen(folder));
    const vug_status st = vug_file_exists(path) ? read_profile(path, out, err) : VUG_OK;
    vug_free(path);
    return st;
}
