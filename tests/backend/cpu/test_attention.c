/*
 * Attention over the KV cache: ref.c is close to a naive evaluation in double. The backend
 * gives the bits of ref.c, however a sequence is cut into steps, whichever other sequences
 * share its steps, and whatever the unused slots of the cache contain.
 */
#include "test.h"

#include <math.h>

#include "attention_help.h"

/* Checks the whole sequence in steps of `chunk` tokens. */
static void check_chunks(const attention_sequence *s, int64_t chunk, int threads,
                         const vug_cpu_kernels *kernels)
{
    attention_setup f = help_attention_setup(s, chunk, threads);
    f.env.kernels = kernels;
    attention_pages pages = help_pages(&f, 1);
    const int64_t nq = s->heads * s->width, nk = s->kv_heads * s->width;
    for (int64_t t = 0; t < s->n; t += chunk) {
        const int64_t n = s->n - t < chunk ? s->n - t : chunk;
        float *out = guarded_floats((size_t)(n * nq));
        const vug_span span = { help_table(&pages, 0), t, n };
        help_append_and_attend(&f, &(vug_cpu_attention_job){ .cache = &f.cache,
                                                             .kv = &pages.kv,
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
    help_pages_release(&pages);
    help_attention_teardown(&f);
}

/* ---- ref against double --------------------------------------------------- */

/* One query in double. Returns the largest error bound of a score, which is a scaled sum of
 * width products: (width + 2) eps sum|q||k| scale. */
static double attend_in_double(const attention_sequence *s, int64_t t, int64_t h, double *out)
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
            score += (double)q[e] * (double)s->rounded_k[at + e];
            size += fabs((double)q[e] * (double)s->rounded_k[at + e]);
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
            out[e] += p * (double)s->rounded_v[at + e];
    }
    for (int64_t e = 0; e < s->width; e++)
        out[e] /= sum;
    return bound;
}

/* The error of a softmax weight is at most twice that of a score. To this add at most 64
 * additions in a block, two roundings per later block, and the errors of the functions. Values
 * are at most 1, or 127 d when rounded up. */
static void check_against_double(const attention_sequence *s)
{
    double out[128];
    for (int64_t t = 0; t < s->n; t++) {
        for (int64_t h = 0; h < s->heads; h++) {
            const double scores = attend_in_double(s, t, h, out);
            const double sums = (2 * 64 + (double)t / 16 + 16) * 0x1p-24;
            for (int64_t e = 0; e < s->width; e++) {
                const double got = (double)s->want[(t * s->heads + h) * s->width + e];
                assert_true(fabs(got - out[e]) <= 2 * scores + sums);
            }
        }
    }
}

static void test_ref_against_double(void **state)
{
    (void)state;
    rng r = { 21 };
    for (int i = 0; i < HELP_CASES; i++) {
        attention_sequence s = help_sequence_at(i, &r);
        check_against_double(&s);
        help_sequence_release(&s);
    }
}

/* ---- the backend against ref ---------------------------------------------- */

static void test_chunks_of_any_size(void **state)
{
    (void)state;
    rng r = { 22 };
    for (int i = 0; i < HELP_CASES; i++) {
        attention_sequence s = help_sequence_at(i, &r);
        const int64_t chunks[] = { 1, 3, 7, 64, s.n };
        for (size_t c = 0; c < sizeof(chunks) / sizeof(chunks[0]); c++)
            check_chunks(&s, chunks[c], 1 + (int)(c % 3), vug_cpu_kernels_select(NULL));
        help_sequence_release(&s);
    }
}

static void test_every_kernel_set(void **state)
{
    (void)state;
    rng r = { 23 };
    for (int i = 0; i < vug_cpu_kernels_count() * VUG_KV_COUNT; i++) {
        attention_sequence s = help_sequence_at(2 + i % VUG_KV_COUNT * HELP_SHAPES, &r);
        check_chunks(&s, 5, 2, vug_cpu_kernels_at(i / VUG_KV_COUNT));
        check_chunks(&s, s.n, 2, vug_cpu_kernels_at(i / VUG_KV_COUNT));
        help_sequence_release(&s);
    }
}

/* Three sequences that share their steps and are at different positions: one decodes while
 * another one is prefilled. */
static void check_several_sequences(vug_kv_format kv)
{
    enum { N = 3, HEADS = 4, KV = 2, WIDTH = 12, LENGTH = 330 };
    static const int64_t step[N] = { 1, 7, 40 };
    rng r = { 24 };
    attention_sequence s[N];
    int64_t past[N] = { 0 };
    for (int i = 0; i < N; i++) {
        s[i] = help_sequence(&r, LENGTH, HEADS, KV, WIDTH);
        s[i].window = 90;
        s[i].kv = kv;
        help_sequence_expect(&s[i]);
    }
    attention_setup f = help_attention_setup(&s[0], 48, 2);
    attention_pages pages = help_pages(&f, N);
    enum { MAX = 48 };
    const size_t nq = (size_t)MAX * HEADS * WIDTH, nk = (size_t)MAX * KV * WIDTH;
    float *q = guarded_floats(nq), *out = guarded_floats(nq);
    float *k = guarded_floats(nk), *v = guarded_floats(nk);
    for (int round = 0; past[0] < 60; round++) {
        vug_span span[N];
        int sequence[N];
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
            sequence[n] = i;
            span[n++] = (vug_span){ help_table(&pages, i), past[i], m };
            at += m;
        }
        help_append_and_attend(&f, &(vug_cpu_attention_job){ .cache = &f.cache,
                                                             .kv = &pages.kv,
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
            const int i = sequence[j];
            check_bits(out + at * HEADS * WIDTH, s[i].want + past[i] * HEADS * WIDTH,
                       (size_t)span[j].n * HEADS * WIDTH, "one of several sequences");
            past[i] += span[j].n;
            at += span[j].n;
        }
    }
    assert_int_equal(past[2], LENGTH);
    help_pages_release(&pages);
    for (int i = 0; i < N; i++)
        help_sequence_release(&s[i]);
    free_guarded(q);
    free_guarded(k);
    free_guarded(v);
    free_guarded(out);
    help_attention_teardown(&f);
}

static void test_several_sequences(void **state)
{
    (void)state;
    for (int kv = 0; kv < VUG_KV_COUNT; kv++)
        check_several_sequences((vug_kv_format)kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ref_against_double),
        cmocka_unit_test(test_chunks_of_any_size),
        cmocka_unit_test(test_every_kernel_set),
        cmocka_unit_test(test_several_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
