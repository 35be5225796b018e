/*
 * The tensor directory: entries in file order, and the same entries sorted by name.
 *
 * Names come from untrusted files, so lookup is a binary search: unlike a hash table it
 * has no slow case that a file can cause.
 */
#include "weights/directory.h"

#include <stdio.h>
#include <stdlib.h>

static int compare_rows(const void *a, const void *b)
{
    const vug_str *x = a, *y = b;
    return vug_str_compare(*x, *y);
}

const vug_str *vug_sort_names(void *row, size_t n, size_t size)
{
    if (n < 2)
        return NULL;
    qsort(row, n, size, compare_rows);
    for (size_t i = 1; i < n; i++) {
        const char *at = (const char *)row + i * size;
        if (compare_rows(at - size, at) == 0)
            return (const vug_str *)(const void *)at;
    }
    return NULL;
}

bool vug_tensor_size(vug_dtype dtype, int rank, const int64_t *dim, uint64_t *bytes)
{
    uint64_t n = 1;
    for (int i = 0; i < rank; i++)
        if (dim[i] < 0 || !vug_mul_size(n, (uint64_t)dim[i], &n))
            return false;
    return vug_dtype_size(dtype, n, bytes);
}

vug_dims_text vug_dims_print(int rank, const int64_t *dim)
{
    vug_dims_text out = { "[" };
    size_t at = 1;
    for (int i = 0; i < rank && at < sizeof(out.text); i++)
        at += (size_t)snprintf(out.text + at, sizeof(out.text) - at, i ? ",%lld" : "%lld",
                               (long long)dim[i]);
    if (at < sizeof(out.text))
        (void)snprintf(out.text + at, sizeof(out.text) - at, "]");
    return out;
}

/* ---- entries ------------------------------------------------------------- */

vug_status vug_weights_append(vug_weights *weights, vug_entry **out, vug_err *err)
{
    if (weights->n == VUG_MAX_TENSORS)
        return VUG_FAIL(err, VUG_LIMIT, "%s: more than %d tensors", weights->name, VUG_MAX_TENSORS);
    if (weights->arena.held > VUG_MAX_DIRECTORY)
        return VUG_FAIL(err, VUG_LIMIT,
                        "%s: the names and shapes of the tensors take more than %d MB",
                        weights->name, VUG_MAX_DIRECTORY >> 20);
    size_t cap = weights->cap;
    vug_entry **order = vug_grow_array(weights->order, &cap, weights->n, sizeof(vug_entry *));
    if (order)
        weights->order = order;
    /* by_name has the capacity of order, so that it never has to grow alone. */
    vug_entry **by_name = weights->by_name;
    if (order && cap != weights->cap)
        by_name = vug_realloc(weights->by_name, cap, sizeof(vug_entry *));
    vug_entry *entry = NULL;
    if (order && by_name) {
        weights->by_name = by_name;
        weights->cap = cap;
        entry = vug_arena_alloc(&weights->arena, 1, sizeof(*entry));
    }
    if (!entry)
        return VUG_FAIL_NOMEM(err, weights->name, sizeof(*entry) + 2 * cap * sizeof(vug_entry *));
    weights->order[weights->n++] = entry;
    *out = entry;
    return VUG_OK;
}

static int by_entry_name(const void *a, const void *b)
{
    const vug_entry *x = *(vug_entry *const *)a, *y = *(vug_entry *const *)b;
    const int order = vug_str_compare(x->tensor.name, y->tensor.name);
    return order ? order : strcmp(x->tensor.file, y->tensor.file);
}

vug_status vug_weights_seal(vug_weights *weights, vug_err *err)
{
    const size_t n = weights->n;
    if (n == 0)
        return VUG_OK;
    memcpy(weights->by_name, weights->order, n * sizeof(vug_entry *));
    qsort(weights->by_name, n, sizeof(vug_entry *), by_entry_name);
    for (size_t i = 1; i < n; i++) {
        const vug_tensor *a = &weights->by_name[i - 1]->tensor, *b = &weights->by_name[i]->tensor;
        if (!vug_str_equal(a->name, b->name))
            continue;
        if (strcmp(a->file, b->file) == 0)
            return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%.*s' is listed twice", a->file,
                            VUG_STR_ARG(a->name));
        return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%.*s' is in %s and in %s, expected once",
                        weights->name, VUG_STR_ARG(a->name), a->file, b->file);
    }
    return VUG_OK;
}

