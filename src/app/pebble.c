#include "app/pebble.h"

#include <string.h>

#include "core/os.h"

/* ---- where it lies ------------------------------------------------------------------ */

/* Below the folder of the program, which is cut `up` levels first: an unpacked archive,
 * a build folder, an installation, a build folder in a build folder. */
static const struct {
    int up;
    const char *path;
} places[] = {
    { 0, "models/" VUG_PEBBLE },
    { 1, "models/" VUG_PEBBLE },
    { 1, "share/vug/models/" VUG_PEBBLE },
    { 2, "models/" VUG_PEBBLE },
};

enum { N_PLACES = sizeof(places) / sizeof(*places) };

/* Cuts the last part of an absolute path off. */
static void go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        slash[slash == path] = '\0';
}

static vug_status not_there(const char *program, vug_err *err)
{
    char folder[160];
    size_t n = strlen(program);
    if (n >= sizeof(folder))
        n = sizeof(folder) - 1;
    memcpy(folder, program, n);
    folder[n] = '\0';
    go_up(folder);
    return VUG_FAIL(err, VUG_IO,
                    "pebble, the model that comes with vug, is not there: looked for models/pebble "
                    "in %s and the two folders above it, and for ../share/vug/models/pebble; name "
                    "the folder of a MODEL instead",
                    folder);
}

static vug_status find(vug_arena *arena, const char **out, vug_err *err)
{
    char *program, *found = NULL;
    VUG_TRY(vug_program_path(&program, err));
    vug_status st = VUG_OK;
    for (int i = 0; i < N_PLACES && !found && st == VUG_OK; i++) {
        char *folder = vug_strdup(program);
        for (int up = -1; folder && up < places[i].up; up++)
            go_up(folder);
        char *path = folder ? vug_path_join(folder, places[i].path) : NULL;
        if (!path)
            st = VUG_FAIL_NOMEM(err, "a path", 0);
        else if (vug_is_folder(path))
            found = path;
        if (path != found)
            vug_free(path);
        vug_free(folder);
    }
    if (st == VUG_OK && !found)
        st = not_there(program, err);
    if (found && !(*out = vug_arena_copy(arena, vug_str_of(found)).ptr))
        st = VUG_FAIL_NOMEM(err, "a path", strlen(found));
    vug_free(found);
    vug_free(program);
    return st;
}

/* ---- who means it ------------------------------------------------------------------- */

static bool has_blank(const char *text)
{
    return text[strcspn(text, " \t\r\n")] != '\0';
}

static bool is_path(const char *text)
{
    return *text == '/' || *text == '~' || strncmp(text, "./", 2) == 0 ||
           strncmp(text, "../", 3) == 0;
}

/* Of a single operand, where a MODEL may stand or be left out. */
static bool is_text(const char *operand)
{
    if (vug_file_exists(operand))
        return false;
    return !*operand || strcmp(operand, "-") == 0 || (has_blank(operand) && !is_path(operand));
}

/* "dir/x.gguf", "dir/tokenizer.json"; but not "org/Qwen2.5-0.5B". */
static bool has_extension(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && dot[1] && !dot[1 + strspn(dot + 1, "abcdefghijklmnopqrstuvwxyz")];
}

/* The NAME of ORGANISATION/NAME, as models are called where people find them; else NULL.
 * Below a folder that is there, it is a path. */
static const char *of_repository(const char *model)
{
    char organisation[100] = { 0 };
    const char *slash = strchr(model, '/');
    const size_t n = slash ? (size_t)(slash - model) : 0;
    if (n == 0 || n >= sizeof(organisation) || !slash[1] || strchr(slash + 1, '/') ||
        is_path(model) || has_blank(model) || has_extension(slash))
        return NULL;
    memcpy(organisation, model, n);
    return vug_is_folder(organisation) ? NULL : slash + 1;
}

static vug_status name(vug_options *o, const char **model, vug_err *err)
{
    const char *repository = *model ? of_repository(*model) : NULL;
    if (repository)
        return VUG_FAIL(err, VUG_IO,
                        "%.200s: no such folder; if it is a repository of Hugging Face, fetch it "
                        "first: hf download %.200s --local-dir %.200s",
                        *model, *model, repository);
    if (!*model || strcmp(*model, VUG_PEBBLE) != 0 || vug_is_folder(VUG_PEBBLE))
        return VUG_OK;
    return find(&o->arena, model, err);
}

/* In front of the operands, which have room for one more. */
static vug_status put_in_front(vug_options *o, vug_err *err)
{
    for (size_t i = o->n_operands; i > 0; i--)
        o->operand[i] = o->operand[i - 1];
    o->n_operands++;
    return find(&o->arena, &o->operand[0], err);
}

vug_status vug_pebble_operands(vug_options *o, vug_command command, vug_err *err)
{
    const vug_model_use use = vug_command_model(command);
    const size_t n = o->n_operands;
    if (use == VUG_MODEL_NONE)
        return VUG_OK;
    VUG_TRY(name(o, &o->against, err));
    const bool may_be_prompt = use == VUG_MODEL_OR_PROMPT && n == 1;
    if ((use != VUG_MODEL_FIRST && n == 0) || (may_be_prompt && is_text(o->operand[0])))
        return put_in_front(o, err);
    if (may_be_prompt && strcmp(o->operand[0], VUG_PEBBLE) != 0 &&
        !vug_file_exists(o->operand[0]) && !of_repository(o->operand[0]))
        return VUG_FAIL(err, VUG_IO,
                        "%.200s: no such folder; a prompt of one word needs a MODEL "
                        "before it, such as pebble",
                        o->operand[0]);
    return n ? name(o, &o->operand[0], err) : VUG_OK;
}
