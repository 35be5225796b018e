/*
 * Attention over the caches: close to a naive evaluation in double, the bits of
 * ref, and the same bits however a sequence is cut into steps, with whom it
 * shares them, and whatever the unused slots of the cache hold.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/ref.h"
#include "kernel_help.h"

/* One sequence of queries, keys and values, and what attention should give. */
typedef struct {
    int64_t n, heads, kv_heads, width, window;
    vug_cpu_score score;
    vug_kv kv;
    const float *mask;       /* [n,n]; NULL: order and window */
    float *q, *k, *v, *want; /* want: the bits, by ref */
    float *rk, *rv;          /* k and v as the cache gives them back */
} sequence;

static sequence sequence_of(rng *r, int64_t n, int64_t heads, int64_t kv_heads, int64_t width)
{
    sequence s = { .n = n, .heads = heads, .kv_heads = kv_heads, .width = width };
    const size_t nq = (size_t)(n * heads * width), nk = (size_t)(n * kv_heads * width);
    s.q = guarded_floats(nq);
    s.k = guarded_floats(nk);
    s.v = guarded_floats(nk);
    s.want = guarded_floats(nq);
    s.rk = guarded_floats(nk);
    s.rv = guarded_floats(nk);
    rng_fill(r, s.q, nq);
    rng_fill(r, s.k, nk);
    rng_fill(r, s.v, nk);
    s.score.scale = 2.0f / sqrtf((float)width);
    return s;
}

static void compute_want(sequence *s)
{
    for (int64_t i = 0; i < s->n * s->kv_heads * s->width; i += s->width) {
        vug_ref_kv(s->kv, s->k + i, s->width, s->rk + i);
        vug_ref_kv(s->kv, s->v + i, s->width, s->rv + i);
    }
    for (int64_t t = 0; t < s->n; t++) {
        for (int64_t h = 0; h < s->heads; h++) {
            const vug_ref_history history = { .k = s->rk,
                                              .v = s->rv,
                                              .position = t,
                                              .heads = s->kv_heads,
                                              .head = h / (s->heads / s->kv_heads),
                                              .width = s->width,
                                              .window = s->window,
                                              .score = s->score,
                                              .mask = s->mask ? s->mask + t * s->n : NULL,
                                              .keys = s->n };
            const int64_t at = (t * s->heads + h) * s->width;
            vug_ref_attention(s->q + at, &history, s->want + at);
        }
    }
}

static void release(sequence *s)
{
    free_guarded(s->q);
    free_guarded(s->k);
    free_guarded(s->v);
    free_guarded(s->want);
    free_guarded(s->rk);
    free_guarded(s->rv);
}

/* A cache for steps of up to `batch` tokens, and a pool. */
typedef struct {
    vug_cpu_cache cache;
    vug_cpu_env env;
} fixture;

static fixture fixture_of(const sequence *s, int64_t batch, int threads)
{
    fixture f = { .env.kernels = vug_cpu_choose(NULL) };
    const vug_shape shape = { 3, { VUG_DIM_T, s->kv_heads, s->width } };
    const vug_limits limits = { s->n, batch, 0 };
    assert_true(vug_cpu_cache_init(&f.cache, &shape, s->window, s->kv, &limits));
    assert_int_equal(f.cache.slots % VUG_CPU_BLOCK, 0);
    assert_int_equal(vug_pool_create(threads, &f.env.pool, NULL), VUG_OK);
    f.env.scratch_floats = (vug_cpu_attention_scratch(s->width) + 15) / 16 * 16;
    f.env.scratch = vug_alloc_aligned((size_t)(f.env.scratch_floats * threads) * sizeof(float));
    f.env.shared = guarded_floats((size_t)vug_cpu_attention_partial(&f.cache));
    assert_non_null(f.env.scratch);
    return f;
}

static void fixture_release(fixture *f)
{
    check_guards(f->env.shared, (size_t)vug_cpu_attention_partial(&f->cache));
    free_guarded(f->env.shared);
    vug_pool_destroy(f->env.pool);
    vug_free(f->env.scratch);
}

