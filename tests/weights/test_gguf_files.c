/* GGUF files on disk: a file of another writer, our writer, split models. */
#include "test.h"

#include "gguf_help.h"
#include "quant/codec.h"
#include "scratch.h"
#include "weights/weights.h"

#include <unistd.h>

static vug_weights *open_good(const char *path)
{
    vug_weights *w = NULL;
    vug_err err = { 0 };
    if (vug_weights_open_gguf(path, &w, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return w;
}

/* Opening must fail with a message that ends in `end`. */
static void expect_error(const char *path, vug_status code, const char *end)
{
    vug_weights *w = NULL;
    vug_err err = { 0 };
    const vug_status st = vug_weights_open_gguf(path, &w, &err);
    assert_null(w);
    const size_t n = strlen(err.msg), m = strlen(end);
    assert_string_equal(n > m ? err.msg + n - m : err.msg, end);
    assert_int_equal(st, code);
}

static const vug_gguf_value *value_of(const vug_weights *w, const char *key)
{
    const vug_gguf_value *v = vug_gguf_find(vug_weights_gguf(w), vug_str_of(key));
    if (!v)
        fail_msg("no key %s", key);
    return v;
}

static uint64_t u64_of(const vug_weights *w, const char *key, uint64_t i)
{
    uint64_t n = 0;
    assert_true(vug_gguf_u64(value_of(w, key), i, &n));
    return n;
}

static int64_t i64_of(const vug_weights *w, const char *key, uint64_t i)
{
    int64_t n = 0;
    assert_true(vug_gguf_i64(value_of(w, key), i, &n));
    return n;
}

static double f64_of(const vug_weights *w, const char *key, uint64_t i)
{
    double n = 0;
    assert_true(vug_gguf_f64(value_of(w, key), i, &n));
    return n;
}

static bool bool_of(const vug_weights *w, const char *key, uint64_t i)
{
    bool b = false;
    assert_true(vug_gguf_bool(value_of(w, key), i, &b));
    return b;
}

static void assert_string_is(const vug_weights *w, const char *key, const char *expected)
{
    vug_str s = { 0 };
    assert_true(vug_gguf_string(value_of(w, key), &s));
    assert_true(vug_str_is(s, expected));
}

static void assert_strings_are(const vug_weights *w, const char *key, const char *const *expected,
                               size_t n)
{
    vug_gguf_strings it = vug_gguf_strings_of(value_of(w, key));
    vug_str s = { 0 };
    assert_int_equal(it.left, n);
    for (size_t i = 0; i < n; i++) {
        assert_true(vug_gguf_next_string(&it, &s));
        assert_true(vug_str_is(s, expected[i]));
    }
    assert_false(vug_gguf_next_string(&it, &s));
}

static const vug_tensor *tensor_of(const vug_weights *w, const char *name)
{
    const vug_tensor *t = vug_weights_find(w, vug_str_of(name));
    if (!t)
        fail_msg("no tensor %s", name);
    return t;
}

/* ---- written by Python's gguf ---------------------------------------------- */

static void check_python_metadata(const vug_weights *w)
{
    static const char *const tokens[] = { "<pad>", "a", "\xe2\x96\x81\x62", "" };
    assert_string_is(w, "general.architecture", "toy");
    assert_string_is(w, "every.string", "caf\xc3\xa9");
    assert_strings_are(w, "tokenizer.ggml.tokens", tokens, 4);
    assert_int_equal(u64_of(w, "toy.block_count", 0), 2);
    assert_int_equal(u64_of(w, "every.u8", 0), 200);
    assert_int_equal(i64_of(w, "every.i8", 0), -100);
    assert_int_equal(u64_of(w, "every.u16", 0), 60000);
    assert_int_equal(i64_of(w, "every.i16", 0), -30000);
    assert_int_equal(u64_of(w, "every.u32", 0), 4000000000);
    assert_int_equal(i64_of(w, "every.i32", 0), -2000000000);
    assert_true(f64_of(w, "every.f32", 0) == (double)0.1f);
    assert_true(bool_of(w, "every.bool", 0));
    assert_true(u64_of(w, "every.u64", 0) == UINT64_MAX);
    assert_true(i64_of(w, "every.i64", 0) == INT64_MIN);
    assert_true(f64_of(w, "every.f64", 0) == 0.1);
    assert_int_equal(i64_of(w, "every.ints", 1), -2);
    assert_true(f64_of(w, "every.floats", 1) == -1.5);
    assert_false(bool_of(w, "every.bools", 1));
    assert_true(bool_of(w, "every.bools", 2));
    assert_true(f64_of(w, "tokenizer.ggml.scores", 3) == -3);
    assert_int_equal(i64_of(w, "tokenizer.ggml.token_type", 0), 3);
}

static void test_python_file(void **state)
{
    (void)state;
    vug_weights *w = open_good("tests/golden/gguf/python.gguf");
    assert_int_equal(vug_weights_gguf(w)->n, 21);
    check_python_metadata(w);
    assert_int_equal(vug_weights_count(w), 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(vug_weights_at(w, i)->offset % 64, 0);
    const vug_tensor *t = tensor_of(w, "blk.0.attn_q.weight");
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->dim[0], 6);
    assert_int_equal(t->dim[1], 5);
    for (size_t i = 0; i < 30; i++) {
        float x;
        memcpy(&x, t->data + 4 * i, sizeof(x));
        assert_true(x == (float)i / 8);
    }
    t = tensor_of(w, "blk.0.norm.weight");
    assert_int_equal(t->dtype, VUG_DTYPE_F16);
    float half[7];
    vug_codec_of(t->dtype)->decode(t->data, half, 7);
    for (int i = 0; i < 7; i++)
        assert_true(half[i] == (float)i);
    t = tensor_of(w, "blk.1.ffn_up.weight");
    assert_int_equal(t->dtype, VUG_DTYPE_Q8_0);
    assert_int_equal(t->dim[0], 2);
    assert_int_equal(t->dim[1], 64);
    assert_int_equal(t->bytes, 136);
    assert_int_equal((int8_t)t->data[2], -127);  /* the smallest of its block */
    assert_int_equal((int8_t)t->data[135], 127); /* the largest of its block */
    assert_int_equal(tensor_of(w, "blk.1.ffn_down.weight")->dtype, VUG_DTYPE_BF16);
    t = tensor_of(w, "experts");
    assert_int_equal(t->rank, 3);
    assert_int_equal(t->dim[0], 2);
    assert_int_equal(t->dim[2], 4);
    assert_int_equal(t->data[92], 23);
    assert_true(vug_weights_mapped(w) > t->offset);
    vug_weights_close(w);
}

/* ---- writing --------------------------------------------------------------- */

/* A value that differs between tensors and within each. */
static uint8_t byte_of(size_t i, uint64_t at)
{
    return (uint8_t)(at * 31 + (at >> 8) * 7 + i * 101 + 5);
}

#define NAME(text)               \
    {                            \
        (text), sizeof(text) - 1 \
    }

static const vug_tensor_spec specs[] = {
    { NAME("token_embd.weight"), VUG_DTYPE_Q4_K, 2, { 5500, 1536 } }, /* two pieces of rows */
    { NAME("one"), VUG_DTYPE_F32, 1, { 1 } },
    { NAME("a row larger than a piece"), VUG_DTYPE_Q6_K, 1, { 7680000 } },
    { NAME("e\xcc\x81"), VUG_DTYPE_MXFP4, 4, { 2, 3, 1, 32 } },
    { NAME("blk.0.ffn_gate_exps.weight.that.has.a.name.of.63.bytes.exactly."),
      VUG_DTYPE_BF16,
      3,
      { 3, 5, 7 } },
};
enum { N_SPECS = sizeof(specs) / sizeof(specs[0]) };

typedef struct {
    size_t i;
    uint64_t at, total;
    uint64_t fail_after, stop_after; /* bytes; 0: never */
    int pieces;
} tensor_filler;

static vug_status fill_tensor(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user,
                              vug_err *err)
{
    tensor_filler *f = user;
    const vug_dtype_info *info = vug_dtype_of(specs[i].dtype);
    assert_int_equal(at, i == f->i ? f->at : 0); /* in order, without gaps */
    assert_int_equal(n % (size_t)info->bytes, 0);
    assert_in_range(n, 1, VUG_STREAM_PIECE);
    if (i == 0)
        assert_int_equal(n % 864, 0); /* whole rows */
    f->i = i;
    f->at = at + n;
    f->total += n;
    f->pieces++;
    if (f->fail_after && f->total > f->fail_after)
        return VUG_FAIL(err, VUG_UNSUPPORTED, "the tensor_filler gave up");
    for (size_t k = 0; k < n; k++)
        bytes[k] = byte_of(i, at + k);
    return VUG_OK;
}

static bool on_progress(uint64_t done, uint64_t total, void *user)
{
    tensor_filler *f = user;
    assert_int_equal(done, f->total);
    assert_true(done <= total);
    return f->stop_after == 0 || done < f->stop_after;
}

static vug_tensor_stream stream_of(tensor_filler *f)
{
    return (vug_tensor_stream){ specs, N_SPECS, fill_tensor, f, on_progress, f };
}

static vug_gguf_builder make_metadata(void)
{
    static const vug_str tokens[] = { NAME("<pad>"), NAME(""), NAME("\xe2\x96\x81x") };
    vug_gguf_builder b = { 0 };
    vug_gguf_put_string(&b, "general.architecture", vug_str_of("toy"));
    vug_gguf_put_u32(&b, "a.u32", UINT32_MAX);
    vug_gguf_put_u64(&b, "a.u64", UINT64_MAX - 1);
    vug_gguf_put_i32(&b, "a.i32", INT32_MIN);
    vug_gguf_put_f32(&b, "a.f32", -0.1f);
    vug_gguf_put_bool(&b, "a.bool", true);
    vug_gguf_put_string(&b, "a.empty", (vug_str){ 0 });
    vug_gguf_put_u32s(&b, "a.u32s", (const uint32_t[]){ 1, UINT32_MAX }, 2);
    vug_gguf_put_i32s(&b, "a.i32s", (const int32_t[]){ -1, INT32_MAX }, 2);
    vug_gguf_put_f32s(&b, "a.f32s", (const float[]){ 0.5f, -2 }, 2);
    vug_gguf_put_bools(&b, "a.bools", (const bool[]){ true, false }, 2);
    vug_gguf_put_f32s(&b, "a.none", NULL, 0);
    vug_gguf_put_strings(&b, "a.strings", tokens, 3);
    vug_gguf_begin_strings(&b, "a.more", 2);
    vug_gguf_put_element(&b, tokens[2]);
    vug_gguf_put_element(&b, tokens[0]);
    return b;
}

static void check_metadata(const vug_weights *w)
{
    static const char *const tokens[] = { "<pad>", "", "\xe2\x96\x81x", "<pad>" };
    assert_string_is(w, "general.architecture", "toy");
    assert_string_is(w, "a.empty", "");
    assert_strings_are(w, "a.strings", tokens, 3);
    assert_strings_are(w, "a.more", tokens + 2, 2);
    assert_int_equal(u64_of(w, "a.u32", 0), UINT32_MAX);
    assert_true(u64_of(w, "a.u64", 0) == UINT64_MAX - 1);
    assert_int_equal(i64_of(w, "a.i32", 0), INT32_MIN);
    assert_true(f64_of(w, "a.f32", 0) == (double)-0.1f);
    assert_true(bool_of(w, "a.bool", 0));
    assert_int_equal(u64_of(w, "a.u32s", 1), UINT32_MAX);
    assert_int_equal(i64_of(w, "a.i32s", 0), -1);
    assert_int_equal(i64_of(w, "a.i32s", 1), INT32_MAX);
    assert_true(f64_of(w, "a.f32s", 1) == -2);
    assert_true(bool_of(w, "a.bools", 0) && !bool_of(w, "a.bools", 1));
    assert_int_equal(value_of(w, "a.none")->count, 0);
    assert_int_equal(value_of(w, "a.none")->type, VUG_GGUF_F32);
}

static void check_tensors(const vug_weights *w, uint64_t alignment)
{
    assert_int_equal(vug_weights_count(w), N_SPECS);
    for (size_t i = 0; i < N_SPECS; i++) {
        const vug_tensor *t = vug_weights_at(w, i);
        assert_true(vug_str_equal(t->name, specs[i].name));
        assert_int_equal(t->dtype, specs[i].dtype);
        assert_int_equal(t->rank, specs[i].rank);
        assert_memory_equal(t->dim, specs[i].dim, (size_t)t->rank * sizeof(t->dim[0]));
        assert_int_equal(t->offset % alignment, 0);
        size_t wrong = 0;
        for (uint64_t k = 0; k < t->bytes; k++)
            wrong += t->data[k] != byte_of(i, k);
        assert_int_equal(wrong, 0);
    }
    /* The last tensor is padded, too. */
    assert_int_equal(vug_weights_mapped(w) % alignment, 0);
}

static void test_write_round_trip(void **state)
{
    (void)state;
    static const uint32_t alignments[] = { 0, 64, 65536 };
    const scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "m.gguf");
    for (size_t i = 0; i < 3; i++) {
        tensor_filler f = { 0 };
        vug_err err = { 0 };
        const vug_tensor_stream s = stream_of(&f);
        vug_gguf_builder b = make_metadata();
        if (alignments[i])
            vug_gguf_put_u32(&b, "general.alignment", alignments[i]);
        if (vug_gguf_write(path.path, &b, &s, &err) != VUG_OK)
            fail_msg("%s", err.msg);
        vug_gguf_builder_release(&b);
        assert_int_equal(f.pieces, 2 + 1 + 2 + 1 + 1);
        vug_weights *w = open_good(path.path);
        check_metadata(w);
        check_tensors(w, alignments[i] ? alignments[i] : 32);
        vug_weights_close(w);
    }
    scratch_remove(&dir);
}

/* Every key of the other writer's file, copied by our writer. */
static void test_copied_metadata(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "copy.gguf");
    vug_weights *w = open_good("tests/golden/gguf/python.gguf");
    vug_gguf_builder b = { 0 };
    const vug_gguf *gguf = vug_weights_gguf(w);
    for (size_t i = 0; i < gguf->n; i++)
        vug_gguf_put_value(&b, &gguf->value[i]);
    const vug_tensor_stream none = { 0 };
    assert_int_equal(vug_gguf_write(path.path, &b, &none, NULL), VUG_OK);
    vug_weights_close(w);
    vug_gguf_builder_release(&b);
    w = open_good(path.path);
    assert_int_equal(vug_weights_gguf(w)->n, 21);
    check_python_metadata(w);
    assert_int_equal(vug_weights_count(w), 0);
    vug_weights_close(w);
    scratch_remove(&dir);
}

