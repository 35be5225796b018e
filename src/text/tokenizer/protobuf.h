#ifndef VUG_TEXT_TOKENIZER_PROTOBUF_H
#define VUG_TEXT_TOKENIZER_PROTOBUF_H

/*
 * Reads a message in the wire format of protocol buffers, field by field
 * (protobuf.dev/programming-guides/encoding): a field number, then a varint, four or eight
 * bytes, or a length and bytes, which may be a nested message.
 *
 *     vug_proto m = vug_proto_over(bytes);
 *     for (vug_proto_field f; vug_proto_next(&m, &f);)
 *         if (f.number == 1) ...
 *     if (m.bad) ...
 *
 * Errors are sticky: malformed bytes end the loop and set `bad`. Callers skip a field by
 * ignoring it. A getter returns the default if the field has another wire type.
 */

#include "core/bytes.h"

typedef enum {
    VUG_PROTO_VARINT = 0,
    VUG_PROTO_FIXED64 = 1,
    VUG_PROTO_BYTES = 2,
    VUG_PROTO_FIXED32 = 5,
} vug_proto_wire;

typedef struct {
    vug_reader r;
    bool bad;
} vug_proto;

typedef struct {
    uint32_t number;
    vug_proto_wire wire;
    uint64_t value;  /* a varint, or 4 or 8 bytes */
    vug_bytes bytes; /* borrowed */
} vug_proto_field;

static inline vug_proto vug_proto_over(vug_bytes message)
{
    return (vug_proto){ .r = vug_reader_over(message) };
}

/* True with the next field; false at the end of the message or at malformed bytes. */
bool vug_proto_next(vug_proto *m, vug_proto_field *field);

vug_bytes vug_proto_bytes(const vug_proto_field *field);
vug_str vug_proto_string(const vug_proto_field *field);
float vug_proto_float(const vug_proto_field *field, float fallback);
int64_t vug_proto_int(const vug_proto_field *field, int64_t fallback);
bool vug_proto_bool(const vug_proto_field *field, bool fallback);

#endif
