/*
 * vug_model_statistics and `vug inspect --stats`: tensors with known statistics, and
 * tensors of every format against sums over their decoded values.
 */
#include "test.h"

#include <float.h>
#include <math.h>

#include "capture.h"
#include "core/json.h"
#include "engine_help.h"
#include "kernel_help.h"
#include "quant/matrix.h"
#include "quantized_help.h"
#include "tiny_model.h"
#include "vug/checkpoint.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char pebble[] = "models/pebble";

/* ---- what they should be ------------------------------------------------------------------ */

/* `x` [n] in order, with the largest error that a sum of n doubles has. */
static void check(const vug_tensor_statistics *got, const float *x, uint64_t n, const char *name)
{
    long double sum = 0, squares = 0, size = 0;
    double min = INFINITY, max = -INFINITY;
    uint64_t good = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            continue;
        good++;
        min = fmin(min, (double)x[i]);
        max = fmax(max, (double)x[i]);
        sum += (long double)x[i];
        size += fabsl((long double)x[i]);
        squares += (long double)x[i] * (long double)x[i];
    }
    assert_true(good > 0);
    const long double count = (long double)good, slack = (count + 2) * (long double)DBL_EPSILON;
    const long double rms = sqrtl(squares / count);
    if (got->n != n || got->n_bad != n - good || got->min != min || got->max != max)
        fail_msg("%s: %llu values, %llu not finite, %.9g to %.9g; expected %llu, %llu, %.9g, %.9g",
                 name, (unsigned long long)got->n, (unsigned long long)got->n_bad, got->min,
                 got->max, (unsigned long long)n, (unsigned long long)(n - good), min, max);
    if (!(fabsl((long double)got->mean - sum / count) <= slack * size / count) ||
        !(fabsl((long double)got->rms - rms) <= slack * rms))
        fail_msg("%s: mean %.17g, rms %.17g; expected %.17Lg, %.17Lg", name, got->mean, got->rms,
                 sum / count, rms);
}

static void check_none(const vug_tensor_statistics *got, uint64_t n)
{
    assert_int_equal(got->n, n);
    assert_int_equal(got->n_bad, n);
    assert_true(isnan(got->min) && isnan(got->max) && isnan(got->mean) && isnan(got->rms));
}

static vug_tensor_statistics *statistics_of(const vug_model *m)
{
    vug_tensor_statistics *out = vug_alloc(vug_model_tensor_count(m), sizeof(*out));
    vug_err err = { 0 };
    assert_non_null(out);
    memset(out, 0x55, vug_model_tensor_count(m) * sizeof(*out));
    help_ok(vug_model_statistics(m, NULL, NULL, out, &err), &err);
    return out;
}

static vug_model *open_with(const char *path, int threads)
{
    return help_model(path, (vug_model_options){ .threads = threads, .lazy = true });
}

/* ---- a checkpoint with more in it ------------------------------------------------------------ */

enum {
    MANY = 9001, /* rows: more than two pieces */
    KEPT = 16,
};

/* A golden checkpoint with tensors that the model does not use, and their values. */
typedef struct {
    scratch dir;
    struct {
        char name[64];
        float *x; /* [n] */
        uint64_t n;
    } kept[KEPT];
    size_t n;
} more;

static float *keep(more *m, const char *name, uint64_t n)
{
    assert_true(m->n < KEPT);
    float *x = calloc(n, sizeof(*x));
    assert_non_null(x);
    (void)snprintf(m->kept[m->n].name, sizeof(m->kept[m->n].name), "%s", name);
    m->kept[m->n].x = x;
    m->kept[m->n++].n = n;
    return x;
}

/* Each matrix of a stack has scales of another size. */
static void add_random(more *m, made_file *f, const char *name, int rank, made_dims dim,
                       made_how how)
{
    rng r = { 7 + m->n };
    uint64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= (uint64_t)dim.n[i];
    float *x = keep(m, name, n);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t part = 1 + i * 9 / n;
        x[i] = rng_float(&r) * (float)part + 0.25f;
    }
    made_matrix(f, name, rank, dim, x, &how);
}

