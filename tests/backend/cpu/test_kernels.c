/*
 * The kernel sets of the CPU: every set gives the bits of the portable one ("ref"), at odd
 * sizes and alignments, and writes nothing outside of its outputs.
 */
#include "test.h"

#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/ref.h"
#include "kernel_help.h"
#include "quant/codec.h"

static const vug_dtype dtypes[] = { VUG_DTYPE_F32, VUG_DTYPE_F16, VUG_DTYPE_BF16 };

enum { PANEL = VUG_CPU_PANEL, N_DTYPES = 3 };

/* Lengths of 1 to 600: all short ones, then a few. */
static int64_t next_k(int64_t k)
{
    return k < 40 ? k + 1 : k + 37;
}

/* ---- selection and layout --------------------------------------------------- */

static void test_select_by_name(void **state)
{
    (void)state;
    const int n = vug_cpu_kernels_count();
    assert_true(n >= 1);
    assert_string_equal(vug_cpu_kernels_at(0)->name, "ref");
    assert_null(vug_cpu_kernels_at(n));
    assert_ptr_equal(vug_cpu_kernels_select(NULL), vug_cpu_kernels_at(n - 1));
    for (int i = 0; i < n; i++)
        assert_ptr_equal(vug_cpu_kernels_select(vug_cpu_kernels_at(i)->name),
                         vug_cpu_kernels_at(i));
    assert_null(vug_cpu_kernels_select("abacus"));
    char names[64];
    assert_non_null(strstr(vug_cpu_kernels_names(names, sizeof(names)), "ref"));
}

static void test_sums_are_cut_into_even_blocks(void **state)
{
    (void)state;
    for (int64_t k = 1; k < 30000; k++) {
        const int64_t kc = vug_cpu_kc(k);
        assert_true(kc >= 1 && kc <= VUG_CPU_KC && kc <= k);
        assert_true(kc == k || kc % 16 == 0);
    }
    assert_int_equal(vug_cpu_kc(1280), 1280);
    assert_int_equal(vug_cpu_kc(1296), 656);
    assert_int_equal(vug_cpu_kc(6912), 1152);
}

/* Lane order is a permutation: lane after lane, each with every eighth element. */
static void test_lane_order_is_a_permutation(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 100; n++) {
        int64_t next = 0;
        for (int64_t j = 0; j < VUG_CPU_LANES; j++) {
            int64_t size = 0;
            for (int64_t i = j; i < n; i += VUG_CPU_LANES)
                size++;
            assert_int_equal(vug_cpu_lane_start(n, j), next);
            assert_int_equal(vug_cpu_lane_size(n, j), size);
            next += size;
        }
        assert_int_equal(next, n);
    }
}

/* ---- matrix kernels ------------------------------------------------------- */

/* Multiplies with the kernel under test and with the portable one, panel by panel, first without and
 * then with what C holds. Between rows, C has columns
 * that no kernel may change. */
static void compare_tiles(vug_cpu_tile_fn *kernel, vug_cpu_tile_fn *portable, vug_cpu_tile *t,
                          int rows, const char *name)
{
    const size_t n = (size_t)(rows * t->ldc);
    float *c = guarded_floats(n), *want = guarded_floats(n);
    for (int pass = 0; pass < 2; pass++) {
        t->accumulate = pass == 1;
        for (int panel = 0; panel < t->panels; panel++) {
            vug_cpu_tile one = *t;
            one.b = (const uint8_t *)t->b + panel * t->next_panel;
            one.panels = 1;
            one.c = want + (ptrdiff_t)panel * PANEL;
            portable(rows, &one);
        }
        t->c = c;
        kernel(rows, t);
        check_bits(c, want, n, name);
    }
    check_guards(c, n);
    free_guarded(c);
    free_guarded(want);
}

static void check_tile(const vug_cpu_kernels *kernels, rng *r, int rows, int64_t k)
{
    const int64_t lda = k + 3, ldb = PANEL + 5;
    const size_t na = (size_t)((rows - 1) * lda + k), nb = (size_t)((k - 1) * ldb + PANEL);
    for (int panels = 1; panels <= kernels->tile_panels; panels++) {
        float *a = guarded_floats(na), *b = guarded_floats(nb * (size_t)panels);
        for (int64_t i = 0; i < rows; i++)
            rng_fill(r, a + i * lda, (size_t)k);
        rng_fill(r, b, nb * (size_t)panels);
        vug_cpu_tile t = { .a = a,
                           .b = b,
                           .k = k,
                           .panels = panels,
                           .next_panel = (int64_t)(nb * sizeof(*b)),
                           .lda = lda,
                           .ldb = ldb,
                           .ldc = (int64_t)panels * PANEL + 2 };
        compare_tiles(kernels->tile, vug_cpu_kernels_at(0)->tile, &t, rows, kernels->name);
        free_guarded(a);
        free_guarded(b);
    }
}

