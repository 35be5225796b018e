/*
 * Writing one safetensors file.
 *
 * The header is padded with spaces to a multiple of 8, as by the reference writer, so that
 * the first tensor is aligned. The tensors follow in the caller's order; callers put wide
 * formats first to align the later ones too.
 */
#include "weights/directory.h"

#include <inttypes.h>

#include "core/json_writer.h"

static vug_status check_names(const char *path, const vug_tensor_stream *s, vug_err *err)
{
    for (size_t i = 0; i < s->n; i++)
        if (vug_str_is(s->tensor[i].name, "__metadata__"))
            return VUG_FAIL(err, VUG_ARGUMENT, "%.200s: tensor %zu: '%.*s' is not a valid name",
                            path, i, VUG_STR_ARG(s->tensor[i].name));
    return vug_stream_check_names(s, path, err);
}

static vug_status write_header(const char *path, const vug_tensor_stream *s, vug_buf *header,
                               vug_err *err)
{
    uint64_t total = 0;
    vug_buf_puts(header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < s->n; i++) {
        const vug_tensor_spec *t = &s->tensor[i];
        uint64_t bytes, end = 0;
        if (t->rank < 0 || t->rank > VUG_TENSOR_MAX_RANK ||
            !vug_tensor_size(t->dtype, t->rank, t->dim, &bytes) ||
            !vug_add_size(total, bytes, &end) || end > INT64_MAX)
            return VUG_FAIL(err, VUG_ARGUMENT, "%.200s: tensor '%.*s' has no valid shape", path,
                            VUG_STR_ARG(t->name));
        vug_buf_puts(header, ",");
        vug_json_append_string(header, t->name.ptr ? t->name.ptr : "", t->name.len);
        vug_buf_printf(
                header,
                ":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
                vug_dtype_of(t->dtype)->name, vug_dims_print(t->rank, t->dim).text, total, end);
        total = end;
    }
    vug_buf_puts(header, "}");
    while (header->len % 8 != 0 && !header->bad)
        vug_buf_puts(header, " ");
    return vug_buf_ok(header, err);
}

vug_status vug_safetensors_write(const char *path, const vug_tensor_stream *tensors, vug_err *err)
{
    vug_buf header = { .max = VUG_MAX_SAFETENSORS_HEADER };
    vug_status st = check_names(path, tensors, err);
    if (st == VUG_OK)
        st = write_header(path, tensors, &header, err);
    if (st == VUG_OK) {
        vug_out out;
        vug_out_open(&out, path);
        uint8_t prefix[8];
        for (int i = 0; i < 8; i++)
            prefix[i] = (uint8_t)((uint64_t)header.len >> 8 * i);
        vug_out_write(&out, prefix, sizeof(prefix));
        vug_out_write(&out, header.ptr, header.len);
        st = vug_stream_write(tensors, 1, &out, err);
    }
    vug_buf_release(&header);
    return st;
}