static void expect_empty(const scratch *dir)
{
    vug_arena arena = { 0 };
    vug_str *names = NULL;
    size_t n = 0;
    assert_int_equal(vug_list_folder(dir->path, &arena, &names, &n, NULL), VUG_OK);
    assert_int_equal(n, 0);
    vug_arena_release(&arena);
}

static void test_write_is_all_or_nothing(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "m.gguf");
    vug_gguf_builder b = make_metadata();
    vug_err err = { 0 };
    tensor_filler f = { .fail_after = 5000000 };
    vug_tensor_stream s = stream_of(&f);
    assert_int_equal(vug_gguf_write(path.path, &b, &s, &err), VUG_UNSUPPORTED);
    assert_string_equal(err.msg, "the tensor_filler gave up");
    expect_empty(&dir);
    f = (tensor_filler){ .stop_after = 5000000 };
    assert_int_equal(vug_gguf_write(path.path, &b, &s, &err), VUG_CANCELLED);
    assert_non_null(strstr(err.msg, "m.gguf: writing was cancelled"));
    expect_empty(&dir);
    f = (tensor_filler){ 0 };
    assert_int_equal(vug_gguf_write(scratch_at(&dir, "no/m.gguf").path, &b, &s, &err), VUG_WRITE);
    assert_non_null(strstr(err.msg, "no/m.gguf: cannot write: No such file or directory"));
    vug_gguf_builder_release(&b);
    scratch_remove(&dir);
}

