/*
 * Reads safetensors files: checks the header and appends the tensors to the directory.
 *
 *     bytes 0..8      N, the header's length, u64
 *     bytes 8..8+N    a JSON object, padded with spaces
 *     the rest        the buffer that data_offsets count in
 *
 *     {"name": {"dtype": "BF16", "shape": [a,b], "data_offsets": [begin,end]}, ...,
 *      "__metadata__": {"key": "value"}}
 *
 * Format: https://github.com/huggingface/safetensors, "Format". Whatever the reference
 * reader rejects is rejected here: the tensors must cover the buffer exactly, without
 * holes and overlap. Pointers are formed only after the ranges are known to be contiguous
 * from 0 to the end of the buffer, so every range is inside it.
 */
#include "weights/directory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/json.h"

/* Published files have few keys in __metadata__ and short names. These limits keep the memory
 * for a hostile header of 100 MB far below that size. */
enum { PREFIX = 8, WHERE = 320, MAX_METADATA = 65536, MAX_ESCAPED = 1 << 20 };

typedef struct {
    vug_weights *weights;
    const char *name; /* of the file */
    vug_json_reader json;
    vug_arena scratch; /* decoded strings of one tensor or of the metadata */
    char where[WHERE]; /* json.name inside a tensor: "file: tensor 'name'" */
} header_parser;

/* ---- one tensor ---------------------------------------------------------- */

static vug_status fail_dtype(const header_parser *h, vug_str found, vug_err *err)
{
    char known[256] = "";
    size_t at = 0;
    for (int i = 0; vug_dtype_in_safetensors((vug_dtype)i) && at < sizeof(known); i++)
        at += (size_t)snprintf(known + at, sizeof(known) - at, i ? ", %s" : "%s",
                               vug_dtype_of((vug_dtype)i)->name);
    const vug_str shown = { found.ptr, found.len < 40 ? found.len : 40 };
    return VUG_FAIL(err, VUG_FORMAT, "%.160s: unknown dtype '%.*s', expected one of %s", h->where,
                    VUG_STR_ARG(shown), known);
}

static void read_shape(vug_json_reader *j, vug_tensor *tensor)
{
    vug_json_enter_array(j);
    while (vug_json_element(j)) {
        if (tensor->rank == VUG_TENSOR_MAX_RANK) {
            vug_json_fail(j, VUG_LIMIT, "shape has more than %d dimensions", VUG_TENSOR_MAX_RANK);
            return;
        }
        tensor->dim[tensor->rank++] = (int64_t)vug_json_u64(j, INT64_MAX);
    }
}

static void read_offsets(vug_json_reader *j, uint64_t range[2])
{
    size_t n = 0;
    vug_json_enter_array(j);
    while (vug_json_element(j)) {
        /* At most INT64_MAX, so that adding the start of the buffer cannot overflow. */
        const uint64_t offset = vug_json_u64(j, INT64_MAX);
        if (n < 2)
            range[n] = offset;
        n++;
    }
    if (n != 2)
        vug_json_fail(j, VUG_FORMAT, "data_offsets has %zu entries, expected 2", n);
}

static vug_status check_tensor(const header_parser *h, vug_tensor *tensor, const uint64_t range[2],
                               vug_err *err)
{
    const char *dtype = vug_dtype_of(tensor->dtype)->name;
    const vug_dims_text shape = vug_dims_print(tensor->rank, tensor->dim);
    uint64_t need;
    if (!vug_tensor_size(tensor->dtype, tensor->rank, tensor->dim, &need))
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: %s %s is not a whole number of bytes, or does not fit in 64 bits",
                        h->where, dtype, shape.text);
    if (range[0] > range[1])
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: data_offsets [%" PRIu64 ",%" PRIu64 "] end before they begin",
                        h->where, range[0], range[1]);
    if (range[1] - range[0] != need)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: data_offsets [%" PRIu64 ",%" PRIu64 "] are %" PRIu64
                        " bytes, %s %s needs %" PRIu64,
                        h->where, range[0], range[1], range[1] - range[0], dtype, shape.text, need);
    tensor->offset = range[0];
    tensor->bytes = need;
    return VUG_OK;
}

