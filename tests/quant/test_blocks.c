/*
 * Block codecs, quant/blocks.c and blocks_k.c, against reference implementations
 * (tests/golden/quants.safetensors, and single blocks whose values are known), and against
 * independent formulas that compute one element at a time in double precision.
 */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "ir/tensor.h"
#include "quant/matrix.h"
#include "weights/weights.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { MAX_COLUMNS = 1024 };

/* The same bits, or both NaN: the payload of a NaN is not specified. */
static bool same_float(float a, float b)
{
    uint32_t x, y;
    memcpy(&x, &a, sizeof(x));
    memcpy(&y, &b, sizeof(y));
    return x == y || (isnan(a) && isnan(b));
}

static void assert_same(const float *got, const float *expected, int64_t n, const char *what)
{
    for (int64_t i = 0; i < n; i++) {
        if (!same_float(got[i], expected[i]))
            print_error("%s: %a at %lld, expected %a\n", what, (double)got[i], (long long)i,
                        (double)expected[i]);
        assert_true(same_float(got[i], expected[i]));
    }
}

/* A row of `n` elements in memory, decoded and as blocks. */
static void decode_row(vug_dtype dtype, const uint8_t *data, int64_t n, float *out)
{
    const vug_matrix m = { .dtype = dtype, .data = data, .columns = n };
    vug_matrix_decode(&m, 0, out);
}

/* ---- the fixture ----------------------------------------------------------------- */

/* The bytes are placed at an even and at an odd address. */
static void check_rows(vug_matrix m, uint64_t bytes, const vug_tensor *expected)
{
    uint8_t *moved = vug_alloc(bytes + 1, 1);
    assert_non_null(moved);
    const uint8_t *at[2] = { moved, moved + 1 };
    const uint8_t *original = m.data;
    for (size_t i = 0; i < COUNT(at); i++) {
        memcpy(moved + i, original, bytes);
        m.data = at[i];
        for (int64_t row = 0; row < expected->dim[0]; row++) {
            float got[MAX_COLUMNS], want[MAX_COLUMNS];
            memcpy(want, expected->data + row * m.columns * 4, (size_t)m.columns * 4);
            vug_matrix_decode(&m, row, got);
            assert_same(got, want, m.columns, vug_dtype_of(m.dtype)->name);
        }
    }
    vug_free(moved);
}

static const vug_tensor *find_part(const vug_weights *w, const char *prefix, const char *part)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "%s.%s", prefix, part);
    const vug_tensor *t = vug_weights_find(w, vug_str_of(name));
    assert_non_null(t);
    return t;
}

static vug_weights *open_fixture(void)
{
    vug_weights *w;
    vug_err err;
    help_ok(vug_weights_open_file("tests/golden/quants.safetensors", &w, &err), &err);
    return w;
}

static void test_ggml_golden(void **state)
{
    (void)state;
    static const char *const names[] = { "Q4_0", "Q4_1", "Q5_0",   "Q5_1",   "Q8_0",
                                         "Q2_K", "Q3_K", "Q4_K",   "Q5_K",   "Q6_K",
                                         "F16",  "BF16", "IQ4_NL", "IQ4_XS", "MXFP4" };
    vug_weights *w = open_fixture();
    for (size_t i = 0; i < COUNT(names); i++) {
        const vug_tensor *t = find_part(w, names[i], "blocks");
        const vug_tensor *expected = find_part(w, names[i], "f32");
        const vug_matrix m = { .dtype = vug_dtype_find(vug_str_of(names[i])),
                               .data = t->data,
                               .columns = expected->dim[1] };
        assert_int_equal(m.columns, 512);
        check_rows(m, t->bytes, expected);
    }
    vug_weights_close(w);
}

static const vug_dtype mlx[] = { VUG_DTYPE_MLX2, VUG_DTYPE_MLX3, VUG_DTYPE_MLX4,
                                 VUG_DTYPE_MLX5, VUG_DTYPE_MLX6, VUG_DTYPE_MLX8 };
static const int mlx_bits[] = { 2, 3, 4, 5, 6, 8 };

