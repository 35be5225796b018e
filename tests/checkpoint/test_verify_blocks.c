/*
 * vug_verify_blocks: reports of equal and different weights, refused layouts, and a file
 * with every byte changed and at every length.
 */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "scratch.h"
#include "vug/checkpoint.h"
#include "weights/weights.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { MAX_CHECKS = 64 };

/* The reports of a call; names are valid only during the callback. */
typedef struct {
    vug_blocks_check check[MAX_CHECKS];
    char name[MAX_CHECKS][32];
    size_t n;
} checked_formats;

static void record_check(const vug_blocks_check *check, void *user)
{
    checked_formats *h = user;
    assert_true(h->n < MAX_CHECKS);
    (void)snprintf(h->name[h->n], sizeof(h->name[h->n]), "%s", check->name);
    h->check[h->n++] = *check;
}

static void test_golden_blocks_are_equal(void **state)
{
    (void)state;
    checked_formats h = { 0 };
    vug_err err;
    help_ok(vug_verify_blocks("tests/golden/quants.safetensors", record_check, &h, &err), &err);
    assert_int_equal(h.n, 15 + 6 * 3);
    assert_string_equal(h.name[0], "Q4_0");
    assert_string_equal(h.name[32], "mlx.b8.g128");
    for (size_t i = 0; i < h.n; i++) {
        assert_int_equal(h.check[i].n_different, 0);
        assert_int_equal(h.check[i].rows, 3);
        assert_int_equal(h.check[i].columns, 512);
    }
}

/* ---- small files -------------------------------------------------------------------- */

enum { MAX_DATA = 4 * 96 };

typedef struct {
    const char *name;
    vug_dtype dtype;
    int rank;
    int64_t dim[VUG_TENSOR_MAX_RANK];
    uint8_t data[MAX_DATA];
} blocks_tensor;

enum { BLOCKS, BLOCKS_F32, WEIGHT, SCALES, BIASES, MLX_F32, N_PIECES };

/* Two formats. Q8_0: scale 1/2, weight e of row r is (e + 10 r) / 2. MLX of 4 bits: weight
 * e is 2 (e mod 16) - 3 in the first group of 32, the negative in the second. */
static void make(blocks_tensor *p)
{
    memset(p, 0, N_PIECES * sizeof(*p));
    p[BLOCKS] = (blocks_tensor){ "Q8_0.blocks", VUG_DTYPE_U8, 2, { 2, 34 }, { 0 } };
    p[BLOCKS_F32] = (blocks_tensor){ "Q8_0.f32", VUG_DTYPE_F32, 2, { 2, 32 }, { 0 } };
    p[WEIGHT] = (blocks_tensor){ "mlx.b4.g32.weight", VUG_DTYPE_U32, 2, { 1, 8 }, { 0 } };
    p[SCALES] = (blocks_tensor){ "mlx.b4.g32.scales", VUG_DTYPE_F32, 2, { 1, 2 }, { 0 } };
    p[BIASES] = (blocks_tensor){ "mlx.b4.g32.biases", VUG_DTYPE_F32, 2, { 1, 2 }, { 0 } };
    p[MLX_F32] = (blocks_tensor){ "mlx.b4.g32.f32", VUG_DTYPE_F32, 2, { 1, 64 }, { 0 } };
    for (int64_t r = 0; r < 2; r++) {
        p[BLOCKS].data[34 * r + 1] = 0x38; /* 1/2 in F16 */
        for (int64_t e = 0; e < 32; e++) {
            const float w = (float)(e + 10 * r) / 2;
            p[BLOCKS].data[34 * r + 2 + e] = (uint8_t)(e + 10 * r);
            memcpy(p[BLOCKS_F32].data + 4 * (32 * r + e), &w, 4);
        }
    }
    static const float scale[2] = { 2, -2 }, bias[2] = { -3, 3 };
    memcpy(p[SCALES].data, scale, sizeof(scale));
    memcpy(p[BIASES].data, bias, sizeof(bias));
    for (int64_t e = 0; e < 64; e++) {
        const float w = scale[e / 32] * (float)(e % 16) + bias[e / 32];
        p[WEIGHT].data[e / 2] |= (uint8_t)(e % 16 << (e % 2 * 4));
        memcpy(p[MLX_F32].data + 4 * e, &w, 4);
    }
}