static vug_status read_tensor(header_parser *h, vug_str name, vug_err *err)
{
    enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4, ALL = 7 };
    vug_json_reader *j = &h->json;
    if (name.len > VUG_MAX_TENSOR_NAME)
        return VUG_FAIL(err, VUG_LIMIT,
                        "%s: tensor '%.*s..': a name of %zu bytes, at most %d are read", h->name,
                        40, name.ptr, name.len, VUG_MAX_TENSOR_NAME);
    vug_tensor tensor = { .name = vug_arena_copy(&h->weights->arena, name), .file = h->name };
    vug_str dtype = { 0 }, key;
    uint64_t range[2] = { 0, 0 };
    unsigned seen = 0;
    if (!tensor.name.ptr)
        return VUG_FAIL_NOMEM(err, h->name, name.len);
    (void)snprintf(h->where, sizeof(h->where), "%.100s: tensor '%.*s'", h->name, VUG_STR_ARG(name));
    j->name = h->where;
    vug_json_enter_object(j);
    while (vug_json_key(j, &key)) {
        const unsigned bit = vug_str_is(key, "dtype")          ? DTYPE
                             : vug_str_is(key, "shape")        ? SHAPE
                             : vug_str_is(key, "data_offsets") ? OFFSETS
                                                               : 0;
        if (bit == 0 || (seen & bit) != 0)
            vug_json_fail(j, VUG_FORMAT,
                          bit ? "duplicate key '%.*s'"
                              : "unknown key '%.*s', expected dtype, shape and data_offsets",
                          VUG_STR_ARG(key));
        else if (bit == DTYPE)
            dtype = vug_json_string(j);
        else if (bit == SHAPE)
            read_shape(j, &tensor);
        else
            read_offsets(j, range);
        seen |= bit;
    }
    if (!vug_json_ok(j))
        return vug_json_finish(j, err);
    if (seen != ALL)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: %s is missing, expected dtype, shape and data_offsets", h->where,
                        !(seen & DTYPE)   ? "dtype"
                        : !(seen & SHAPE) ? "shape"
                                          : "data_offsets");
    tensor.dtype = vug_dtype_find(dtype);
    /* vug_dtype_find ignores case; the format has upper case only. */
    if (!vug_dtype_in_safetensors(tensor.dtype) ||
        !vug_str_is(dtype, vug_dtype_of(tensor.dtype)->name))
        return fail_dtype(h, dtype, err);
    VUG_TRY(check_tensor(h, &tensor, range, err));
    j->name = h->name;
    vug_entry *entry;
    VUG_TRY(vug_weights_append(h->weights, &entry, err));
    entry->tensor = tensor;
    return VUG_OK;
}

/* ---- the object ---------------------------------------------------------- */

/* The metadata is checked and not used. MLX writes null when there is none, which the
 * reference reader accepts. */
static vug_status read_metadata(header_parser *h, vug_err *err)
{
    vug_json_reader *j = &h->json;
    if (vug_json_peek(j) == VUG_JSON_NULL) {
        vug_json_skip(j);
        return VUG_OK;
    }
    vug_str *keys = NULL, key;
    size_t n = 0, cap = 0;
    (void)snprintf(h->where, sizeof(h->where), "%.100s: __metadata__", h->name);
    j->name = h->where;
    vug_json_enter_object(j);
    while (vug_json_key(j, &key)) {
        if (vug_json_peek(j) == VUG_JSON_STRING)
            vug_json_skip(j);
        else
            (void)vug_json_string(j); /* fails and says what was found */
        if (n == MAX_METADATA)
            vug_json_fail(j, VUG_LIMIT, "more than %d keys", MAX_METADATA);
        if (!vug_json_ok(j))
            break;
        vug_str *more = vug_grow_array(keys, &cap, n, sizeof(*keys));
        if (!more) {
            vug_free(keys);
            return VUG_FAIL_NOMEM(err, h->where, n * sizeof(*keys));
        }
        keys = more;
        keys[n++] = key;
    }
    vug_status st = VUG_OK;
    const vug_str *twice = vug_sort_names(keys, n, sizeof(*keys));
    if (!vug_json_ok(j))
        st = vug_json_finish(j, err);
    else if (twice)
        st = VUG_FAIL(err, VUG_FORMAT, "%s: key '%.*s' occurs twice", h->where,
                      VUG_STR_ARG(*twice));
    vug_free(keys);
    j->name = h->name;
    return st;
}

