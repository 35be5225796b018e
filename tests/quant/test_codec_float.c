/*
 * The codecs of quant/codec_float.c against independent formulas: values built with ldexp in
 * double, rounding by division by the unit in the last place.
 */
#include "test.h"

#include "ir/dtype.h"
#include "quant/codec.h"

#include <math.h>

/* A format of one sign, `e` exponent and `m` mantissa bits. */
typedef struct {
    vug_dtype dtype;
    int e, m;
} float_layout;

static const float_layout f16 = { VUG_DTYPE_F16, 5, 10 };
static const float_layout bf16 = { VUG_DTYPE_BF16, 8, 7 };

static float decode(float_layout s, uint32_t bits)
{
    const uint8_t bytes[2] = { (uint8_t)bits, (uint8_t)(bits >> 8) };
    float out = 0;
    vug_codec_of(s.dtype)->decode(bytes, &out, 1);
    return out;
}

static uint32_t encode(float_layout s, float x)
{
    uint8_t bytes[2] = { 0 };
    vug_codec_of(s.dtype)->encode(&x, bytes, 1);
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* IEEE 754-2019, section 3.4, by its formulas. */
static double value_of(float_layout s, uint32_t bits)
{
    const int bias = (1 << (s.e - 1)) - 1;
    const int exponent = (int)(bits >> s.m) & ((1 << s.e) - 1);
    const int mantissa = (int)bits & ((1 << s.m) - 1);
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << s.e) - 1)
        return mantissa ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - bias - s.m);
    return sign * ldexp(mantissa + (1 << s.m), exponent - bias - s.m);
}

/* The format's value nearest to x, the one with the even mantissa among two. */
static double nearest(float_layout s, double x)
{
    const int bias = (1 << (s.e - 1)) - 1;
    if (x == 0 || isinf(x))
        return x;
    int exponent = ilogb(x);
    if (exponent < 1 - bias)
        exponent = 1 - bias;
    const double unit = ldexp(1, exponent - s.m);
    const double below = floor(x / unit), rest = x / unit - below;
    const double up = rest > 0.5 || (rest == 0.5 && fmod(below, 2) != 0) ? 1 : 0;
    const double out = (below + up) * unit;
    return fabs(out) >= ldexp(1, bias + 1) ? copysign(INFINITY, x) : out;
}

static void check_patterns(float_layout s)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const float x = decode(s, bits);
        const double expected = value_of(s, bits);
        if (isnan(expected)) {
            assert_true(isnan(x));
            assert_true(isnan(value_of(s, encode(s, x))));
            assert_int_equal(encode(s, x) >> 15, bits >> 15);
        } else {
            assert_true((double)x == expected);
            assert_int_equal(signbit(x) != 0, bits >> 15);
            assert_int_equal(encode(s, x), bits);
        }
    }
}

static void test_all_patterns(void **state)
{
    (void)state;
    check_patterns(f16);
    check_patterns(bf16);
}

/* Between any two neighbours (infinity follows the largest value) the midpoint rounds to the
 * even one, and the F32 values next to the midpoint round to the nearer one. */
static void check_ties(float_layout s)
{
    const uint32_t infinity = ((1u << s.e) - 1) << s.m;
    for (uint32_t low = 0; low < infinity; low++) {
        const double a = value_of(s, low);
        const double b = low + 1 < infinity ? value_of(s, low + 1) : ldexp(1, (1 << (s.e - 1)));
        const float middle = (float)((a + b) / 2);
        assert_true((double)middle == (a + b) / 2);
        const uint32_t even = low + (low & 1), up = bits_of(middle) + 1, down = up - 2;
        assert_int_equal(encode(s, middle), even);
        assert_int_equal(encode(s, -middle), 0x8000 | even);
        assert_int_equal(encode(s, float_of(up)), low + 1);
        assert_int_equal(encode(s, float_of(down)), low);
    }
}

static void test_ties_to_even(void **state)
{
    (void)state;
    check_ties(f16);
    check_ties(bf16);
}