static vug_status fill_nothing(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user,
                               vug_err *err)
{
    (void)i, (void)at, (void)user, (void)err;
    memset(bytes, 0, n);
    return VUG_OK;
}

static void test_write_refuses(void **state)
{
    (void)state;
    static const struct {
        vug_tensor_spec tensor[2];
        vug_status code;
        const char *end;
    } row[] = {
        { { { NAME("a"), VUG_DTYPE_F32, 1, { 1 } }, { NAME("a"), VUG_DTYPE_F16, 1, { 1 } } },
          VUG_ARGUMENT,
          "two tensors have the name 'a'" },
        { { { NAME("a"), VUG_DTYPE_F32, 1, { 1 } }, { NAME("b\xff"), VUG_DTYPE_F16, 1, { 1 } } },
          VUG_ARGUMENT,
          "tensor 1: 'b\xff' is not a valid name" },
        { { { NAME("a"), VUG_DTYPE_F32, 1, { 1 } }, { NAME(""), VUG_DTYPE_F16, 1, { 1 } } },
          VUG_ARGUMENT,
          "'' cannot be the name of a tensor in GGUF, expected 1 to 63 bytes without a NUL" },
        { { { NAME("a"), VUG_DTYPE_F32, 1, { 1 } },
            { NAME("0123456789012345678901234567890123456789012345678901234567890123"),
              VUG_DTYPE_F16,
              1,
              { 1 } } },
          VUG_ARGUMENT,
          "'0123456789012345678901234567890123456789012345678901234567890123' cannot be the name "
          "of a tensor in GGUF, expected 1 to 63 bytes without a NUL" },
        { { { NAME("a"), VUG_DTYPE_F32, 1, { 1 } }, { NAME("b"), VUG_DTYPE_U32, 1, { 1 } } },
          VUG_UNSUPPORTED,
          "tensor 'b': GGUF does not have the format U32" },
        { { { NAME("a"), VUG_DTYPE_F32, 1, { 1 } }, { NAME("b"), VUG_DTYPE_F32, 0, { 0 } } },
          VUG_ARGUMENT,
          "tensor 'b': GGUF cannot hold the shape F32 [], expected 1 to 4 dimensions, none 0, and "
          "rows "
          "of whole blocks of 1" },
        { { { NAME("a"), VUG_DTYPE_F32, 1, { 1 } },
            { NAME("b"), VUG_DTYPE_F32, 5, { 1, 1, 1, 1, 1 } } },
          VUG_ARGUMENT,
          "tensor 'b': GGUF cannot hold the shape F32 [1,1,1,1,1], expected 1 to 4 dimensions, "
          "none 0, "
          "and rows of whole blocks of 1" },
        { { { NAME("a"), VUG_DTYPE_F32, 1, { 1 } }, { NAME("b"), VUG_DTYPE_F32, 2, { 4, 0 } } },
          VUG_ARGUMENT,
          "tensor 'b': GGUF cannot hold the shape F32 [4,0], expected 1 to 4 dimensions, none 0, "
          "and "
          "rows of whole blocks of 1" },
        { { { NAME("a"), VUG_DTYPE_F32, 1, { 1 } }, { NAME("b"), VUG_DTYPE_Q4_0, 2, { 32, 16 } } },
          VUG_ARGUMENT,
          "tensor 'b': GGUF cannot hold the shape Q4_0 [32,16], expected 1 to 4 dimensions, none "
          "0, "
          "and rows of whole blocks of 32" },
        { { { NAME("a"), VUG_DTYPE_I8, 1, { INT64_MAX - 31 } },
            { NAME("b"), VUG_DTYPE_I8, 1, { 32 } } },
          VUG_ARGUMENT,
          "tensor 'b': GGUF cannot hold the shape I8 [32], expected 1 to 4 dimensions, none 0, and "
          "rows of whole blocks of 1" },
    };
    const scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "m");
    vug_gguf_builder b = make_metadata();
    vug_err err = { 0 };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        const vug_tensor_stream s = { .tensor = row[i].tensor, .n = 2, .fill = fill_nothing };
        assert_int_equal(vug_gguf_write(path.path, &b, &s, &err), row[i].code);
        assert_string_equal(err.msg + strlen(path.path) + 2, row[i].end);
    }
    const vug_tensor_stream none = { 0 };
    vug_gguf_put_element(&b, vug_str_of("too many"));
    assert_int_equal(vug_gguf_write(path.path, &b, &none, &err), VUG_ARGUMENT);
    assert_non_null(strstr(err.msg, "m: 16 bytes of metadata do not belong to a key"));
    vug_gguf_builder_release(&b);
    b = make_metadata();
    vug_gguf_put_bool(&b, "a.u32", false);
    assert_int_equal(vug_gguf_write(path.path, &b, &none, &err), VUG_FORMAT);
    assert_non_null(strstr(err.msg, "m: key 'a.u32' occurs twice"));
    vug_gguf_builder_release(&b);
    b = make_metadata();
    vug_gguf_put_u32(&b, "general.alignment", 24);
    assert_int_equal(vug_gguf_write(path.path, &b, &none, &err), VUG_FORMAT);
    vug_gguf_builder_release(&b);
    expect_empty(&dir);
    scratch_remove(&dir);
}

