/* Log-probabilities against sums in double precision. */
#include "test.h"

#include <math.h>

#include "engine/sampler.h"
#include "engine_help.h"

static float logprobs(const float *logits, int64_t n, int32_t token, vug_logprob *top, size_t n_top)
{
    vug_candidates scratch;
    vug_err err = { 0 };
    help_ok(vug_candidates_init(&scratch, n, &err), &err);
    const float own = vug_compute_logprobs(&scratch, logits, n, token, NULL, top, n_top);
    vug_candidates_release(&scratch);
    return own;
}

static void test_logprobs_are_exact(void **state)
{
    (void)state;
    enum { V = 5000, TOP = VUG_MAX_TOP_LOGPROBS };
    static float logits[V];
    uint64_t random = 3;
    for (int round = 0; round < 20; round++) {
        const float scale = (float)(1 + round * round);
        double best = -INFINITY, sum = 0;
        for (int i = 0; i < V; i++) {
            logits[i] = ((float)help_random(&random, 1 << 20) / (1 << 19) - 1) * scale;
            best = fmax(best, (double)logits[i]);
        }
        for (int i = 0; i < V; i++)
            sum += exp((double)logits[i] - best);
        vug_logprob top[TOP];
        const int32_t token = (int32_t)help_random(&random, V);
        const float chosen = logprobs(logits, V, token, top, TOP);
        const double expected = (double)logits[token] - best - log(sum);
        assert_true(fabs((double)chosen - expected) <= 1e-6 * fmax(1, fabs(expected)));
        for (int k = 0; k < TOP; k++) {
            /* Exactly k tokens are better, or as good and of a lower id. */
            int better = 0;
            const float own = logits[top[k].token];
            for (int i = 0; i < V; i++)
                better += logits[i] > own || (logits[i] == own && i < top[k].token);
            assert_int_equal(better, k);
            assert_true(fabs((double)top[k].logprob - ((double)own - best - log(sum))) <=
                        1e-6 * fmax(1, fabs((double)top[k].logprob)));
        }
    }
    assert_true(logprobs(logits, V, 3, NULL, 0) < 0);
}

/* They are those of the whole list, in the order that was asked for. */
static void test_logprobs_of_wanted_tokens(void **state)
{
    (void)state;
    enum { V = 20 };
    const int32_t wanted[] = { 7, 19, 0, 7, V };
    float logits[V];
    vug_logprob all[V], some[5];
    vug_candidates scratch;
    vug_err err = { 0 };
    for (int i = 0; i < V; i++)
        logits[i] = (float)(i * 7 % V);
    (void)logprobs(logits, V, 0, all, V);
    help_ok(vug_candidates_init(&scratch, V, &err), &err);
    const float own = vug_compute_logprobs(&scratch, logits, V, 3, wanted, some, 5);
    vug_candidates_release(&scratch);
    assert_true(own == logprobs(logits, V, 3, NULL, 0));
    for (size_t i = 0; i < 4; i++) {
        size_t k = 0;
        while (all[k].token != wanted[i])
            k++;
        assert_int_equal(some[i].token, wanted[i]);
        assert_true(some[i].logprob == all[k].logprob);
    }
    assert_true(some[4].token == V && some[4].logprob == -INFINITY);
}

static void test_logprobs_handle_nan(void **state)
{
    (void)state;
    vug_logprob top[3];
    const float sure[] = { 1, INFINITY, NAN, INFINITY };
    assert_float_equal(logprobs(sure, 4, 3, top, 3), logf(0.5f), 1e-6);
    assert_int_equal(top[0].token, 1);
    assert_int_equal(top[1].token, 3);
    assert_int_equal(top[2].token, 0);
    assert_true(isinf(top[2].logprob) && top[2].logprob < 0);
    const float holes[] = { NAN, 2, NAN, 2 };
    assert_float_equal(logprobs(holes, 4, 1, top, 2), logf(0.5f), 1e-6);
    assert_int_equal(top[0].token, 1);
    assert_int_equal(top[1].token, 3);
    assert_true(isinf(logprobs(holes, 4, 0, top, 2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logprobs_are_exact),
        cmocka_unit_test(test_logprobs_of_wanted_tokens),
        cmocka_unit_test(test_logprobs_handle_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
