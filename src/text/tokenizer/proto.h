#ifndef VUG_TEXT_TOKENIZER_PROTO_H
#define VUG_TEXT_TOKENIZER_PROTO_H

/*
 * A message in the wire format of protocol buffers, field by field
 * (protobuf.dev/programming-guides/encoding): a number that says which, then a varint, four
 * or eight bytes, or a length and bytes, which may be a message again.
 *
 *     vug_proto m = vug_proto_over(bytes);
 *     for (vug_proto_field f; vug_proto_next(&m, &f);)
 *         if (f.number == 1) ...
 *     if (m.bad) ...
 *
 * Sticky, as readers are: what is wrong ends the loop and sets `bad`. Fields that nobody
 * asks for are passed over by not asking. The getters give the default where a field has
 * another wire type than wanted, as if it were unknown.
 */

#include "core/bytes.h"

typedef enum {
    VUG_WIRE_VARINT = 0,
    VUG_WIRE_FIXED64 = 1,
    VUG_WIRE_BYTES = 2,
    VUG_WIRE_FIXED32 = 5,
} vug_wire;

typedef struct {
    vug_reader r;
    bool bad;
} vug_proto;

typedef struct {
    uint32_t number;
    vug_wire wire;
    uint64_t value;  /* of a varint, or of 4 or 8 bytes */
    vug_bytes bytes; /* borrowed */
} vug_proto_field;

static inline vug_proto vug_proto_over(vug_bytes message)
{
    return (vug_proto){ .r = vug_reader_over(message) };
}

/* True with the next field; false at the end, and where the bytes are no message. */
bool vug_proto_next(vug_proto *m, vug_proto_field *field);

vug_bytes vug_proto_bytes(const vug_proto_field *field);
vug_str vug_proto_string(const vug_proto_field *field);
float vug_proto_float(const vug_proto_field *field, float otherwise);
int64_t vug_proto_int(const vug_proto_field *field, int64_t otherwise);
bool vug_proto_bool(const vug_proto_field *field, bool otherwise);

#endif