/* ---- limits ----------------------------------------------------------------- */

static void test_metadata_limit(void **state)
{
    (void)state;
    enum { LIMIT = 256 << 20, BEFORE = 24, PAIR = 8 + 1 + 4 + 4 + 8 };
    const scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "m.gguf");
    vug_buf f = { 0 };
    gguf_header(&f, 3, 0, 1);
    gguf_array(&f, "k", VUG_GGUF_U8, LIMIT - PAIR);
    scratch_write(&dir, "m.gguf", f.ptr, f.len);
    assert_int_equal(truncate(path.path, BEFORE + LIMIT + 10), 0); /* sparse */
    vug_weights_close(open_good(path.path));
    f.len = 0;
    gguf_header(&f, 3, 0, 1);
    gguf_array(&f, "k", VUG_GGUF_U8, LIMIT - PAIR + 1);
    scratch_write(&dir, "m.gguf", f.ptr, f.len);
    assert_int_equal(truncate(path.path, BEFORE + LIMIT + 10), 0);
    expect_error(
            path.path, VUG_LIMIT,
            "m.gguf: key 'k': extends to byte 268435481, at most 268435456 bytes of metadata are "
            "read");
    vug_buf_release(&f);
    scratch_remove(&dir);
}

/* ---- parts ----------------------------------------------------------------- */

