/*
 * Reading the tensors of one GGUF file.
 *
 *     bytes 0..24   "GGUF", version u32, number of tensors u64, number of keys u64
 *     keys          see core/gguf_reader.c
 *     tensors       name: length u64, bytes; dimensions u32; as many sizes u64, innermost
 *                   first; format u32; offset in the data u64
 *     data          from the next multiple of the alignment on
 *
 * Format: docs/gguf.md of https://github.com/ggml-org/ggml; the checks and their order are
 * those of ggml/src/gguf.cpp of llama.cpp. Versions 2 and 3 do not differ in what is read here.
 *
 * As in llama.cpp tensors must follow one another in the order of the list, each at the next
 * multiple of the alignment, so that none overlap. Bytes after the last tensor are ignored,
 * because it may or may not be padded.
 */
#include "weights/directory.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/utf8.h"

/* The smallest entry: length, a name of one letter, rank, one dimension, format, offset. */
enum { HEADER = 24, MIN_TENSOR = 8 + 1 + 4 + 8 + 4 + 8 };

typedef struct {
    vug_weights *weights;
    const char *name; /* of the file */
    vug_reader reader;
    uint64_t alignment;
} gguf_input;

/* ---- header ---------------------------------------------------------------- */

static vug_status check_version(const gguf_input *f, uint32_t version, vug_err *err)
{
    if (version == 2 || version == 3)
        return VUG_OK;
    if (version != 0 && (version & 0xffff) == 0)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "%s: version 0x%08" PRIx32 " at byte 4: the file is big-endian, expected "
                        "little-endian",
                        f->name, version);
    return VUG_FAIL(err, VUG_UNSUPPORTED, "%s: GGUF version %" PRIu32 " at byte 4, expected 2 or 3",
                    f->name, version);
}

static vug_status read_header(gguf_input *f, uint64_t *n_tensors, uint64_t *n_keys, vug_err *err)
{
    vug_reader *r = &f->reader;
    VUG_TRY(vug_reject_placeholder(r->src, f->name, err));
    if (r->src.len < HEADER)
        return VUG_FAIL(err, VUG_FORMAT, "%s: %zu bytes, a GGUF file begins with %d", f->name,
                        r->src.len, HEADER);
    const vug_bytes magic = vug_read_span(r, 4);
    if (memcmp(magic.ptr, "GGUF", 4) != 0)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: begins with bytes %02x %02x %02x %02x, expected 'GGUF'", f->name,
                        magic.ptr[0], magic.ptr[1], magic.ptr[2], magic.ptr[3]);
    VUG_TRY(check_version(f, vug_read_u32le(r), err));
    *n_tensors = vug_read_u64le(r);
    *n_keys = vug_read_u64le(r);
    if (*n_tensors > vug_reader_left(r) / MIN_TENSOR)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: %" PRIu64 " tensors do not fit in the %zu bytes from byte %d on",
                        f->name, *n_tensors, vug_reader_left(r), HEADER);
    if (*n_tensors > VUG_GGUF_MAX_TENSORS - f->weights->n)
        return VUG_FAIL(err, VUG_LIMIT,
                        "%s: %" PRIu64
                        " tensors after %zu in other parts, at most %d are read in all",
                        f->name, *n_tensors, f->weights->n, VUG_GGUF_MAX_TENSORS);
    return VUG_OK;
}

vug_status vug_gguf_alignment(const vug_gguf *metadata, uint64_t *out, vug_err *err)
{
    const vug_gguf_value *v = vug_gguf_find(metadata, vug_str_of("general.alignment"));
    *out = VUG_GGUF_ALIGNMENT;
    if (!v)
        return VUG_OK;
    uint64_t n;
    if (v->type != VUG_GGUF_U32 || v->is_array || !vug_gguf_u64(v, 0, &n))
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: key 'general.alignment': %s at byte %" PRIu64 ", expected u32",
                        metadata->file, vug_gguf_describe(v).text, v->offset);
    if (n == 0 || n > VUG_GGUF_MAX_ALIGNMENT || (n & (n - 1)) != 0)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: key 'general.alignment': %" PRIu64 " at byte %" PRIu64
                        ", expected a power of two up to %d",
                        metadata->file, n, v->offset, VUG_GGUF_MAX_ALIGNMENT);
    *out = n;
    return VUG_OK;
}

/* ---- one tensor ------------------------------------------------------------ */

static vug_status fail_short(const gguf_input *f, uint64_t i, vug_err *err)
{
    return VUG_FAIL(err, VUG_FORMAT,
                    "%s: the file ends at byte %zu, inside the description of tensor %" PRIu64,
                    f->name, f->reader.src.len, i);
}