static void test_mlx_golden(void **state)
{
    (void)state;
    vug_weights *w = open_fixture();
    for (size_t i = 0; i < COUNT(mlx); i++) {
        for (int group = 32; group <= 128; group *= 2) {
            char prefix[32];
            (void)snprintf(prefix, sizeof(prefix), "mlx.b%d.g%d", mlx_bits[i], group);
            const vug_tensor *t = find_part(w, prefix, "weight");
            const vug_tensor *scales = find_part(w, prefix, "scales");
            const vug_matrix m = { .dtype = mlx[i],
                                   .data = t->data,
                                   .columns = 512,
                                   .scales = { .scale = scales->data,
                                               .bias = find_part(w, prefix, "biases")->data,
                                               .dtype = scales->dtype,
                                               .rows = 1,
                                               .columns = group,
                                               .stride = 512 / group } };
            check_rows(m, t->bytes, find_part(w, prefix, "f32"));
        }
    }
    vug_weights_close(w);
}

/* ---- single blocks ---------------------------------------------------------------- */

/* byte[i] = 73 i + 41, d = 0.09375 and m or dmin = 0.046875, decoded by ggml's C code:
 * elements 0, 1, 2, 15, 16, 17, 31 and the last; the sum, and the sum of (i + 1) x[i]. */
static const struct {
    vug_dtype dtype;
    int d, m; /* offsets of d and m or dmin; -1: none */
    float at[8];
    double sum, weighted;
} golden[] = {
    /* clang-format off */
    { VUG_DTYPE_Q4_0, 0, -1, { 0.28125f, -0.375f, 0.46875f, -0.5625f, 0.28125f, -0.75f, -0.75f, -0.75f }, -3.09375, -74.90625 },
    { VUG_DTYPE_Q4_1, 0, 2, { 1.265625f, 0.609375f, 1.453125f, 0.421875f, 0.421875f, 0.890625f, 0.890625f, 0.890625f }, 22.59375, 349.6875 },
    { VUG_DTYPE_Q5_0, 0, -1, { 1.40625f, 0.75f, -1.40625f, -0.9375f, 1.21875f, -1.3125f, 0.1875f, 0.1875f }, -4.21875, -111.09375 },
    { VUG_DTYPE_Q5_1, 0, 2, { 1.640625f, 0.984375f, 1.828125f, 2.296875f, 2.203125f, 2.578125f, 1.078125f, 1.078125f }, 48.46875, 779.25 },
    { VUG_DTYPE_Q8_0, 0, -1, { -6.46875f, 0.375f, 7.21875f, 0.1875f, 7.03125f, -10.125f, -10.3125f, -10.3125f }, -4.5, -64.5 },
    { VUG_DTYPE_MXFP4, -1, -1, { 0.125f, -0.1875f, 0.25f, -0.0625f, 0.75f, -0.1875f, -0.1875f, -0.1875f }, 1.5625, 39.125 },
    { VUG_DTYPE_IQ4_NL, 0, -1, { 3.5625f, -4.59375f, 6.46875f, -7.78125f, 3.5625f, -11.90625f, -11.90625f, -11.90625f }, -45.09375, -1132.125 },
    { VUG_DTYPE_Q2_K, 80, 82, { 0.75f, 1.59375f, 2.4375f, -0.09375f, -0.140625f, 0.046875f, -0.328125f, -0.328125f }, 191.53125, 23530.3125 },
    { VUG_DTYPE_Q3_K, 108, -1, { -0.65625f, 1.3125f, -1.96875f, 2.625f, 0.1875f, -0.375f, -0.75f, -2.25f }, 21.9375, 3257.4375 },
    { VUG_DTYPE_Q4_K, 0, 2, { 8.671875f, 0.140625f, 11.109375f, -2.296875f, 8.671875f, 0.140625f, -2.296875f, -1.078125f }, 5001.75, 690878.25 },
    { VUG_DTYPE_Q5_K, 0, 2, { 28.171875f, 0.140625f, 30.609375f, -2.296875f, 28.171875f, 0.140625f, -2.296875f, -1.078125f }, 10319.25, 1397297.25 },
    { VUG_DTYPE_Q6_K, 208, -1, { 15.09375f, -4.3125f, -58.21875f, 69, -32.8125f, 9.375f, -150, 27 }, -1391.625, -152637 },
    { VUG_DTYPE_IQ4_XS, 0, -1, { -282.75f, 67.96875f, -176.71875f, 2.71875f, -27.1875f, 103.3125f, 103.3125f, -70.3125f }, -604.6875, 82786.03125 },
    /* clang-format on */
};

