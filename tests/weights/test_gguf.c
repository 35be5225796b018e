/* GGUF: the reader of one file, rule by rule, and the metadata in it. Files on disk,
 * splits and the writer are in test_gguf_files.c. */
#include "test.h"

#include "gguf_help.h"
#include "weights/weights.h"

static vug_bytes view_of(const vug_buf *file)
{
    return (vug_bytes){ (const uint8_t *)file->ptr, file->len };
}

static vug_weights *open_good(const vug_buf *file)
{
    vug_weights *w = NULL;
    vug_err err = { 0 };
    if (vug_weights_open_gguf_memory(view_of(file), "a/b/m.gguf", &w, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return w;
}

/* Opening a copy of exactly `n` bytes must fail with exactly this message. */
static void expect_error(const vug_buf *file, size_t n, vug_status code, const char *message)
{
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    if (n)
        memcpy(copy, file->ptr, n);
    vug_weights *w = NULL;
    vug_err err = { 0 };
    const vug_status st = vug_weights_open_gguf_memory((vug_bytes){ copy, n }, "m.gguf", &w, &err);
    assert_null(w);
    assert_string_equal(err.msg, message);
    assert_int_equal(st, code);
    assert_int_equal(err.code, code);
    free(copy);
}

static const vug_gguf_value *value_of(const vug_weights *w, const char *key)
{
    const vug_gguf_value *v = vug_gguf_find(vug_weights_gguf(w), vug_str_of(key));
    assert_non_null(v);
    return v;
}

/* ---- one small file -------------------------------------------------------- */

/* Offsets of its parts. */
enum {
    AT_VERSION = 4,
    AT_TENSORS = 8,
    AT_KEYS = 16,
    AT_U = 24, /* the key "k.u" */
    AT_S = AT_U + 8 + 3 + 4 + 4,
    AT_A = AT_S + 8 + 3 + 4 + 8 + 2,
    AT_A_COUNT = AT_A + 8 + 3 + 4 + 4,
    AT_B = AT_A_COUNT + 8 + 8 + 1 + 8,
    AT_T0 = AT_B + 8 + 3 + 4 + 1,
    AT_T0_RANK = AT_T0 + 8 + 2,
    AT_T0_FORMAT = AT_T0_RANK + 4 + 8 + 8,
    AT_T1 = AT_T0_FORMAT + 4 + 8,
    AT_T1_RANK = AT_T1 + 8 + 2,
    AT_T1_FORMAT = AT_T1_RANK + 4 + 8,
    AT_END = AT_T1_FORMAT + 4 + 8, /* 204 */
    AT_DATA = 224,
    SIZE = AT_DATA + 32 + 34,
};

/* Values 0, 1, .. of data: t0 is F32 [2,3], t1 Q8_0 [32]. */
static vug_buf small_file(void)
{
    vug_buf f = { 0 };
    gguf_header(&f, 3, 2, 4);
    gguf_key(&f, "k.u", VUG_GGUF_U32);
    gguf_put(&f, 7, 4);
    gguf_key(&f, "k.s", VUG_GGUF_STRING);
    gguf_string(&f, "hi");
    gguf_array(&f, "k.a", VUG_GGUF_STRING, 2);
    gguf_string(&f, "x");
    gguf_string(&f, "");
    gguf_key(&f, "k.b", VUG_GGUF_BOOL);
    gguf_put(&f, 1, 1);
    gguf_tensor(&f, "t0", (const uint64_t[]){ 3, 2, 0 }, 0, 0);
    gguf_tensor(&f, "t1", (const uint64_t[]){ 32, 0 }, 8, 32);
    assert_int_equal(f.len, AT_END);
    gguf_data(&f, 32, 32 + 34);
    assert_int_equal(f.len, SIZE);
    return f;
}

static void test_small_file(void **state)
{
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        vug_buf f = small_file();
        f.ptr[AT_VERSION] = (char)version;
        vug_weights *w = open_good(&f);
        assert_int_equal(vug_weights_count(w), 2);
        const vug_tensor *t0 = vug_weights_find(w, vug_str_of("t0"));
        const vug_tensor *t1 = vug_weights_find(w, vug_str_of("t1"));
        assert_ptr_equal(t0, vug_weights_at(w, 0));
        assert_ptr_equal(t1, vug_weights_at(w, 1));
        assert_int_equal(t0->dtype, VUG_DTYPE_F32);
        assert_int_equal(t0->rank, 2);
        assert_int_equal(t0->dim[0], 2); /* outermost first */
        assert_int_equal(t0->dim[1], 3);
        assert_int_equal(t0->bytes, 24);
        assert_int_equal(t0->offset, AT_DATA);
        assert_ptr_equal(t0->data, (const uint8_t *)f.ptr + AT_DATA);
        assert_string_equal(t0->file, "m.gguf");
        assert_int_equal(strlen(t0->name.ptr), 2);
        assert_int_equal(t1->dtype, VUG_DTYPE_Q8_0);
        assert_int_equal(t1->rank, 1);
        assert_int_equal(t1->bytes, 34);
        assert_int_equal(t1->offset, AT_DATA + 32);
        assert_int_equal(t1->data[0], 32);
        const vug_gguf *gguf = vug_weights_gguf(w);
        assert_string_equal(gguf->file, "m.gguf");
        assert_int_equal(gguf->n, 4);
        assert_true(vug_str_is(gguf->value[2].key, "k.a"));
        assert_ptr_equal(value_of(w, "k.a"), &gguf->value[2]);
        assert_int_equal(value_of(w, "k.u")->offset, AT_U + 8 + 3 + 4);
        assert_null(vug_gguf_find(gguf, vug_str_of("k.")));
        assert_null(vug_gguf_find(gguf, vug_str_of("k.uu")));
        assert_ptr_equal(vug_gguf_find_in(gguf, vug_str_of("k"), "u"), &gguf->value[0]);
        assert_null(vug_gguf_find_in(gguf, vug_str_of(""), "k.u"));
        vug_weights_close(w);
        vug_buf_release(&f);
    }
    assert_null(vug_gguf_find(NULL, vug_str_of("k.u")));
}

/* ---- metadata -------------------------------------------------------------- */

typedef struct {
    const char *kind;
    vug_gguf_type type;
    unsigned bytes;
    uint64_t bits;
    bool u64, i64, f64, boolean; /* which conversions succeed */
    int64_t integer;
    double number;
} scalar_row;

static const scalar_row scalars[] = {
    { "u8", VUG_GGUF_U8, 1, 0xff, true, true, true, false, 255, 255 },
    { "i8", VUG_GGUF_I8, 1, 0x80, false, true, true, false, -128, -128 },
    { "i8", VUG_GGUF_I8, 1, 0x7f, true, true, true, false, 127, 127 },
    { "u16", VUG_GGUF_U16, 2, 0xfffe, true, true, true, false, 65534, 65534 },
    { "i16", VUG_GGUF_I16, 2, 0xfffe, false, true, true, false, -2, -2 },
    { "u32", VUG_GGUF_U32, 4, 0xffffffff, true, true, true, false, 4294967295, 4294967295.0 },
    { "i32", VUG_GGUF_I32, 4, 0x80000000, false, true, true, false, INT32_MIN, -2147483648.0 },
    { "f32", VUG_GGUF_F32, 4, 0x3fa00000, false, false, true, false, 0, 1.25 },
    { "bool", VUG_GGUF_BOOL, 1, 1, false, false, false, true, 0, 0 },
    { "bool", VUG_GGUF_BOOL, 1, 0, false, false, false, true, 0, 0 },
    { "u64", VUG_GGUF_U64, 8, 5, true, true, true, false, 5, 5 },
    { "u64", VUG_GGUF_U64, 8, UINT64_MAX, true, false, true, false, 0, 18446744073709551616.0 },
    { "i64", VUG_GGUF_I64, 8, UINT64_MAX, false, true, true, false, -1, -1 },
    { "i64", VUG_GGUF_I64, 8, 1ull << 63, false, true, true, false, INT64_MIN,
      -9223372036854775808.0 },
    { "f64", VUG_GGUF_F64, 8, 0x3fb999999999999a, false, false, true, false, 0, 0.1 },
};
enum { N_SCALARS = sizeof(scalars) / sizeof(scalars[0]) };

static void check_scalar(const vug_gguf_value *v, uint64_t i, const scalar_row *row)
{
    uint64_t u = 77;
    int64_t s = 77;
    double f = 77;
    bool b = row->bits == 0;
    vug_str text;
    assert_int_equal(v->type, row->type);
    assert_int_equal(vug_gguf_u64(v, i, &u), row->u64);
    assert_int_equal(u, row->u64 ? row->bits : 77);
    assert_int_equal(vug_gguf_i64(v, i, &s), row->i64);
    assert_int_equal(s, row->i64 ? row->integer : 77);
    assert_int_equal(vug_gguf_f64(v, i, &f), row->f64);
    assert_true(f == (row->f64 ? row->number : 77));
    assert_int_equal(vug_gguf_bool(v, i, &b), row->boolean);
    assert_int_equal(b, row->boolean ? row->bits != 0 : row->bits == 0);
    assert_false(vug_gguf_string(v, &text));
    assert_int_equal(vug_gguf_strings_of(v).left, 0);
}

static void test_every_type(void **state)
{
    (void)state;
    vug_buf f = { 0 };
    gguf_header(&f, 3, 0, (uint64_t)2 * N_SCALARS);
    for (size_t i = 0; i < N_SCALARS; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "one.%zu", i);
        gguf_key(&f, key, scalars[i].type);
        gguf_put(&f, scalars[i].bits, scalars[i].bytes);
        (void)snprintf(key, sizeof(key), "many.%zu", i);
        gguf_array(&f, key, scalars[i].type, 3);
        gguf_put(&f, 0, scalars[i].bytes);
        gguf_put(&f, scalars[i].bits, scalars[i].bytes);
        gguf_put(&f, 1, scalars[i].bytes);
    }
    vug_weights *w = open_good(&f);
    for (size_t i = 0; i < N_SCALARS; i++) {
        char key[16], kind[48];
        double number;
        (void)snprintf(key, sizeof(key), "one.%zu", i);
        const vug_gguf_value *v = value_of(w, key);
        assert_false(v->is_array);
        assert_int_equal(v->count, 1);
        assert_string_equal(vug_gguf_describe(v).text, scalars[i].kind);
        check_scalar(v, 0, &scalars[i]);
        assert_false(vug_gguf_f64(v, 1, &number));
        (void)snprintf(key, sizeof(key), "many.%zu", i);
        v = value_of(w, key);
        assert_true(v->is_array);
        assert_int_equal(v->count, 3);
        assert_int_equal(v->bytes.len, 3 * scalars[i].bytes);
        (void)snprintf(kind, sizeof(kind), "an array of 3 %s%s", scalars[i].kind,
                       scalars[i].boolean ? "s" : "");
        assert_string_equal(vug_gguf_describe(v).text, kind);
        check_scalar(v, 1, &scalars[i]);
        assert_false(vug_gguf_f64(v, 3, &number));
        assert_false(vug_gguf_f64(v, UINT64_MAX, &number));
    }
    vug_weights_close(w);
    vug_buf_release(&f);
}

