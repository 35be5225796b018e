/*
 * Products with a head of which only some outputs are wanted: every output that is wanted has the
 * bits of the whole product, for every format, kernel set, number of rows and threads, and for
 * weights and inputs that are made to mislead the screen.
 */
#include "test.h"

#include <math.h>

#include "backend/cpu/head_screen.h"
#include "kernel_help.h"
#include "quant/codec.h"
#include "quant/quantize.h"
#include "sanitized.h"

enum { ROWS = 3000, COLUMNS = 192, MOST_X = 4, SHARED = 1 << 18 };

static const vug_dtype formats[] = { VUG_DTYPE_F32, VUG_DTYPE_F16, VUG_DTYPE_BF16, VUG_DTYPE_Q8_0,
                                     VUG_DTYPE_Q6_K };

enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

/* A head, and a screen that is complete. */
typedef struct {
    vug_cpu_env env;
    uint8_t *data;
    vug_weight weight;
    vug_cpu_head_screen *screen;
} head_fixture;

static int64_t columns_of(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_Q6_K ? 256 : COLUMNS;
}

static uint8_t *encode_weights(vug_dtype dtype, const float *w, int64_t rows, int64_t columns)
{
    const int64_t stride = vug_dtype_row(dtype, columns);
    uint8_t *data = vug_alloc((size_t)rows, (size_t)stride);
    assert_non_null(data);
    for (int64_t r = 0; r < rows; r++) {
        if (vug_codec_of(dtype)->encode)
            vug_codec_of(dtype)->encode(w + r * columns, data + r * stride, (size_t)columns);
        else
            vug_quantize_row(dtype, w + r * columns, NULL, columns, data + r * stride);
    }
    return data;
}

static void build_screen(head_fixture *f)
{
    for (int i = 0; i < VUG_CPU_HEAD_SCREEN_STEPS; i++)
        vug_cpu_head_screen_build(&f->env, f->screen);
    assert_int_equal(f->screen->built, f->weight.rows);
}

static head_fixture make_head(const vug_cpu_kernels *kernels, int threads, vug_dtype dtype,
                              const float *w)
{
    const int64_t columns = columns_of(dtype);
    head_fixture f = { .env = { .kernels = kernels },
                       .data = encode_weights(dtype, w, ROWS, columns) };
    f.weight = (vug_weight){
        .name = "head", .dtype = dtype, .rows = ROWS, .columns = columns, .data = f.data
    };
    f.env.scratch_floats = vug_cpu_linear_scratch_floats(&f.env, VUG_DTYPE_Q4_0, columns);
    f.env.shared = vug_alloc_aligned(SHARED * sizeof(float));
    f.env.scratch = vug_alloc_aligned((size_t)(f.env.scratch_floats * threads) * sizeof(float));
    assert_non_null(f.env.shared);
    assert_non_null(f.env.scratch);
    uint64_t shared;
    assert_true(vug_cpu_head_shared_floats(&f.weight, MOST_X, &shared) && shared <= SHARED);
    assert_true(vug_cpu_head_screen_scratch_floats(columns) <= f.env.scratch_floats);
    assert_int_equal(vug_pool_create(threads, &f.env.pool, NULL), VUG_OK);
    assert_true(vug_cpu_head_screen_supports(&f.env, &f.weight));
    assert_int_equal(vug_cpu_head_screen_create(&f.weight, &f.screen, NULL), VUG_OK);
    f.screen->is_always_used = true;
    build_screen(&f);
    return f;
}

static void release_head(head_fixture *f)
{
    vug_cpu_head_screen_destroy(f->screen);
    vug_pool_destroy(f->env.pool);
    vug_free(f->env.scratch);
    vug_free(f->env.shared);
    vug_free(f->data);
}

static int compare_descending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* Every logit has the bits of the whole product, or is not wanted. */
static void check_row(const float *got, const float *all, const vug_logits_wanted *wanted)
{
    float sorted[ROWS];
    memcpy(sorted, all, sizeof(sorted));
    qsort(sorted, (size_t)wanted->n_ids, sizeof(*sorted), compare_descending);
    const double least = (double)sorted[wanted->best - 1] - wanted->margin;
    for (int64_t i = 0; i < ROWS; i++) {
        if (bits_of(got[i]) == bits_of(all[i]))
            continue;
        if (got[i] != VUG_LOGIT_UNWANTED || !((double)all[i] < least))
            fail_msg("logit %lld is %g, expected %g; wanted from %g on", (long long)i,
                     (double)got[i], (double)all[i], least);
    }
}