static void write_half(uint8_t *at, uint16_t bits)
{
    at[0] = (uint8_t)bits;
    at[1] = (uint8_t)(bits >> 8);
}

static void test_single_blocks(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(golden); i++) {
        const vug_dtype_info *info = vug_dtype_of(golden[i].dtype);
        uint8_t block[256];
        for (int k = 0; k < info->bytes; k++)
            block[k] = (uint8_t)(73 * k + 41);
        if (golden[i].d >= 0)
            write_half(block + golden[i].d, 0x2e00);
        else
            block[0] = 124; /* MXFP4's exponent */
        if (golden[i].m >= 0)
            write_half(block + golden[i].m, 0x2a00);
        float x[256];
        decode_row(golden[i].dtype, block, info->elements, x);
        const float at[8] = { x[0], x[1], x[2], x[15], x[16], x[17], x[31], x[info->elements - 1] };
        assert_same(at, golden[i].at, 8, info->name);
        double sum = 0, weighted = 0;
        for (int e = 0; e < info->elements; e++) {
            sum += (double)x[e];
            weighted += (e + 1) * (double)x[e];
        }
        assert_true(sum == golden[i].sum);
        assert_true(weighted == golden[i].weighted);
    }
}

/* ---- any bytes ------------------------------------------------------------------------ */

static double decode_half(const uint8_t *b)
{
    const int bits = b[0] | b[1] << 8, exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31)
        return mantissa ? NAN : sign * INFINITY;
    return exponent ? sign * ldexp(1024 + mantissa, exponent - 25) : sign * ldexp(mantissa, -24);
}

static const double iq4[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                1,    13,   25,  38,  53,  69,  89,  113 };
/* Unlike E2M1, tables of integers have a single zero. */
static const double e2m1[16] = { 0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6 };

/* The value of element e of a block, by the format's formula. Every product of an F16 and
 * these integers is exact in F32, and their sum is exact in double, so rounding it once gives
 * the result of F32 arithmetic. */
static double element_of_32(vug_dtype dtype, const uint8_t *b, int e)
{
    const double d = decode_half(b);
    const int bytes = vug_dtype_of(dtype)->bytes;
    const uint8_t byte = b[bytes - 16 + e % 16];
    const int nib = e < 16 ? byte & 15 : byte >> 4;
    const bool fifth = dtype == VUG_DTYPE_Q5_0 || dtype == VUG_DTYPE_Q5_1;
    const int five = fifth ? nib + 16 * (b[bytes - 20 + e / 8] >> (e % 8) & 1) : 0;
    switch (dtype) {
    case VUG_DTYPE_Q4_0:
        return d * (nib - 8);
    case VUG_DTYPE_Q4_1:
        return d * nib + decode_half(b + 2);
    case VUG_DTYPE_Q5_0:
        return d * (five - 16);
    case VUG_DTYPE_Q5_1:
        return d * five + decode_half(b + 2);
    case VUG_DTYPE_Q8_0:
        return d * (int8_t)b[2 + e];
    case VUG_DTYPE_IQ4_NL:
        return d * iq4[nib];
    default: /* MXFP4 */
        return ldexp(e2m1[nib], b[0] - 127);
    }
}

static int six_bits(const uint8_t *s, int k, bool minimum)
{
    if (k < 4)
        return s[minimum ? k + 4 : k] & 63;
    const int low = minimum ? s[k + 4] >> 4 : s[k + 4] & 15;
    return low + 16 * (s[minimum ? k : k - 4] >> 6);
}

static double element_of_q45(const uint8_t *b, int e, int q)
{
    const uint8_t *s = b + 4;
    return decode_half(b) * six_bits(s, e / 32, false) * q -
           decode_half(b + 2) * six_bits(s, e / 32, true);
}

static double element_of_q3(const uint8_t *b, int e)
{
    const int half = e / 128, j = e % 128 / 32, l = e % 32, k = e / 16;
    const uint8_t *s = b + 96;
    const int low = k < 8 ? s[k] & 15 : s[k - 8] >> 4;
    const int scale = low + 16 * (s[8 + k % 4] >> (2 * (k / 4)) & 3) - 32;
    const int q = (b[32 + 32 * half + l] >> (2 * j) & 3) - (b[l] >> (4 * half + j) & 1 ? 0 : 4);
    return decode_half(b + 108) * scale * q;
}