static void test_strings(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    vug_buf f = { 0 };
    gguf_header(&f, 3, 0, 5);
    gguf_key(&f, "one", VUG_GGUF_STRING);
    gguf_put(&f, 3, 8);
    vug_buf_append(&f, "a\0\xff", 3); /* any bytes */
    gguf_key(&f, "empty", VUG_GGUF_STRING);
    gguf_string(&f, "");
    gguf_array(&f, "none", VUG_GGUF_STRING, 0);
    gguf_array(&f, "no numbers", VUG_GGUF_F32, 0);
    gguf_array(&f, "many", VUG_GGUF_STRING, MANY);
    for (int i = 0; i < MANY; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", i * 3);
        gguf_string(&f, i % 10 ? text : "");
    }
    vug_weights *w = open_good(&f);
    vug_str s = { 0 };
    assert_true(vug_gguf_string(value_of(w, "one"), &s));
    assert_int_equal(s.len, 3);
    assert_memory_equal(s.ptr, "a\0\xff", 3);
    assert_string_equal(vug_gguf_describe(value_of(w, "one")).text, "string");
    assert_true(vug_gguf_string(value_of(w, "empty"), &s));
    assert_int_equal(s.len, 0);
    assert_int_equal(value_of(w, "no numbers")->count, 0);
    vug_gguf_strings it = vug_gguf_strings_of(value_of(w, "none"));
    assert_false(vug_gguf_next_string(&it, &s));
    assert_false(vug_gguf_string(value_of(w, "none"), &s));
    const vug_gguf_value *many = value_of(w, "many");
    assert_string_equal(vug_gguf_describe(many).text, "an array of 100000 strings");
    it = vug_gguf_strings_of(many);
    for (int i = 0; i < MANY; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", i * 3);
        assert_true(vug_gguf_next_string(&it, &s));
        assert_true(vug_str_is(s, i % 10 ? text : ""));
    }
    assert_false(vug_gguf_next_string(&it, &s));
    vug_weights_close(w);
    vug_buf_release(&f);
}

