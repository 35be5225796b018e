/*
 * Reading the metadata of a GGUF file.
 *
 *     key     string
 *     type    u32, of vug_gguf_type
 *     value   a number, or a string, or an array: type of its elements u32, count u64,
 *             the elements
 *     string  length u64, then as many bytes; no NUL
 *
 * Everything is little-endian and packed. Format: docs/gguf.md of
 * https://github.com/ggml-org/ggml. Whatever llama.cpp rejects is rejected here, including
 * arrays of arrays.
 *
 * Keys come from untrusted files, so lookup is a binary search and duplicates are found by
 * sorting: a hostile file cannot cause a slow case.
 */
#include "core/gguf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The smallest pair: length, a key of one letter, type, a value of one byte. */
enum { MIN_PAIR = 8 + 1 + 4 + 1, STRING_LENGTH = 8, TYPES = 13 };

/* `bytes`: size of one element; 0 when it varies. */
static const struct {
    const char *one, *many;
    uint8_t bytes;
} types[TYPES] = {
    [VUG_GGUF_U8] = { "u8", "u8", 1 },
    [VUG_GGUF_I8] = { "i8", "i8", 1 },
    [VUG_GGUF_U16] = { "u16", "u16", 2 },
    [VUG_GGUF_I16] = { "i16", "i16", 2 },
    [VUG_GGUF_U32] = { "u32", "u32", 4 },
    [VUG_GGUF_I32] = { "i32", "i32", 4 },
    [VUG_GGUF_F32] = { "f32", "f32", 4 },
    [VUG_GGUF_BOOL] = { "bool", "bools", 1 },
    [VUG_GGUF_STRING] = { "string", "strings", 0 },
    [VUG_GGUF_ARRAY] = { "array", "arrays", 0 },
    [VUG_GGUF_U64] = { "u64", "u64", 8 },
    [VUG_GGUF_I64] = { "i64", "i64", 8 },
    [VUG_GGUF_F64] = { "f64", "f64", 8 },
};

vug_gguf_description vug_gguf_describe(const vug_gguf_value *value)
{
    vug_gguf_description out;
    if (value->is_array)
        (void)snprintf(out.text, sizeof(out.text), "an array of %" PRIu64 " %s", value->count,
                       value->count == 1 ? types[value->type].one : types[value->type].many);
    else
        (void)snprintf(out.text, sizeof(out.text), "%s", types[value->type].one);
    return out;
}

/* ---- reading --------------------------------------------------------------- */

typedef struct {
    vug_reader *r;
    const char *file;
    size_t start; /* of the metadata */
    vug_str key;  /* of the current pair */
} gguf_parser;

static vug_status fail_short(const gguf_parser *c, vug_err *err)
{
    if (c->key.len)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: key '%.*s': the file ends at byte %zu, inside the value", c->file,
                        VUG_STR_ARG(c->key), c->r->src.len);
    return VUG_FAIL(err, VUG_FORMAT, "%s: the file ends at byte %zu, inside the name of a key",
                    c->file, c->r->src.len);
}

static vug_status check_total(const gguf_parser *c, vug_err *err)
{
    if (c->r->pos - c->start <= VUG_GGUF_MAX_METADATA)
        return VUG_OK;
    return VUG_FAIL(err, VUG_LIMIT,
                    "%s: key '%.*s': extends to byte %zu, at most %d bytes of metadata are read",
                    c->file, VUG_STR_ARG(c->key), c->r->pos, VUG_GGUF_MAX_METADATA);
}

static vug_status read_key(gguf_parser *c, vug_err *err)
{
    vug_reader *r = c->r;
    const size_t at = r->pos;
    c->key = (vug_str){ 0 };
    const uint64_t n = vug_read_u64le(r);
    if (!r->bad && (n == 0 || n > VUG_GGUF_MAX_KEY))
        return VUG_FAIL(err, n ? VUG_LIMIT : VUG_FORMAT,
                        "%s: the name of the key at byte %zu has %" PRIu64
                        " bytes, expected 1 to %d",
                        c->file, at, n, VUG_GGUF_MAX_KEY);
    const vug_bytes span = vug_read_span(r, n);
    if (r->bad)
        return fail_short(c, err);
    for (size_t i = 0; i < span.len; i++)
        if (span.ptr[i] < 0x20 || span.ptr[i] > 0x7e)
            return VUG_FAIL(err, VUG_FORMAT,
                            "%s: the name of the key at byte %zu has byte 0x%02x, expected ASCII",
                            c->file, at, span.ptr[i]);
    c->key = (vug_str){ (const char *)span.ptr, span.len };
    return VUG_OK;
}

