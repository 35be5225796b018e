/*
 * Opening a checkpoint folder: finding the safetensors files that hold the weights.
 *
 * A published checkpoint is one model.safetensors, or shards beside an index
 *
 *     {"metadata": {"total_size": n}, "weight_map": {"tensor": "file", ...}}
 *
 * The index is untrusted: it may name only plain files of the same folder. Links are
 * followed after that check, because download caches keep the shards elsewhere and link
 * to them. total_size is advisory and ignored. Tensors of a shard that the map does not
 * list stay in the directory.
 */
#include "weights/directory.h"

#include <ctype.h>
#include <stdlib.h>

#include "core/json.h"

#define INDEX_NAME  "model.safetensors.index.json"
#define SINGLE_NAME "model.safetensors"

enum { MAX_INDEX = 100000000, MAX_FILE_NAME = 255, MAX_ESCAPED = 1 << 20 }; /* bytes */

typedef struct {
    vug_str tensor; /* first: vug_sort_names sorts by it */
    vug_str file;
} index_row;

typedef struct {
    vug_text text; /* contents of the file; the names point into it */
    vug_arena arena;
    index_row *row; /* [n] */
    size_t n, cap;
} weight_index;

static void release_index(weight_index *index)
{
    vug_text_release(&index->text);
    vug_arena_release(&index->arena);
    vug_free(index->row);
}

/* Rejects names that leave the folder on any system: with a separator of either kind, "..",
 * a drive letter, or a NUL, which would truncate the name. */
static bool is_plain_name(vug_str name)
{
    if (name.len == 0 || name.len > MAX_FILE_NAME || vug_str_is(name, "."))
        return false;
    if (name.len > 1 && name.ptr[1] == ':' && isalpha((unsigned char)name.ptr[0]))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.ptr[i];
        if (c == '/' || c == '\\' || c == '\0' || (c == '.' && i > 0 && name.ptr[i - 1] == '.'))
            return false;
    }
    return true;
}

static void read_weight_map(vug_json_reader *j, weight_index *index)
{
    vug_str tensor;
    vug_json_enter_object(j);
    while (vug_json_key(j, &tensor)) {
        const vug_str file = vug_json_string(j);
        if (!vug_json_ok(j))
            return;
        if (!is_plain_name(file)) {
            vug_json_fail(j, VUG_FORMAT,
                          "weight_map names '%.*s' for tensor '%.*s', expected the plain name of a "
                          "file in the same folder",
                          (int)(file.len < 80 ? file.len : 80), file.ptr,
                          (int)(tensor.len < 60 ? tensor.len : 60), tensor.ptr);
            return;
        }
        if (index->n == VUG_MAX_TENSORS) {
            vug_json_fail(j, VUG_LIMIT, "more than %d tensors", VUG_MAX_TENSORS);
            return;
        }
        index_row *row = vug_grow_array(index->row, &index->cap, index->n, sizeof(*row));
        if (!row) {
            vug_json_fail(j, VUG_NOMEM, "out of memory for a map of %zu tensors", index->n + 1);
            return;
        }
        index->row = row;
        index->row[index->n++] = (index_row){ tensor, file };
    }
}

static vug_status read_index(const char *path, weight_index *index, vug_err *err)
{
    VUG_TRY(vug_read_file(path, MAX_INDEX, &index->text, err));
    vug_json_reader j = vug_json_reader_over((vug_str){ index->text.ptr, index->text.len },
                                             INDEX_NAME, &index->arena);
    bool has_map = false;
    vug_str key;
    vug_json_enter_object(&j);
    while (vug_json_key(&j, &key)) {
        if (!vug_str_is(key, "weight_map")) {
            vug_json_skip(&j);
            continue;
        }
        if (has_map)
            vug_json_fail(&j, VUG_FORMAT, "duplicate key 'weight_map'");
        has_map = true;
        read_weight_map(&j, index);
    }
    VUG_TRY(vug_json_finish(&j, err));
    if (!has_map || index->n == 0)
        return VUG_FAIL(err, VUG_FORMAT, INDEX_NAME ": %s, expected {\"tensor\": \"file\", ...}",
                        has_map ? "weight_map is empty" : "weight_map is missing");
    const vug_str *twice = vug_sort_names(index->row, index->n, sizeof(*index->row));
    if (twice)
        return VUG_FAIL(err, VUG_FORMAT, INDEX_NAME ": weight_map lists tensor '%.*s' twice",
                        VUG_STR_ARG(*twice));
    return VUG_OK;
}