static void test_many_keys(void **state)
{
    (void)state;
    enum { MANY = VUG_GGUF_MAX_KEYS };
    vug_buf f = { 0 };
    gguf_header(&f, 3, 0, MANY);
    for (int i = 0; i < MANY; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%d", i * 7919 % MANY);
        gguf_key(&f, key, VUG_GGUF_I32);
        gguf_put(&f, (uint64_t)i, 4);
    }
    vug_weights *w = open_good(&f);
    for (int i = 0; i < MANY; i++) {
        char key[16];
        uint64_t n = 0;
        (void)snprintf(key, sizeof(key), "k%d", i * 7919 % MANY);
        assert_true(vug_gguf_u64(value_of(w, key), 0, &n));
        assert_int_equal(n, i);
    }
    vug_weights_close(w);
    gguf_key(&f, "one more", VUG_GGUF_U8);
    gguf_put(&f, 0, 1);
    gguf_patch(&f, AT_KEYS, MANY + 1, 8);
    expect_error(&f, f.len, VUG_LIMIT, "m.gguf: 65537 keys, at most 65536 are read");
    vug_buf_release(&f);
}

/* ---- formats and shapes ---------------------------------------------------- */

static void test_every_format(void **state)
{
    (void)state;
    /* Numbers, elements and bytes of blocks, from the tables of ggml. */
    static const struct {
        const char *name;
        uint32_t number;
        unsigned elements, bytes;
    } row[] = {
        { "F32", 0, 1, 4 },       { "F16", 1, 1, 2 },         { "Q4_0", 2, 32, 18 },
        { "Q4_1", 3, 32, 20 },    { "Q5_0", 6, 32, 22 },      { "Q5_1", 7, 32, 24 },
        { "Q8_0", 8, 32, 34 },    { "Q2_K", 10, 256, 84 },    { "Q3_K", 11, 256, 110 },
        { "Q4_K", 12, 256, 144 }, { "Q5_K", 13, 256, 176 },   { "Q6_K", 14, 256, 210 },
        { "IQ4_NL", 20, 32, 18 }, { "IQ4_XS", 23, 256, 136 }, { "I8", 24, 1, 1 },
        { "I16", 25, 1, 2 },      { "I32", 26, 1, 4 },        { "I64", 27, 1, 8 },
        { "F64", 28, 1, 8 },      { "BF16", 30, 1, 2 },       { "MXFP4", 39, 32, 17 },
    };
    bool known[64] = { 0 };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        known[row[i].number] = true;
        vug_buf f = { 0 };
        gguf_header(&f, 3, 1, 0);
        gguf_tensor(&f, "t", (const uint64_t[]){ 3 * (uint64_t)row[i].elements, 2, 5, 7, 0 },
                    row[i].number, 0);
        const size_t bytes = (size_t)3 * row[i].bytes * 2 * 5 * 7;
        gguf_data(&f, 32, bytes);
        vug_weights *w = open_good(&f);
        const vug_tensor *t = vug_weights_at(w, 0);
        assert_string_equal(vug_dtype_of(t->dtype)->name, row[i].name);
        assert_int_equal(t->rank, 4);
        assert_int_equal(t->dim[0], 7);
        assert_int_equal(t->dim[1], 5);
        assert_int_equal(t->dim[2], 2);
        assert_int_equal(t->dim[3], 3 * (int64_t)row[i].elements);
        assert_int_equal(t->bytes, bytes);
        vug_weights_close(w);
        if (row[i].elements > 1) {
            char message[200];
            gguf_patch(&f, 24 + 8 + 1 + 4, 3 * (uint64_t)row[i].elements + 1, 8);
            (void)snprintf(
                    message, sizeof(message),
                    "m.gguf: tensor 't': rows of %u elements, %s needs a multiple of %u (byte 69)",
                    3 * row[i].elements + 1, row[i].name, row[i].elements);
            expect_error(&f, f.len, VUG_FORMAT, message);
        }
        vug_buf_release(&f);
    }
    vug_buf f = small_file();
    for (uint32_t number = 0; number < 64; number++) {
        vug_weights *w = NULL;
        vug_err err = { 0 };
        gguf_patch(&f, AT_T0_FORMAT, number, 4);
        gguf_patch(&f, AT_T0_RANK + 4, 256, 8);
        if (!known[number])
            assert_int_equal(vug_weights_open_gguf_memory(view_of(&f), "m.gguf", &w, &err),
                             number <= 42 ? VUG_UNSUPPORTED : VUG_FORMAT);
    }
    vug_buf_release(&f);
}