/* The type of a value, or of the elements of an array. */
static vug_status read_type(const gguf_parser *c, vug_gguf_type *out, vug_err *err)
{
    const size_t at = c->r->pos;
    const uint32_t n = vug_read_u32le(c->r);
    if (c->r->bad)
        return fail_short(c, err);
    if (n >= TYPES)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: key '%.*s': type %" PRIu32 " at byte %zu, expected 0 to %d", c->file,
                        VUG_STR_ARG(c->key), n, at, TYPES - 1);
    *out = (vug_gguf_type)n;
    return VUG_OK;
}

static vug_status skip_strings(const gguf_parser *c, const vug_gguf_value *v, vug_err *err)
{
    vug_reader *r = c->r;
    for (uint64_t i = 0; i < v->count; i++) {
        const size_t at = r->pos;
        const uint64_t n = vug_read_u64le(r);
        if (!r->bad && n > vug_reader_left(r))
            return VUG_FAIL(err, VUG_FORMAT,
                            "%s: key '%.*s': the string at byte %zu has %" PRIu64
                            " bytes, the file has %zu after its length",
                            c->file, VUG_STR_ARG(c->key), at, n, vug_reader_left(r));
        (void)vug_read_span(r, n);
        if (r->bad)
            return fail_short(c, err);
        VUG_TRY(check_total(c, err));
    }
    return VUG_OK;
}

static vug_status check_bools(const gguf_parser *c, const vug_gguf_value *v, vug_err *err)
{
    for (size_t i = 0; i < v->bytes.len; i++)
        if (v->bytes.ptr[i] > 1)
            return VUG_FAIL(err, VUG_FORMAT,
                            "%s: key '%.*s': byte 0x%02x at offset %" PRIu64
                            ", expected a bool, 0 or 1",
                            c->file, VUG_STR_ARG(c->key), v->bytes.ptr[i], v->offset + i);
    return VUG_OK;
}

static vug_status read_elements(const gguf_parser *c, vug_gguf_value *v, vug_err *err)
{
    vug_reader *r = c->r;
    const size_t at = r->pos;
    const bool strings = v->type == VUG_GGUF_STRING;
    const uint64_t least = strings ? STRING_LENGTH : types[v->type].bytes;
    if (v->count > vug_reader_left(r) / least) {
        if (!v->is_array)
            return fail_short(c, err);
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: key '%.*s': %s at byte %zu, the file has only %zu more bytes", c->file,
                        VUG_STR_ARG(c->key), vug_gguf_describe(v).text, at, vug_reader_left(r));
    }
    if (strings)
        VUG_TRY(skip_strings(c, v, err));
    else
        (void)vug_read_span(r, v->count * least);
    v->offset = at;
    v->bytes = (vug_bytes){ r->src.ptr + at, r->pos - at };
    VUG_TRY(check_total(c, err));
    return v->type == VUG_GGUF_BOOL ? check_bools(c, v, err) : VUG_OK;
}

static vug_status read_pair(gguf_parser *c, vug_gguf_value *v, vug_err *err)
{
    VUG_TRY(read_key(c, err));
    *v = (vug_gguf_value){ .key = c->key, .count = 1 };
    VUG_TRY(read_type(c, &v->type, err));
    if (v->type == VUG_GGUF_ARRAY) {
        v->is_array = true;
        const size_t at = c->r->pos;
        VUG_TRY(read_type(c, &v->type, err));
        if (v->type == VUG_GGUF_ARRAY)
            return VUG_FAIL(
                    err, VUG_UNSUPPORTED,
                    "%s: key '%.*s': an array of arrays at byte %zu, which is not supported",
                    c->file, VUG_STR_ARG(c->key), at);
        v->count = vug_read_u64le(c->r);
        if (c->r->bad)
            return fail_short(c, err);
    }
    return read_elements(c, v, err);
}

