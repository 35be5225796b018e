/* Finds the profile that a model or a flow is compiled with. */
#include <stdio.h>

#include "engine/internal.h"

static vug_status read_profile(const char *path, vug_profile *out, vug_err *err)
{
    vug_text text;
    VUG_TRY(vug_read_file(path, VUG_MAX_PROFILE, &text, err));
    const vug_status st = vug_profile_read((vug_str){ text.ptr, text.len }, path, out, err);
    vug_text_release(&text);
    return st;
}

/* The built-in profiles differ only in name: a program for any number of tokens works for one
 * token, too. */
static bool make_builtin(const char *name, vug_profile *out)
{
    if (strcmp(name, "prefill") != 0 && strcmp(name, "decode") != 0)
        return false;
    *out = (vug_profile){ .built_in = true };
    (void)snprintf(out->name, sizeof(out->name), "%s", name);
    return true;
}

vug_status vug_profile_load(const char *profile, const char *folder, const char *fallback,
                            vug_profile *out, vug_err *err)
{
    if (profile)
        return make_builtin(profile, out) ? VUG_OK : read_profile(profile, out, err);
    (void)make_builtin(fallback, out);
    if (!folder)
        return VUG_OK;
    char *path = vug_path_join(folder, "vug.toml");
    if (!path)
        return VUG_FAIL_NOMEM(err, folder, strlen(folder));
    const vug_status st = vug_file_exists(path) ? read_profile(path, out, err) : VUG_OK;
    vug_free(path);
    return st;
}