static void test_alignment(void **state)
{
    (void)state;
    static const uint64_t good[] = { 1, 8, 64, 65536 };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        const uint64_t a = good[i], second = (24 + a - 1) / a * a;
        vug_buf f = { 0 };
        gguf_header(&f, 3, 2, 1);
        gguf_key(&f, "general.alignment", VUG_GGUF_U32);
        gguf_put(&f, a, 4);
        gguf_tensor(&f, "t0", (const uint64_t[]){ 6, 0 }, 0, 0);
        gguf_tensor(&f, "t1", (const uint64_t[]){ 3, 0 }, 24, second);
        gguf_data(&f, (size_t)a, (size_t)second + 3);
        vug_weights *w = open_good(&f);
        const vug_tensor *t0 = vug_weights_at(w, 0), *t1 = vug_weights_at(w, 1);
        assert_int_equal(t0->offset % a, 0);
        assert_int_equal(t0->data[1], 1);
        assert_int_equal(t1->offset, t0->offset + second);
        assert_int_equal(t1->offset + 3, f.len);
        vug_weights_close(w);
        vug_buf_release(&f);
    }
    static const struct {
        vug_gguf_type type;
        uint64_t value;
        const char *message;
    } bad[] = {
        { VUG_GGUF_U32, 0,
          "m.gguf: key 'general.alignment': 0 at byte 53, expected a power of two up to 65536" },
        { VUG_GGUF_U32, 48,
          "m.gguf: key 'general.alignment': 48 at byte 53, expected a power of two up to 65536" },
        { VUG_GGUF_U32, 131072,
          "m.gguf: key 'general.alignment': 131072 at byte 53, expected a power of two up to "
          "65536" },
        { VUG_GGUF_U64, 32, "m.gguf: key 'general.alignment': u64 at byte 53, expected u32" },
        { VUG_GGUF_I32, 32, "m.gguf: key 'general.alignment': i32 at byte 53, expected u32" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        vug_buf f = { 0 };
        gguf_header(&f, 3, 0, 1);
        gguf_key(&f, "general.alignment", bad[i].type);
        gguf_put(&f, bad[i].value, bad[i].type == VUG_GGUF_U64 ? 8 : 4);
        expect_error(&f, f.len, VUG_FORMAT, bad[i].message);
        vug_buf_release(&f);
    }
}