/* The first position in by_name[0..n) whose name is not below `name`. */
static size_t lower_bound(const vug_weights *weights, size_t n, vug_str name)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (vug_str_compare(weights->by_name[mid]->tensor.name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

vug_entry *vug_weights_entry(const vug_weights *weights, vug_str name)
{
    const size_t i = lower_bound(weights, weights->n, name);
    if (i == weights->n || !vug_str_equal(weights->by_name[i]->tensor.name, name))
        return NULL;
    return weights->by_name[i];
}

const vug_tensor *vug_weights_find(const vug_weights *weights, vug_str name)
{
    const vug_entry *entry = vug_weights_entry(weights, name);
    return entry ? &entry->tensor : NULL;
}

static size_t remove_folded(vug_entry **entry, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!entry[i]->folded)
            entry[kept++] = entry[i];
    }
    return kept;
}

void vug_weights_drop_folded(vug_weights *weights)
{
    for (size_t i = 0; i < weights->n; i++) {
        vug_entry *entry = weights->order[i];
        if (!entry->folded)
            continue;
        entry->next = weights->folded;
        weights->folded = entry;
    }
    (void)remove_folded(weights->by_name, weights->n);
    weights->n = remove_folded(weights->order, weights->n);
}

size_t vug_weights_count(const vug_weights *weights)
{
    return weights->n;
}

const vug_tensor *vug_weights_at(const vug_weights *weights, size_t i)
{
    return &weights->order[i]->tensor;
}

const vug_gguf *vug_weights_gguf(const vug_weights *weights)
{
    return weights->gguf.file ? &weights->gguf : NULL;
}

uint64_t vug_weights_mapped(const vug_weights *weights)
{
    return weights->mapped;
}

static void release_entry(vug_entry *entry)
{
    vug_free(entry->owned);
    vug_free(entry->scales);
}

/* ---- lifetime ------------------------------------------------------------ */

vug_status vug_weights_create(const char *name, vug_weights **out, vug_err *err)
{
    vug_weights *weights = vug_alloc_zero(1, sizeof(*weights));
    if (weights)
        weights->name = vug_arena_copy(&weights->arena, vug_str_of(name)).ptr;
    if (!weights || !weights->name) {
        vug_weights_close(weights);
        return VUG_FAIL_NOMEM(err, name, sizeof(*weights));
    }
    *out = weights;
    return VUG_OK;
}

void vug_weights_close(vug_weights *weights)
{
    if (!weights)
        return;
    for (size_t i = 0; i < weights->n; i++)
        release_entry(weights->order[i]);
    for (vug_entry *entry = weights->folded; entry; entry = entry->next)
        release_entry(entry);
    for (size_t i = 0; i < weights->n_files; i++)
        vug_unmap(&weights->file[i]);
    vug_free(weights->order);
    vug_free(weights->by_name);
    vug_free(weights->file);
    vug_gguf_release(&weights->gguf);
    vug_arena_release(&weights->arena);
    vug_free(weights);
}

vug_status vug_weights_map(vug_weights *weights, const char *path, vug_bytes *file,
                           const char **name, vug_err *err)
{
    if (weights->n_files == VUG_MAX_WEIGHT_FILES)
        return VUG_FAIL(err, VUG_LIMIT, "%s: more than %d files of weights", weights->name,
                        VUG_MAX_WEIGHT_FILES);
    vug_mapping *row =
            vug_grow_array(weights->file, &weights->cap_files, weights->n_files, sizeof(*row));
    if (!row)
        return VUG_FAIL_NOMEM(err, weights->name, sizeof(*row));
    weights->file = row;
    const vug_str base = vug_arena_copy(&weights->arena, vug_str_of(vug_path_base(path)));
    if (!base.ptr)
        return VUG_FAIL_NOMEM(err, path, strlen(path));
    vug_mapping mapping;
    VUG_TRY(vug_map_file(path, &mapping, err));
    weights->file[weights->n_files++] = mapping;
    weights->mapped += mapping.bytes.len;
    *file = mapping.bytes;
    *name = base.ptr;
    return VUG_OK;
}