static vug_status fill(size_t i, uint64_t at, uint8_t *bytes, size_t n, void *user, vug_err *err)
{
    const blocks_tensor *p = user;
    (void)err;
    memcpy(bytes, p[i].data + at, n);
    return VUG_OK;
}

static void put(const scratch *s, blocks_tensor *p, size_t n)
{
    vug_tensor_spec spec[N_PIECES + 1];
    vug_err err;
    for (size_t i = 0; i < n; i++) {
        spec[i] = (vug_tensor_spec){ .name = vug_str_of(p[i].name),
                                     .dtype = p[i].dtype,
                                     .rank = p[i].rank };
        memcpy(spec[i].dim, p[i].dim, sizeof(spec[i].dim));
    }
    const vug_tensor_stream tensors = { .tensor = spec, .n = n, .fill = fill, .user = p };
    help_ok(vug_safetensors_write(scratch_at(s, "b").path, &tensors, &err), &err);
}

static checked_formats check(const scratch *s, blocks_tensor *p)
{
    checked_formats h = { 0 };
    vug_err err;
    put(s, p, N_PIECES);
    help_ok(vug_verify_blocks(scratch_at(s, "b").path, record_check, &h, &err), &err);
    assert_int_equal(h.n, 2);
    return h;
}

static void put_float(uint8_t *at, uint32_t bits)
{
    memcpy(at, &bits, sizeof(bits));
}

static void test_differences_are_reported(void **state)
{
    const scratch *s = *state;
    blocks_tensor p[N_PIECES];
    make(p);
    checked_formats h = check(s, p);
    assert_int_equal(h.check[0].n_different + h.check[1].n_different, 0);
    assert_int_equal(h.check[0].rows, 2);
    assert_int_equal(h.check[0].columns, 32);
    assert_int_equal(h.check[1].columns, 64);

    /* Two weights of the second row, the lowest bit of one. */
    put_float(p[BLOCKS_F32].data + sizeof(float) * (32 + 3), 0x40d00001); /* 6.5 and a bit */
    put_float(p[BLOCKS_F32].data + sizeof(float) * (32 + 9), 0);
    h = check(s, p);
    assert_int_equal(h.check[0].n_different, 2);
    assert_int_equal(h.check[0].row, 1);
    assert_int_equal(h.check[0].column, 3);
    assert_true(h.check[0].decoded == 6.5f && h.check[0].expected == nextafterf(6.5f, 7));
    assert_int_equal(h.check[1].n_different, 0);

    /* The sign of a zero counts. */
    make(p);
    put_float(p[BLOCKS_F32].data, 0x80000000);
    h = check(s, p);
    assert_int_equal(h.check[0].n_different, 1);
    assert_int_equal(h.check[0].column, 0);

    /* Which NaN it is does not matter. */
    make(p);
    p[BLOCKS].data[1] = 0x7e;
    for (int64_t e = 0; e < 32; e++)
        put_float(p[BLOCKS_F32].data + 4 * e, 0xff812345);
    h = check(s, p);
    assert_int_equal(h.check[0].n_different, 0);
    put_float(p[BLOCKS_F32].data, 0x7f800000);
    h = check(s, p);
    assert_int_equal(h.check[0].n_different, 1);

    make(p);
    p[BIASES].data[7] ^= 0x80; /* of the second group */
    h = check(s, p);
    assert_int_equal(h.check[1].n_different, 32);
    assert_int_equal(h.check[1].column, 32);
}

/* ---- files that are refused ------------------------------------------------------------ */

#define LAYOUT \
    "; expected TYPE.blocks with TYPE.f32, or mlx.bB.gG.weight with .scales, .biases and .f32"