/* Padding after the last tensor is optional; bytes after it are ignored. */
static void test_ends(void **state)
{
    (void)state;
    vug_buf f = small_file();
    for (int i = 0; i < 40; i++) {
        vug_weights_close(open_good(&f));
        gguf_put(&f, 0, 1);
    }
    vug_buf_release(&f);
    vug_buf none = { 0 };
    gguf_header(&none, 2, 0, 0); /* no padding either */
    vug_weights *w = open_good(&none);
    assert_int_equal(vug_weights_count(w), 0);
    assert_int_equal(vug_weights_gguf(w)->n, 0);
    vug_weights_close(w);
    vug_buf_release(&none);
}

/* ---- each rule, broken once ------------------------------------------------ */

#define TENSOR "m.gguf: tensor 't0': "

static const struct {
    size_t at;
    uint64_t value;
    size_t bytes;
    vug_status code;
    const char *message;
} rules[] = {
    { 0, 0x47475546, 4, VUG_FORMAT, "m.gguf: begins with bytes 46 55 47 47, expected 'GGUF'" },
    { AT_VERSION, 0, 4, VUG_UNSUPPORTED, "m.gguf: GGUF version 0 at byte 4, expected 2 or 3" },
    { AT_VERSION, 1, 4, VUG_UNSUPPORTED, "m.gguf: GGUF version 1 at byte 4, expected 2 or 3" },
    { AT_VERSION, 4, 4, VUG_UNSUPPORTED, "m.gguf: GGUF version 4 at byte 4, expected 2 or 3" },
    { AT_VERSION, 0x03000000, 4, VUG_UNSUPPORTED,
      "m.gguf: version 0x03000000 at byte 4: the file is big-endian, expected little-endian" },
    { AT_TENSORS, UINT64_MAX, 8, VUG_FORMAT,
      "m.gguf: 18446744073709551615 tensors do not fit in the 266 bytes from byte 24 on" },
    { AT_TENSORS, 9, 8, VUG_FORMAT,
      "m.gguf: 9 tensors do not fit in the 266 bytes from byte 24 on" },
    { AT_KEYS, UINT64_MAX / 14, 8, VUG_FORMAT,
      "m.gguf: 1317624576693539401 keys do not fit in the 266 bytes from byte 24 on" },
    /* keys */
    { AT_U, 0, 8, VUG_FORMAT,
      "m.gguf: the name of the key at byte 24 has 0 bytes, expected 1 to 65535" },
    { AT_U, 65536, 8, VUG_LIMIT,
      "m.gguf: the name of the key at byte 24 has 65536 bytes, expected 1 to 65535" },
    { AT_U, 60000, 8, VUG_FORMAT, "m.gguf: the file ends at byte 290, inside the name of a key" },
    { AT_U + 8, 0xe9, 1, VUG_FORMAT,
      "m.gguf: the name of the key at byte 24 has byte 0xe9, expected ASCII" },
    { AT_U + 9, 0, 1, VUG_FORMAT,
      "m.gguf: the name of the key at byte 24 has byte 0x00, expected ASCII" },
    { AT_U + 11, 13, 4, VUG_FORMAT, "m.gguf: key 'k.u': type 13 at byte 35, expected 0 to 12" },
    { AT_U + 11, UINT32_MAX, 4, VUG_FORMAT,
      "m.gguf: key 'k.u': type 4294967295 at byte 35, expected 0 to 12" },
    { AT_S + 10, 'u', 1, VUG_FORMAT,
      "m.gguf: key 'k.u' occurs twice, with values at bytes 39 and 58" },
    { AT_S + 15, UINT64_MAX, 8, VUG_FORMAT,
      "m.gguf: key 'k.s': the string at byte 58 has 18446744073709551615 bytes, the file has 224 "
      "after its length" },
    { AT_A_COUNT - 4, 9, 4, VUG_UNSUPPORTED,
      "m.gguf: key 'k.a': an array of arrays at byte 83, which is not supported" },
    { AT_A_COUNT - 4, 14, 4, VUG_FORMAT,
      "m.gguf: key 'k.a': type 14 at byte 83, expected 0 to 12" },
    { AT_A_COUNT, 1ull << 61, 8, VUG_FORMAT,
      "m.gguf: key 'k.a': an array of 2305843009213693952 strings at byte 95, the file has only "
      "195 more bytes" },
    { AT_A_COUNT, UINT64_MAX, 8, VUG_FORMAT,
      "m.gguf: key 'k.a': an array of 18446744073709551615 strings at byte 95, the file has only "
      "195 more bytes" },
    { AT_B + 15, 2, 1, VUG_FORMAT,
      "m.gguf: key 'k.b': byte 0x02 at offset 127, expected a bool, 0 or 1" },
    /* tensors */
    { AT_T0, 0, 8, VUG_FORMAT,
      "m.gguf: the name of tensor 0 at byte 128 has 0 bytes, expected 1 to 64" },
    { AT_T0, 65, 8, VUG_LIMIT,
      "m.gguf: the name of tensor 0 at byte 128 has 65 bytes, expected 1 to 64" },
    { AT_T0 + 9, 0, 1, VUG_FORMAT,
      "m.gguf: the name of tensor 0 at byte 128 contains NUL or is not UTF-8" },
    { AT_T0 + 9, 0xc0, 1, VUG_FORMAT,
      "m.gguf: the name of tensor 0 at byte 128 contains NUL or is not UTF-8" },
    { AT_T1 + 9, '0', 1, VUG_FORMAT, "m.gguf: tensor 't0' is listed twice" },
    { AT_T0_RANK, 0, 4, VUG_FORMAT, TENSOR "0 dimensions at byte 138, expected 1 to 4" },
    { AT_T0_RANK, 5, 4, VUG_LIMIT, TENSOR "5 dimensions at byte 138, expected 1 to 4" },
    { AT_T0_RANK, UINT32_MAX, 4, VUG_LIMIT,
      TENSOR "4294967295 dimensions at byte 138, expected 1 to 4" },
    { AT_T0_RANK + 4, 0, 8, VUG_FORMAT,
      TENSOR "a dimension of 0 at byte 142, expected 1 to 9223372036854775807" },
    { AT_T0_RANK + 12, UINT64_MAX, 8, VUG_FORMAT,
      TENSOR "a dimension of 18446744073709551615 at byte 150, expected 1 to "
             "9223372036854775807" },
    { AT_T0_RANK + 12, 1ull << 62, 8, VUG_FORMAT,
      TENSOR "the size of F32 [4611686018427387904,3] does not fit in 63 bits (byte 158)" },
    { AT_T0_RANK + 12, 1ull << 59, 8, VUG_FORMAT,
      "m.gguf: tensor 't1': offset 32 at byte 196, expected 6917529027641081856: tensors must "
      "follow one another, aligned to 32" },
    { AT_T0_RANK + 12, (1ull << 61) / 3, 8, VUG_FORMAT,
      TENSOR "9223372036854775800 bytes from 0 of the data on, which does not fit in 63 bits" },
    { AT_T0_FORMAT, 16, 4, VUG_UNSUPPORTED,
      TENSOR "format 16 at byte 158 is IQ2_XXS, which is not supported" },
    { AT_T0_FORMAT, 4, 4, VUG_UNSUPPORTED,
      TENSOR
      "format 4 at byte 158 is Q4_2, which was removed from the format, which is not supported" },
    { AT_T0_FORMAT, 43, 4, VUG_FORMAT, TENSOR "unknown format 43 at byte 158" },
    { AT_T0_FORMAT, UINT32_MAX, 4, VUG_FORMAT, TENSOR "unknown format 4294967295 at byte 158" },
    { AT_T0_FORMAT + 4, 32, 8, VUG_FORMAT,
      TENSOR "offset 32 at byte 162, expected 0: tensors must follow one another, aligned to 32" },
    { AT_T1_FORMAT + 4, 0, 8, VUG_FORMAT,
      "m.gguf: tensor 't1': offset 0 at byte 196, expected 32: tensors must follow one another, "
      "aligned to 32" },
    { AT_T1_FORMAT + 4, UINT64_MAX - 31, 8, VUG_FORMAT,
      "m.gguf: tensor 't1': offset 18446744073709551584 at byte 196, expected 32: tensors must "
      "follow one another, aligned to 32" },
    { AT_T1_RANK + 4, 64, 8, VUG_FORMAT,
      "m.gguf: ends at byte 290, tensor 't1' needs up to byte 324: the file is truncated" },
};

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        vug_buf f = small_file();
        gguf_patch(&f, rules[i].at, rules[i].value, rules[i].bytes);
        expect_error(&f, f.len, rules[i].code, rules[i].message);
        vug_buf_release(&f);
    }
}