static int compare_keys(const void *a, const void *b)
{
    const vug_gguf_value *const *x = a, *const *y = b;
    return vug_str_compare((*x)->key, (*y)->key);
}

static vug_status sort_keys(vug_gguf *gguf, vug_err *err)
{
    for (size_t i = 0; i < gguf->n; i++)
        gguf->by_key[i] = &gguf->value[i];
    if (gguf->n)
        qsort(gguf->by_key, gguf->n, sizeof(const vug_gguf_value *), compare_keys);
    for (size_t i = 1; i < gguf->n; i++) {
        const vug_gguf_value *a = gguf->by_key[i - 1], *b = gguf->by_key[i];
        if (vug_str_equal(a->key, b->key))
            return VUG_FAIL(
                    err, VUG_FORMAT,
                    "%s: key '%.*s' occurs twice, with values at bytes %" PRIu64 " and %" PRIu64,
                    gguf->file, VUG_STR_ARG(a->key), a->offset < b->offset ? a->offset : b->offset,
                    a->offset < b->offset ? b->offset : a->offset);
    }
    return VUG_OK;
}

vug_status vug_gguf_read(vug_reader *r, uint64_t n, const char *file, vug_gguf *out, vug_err *err)
{
    if (n > vug_reader_left(r) / MIN_PAIR)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: %" PRIu64 " keys do not fit in the %zu bytes from byte %zu on", file,
                        n, vug_reader_left(r), r->pos);
    if (n > VUG_GGUF_MAX_KEYS)
        return VUG_FAIL(err, VUG_LIMIT, "%s: %" PRIu64 " keys, at most %d are read", file, n,
                        VUG_GGUF_MAX_KEYS);
    vug_gguf gguf = { .file = file, .n = (size_t)n };
    gguf.value = vug_alloc_zero(gguf.n, sizeof(*gguf.value));
    gguf.by_key = vug_alloc_zero(gguf.n, sizeof(const vug_gguf_value *));
    vug_status st = VUG_OK;
    if (!gguf.value || !gguf.by_key)
        st = VUG_FAIL_NOMEM(err, file, n * (sizeof(*gguf.value) + sizeof(const vug_gguf_value *)));
    gguf_parser c = { .r = r, .file = file, .start = r->pos };
    for (size_t i = 0; st == VUG_OK && i < gguf.n; i++)
        st = read_pair(&c, &gguf.value[i], err);
    if (st == VUG_OK)
        st = sort_keys(&gguf, err);
    if (st == VUG_OK)
        *out = gguf;
    else
        vug_gguf_release(&gguf);
    return st;
}

void vug_gguf_release(vug_gguf *gguf)
{
    vug_free(gguf->value);
    vug_free(gguf->by_key);
    *gguf = (vug_gguf){ 0 };
}

/* ---- lookup and conversion ----------------------------------------------------- */

const vug_gguf_value *vug_gguf_find(const vug_gguf *gguf, vug_str key)
{
    const vug_gguf_value wanted = { .key = key }, *at = &wanted;
    if (!gguf || gguf->n == 0)
        return NULL;
    const vug_gguf_value **found =
            bsearch(&at, gguf->by_key, gguf->n, sizeof(const vug_gguf_value *), compare_keys);
    return found ? *found : NULL;
}

const vug_gguf_value *vug_gguf_find_in(const vug_gguf *gguf, vug_str prefix, const char *name)
{
    char key[256];
    const size_t n = strlen(name);
    if (prefix.len >= sizeof(key) || n + 1 >= sizeof(key) - prefix.len)
        return NULL;
    if (prefix.len)
        memcpy(key, prefix.ptr, prefix.len);
    key[prefix.len] = '.';
    memcpy(key + prefix.len + 1, name, n + 1);
    return vug_gguf_find(gguf, (vug_str){ key, prefix.len + 1 + n });
}

