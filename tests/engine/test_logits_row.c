/* Rows of logits that are kept after a step. */
#include "test.h"

#include "engine/logits_row.h"
#include "engine_help.h"

enum { V = 5000 };

static const vug_candidate few[] = { { 70, 2 }, { 4999, 3 }, { 12, 3 } };
static const vug_candidate other[] = { { 71, -1 } };

static void assert_listed(const vug_logits_row *row, const vug_candidate *logit, size_t n)
{
    size_t n_known = 0;
    assert_int_equal(row->n_known, n);
    for (size_t i = 0; i < V; i++)
        n_known += row->logit[i] > VUG_LOGIT_UNWANTED;
    assert_int_equal(n_known, n);
    for (size_t i = 0; i < n; i++)
        assert_true(row->logit[logit[i].id] == logit[i].logit);
}

static void test_rows_and_lists_follow_each_other(void **state)
{
    (void)state;
    float all[V];
    vug_logits_row row;
    vug_err err = { 0 };
    for (int i = 0; i < V; i++)
        all[i] = (float)(i % 100);
    const vug_logits_source rows = { .all = all };
    const vug_found_logits reported = { .logit = few, .n = 3, .top = other, .n_top = 1, .mass = 5 };
    const vug_logits_source lists[] = { { .found = reported },
                                        { .found = { .logit = other, .n = 1 } } };
    help_ok(vug_logits_row_init(&row, V, &err), &err);
    for (int turn = 0; turn < 2; turn++) {
        vug_logits_row_set(&row, &rows);
        assert_int_equal(row.n_known, 0);
        assert_int_equal(row.n_top, 0);
        assert_memory_equal(row.logit, all, sizeof(all));
        vug_logits_row_set(&row, &lists[0]);
        assert_listed(&row, few, 3);
        assert_int_equal(row.n_top, 1);
        assert_memory_equal(row.top, other, sizeof(other));
        assert_true(row.mass == 5);
        vug_logits_row_set(&row, &lists[1]);
        assert_listed(&row, other, 1);
        assert_int_equal(row.n_top, 0);
    }
    vug_logits_row_release(&row);
}

static void test_the_best_is_the_lowest_of_equals(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1, 1023, 1024, 1025, V };
    float all[V];
    vug_logits_row row;
    vug_err err = { 0 };
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        const size_t n = sizes[s];
        const vug_logits_source rows = { .all = all };
        help_ok(vug_logits_row_init(&row, n, &err), &err);
        for (size_t best = 0; best < n; best += 1 + n / 7) {
            for (size_t i = 0; i < n; i++)
                all[i] = (float)(i % 3) - 9;
            all[best] = all[n - 1] = 1;
            vug_logits_row_set(&row, &rows);
            assert_int_equal(vug_logits_row_best(&row), best);
        }
        vug_logits_row_release(&row);
    }
    help_ok(vug_logits_row_init(&row, V, &err), &err);
    vug_logits_row_set(&row, &(vug_logits_source){ .found = { .logit = few, .n = 3 } });
    assert_int_equal(vug_logits_row_best(&row), 12);
    vug_logits_row_release(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_and_lists_follow_each_other),
        cmocka_unit_test(test_the_best_is_the_lowest_of_equals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