static double element_of_256(vug_dtype dtype, const uint8_t *b, int e)
{
    const int half = e / 128, j = e % 128 / 32, l = e % 32;
    const int high = e / 32 % 2; /* of two blocks of 32 in the same bytes */
    int q;
    switch (dtype) {
    case VUG_DTYPE_Q2_K:
        q = b[16 + 32 * half + l] >> (2 * j) & 3;
        return decode_half(b + 80) * (b[e / 16] & 15) * q - decode_half(b + 82) * (b[e / 16] >> 4);
    case VUG_DTYPE_Q3_K:
        return element_of_q3(b, e);
    case VUG_DTYPE_Q4_K:
        q = b[16 + e / 64 * 32 + l];
        return element_of_q45(b, e, high ? q >> 4 : q & 15);
    case VUG_DTYPE_Q5_K:
        q = b[48 + e / 64 * 32 + l];
        return element_of_q45(b, e, (high ? q >> 4 : q & 15) + 16 * (b[16 + l] >> (e / 32) & 1));
    case VUG_DTYPE_Q6_K:
        q = b[64 * half + 32 * (j & 1) + l];
        q = (j < 2 ? q & 15 : q >> 4) + 16 * (b[128 + 32 * half + l] >> (2 * j) & 3) - 32;
        return decode_half(b + 208) * (int8_t)b[192 + e / 16] * q;
    default: /* IQ4_XS */
        q = b[8 + e / 32 * 16 + e % 16];
        return decode_half(b) *
               ((b[4 + e / 64] >> (4 * high) & 15) + 16 * (b[2 + e / 128] >> (2 * j) & 3) - 32) *
               iq4[e % 32 < 16 ? q & 15 : q >> 4];
    }
}

static double expected_element(vug_dtype dtype, const uint8_t *b, int e)
{
    return vug_dtype_of(dtype)->elements == 32 ? element_of_32(dtype, b, e)
                                               : element_of_256(dtype, b, e);
}

/* Checks the invariants of vug_block, and that it represents `w` [32]. scale * factor * q and
 * offset * minimum are exact in double (as above), so w differs by one rounding to F32. */
static void check_block(const vug_block *b, const float *w, const char *name)
{
    double products = 0, minima = 0;
    for (int e = 0; e < 32; e++) {
        const int s = e / 16;
        products += abs(b->factor[s] * b->q[e]) * 127.;
        minima += abs(b->minimum[s]) * 127.;
        const double exact =
                (double)b->scale * (b->factor[s] * b->q[e]) + (double)b->offset * b->minimum[s];
        const float rounded = (float)exact;
        if (!(rounded == w[e] || (isnan(rounded) && isnan(w[e]))))
            print_error("%s: the integers give %a at %d, decoded %a\n", name, exact, e,
                        (double)w[e]);
        assert_true(rounded == w[e] || (isnan(rounded) && isnan(w[e])));
    }
    assert_true(products <= 1 << 24);
    assert_true(minima <= 1 << 24);
}

static void check_bytes(vug_dtype dtype, const uint8_t *row, int n_blocks)
{
    const vug_dtype_info *info = vug_dtype_of(dtype);
    float got[MAX_COLUMNS], expected[MAX_COLUMNS] = { 0 };
    const int n = n_blocks * info->elements;
    const vug_matrix m = { .dtype = dtype, .data = row, .columns = n };
    decode_row(dtype, row, n, got);
    for (int64_t e = 0; e < n; e++)
        expected[e] = (float)expected_element(dtype, row + e / info->elements * info->bytes,
                                              (int)(e % info->elements));
    assert_same(got, expected, n, info->name);
    for (int64_t i = 0; i < n / 32; i++) {
        vug_block b;
        vug_matrix_block(&m, 0, i, &b);
        check_block(&b, got + i * 32, info->name);
    }
}

enum { ROW_BLOCKS = 3 };