static void add_known(more *m, made_file *f)
{
    enum { ALL = 3 * MANY, BAD = 3 * 4097 };
    made_tensor *t = made_add(f, VUG_DTYPE_F32, 2, (made_dims){ { MANY, 3 } }, "vision_tower.many");
    float *x = keep(m, "vision_tower.many", ALL);
    for (int i = 0; i < ALL; i++)
        x[i] = (float)(i - MANY);
    x[1] = NAN;
    x[BAD] = INFINITY;
    x[BAD + 2] = -INFINITY;
    x[ALL - 1] = -NAN;
    vug_codec_of(VUG_DTYPE_F32)->encode(x, t->bytes, ALL);

    t = made_add(f, VUG_DTYPE_F16, 2, (made_dims){ { 2, 3 } }, "vision_tower.bad");
    const float bad[6] = { NAN, INFINITY, -INFINITY, NAN, 65520, -1e9f };
    vug_codec_of(VUG_DTYPE_F16)->encode(bad, t->bytes, 6);
    t = made_add(f, VUG_DTYPE_F32, 0, (made_dims){ { 0 } }, "vision_tower.scalar");
    *keep(m, "vision_tower.scalar", 1) = -2.5f;
    vug_codec_of(VUG_DTYPE_F32)->encode(&(float){ -2.5f }, t->bytes, 1);
    (void)made_add(f, VUG_DTYPE_I64, 1, (made_dims){ { 5 } }, "vision_tower.ids");
    (void)made_add(f, VUG_DTYPE_BF16, 2, (made_dims){ { 3, 0 } }, "vision_tower.empty");
}

static more more_make(void)
{
    static made_file f;
    more m = { .dir = scratch_make() };
    vug_text config;
    vug_buf config_with_quantization = { 0 };
    vug_err err = { 0 };
    help_ok(vug_read_file(TINY_SOURCE "/config.json", 1 << 20, &config, &err), &err);
    vug_buf_puts(&config_with_quantization, "{\"quantization\":{\"bits\":4,\"group_size\":32},");
    vug_buf_puts(&config_with_quantization, strchr(config.ptr, '{') + 1);
    scratch_puts(&m.dir, "config.json", config_with_quantization.ptr);
    vug_buf_release(&config_with_quantization);
    vug_text_release(&config);
    tiny_copy(&m.dir, "model.safetensors");
    assert_int_equal(rename(scratch_at(&m.dir, "model.safetensors").path,
                            scratch_at(&m.dir, "model-1.safetensors").path),
                     0);
    add_known(&m, &f);
    add_random(&m, &f, "vision_tower.bf16", 3, (made_dims){ { 2, 3, 37 } },
               (made_how){ .scales = VUG_DTYPE_BF16 });
    add_random(&m, &f, "vision_tower.bias", 1, (made_dims){ { 71 } },
               (made_how){ .scales = VUG_DTYPE_F16 });
    add_random(&m, &f, "vision_tower.fp8.weight", 2, (made_dims){ { 96, 64 } },
               (made_how){ VUG_QUANT_FP8, 8, 32, 32, VUG_DTYPE_F32, NULL });
    add_random(&m, &f, "vision_tower.fp8s.weight", 3, (made_dims){ { 3, 64, 48 } },
               (made_how){ VUG_QUANT_FP8, 8, 32, 24, VUG_DTYPE_BF16, NULL });
    add_random(&m, &f, "vision_tower.mlx.weight", 2, (made_dims){ { 5, 96 } },
               (made_how){ VUG_QUANT_MLX_AFFINE, 4, 1, 32, VUG_DTYPE_BF16, NULL });
    add_random(&m, &f, "vision_tower.mlxs.weight", 3, (made_dims){ { 4, 3, 64 } },
               (made_how){ VUG_QUANT_MLX_AFFINE, 4, 1, 32, VUG_DTYPE_F32, NULL });
    made_write(&f, &m.dir, "model-2.safetensors");
    made_release(&f);
    return m;
}

static void more_remove(more *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->kept[i].x);
    scratch_remove(&m->dir);
}

static size_t index_of(const vug_model *m, const char *name)
{
    for (size_t i = 0; i < vug_model_tensor_count(m); i++) {
        if (strcmp(vug_model_tensor(m, i).name, name) == 0)
            return i;
    }
    fail_msg("there is no '%s'", name);
    return 0;
}

/* ---- tests ------------------------------------------------------------------------------- */

static void test_known(void **state)
{
    (void)state;
    more m = more_make();
    vug_model *model = open_with(m.dir.path, 2);
    vug_tensor_statistics *s = statistics_of(model);
    for (size_t i = 0; i < m.n; i++)
        check(&s[index_of(model, m.kept[i].name)], m.kept[i].x, m.kept[i].n, m.kept[i].name);
    const vug_tensor_statistics *many = &s[index_of(model, "vision_tower.many")];
    assert_int_equal(many->n, 3 * MANY);
    assert_int_equal(many->n_bad, 4);
    assert_true(many->min == -MANY && many->max == 2 * MANY - 2);
    check_none(&s[index_of(model, "vision_tower.bad")], 6);
    check_none(&s[index_of(model, "vision_tower.ids")], 0);
    check_none(&s[index_of(model, "vision_tower.empty")], 0);
    vug_free(s);
    vug_model_close(model);
    more_remove(&m);
}