/* Checks `n` rows of x together; returns what the product cost. */
static vug_head_stats check_product(head_fixture *f, const float *x, int64_t n,
                                    const vug_logits_wanted *wanted)
{
    vug_head_stats cost = { 0 };
    float *all = guarded_floats((size_t)(n * ROWS)), *got = guarded_floats((size_t)(n * ROWS));
    vug_cpu_head_job job = { .x = x, .rows = n, .logits = all };
    vug_cpu_head_product(&f->env, f->screen, &job);
    job.logits = got;
    job.wanted = wanted;
    job.cost = &cost;
    vug_cpu_head_product(&f->env, f->screen, &job);
    for (int64_t i = 0; i < n; i++)
        check_row(got + i * ROWS, all + i * ROWS, &wanted[i]);
    check_guards(got, (size_t)(n * ROWS));
    free_guarded(all);
    free_guarded(got);
    return cost;
}

static void fill_wanted(vug_logits_wanted *wanted, int64_t best, double margin)
{
    for (int i = 0; i < MOST_X; i++)
        wanted[i] = (vug_logits_wanted){ .best = best, .n_ids = ROWS - 7 * i, .margin = margin };
}

/* ---- plain weights -------------------------------------------------------------------- */

static float *random_head(uint64_t seed)
{
    rng r = { seed };
    float *w = vug_alloc((size_t)ROWS * 256, sizeof(*w));
    assert_non_null(w);
    rng_fill(&r, w, (size_t)ROWS * 256);
    return w;
}

/* x like some rows of the head, as the hidden states of a model that is sure. */
static void fill_sure(float *x, const float *w, int64_t columns, int64_t n, uint64_t seed)
{
    rng r = { seed };
    for (int64_t i = 0; i < n; i++) {
        const float *like = w + (int64_t)(rng_bits(&r) % ROWS) * columns;
        for (int64_t j = 0; j < columns; j++)
            x[i * columns + j] = 3 * like[j] + rng_float(&r);
    }
}

static void check_format(const vug_cpu_kernels *kernels, int threads, vug_dtype dtype)
{
    static const struct {
        int64_t best;
        double margin;
    } kinds[] = { { 1, 0 }, { 1, 2.5 }, { 5, 0 }, { 40, 0 }, { 60, 1 } };
    const int64_t columns = columns_of(dtype);
    float *w = random_head(dtype + 5), x[MOST_X * 256];
    head_fixture f = make_head(kernels, threads, dtype, w);
    vug_head_stats sure = { 0 };
    for (int seed = 1; seed <= MOST_X; seed++) {
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            vug_logits_wanted wanted[MOST_X];
            rng r = { (uint64_t)seed + 100 };
            fill_wanted(wanted, kinds[k].best, kinds[k].margin);
            fill_sure(x, w, columns, MOST_X, (uint64_t)seed);
            const vug_head_stats cost = check_product(&f, x, seed % MOST_X + 1, wanted);
            sure.rows += k == 0 ? cost.rows : 0;
            sure.screened += k == 0 ? cost.screened : 0;
            sure.logits += k == 0 ? cost.logits : 0;
            rng_fill(&r, x, (size_t)(MOST_X * columns));
            check_product(&f, x, seed % MOST_X + 1, wanted);
        }
    }
    /* So that the test is one of screened products. */
    assert_true(sure.rows > 0);
    assert_int_equal(sure.screened, sure.rows);
    assert_true(sure.logits < sure.rows * ROWS / 20);
    release_head(&f);
    vug_free(w);
}

static void test_wanted_logits_have_the_bits_of_the_whole_product(void **state)
{
    (void)state;
    for (int k = 0; k < vug_cpu_kernels_count(); k++) {
        const int threads = k % 2 + 1;
        if (FINDS_RACES && threads == 1)
            continue;
        for (int i = 0; i < N_FORMATS; i++)
            check_format(vug_cpu_kernels_at(k), threads, formats[i]);
    }
}

/* ---- hostile weights and inputs -------------------------------------------------------- */

/* The best and its equals, nearly equals, and rows that the copy changes most: all weights between
 * two of its steps. */
