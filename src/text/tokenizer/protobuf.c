#include "text/tokenizer/protobuf.h"

static uint64_t read_varint(vug_reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const vug_bytes b = vug_read_span(r, 1);
        if (b.len == 0)
            return 0;
        value |= (uint64_t)(b.ptr[0] & 0x7f) << shift;
        if (!(b.ptr[0] & 0x80))
            return value;
    }
    r->bad = true; /* a varint has at most ten bytes */
    return 0;
}

bool vug_proto_next(vug_proto *m, vug_proto_field *field)
{
    vug_reader *r = &m->r;
    if (m->bad || vug_reader_left(r) == 0)
        return false;
    const uint64_t tag = read_varint(r);
    *field = (vug_proto_field){ .number = (uint32_t)(tag >> 3), .wire = (vug_proto_wire)(tag & 7) };
    switch (field->wire) {
    case VUG_PROTO_VARINT:
        field->value = read_varint(r);
        break;
    case VUG_PROTO_FIXED64:
        field->value = vug_read_u64le(r);
        break;
    case VUG_PROTO_BYTES:
        field->bytes = vug_read_span(r, read_varint(r));
        break;
    case VUG_PROTO_FIXED32:
        field->value = vug_read_u32le(r);
        break;
    default: /* deprecated groups */
        r->bad = true;
    }
    m->bad = r->bad || tag > UINT32_MAX || field->number == 0;
    return !m->bad;
}

vug_bytes vug_proto_bytes(const vug_proto_field *field)
{
    return field->wire == VUG_PROTO_BYTES ? field->bytes : (vug_bytes){ 0 };
}

vug_str vug_proto_string(const vug_proto_field *field)
{
    const vug_bytes b = vug_proto_bytes(field);
    return (vug_str){ (const char *)b.ptr, b.len };
}

float vug_proto_float(const vug_proto_field *field, float fallback)
{
    const uint32_t bits = (uint32_t)field->value;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return field->wire == VUG_PROTO_FIXED32 ? value : fallback;
}

int64_t vug_proto_int(const vug_proto_field *field, int64_t fallback)
{
    return field->wire == VUG_PROTO_VARINT ? (int64_t)field->value : fallback;
}

bool vug_proto_bool(const vug_proto_field *field, bool fallback)
{
    return field->wire == VUG_PROTO_VARINT ? field->value != 0 : fallback;
}