static void test_bad_layouts_are_refused(void **state)
{
    const scratch *s = *state;
    static const struct {
        int piece;
        vug_dtype dtype;  /* VUG_DTYPE_COUNT: its own */
        const char *name; /* NULL: its own */
        int64_t dim[3];
        int rank; /* 0: its own */
        vug_status code;
        const char *message;
    } rows[] = {
        /* clang-format off */
        { BLOCKS, VUG_DTYPE_COUNT, "Q9_0.blocks", { 0 }, 0, VUG_UNSUPPORTED, "tensor 'Q9_0.blocks' has no known format" LAYOUT },
        { BLOCKS, VUG_DTYPE_COUNT, "I64.blocks", { 0 }, 0, VUG_UNSUPPORTED, "tensor 'I64.blocks' has no known format" LAYOUT },
        { BLOCKS, VUG_DTYPE_COUNT, "MLX4.blocks", { 0 }, 0, VUG_UNSUPPORTED, "tensor 'MLX4.blocks' has no known format" LAYOUT },
        { BLOCKS, VUG_DTYPE_COUNT, "Q8_0", { 0 }, 0, VUG_UNSUPPORTED, "tensor 'Q8_0' has no known format" LAYOUT },
        { BLOCKS, VUG_DTYPE_COUNT, "Q8_0.weight", { 0 }, 0, VUG_UNSUPPORTED, "tensor 'Q8_0.weight' has no known format" LAYOUT },
        { BLOCKS, VUG_DTYPE_COUNT, "a-name-that-is-longer-than-that-of-any-format-that-there-is-or-will-be-in-the-years-to-come.blocks", { 0 }, 0, VUG_UNSUPPORTED, "tensor 'a-name-that-is-longer-than-that-of-any-format-that-there-is-or-will-be-in-the-years-to-come.blocks' has no known format" LAYOUT },
        { BLOCKS, VUG_DTYPE_COUNT, "Q4_0.blocks", { 0 }, 0, VUG_FORMAT, "has no tensor 'Q4_0.f32'" LAYOUT },
        { BLOCKS_F32, VUG_DTYPE_COUNT, "Q4_0.f32", { 0 }, 0, VUG_FORMAT, "has no tensor 'Q8_0.f32'" LAYOUT },
        { BLOCKS, VUG_DTYPE_I8, NULL, { 0 }, 0, VUG_FORMAT, "tensor 'Q8_0.blocks' is I8, expected U8" },
        { BLOCKS_F32, VUG_DTYPE_I32, NULL, { 0 }, 0, VUG_FORMAT, "tensor 'Q8_0.f32' is I32, expected F32" },
        { BLOCKS, VUG_DTYPE_COUNT, NULL, { 68 }, 1, VUG_FORMAT, "tensor 'Q8_0.blocks' is of rank 1, expected 2" },
        { BLOCKS_F32, VUG_DTYPE_COUNT, NULL, { 2, 4, 8 }, 3, VUG_FORMAT, "tensor 'Q8_0.f32' is of rank 3, expected 2" },
        { BLOCKS, VUG_DTYPE_COUNT, NULL, { 2, 33 }, 2, VUG_FORMAT, "tensor 'Q8_0.blocks' is [2,33], Q8_0.f32 gives [2,34]" },
        { BLOCKS, VUG_DTYPE_COUNT, NULL, { 3, 34 }, 2, VUG_FORMAT, "tensor 'Q8_0.blocks' is [3,34], Q8_0.f32 gives [2,34]" },
        { BLOCKS, VUG_DTYPE_COUNT, NULL, { 0, 34 }, 2, VUG_FORMAT, "tensor 'Q8_0.blocks' is [0,34], Q8_0.f32 gives [2,34]" },
        { BLOCKS_F32, VUG_DTYPE_COUNT, NULL, { 2, 31 }, 2, VUG_FORMAT, "tensor 'Q8_0.f32' has rows of 31, expected a multiple of 32" },
        { BLOCKS_F32, VUG_DTYPE_COUNT, NULL, { 0, 32 }, 2, VUG_FORMAT, "tensor 'Q8_0.f32' is empty" },
        { BLOCKS_F32, VUG_DTYPE_COUNT, NULL, { 2, 0 }, 2, VUG_FORMAT, "tensor 'Q8_0.f32' is empty" },
        { WEIGHT, VUG_DTYPE_I32, NULL, { 0 }, 0, VUG_FORMAT, "tensor 'mlx.b4.g32.weight' is I32, expected U32" },
        { WEIGHT, VUG_DTYPE_COUNT, NULL, { 1, 7 }, 2, VUG_FORMAT, "tensor 'mlx.b4.g32.weight' is [1,7], mlx.b4.g32.f32 gives [1,8]" },
        { WEIGHT, VUG_DTYPE_COUNT, "mlx.b4.g32.blocks", { 0 }, 0, VUG_UNSUPPORTED, "tensor 'mlx.b4.g32.blocks' has no known format" LAYOUT },
        { WEIGHT, VUG_DTYPE_COUNT, "mlx.b7.g32.weight", { 0 }, 0, VUG_UNSUPPORTED, "tensor 'mlx.b7.g32.weight' has no known format" LAYOUT },
        { WEIGHT, VUG_DTYPE_COUNT, "mlx.b4.g31.weight", { 0 }, 0, VUG_UNSUPPORTED, "tensor 'mlx.b4.g31.weight' has no known format" LAYOUT },
        { WEIGHT, VUG_DTYPE_COUNT, "mlx.b4.g0.weight", { 0 }, 0, VUG_UNSUPPORTED, "tensor 'mlx.b4.g0.weight' has no known format" LAYOUT },
        { WEIGHT, VUG_DTYPE_COUNT, "mlx.b4.g-32.weight", { 0 }, 0, VUG_UNSUPPORTED, "tensor 'mlx.b4.g-32.weight' has no known format" LAYOUT },
        { WEIGHT, VUG_DTYPE_COUNT, "mlx.b.weight", { 0 }, 0, VUG_UNSUPPORTED, "tensor 'mlx.b.weight' has no known format" LAYOUT },
        { WEIGHT, VUG_DTYPE_COUNT, "mlx..weight", { 0 }, 0, VUG_UNSUPPORTED, "tensor 'mlx..weight' has no known format" LAYOUT },
        { WEIGHT, VUG_DTYPE_COUNT, "mlx.weight", { 0 }, 0, VUG_UNSUPPORTED, "tensor 'mlx.weight' has no known format" LAYOUT },
        { WEIGHT, VUG_DTYPE_COUNT, "mlx.b4.g64.weight", { 0 }, 0, VUG_FORMAT, "has no tensor 'mlx.b4.g64.f32'" LAYOUT },
        { SCALES, VUG_DTYPE_I32, NULL, { 0 }, 0, VUG_FORMAT, "tensor 'mlx.b4.g32.scales' is I32, expected F32, F16 or BF16" },
        { SCALES, VUG_DTYPE_COUNT, NULL, { 2, 1 }, 2, VUG_FORMAT, "tensor 'mlx.b4.g32.scales' is [2,1], mlx.b4.g32.f32 gives [1,2]" },
        { BIASES, VUG_DTYPE_F16, NULL, { 0 }, 0, VUG_FORMAT, "tensor 'mlx.b4.g32.biases' is F16, expected F32" },
        { BIASES, VUG_DTYPE_COUNT, NULL, { 1, 3 }, 2, VUG_FORMAT, "tensor 'mlx.b4.g32.biases' is [1,3], mlx.b4.g32.f32 gives [1,2]" },
        { MLX_F32, VUG_DTYPE_COUNT, NULL, { 1, 48 }, 2, VUG_FORMAT, "tensor 'mlx.b4.g32.f32' has rows of 48, expected a multiple of 32" },
        /* clang-format on */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        blocks_tensor p[N_PIECES];
        checked_formats h = { 0 };
        vug_err err;
        char message[300];
        make(p);
        blocks_tensor *changed = &p[rows[i].piece];
        if (rows[i].name)
            changed->name = rows[i].name;
        if (rows[i].dtype != VUG_DTYPE_COUNT)
            changed->dtype = rows[i].dtype;
        if (rows[i].rank) {
            changed->rank = rows[i].rank;
            memcpy(changed->dim, rows[i].dim, sizeof(rows[i].dim));
        }
        put(s, p, N_PIECES);
        (void)snprintf(message, sizeof(message), "FOLDER/b: %s", rows[i].message);
        help_refused(vug_verify_blocks(scratch_at(s, "b").path, record_check, &h, &err), &err,
                     rows[i].code, s->path, message);
    }
}