static void make_ties(float *w, int64_t columns)
{
    for (int64_t r = 0; r < ROWS; r++) {
        const bool is_zero = r % 5 == 4;
        for (int64_t j = 0; j < columns; j++) {
            const float step = j % 32 == 0 ? 1.0f : ((float)(j % 15) - 7.5f) / 8;
            w[r * columns + j] = is_zero ? 0 : r % 5 == 3 ? -step : step;
        }
        w[r * columns + 1] += r % 5 == 1 ? 0x1p-9f : 0;
    }
}

static void check_hostile(head_fixture *f, const float *x)
{
    static const int64_t bests[] = { 1, 2, 30 };
    for (int i = 0; i < 3; i++) {
        vug_logits_wanted wanted[MOST_X];
        fill_wanted(wanted, bests[i], i == 1 ? 0.5 : 0);
        check_product(f, x, 1, wanted);
        check_product(f, x, MOST_X, wanted);
    }
}

static void test_ties_and_zeros(void **state)
{
    (void)state;
    for (int i = 0; i < N_FORMATS; i++) {
        const int64_t columns = columns_of(formats[i]);
        float *w = random_head(1), x[MOST_X * 256];
        make_ties(w, columns);
        head_fixture f = make_head(vug_cpu_kernels_select(NULL), 2, formats[i], w);
        for (int64_t j = 0; j < MOST_X * columns; j++)
            x[j] = j % 32 == 0 ? 0.001f : (float)(j % 15) - 7.5f;
        check_hostile(&f, x);
        memset(x, 0, sizeof(x));
        check_hostile(&f, x);
        release_head(&f);
        vug_free(w);
    }
}

/* Numbers at the ends of the range, where squares overflow and products vanish. */
static void test_extreme_numbers(void **state)
{
    (void)state;
    static const float scales[] = { 1e-42f, 1e-30f, 1e-15f, 1e15f, 1e36f };
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 5; j++) {
            float *w = random_head(3), x[MOST_X * 256];
            fill_sure(x, w, COLUMNS, MOST_X, 5);
            for (int64_t e = 0; e < (int64_t)ROWS * COLUMNS; e++)
                w[e] *= scales[i];
            for (int64_t e = 0; e < (int64_t)MOST_X * COLUMNS; e++)
                x[e] *= scales[j];
            head_fixture f = make_head(vug_cpu_kernels_select(NULL), 2, VUG_DTYPE_F32, w);
            check_hostile(&f, x);
            release_head(&f);
            vug_free(w);
        }
    }
}

/* What is not finite is found: requests fail on it. */
static void test_nothing_that_is_not_finite_is_left_out(void **state)
{
    (void)state;
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    for (int i = 0; i < 2 * 3 * N_FORMATS; i++) {
        const vug_dtype dtype = formats[i % N_FORMATS];
        const int64_t columns = columns_of(dtype);
        const bool in_x = i % 2;
        float *w = random_head(9), x[MOST_X * 256];
        fill_sure(x, w, columns, MOST_X, 2);
        if (in_x)
            x[5] = bad[i % 3];
        else if (vug_codec_of(dtype)->encode)
            w[1234 * columns + 7] = bad[i % 3];
        head_fixture f = make_head(vug_cpu_kernels_select(NULL), 2, dtype, w);
        const int64_t stride = vug_dtype_row(dtype, columns);
        const uint8_t f16_infinity[] = { 0x00, 0x7c };
        if (!in_x && dtype == VUG_DTYPE_Q8_0) {
            memcpy(f.data + 1234 * stride, f16_infinity, 2);
            f.screen->built = 0;
            build_screen(&f);
        }
        vug_logits_wanted wanted[MOST_X];
        fill_wanted(wanted, 1, 0);
        float *all = guarded_floats(ROWS), *got = guarded_floats(ROWS);
        vug_cpu_head_product(&f.env, f.screen,
                             &(vug_cpu_head_job){ .x = x, .rows = 1, .logits = all });
        vug_cpu_head_product(
                &f.env, f.screen,
                &(vug_cpu_head_job){ .x = x, .rows = 1, .logits = got, .wanted = wanted });
        for (int64_t r = 0; r < ROWS; r++)
            assert_true(isfinite(all[r]) ? isfinite(got[r]) : !isfinite(got[r]));
        free_guarded(all);
        free_guarded(got);
        release_head(&f);
        vug_free(w);
    }
}