/* Decodes each tensor as a whole. */
static void check_all(const char *path, const char *format)
{
    vug_model *model = open_with(path, 2);
    vug_tensor_statistics *s = statistics_of(model);
    size_t n_format = 0;
    for (size_t i = 0; i < vug_model_tensor_count(model); i++) {
        const vug_tensor *t = vug_weights_at(model->checkpoint.weights, i);
        const int64_t columns = t->dim[t->rank - 1], rows = t->rank > 1 ? t->dim[0] : 1;
        assert_in_range(t->rank, 1, 2);
        float *x = calloc((size_t)(rows * columns), sizeof(*x));
        assert_non_null(x);
        if (t->rank == 1)
            vug_codec_of(t->dtype)->decode(t->data, x, (size_t)columns);
        for (int64_t r = 0; t->rank > 1 && r < rows; r++) {
            const vug_matrix w = vug_tensor_matrix_at(t, 0);
            vug_matrix_decode(&w, r, x + r * columns);
        }
        check(&s[i], x, (uint64_t)(rows * columns), t->name.ptr);
        n_format += strcmp(vug_dtype_of(t->dtype)->name, format) == 0;
        free(x);
    }
    assert_true(n_format > 0);
    vug_free(s);
    vug_model_close(model);
}

static void test_formats(void **state)
{
    (void)state;
    static const char *const row[][3] = { { "q4_k", "a.gguf", "Q4_K" },
                                          { "q8_0", "b.gguf", "Q8_0" },
                                          { "mlx4", "c", "MLX4" },
                                          { "mxfp4", "d", "MLX_FP4" } };
    const scratch dir = scratch_make();
    check_all(pebble, "BF16");
    for (size_t i = 0; i < COUNT(row); i++) {
        const vug_convert_options o = { .type = row[i][0], .threads = 2 };
        const scratch_path out = scratch_at(&dir, row[i][1]);
        vug_err err = { 0 };
        help_ok(vug_convert(pebble, out.path, &o, &err), &err);
        check_all(out.path, row[i][2]);
    }
    scratch_remove(&dir);
}

static void test_threads(void **state)
{
    (void)state;
    static const int threads[] = { 2, 3, 7 };
    more m = more_make();
    vug_model *one = open_with(m.dir.path, 1);
    vug_tensor_statistics *expected = statistics_of(one);
    for (size_t i = 0; i < COUNT(threads); i++) {
        vug_model *model = open_with(m.dir.path, threads[i]);
        assert_int_equal(vug_model_describe(model).threads, threads[i]);
        vug_tensor_statistics *s = statistics_of(model);
        assert_memory_equal(s, expected, vug_model_tensor_count(one) * sizeof(*s));
        vug_free(s);
        vug_model_close(model);
    }
    vug_free(expected);
    vug_model_close(one);
    more_remove(&m);
}

typedef struct {
    uint64_t done, total, stop;
    bool stopped; /* and hears no more */
} statistics_progress;

static bool record_progress(uint64_t done, uint64_t total, void *user)
{
    statistics_progress *h = user;
    assert_true(!h->stopped && done >= h->done && done <= total);
    h->done = done;
    h->total = total;
    h->stopped = done >= h->stop;
    return !h->stopped;
}

static void test_progress(void **state)
{
    (void)state;
    more m = more_make();
    vug_model *model = open_with(m.dir.path, 2);
    vug_tensor_statistics *s = statistics_of(model);
    statistics_progress h = { .stop = UINT64_MAX };
    vug_err err = { 0 };
    uint64_t bytes = 0;
    for (size_t i = 0; i < vug_model_tensor_count(model); i++)
        bytes += vug_model_tensor(model, i).bytes;
    help_ok(vug_model_statistics(model, record_progress, &h, s, &err), &err);
    assert_int_equal(h.done, bytes);
    assert_int_equal(h.total, bytes);
    h = (statistics_progress){ .stop = bytes / 2 };
    help_refused(vug_model_statistics(model, record_progress, &h, s, &err), &err, VUG_CANCELLED,
                 NULL, err.msg);
    assert_true(h.done >= bytes / 2 && h.done < bytes);
    vug_free(s);
    vug_model_close(model);
    more_remove(&m);
}

/* ---- as it is shown ------------------------------------------------------------------------- */