static void test_random_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(golden); i++) {
        uint64_t seed = i;
        const int bytes = vug_dtype_of(golden[i].dtype)->bytes * ROW_BLOCKS;
        uint8_t row[1 + 256 * ROW_BLOCKS];
        for (int round = 0; round < 300; round++) {
            for (int k = 0; k <= bytes; k++)
                row[k] = (uint8_t)help_bits(&seed);
            check_bytes(golden[i].dtype, row + round % 2, ROW_BLOCKS);
        }
    }
}

/* Blocks of one repeated byte, then such blocks with scales that are not finite. */
static void test_extreme_bytes(void **state)
{
    (void)state;
    static const uint16_t hostile[] = { 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7bff, 0x0001, 0x8000 };
    for (size_t i = 0; i < COUNT(golden); i++) {
        const int bytes = vug_dtype_of(golden[i].dtype)->bytes;
        uint8_t row[256 * ROW_BLOCKS];
        for (unsigned value = 0; value < 256; value++) {
            memset(row, (int)value, sizeof(row));
            check_bytes(golden[i].dtype, row, ROW_BLOCKS);
            for (size_t h = 0; h < COUNT(hostile); h++) {
                for (int64_t k = 0; k < ROW_BLOCKS && golden[i].d >= 0; k++)
                    write_half(row + k * bytes + golden[i].d, hostile[h]);
                for (int64_t k = 0; k < ROW_BLOCKS && golden[i].m >= 0; k++)
                    write_half(row + k * bytes + golden[i].m,
                               hostile[(h + value) % COUNT(hostile)]);
                check_bytes(golden[i].dtype, row, ROW_BLOCKS);
            }
        }
    }
}

/* The largest integers of a block: with |x| <= 127 their sum of products is below 2^24. */
static void test_largest_integers(void **state)
{
    (void)state;
    uint8_t q6[210] = { 0 };
    memset(q6 + 192, 0x80, 16);
    vug_block b;
    vug_codec_of(VUG_DTYPE_Q6_K)->block(q6, 5, &b);
    int64_t sum = 0;
    for (int e = 0; e < 32; e++)
        sum += (int64_t)b.factor[e / 16] * b.q[e] * 127;
    assert_int_equal(sum, INT64_C(32) * 128 * 32 * 127);
    assert_true(sum < 1 << 24);

    uint8_t xs[136] = { 0 };
    vug_codec_of(VUG_DTYPE_IQ4_XS)->block(xs, 7, &b);
    sum = 0;
    for (int e = 0; e < 32; e++)
        sum += (int64_t)b.factor[e / 16] * b.q[e] * 127;
    assert_int_equal(sum, INT64_C(32) * 32 * 127 * 127);
    assert_true(sum < 1 << 24);
}

/* ---- separate scales -------------------------------------------------------------------- */