/* ---- shares -------------------------------------------------------------------------------- */

/* How many of the greatest logits a reader keeps that takes those that are not wanted for 0. */
static int64_t count_kept(const float *logits, const vug_logits_wanted *wanted)
{
    float sorted[ROWS];
    double sum = 0, kept = 0;
    int64_t n = 0;
    memcpy(sorted, logits, sizeof(sorted));
    qsort(sorted, (size_t)wanted->n_ids, sizeof(*sorted), compare_descending);
    const double best = (double)sorted[0];
    for (int64_t i = 0; i < wanted->n_ids; i++)
        sum += exp(((double)sorted[i] - best) * wanted->scale);
    while (n < wanted->n_ids && (n == 0 || kept < wanted->share * sum))
        kept += exp(((double)sorted[n++] - best) * wanted->scale);
    return n;
}

/* A row keeps the same logits as the whole product; returns whether it was screened. */
static bool check_share(head_fixture *f, const float *x, const vug_logits_wanted *wanted)
{
    float *all = guarded_floats(ROWS), *got = guarded_floats(ROWS);
    vug_head_stats cost = { 0 };
    vug_cpu_head_job job = { .x = x, .rows = 1, .logits = all };
    vug_cpu_head_product(&f->env, f->screen, &job);
    job = (vug_cpu_head_job){ .x = x, .rows = 1, .logits = got, .wanted = wanted, .cost = &cost };
    vug_cpu_head_product(&f->env, f->screen, &job);
    const int64_t n = count_kept(all, wanted);
    assert_int_equal(count_kept(got, wanted), n);
    float least = INFINITY, sorted[ROWS];
    memcpy(sorted, all, sizeof(sorted));
    qsort(sorted, (size_t)wanted->n_ids, sizeof(*sorted), compare_descending);
    least = sorted[n - 1];
    for (int64_t i = 0; i < ROWS; i++) {
        if (all[i] >= least || got[i] != VUG_LOGIT_UNWANTED)
            assert_int_equal(bits_of(got[i]), bits_of(all[i]));
    }
    free_guarded(all);
    free_guarded(got);
    return cost.screened == 1;
}

static void test_shares_are_kept_as_in_the_whole_product(void **state)
{
    (void)state;
    enum { ROUNDS = 120 };
    static const double shares[] = { 1e-6, 0.3, 0.9, 0.95, 0.999 };
    int screened = 0, whole = 0;
    for (int i = 0; i < N_FORMATS; i++) {
        const int64_t columns = columns_of(formats[i]);
        float *w = random_head(7), x[MOST_X * 256];
        head_fixture f = make_head(vug_cpu_kernels_select(NULL), 2, formats[i], w);
        for (int round = 0; round < ROUNDS; round++) {
            rng r = { (uint64_t)round };
            const double temperature = 1 + rng_bits(&r) % 16;
            const vug_logits_wanted wanted = { .best = 1,
                                               .n_ids = ROWS - round % 7,
                                               .margin = 10 * temperature,
                                               .share = shares[rng_bits(&r) % 5],
                                               .scale = 1 / temperature };
            fill_sure(x, w, columns, 1, (uint64_t)round);
            for (int64_t j = 0; j < columns && round % 3 == 0; j++)
                x[j] -= 2.5f * w[(int64_t)(round % ROWS) * columns + j]; /* another good row */
            if (check_share(&f, x, &wanted))
                screened++;
            else
                whole++;
        }
        release_head(&f);
        vug_free(w);
    }
    /* So that the test is one of both. */
    print_message("%d rows screened, %d whole\n", screened, whole);
    assert_true(screened > ROUNDS && whole > ROUNDS / 4);
}

