/* Attention with masks, and after a past that is an input of the graph. */
#include "test.h"

#include <math.h>

#include "attention_help.h"

/* Shape i, each with the next format of keys and values. */
static attention_sequence sequence_in_turn(int i, rng *r)
{
    return help_sequence_at(i + i % VUG_KV_COUNT * HELP_SHAPES, r);
}

/* Causal order and window as a mask. */
static float *causal_mask(const attention_sequence *s)
{
    float *mask = guarded_floats((size_t)(s->n * s->n));
    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t j = 0; j < s->n; j++)
            mask[i * s->n + j] = j <= i && (s->window == 0 || i - j < s->window) ? 0 : -INFINITY;
    }
    return mask;
}

/* A mask with holes of all sizes, later keys and biases, and at least one visible key per row. */
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

/* Checks all tokens at once, and the last `few` after a past that is an input. */
static void check_mask(const attention_sequence *s, const float *mask, int64_t few,
                       const char *what)
{
    attention_sequence full = *s;
    full.window = 0; /* the mask has the window */
    const int64_t nq = s->heads * s->width, nk = s->kv_heads * s->width;
    for (int64_t past = 0; past < s->n; past += s->n - few) {
        attention_setup f = help_attention_setup(&full, s->n, 2);
        attention_pages pages = help_pages(&f, 1);
        const int64_t n = s->n - past;
        float *out = guarded_floats((size_t)(n * nq));
        vug_cpu_range *seen = vug_alloc((size_t)n, sizeof(*seen));
        const vug_span span = { help_table(&pages, 0), past, n };
        vug_cpu_attention_job job = { .cache = &f.cache,
                                      .kv = &pages.kv,
                                      .span = &span,
                                      .n_spans = 1,
                                      .heads = s->heads,
                                      .q = s->q + past * nq,
                                      .k = s->k + past * nk,
                                      .v = s->v + past * nk,
                                      .out = out,
                                      .score = s->score,
                                      .mask = { .add = mask + past * s->n, .columns = s->n } };
        assert_int_equal(vug_cpu_attention_mask_init(&job.mask, &span, 1, seen, NULL), VUG_OK);
        vug_cpu_kv_cache_load(&f.env, &job, s->k, s->v);
        help_append_and_attend(&f, &job);
        check_bits(out, s->want + past * nq, (size_t)(n * nq), what);
        check_guards(out, (size_t)(n * nq));
        vug_free(seen);
        free_guarded(out);
        help_pages_release(&pages);
        help_attention_teardown(&f);
    }
}

static void test_causal_mask_gives_the_same_bits(void **state)
{
    (void)state;
    rng r = { 25 };
    for (int i = 0; i < HELP_SHAPES; i++) {
        attention_sequence s = sequence_in_turn(i, &r); /* want: without a mask */
        float *mask = causal_mask(&s);
        check_mask(&s, mask, 5, "causal mask");
        free_guarded(mask);
        help_sequence_release(&s);
    }
}

static void test_random_masks(void **state)
{
    (void)state;
    rng r = { 26 };
    for (int i = 0; i < HELP_SHAPES; i++) {
        attention_sequence s = sequence_in_turn(i, &r);
        float *mask = random_mask(&r, s.n);
        s.mask = mask;
        help_sequence_expect(&s);
        check_mask(&s, mask, 5, "any mask");
        check_mask(&s, mask, s.n / 2, "any mask");
        free_guarded(mask);
        help_sequence_release(&s);
    }
}

static void test_bad_masks_are_rejected(void **state)
{
    (void)state;
    float add[6] = { 0, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY };
    vug_cpu_attention_mask mask = { .add = add, .columns = 3 };
    vug_cpu_range seen[2];
    vug_err err;
    const vug_span span = { NULL, 1, 2 };
    assert_int_equal(vug_cpu_attention_mask_init(&mask, &span, 1, seen, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, "mask: row 1 sees none of its 3 keys");
    add[4] = NAN;
    assert_int_equal(vug_cpu_attention_mask_init(&mask, &span, 1, seen, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, "mask: row 1, column 1 is nan, expected a number or -inf");
    add[4] = 1;
    assert_int_equal(vug_cpu_attention_mask_init(&mask, &span, 1, seen, &err), VUG_OK);
    assert_int_equal(seen[0].end, 1);
    assert_int_equal(seen[1].first, 1);
    assert_int_equal(seen[1].end, 2);
}

/* A cache with a sliding window takes the visible part of a longer past. */
static void test_past_longer_than_the_window(void **state)
{
    (void)state;
    rng r = { 27 };
    for (int i = 0; i < 2 * VUG_KV_COUNT; i++) {
        attention_sequence s =
                help_sequence_at(3 + i % 2 + i / 2 * HELP_SHAPES, &r); /* windows of 16 and 1 */
        const attention_sequence *of = &s;
        const int64_t past = of->n - 3, nq = of->heads * of->width, nk = of->kv_heads * of->width;
        attention_setup f = help_attention_setup(of, 3, 2);
        attention_pages pages = help_pages(&f, 1);
        float *out = guarded_floats((size_t)(3 * nq));
        const vug_span span = { help_table(&pages, 0), past, 3 };
        const vug_cpu_attention_job job = { .cache = &f.cache,
                                            .kv = &pages.kv,
                                            .span = &span,
                                            .n_spans = 1,
                                            .heads = of->heads,
                                            .q = of->q + past * nq,
                                            .k = of->k + past * nk,
                                            .v = of->v + past * nk,
                                            .out = out,
                                            .score = of->score };
        assert_true((int64_t)pages.kv.group[0].pages * VUG_KV_PAGE < past);
        vug_cpu_kv_cache_load(&f.env, &job, of->k, of->v);
        help_append_and_attend(&f, &job);
        check_bits(out, of->want + past * nq, (size_t)(3 * nq), "a past that is given");
        free_guarded(out);
        help_pages_release(&pages);
        help_attention_teardown(&f);
        help_sequence_release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_causal_mask_gives_the_same_bits),
        cmocka_unit_test(test_random_masks),
        cmocka_unit_test(test_bad_masks_are_rejected),
        cmocka_unit_test(test_past_longer_than_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