/* The bits of element `i` of a fixed-size type; false past the end. */
static bool load_bits(const vug_gguf_value *v, uint64_t i, uint64_t *bits)
{
    const unsigned n = types[v->type].bytes;
    if (n == 0 || i >= v->count)
        return false;
    const uint8_t *at = v->bytes.ptr + i * n;
    *bits = 0;
    for (unsigned b = 0; b < n; b++)
        *bits |= (uint64_t)at[b] << 8 * b;
    return true;
}

/* An integer of any type, sign-extended to 64 bits. */
static bool load_integer(const vug_gguf_value *v, uint64_t i, uint64_t *bits, bool *negative)
{
    switch (v->type) {
    case VUG_GGUF_U8:
    case VUG_GGUF_U16:
    case VUG_GGUF_U32:
    case VUG_GGUF_U64:
        *negative = false;
        return load_bits(v, i, bits);
    case VUG_GGUF_I8:
    case VUG_GGUF_I16:
    case VUG_GGUF_I32:
    case VUG_GGUF_I64: {
        if (!load_bits(v, i, bits))
            return false;
        const uint64_t sign = (uint64_t)1 << (8 * types[v->type].bytes - 1);
        *negative = (*bits & sign) != 0;
        *bits = (*bits ^ sign) - sign;
        return true;
    }
    case VUG_GGUF_F32:
    case VUG_GGUF_BOOL:
    case VUG_GGUF_STRING:
    case VUG_GGUF_ARRAY:
    case VUG_GGUF_F64:
        break;
    }
    return false;
}

bool vug_gguf_u64(const vug_gguf_value *value, uint64_t i, uint64_t *out)
{
    uint64_t bits;
    bool negative;
    if (!load_integer(value, i, &bits, &negative) || negative)
        return false;
    *out = bits;
    return true;
}

bool vug_gguf_i64(const vug_gguf_value *value, uint64_t i, int64_t *out)
{
    uint64_t bits;
    bool negative;
    if (!load_integer(value, i, &bits, &negative) || (!negative && bits > INT64_MAX))
        return false;
    memcpy(out, &bits, sizeof(*out));
    return true;
}

bool vug_gguf_f64(const vug_gguf_value *value, uint64_t i, double *out)
{
    uint64_t bits;
    int64_t whole;
    if (value->type == VUG_GGUF_F64 && load_bits(value, i, &bits)) {
        memcpy(out, &bits, sizeof(*out));
        return true;
    }
    if (value->type == VUG_GGUF_F32 && load_bits(value, i, &bits)) {
        const uint32_t low = (uint32_t)bits;
        float narrow;
        memcpy(&narrow, &low, sizeof(narrow));
        *out = (double)narrow;
        return true;
    }
    if (vug_gguf_u64(value, i, &bits)) {
        *out = (double)bits;
        return true;
    }
    if (!vug_gguf_i64(value, i, &whole))
        return false;
    *out = (double)whole;
    return true;
}

bool vug_gguf_bool(const vug_gguf_value *value, uint64_t i, bool *out)
{
    uint64_t bits;
    if (value->type != VUG_GGUF_BOOL || !load_bits(value, i, &bits))
        return false;
    *out = bits != 0;
    return true;
}

bool vug_gguf_string(const vug_gguf_value *value, vug_str *out)
{
    if (value->type != VUG_GGUF_STRING || value->is_array)
        return false;
    *out = (vug_str){ (const char *)value->bytes.ptr + STRING_LENGTH,
                      value->bytes.len - STRING_LENGTH };
    return true;
}

vug_gguf_strings vug_gguf_strings_of(const vug_gguf_value *value)
{
    if (value->type != VUG_GGUF_STRING || !value->is_array)
        return (vug_gguf_strings){ 0 };
    return (vug_gguf_strings){ vug_reader_over(value->bytes), value->count };
}

bool vug_gguf_next_string(vug_gguf_strings *strings, vug_str *out)
{
    if (strings->left == 0)
        return false;
    const vug_bytes span = vug_read_span(&strings->reader, vug_read_u64le(&strings->reader));
    if (strings->reader.bad) /* impossible for values that vug_gguf_read has checked */
        return false;
    strings->left--;
    *out = (vug_str){ (const char *)span.ptr, span.len };
    return true;
}