/* What was not computed may add to the mass, so that more outputs are kept. */
static void test_shares_that_are_not_decided(void **state)
{
    (void)state;
    const float logits[] = { 3, VUG_LOGIT_UNWANTED, 2, 1, VUG_LOGIT_UNWANTED, 0 };
    const double sum = exp(0) + exp(-1) + exp(-2) + exp(-3);
    double mass[VUG_CPU_HEAD_MOST_MASSES];
    vug_cpu_head_share s = { .logits = logits, .n_ids = 6, .scale = 1, .best = 3, .limit = -1 };
    s.share = (exp(0) + exp(-1)) / sum - 0.01; /* two are kept */
    assert_true(vug_cpu_head_decides_share(&s, mass));
    s.rest = 0.01;
    assert_true(vug_cpu_head_decides_share(&s, mass));
    s.rest = 0.03; /* perhaps three */
    assert_false(vug_cpu_head_decides_share(&s, mass));
    s.rest = 0;
    s.limit = 2; /* there may be one more with 2 */
    assert_false(vug_cpu_head_decides_share(&s, mass));
    s.limit = 1.99;
    assert_true(vug_cpu_head_decides_share(&s, mass));
    s.share = (exp(0) + exp(-1)) / sum; /* rounding decides */
    assert_false(vug_cpu_head_decides_share(&s, mass));
    s.share = 1e-9;
    assert_true(vug_cpu_head_decides_share(&s, mass));
    s.n_ids = 0;
    assert_false(vug_cpu_head_decides_share(&s, mass));
    const float infinite[] = { 1, INFINITY };
    s = (vug_cpu_head_share){ .logits = infinite, .n_ids = 2, .scale = 1, .share = 0.5 };
    assert_false(vug_cpu_head_decides_share(&s, mass));
}

/* ---- when it is used -------------------------------------------------------------------- */

static void test_products_that_gain_nothing_pause_the_screen(void **state)
{
    (void)state;
    float *w = random_head(1), x[MOST_X * 256] = { 0 };
    head_fixture f = make_head(vug_cpu_kernels_select(NULL), 1, VUG_DTYPE_Q8_0, w);
    vug_logits_wanted wanted[MOST_X];
    fill_wanted(wanted, 1, 0);
    f.screen->is_always_used = false;
    assert_int_equal(check_product(&f, x, 1, wanted).screened, 0); /* all logits are 0 */
    assert_int_equal(f.screen->pause, 1);
    fill_sure(x, w, COLUMNS, 1, 3);
    assert_int_equal(check_product(&f, x, 1, wanted).screened, 0);
    assert_int_equal(check_product(&f, x, 1, wanted).screened, 1);
    assert_int_equal(f.screen->pause, 0);
    release_head(&f);
    vug_free(w);
}

/* The copy is made by products that could use it, unless they are the last of a prompt. */
static void test_products_make_the_copy(void **state)
{
    (void)state;
    float *w = random_head(1), x[MOST_X * 256];
    head_fixture f = make_head(vug_cpu_kernels_select(NULL), 2, VUG_DTYPE_Q8_0, w);
    float *logits = guarded_floats(ROWS);
    vug_logits_wanted wanted[MOST_X];
    vug_head_stats cost = { 0 };
    fill_sure(x, w, COLUMNS, 1, 3);
    fill_wanted(wanted, 1, 0);
    vug_cpu_head_job job = { .x = x, .rows = 1, .logits = logits, .wanted = wanted, .cost = &cost };
    memset(f.data, 0, (size_t)ROWS); /* the head has changed */
    f.screen->built = 0;
    vug_cpu_head_product(&f.env, f.screen, &job);
    assert_int_equal(f.screen->built, 0);
    job.may_build = true;
    for (int i = 0; i < VUG_CPU_HEAD_SCREEN_STEPS && f.screen->built < ROWS; i++)
        vug_cpu_head_product(&f.env, f.screen, &job);
    assert_int_equal(f.screen->built, ROWS);
    assert_int_equal(cost.screened, 0);
    assert_int_equal(check_product(&f, x, 1, wanted).screened, 1);
    free_guarded(logits);
    release_head(&f);
    vug_free(w);
}