static void test_missing_tensors_are_refused(void **state)
{
    const scratch *s = *state;
    checked_formats h = { 0 };
    vug_err err;
    blocks_tensor p[N_PIECES];
    make(p);
    put(s, p, 0);
    help_refused(vug_verify_blocks(scratch_at(s, "b").path, record_check, &h, &err), &err,
                 VUG_FORMAT, s->path, "FOLDER/b: has no tensors" LAYOUT);
    put(s, p, BIASES);
    help_refused(vug_verify_blocks(scratch_at(s, "b").path, record_check, &h, &err), &err,
                 VUG_FORMAT, s->path, "FOLDER/b: has no tensor 'mlx.b4.g32.f32'" LAYOUT);
    put(s, p + BLOCKS_F32, 1);
    help_refused(vug_verify_blocks(scratch_at(s, "b").path, record_check, &h, &err), &err,
                 VUG_FORMAT, s->path, "FOLDER/b: has no tensor 'Q8_0.blocks'" LAYOUT);
}

/* A header with long rows needs that many bytes in the file, but no extra memory. */
static void test_long_rows_are_refused(void **state)
{
    const scratch *s = *state;
    static const char header[] =
            "{\"BF16.f32\":{\"dtype\":\"F32\",\"shape\":[1,1048577],\"data_offsets\":[0,4194308]}}";
    checked_formats h = { 0 };
    vug_err err;
    const size_t size = 8 + sizeof(header) - 1 + 4194308;
    uint8_t *file = vug_alloc_zero(size, 1);
    assert_non_null(file);
    file[0] = sizeof(header) - 1;
    memcpy(file + 8, header, sizeof(header) - 1);
    scratch_write(s, "b", file, size);
    vug_free(file);
    help_refused(vug_verify_blocks(scratch_at(s, "b").path, record_check, &h, &err), &err,
                 VUG_LIMIT, s->path,
                 "FOLDER/b: tensor 'BF16.f32' has rows of 1048577, at most 1048576 are read");
}

