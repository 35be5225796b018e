/*
 * Mixture of experts on the CPU. The router is compared with a second, slower definition, the
 * sum of the chosen experts with ref.c, to the bit, for every kernel set, any number of threads
 * and odd sizes. Experts that were not chosen are not read, and memory grows with the number
 * of chosen ones only.
 */
#include "test.h"

#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/ref.h"
#include "block_help.h"
#include "quant/codec.h"

/* ---- the router ----------------------------------------------------------- */

typedef struct {
    float logit;
    int64_t index;
} entry;

static int best_first(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit > y->logit ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Compares with qsort and weights in double. */
static void check_router(const float *logits, int64_t n, const vug_attr_router *at)
{
    entry *sorted = vug_alloc((size_t)n, sizeof(*sorted));
    float *out = guarded_floats((size_t)at->count * 2);
    double all = 0, chosen = 0, sum = 0;
    assert_non_null(sorted);
    for (int64_t i = 0; i < n; i++)
        sorted[i] = (entry){ logits[i], i };
    qsort(sorted, (size_t)n, sizeof(*sorted), best_first);
    for (int64_t i = 0; i < n; i++) {
        const double e = exp((double)sorted[i].logit - (double)sorted[0].logit);
        all += e;
        chosen += i < at->count ? e : 0;
    }
    vug_ref_router(logits, n, at, out);
    check_guards(out, (size_t)at->count * 2);
    for (int j = 0; j < at->count; j++) {
        const double e = exp((double)sorted[j].logit - (double)sorted[0].logit);
        const double want = e / (at->renormalise ? chosen : all);
        assert_int_equal((int64_t)out[j], sorted[j].index);
        /* exp is within one ulp; a sum of n terms and a division are rounded. */
        assert_true(fabs((double)out[at->count + j] - want) <= want * (double)(n + 4) * 0x1p-24);
        sum += (double)out[at->count + j];
    }
    if (at->renormalise)
        assert_true(fabs(sum - 1) <= (double)(n + 4) * 0x1p-24);
    free_guarded(out);
    vug_free(sorted);
}

static void test_router_picks_the_best(void **state)
{
    (void)state;
    rng r = { 11 };
    float logits[130];
    for (int64_t n = 1; n <= 130; n += n < 10 ? 1 : 40) {
        for (int count = 1; count <= n; count += n < 10 || count > n - 4 ? 1 : 3) {
            for (int kind = 0; kind < 4; kind++) {
                const vug_attr_router at = { count, kind % 2 };
                rng_fill(&r, logits, (size_t)n);
                /* Few different values, so that most of them are equal. */
                for (int64_t i = 0; kind >= 2 && i < n; i++)
                    logits[i] = floorf(logits[i] * 2) * 3;
                check_router(logits, n, &at);
            }
        }
    }
}

/* Even with the logits of a broken checkpoint, the indices are valid and different. */
static void test_router_survives_nan_and_infinity(void **state)
{
    (void)state;
    static const float bad[] = { NAN, INFINITY, -INFINITY, 0, 3e38f };
    enum { N = 5, K = 3 };
    for (int pick = 0; pick < 3125; pick++) {
        float logits[N], out[2 * K];
        bool seen[N] = { 0 };
        int rest = pick;
        for (int i = 0; i < N; i++, rest /= 5)
            logits[i] = bad[rest % 5];
        vug_ref_router(logits, N, &(vug_attr_router){ K, pick % 2 }, out);
        for (int j = 0; j < K; j++) {
            assert_true(out[j] >= 0 && out[j] < N && out[j] == floorf(out[j]));
            assert_false(seen[(int)out[j]]);
            seen[(int)out[j]] = true;
        }
    }
    float out[4];
    vug_ref_router((float[]){ NAN, 1, NAN, -INFINITY }, 4, &(vug_attr_router){ 2, true }, out);
    assert_true(out[0] == 1 && out[1] == 0);
}

static void test_route_scale_multiplies_weights(void **state)
{
    (void)state;
    const float route[] = { 4, 0, 2, 0.5f, 0.3f, 0.2f }, w[] = { 2, 9, 3, 9, 5 };
    float out[6];
    vug_ref_route_scale(route, w, 3, out);
    check_bits(out, (float[]){ 4, 0, 2, 0.5f * 5, 0.3f * 2, 0.2f * 3 }, 6, "route_scale");
}

/* ---- helpers -------------------------------------------------------------- */

static vug_cpu_env env_of(const vug_cpu_kernels *kernels, int threads, uint64_t shared)
{
    vug_cpu_env env = { .kernels = kernels };
    env.scratch_floats = vug_cpu_linear_scratch_floats(&env, VUG_DTYPE_F32, 1);
    const int64_t q8 = vug_cpu_linear_scratch_floats(&env, VUG_DTYPE_Q8_0, 128);
    env.scratch_floats = q8 > env.scratch_floats ? q8 : env.scratch_floats;
    env.shared = guarded_floats(shared);
    assert_int_equal(vug_pool_create(threads, &env.pool, NULL), VUG_OK);
    env.scratch = vug_alloc_aligned((size_t)(env.scratch_floats * threads) * sizeof(float));
    assert_non_null(env.scratch);
    return env;
}

static void env_release(vug_cpu_env *env, uint64_t shared)
{
    check_guards(env->shared, shared);
    vug_pool_destroy(env->pool);
    vug_free(env->scratch);
    free_guarded(env->shared);
}

static const vug_dtype formats[] = { VUG_DTYPE_BF16, VUG_DTYPE_F16, VUG_DTYPE_F32 };
/* For rows of whole blocks. */
static const vug_dtype blocks[] = { VUG_DTYPE_Q4_0, VUG_DTYPE_MLX6, VUG_DTYPE_Q8_0, VUG_DTYPE_BF16,
                                    VUG_DTYPE_MXFP4 };

/* ---- grouped products ------------------------------------------------------- */

/* Groups of 1, 2, 600 and 1 rows, which are taken from x in any order. */
static void test_grouped_product(void **state)
{
    (void)state;
    enum { GROUPS = 4, ROWS = 604, IN = 37, OUT = 21, X = 5 };
    static const int64_t rows_of[GROUPS] = { 1, 2, 600, 1 };
    rng r = { 5 };
    float *x = guarded_floats((size_t)X * IN), *want = guarded_floats((size_t)ROWS * OUT);
    int32_t index[ROWS];
    uint8_t *w[GROUPS];
    rng_fill(&r, x, (size_t)X * IN);
    int64_t row = 0;
    for (int g = 0; g < GROUPS; g++) {
        w[g] = random_weights(&r, formats[g % 3], (size_t)OUT * IN, 1);
        for (int64_t i = 0; i < rows_of[g]; i++, row++) {
            index[row] = (int32_t)(rng_bits(&r) % X);
            const vug_matrix m = matrix_over(formats[g % 3], w[g], IN);
            vug_ref_linear(x + (int64_t)index[row] * IN, 1, &m, OUT, want + row * OUT);
        }
    }
    for (int kernels = 0; kernels < vug_cpu_kernels_count(); kernels++) {
        for (int threads = 1; threads <= 3; threads++) {
            vug_cpu_env env = env_of(vug_cpu_kernels_at(kernels), threads, (size_t)ROWS * IN);
            float *y = guarded_floats((size_t)ROWS * OUT);
            vug_cpu_projection m[GROUPS];
            vug_cpu_row_group group[GROUPS];
            row = 0;
            for (int g = 0; g < GROUPS; g++) {
                m[g] = (vug_cpu_projection){ matrix_over(formats[g % 3], w[g], IN), OUT, y };
                group[g] = (vug_cpu_row_group){ .first = row,
                                                .rows = rows_of[g],
                                                .projection = &m[g] };
                row += rows_of[g];
            }
            const vug_cpu_grouped_job job = { x, index, ROWS, IN, group, GROUPS, 1 };
            vug_cpu_linear_grouped(&env, &job);
            check_bits(y, want, (size_t)ROWS * OUT, "groups");
            check_guards(y, (size_t)ROWS * OUT);
            free_guarded(y);
            env_release(&env, (size_t)ROWS * IN);
        }
    }
    for (int g = 0; g < GROUPS; g++)
        free_weights(w[g], 1);
    free_guarded(want);
    free_guarded(x);
}

/* ---- experts -------------------------------------------------------------- */

enum { MAX_EXPERTS = 40 };

typedef struct {
    vug_cpu_experts_job job; /* of all rows */
    vug_weight weight[3][MAX_EXPERTS];
    vug_matrix ref[3][MAX_EXPERTS];
    float *x, *route, *want;
} mixture;

/* Experts that no row chose have no data, so reading one would crash. */
static mixture make_mixture(rng *r, int64_t rows, int64_t n, int64_t k, int64_t width,
                            int64_t hidden)
{
    mixture m = { .job = { .rows = rows, .width = width, .n = n, .k = k, .hidden = hidden } };
    bool chosen[MAX_EXPERTS] = { 0 };
    float logits[MAX_EXPERTS];
    m.job.activation = k % 2 ? VUG_OP_SILU : VUG_OP_GELU;
    m.x = guarded_floats((size_t)(rows * width));
    m.route = guarded_floats((size_t)(rows * 2 * k));
    m.want = guarded_floats((size_t)(rows * width));
    rng_fill(r, m.x, (size_t)(rows * width));
    for (int64_t t = 0; t < rows; t++) {
        float *route = m.route + t * 2 * k;
        rng_fill(r, logits, (size_t)n);
        vug_ref_router(logits, n, &(vug_attr_router){ (int)k, true }, route);
        for (int64_t j = 0; j < k; j++)
            chosen[(int)route[j]] = true;
    }
    for (int64_t e = 0; e < n; e++) {
        for (int i = 0; i < 3; i++) {
            const bool whole = width % 64 == 0 && hidden % 64 == 0;
            const vug_dtype dtype = whole ? blocks[(e + i) % 5] : formats[(e + i) % 3];
            const int64_t out = i == 2 ? width : hidden, in = i == 2 ? hidden : width;
            m.ref[i][e] = matrix_over(dtype, NULL, in);
            if (chosen[e] && vug_codec_of(dtype)->block)
                m.ref[i][e] = block_weights(r, dtype, out, in, 1);
            else if (chosen[e])
                m.ref[i][e].data = random_weights(r, dtype, (size_t)(width * hidden), 1);
            m.weight[i][e] = (vug_weight){ .name = "w",
                                           .dtype = dtype,
                                           .rows = out,
                                           .columns = in,
                                           .data = m.ref[i][e].data,
                                           .scales = m.ref[i][e].scales };
        }
    }
    float *scratch = guarded_floats((size_t)(2 * hidden + width));
    const vug_ref_expert_weights ffn = { m.ref[0], m.ref[1], m.ref[2], m.job.activation };
    for (int64_t t = 0; t < rows; t++)
        vug_ref_experts(m.x + t * width, m.route + t * 2 * k, k, &ffn, scratch, m.want + t * width);
    check_guards(scratch, (size_t)(2 * hidden + width));
    free_guarded(scratch);
    return m;
}

static void mixture_release(mixture *m)
{
    for (int i = 0; i < 3; i++) {
        for (int64_t e = 0; e < m->job.n; e++) {
            block_weights_free(&m->ref[i][e], 1);
        }
    }
    free_guarded(m->x);
    free_guarded(m->route);
    free_guarded(m->want);
}

/* Checks rows first .. first + rows - 1 as one step. */
static void check_rows(const vug_cpu_env *env, const mixture *m, int64_t first, int64_t rows)
{
    vug_cpu_experts_job job = m->job;
    const size_t n = (size_t)(rows * job.width);
    job.rows = rows;
    job.x = m->x + first * job.width;
    job.route = m->route + first * 2 * job.k;
    job.out = guarded_floats(n);
    vug_cpu_experts(env, &job);
    check_bits(job.out, m->want + first * job.width, n, "experts");
    check_guards(job.out, n);
    free_guarded(job.out);
}

static void test_experts_give_the_bits_of_ref(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, n, k, width, hidden;
    } cases[] = {
        { 1, 1, 1, 1, 1 },    { 9, 5, 1, 17, 3 },    { 9, 5, 5, 16, 33 },
        { 33, 7, 3, 45, 13 }, { 70, 40, 6, 24, 70 }, { 5, 40, 2, 1290, 9 },
        { 3, 4, 2, 7, 1300 }, { 600, 2, 1, 8, 5 },   { 40, 9, 3, 128, 64 },
    };
    rng r = { 3 };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mixture m = make_mixture(&r, cases[i].rows, cases[i].n, cases[i].k, cases[i].width,
                                 cases[i].hidden);
        m.job.gate = m.weight[0];
        m.job.up = m.weight[1];
        m.job.down = m.weight[2];
        for (int kernels = 0; kernels < vug_cpu_kernels_count(); kernels++) {
            const vug_cpu_env of_set = { .kernels = vug_cpu_kernels_at(kernels) };
            uint64_t shared;
            assert_true(vug_cpu_experts_shared_floats(&of_set, &m.job, &shared));
            for (int threads = 1; threads <= 3; threads++) {
                vug_cpu_env env = env_of(vug_cpu_kernels_at(kernels), threads, shared);
                check_rows(&env, &m, 0, m.job.rows);
                for (int64_t t = 0; t < m.job.rows && t < 9; t++)
                    check_rows(&env, &m, t, 1);
                for (int64_t t = 0; t < m.job.rows; t += 7)
                    check_rows(&env, &m, t, m.job.rows - t < 7 ? m.job.rows - t : 7);
                env_release(&env, shared);
            }
        }
        mixture_release(&m);
    }
}