/* A random panel of keys, or random rows of values, in a format of the cache. */
static void fill_cached(rng *r, vug_kv_format kv, bool keys, int64_t k, uint8_t *to)
{
    const vug_dtype dtype = kv == VUG_KV_F16    ? VUG_DTYPE_F16
                            : kv == VUG_KV_BF16 ? VUG_DTYPE_BF16
                                                : VUG_DTYPE_F32;
    for (int64_t i = 0; i < k; i++) {
        if (kv == VUG_KV_Q8 && keys && i % VUG_KV_Q8_BLOCK == 0) {
            rng_fill(r, (float *)(void *)to, PANEL);
            to += PANEL * sizeof(float);
        }
        for (int j = 0; j < PANEL; j++) {
            const float x = rng_float(r);
            if (kv == VUG_KV_Q8) {
                *to++ = (uint8_t)rng_bits(r);
            } else {
                vug_codec_of(dtype)->encode(&x, to, 1);
                to += vug_dtype_of(dtype)->bytes;
            }
        }
    }
}

static void check_cached_tile(const vug_cpu_kernels *kernels, rng *r, vug_kv_format kv, int rows,
                              int64_t k)
{
    const int64_t lda = k + 1, scales = (k + VUG_KV_Q8_BLOCK - 1) / VUG_KV_Q8_BLOCK * PANEL;
    const size_t nb = (size_t)(k * PANEL + scales), nk = (size_t)k;
    float *a = guarded_floats((size_t)(rows * lda)), *scale = guarded_floats(nk);
    float *b = guarded_floats(nb * VUG_CPU_MAX_TILE_PANELS);
    rng_fill(r, a, (size_t)(rows * lda));
    rng_fill(r, scale, nk);
    for (int keys = 0; keys < 2; keys++) {
        const vug_cpu_kernels *portable = vug_cpu_kernels_at(0);
        for (int panel = 0; panel < VUG_CPU_MAX_TILE_PANELS; panel++)
            fill_cached(r, kv, keys, k, (uint8_t *)(b + (size_t)panel * nb));
        for (int panels = 1; panels <= kernels->tile_panels; panels++) {
            vug_cpu_tile t = { .a = a,
                               .b = b,
                               .k = k,
                               .panels = panels,
                               .next_panel = (int64_t)(nb * sizeof(*b)),
                               .lda = lda,
                               .ldb = PANEL,
                               .ldc = (int64_t)panels * PANEL + 2,
                               .scale = keys || kv != VUG_KV_Q8 ? NULL : scale };
            compare_tiles((keys ? kernels->keys : kernels->values)[kv],
                          (keys ? portable->keys : portable->values)[kv], &t, rows,
                          vug_kv_format_name(kv));
        }
    }
    free_guarded(a);
    free_guarded(b);
    free_guarded(scale);
}

/* test_attention.c compares the portable tiles, which read a cache, with ref_attention.c. */
static void test_tile_of_cached_keys_and_values(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 1, 2, 16, 31, 32, 33, 64, 72, 113 };
    rng r = { 31 };
    for (int i = 0; i < vug_cpu_kernels_count(); i++) {
        for (int kv = 0; kv < VUG_KV_COUNT; kv++) {
            for (int rows = 1; rows <= vug_cpu_kernels_at(i)->tile_rows; rows++) {
                for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
                    check_cached_tile(vug_cpu_kernels_at(i), &r, (vug_kv_format)kv, rows, sizes[k]);
            }
        }
    }
}

static void test_tile(void **state)
{
    (void)state;
    rng r = { 1 };
    for (int i = 0; i < vug_cpu_kernels_count(); i++) {
        for (int rows = 1; rows <= vug_cpu_kernels_at(i)->tile_rows; rows++) {
            for (int64_t k = 1; k <= 600; k = next_k(k))
                check_tile(vug_cpu_kernels_at(i), &r, rows, k);
        }
    }
}