/* Every slot holds NaN until a token is written to it. */
static vug_state state_of(const fixture *f)
{
    assert_int_equal(vug_cpu_cache_bytes(&f->cache) % sizeof(float), 0);
    return (vug_state){ (uint8_t *)guarded_floats(vug_cpu_cache_bytes(&f->cache) / 4) };
}

static void state_release(const fixture *f, vug_state *state)
{
    float *data = (float *)(void *)state->data;
    check_guards(data, vug_cpu_cache_bytes(&f->cache) / 4);
    free_guarded(data);
}

static void run(const fixture *f, const vug_cpu_attention_job *job)
{
    vug_cpu_cache_append(&f->env, job);
    vug_cpu_attention(&f->env, job);
}

/* The whole sequence in steps of `chunk` tokens. */
static void in_chunks(const sequence *s, int64_t chunk, int threads, const vug_cpu_kernels *row)
{
    fixture f = fixture_of(s, chunk, threads);
    f.env.kernels = row;
    vug_state state = state_of(&f);
    const int64_t nq = s->heads * s->width, nk = s->kv_heads * s->width;
    for (int64_t t = 0; t < s->n; t += chunk) {
        const int64_t n = s->n - t < chunk ? s->n - t : chunk;
        float *out = guarded_floats((size_t)(n * nq));
        const vug_span span = { &state, t, n };
        run(&f, &(vug_cpu_attention_job){ .cache = &f.cache,
                                          .span = &span,
                                          .n_spans = 1,
                                          .heads = s->heads,
                                          .q = s->q + t * nq,
                                          .k = s->k + t * nk,
                                          .v = s->v + t * nk,
                                          .out = out,
                                          .score = s->score });
        check_bits(out, s->want + t * nq, (size_t)(n * nq), "attention");
        check_guards(out, (size_t)(n * nq));
        free_guarded(out);
    }
    state_release(&f, &state);
    fixture_release(&f);
}

/* ---- ref against double --------------------------------------------------- */

/* One query; returns the largest bound of a score's error. A score is a sum of
 * width products, scaled: (width + 2) eps sum|q||k| scale. */
static double naive(const sequence *s, int64_t t, int64_t h, double *out)
{
    const int64_t first = s->window > 0 && t + 1 > s->window ? t + 1 - s->window : 0;
    const int64_t kv = h / (s->heads / s->kv_heads);
    const float *q = s->q + (t * s->heads + h) * s->width;
    double sum = 0, bound = 0;
    for (int64_t e = 0; e < s->width; e++)
        out[e] = 0;
    for (int64_t j = first; j <= t; j++) {
        const int64_t at = (j * s->kv_heads + kv) * s->width;
        double score = 0, size = 0;
        for (int64_t e = 0; e < s->width; e++) {
            score += (double)q[e] * (double)s->rk[at + e];
            size += fabs((double)q[e] * (double)s->rk[at + e]);
        }
        score *= (double)s->score.scale;
        size *= (double)s->score.scale;
        if (s->score.softcap > 0) {
            const double cap = (double)s->score.softcap;
            score = cap * tanh(score / cap);
        }
        bound = fmax(bound, (double)(s->width + 8) * 0x1p-24 * size);
        const double p = exp(score); /* scores are small here */
        sum += p;
        for (int64_t e = 0; e < s->width; e++)
            out[e] += p * (double)s->rv[at + e];
    }
    for (int64_t e = 0; e < s->width; e++)
        out[e] /= sum;
    return bound;
}

/* Weights are off by twice the error of a score; then come at most 64 additions
 * in a block, two roundings per later block, and the functions. Values are
 * at most 1, and rounded upwards 127 d. */
static void check_against_double(const sequence *s)
{
    double out[128];
    for (int64_t t = 0; t < s->n; t++) {
        for (int64_t h = 0; h < s->heads; h++) {
            const double scores = naive(s, t, h, out);
            const double sums = (2 * 64 + (double)t / 16 + 16) * 0x1p-24;
            for (int64_t e = 0; e < s->width; e++) {
                const double got = (double)s->want[(t * s->heads + h) * s->width + e];
                assert_true(fabs(got - out[e]) <= 2 * scores + sums);
            }
        }
    }
}