static vug_status read_name(gguf_input *f, uint64_t i, vug_str *out, vug_err *err)
{
    vug_reader *r = &f->reader;
    const size_t at = r->pos;
    const uint64_t n = vug_read_u64le(r);
    if (r->bad)
        return fail_short(f, i, err);
    if (n == 0 || n > VUG_GGUF_MAX_NAME)
        return VUG_FAIL(err, n ? VUG_LIMIT : VUG_FORMAT,
                        "%s: the name of tensor %" PRIu64 " at byte %zu has %" PRIu64
                        " bytes, expected 1 to %d",
                        f->name, i, at, n, VUG_GGUF_MAX_NAME);
    const vug_bytes span = vug_read_span(r, n);
    if (r->bad)
        return fail_short(f, i, err);
    const vug_str name = { (const char *)span.ptr, span.len };
    if (!vug_utf8_valid(name) || memchr(name.ptr, 0, name.len))
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: the name of tensor %" PRIu64
                        " at byte %zu contains NUL or is not UTF-8",
                        f->name, i, at);
    *out = vug_arena_copy(&f->weights->arena, name);
    return out->ptr ? VUG_OK : VUG_FAIL_NOMEM(err, f->name, n);
}

/* Formats of ggml that are not supported, for error messages. The numbers are those of
 * ggml_type in ggml/include/ggml.h of llama.cpp. */
static const struct {
    uint32_t number;
    const char *name;
} unsupported[] = {
    { 4, "Q4_2, which was removed from the format" },
    { 5, "Q4_3, which was removed from the format" },
    { 9, "Q8_1" },
    { 15, "Q8_K" },
    { 16, "IQ2_XXS" },
    { 17, "IQ2_XS" },
    { 18, "IQ3_XXS" },
    { 19, "IQ1_S" },
    { 21, "IQ3_S" },
    { 22, "IQ2_S" },
    { 29, "IQ1_M" },
    { 31, "Q4_0_4_4, which was removed from the format" },
    { 32, "Q4_0_4_8, which was removed from the format" },
    { 33, "Q4_0_8_8, which was removed from the format" },
    { 34, "TQ1_0" },
    { 35, "TQ2_0" },
    { 36, "IQ4_NL_4_4, which was removed from the format" },
    { 37, "IQ4_NL_4_8, which was removed from the format" },
    { 38, "IQ4_NL_8_8, which was removed from the format" },
    { 40, "NVFP4" },
    { 41, "Q1_0" },
    { 42, "Q2_0" },
};

static vug_status fail_format(const gguf_input *f, vug_str name, uint32_t number, size_t at,
                              vug_err *err)
{
    const char *known = NULL;
    for (size_t i = 0; i < sizeof(unsupported) / sizeof(unsupported[0]); i++)
        if (unsupported[i].number == number)
            known = unsupported[i].name;
    if (known)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "%s: tensor '%.*s': format %" PRIu32
                        " at byte %zu is %s, which is not supported",
                        f->name, VUG_STR_ARG(name), number, at, known);
    return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%.*s': unknown format %" PRIu32 " at byte %zu",
                    f->name, VUG_STR_ARG(name), number, at);
}

/* The file lists the innermost dimension first, vug_tensor the outermost. */
static vug_status read_shape(gguf_input *f, vug_tensor *t, vug_err *err)
{
    vug_reader *r = &f->reader;
    const size_t at = r->pos;
    const uint32_t rank = vug_read_u32le(r);
    if (!r->bad && (rank == 0 || rank > VUG_GGUF_MAX_RANK))
        return VUG_FAIL(err, rank ? VUG_LIMIT : VUG_FORMAT,
                        "%s: tensor '%.*s': %" PRIu32 " dimensions at byte %zu, expected 1 to %d",
                        f->name, VUG_STR_ARG(t->name), rank, at, VUG_GGUF_MAX_RANK);
    t->rank = (int)rank;
    for (int i = t->rank - 1; i >= 0 && !r->bad; i--) {
        const size_t where = r->pos;
        const uint64_t n = vug_read_u64le(r);
        if (!r->bad && (n == 0 || n > INT64_MAX))
            return VUG_FAIL(err, VUG_FORMAT,
                            "%s: tensor '%.*s': a dimension of %" PRIu64
                            " at byte %zu, expected 1 to %" PRId64,
                            f->name, VUG_STR_ARG(t->name), n, where, INT64_MAX);
        t->dim[i] = (int64_t)n;
    }
    return VUG_OK;
}