/* Each lane has guards. The numbers are any bits, as those of pairs are. */
static void check_lanes(const vug_cpu_kernels *kernels, rng *r, int64_t n)
{
    float *x = guarded_floats((size_t)n), *lane[VUG_CPU_LANES];
    for (int64_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)rng_bits(r);
        memcpy(&x[i], &bits, sizeof(bits));
    }
    for (int64_t j = 0; j < VUG_CPU_LANES; j++)
        lane[j] = guarded_floats((size_t)vug_cpu_lane_size(n, j));
    kernels->order_lanes(x, n, lane);
    for (int64_t i = 0; i < n; i++)
        assert_memory_equal(&lane[i % VUG_CPU_LANES][i / VUG_CPU_LANES], &x[i], sizeof(x[i]));
    for (int64_t j = 0; j < VUG_CPU_LANES; j++) {
        check_guards(lane[j], (size_t)vug_cpu_lane_size(n, j));
        free_guarded(lane[j]);
    }
    free_guarded(x);
}

static void test_order_lanes(void **state)
{
    (void)state;
    rng r = { 5 };
    for (int i = 0; i < vug_cpu_kernels_count(); i++) {
        for (int64_t n = VUG_CPU_LANES; n <= 600; n = next_k(n))
            check_lanes(vug_cpu_kernels_at(i), &r, n);
    }
}

/* The rows of weights of `g`, or only the first one, times 1 to 13 rows of x. */
static void check_streams(const vug_cpu_kernels *kernels, vug_dtype dtype, rng *r,
                          const vug_cpu_gemm *g)
{
    enum { STREAMS = VUG_CPU_STREAMS, MAX_ROWS = 13 };
    const float *x[MAX_ROWS];
    float *row[MAX_ROWS];
    for (int i = 0; i < MAX_ROWS; i++) {
        x[i] = row[i] = guarded_floats((size_t)g->k);
        rng_fill(r, row[i], (size_t)g->k);
    }
    for (int rows = 1; rows <= MAX_ROWS; rows++) {
        const size_t n = (size_t)rows * STREAMS;
        float *y = guarded_floats(n), *want = guarded_floats(n);
        for (int64_t apart = 0; apart <= 5; apart += 5) {
            vug_cpu_gemm of = *g;
            of.x = x;
            of.rows = rows;
            of.stride = apart * g->stride;
            of.y = y;
            kernels->format[dtype]->gemm(&of);
            of.y = want;
            vug_cpu_kernels_at(0)->format[dtype]->gemm(&of);
            check_bits(y, want, n, "gemm");
        }
        check_guards(y, n);
        free_guarded(y);
        free_guarded(want);
    }
    for (int i = 0; i < MAX_ROWS; i++)
        free_guarded(row[i]);
}

/* pack, decode and gemm, with gaps between the rows of weights that decode to NaN. */
static void check_format(const vug_cpu_kernels *kernels, vug_dtype dtype, rng *r, int64_t k)
{
    const int64_t size = vug_dtype_of(dtype)->bytes, gap = 3, stride = (k + gap) * size;
    const size_t shift = rng_bits(r) % 64, n = (size_t)((k + gap) * PANEL);
    uint8_t *w = random_weights(r, dtype, n, shift);
    for (int64_t o = 0; o < PANEL; o++)
        memset(w + o * stride + k * size, 0xff, (size_t)(gap * size));
    const vug_cpu_format *format = kernels->format[dtype],
                         *ref = vug_cpu_kernels_at(0)->format[dtype];

    const size_t np = (size_t)(k * PANEL);
    float *panel = guarded_floats(np), *want = guarded_floats(np);
    for (int rows = 1; rows <= PANEL; rows += 5) {
        format->pack(w, stride, rows, k, panel);
        ref->pack(w, stride, rows, k, want);
        check_bits(panel, want, np, "pack");
    }
    check_guards(panel, np);
    format->decode(w, 1.7f, panel, k);
    ref->decode(w, 1.7f, want, k);
    check_bits(panel, want, (size_t)k, "decode");
    check_guards(panel, np);

    check_streams(kernels, dtype, r, &(vug_cpu_gemm){ .w = w, .k = k, .stride = stride });
    free_guarded(panel);
    free_guarded(want);
    free_weights(w, shift);
}