typedef struct {
    int64_t no, count, total; /* -1: no such key */
    const char *tensor;
} split_part;

static void write_part(const scratch *dir, const char *name, const split_part *p)
{
    vug_gguf_builder b = { 0 };
    if (p->no == 0)
        vug_gguf_put_string(&b, "general.name", vug_str_of("whole"));
    if (p->no >= 0)
        vug_gguf_put_u32(&b, "split.no", (uint32_t)p->no);
    if (p->count >= 0)
        vug_gguf_put_u64(&b, "split.count", (uint64_t)p->count);
    if (p->total >= 0)
        vug_gguf_put_i32(&b, "split.tensors.count", (int32_t)p->total);
    if (p->no == 1)
        vug_gguf_put_u32(&b, "general.alignment", 128); /* each part has its own alignment */
    const vug_tensor_spec spec = { vug_str_of(p->tensor), VUG_DTYPE_F32, 1, { 3 } };
    const vug_tensor_stream s = { .tensor = &spec, .n = 1, .fill = fill_nothing };
    assert_int_equal(vug_gguf_write(scratch_at(dir, name).path, &b, &s, NULL), VUG_OK);
    vug_gguf_builder_release(&b);
}

#define FIRST  "m-00001-of-00003.gguf"
#define SECOND "m-00002-of-00003.gguf"
#define THIRD  "m-00003-of-00003.gguf"