static const struct {
    int64_t n, heads, kv_heads, width, window;
    float softcap;
} shapes[] = {
    { 70, 1, 1, 2, 0, 0 },     { 300, 4, 1, 16, 0, 0 },    { 300, 4, 2, 20, 100, 0 },
    { 600, 3, 3, 8, 16, 0 },   { 600, 8, 1, 6, 1, 0 },     { 700, 2, 1, 32, 300, 0 },
    { 1100, 2, 1, 4, 512, 0 }, { 300, 4, 1, 16, 0, 2.5f }, { 130, 28, 1, 10, 64, 0 },
    { 200, 6, 2, 72, 90, 0 },  { 90, 7, 1, 113, 0, 0 },
};

enum { N_SHAPES = sizeof(shapes) / sizeof(shapes[0]), N_CASES = N_SHAPES * VUG_KV_COUNT };

/* Every shape in every format. */
static sequence sequence_at(int i, rng *r)
{
    const vug_kv kv = (vug_kv)(i / N_SHAPES);
    i %= N_SHAPES;
    sequence s = sequence_of(r, shapes[i].n, shapes[i].heads, shapes[i].kv_heads, shapes[i].width);
    s.window = shapes[i].window;
    s.score.softcap = shapes[i].softcap;
    s.kv = kv;
    compute_want(&s);
    return s;
}

static void test_ref_against_double(void **state)
{
    (void)state;
    rng r = { 21 };
    for (int i = 0; i < N_CASES; i++) {
        sequence s = sequence_at(i, &r);
        check_against_double(&s);
        release(&s);
    }
}

/* ---- the backend against ref ---------------------------------------------- */

static void test_chunks(void **state)
{
    (void)state;
    rng r = { 22 };
    for (int i = 0; i < N_CASES; i++) {
        sequence s = sequence_at(i, &r);
        const int64_t chunks[] = { 1, 3, 7, 64, s.n };
        for (size_t c = 0; c < sizeof(chunks) / sizeof(chunks[0]); c++)
            in_chunks(&s, chunks[c], 1 + (int)(c % 3), vug_cpu_choose(NULL));
        release(&s);
    }
}

static void test_rows_of_the_table(void **state)
{
    (void)state;
    rng r = { 23 };
    for (int i = 0; i < vug_cpu_row_count() * VUG_KV_COUNT; i++) {
        sequence s = sequence_at(2 + i % VUG_KV_COUNT * N_SHAPES, &r);
        in_chunks(&s, 5, 2, vug_cpu_row(i / VUG_KV_COUNT));
        in_chunks(&s, s.n, 2, vug_cpu_row(i / VUG_KV_COUNT));
        release(&s);
    }
}

/* Three sequences, a third of them behind each other, step by step together:
 * one decodes while another is prefilled. */
