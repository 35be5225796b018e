#include "cli/default_model.h"

#include <string.h>

#include "core/os.h"

/* ---- location ----------------------------------------------------------------------- */

/* Paths relative to the folder `up` levels above the program's: for an unpacked archive, a
 * build folder, an installation, and a nested build folder. */
static const struct {
    int up;
    const char *path;
} locations[] = {
    { 0, "models/" VUG_DEFAULT_MODEL },
    { 1, "models/" VUG_DEFAULT_MODEL },
    { 1, "share/vug/models/" VUG_DEFAULT_MODEL },
    { 2, "models/" VUG_DEFAULT_MODEL },
};

enum { N_LOCATIONS = sizeof(locations) / sizeof(*locations) };

/* The length of the folder that contains the path path[0..n). */
static size_t parent_length(const char *path, size_t n)
{
    while (n > 0 && path[n - 1] != '/')
        n--;
    return n > 0 ? n - 1 : 0;
}

static vug_status fail_not_found(const char *program, vug_err *err)
{
    const size_t n = parent_length(program, strlen(program));
    return VUG_FAIL(err, VUG_IO,
                    "cannot find pebble, the model that comes with vug: looked for models/pebble "
                    "in %.*s and the two folders above it, and for ../share/vug/models/pebble; "
                    "specify a MODEL instead",
                    n > 160 ? 160
                    : n > 0 ? (int)n
                            : 1,
                    program);
}

static vug_status find_default_model(vug_arena *arena, const char **out, vug_err *err)
{
    char *program;
    vug_buf path = { 0 };
    bool found = false;
    VUG_TRY(vug_program_path(&program, err));
    for (int i = 0; i < N_LOCATIONS && !found && !path.bad; i++) {
        size_t n = strlen(program);
        for (int up = -1; up < locations[i].up; up++)
            n = parent_length(program, n);
        path.len = 0;
        vug_buf_printf(&path, "%.*s/%s", (int)n, program, locations[i].path);
        found = !path.bad && vug_is_folder(path.ptr);
    }
    vug_status st = vug_buf_ok(&path, err);
    if (st == VUG_OK && !found)
        st = fail_not_found(program, err);
    if (st == VUG_OK && !(*out = vug_arena_copy(arena, (vug_str){ path.ptr, path.len }).ptr))
        st = VUG_FAIL_NOMEM(err, "a path", path.len);
    vug_buf_release(&path);
    vug_free(program);
    return st;
}

/* ---- operands ----------------------------------------------------------------------- */

static bool has_blank(const char *text)
{
    return text[strcspn(text, " \t\r\n")] != '\0';
}

static bool looks_like_path(const char *text)
{
    return *text == '/' || *text == '~' || strncmp(text, "./", 2) == 0 ||
           strncmp(text, "../", 3) == 0;
}

/* Whether a single operand can only be a prompt. */
static bool is_prompt(const char *operand)
{
    if (vug_file_exists(operand))
        return false;
    return !*operand || strcmp(operand, "-") == 0 ||
           (has_blank(operand) && !looks_like_path(operand));
}

/* True for "dir/x.gguf" and "dir/tokenizer.json", but not for "org/Qwen2.5-0.5B". */
static bool has_extension(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && dot[1] && !dot[1 + strspn(dot + 1, "abcdefghijklmnopqrstuvwxyz")];
}

/* The NAME of ORGANISATION/NAME, the form of Hugging Face repositories; NULL for anything
 * else. If a folder ORGANISATION exists, it is a path. */
static const char *repository_name(const char *model)
{
    char organisation[100] = { 0 };
    const char *slash = strchr(model, '/');
    const size_t n = slash ? (size_t)(slash - model) : 0;
    if (n == 0 || n >= sizeof(organisation) || !slash[1] || strchr(slash + 1, '/') ||
        looks_like_path(model) || has_blank(model) || has_extension(slash))
        return NULL;
    memcpy(organisation, model, n);
    return vug_is_folder(organisation) ? NULL : slash + 1;
}

static vug_status resolve_model(vug_options *o, const char **model, vug_err *err)
{
    const char *repository = *model ? repository_name(*model) : NULL;
    if (repository)
        return VUG_FAIL(err, VUG_IO,
                        "%.200s: no such folder; if it is a Hugging Face repository, download it "
                        "first: hf download %.200s --local-dir %.200s",
                        *model, *model, repository);
    if (!*model || strcmp(*model, VUG_DEFAULT_MODEL) != 0 || vug_is_folder(VUG_DEFAULT_MODEL))
        return VUG_OK;
    return find_default_model(&o->arena, model, err);
}

/* Inserts the default model before the operands, which have room for one more. */
static vug_status insert_default_model(vug_options *o, vug_err *err)
{
    for (size_t i = o->n_operands; i > 0; i--)
        o->operand[i] = o->operand[i - 1];
    o->n_operands++;
    return find_default_model(&o->arena, &o->operand[0], err);
}

vug_status vug_default_model_resolve(vug_options *o, vug_command command, vug_err *err)
{
    const vug_model_operand use = vug_command_model(command);
    const size_t n = o->n_operands;
    if (use == VUG_MODEL_NONE)
        return VUG_OK;
    VUG_TRY(resolve_model(o, &o->against, err));
    const bool may_be_prompt = use == VUG_MODEL_OR_PROMPT && n == 1;
    if ((use != VUG_MODEL_REQUIRED && n == vug_command_rows[command].min_operands) ||
        (may_be_prompt && is_prompt(o->operand[0])))
        return insert_default_model(o, err);
    if (may_be_prompt && strcmp(o->operand[0], VUG_DEFAULT_MODEL) != 0 &&
        !vug_file_exists(o->operand[0]) && !repository_name(o->operand[0]))
        return VUG_FAIL(err, VUG_IO,
                        "%.200s: no such file or folder; put a MODEL, such as pebble, before a "
                        "one-word prompt",
                        o->operand[0]);
    return n ? resolve_model(o, &o->operand[0], err) : VUG_OK;
}