static void test_float_formats(void **state)
{
    (void)state;
    rng r = { 2 };
    for (int i = 0; i < vug_cpu_kernels_count(); i++) {
        for (int d = 0; d < N_DTYPES; d++) {
            for (int64_t k = 1; k <= 600; k = next_k(k))
                check_format(vug_cpu_kernels_at(i), dtypes[d], &r, k);
            /* Two blocks of the sum, the second of another length. */
            check_format(vug_cpu_kernels_at(i), dtypes[d], &r, VUG_CPU_KC + 1);
            check_format(vug_cpu_kernels_at(i), dtypes[d], &r, 2 * VUG_CPU_KC + 77);
        }
    }
}

static void test_every_16_bit_float(void **state)
{
    (void)state;
    enum { N = 65536 };
    uint8_t *w = vug_alloc(N, 2);
    float *got = vug_alloc(N, sizeof(*got)), *want = vug_alloc(N, sizeof(*want));
    for (int d = 1; d < N_DTYPES; d++) {
        for (int64_t i = 0; i < N; i++) {
            w[2 * i] = (uint8_t)i;
            w[2 * i + 1] = (uint8_t)(i >> 8);
            float x;
            vug_codec_of(dtypes[d])->decode(w + 2 * i, &x, 1);
            if (isnan(x)) /* the payload of a NaN is unspecified */
                w[2 * i + 1] = 0;
        }
        vug_codec_of(dtypes[d])->decode(w, want, N);
        for (int i = 0; i < vug_cpu_kernels_count(); i++) {
            const vug_cpu_format *format = vug_cpu_kernels_at(i)->format[dtypes[d]];
            format->decode(w, 1, got, N);
            check_bits(got, want, N, vug_cpu_kernels_at(i)->name);
            /* As 16 rows of 4096, which pack transposes. */
            format->pack(w, (int64_t)N / PANEL * 2, PANEL, N / PANEL, got);
            for (int64_t j = 0; j < N; j++) {
                const int64_t n = N / PANEL, e = j % n;
                const int64_t at = vug_cpu_lane_start(n, e % VUG_CPU_LANES) + e / VUG_CPU_LANES;
                check_bits(&got[at * PANEL + j / n], &want[j], 1, "pack");
            }
        }
    }
    vug_free(w);
    vug_free(got);
    vug_free(want);
}

/* ---- elementwise ---------------------------------------------------------- */

typedef void binary_fn(const float *a, const float *b, float *out, int64_t n);

static void check_binary(binary_fn *f, binary_fn *ref, const float *a, const float *b, int64_t n,
                         const char *what)
{
    float *out = guarded_floats((size_t)n), *want = guarded_floats((size_t)n);
    f(a, b, out, n);
    ref(a, b, want, n);
    check_bits(out, want, (size_t)n, what);
    check_guards(out, (size_t)n);
    memcpy(out, a, (size_t)n * sizeof(float)); /* in place */
    f(out, b, out, n);
    check_bits(out, want, (size_t)n, what);
    free_guarded(out);
    free_guarded(want);
}

static void check_unary(const vug_cpu_kernels *kernels, const float *x, int64_t n)
{
    const vug_cpu_kernels *ref = vug_cpu_kernels_at(0);
    float *out = guarded_floats((size_t)n), *want = guarded_floats((size_t)n);
    kernels->gelu(x, out, n);
    ref->gelu(x, want, n);
    check_bits(out, want, (size_t)n, "gelu");
    kernels->silu(x, out, n);
    ref->silu(x, want, n);
    check_bits(out, want, (size_t)n, "silu");
    kernels->exp(x, out, n);
    ref->exp(x, want, n);
    check_bits(out, want, (size_t)n, "exp");
    kernels->softcap(x, 3, out, n);
    ref->softcap(x, 3, want, n);
    check_bits(out, want, (size_t)n, "softcap");
    kernels->scale(x, 1.3f, out, n);
    ref->scale(x, 1.3f, want, n);
    check_bits(out, want, (size_t)n, "scale");
    kernels->norm(x, 0.3f, x, out, n);
    ref->norm(x, 0.3f, x, want, n);
    check_bits(out, want, (size_t)n, "norm");
    kernels->axpby(out, 0.7f, x, 0.2f, n);
    ref->axpby(want, 0.7f, x, 0.2f, n);
    check_bits(out, want, (size_t)n, "axpby");
    const float sums[2] = { kernels->sum_squares(x, n), ref->sum_squares(x, n) };
    check_bits(&sums[0], &sums[1], 1, "sum_squares");
    check_guards(out, (size_t)n);
    free_guarded(out);
    free_guarded(want);
}