vug_status vug_weights_finish(vug_weights *weights, vug_status st, vug_weights **out, vug_err *err)
{
    if (st == VUG_OK)
        st = vug_weights_seal(weights, err);
    if (st == VUG_OK)
        *out = weights;
    else
        vug_weights_close(weights);
    return st;
}

vug_status vug_weights_add(vug_weights *weights, vug_str name, vug_dtype dtype, int rank,
                           const int64_t *dim, uint8_t **data, vug_err *err)
{
    uint64_t bytes;
    if (rank < 0 || rank > VUG_TENSOR_MAX_RANK)
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: tensor '%.*s' has rank %d, expected 0 to %d",
                        weights->name, VUG_STR_ARG(name), rank, VUG_TENSOR_MAX_RANK);
    if (!vug_tensor_size(dtype, rank, dim, &bytes) || bytes > SIZE_MAX)
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: tensor '%.*s': %s %s is not a valid tensor size",
                        weights->name, VUG_STR_ARG(name), vug_dtype_of(dtype)->name,
                        vug_dims_print(rank, dim).text);
    if (vug_weights_find(weights, name))
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: tensor '%.*s' already exists", weights->name,
                        VUG_STR_ARG(name));
    void *memory = vug_alloc_aligned((size_t)bytes);
    const vug_str copy = vug_arena_copy(&weights->arena, name);
    if (!memory || !copy.ptr) {
        vug_free(memory);
        return VUG_FAIL_NOMEM(err, weights->name, bytes);
    }
    vug_entry *entry;
    const vug_status st = vug_weights_append(weights, &entry, err);
    if (st != VUG_OK) {
        vug_free(memory);
        return st;
    }
    *entry = (vug_entry){ .tensor = { .name = copy,
                                      .dtype = dtype,
                                      .rank = rank,
                                      .data = memory,
                                      .bytes = bytes,
                                      .file = weights->name,
                                      .offset = weights->added },
                          .owned = memory };
    for (int i = 0; i < rank; i++)
        entry->tensor.dim[i] = dim[i];
    weights->added += bytes;
    const size_t at = lower_bound(weights, weights->n - 1, copy);
    memmove(weights->by_name + at + 1, weights->by_name + at,
            (weights->n - 1 - at) * sizeof(vug_entry *));
    weights->by_name[at] = entry;
    *data = memory;
    return VUG_OK;
}

/* Sizes cannot overflow: there are fewer scales than weights. */
vug_status vug_weights_add_scales(vug_weights *weights, vug_str name, const vug_scales *how,
                                  uint8_t **scale, uint8_t **bias, vug_err *err)
{
    vug_entry *entry = vug_weights_entry(weights, name);
    if (!entry || !entry->owned || entry->scales || entry->tensor.rank < 2 ||
        entry->tensor.bytes == 0)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s: tensor '%.*s' cannot be given scales: expected an added matrix "
                        "without scales",
                        weights->name, VUG_STR_ARG(name));
    vug_tensor *t = &entry->tensor;
    const uint64_t bytes = (uint64_t)vug_scale_count(how, t->rank, t->dim) *
                           (uint64_t)vug_dtype_of(how->dtype)->bytes;
    const uint64_t total = bias ? 2 * bytes : bytes;
    entry->scales = vug_alloc_aligned((size_t)total);
    if (!entry->scales)
        return VUG_FAIL_NOMEM(err, weights->name, total);
    *scale = entry->scales;
    if (bias)
        *bias = *scale + bytes;
    t->scales = *how;
    t->scales.scale = *scale;
    t->scales.bias = bias ? *bias : NULL;
    t->scales.stride = (t->dim[t->rank - 1] + how->columns - 1) / how->columns;
    t->scale_bytes = total;
    return VUG_OK;
}