static void several_sequences(vug_kv kv)
{
    enum { N = 3, HEADS = 4, KV = 2, WIDTH = 12, LENGTH = 330 };
    static const int64_t step[N] = { 1, 7, 40 };
    rng r = { 24 };
    sequence s[N];
    int64_t past[N] = { 0 };
    for (int i = 0; i < N; i++) {
        s[i] = sequence_of(&r, LENGTH, HEADS, KV, WIDTH);
        s[i].window = 90;
        s[i].kv = kv;
        compute_want(&s[i]);
    }
    fixture f = fixture_of(&s[0], 48, 2);
    vug_state states[N];
    for (int i = 0; i < N; i++)
        states[i] = state_of(&f);
    enum { MAX = 48 };
    const size_t nq = (size_t)MAX * HEADS * WIDTH, nk = (size_t)MAX * KV * WIDTH;
    float *q = guarded_floats(nq), *out = guarded_floats(nq);
    float *k = guarded_floats(nk), *v = guarded_floats(nk);
    for (int round = 0; past[0] < 60; round++) {
        vug_span span[N];
        int64_t at = 0;
        int n = 0;
        for (int j = 0; j < N; j++) {
            const int i = (j + round) % N;
            const int64_t left = LENGTH - past[i], m = left < step[i] ? left : step[i];
            if (m == 0)
                continue;
            const size_t row = WIDTH * sizeof(float);
            memcpy(q + at * HEADS * WIDTH, s[i].q + past[i] * HEADS * WIDTH,
                   (size_t)m * HEADS * row);
            memcpy(k + at * KV * WIDTH, s[i].k + past[i] * KV * WIDTH, (size_t)m * KV * row);
            memcpy(v + at * KV * WIDTH, s[i].v + past[i] * KV * WIDTH, (size_t)m * KV * row);
            span[n++] = (vug_span){ &states[i], past[i], m };
            at += m;
        }
        run(&f, &(vug_cpu_attention_job){ .cache = &f.cache,
                                          .span = span,
                                          .n_spans = n,
                                          .heads = HEADS,
                                          .q = q,
                                          .k = k,
                                          .v = v,
                                          .out = out,
                                          .score = s[0].score });
        at = 0;
        for (int j = 0; j < n; j++) {
            const int i = (int)(span[j].state - states);
            check_bits(out + at * HEADS * WIDTH, s[i].want + past[i] * HEADS * WIDTH,
                       (size_t)span[j].n * HEADS * WIDTH, "one of several sequences");
            past[i] += span[j].n;
            at += span[j].n;
        }
    }
    assert_int_equal(past[2], LENGTH);
    for (int i = 0; i < N; i++) {
        state_release(&f, &states[i]);
        release(&s[i]);
    }
    free_guarded(q);
    free_guarded(k);
    free_guarded(v);
    free_guarded(out);
    fixture_release(&f);
}

static void test_several_sequences(void **state)
{
    (void)state;
    for (int kv = 0; kv < VUG_KV_COUNT; kv++)
        several_sequences((vug_kv)kv);
}

/* A window's cache does not grow with the context, and holds what a step needs. */
static void test_slots(void **state)
{
    (void)state;
    const vug_shape k = { 3, { VUG_DIM_T, 1, 20 } };
    vug_cpu_cache c;
    assert_true(vug_cpu_cache_init(&c, &k, 512, VUG_KV_F32, &(vug_limits){ 32768, 512, 1 }));
    assert_int_equal(c.slots, 1024);
    assert_int_equal(c.columns, 32);
    assert_true(vug_cpu_cache_init(&c, &k, 512, VUG_KV_F32, &(vug_limits){ 1000, 512, 1 }));
    assert_int_equal(c.slots, 1024);
    assert_true(vug_cpu_cache_init(&c, &k, 512, VUG_KV_F32, &(vug_limits){ 700, 100, 1 }));
    assert_int_equal(c.slots, 640);
    assert_true(vug_cpu_cache_init(&c, &k, 0, VUG_KV_F32, &(vug_limits){ 4000, 512, 1 }));
    assert_int_equal(c.slots, 4032);
    assert_int_equal(vug_cpu_cache_bytes(&c), 4032 * 4 * (20 + 32));
}