static vug_status read_object(header_parser *h, vug_err *err)
{
    vug_json_reader *j = &h->json;
    bool metadata = false;
    vug_str key;
    vug_json_enter_object(j);
    while (vug_json_key(j, &key)) {
        if (!vug_str_is(key, "__metadata__")) {
            VUG_TRY(read_tensor(h, key, err));
        } else if (metadata) {
            return VUG_FAIL(err, VUG_FORMAT, "%s: __metadata__ occurs twice", h->name);
        } else {
            metadata = true;
            VUG_TRY(read_metadata(h, err));
        }
        if (h->scratch.held > MAX_ESCAPED / 2)
            vug_arena_release(&h->scratch);
    }
    if (!vug_json_ok(j))
        return vug_json_finish(j, err);
    for (size_t i = j->pos; i < j->src.len; i++)
        if (j->src.ptr[i] != ' ')
            return VUG_FAIL(err, VUG_FORMAT,
                            "%s: byte 0x%02x at offset %zu, after the JSON of the header; expected "
                            "only spaces there",
                            h->name, (unsigned char)j->src.ptr[i], PREFIX + i);
    return vug_json_finish(j, err);
}

/* ---- the whole file ------------------------------------------------------ */

static int compare_entry_names(const void *a, const void *b)
{
    const vug_entry *x = *(vug_entry *const *)a, *y = *(vug_entry *const *)b;
    return vug_str_compare(x->tensor.name, y->tensor.name);
}

/* Empty tensors come before the tensor that begins at the same offset. */
static int compare_offsets(const void *a, const void *b)
{
    const vug_tensor *x = &(*(vug_entry *const *)a)->tensor;
    const vug_tensor *y = &(*(vug_entry *const *)b)->tensor;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return vug_str_compare(x->name, y->name);
}

static vug_status check_names(const char *name, vug_entry **entry, size_t n, vug_err *err)
{
    qsort(entry, n, sizeof(vug_entry *), compare_entry_names);
    for (size_t i = 1; i < n; i++)
        if (compare_entry_names(&entry[i - 1], &entry[i]) == 0)
            return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%.*s' is listed twice", name,
                            VUG_STR_ARG(entry[i]->tensor.name));
    return VUG_OK;
}

/* Turns offsets in the buffer, which begins at byte `start` of the file, into offsets in the
 * file and pointers. */
static vug_status set_pointers(const char *name, vug_entry **entry, size_t n, vug_bytes file,
                               uint64_t start, vug_err *err)
{
    if (n)
        qsort(entry, n, sizeof(vug_entry *), compare_offsets);
    uint64_t end = 0;
    for (size_t i = 0; i < n; i++) {
        const vug_tensor *tensor = &entry[i]->tensor;
        if (tensor->offset > end)
            return VUG_FAIL(err, VUG_FORMAT,
                            "%s: tensor '%.*s' begins at byte %" PRIu64
                            " of the data, expected %" PRIu64
                            ": the bytes between them belong to no tensor",
                            name, VUG_STR_ARG(tensor->name), tensor->offset, end);
        if (tensor->offset < end)
            return VUG_FAIL(err, VUG_FORMAT,
                            "%s: tensors '%.*s' and '%.*s' overlap: the second begins at byte "
                            "%" PRIu64 " of the data, the first ends at %" PRIu64,
                            name, VUG_STR_ARG(entry[i - 1]->tensor.name), VUG_STR_ARG(tensor->name),
                            tensor->offset, end);
        end += tensor->bytes;
    }
    const uint64_t have = file.len - start;
    if (end > have)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: ends at byte %zu, tensor '%.*s' needs up to byte %" PRIu64
                        ": the file is truncated",
                        name, file.len, VUG_STR_ARG(entry[n - 1]->tensor.name), start + end);
    if (end < have)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: %" PRIu64 " bytes from byte %" PRIu64
                        " on belong to no tensor, expected the file to end there",
                        name, have - end, start + end);
    for (size_t i = 0; i < n; i++) {
        vug_tensor *tensor = &entry[i]->tensor;
        tensor->offset += start;
        tensor->data = file.ptr + tensor->offset;
    }
    return VUG_OK;
}