/* Examples of MLX's packing: numbers, and the bytes that hold them. */
static void test_bit_streams(void **state)
{
    (void)state;
    static const struct {
        vug_dtype dtype;
        int n, bytes;
        int16_t q[8];
        uint8_t packed[5];
    } rows[] = {
        { VUG_DTYPE_MLX2, 4, 1, { 0, 1, 2, 3 }, { 0xe4 } },
        { VUG_DTYPE_MLX3, 8, 3, { 1, 2, 3, 4, 5, 6, 7, 0 }, { 0xd1, 0x58, 0x1f } },
        { VUG_DTYPE_MLX4, 8, 4, { 1, 2, 3, 4, 5, 6, 7, 8 }, { 0x21, 0x43, 0x65, 0x87 } },
        { VUG_DTYPE_MLX5, 8, 5, { 1, 2, 3, 4, 5, 6, 7, 31 }, { 0x41, 0x0c, 0x52, 0xcc, 0xf9 } },
        { VUG_DTYPE_MLX6, 4, 3, { 1, 2, 3, 63 }, { 0x81, 0x30, 0xfc } },
        { VUG_DTYPE_MLX8, 4, 4, { 1, 2, 3, 4 }, { 1, 2, 3, 4 } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint8_t block[32];
        for (int k = 0; k < 32; k++)
            block[k] = rows[i].packed[k % rows[i].bytes];
        vug_block b;
        vug_codec_of(rows[i].dtype)->block(block, 0, &b);
        for (int e = 0; e < 32; e++)
            assert_int_equal(b.q[e], rows[i].q[e % rows[i].n]);
    }
}

/* Bit by bit. */
static int bits_at(const uint8_t *row, int64_t first, int n)
{
    int out = 0;
    for (int k = 0; k < n; k++)
        out |= (row[(first + k) / 8] >> ((first + k) % 8) & 1) << k;
    return out;
}

/* The i-th of scales that fill_scales wrote. */
static float scale_number(const uint8_t *scales, vug_dtype dtype, int64_t i)
{
    const vug_dtype_info *info = vug_dtype_of(dtype);
    float x;
    vug_codec_of(dtype)->decode(scales + i * info->bytes, &x, 1);
    return x;
}

/* Numbers between -1 and 1 that use all bits of the format. */
static void fill_scales(uint8_t *scales, vug_dtype dtype, int64_t n, uint64_t seed)
{
    const vug_dtype_info *info = vug_dtype_of(dtype);
    for (int64_t i = 0; i < n; i++) {
        const float x = (float)(int32_t)help_bits(&seed) * 0x1p-31f;
        vug_codec_of(dtype)->encode(&x, scales + i * info->bytes, 1);
    }
}

static const vug_dtype scale_formats[] = { VUG_DTYPE_F32, VUG_DTYPE_F16, VUG_DTYPE_BF16 };

enum { OUT = 3, IN = 384 };

static void check_affine(vug_dtype dtype, int bits, vug_dtype scales_in, int group)
{
    uint8_t data[OUT * IN + 1], scale[OUT * IN / 32 * 4 + 1], bias[OUT * IN / 32 * 4 + 3];
    uint64_t seed = (uint64_t)bits + (uint64_t)group;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)help_bits(&seed);
    const int64_t stride = IN / group;
    fill_scales(scale + 1, scales_in, OUT * stride, 1);
    fill_scales(bias + 3, scales_in, OUT * stride, 2);
    const vug_matrix m = { .dtype = dtype,
                           .data = data + 1,
                           .columns = IN,
                           .scales = { .scale = scale + 1,
                                       .bias = bias + 3,
                                       .dtype = scales_in,
                                       .rows = 1,
                                       .columns = group,
                                       .stride = stride } };
    for (int64_t row = 0; row < OUT; row++) {
        float got[IN], expected[IN];
        vug_matrix_decode(&m, row, got);
        for (int64_t e = 0; e < IN; e++) {
            const float s = scale_number(scale + 1, scales_in, row * stride + e / group);
            const float b = scale_number(bias + 3, scales_in, row * stride + e / group);
            const int q = bits_at(data + 1 + row * (IN * bits / 8), e * bits, bits);
            const float product = s * (float)q; /* rounded, then the sum is */
            expected[e] = product + b;
            vug_block block;
            vug_matrix_block(&m, row, e / 32, &block);
            assert_int_equal(block.q[e % 32], q);
            assert_int_equal(block.factor[e % 32 / 16], 1);
            assert_int_equal(block.minimum[e % 32 / 16], 1);
            assert_true(block.scale == s && block.offset == b);
        }
        assert_same(got, expected, IN, vug_dtype_of(dtype)->name);
    }
}

static void test_mlx_scale_formats(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(mlx); i++)
        for (size_t f = 0; f < COUNT(scale_formats); f++)
            for (int group = 32; group <= 128; group *= 2)
                check_affine(mlx[i], mlx_bits[i], scale_formats[f], group);
}

/* Every exponent, including subnormal, infinite and NaN. */
static void test_mlx_fp4(void **state)
{
    (void)state;
    enum { N = 32 * 256 };
    uint8_t data[N / 2], scale[256];
    float got[N];
    uint64_t seed = 4;
    for (int k = 0; k < N / 2; k++)
        data[k] = (uint8_t)help_bits(&seed);
    for (int k = 0; k < 256; k++)
        scale[k] = (uint8_t)k;
    const vug_matrix m = { .dtype = VUG_DTYPE_MLX_FP4,
                           .data = data,
                           .columns = N,
                           .scales = { .scale = scale,
                                       .dtype = VUG_DTYPE_E8M0,
                                       .rows = 1,
                                       .columns = 32,
                                       .stride = 256 } };
    vug_matrix_decode(&m, 0, got);
    for (int64_t k = 0; k < 256; k++) {
        float expected[32];
        for (int e = 0; e < 32; e++)
            expected[e] = (float)ldexp(e2m1[bits_at(data, (32 * k + e) * 4, 4)], (int)k - 127);
        for (int e = 0; k == 255 && e < 32; e++)
            expected[e] = NAN;
        assert_same(got + 32 * k, expected, 32, "MLX_FP4");
        vug_block b;
        vug_matrix_block(&m, 0, k, &b);
        check_block(&b, expected, "MLX_FP4");
    }
}