/* Bytes of a slot: an element is 4, 2, 2 or 1, and 32 of them have a scale of 4. */
static void test_bytes(void **state)
{
    (void)state;
    static const struct {
        vug_kv kv;
        int64_t width;
        uint64_t slot; /* key and value */
    } rows[] = {
        { VUG_KV_F32, 256, 2048 }, { VUG_KV_F16, 256, 1024 },   { VUG_KV_BF16, 256, 1024 },
        { VUG_KV_Q8, 256, 576 },   { VUG_KV_F16, 20, 40 + 64 }, { VUG_KV_Q8, 33, 33 + 8 + 48 + 8 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const vug_shape k = { 3, { VUG_DIM_T, 3, rows[i].width } };
        vug_cpu_cache c;
        assert_true(vug_cpu_cache_init(&c, &k, 0, rows[i].kv, &(vug_limits){ 640, 64, 1 }));
        assert_int_equal(vug_cpu_cache_bytes(&c), rows[i].slot * 640 * 3);
        assert_false(vug_cpu_cache_init(&c, &k, 0, rows[i].kv, &(vug_limits){ INT64_MAX, 1, 1 }));
        assert_false(
                vug_cpu_cache_init(&c, &k, 0, rows[i].kv, &(vug_limits){ INT64_MAX / 64, 1, 1 }));
    }
}

/* ---- rounding -------------------------------------------------------------------- */

/* Halfway cases, the ends of the formats, and what is no number. */
static const float special[] = {
    0,           -0.0f,     1,           -1,        1.00048828125f, 1.00146484375f, 1.00390625f,
    1.01171875f, 65504,     65519.99f,   65520,     1e6f,           0x1p-14f,       0x1.8p-24f,
    0x1p-25f,    0x1p-126f, 0x1.8p-140f, 0x1p-149f, 3e38f,          FLT_MAX,        0.49999997f,
    63.5f,       127,       126.5f,      1e-38f,    -2.5f,          -3.5f,          0.5f,
    1e-7f,       1.17e-38f,
};
enum { N_SPECIAL = sizeof(special) / sizeof(special[0]) };

/* With one key its weight is 1: attention gives back the value. */
static void give_back(vug_kv kv, const float *x, int64_t width, float *out)
{
    sequence s = { .n = 1, .heads = 1, .kv_heads = 1, .width = width, .kv = kv };
    float *zero = guarded_floats((size_t)width), *value = guarded_floats((size_t)width);
    memset(zero, 0, (size_t)width * sizeof(float));
    memcpy(value, x, (size_t)width * sizeof(float));
    fixture f = fixture_of(&s, 1, 1);
    vug_state state = state_of(&f);
    const vug_span span = { &state, 0, 1 };
    run(&f, &(vug_cpu_attention_job){ .cache = &f.cache,
                                      .span = &span,
                                      .n_spans = 1,
                                      .heads = 1,
                                      .q = zero,
                                      .k = zero,
                                      .v = value,
                                      .out = out,
                                      .score = { .scale = 1 } });
    state_release(&f, &state);
    fixture_release(&f);
    free_guarded(zero);
    free_guarded(value);
}

static void check_given_back(vug_kv kv, const float *x, int64_t width)
{
    float want[128], got[128];
    vug_ref_kv(kv, x, width, want);
    give_back(kv, x, width, got);
    for (int64_t i = 0; i < width; i++) {
        assert_int_equal(isnan(got[i]), isnan(want[i]));
        if (!isnan(want[i])) {
            want[i] += 0; /* a sum from 0 has no -0 */
            check_bits(&got[i], &want[i], 1, vug_kv_name(kv));
        }
    }
}

static void test_what_is_given_back(void **state)
{
    (void)state;
    rng r = { 28 };
    float x[128];
    for (int kv = 0; kv < VUG_KV_COUNT; kv++) {
        for (int64_t width = 1; width <= N_SPECIAL; width++)
            check_given_back((vug_kv)kv, special + N_SPECIAL - width, width);
        for (int i = 0; i < N_SPECIAL; i++)
            check_given_back((vug_kv)kv, special + i, 1);
        for (int i = 0; i < 200; i++) {
            rng_fill(&r, x, 128);
            x[i % 128] *= 1e4f;
            x[i / 2] = i % 3 ? x[i / 2] : i % 2 ? INFINITY : NAN;
            check_given_back((vug_kv)kv, x, 1 + i % 128);
        }
    }
}

/* Of the definition, against double: a number of p bits is off by half a unit of its last
 * place, the least of which is 2^-24 in F16 and 2^-133 in BF16; 8 bits are off by half of
 * d, and by the roundings of d and of the product with 127 / most. */
static void test_rounding(void **state)
{
    (void)state;
    rng r = { 29 };
    float x[100], y[100];
    for (int round = 0; round < 300; round++) {
        rng_fill(&r, x, 100);
        for (int i = 0; i < 100; i++)
            x[i] = ldexpf(x[i], round % 60 - 30 + i % 10);
        vug_ref_kv(VUG_KV_F32, x, 100, y);
        check_bits(y, x, 100, "f32");
        vug_ref_kv(VUG_KV_F16, x, 100, y);
        for (int i = 0; i < 100; i++)
            assert_true(fabs((double)x[i]) >= 65520 ||
                        fabs((double)y[i] - (double)x[i]) <=
                                fmax(fabs((double)x[i]) * 0x1p-11, 0x1p-25));
        vug_ref_kv(VUG_KV_BF16, x, 100, y);
        for (int i = 0; i < 100; i++)
            assert_true(fabs((double)y[i] - (double)x[i]) <= fabs((double)x[i]) * 0x1p-8);
        vug_ref_kv(VUG_KV_Q8, x, 100, y);
        for (int i = 0; i < 100; i += VUG_KV_GROUP) {
            double most = 0;
            for (int j = i; j < i + VUG_KV_GROUP && j < 100; j++)
                most = fmax(most, fabs((double)x[j]));
            for (int j = i; j < i + VUG_KV_GROUP && j < 100; j++)
                assert_true(fabs((double)y[j] - (double)x[j]) <=
                            most / 127 * (0.5 + 127 * 4 * 0x1p-24));
        }
    }
    /* Ties go to even. */
    const float tie[] = { 127, 0.5f, 1.5f, -2.5f, -3.5f, 126.5f };
    const float even[] = { 127, 0, 2, -2, -4, 126 };
    vug_ref_kv(VUG_KV_Q8, tie, 6, y);
    check_bits(y, even, 6, "ties");
}

/* The largest error of an element that the format gives back, for elements up to 1. */
static double unit_of(vug_kv kv)
{
    static const double unit[VUG_KV_COUNT] = { 0, 0x1p-11, 0x1p-8, 0.5 / 127 * (1 + 0x1p-10) };
    return unit[kv];
}

/*
 * Scores are off by at most e = scale sum |q| unit, so that weights are off by a factor
 * of exp(2e) at most, and the sum of values up to 1 by exp(2e) - 1 and their own unit;
 * beside it there is what sums in F32 are off, as above.
 */
static void test_error_of_rounding(void **state)
{
    (void)state;
    for (int i = N_SHAPES; i < N_CASES; i++) {
        rng r = { 30 + (uint64_t)(i % N_SHAPES) }, again = r;
        sequence s = sequence_at(i, &r), exact = sequence_at(i % N_SHAPES, &again);
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
        release(&s);
        release(&exact);
    }
}

/* ---- masks and pasts that are given ----------------------------------------- */

/* The shapes, with formats that go round. */
static sequence sequence_in_turn(int i, rng *r)
{
    return sequence_at(i + i % VUG_KV_COUNT * N_SHAPES, r);
}

/* The rule of order and window, as a mask. */
static float *rule_of(const sequence *s)
{
    float *mask = guarded_floats((size_t)(s->n * s->n));
    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t j = 0; j < s->n; j++)
            mask[i * s->n + j] = j <= i && (s->window == 0 || i - j < s->window) ? 0 : -INFINITY;
    }
    return mask;
}