static void check_scattered(float_layout s)
{
    /* Weyl sequence: every 2^32 / golden ratio-th pattern. */
    for (uint32_t i = 0, bits = 0; i < 500000; i++, bits += 0x9e3779b9u) {
        const float x = float_of(bits);
        const double got = value_of(s, encode(s, x));
        if (isnan(x))
            assert_true(isnan(got));
        else
            assert_true(got == nearest(s, (double)x));
    }
}

static void test_scattered_values(void **state)
{
    (void)state;
    check_scattered(f16);
    check_scattered(bf16);
}

static void test_edges(void **state)
{
    (void)state;
    assert_int_equal(encode(f16, 65504), 0x7bff);
    assert_int_equal(encode(f16, nextafterf(65520, 0)), 0x7bff);
    assert_int_equal(encode(f16, 65520), 0x7c00);
    assert_int_equal(encode(f16, -3e38f), 0xfc00);
    assert_int_equal(encode(f16, INFINITY), 0x7c00);
    assert_int_equal(encode(f16, ldexpf(1, -24)), 1);
    assert_int_equal(encode(f16, ldexpf(1, -25)), 0); /* a tie with zero */
    assert_int_equal(encode(f16, nextafterf(ldexpf(1, -25), 1)), 1);
    assert_int_equal(encode(f16, -1e-40f), 0x8000);
    assert_int_equal(encode(f16, -0.0f), 0x8000);
    assert_int_equal(encode(bf16, 3.40282347e38f), 0x7f80);
    assert_int_equal(encode(bf16, 1.0f), 0x3f80);
    assert_int_equal(encode(bf16, -0.0f), 0x8000);
    /* NaNs whose payload is only in the bits that rounding drops. */
    assert_true(isnan(value_of(bf16, encode(bf16, float_of(0x7f800001)))));
    assert_true(isnan(value_of(bf16, encode(bf16, float_of(0xffffffff)))));
    assert_true(isnan(value_of(f16, encode(f16, float_of(0x7f800001)))));
    assert_true(isnan(value_of(f16, encode(f16, float_of(0xffffffff)))));
}

static uint8_t encode_e4m3(float x)
{
    uint8_t out;
    vug_codec_of(VUG_DTYPE_E4M3)->encode(&x, &out, 1);
    return out;
}

/* OCP 8-bit Floating Point, table 1: no infinities, and one NaN of each sign. */
static double value_of_e4m3(unsigned bits)
{
    const int exponent = (int)(bits >> 3 & 15), mantissa = (int)(bits & 7);
    const double sign = bits & 0x80 ? -1 : 1;
    if ((bits & 0x7f) == 0x7f)
        return NAN;
    return sign * (exponent ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9));
}

static void test_e4m3(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 256; bits++) {
        const uint8_t byte = (uint8_t)bits;
        float x;
        vug_codec_of(VUG_DTYPE_E4M3)->decode(&byte, &x, 1);
        const double expected = value_of_e4m3(bits);
        assert_int_equal(signbit(x) != 0, bits >> 7);
        assert_true(isnan(expected) ? isnan(x) : (double)x == expected);
        assert_int_equal(encode_e4m3(x), bits);
    }
    for (unsigned low = 0; low < 0x7e; low++) {
        const float middle = (float)((value_of_e4m3(low) + value_of_e4m3(low + 1)) / 2);
        const uint32_t up = bits_of(middle) + 1, down = up - 2;
        assert_int_equal(encode_e4m3(middle), low + (low & 1));
        assert_int_equal(encode_e4m3(-middle), 0x80 | (low + (low & 1)));
        assert_int_equal(encode_e4m3(float_of(up)), low + 1);
        assert_int_equal(encode_e4m3(float_of(down)), low);
    }
    static const float above[] = { 449, 464, 465, 480, 1e9f, INFINITY };
    for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++) {
        assert_int_equal(encode_e4m3(above[i]), 0x7e);
        assert_int_equal(encode_e4m3(-above[i]), 0xfe);
    }
    assert_int_equal(encode_e4m3(1e-40f), 0);
}