/* Copying waits after it has taken more than its share of the time of steps. */
static void test_copying_takes_a_share_of_the_time(void **state)
{
    (void)state;
    float *w = random_head(1);
    head_fixture f = make_head(vug_cpu_kernels_select(NULL), 2, VUG_DTYPE_BF16, w);
    f.screen->built = 0;
    f.screen->is_always_used = false;
    f.screen->credit_s = 0;
    vug_cpu_head_screen_build(&f.env, f.screen);
    const int64_t part = f.screen->built;
    assert_true(part > 0 && part < ROWS / VUG_CPU_HEAD_SCREEN_STEPS);
    assert_true(f.screen->credit_s < 0);
    f.screen->credit_s = -1;
    vug_cpu_head_screen_build(&f.env, f.screen);
    vug_cpu_head_screen_add_step(f.screen, 7.9);
    vug_cpu_head_screen_build(&f.env, f.screen);
    assert_int_equal(f.screen->built, part);
    vug_cpu_head_screen_add_step(f.screen, 1000);
    vug_cpu_head_screen_build(&f.env, f.screen);
    const int64_t of_step = f.screen->built - part;
    assert_in_range(of_step, ROWS / VUG_CPU_HEAD_SCREEN_STEPS,
                    ROWS / VUG_CPU_HEAD_SCREEN_STEPS + 8);
    f.screen->credit_s = -1;
    f.screen->is_always_used = true;
    vug_cpu_head_screen_build(&f.env, f.screen);
    assert_int_equal(f.screen->built, part + 2 * of_step);
    release_head(&f);
    vug_free(w);
}

static void test_too_many_wanted_logits_are_all_computed(void **state)
{
    (void)state;
    float *w = random_head(1), x[MOST_X * 256];
    head_fixture f = make_head(vug_cpu_kernels_select(NULL), 1, VUG_DTYPE_BF16, w);
    vug_logits_wanted wanted[MOST_X];
    fill_sure(x, w, COLUMNS, MOST_X, 3);
    fill_wanted(wanted, 100, 0);
    assert_int_equal(check_product(&f, x, 1, wanted).rows, 0);
    fill_wanted(wanted, 1, 0);
    wanted[1].best = 0;
    vug_head_stats cost = { 0 };
    float *all = guarded_floats((size_t)2 * ROWS), *got = guarded_floats((size_t)2 * ROWS);
    vug_cpu_head_job job = { .x = x, .rows = 2, .logits = all };
    vug_cpu_head_product(&f.env, f.screen, &job);
    job = (vug_cpu_head_job){ .x = x, .rows = 2, .logits = got, .wanted = wanted, .cost = &cost };
    vug_cpu_head_product(&f.env, f.screen, &job);
    check_bits(got, all, (size_t)2 * ROWS, "a row that wants all");
    assert_int_equal(cost.rows, 0);
    free_guarded(all);
    free_guarded(got);
    release_head(&f);
    vug_free(w);
}

static void test_heads_without_a_screen(void **state)
{
    (void)state;
    const vug_cpu_env q8 = { .activations = VUG_ACTIVATIONS_Q8 };
    const vug_cpu_env bf16 = { .activations = VUG_ACTIVATIONS_BF16 };
    const vug_cpu_env f32 = { .activations = VUG_ACTIVATIONS_F32 };
    vug_weight w = { .dtype = VUG_DTYPE_BF16, .rows = 8, .columns = 64 };
    assert_true(vug_cpu_head_screen_supports(&q8, &w));
    assert_false(vug_cpu_head_screen_supports(&bf16, &w));
    assert_false(vug_cpu_head_screen_supports(&f32, &w));
    w.columns = 72;
    assert_false(vug_cpu_head_screen_supports(&q8, &w));
    w = (vug_weight){ .dtype = VUG_DTYPE_Q4_0, .rows = 8, .columns = 64 };
    assert_false(vug_cpu_head_screen_supports(&q8, &w));
    w.dtype = VUG_DTYPE_Q8_0;
    assert_true(vug_cpu_head_screen_supports(&q8, &w) && vug_cpu_head_screen_supports(&bf16, &w));
    assert_false(vug_cpu_head_screen_supports(&f32, &w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wanted_logits_have_the_bits_of_the_whole_product),
        cmocka_unit_test(test_ties_and_zeros),
        cmocka_unit_test(test_extreme_numbers),
        cmocka_unit_test(test_nothing_that_is_not_finite_is_left_out),
        cmocka_unit_test(test_shares_are_kept_as_in_the_whole_product),
        cmocka_unit_test(test_shares_that_are_not_decided),
        cmocka_unit_test(test_products_that_gain_nothing_pause_the_screen),
        cmocka_unit_test(test_products_make_the_copy),
        cmocka_unit_test(test_copying_takes_a_share_of_the_time),
        cmocka_unit_test(test_too_many_wanted_logits_are_all_computed),
        cmocka_unit_test(test_heads_without_a_screen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