/* Holes of all sizes, keys of the future, numbers added, at least one key. */
static float *random_mask(rng *r, int64_t n)
{
    float *mask = guarded_floats((size_t)(n * n));
    rng_fill(r, mask, (size_t)(n * n));
    for (int64_t i = 0; i < n; i++) {
        float *row = mask + i * n;
        for (int64_t j = 0; j < n; j++) {
            if (j % 200 < i % 200 || (i % 3 && row[j] > 0.2f))
                row[j] = -INFINITY;
            else if (i % 2)
                row[j] = 0;
        }
        row[(i * 37) % n] = 0.5f;
    }
    return mask;
}

/* All tokens at once, and the last `few` after a past that is given. */
static void with_mask(const sequence *s, const float *mask, int64_t few, const char *what)
{
    sequence full = *s;
    full.window = 0; /* the mask says it */
    const int64_t nq = s->heads * s->width, nk = s->kv_heads * s->width;
    for (int64_t past = 0; past < s->n; past += s->n - few) {
        fixture f = fixture_of(&full, s->n, 2);
        vug_state state = state_of(&f);
        const int64_t n = s->n - past;
        float *out = guarded_floats((size_t)(n * nq));
        vug_cpu_range *seen = vug_alloc((size_t)n, sizeof(*seen));
        const vug_span span = { &state, past, n };
        vug_cpu_attention_job job = { .cache = &f.cache,
                                      .span = &span,
                                      .n_spans = 1,
                                      .heads = s->heads,
                                      .q = s->q + past * nq,
                                      .k = s->k + past * nk,
                                      .v = s->v + past * nk,
                                      .out = out,
                                      .score = s->score,
                                      .mask = { .add = mask + past * s->n, .columns = s->n } };
        assert_int_equal(vug_cpu_mask_init(&job.mask, &span, 1, seen, NULL), VUG_OK);
        vug_cpu_cache_load(&f.env, &job, s->k, s->v);
        run(&f, &job);
        check_bits(out, s->want + past * nq, (size_t)(n * nq), what);
        check_guards(out, (size_t)(n * nq));
        vug_free(seen);
        free_guarded(out);
        state_release(&f, &state);
        fixture_release(&f);
    }
}

