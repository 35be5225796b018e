/*
 * The key/value cache of a layer: its size, how it rounds keys and values, and how far that
 * rounding can move the result of attention.
 */
#include "test.h"

#include <float.h>
#include <math.h>

#include "attention_help.h"
#include "backend/cpu/ref.h"

/* The layers of a group follow each other in a page. */
static void test_layers_share_a_page(void **state)
{
    (void)state;
    const vug_kv_group group = { .window = 512, .heads = 3, .width = 20, .n_layers = 5 };
    vug_cpu_kv_cache c;
    for (int i = 0; i < 5; i++) {
        assert_true(vug_cpu_kv_cache_init(&c, &group, i, VUG_KV_F32));
        assert_int_equal(c.columns, 32);
        assert_int_equal(vug_cpu_kv_cache_bytes(&c), 64 * 3 * 4 * (20 + 32));
        assert_int_equal(c.offset, (uint64_t)i * vug_cpu_kv_cache_bytes(&c));
    }
    const vug_kv_layout layout = { .group = { group }, .n_groups = 1, .format = VUG_KV_F32 };
    assert_int_equal(vug_cpu_kv_page_bytes(NULL, &layout, 0), 5 * vug_cpu_kv_cache_bytes(&c));
}

/* An element takes 4, 2, 2 or 1 bytes; in Q8, 32 elements have a scale of 4 bytes. */
static void test_bytes_of_each_format(void **state)
{
    (void)state;
    static const struct {
        vug_kv_format kv;
        int64_t width;
        uint64_t slot; /* key and value */
    } rows[] = {
        { VUG_KV_F32, 256, 2048 }, { VUG_KV_F16, 256, 1024 },   { VUG_KV_BF16, 256, 1024 },
        { VUG_KV_Q8, 256, 576 },   { VUG_KV_F16, 20, 40 + 64 }, { VUG_KV_Q8, 33, 33 + 8 + 48 + 8 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_kv_group group = { .heads = 3, .width = rows[i].width, .n_layers = 1 };
        vug_cpu_kv_cache c;
        assert_true(vug_cpu_kv_cache_init(&c, &group, 0, rows[i].kv));
        assert_int_equal(vug_cpu_kv_cache_bytes(&c), rows[i].slot * VUG_KV_PAGE * 3);
        group.heads = INT64_MAX;
        assert_false(vug_cpu_kv_cache_init(&c, &group, 0, rows[i].kv));
        group.heads = INT64_MAX / 64 / rows[i].width;
        assert_false(vug_cpu_kv_cache_init(&c, &group, 0, rows[i].kv));
    }
}

/* ---- rounding -------------------------------------------------------------------- */

/* Ties, and the limits of the formats. */
static const float special[] = {
    0,           -0.0f,     1,           -1,        1.00048828125f, 1.00146484375f, 1.00390625f,
    1.01171875f, 65504,     65519.99f,   65520,     1e6f,           0x1p-14f,       0x1.8p-24f,
    0x1p-25f,    0x1p-126f, 0x1.8p-140f, 0x1p-149f, 3e38f,          FLT_MAX,        0.49999997f,
    63.5f,       127,       126.5f,      1e-38f,    -2.5f,          -3.5f,          0.5f,
    1e-7f,       1.17e-38f,
};
enum { N_SPECIAL = sizeof(special) / sizeof(special[0]) };

/* The softmax weight of a single key is 1, so attention returns its value. */
static void read_back(vug_kv_format kv, const float *x, int64_t width, float *out)
{
    attention_sequence s = { .n = 1, .heads = 1, .kv_heads = 1, .width = width, .kv = kv };
    float *zero = guarded_floats((size_t)width), *value = guarded_floats((size_t)width);
    memset(zero, 0, (size_t)width * sizeof(float));
    memcpy(value, x, (size_t)width * sizeof(float));
    attention_setup f = help_attention_setup(&s, 1, 1);
    attention_pages pages = help_pages(&f, 1);
    const vug_span span = { help_table(&pages, 0), 0, 1 };
    help_append_and_attend(&f, &(vug_cpu_attention_job){ .cache = &f.cache,
                                                         .kv = &pages.kv,
                                                         .span = &span,
                                                         .n_spans = 1,
                                                         .heads = 1,
                                                         .q = zero,
                                                         .k = zero,
                                                         .v = value,
                                                         .out = out,
                                                         .score = { .scale = 1 } });
    help_pages_release(&pages);
    help_attention_teardown(&f);
    free_guarded(zero);
    free_guarded(value);
}

static void check_read_back(vug_kv_format kv, const float *x, int64_t width)
{
    float want[128], got[128];
    vug_ref_round_kv(kv, x, width, want);
    read_back(kv, x, width, got);
    for (int64_t i = 0; i < width; i++) {
        assert_int_equal(isnan(got[i]), isnan(want[i]));
        if (!isnan(want[i])) {
            want[i] += 0; /* a sum from 0 has no -0 */
            check_bits(&got[i], &want[i], 1, vug_kv_format_name(kv));
        }
    }
}

static void test_values_are_rounded_as_defined(void **state)
{
    (void)state;
    rng r = { 28 };
    float x[128];
    for (int kv = 0; kv < VUG_KV_COUNT; kv++) {
        for (int64_t width = 1; width <= N_SPECIAL; width++)
            check_read_back((vug_kv_format)kv, special + N_SPECIAL - width, width);
        for (int i = 0; i < N_SPECIAL; i++)
            check_read_back((vug_kv_format)kv, special + i, 1);
        for (int i = 0; i < 200; i++) {
            rng_fill(&r, x, 128);
            x[i % 128] *= 1e4f;
            x[i / 2] = i % 3 ? x[i / 2] : i % 2 ? INFINITY : NAN;
            check_read_back((vug_kv_format)kv, x, 1 + i % 128);
        }
    }
}

/* Compares the definition with double. The error of a float format is at most half a unit in
 * the last place, and that unit is at least 2^-24 in F16 and 2^-133 in BF16. The error in 8
 * bits is at most half of d, plus the rounding of d and of the product with 127 / most. */
static void test_rounding_is_within_half_a_step(void **state)
{
    (void)state;
    rng r = { 29 };
    float x[100], y[100];
    for (int round = 0; round < 300; round++) {
        rng_fill(&r, x, 100);
        for (int i = 0; i < 100; i++)
            x[i] = ldexpf(x[i], round % 60 - 30 + i % 10);
        vug_ref_round_kv(VUG_KV_F32, x, 100, y);
        check_bits(y, x, 100, "f32");
        vug_ref_round_kv(VUG_KV_F16, x, 100, y);
        for (int i = 0; i < 100; i++)
            assert_true(fabs((double)x[i]) >= 65520 ||
                        fabs((double)y[i] - (double)x[i]) <=
                                fmax(fabs((double)x[i]) * 0x1p-11, 0x1p-25));
        vug_ref_round_kv(VUG_KV_BF16, x, 100, y);
        for (int i = 0; i < 100; i++)
            assert_true(fabs((double)y[i] - (double)x[i]) <= fabs((double)x[i]) * 0x1p-8);
        vug_ref_round_kv(VUG_KV_Q8, x, 100, y);
        for (int i = 0; i < 100; i += VUG_KV_Q8_BLOCK) {
            double most = 0;
            for (int j = i; j < i + VUG_KV_Q8_BLOCK && j < 100; j++)
                most = fmax(most, fabs((double)x[j]));
            for (int j = i; j < i + VUG_KV_Q8_BLOCK && j < 100; j++)
                assert_true(fabs((double)y[j] - (double)x[j]) <=
                            most / 127 * (0.5 + 127 * 4 * 0x1p-24));
        }
    }
    /* Ties go to even. */
    const float tie[] = { 127, 0.5f, 1.5f, -2.5f, -3.5f, 126.5f };
    const float even[] = { 127, 0, 2, -2, -4, 126 };
    vug_ref_round_kv(VUG_KV_Q8, tie, 6, y);
    check_bits(y, even, 6, "ties");
}

/* The largest rounding error of an element of at most 1. */
static double unit_of(vug_kv_format kv)
{
    static const double unit[VUG_KV_COUNT] = { 0, 0x1p-11, 0x1p-8, 0.5 / 127 * (1 + 0x1p-10) };
    return unit[kv];
}

/*
 * The error of a score is at most e = scale sum |q| unit. So softmax weights differ by a factor
 * of at most exp(2e), and the weighted sum of values up to 1 by exp(2e) - 1 and their own
 * rounding error. To this add the error of the sums in F32.
 */
static void test_error_of_attention_is_bounded(void **state)
{
    (void)state;
    for (int i = HELP_SHAPES; i < HELP_CASES; i++) {
        rng r = { 30 + (uint64_t)(i % HELP_SHAPES) }, again = r;
        attention_sequence s = help_sequence_at(i, &r),
                           exact = help_sequence_at(i % HELP_SHAPES, &again);
        const double unit = unit_of(s.kv);
        double most = 0;
        for (int64_t row = 0; row < s.n * s.heads; row++) {
            double e = 0;
            for (int64_t j = 0; j < s.width; j++)
                e += fabs((double)s.q[row * s.width + j]) * (double)s.score.scale;
            const double f32 = e * (double)(s.width + 8) * 0x1p-24 * 4 + 600 * 0x1p-24;
            for (int64_t j = row * s.width; j < (row + 1) * s.width; j++) {
                const double off = fabs((double)s.want[j] - (double)exact.want[j]);
                assert_true(off <= expm1(2 * e * unit) + unit + f32);
                most = fmax(most, off);
            }
        }
        assert_true(most > unit / 64); /* it was rounded */
        help_sequence_release(&s);
        help_sequence_release(&exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_share_a_page),
        cmocka_unit_test(test_bytes_of_each_format),
        cmocka_unit_test(test_values_are_rounded_as_defined),
        cmocka_unit_test(test_rounding_is_within_half_a_step),
        cmocka_unit_test(test_error_of_attention_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