static void test_short_files(void **state)
{
    (void)state;
    vug_buf f = small_file();
    expect_error(&f, 0, VUG_FORMAT, "m.gguf: 0 bytes, a GGUF file begins with 24");
    expect_error(&f, 4, VUG_FORMAT, "m.gguf: 4 bytes, a GGUF file begins with 24");
    expect_error(&f, 23, VUG_FORMAT, "m.gguf: 23 bytes, a GGUF file begins with 24");
    expect_error(
            &f, AT_DATA, VUG_FORMAT,
            "m.gguf: ends at byte 224, tensor 't0' needs up to byte 248: the file is truncated");
    expect_error(
            &f, AT_END, VUG_FORMAT,
            "m.gguf: ends at byte 204, tensor 't0' needs up to byte 248: the file is truncated");
    expect_error(&f, AT_END - 1, VUG_FORMAT,
                 "m.gguf: the file ends at byte 203, inside the description of tensor 1");
    expect_error(
            &f, SIZE - 1, VUG_FORMAT,
            "m.gguf: ends at byte 289, tensor 't1' needs up to byte 290: the file is truncated");
    vug_buf_release(&f);
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\n";
    vug_buf_puts(&f, pointer);
    expect_error(&f, f.len, VUG_FORMAT,
                 "m.gguf: this is a Git LFS pointer, not the file; run git lfs pull to fetch it");
    vug_buf_release(&f);
}