static void test_the_rule_as_a_mask(void **state)
{
    (void)state;
    rng r = { 25 };
    for (int i = 0; i < N_SHAPES; i++) {
        sequence s = sequence_in_turn(i, &r); /* want: by the rule */
        float *mask = rule_of(&s);
        with_mask(&s, mask, 5, "the rule as a mask");
        free_guarded(mask);
        release(&s);
    }
}

static void test_any_mask(void **state)
{
    (void)state;
    rng r = { 26 };
    for (int i = 0; i < N_SHAPES; i++) {
        sequence s = sequence_in_turn(i, &r);
        float *mask = random_mask(&r, s.n);
        s.mask = mask;
        compute_want(&s);
        with_mask(&s, mask, 5, "any mask");
        with_mask(&s, mask, s.n / 2, "any mask");
        free_guarded(mask);
        release(&s);
    }
}

static void test_bad_masks(void **state)
{
    (void)state;
    float add[6] = { 0, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY };
    vug_cpu_mask mask = { .add = add, .columns = 3 };
    vug_cpu_range seen[2];
    vug_err err;
    const vug_span span = { NULL, 1, 2 };
    assert_int_equal(vug_cpu_mask_init(&mask, &span, 1, seen, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, "mask: row 1 sees none of its 3 keys");
    add[4] = NAN;
    assert_int_equal(vug_cpu_mask_init(&mask, &span, 1, seen, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, "mask: row 1, column 1 is nan, expected a number or -inf");
    add[4] = 1;
    assert_int_equal(vug_cpu_mask_init(&mask, &span, 1, seen, &err), VUG_OK);
    assert_int_equal(seen[0].end, 1);
    assert_int_equal(seen[1].first, 1);
    assert_int_equal(seen[1].end, 2);
}

/* Of a long past a window's cache takes what can be seen. */
static void test_past_in_a_window(void **state)
{
    (void)state;
    rng r = { 27 };
    for (int i = 0; i < 2 * VUG_KV_COUNT; i++) {
        sequence s = sequence_at(3 + i % 2 + i / 2 * N_SHAPES, &r); /* windows of 16 and 1 */
        const sequence *of = &s;
        const int64_t past = of->n - 3, nq = of->heads * of->width, nk = of->kv_heads * of->width;
        fixture f = fixture_of(of, 3, 2);
        vug_state state_ = state_of(&f);
        float *out = guarded_floats((size_t)(3 * nq));
        const vug_span span = { &state_, past, 3 };
        const vug_cpu_attention_job job = { .cache = &f.cache,
                                            .span = &span,
                                            .n_spans = 1,
                                            .heads = of->heads,
                                            .q = of->q + past * nq,
                                            .k = of->k + past * nk,
                                            .v = of->v + past * nk,
                                            .out = out,
                                            .score = of->score };
        assert_true(f.cache.slots < past);
        vug_cpu_cache_load(&f.env, &job, of->k, of->v);
        run(&f, &job);
        check_bits(out, of->want + past * nq, (size_t)(3 * nq), "a past that is given");
        free_guarded(out);
        state_release(&f, &state_);
        fixture_release(&f);
        release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ref_against_double),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_rows_of_the_table),
        cmocka_unit_test(test_several_sequences),
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_what_is_given_back),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_error_of_rounding),
        cmocka_unit_test(test_the_rule_as_a_mask),
        cmocka_unit_test(test_any_mask),
        cmocka_unit_test(test_bad_masks),
        cmocka_unit_test(test_past_in_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
