/*
 * Writing one GGUF file, of version 3. The layout is described in gguf.c.
 *
 * What would make a file that no reader takes is refused before the first byte is
 * written; the metadata is read back for that as if it came from a file.
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
    vug_buf head; /* header, descriptions and padding, without the metadata between */
} plan;

static void put(vug_buf *buf, uint64_t value, size_t bytes)
{
    uint8_t out[8];
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> 8 * i);
    vug_buf_append(buf, out, bytes);
}

static vug_status check_metadata(plan *p, vug_err *err)
{
    const vug_buf *bytes = &p->metadata->bytes;
    VUG_TRY(vug_buf_ok(bytes, err));
    vug_reader r = vug_reader_over((vug_bytes){ (const uint8_t *)bytes->ptr, bytes->len });
    vug_gguf gguf;
    VUG_TRY(vug_gguf_read(&r, p->metadata->n, p->path, &gguf, err));
    vug_status st = vug_gguf_alignment(&gguf, &p->alignment, err);
    if (st == VUG_OK && vug_reader_left(&r) != 0)
        st = VUG_FAIL(err, VUG_ARGUMENT, "%.200s: %zu bytes of metadata belong to no key", p->path,
                      vug_reader_left(&r));
    vug_gguf_release(&gguf);
    return st;
}

/* Its description, for data that begins at `*end`, which moves on to that of the next. */
static vug_status describe(plan *p, const vug_tensor_spec *t, uint64_t *end, vug_err *err)
{
    const vug_dtype_info *info = vug_dtype_of(t->dtype);
    if (t->name.len == 0 || t->name.len > MAX_WRITTEN_NAME || memchr(t->name.ptr, 0, t->name.len))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%.200s: '%.*s' cannot be the name of a tensor in GGUF, expected 1 to %d "
                        "bytes without a NUL",
                        p->path, VUG_STR_ARG(t->name), MAX_WRITTEN_NAME);
    if (info->gguf == VUG_NO_GGUF)
        return VUG_FAIL(err, VUG_UNSUPPORTED, "%.200s: tensor '%.*s': GGUF has no format %s",
                        p->path, VUG_STR_ARG(t->name), info->name);
    bool valid = t->rank >= 1 && t->rank <= VUG_GGUF_MAX_RANK;
    for (int i = 0; valid && i < t->rank; i++)
        valid = t->dim[i] > 0;
    uint64_t bytes = 0, next = 0;
    if (!valid || t->dim[t->rank - 1] % info->elements != 0 ||
        !vug_tensor_size(t->dtype, t->rank, t->dim, &bytes) || bytes > INT64_MAX - *end ||
        !vug_add_size(*end + bytes, p->alignment - 1, &next) || next > INT64_MAX)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%.200s: tensor '%.*s': GGUF has no shape for %s %s, expected 1 to %d "
                        "dimensions, none 0, and rows of whole blocks of %d",
                        p->path, VUG_STR_ARG(t->name), info->name,
                        t->rank < 0 || t->rank > VUG_TENSOR_MAX_RANK
                                ? "[..]"
                                : vug_shape_print(t->rank, t->dim).text,
                        VUG_GGUF_MAX_RANK, info->elements);
    put(&p->head, t->name.len, 8);
    vug_buf_append(&p->head, t->name.ptr, t->name.len);
    put(&p->head, (uint64_t)t->rank, 4);
    for (int i = t->rank - 1; i >= 0; i--)
        put(&p->head, (uint64_t)t->dim[i], 8);
    put(&p->head, (uint64_t)info->gguf, 4);
    put(&p->head, *end, 8);
    *end = next & ~(p->alignment - 1);
    return VUG_OK;
}

static vug_status make_plan(plan *p, vug_err *err)
{
    VUG_TRY(check_metadata(p, err));
    VUG_TRY(vug_stream_check_names(p->tensors, p->path, err));
    if (p->tensors->n > VUG_GGUF_MAX_TENSORS)
        return VUG_FAIL(err, VUG_LIMIT, "%.200s: %zu tensors, at most %d are read from one file",
                        p->path, p->tensors->n, VUG_GGUF_MAX_TENSORS);
    vug_buf_puts(&p->head, "GGUF");
    put(&p->head, VERSION, 4);
    put(&p->head, p->tensors->n, 8);
    put(&p->head, p->metadata->n, 8);
    uint64_t end = 0;
    for (size_t i = 0; i < p->tensors->n; i++)
        VUG_TRY(describe(p, &p->tensors->tensor[i], &end, err));
    while (((p->head.len + p->metadata->bytes.len) & (p->alignment - 1)) != 0 && !p->head.bad)
        put(&p->head, 0, 1);
    return vug_buf_ok(&p->head, err);
}

vug_status vug_gguf_write(const char *path, const vug_gguf_builder *metadata,
                          const vug_tensor_stream *tensors, vug_err *err)
{
    plan p = { .path = path, .metadata = metadata, .tensors = tensors };
    vug_status st = make_plan(&p, err);
    if (st == VUG_OK) {
        vug_out out;
        vug_out_open(&out, path);
        vug_out_write(&out, p.head.ptr, HEADER);
        vug_out_write(&out, metadata->bytes.ptr, metadata->bytes.len);
        vug_out_write(&out, p.head.ptr + HEADER, p.head.len - HEADER);
        st = vug_stream_write(tensors, p.alignment, &out, err);
    }
    vug_buf_release(&p.head);
    return st;
}
