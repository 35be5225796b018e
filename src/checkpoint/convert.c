/* Converts a checkpoint to another container or quantizes it. */
#include "checkpoint/convert.h"

static vug_status write_gguf(const char *model, const char *out, const vug_convert_request *r,
                             const vug_tensor_stream *tensors, vug_err *err)
{
    vug_gguf_builder metadata = { 0 };
    vug_status st = vug_convert_put_metadata(model, r, &metadata, err);
    if (st == VUG_OK)
        st = vug_gguf_write(out, &metadata, tensors, err);
    vug_gguf_builder_release(&metadata);
    return st;
}

static vug_status fill_folder(const char *model, const char *folder, const vug_convert_request *r,
                              const vug_convert_target_list *list, const vug_tensor_stream *tensors,
                              vug_err *err)
{
    char *path = vug_path_join(folder, "model.safetensors");
    if (!path)
        return VUG_FAIL_NOMEM(err, folder, strlen(folder));
    vug_status st = vug_convert_write_other_files(model, r, list, folder, err);
    if (st == VUG_OK)
        st = vug_safetensors_write(path, tensors, err);
    vug_free(path);
    return st;
}

static vug_status write_folder(const char *model, const char *out, const vug_convert_request *r,
                               const vug_convert_target_list *list,
                               const vug_tensor_stream *tensors, vug_err *err)
{
    char *temp;
    VUG_TRY(vug_folder_begin(out, &temp, err));
    vug_status st = fill_folder(model, temp, r, list, tensors, err);
    if (st == VUG_OK)
        st = vug_folder_commit(temp, out, err);
    else
        vug_folder_abandon(temp);
    vug_free(temp);
    return st;
}

/* Without this check a file of another model would be ignored silently. */
static vug_status check_importance(const vug_convert_target_list *list, const char *file,
                                   vug_err *err)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->target[i].importance)
            return VUG_OK;
    }
    return VUG_FAIL(err, VUG_FORMAT,
                    "%s: has no '.in_sum2' tensor for a weight of this model, as `vug imatrix` "
                    "and llama-imatrix write them",
                    file);
}

static vug_status write_checkpoint(const char *model, const char *out, const vug_convert_request *r,
                                   const vug_convert_options *o, vug_err *err)
{
    const bool gguf = r->types->gguf;
    vug_convert_target_list list = { 0 };
    vug_convert_row_maker maker = { 0 };
    vug_status st = gguf ? vug_convert_plan_gguf(r, &list, err)
                         : vug_convert_plan_safetensors(r, &list, err);
    if (st == VUG_OK && r->importance)
        st = check_importance(&list, o->importance, err);
    if (st == VUG_OK)
        st = vug_convert_row_maker_init(&maker, &list, r->checkpoint, o->threads, err);
    const vug_tensor_stream tensors = { list.spec, list.n,      vug_convert_make_rows,
                                        &maker,    o->progress, o->user };
    if (st == VUG_OK)
        st = gguf ? write_gguf(model, out, r, &tensors, err)
                  : write_folder(model, out, r, &list, &tensors, err);
    vug_convert_row_maker_release(&maker);
    vug_arena_release(&list.arena);
    return st;
}

static vug_status check_paths(const char *model, const char *out, const vug_convert_options *o,
                              vug_err *err)
{
    const bool gguf = vug_str_ends(vug_str_of(out), ".gguf");
    if (vug_file_exists(out))
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: already exists; the output must be a new %s", out,
                        gguf ? "file" : "folder");
    if (!gguf && !o->type && vug_is_folder(model))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s: is already a folder of safetensors; to convert it to GGUF, OUT must "
                        "end in .gguf",
                        model);
    return VUG_OK;
}

vug_status vug_convert(const char *model, const char *out, const vug_convert_options *options,
                       vug_err *err)
{
    const vug_convert_options none = { 0 };
    const vug_convert_options *o = options ? options : &none;
    vug_checkpoint c = { 0 };
    vug_convert_types types;
    vug_weights *importance = NULL;
    VUG_TRY(check_paths(model, out, o, err));
    VUG_TRY(vug_convert_types_parse(o, vug_str_ends(vug_str_of(out), ".gguf"), &types, err));
    vug_status st = vug_checkpoint_open(model, &c, err);
    if (st == VUG_OK && o->importance)
        st = vug_weights_open_gguf(o->importance, &importance, err);
    const vug_convert_request r = { &c, &types, importance, o };
    if (st == VUG_OK)
        st = write_checkpoint(model, out, &r, o, err);
    vug_weights_close(importance);
    vug_checkpoint_release(&c);
    return st;
}