static const split_part good_parts[3] = { { 0, 3, 3, "a" }, { 1, 3, 3, "b" }, { 2, 3, 3, "c" } };

static scratch split_model(void)
{
    const scratch dir = scratch_make();
    write_part(&dir, FIRST, &good_parts[0]);
    write_part(&dir, SECOND, &good_parts[1]);
    write_part(&dir, THIRD, &good_parts[2]);
    return dir;
}

static void test_parts(void **state)
{
    (void)state;
    static const char *const files[] = { FIRST, SECOND, THIRD };
    const scratch dir = split_model();
    for (int i = 0; i < 3; i++) {
        vug_weights *w = open_good(scratch_at(&dir, files[i]).path);
        assert_int_equal(vug_weights_count(w), 3);
        assert_string_equal(tensor_of(w, "a")->file, FIRST);
        assert_string_equal(tensor_of(w, "c")->file, THIRD);
        assert_ptr_equal(tensor_of(w, "b"), vug_weights_at(w, 1));
        assert_int_equal(tensor_of(w, "b")->offset % 128, 0);
        assert_string_equal(vug_weights_gguf(w)->file, FIRST);
        assert_string_is(w, "general.name", "whole");
        vug_weights_close(w);
    }
    scratch_remove(&dir);
    /* Part one of one is a complete file. */
    const scratch one = scratch_make();
    write_part(&one, "m-00001-of-00001.gguf", &(split_part){ 0, 1, 1, "a" });
    vug_weights *w = open_good(scratch_at(&one, "m-00001-of-00001.gguf").path);
    assert_int_equal(vug_weights_count(w), 1);
    vug_weights_close(w);
    scratch_remove(&one);
}