static void test_many_tensors(void **state)
{
    (void)state;
    enum { MANY = 65536 };
    vug_buf f = { 0 };
    gguf_header(&f, 3, MANY, 0);
    for (uint64_t i = 0; i < MANY; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "t%d", (int)i);
        gguf_tensor(&f, name, (const uint64_t[]){ 1, 0 }, 24, 32 * i);
    }
    gguf_data(&f, 32, (size_t)32 * MANY);
    vug_weights *w = open_good(&f);
    assert_int_equal(vug_weights_count(w), MANY);
    assert_ptr_equal(vug_weights_find(w, vug_str_of("t65535")), vug_weights_at(w, 65535));
    vug_weights_close(w);
    gguf_patch(&f, AT_TENSORS, MANY + 1, 8);
    expect_error(&f, f.len, VUG_LIMIT,
                 "m.gguf: 65537 tensors after 0 in other parts, at most 65536 are read in all");
    vug_buf_release(&f);
}

/* ---- damaged files --------------------------------------------------------- */

/* Opening gives readable tensors and values, or an error message. */
static bool try_open(const char *bytes, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    vug_weights *w = NULL;
    vug_err err = { 0 };
    const vug_status st = vug_weights_open_gguf_memory((vug_bytes){ copy, n }, "m", &w, &err);
    volatile unsigned sum = 0;
    if (st != VUG_OK) {
        assert_null(w);
        assert_true(strncmp(err.msg, "m: ", 3) == 0 && strlen(err.msg) > 10);
        free(copy);
        return false;
    }
    for (size_t i = 0; i < vug_weights_count(w); i++) {
        const vug_tensor *t = vug_weights_at(w, i);
        for (uint64_t k = 0; k < t->bytes; k++)
            sum += t->data[k];
        assert_ptr_equal(vug_weights_find(w, t->name), t);
    }
    const vug_gguf *gguf = vug_weights_gguf(w);
    for (size_t i = 0; i < gguf->n; i++) {
        const vug_gguf_value *v = &gguf->value[i];
        for (size_t k = 0; k < v->bytes.len; k++)
            sum += v->bytes.ptr[k];
        vug_str s;
        vug_gguf_strings it = vug_gguf_strings_of(v);
        while (vug_gguf_next_string(&it, &s))
            sum += s.len ? (unsigned char)s.ptr[s.len - 1] : 0;
    }
    (void)sum;
    vug_weights_close(w);
    free(copy);
    return true;
}

static void test_every_truncation(void **state)
{
    (void)state;
    vug_buf f = small_file();
    for (size_t n = 0; n < f.len; n++)
        assert_false(try_open(f.ptr, n));
    assert_true(try_open(f.ptr, f.len));
    vug_buf_release(&f);
}

static void test_every_flip(void **state)
{
    (void)state;
    vug_buf f = small_file();
    size_t good = 0;
    for (size_t i = 0; i < f.len; i++) {
        const char old = f.ptr[i];
        for (int flip = 1; flip < 256; flip++) {
            f.ptr[i] = (char)(old ^ flip);
            good += try_open(f.ptr, f.len);
        }
        f.ptr[i] = old;
    }
    /* Changes of data, padding, values and letters in names leave the file valid. */
    assert_in_range(good, (size_t)(SIZE - AT_END) * 255, f.len * 255 / 2);
    vug_buf_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_file),
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_every_format),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_short_files),
        cmocka_unit_test(test_many_tensors),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_flip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