static void test_e8m0(void **state)
{
    (void)state;
    for (int i = 0; i < 256; i++) {
        const uint8_t byte = (uint8_t)i;
        float x;
        vug_codec_of(VUG_DTYPE_E8M0)->decode(&byte, &x, 1);
        assert_true(i == 255 ? isnan(x) : (double)x == ldexp(1, i - 127));
    }
}

static void test_f32_is_copied(void **state)
{
    (void)state;
    static const uint32_t bits[] = { 0, 0x80000000, 1, 0x7f800001, 0xffc12345, 0x3f800000 };
    const vug_codec *codec = vug_codec_of(VUG_DTYPE_F32);
    uint8_t bytes[1 + sizeof(bits)], back[1 + sizeof(bits)];
    float x[6];
    memcpy(bytes + 1, bits, sizeof(bits)); /* at an odd address */
    codec->decode(bytes + 1, x, 6);
    codec->encode(x, back + 1, 6);
    assert_memory_equal(back + 1, bits, sizeof(bits));
    assert_true(x[5] == 1.0f);
}

/* Rows of several elements at an odd address, little-endian. */
static void test_spans(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 0xee, 0x80, 0x3f, 0x00, 0xc0, 0x40, 0x40 };
    float x[3] = { 0 };
    vug_codec_of(VUG_DTYPE_BF16)->decode(bytes + 1, x, 3);
    assert_true(x[0] == 1.0f && x[1] == -2.0f && x[2] == 3.0f);
    uint8_t back[8] = { 0 };
    vug_codec_of(VUG_DTYPE_BF16)->encode(x, back + 1, 3);
    assert_memory_equal(back + 1, bytes + 1, 6);
    assert_int_equal(back[7], 0);
    vug_codec_of(VUG_DTYPE_F16)->encode(x, back + 1, 3);
    static const uint8_t half[] = { 0x00, 0x3c, 0x00, 0xc0, 0x00, 0x42 };
    assert_memory_equal(back + 1, half, 6);
}

static void test_find(void **state)
{
    (void)state;
    for (int i = 0; i < VUG_DTYPE_COUNT; i++)
        assert_int_equal(vug_dtype_find(vug_str_of(vug_dtype_of((vug_dtype)i)->name)), i);
    assert_int_equal(vug_dtype_find(vug_str_of("bf16")), VUG_DTYPE_BF16);
    assert_int_equal(vug_dtype_find(vug_str_of("f8_e4m3FN")), VUG_DTYPE_COUNT);
    assert_int_equal(vug_dtype_find(vug_str_of("F3")), VUG_DTYPE_COUNT);
    assert_int_equal(vug_dtype_find(vug_str_of("F323")), VUG_DTYPE_COUNT);
    assert_int_equal(vug_dtype_find((vug_str){ 0 }), VUG_DTYPE_COUNT);
}

static void test_size(void **state)
{
    (void)state;
    uint64_t bytes = 7;
    assert_true(vug_dtype_size(VUG_DTYPE_BF16, 5, &bytes));
    assert_int_equal(bytes, 10);
    assert_true(vug_dtype_size(VUG_DTYPE_F4, 6, &bytes));
    assert_int_equal(bytes, 3);
    assert_true(vug_dtype_size(VUG_DTYPE_E3M2, 8, &bytes));
    assert_int_equal(bytes, 6);
    assert_true(vug_dtype_size(VUG_DTYPE_F64, 0, &bytes));
    assert_int_equal(bytes, 0);
    bytes = 7;
    assert_false(vug_dtype_size(VUG_DTYPE_F4, 5, &bytes));
    assert_false(vug_dtype_size(VUG_DTYPE_E2M3, 6, &bytes));
    assert_false(vug_dtype_size(VUG_DTYPE_F64, UINT64_MAX / 8 + 1, &bytes));
    assert_int_equal(bytes, 7);
    assert_true(vug_dtype_size(VUG_DTYPE_F64, UINT64_MAX / 8, &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_patterns),
        cmocka_unit_test(test_ties_to_even),
        cmocka_unit_test(test_scattered_values),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_e4m3),
        cmocka_unit_test(test_e8m0),
        cmocka_unit_test(test_f32_is_copied),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