static void test_text(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "           min         max        mean         rms not finite\n",
        /* The values are -9001 .. 18001 without four of them. */
        "  F32             [9001,3]         105.48 KiB       -9001     1.8e+04        4500        "
        "9001          4  model-2.safetensors: vision_tower.many (unused)\n",
        "  F16             [2,3]                  12 B           -           -           -"
        "           -          6  model-2.safetensors: vision_tower.bad (unused)\n",
        "  I64             [5]                    40 B           -           -           -"
        "           -          -  model-2.safetensors: vision_tower.ids (unused)\n",
        "        -2.5        -2.5        -2.5         2.5          0  model-2.safetensors: "
        "vision_tower.scalar (unused)\n",
    };
    more m = more_make();
    captured c = VUG("inspect", "--stats", m.dir.path);
    assert_int_equal(c.code, 0);
    for (size_t i = 0; i < COUNT(lines); i++) {
        if (!strstr(c.out.ptr, lines[i]))
            fail_msg("no '%s' in: %s", lines[i], c.out.ptr);
    }
    captured_release(&c);
    c = VUG("inspect", "--tensors", m.dir.path);
    assert_null(strstr(c.out.ptr, "rms"));
    captured_release(&c);
    more_remove(&m);
}

static double number(const vug_jv *v, const char *key)
{
    const vug_jv *x = vug_jv_get(v, key);
    assert_non_null(x);
    assert_true(vug_jv_is(x, VUG_JSON_NUMBER));
    return x->f64;
}

static const vug_jv *tensor_called(const vug_jv *top, const char *name)
{
    const vug_jv *t = vug_jv_get(top, "tensors")->child;
    while (t && !vug_str_is(vug_jv_get(t, "name")->str, name))
        t = t->next;
    assert_non_null(t);
    return t;
}

static void check_totals(const vug_jv *top)
{
    double sum[3] = { 0 };
    for (const vug_jv *f = vug_jv_get(top, "formats")->child; f; f = f->next) {
        sum[0] += number(f, "tensors");
        sum[1] += number(f, "bytes");
        sum[2] += number(f, "weights");
        if (vug_str_is(vug_jv_get(f, "format")->str, "MLX4/32"))
            assert_true(number(f, "weights") == 5 * 96 + 4 * 3 * 64);
        if (vug_str_is(vug_jv_get(f, "format")->str, "BF16"))
            assert_true(number(f, "bits_per_weight") == 16);
    }
    const vug_jv *total = vug_jv_get(top, "total");
    assert_true(number(total, "tensors") == sum[0]);
    assert_true(number(total, "bytes") == sum[1]);
    assert_true(number(total, "weights") == sum[2]);
    assert_true(number(total, "bits_per_weight") == sum[1] * 8 / sum[2]);
}

/* The numbers in the JSON equal those of the function to the bit. */
static void test_json(void **state)
{
    (void)state;
    more m = more_make();
    vug_model *model = open_with(m.dir.path, 2);
    vug_tensor_statistics *s = statistics_of(model);
    captured c = VUG("inspect", "--stats", "--json", m.dir.path);
    vug_arena arena = { 0 };
    const vug_jv *top;
    vug_err err = { 0 };
    assert_int_equal(c.code, 0);
    help_ok(vug_json_tree((vug_str){ c.out.ptr, c.out.len }, "output", &arena, &top, &err), &err);
    for (size_t i = 0; i < m.n; i++) {
        const vug_tensor_statistics *want = &s[index_of(model, m.kept[i].name)];
        const vug_jv *got = vug_jv_get(tensor_called(top, m.kept[i].name), "statistics");
        assert_true(number(got, "min") == want->min && number(got, "max") == want->max);
        assert_true(number(got, "mean") == want->mean && number(got, "rms") == want->rms);
        assert_true(number(got, "not_finite") == (double)want->n_bad);
    }
    const vug_jv *bad = vug_jv_get(tensor_called(top, "vision_tower.bad"), "statistics");
    assert_true(vug_jv_is(vug_jv_get(bad, "mean"), VUG_JSON_NULL));
    assert_true(number(bad, "not_finite") == 6);
    const vug_jv *ids = vug_jv_get(tensor_called(top, "vision_tower.ids"), "statistics");
    assert_true(vug_jv_is(ids, VUG_JSON_NULL));
    check_totals(top);
    vug_arena_release(&arena);
    captured_release(&c);
    c = VUG("inspect", "--json", m.dir.path);
    assert_null(strstr(c.out.ptr, "statistics"));
    captured_release(&c);
    vug_free(s);
    vug_model_close(model);
    more_remove(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),   cmocka_unit_test(test_formats),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_progress),
        cmocka_unit_test(test_text),    cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