static void test_elementwise(void **state)
{
    (void)state;
    rng r = { 3 };
    for (int i = 0; i < vug_cpu_kernels_count(); i++) {
        const vug_cpu_kernels *kernels = vug_cpu_kernels_at(i), *ref = vug_cpu_kernels_at(0);
        for (int64_t n = 1; n < 1200; n = n < 40 ? n + 1 : n * 2 + 1) {
            float *a = guarded_floats((size_t)n), *b = guarded_floats((size_t)n);
            for (int64_t j = 0; j < n; j++) {
                a[j] = rng_float(&r) * expf(8 * rng_float(&r));
                b[j] = rng_float(&r) * expf(8 * rng_float(&r));
            }
            check_binary(kernels->add, ref->add, a, b, n, "add");
            check_binary(kernels->mul, ref->mul, a, b, n, "mul");
            check_unary(kernels, a, n);
            free_guarded(a);
            free_guarded(b);
        }
    }
}

static void test_rope(void **state)
{
    (void)state;
    rng r = { 4 };
    for (int i = 0; i < vug_cpu_kernels_count(); i++) {
        for (int64_t h = 1; h < 140; h++) {
            const size_t n = (size_t)(2 * h);
            float *x = guarded_floats(n), *table = guarded_floats(n);
            float *out = guarded_floats(n), *want = guarded_floats(n);
            rng_fill(&r, x, n);
            rng_fill(&r, table, n);
            vug_ref_rope(x, table, 2 * h, want, 2 * h);
            vug_cpu_kernels_at(i)->rope(x, table, table + h, h, out);
            check_bits(out, want, n, "rope");
            vug_cpu_kernels_at(i)->rope(x, table, table + h, h, x);
            check_bits(x, want, n, "rope in place");
            check_guards(out, n);
            free_guarded(x);
            free_guarded(table);
            free_guarded(out);
            free_guarded(want);
        }
    }
}

static void test_softmax(void **state)
{
    (void)state;
    rng r = { 5 };
    const vug_cpu_kernels *ref = vug_cpu_kernels_at(0);
    for (int i = 0; i < vug_cpu_kernels_count(); i++) {
        for (int lo = 0; lo < VUG_CPU_KEY_BLOCK; lo++) {
            for (int hi = lo + 1; hi <= VUG_CPU_KEY_BLOCK; hi += 1 + (int)(rng_bits(&r) % 4)) {
                /* Products outside the range stay NaN. */
                float *p = guarded_floats(VUG_CPU_KEY_BLOCK),
                      *q = guarded_floats(VUG_CPU_KEY_BLOCK);
                for (int j = lo; j < hi; j++)
                    p[j] = q[j] = 30 * rng_float(&r);
                const vug_cpu_score_params score = { 0.25f, lo % 2 ? 5.0f : 0.0f };
                vug_cpu_softmax_state a = { hi % 3 ? rng_float(&r) : -INFINITY, hi % 3 ? 2.5f : 0 };
                vug_cpu_softmax_state b = a;
                const float got[3] = { vug_cpu_kernels_at(i)->softmax(p, lo, hi, &score, &a), a.max,
                                       a.sum };
                const float want[3] = { ref->softmax(q, lo, hi, &score, &b), b.max, b.sum };
                check_bits(got, want, 3, "softmax");
                check_bits(p + lo, q + lo, (size_t)(hi - lo), "softmax");
                check_guards(p, VUG_CPU_KEY_BLOCK);
                free_guarded(p);
                free_guarded(q);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select_by_name),
        cmocka_unit_test(test_sums_are_cut_into_even_blocks),
        cmocka_unit_test(test_lane_order_is_a_permutation),
        cmocka_unit_test(test_tile_of_cached_keys_and_values),
        cmocka_unit_test(test_tile),
        cmocka_unit_test(test_order_lanes),
        cmocka_unit_test(test_float_formats),
        cmocka_unit_test(test_every_16_bit_float),
        cmocka_unit_test(test_elementwise),
        cmocka_unit_test(test_rope),
        cmocka_unit_test(test_softmax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