/* Under the sanitizers this shows that there are no reads out of bounds. */
static void test_damaged_files_are_handled(void **state)
{
    const scratch *s = *state;
    blocks_tensor p[N_PIECES];
    vug_text file = { 0 };
    vug_err err;
    make(p);
    put(s, p, N_PIECES);
    const scratch_path path = scratch_at(s, "b");
    assert_int_equal(vug_read_file(path.path, 1 << 16, &file, &err), VUG_OK);
    uint8_t *bytes = vug_alloc(file.len, 1);
    assert_non_null(bytes);
    const size_t data = file.len - (68 + 256 + 32 + 8 + 8 + 256); /* of the six */
    for (size_t i = 0; i < file.len; i++) {
        static const uint8_t flips[] = { 1, 0x80, 0xff };
        for (size_t k = 0; k < COUNT(flips); k++) {
            checked_formats h = { 0 };
            memcpy(bytes, file.ptr, file.len);
            bytes[i] ^= flips[k];
            scratch_write(s, "b", bytes, file.len);
            const vug_status st = vug_verify_blocks(path.path, record_check, &h, &err);
            if (i < data)
                continue;
            /* Every bit of the weights and of the expected values matters. */
            help_ok(st, &err);
            assert_true(h.check[0].n_different + h.check[1].n_different > 0);
        }
    }
    for (size_t n = 0; n < file.len; n++) {
        checked_formats h = { 0 };
        scratch_write(s, "b", file.ptr, n);
        assert_int_not_equal(vug_verify_blocks(path.path, record_check, &h, &err), VUG_OK);
    }
    vug_free(bytes);
    vug_text_release(&file);
}

int main(void)
{
    scratch s = scratch_make();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_blocks_are_equal),
        cmocka_unit_test_prestate(test_differences_are_reported, &s),
        cmocka_unit_test_prestate(test_bad_layouts_are_refused, &s),
        cmocka_unit_test_prestate(test_missing_tensors_are_refused, &s),
        cmocka_unit_test_prestate(test_long_rows_are_refused, &s),
        cmocka_unit_test_prestate(test_damaged_files_are_handled, &s),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scratch_remove(&s);
    return failed;
}
