/* The counts of a history against counting anew, whatever is pushed and taken back. */
#include "test.h"

#include "engine/token_history.h"
#include "engine_help.h"

enum { V = 7, MOST = 60 };

static void check_counts(vug_token_history *h, int64_t window)
{
    const size_t from = window >= 0 && h->n > (size_t)window ? h->n - (size_t)window : 0;
    uint32_t prompt[V] = { 0 }, answer[V] = { 0 };
    size_t distinct = 0, n;
    for (size_t i = from; i < h->n; i++)
        (i < h->n_prompt ? prompt : answer)[h->id[i]]++;
    const int32_t *id = vug_history_distinct(h, &n);
    for (int32_t t = 0; t < V; t++) {
        int listed = 0;
        for (size_t i = 0; i < n; i++)
            listed += id[i] == t;
        assert_int_equal(h->n_in_prompt[t], prompt[t]);
        assert_int_equal(h->n_in_answer[t], answer[t]);
        assert_int_equal(listed, prompt[t] + answer[t] > 0);
        distinct += prompt[t] + answer[t] > 0;
    }
    assert_int_equal(n, distinct);
}

static void test_counts_are_a_function_of_the_tokens(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int64_t window = -1; window < 12; window++) {
        const vug_history_options options = {
            .n_vocab = V, .max_tokens = MOST, .count = true, .window = window
        };
        vug_token_history h;
        vug_err err = { 0 };
        help_ok(vug_history_init(&h, &options, &err), &err);
        for (int round = 0; round < 20; round++) {
            int32_t prompt[8];
            const size_t n = help_random(&random, 9);
            for (size_t i = 0; i < n; i++)
                prompt[i] = (int32_t)help_random(&random, V);
            vug_history_set_prompt(&h, prompt, n);
            check_counts(&h, window);
            for (int i = 0; i < 30; i++) {
                const size_t back = help_random(&random, 4);
                vug_history_push(&h, (int32_t)help_random(&random, V));
                check_counts(&h, window);
                vug_history_pop(&h, back < h.n - h.n_prompt ? back : h.n - h.n_prompt);
                check_counts(&h, window);
                vug_history_push(&h, (int32_t)help_random(&random, V));
            }
            assert_memory_equal(h.id, prompt, n * sizeof(*prompt));
        }
        vug_history_release(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_are_a_function_of_the_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