/* Memory depends on the number of experts that a step can choose. Each further expert takes
 * only one number. */
static void test_memory_follows_the_chosen_experts(void **state)
{
    (void)state;
    static const vug_weight weight[4096]; /* all in F32 */
    const vug_cpu_env env = { .kernels = vug_cpu_kernels_at(0) };
    vug_cpu_experts_job job = { .rows = 64, .width = 512, .n = 8, .k = 2, .hidden = 128 };
    job.gate = job.up = job.down = weight;
    uint64_t few, many, chosen, huge;
    assert_true(vug_cpu_experts_shared_floats(&env, &job, &few));
    job.n = 800;
    assert_true(vug_cpu_experts_shared_floats(&env, &job, &many));
    const uint64_t tables =
            (uint64_t)job.rows * 2 * (sizeof(vug_cpu_row_group) + 3 * sizeof(vug_cpu_projection));
    assert_true((many - few) * sizeof(float) <= tables + 800 * sizeof(int32_t));
    job.k = 4;
    assert_true(vug_cpu_experts_shared_floats(&env, &job, &chosen));
    assert_true(chosen > many * 3 / 2 && chosen <= many * 2);

    job = (vug_cpu_experts_job){ .rows = 1 << 20, .width = 1 << 20, .n = 4096, .k = 4096 };
    job.hidden = 1 << 24;
    job.gate = job.up = job.down = weight;
    assert_false(vug_cpu_experts_shared_floats(&env, &job, &huge));
    job.rows = INT64_MAX;
    job.width = job.hidden = 1;
    job.n = job.k = 8;
    assert_false(vug_cpu_experts_shared_floats(&env, &job, &huge));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_router_picks_the_best),
        cmocka_unit_test(test_router_survives_nan_and_infinity),
        cmocka_unit_test(test_route_scale_multiplies_weights),
        cmocka_unit_test(test_grouped_product),
        cmocka_unit_test(test_experts_give_the_bits_of_ref),
        cmocka_unit_test(test_memory_follows_the_chosen_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