static void test_bad_parts(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        split_part part;
        const char *end;
    } row[] = {
        { SECOND,
          { 2, 3, 3, "b" },
          SECOND ": key 'split.no' is 2 at byte 44, expected 1: its name says part 2 of 3" },
        { SECOND,
          { 1, 4, 3, "b" },
          SECOND ": key 'split.count' is 4 at byte 71, expected 3: its name says part 2 of 3" },
        { SECOND,
          { 1, -1, 3, "b" },
          SECOND ": no key 'split.count', expected 3: its name says part 2 of 3" },
        { THIRD,
          { -1, 3, 3, "c" },
          THIRD ": no key 'split.no', expected 2: its name says part 3 of 3" },
        { FIRST,
          { 0, -1, 3, "a" },
          FIRST ": no key 'split.count', expected 3: its name says part 1 of 3" },
        { FIRST,
          { 0, 3, -1, "a" },
          FIRST ": no key 'split.tensors.count', expected 3: the number of tensors in all parts" },
        { FIRST,
          { 0, 3, 4, "a" },
          FIRST ": key 'split.tensors.count' is 4 at byte 147, expected 3: the number of tensors "
                "in all parts" },
        { THIRD,
          { 2, 3, 3, "a" },
          FIRST ": tensor 'a' is in " FIRST " and in " THIRD ", expected once" },
    };
    const scratch dir = split_model();
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        write_part(&dir, row[i].file, &row[i].part);
        expect_error(scratch_at(&dir, FIRST).path, VUG_FORMAT, row[i].end);
        for (int k = 0; k < 3; k++)
            write_part(&dir, k == 0 ? FIRST : k == 1 ? SECOND : THIRD, &good_parts[k]);
    }
    scratch_puts(&dir, SECOND, "GGUF");
    expect_error(scratch_at(&dir, FIRST).path, VUG_FORMAT,
                 SECOND ": 4 bytes, a GGUF file begins with 24");
    assert_int_equal(remove(scratch_at(&dir, SECOND).path), 0);
    expect_error(scratch_at(&dir, THIRD).path, VUG_IO,
                 SECOND ": the file is missing, part 2 of 3 of a split model");
    scratch_remove(&dir);
}