enum { TILED_ROWS = 7, TILED_COLUMNS = 100 };

static void check_tiles(int64_t rows, int64_t columns, vug_dtype scales_in, bool biased)
{
    uint8_t data[TILED_ROWS * TILED_COLUMNS + 1], scale[sizeof(data) * 4], bias[sizeof(data) * 4];
    uint64_t seed = 5;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)help_bits(&seed);
    const int64_t stride = (TILED_COLUMNS + columns - 1) / columns;
    const int64_t n_scales = (TILED_ROWS + rows - 1) / rows * stride;
    fill_scales(scale + 1, scales_in, n_scales, 3);
    fill_scales(bias + 2, scales_in, n_scales, 4);
    const vug_matrix m = { .dtype = VUG_DTYPE_E4M3,
                           .data = data + 1,
                           .columns = TILED_COLUMNS,
                           .scales = { .scale = scale + 1,
                                       .bias = biased ? bias + 2 : NULL,
                                       .dtype = scales_in,
                                       .rows = rows,
                                       .columns = columns,
                                       .stride = stride } };
    for (int64_t row = 0; row < TILED_ROWS; row++) {
        float got[TILED_COLUMNS + 128], expected[TILED_COLUMNS];
        got[TILED_COLUMNS] = 7;
        vug_matrix_decode(&m, row, got);
        assert_true(got[TILED_COLUMNS] == 7);
        vug_codec_of(m.dtype)->decode(m.data + row * m.columns, expected, TILED_COLUMNS);
        for (int64_t e = 0; e < TILED_COLUMNS; e++) {
            const int64_t at = row / rows * stride + e / columns;
            expected[e] *= scale_number(scale + 1, scales_in, at);
            if (biased)
                expected[e] += scale_number(bias + 2, scales_in, at);
        }
        assert_same(got, expected, TILED_COLUMNS, "E4M3");
    }
}

/* Tiles of all sizes up to the whole matrix; the last ones are partial. */
static void tiles(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, columns;
    } tile[] = { { TILED_ROWS, TILED_COLUMNS },
                 { 1, TILED_COLUMNS },
                 { 128, 128 },
                 { 3, 32 },
                 { 1, 1 },
                 { 2, 99 } };
    for (size_t t = 0; t < COUNT(tile); t++) {
        for (size_t f = 0; f < COUNT(scale_formats); f++) {
            check_tiles(tile[t].rows, tile[t].columns, scale_formats[f], false);
            check_tiles(tile[t].rows, tile[t].columns, scale_formats[f], true);
        }
    }
}

/* Every block format can be decoded, and its sizes fit the loops above. */
static void table(void **state)
{
    (void)state;
    size_t whole = 0, apart = 0;
    for (int i = 0; i < VUG_DTYPE_COUNT; i++) {
        const vug_dtype_info *info = vug_dtype_of((vug_dtype)i);
        const vug_codec *codec = vug_codec_of((vug_dtype)i);
        if (!codec->block)
            continue;
        assert_int_equal(info->elements % 32, 0);
        assert_true(info->elements <= 256 && info->bytes <= 256);
        whole += codec->decode != NULL;
        apart += codec->decode == NULL;
    }
    assert_int_equal(whole, COUNT(golden));
    assert_int_equal(apart, COUNT(mlx) + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ggml_golden),
        cmocka_unit_test(test_mlx_golden),
        cmocka_unit_test(test_single_blocks),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_extreme_bytes),
        cmocka_unit_test(test_largest_integers),
        cmocka_unit_test(test_bit_streams),
        cmocka_unit_test(test_mlx_scale_formats),
        cmocka_unit_test(test_mlx_fp4),
        cmocka_unit_test(tiles),
        cmocka_unit_test(table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
