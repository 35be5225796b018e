/*
 * Building the metadata of a GGUF file; gguf_reader.c describes the format. Nothing is checked
 * here: vug_gguf_write parses the result as it would parse a file.
 */
#include "core/gguf.h"

static void append_bytes(vug_gguf_builder *b, const void *bytes, size_t n)
{
    if (n)
        vug_buf_append(&b->bytes, bytes, n);
}

void vug_gguf_put_element(vug_gguf_builder *b, vug_str value)
{
    vug_buf_append_le(&b->bytes, value.len, 8);
    append_bytes(b, value.ptr, value.len);
}

static void append_key(vug_gguf_builder *b, vug_str key)
{
    b->bytes.max = VUG_GGUF_MAX_METADATA;
    b->n++;
    vug_gguf_put_element(b, key);
}

static void append_scalar(vug_gguf_builder *b, const char *key, vug_gguf_type type, uint64_t value,
                          size_t bytes)
{
    append_key(b, vug_str_of(key));
    vug_buf_append_le(&b->bytes, type, 4);
    vug_buf_append_le(&b->bytes, value, bytes);
}

static void begin_array(vug_gguf_builder *b, vug_str key, vug_gguf_type type, uint64_t n)
{
    append_key(b, key);
    vug_buf_append_le(&b->bytes, VUG_GGUF_ARRAY, 4);
    vug_buf_append_le(&b->bytes, type, 4);
    vug_buf_append_le(&b->bytes, n, 8);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

void vug_gguf_put_u32(vug_gguf_builder *b, const char *key, uint32_t value)
{
    append_scalar(b, key, VUG_GGUF_U32, value, 4);
}

void vug_gguf_put_u64(vug_gguf_builder *b, const char *key, uint64_t value)
{
    append_scalar(b, key, VUG_GGUF_U64, value, 8);
}

void vug_gguf_put_i32(vug_gguf_builder *b, const char *key, int32_t value)
{
    append_scalar(b, key, VUG_GGUF_I32, (uint32_t)value, 4);
}

void vug_gguf_put_f32(vug_gguf_builder *b, const char *key, float value)
{
    append_scalar(b, key, VUG_GGUF_F32, bits_of(value), 4);
}

void vug_gguf_put_bool(vug_gguf_builder *b, const char *key, bool value)
{
    append_scalar(b, key, VUG_GGUF_BOOL, value, 1);
}

void vug_gguf_put_string(vug_gguf_builder *b, const char *key, vug_str value)
{
    append_key(b, vug_str_of(key));
    vug_buf_append_le(&b->bytes, VUG_GGUF_STRING, 4);
    vug_gguf_put_element(b, value);
}

void vug_gguf_put_u32s(vug_gguf_builder *b, const char *key, const uint32_t *values, size_t n)
{
    begin_array(b, vug_str_of(key), VUG_GGUF_U32, n);
    for (size_t i = 0; i < n; i++)
        vug_buf_append_le(&b->bytes, values[i], 4);
}

void vug_gguf_put_i32s(vug_gguf_builder *b, const char *key, const int32_t *values, size_t n)
{
    begin_array(b, vug_str_of(key), VUG_GGUF_I32, n);
    for (size_t i = 0; i < n; i++)
        vug_buf_append_le(&b->bytes, (uint32_t)values[i], 4);
}

void vug_gguf_put_f32s(vug_gguf_builder *b, const char *key, const float *values, size_t n)
{
    begin_array(b, vug_str_of(key), VUG_GGUF_F32, n);
    for (size_t i = 0; i < n; i++)
        vug_buf_append_le(&b->bytes, bits_of(values[i]), 4);
}

void vug_gguf_put_bools(vug_gguf_builder *b, const char *key, const bool *values, size_t n)
{
    begin_array(b, vug_str_of(key), VUG_GGUF_BOOL, n);
    for (size_t i = 0; i < n; i++)
        vug_buf_append_le(&b->bytes, values[i], 1);
}

void vug_gguf_begin_strings(vug_gguf_builder *b, const char *key, uint64_t n)
{
    begin_array(b, vug_str_of(key), VUG_GGUF_STRING, n);
}

void vug_gguf_put_strings(vug_gguf_builder *b, const char *key, const vug_str *values, size_t n)
{
    vug_gguf_begin_strings(b, key, n);
    for (size_t i = 0; i < n; i++)
        vug_gguf_put_element(b, values[i]);
}

void vug_gguf_put_value(vug_gguf_builder *b, const vug_gguf_value *value)
{
    if (value->is_array) {
        begin_array(b, value->key, value->type, value->count);
    } else {
        append_key(b, value->key);
        vug_buf_append_le(&b->bytes, value->type, 4);
    }
    append_bytes(b, value->bytes.ptr, value->bytes.len);
}

void vug_gguf_builder_release(vug_gguf_builder *b)
{
    vug_buf_release(&b->bytes);
    *b = (vug_gguf_builder){ 0 };
}