static vug_status load_shard(vug_weights *weights, const char *folder, vug_str name, bool indexed,
                             vug_err *err)
{
    const vug_str copy = vug_arena_copy(&weights->arena, name);
    char *path = copy.ptr ? vug_path_join(folder, copy.ptr) : NULL;
    if (!path)
        return VUG_FAIL_NOMEM(err, folder, name.len);
    vug_status st;
    if (indexed && !vug_file_exists(path))
        st = VUG_FAIL(err, VUG_IO,
                      INDEX_NAME ": weight_map names '%.100s', which does not exist in "
                                 "%.200s",
                      copy.ptr, folder);
    else
        st = vug_safetensors_load(weights, path, err);
    vug_free(path);
    return st;
}

static vug_status load_shards(vug_weights *weights, const char *folder, const weight_index *index,
                              vug_err *err)
{
    vug_str *name = vug_alloc(index->n, sizeof(*name));
    if (!name)
        return VUG_FAIL_NOMEM(err, INDEX_NAME, index->n * sizeof(*name));
    for (size_t i = 0; i < index->n; i++)
        name[i] = index->row[i].file;
    (void)vug_sort_names(name, index->n, sizeof(*name));
    vug_status st = VUG_OK;
    for (size_t i = 0; st == VUG_OK && i < index->n; i++)
        if (i == 0 || !vug_str_equal(name[i], name[i - 1]))
            st = load_shard(weights, folder, name[i], true, err);
    vug_free(name);
    return st;
}

/* Checks that every tensor is in the file that the map names. */
static vug_status check_index(const vug_weights *weights, const weight_index *index, vug_err *err)
{
    for (size_t i = 0; i < index->n; i++) {
        const index_row *row = &index->row[i];
        const vug_tensor *tensor = vug_weights_find(weights, row->tensor);
        if (!tensor)
            return VUG_FAIL(err, VUG_FORMAT,
                            INDEX_NAME ": weight_map says tensor '%.*s' is in '%.*s', which does "
                                       "not contain it",
                            VUG_STR_ARG(row->tensor), VUG_STR_ARG(row->file));
        if (!vug_str_is(row->file, tensor->file))
            return VUG_FAIL(err, VUG_FORMAT,
                            INDEX_NAME ": weight_map says tensor '%.*s' is in '%.*s', but it is "
                                       "in '%.100s'",
                            (int)(row->tensor.len < 100 ? row->tensor.len : 100), row->tensor.ptr,
                            (int)(row->file.len < 100 ? row->file.len : 100), row->file.ptr,
                            tensor->file);
    }
    return VUG_OK;
}

static vug_status load_indexed(vug_weights *weights, const char *folder, const char *path,
                               vug_err *err)
{
    weight_index index = { .arena = { .budget = MAX_ESCAPED } };
    vug_status st = read_index(path, &index, err);
    if (st == VUG_OK)
        st = load_shards(weights, folder, &index, err);
    if (st == VUG_OK)
        st = vug_weights_seal(weights, err);
    if (st == VUG_OK)
        st = check_index(weights, &index, err);
    release_index(&index);
    return st;
}

/* model.safetensors, otherwise every file that looks like a shard of it. */
static vug_status load_found(vug_weights *weights, const char *folder, vug_err *err)
{
    vug_arena arena = { 0 };
    vug_str *name = NULL;
    size_t n = 0, found = 0;
    vug_status st = vug_list_folder(folder, &arena, &name, &n, err);
    bool single = false;
    for (size_t i = 0; st == VUG_OK && i < n; i++)
        single = single || vug_str_is(name[i], SINGLE_NAME);
    for (size_t i = 0; st == VUG_OK && i < n; i++) {
        const bool part = vug_str_starts(name[i], "model") && vug_str_ends(name[i], ".safetensors");
        if (single ? !vug_str_is(name[i], SINGLE_NAME) : !part)
            continue;
        st = load_shard(weights, folder, name[i], false, err);
        found++;
    }
    vug_arena_release(&arena);
    if (st == VUG_OK && found == 0)
        return VUG_FAIL(err, VUG_IO,
                        "%.300s: no weights found, expected " SINGLE_NAME ", " INDEX_NAME
                        " or model*.safetensors",
                        folder);
    return st == VUG_OK ? vug_weights_seal(weights, err) : st;
}

vug_status vug_weights_open(const char *folder, vug_weights **out, vug_err *err)
{
    if (!vug_is_folder(folder))
        return VUG_FAIL(err, VUG_IO, "%.400s: %s, expected a checkpoint folder", folder,
                        vug_file_exists(folder) ? "not a folder" : "no such folder");
    char *path = vug_path_join(folder, INDEX_NAME);
    if (!path)
        return VUG_FAIL_NOMEM(err, folder, strlen(folder));
    vug_weights *weights = NULL;
    vug_status st = vug_weights_create(folder, &weights, err);
    if (st == VUG_OK)
        st = vug_file_exists(path) ? load_indexed(weights, folder, path, err)
                                   : load_found(weights, folder, err);
    vug_free(path);
    if (st == VUG_OK)
        *out = weights;
    else
        vug_weights_close(weights);
    return st;
}