static void test_names_of_parts(void **state)
{
    (void)state;
    static const struct {
        const char *name, *end;
        vug_status code;
    } row[] = {
        { "renamed.gguf",
          "renamed.gguf: key 'split.count' at byte 108 says that this is one of 3 parts, expected "
          "a name that ends in -00001-of-00003.gguf",
          VUG_FORMAT },
        { "m-00001-of-00001.gguf",
          "m-00001-of-00001.gguf: key 'split.count' at byte 108 says that this is one of 3 parts, "
          "expected a name that ends in -00001-of-00003.gguf",
          VUG_FORMAT },
        { "m-00004-of-00003.gguf",
          "m-00004-of-00003.gguf: the name says part 4 of 3, expected 1 to 3", VUG_FORMAT },
        { "m-00000-of-00003.gguf",
          "m-00000-of-00003.gguf: the name says part 0 of 3, expected 1 to 3", VUG_FORMAT },
        { "m-00001-of-99999.gguf",
          "m-00001-of-99999.gguf: a model of 99999 parts, at most 4096 are read", VUG_LIMIT },
        { "m-0001-of-0003.gguf",
          "m-0001-of-0003.gguf: key 'split.count' at byte 108 says that this is one of 3 parts, "
          "expected a name that ends in -00001-of-00003.gguf",
          VUG_FORMAT },
    };
    const scratch dir = scratch_make();
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        write_part(&dir, row[i].name, &good_parts[0]);
        expect_error(scratch_at(&dir, row[i].name).path, row[i].code, row[i].end);
    }
    expect_error(scratch_at(&dir, "none.gguf").path, VUG_IO,
                 "none.gguf: cannot open: No such file or directory");
    /* Counts may have any integer type, and no other type. */
    vug_buf f = { 0 };
    gguf_header(&f, 3, 0, 1);
    gguf_key(&f, "split.count", VUG_GGUF_F32);
    gguf_put(&f, 0x40400000, 4);
    scratch_write(&dir, "f32.gguf", f.ptr, f.len);
    expect_error(scratch_at(&dir, "f32.gguf").path, VUG_FORMAT,
                 "f32.gguf: key 'split.count': f32 at byte 47, expected an integer");
    f.len = 0;
    gguf_header(&f, 3, 0, 1);
    gguf_key(&f, "split.count", VUG_GGUF_U16);
    gguf_put(&f, 0, 2);
    scratch_write(&dir, "u16.gguf", f.ptr, f.len);
    vug_weights_close(open_good(scratch_at(&dir, "u16.gguf").path));
    vug_buf_release(&f);
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_python_file),     cmocka_unit_test(test_write_round_trip),
        cmocka_unit_test(test_copied_metadata), cmocka_unit_test(test_write_is_all_or_nothing),
        cmocka_unit_test(test_write_refuses),   cmocka_unit_test(test_metadata_limit),
        cmocka_unit_test(test_parts),           cmocka_unit_test(test_bad_parts),
        cmocka_unit_test(test_names_of_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
