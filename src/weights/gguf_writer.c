/*
 * Writing one GGUF file, version 3. gguf_tensors.c describes the layout.
 *
 * Anything that would make an unreadable file is rejected before the first byte is written.
 * For that the metadata is parsed as if it came from a file.
 */
#include "weights/directory.h"

#include <inttypes.h>

/* llama.cpp keeps names in 64 bytes with a NUL. */
enum { MAX_WRITTEN_NAME = 63, VERSION = 3, HEADER = 24 };

typedef struct {
    const char *path;
    const vug_gguf_builder *metadata;
    const vug_tensor_stream *tensors;
    uint64_t alignment;
    vug_buf head; /* header, tensor list and padding, without the metadata between them */
} gguf_file_writer;

static vug_status check_metadata(gguf_file_writer *o, vug_err *err)
{
    const vug_buf *bytes = &o->metadata->bytes;
    VUG_TRY(vug_buf_ok(bytes, err));
    vug_reader r = vug_reader_over((vug_bytes){ (const uint8_t *)bytes->ptr, bytes->len });
    vug_gguf gguf;
    VUG_TRY(vug_gguf_read(&r, o->metadata->n, o->path, &gguf, err));
    vug_status st = vug_gguf_alignment(&gguf, &o->alignment, err);
    if (st == VUG_OK && vug_reader_left(&r) != 0)
        st = VUG_FAIL(err, VUG_ARGUMENT, "%.200s: %zu bytes of metadata do not belong to a key",
                      o->path, vug_reader_left(&r));
    vug_gguf_release(&gguf);
    return st;
}

/* Appends the description of a tensor whose data begins at `*end`, and advances `*end`. */
static vug_status append_tensor(gguf_file_writer *o, const vug_tensor_spec *t, uint64_t *end,
                                vug_err *err)
{
    const vug_dtype_info *info = vug_dtype_of(t->dtype);
    if (t->name.len == 0 || t->name.len > MAX_WRITTEN_NAME || memchr(t->name.ptr, 0, t->name.len))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%.200s: '%.*s' cannot be the name of a tensor in GGUF, expected 1 to %d "
                        "bytes without a NUL",
                        o->path, VUG_STR_ARG(t->name), MAX_WRITTEN_NAME);
    if (info->gguf == VUG_NO_GGUF)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "%.200s: tensor '%.*s': GGUF does not have the format %s", o->path,
                        VUG_STR_ARG(t->name), info->name);
    bool valid = t->rank >= 1 && t->rank <= VUG_GGUF_MAX_RANK;
    for (int i = 0; valid && i < t->rank; i++)
        valid = t->dim[i] > 0;
    uint64_t bytes = 0, next = 0;
    if (!valid || t->dim[t->rank - 1] % info->elements != 0 ||
        !vug_tensor_size(t->dtype, t->rank, t->dim, &bytes) || bytes > INT64_MAX - *end ||
        !vug_add_size(*end + bytes, o->alignment - 1, &next) || next > INT64_MAX)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%.200s: tensor '%.*s': GGUF cannot hold the shape %s %s, expected 1 to %d "
                        "dimensions, none 0, and rows of whole blocks of %d",
                        o->path, VUG_STR_ARG(t->name), info->name,
                        t->rank < 0 || t->rank > VUG_TENSOR_MAX_RANK
                                ? "[..]"
                                : vug_dims_print(t->rank, t->dim).text,
                        VUG_GGUF_MAX_RANK, info->elements);
    vug_buf_append_le(&o->head, t->name.len, 8);
    vug_buf_append(&o->head, t->name.ptr, t->name.len);
    vug_buf_append_le(&o->head, (uint64_t)t->rank, 4);
    for (int i = t->rank - 1; i >= 0; i--)
        vug_buf_append_le(&o->head, (uint64_t)t->dim[i], 8);
    vug_buf_append_le(&o->head, (uint64_t)info->gguf, 4);
    vug_buf_append_le(&o->head, *end, 8);
    *end = next & ~(o->alignment - 1);
    return VUG_OK;
}

static vug_status make_head(gguf_file_writer *o, vug_err *err)
{
    VUG_TRY(check_metadata(o, err));
    VUG_TRY(vug_stream_check_names(o->tensors, o->path, err));
    if (o->tensors->n > VUG_GGUF_MAX_TENSORS)
        return VUG_FAIL(err, VUG_LIMIT, "%.200s: %zu tensors, at most %d are read from one file",
                        o->path, o->tensors->n, VUG_GGUF_MAX_TENSORS);
    vug_buf_puts(&o->head, "GGUF");
    vug_buf_append_le(&o->head, VERSION, 4);
    vug_buf_append_le(&o->head, o->tensors->n, 8);
    vug_buf_append_le(&o->head, o->metadata->n, 8);
    uint64_t end = 0;
    for (size_t i = 0; i < o->tensors->n; i++)
        VUG_TRY(append_tensor(o, &o->tensors->tensor[i], &end, err));
    while (((o->head.len + o->metadata->bytes.len) & (o->alignment - 1)) != 0 && !o->head.bad)
        vug_buf_append_le(&o->head, 0, 1);
    return vug_buf_ok(&o->head, err);
}

vug_status vug_gguf_write(const char *path, const vug_gguf_builder *metadata,
                          const vug_tensor_stream *tensors, vug_err *err)
{
    gguf_file_writer o = { .path = path, .metadata = metadata, .tensors = tensors };
    vug_status st = make_head(&o, err);
    if (st == VUG_OK) {
        vug_out out;
        vug_out_open(&out, path);
        vug_out_write(&out, o.head.ptr, HEADER);
        vug_out_write(&out, metadata->bytes.ptr, metadata->bytes.len);
        vug_out_write(&out, o.head.ptr + HEADER, o.head.len - HEADER);
        st = vug_stream_write(tensors, o.alignment, &out, err);
    }
    vug_buf_release(&o.head);
    return st;
}