static vug_status find_header(vug_bytes file, const char *name, vug_str *out, vug_err *err)
{
    VUG_TRY(vug_reject_placeholder(file, name, err));
    vug_reader r = vug_reader_over(file);
    const uint64_t n = vug_read_u64le(&r);
    if (r.bad)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: %zu bytes, a safetensors file begins with 8 bytes for the length "
                        "of its header",
                        name, file.len);
    if (n > vug_reader_left(&r))
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: header length is %" PRIu64
                        " bytes, the file has %zu after its first 8",
                        name, n, vug_reader_left(&r));
    if (n > VUG_MAX_SAFETENSORS_HEADER)
        return VUG_FAIL(err, VUG_LIMIT,
                        "%s: header length is %" PRIu64 " bytes, at most %d are read", name, n,
                        VUG_MAX_SAFETENSORS_HEADER);
    if (n == 0)
        return VUG_FAIL(err, VUG_FORMAT, "%s: header length is 0 bytes, expected at least '{}'",
                        name);
    const vug_bytes span = vug_read_span(&r, n);
    if (span.ptr[0] != '{')
        return VUG_FAIL(err, VUG_FORMAT, "%s: byte 0x%02x at offset 8, expected '{'", name,
                        span.ptr[0]);
    *out = (vug_str){ (const char *)span.ptr, span.len };
    return VUG_OK;
}

vug_status vug_safetensors_read(vug_weights *weights, vug_bytes file, const char *name,
                                vug_err *err)
{
    vug_str text;
    VUG_TRY(find_header(file, name, &text, err));
    header_parser h = { .weights = weights, .name = name, .scratch = { .budget = MAX_ESCAPED } };
    h.json = vug_json_reader_over(text, name, &h.scratch);
    const size_t first = weights->n;
    const vug_status st = read_object(&h, err);
    vug_arena_release(&h.scratch);
    if (st != VUG_OK)
        return st;
    const size_t n = weights->n - first;
    vug_entry **entry = n ? weights->order + first : NULL;
    if (n)
        VUG_TRY(check_names(name, entry, n, err));
    return set_pointers(name, entry, n, file, PREFIX + text.len, err);
}

vug_status vug_safetensors_load(vug_weights *weights, const char *path, vug_err *err)
{
    vug_bytes file;
    const char *name;
    VUG_TRY(vug_weights_map(weights, path, &file, &name, err));
    return vug_safetensors_read(weights, file, name, err);
}

vug_status vug_weights_open_file(const char *path, vug_weights **out, vug_err *err)
{
    vug_weights *weights;
    VUG_TRY(vug_weights_create(vug_path_base(path), &weights, err));
    return vug_weights_finish(weights, vug_safetensors_load(weights, path, err), out, err);
}

vug_status vug_weights_open_memory(vug_bytes file, const char *name, vug_weights **out,
                                   vug_err *err)
{
    vug_weights *weights;
    VUG_TRY(vug_weights_create(vug_path_base(name), &weights, err));
    const vug_status st = vug_safetensors_read(weights, file, weights->name, err);
    return vug_weights_finish(weights, st, out, err);
}