static vug_status read_format(gguf_input *f, vug_tensor *t, vug_err *err)
{
    vug_reader *r = &f->reader;
    const size_t at = r->pos;
    const uint32_t number = vug_read_u32le(r);
    if (r->bad)
        return VUG_OK; /* the caller reports the end of the file */
    t->dtype = vug_dtype_of_gguf(number);
    if (t->dtype == VUG_DTYPE_COUNT)
        return fail_format(f, t->name, number, at, err);
    const vug_dtype_info *info = vug_dtype_of(t->dtype);
    if (t->dim[t->rank - 1] % info->elements != 0)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%.*s': rows of %" PRId64
                        " elements, %s needs a multiple of %d (byte %zu)",
                        f->name, VUG_STR_ARG(t->name), t->dim[t->rank - 1], info->name,
                        info->elements, at);
    if (!vug_tensor_size(t->dtype, t->rank, t->dim, &t->bytes) || t->bytes > INT64_MAX)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%.*s': the size of %s %s does not fit in 63 bits (byte %zu)",
                        f->name, VUG_STR_ARG(t->name), info->name,
                        vug_dims_print(t->rank, t->dim).text, at);
    return VUG_OK;
}

/* `end`: the padded end of the data of the tensors before this one; it advances. */
static vug_status read_tensor(gguf_input *f, uint64_t i, uint64_t *end, vug_err *err)
{
    vug_tensor t = { .file = f->name };
    VUG_TRY(read_name(f, i, &t.name, err));
    VUG_TRY(read_shape(f, &t, err));
    VUG_TRY(read_format(f, &t, err));
    const size_t at = f->reader.pos;
    t.offset = vug_read_u64le(&f->reader);
    if (f->reader.bad)
        return fail_short(f, i, err);
    if (t.offset != *end)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%.*s': offset %" PRIu64 " at byte %zu, expected %" PRIu64
                        ": tensors must follow one another, aligned to %" PRIu64,
                        f->name, VUG_STR_ARG(t.name), t.offset, at, *end, f->alignment);
    uint64_t next;
    if (!vug_add_size(t.offset, t.bytes, &next) || !vug_add_size(next, f->alignment - 1, &next) ||
        next > INT64_MAX)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: tensor '%.*s': %" PRIu64 " bytes from %" PRIu64
                        " of the data on, which does not fit in 63 bits",
                        f->name, VUG_STR_ARG(t.name), t.bytes, t.offset);
    *end = next & ~(f->alignment - 1);
    vug_entry *entry;
    VUG_TRY(vug_weights_append(f->weights, &entry, err));
    entry->tensor = t;
    return VUG_OK;
}

/* ---- the whole file -------------------------------------------------------- */

/* Turns offsets in the data into offsets in the file and pointers. */
static vug_status set_pointers(const gguf_input *f, size_t first, vug_err *err)
{
    const vug_weights *weights = f->weights;
    const size_t len = f->reader.src.len;
    /* Cannot overflow: the alignment is small and the position is a size in memory. */
    const uint64_t start = (f->reader.pos + f->alignment - 1) & ~(f->alignment - 1);
    for (size_t i = first; i < weights->n; i++) {
        vug_tensor *t = &weights->order[i]->tensor;
        if (start > len || t->offset > len - start || t->bytes > len - start - t->offset)
            return VUG_FAIL(err, VUG_FORMAT,
                            "%s: ends at byte %zu, tensor '%.*s' needs up to byte %" PRIu64
                            ": the file is truncated",
                            f->name, len, VUG_STR_ARG(t->name), start + t->offset + t->bytes);
        t->offset += start;
        t->data = f->reader.src.ptr + t->offset;
    }
    return VUG_OK;
}

vug_status vug_gguf_read_file(vug_weights *weights, vug_bytes file, const char *name,
                              vug_gguf *metadata, vug_err *err)
{
    gguf_input f = { .weights = weights, .name = name, .reader = vug_reader_over(file) };
    uint64_t n_tensors, n_keys, end = 0;
    VUG_TRY(read_header(&f, &n_tensors, &n_keys, err));
    vug_gguf read = { 0 };
    VUG_TRY(vug_gguf_read(&f.reader, n_keys, name, &read, err));
    const size_t first = weights->n;
    vug_status st = vug_gguf_alignment(&read, &f.alignment, err);
    for (uint64_t i = 0; st == VUG_OK && i < n_tensors; i++)
        st = read_tensor(&f, i, &end, err);
    if (st == VUG_OK)
        st = set_pointers(&f, first, err);
    if (st == VUG_OK)
        *metadata = read;
    else
        vug_gguf_release(&read);
    return st;
}

vug_status vug_weights_open_gguf_memory(vug_bytes file, const char *name, vug_weights **out,
                                        vug_err *err)
{
    vug_weights *weights;
    VUG_TRY(vug_weights_create(vug_path_base(name), &weights, err));
    const vug_status st = vug_gguf_read_file(weights, file, weights->name, &weights->gguf, err);
    return vug_weights_finish(weights, st, out, err);
}
