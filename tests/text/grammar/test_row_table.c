#include "test.h"

#include "text/grammar/row_table.h"

enum { WIDTH = 3, N_ROWS = 50 * (int)VUG_ROW_TABLE_CHUNK + 1 };

/* Rows keep their place and their numbers while the table grows. */
static void test_rows_do_not_move(void **state)
{
    (void)state;
    static uint32_t *place[N_ROWS];
    vug_row_table table = { .width = WIDTH };
    for (uint32_t i = 0; i < N_ROWS; i++) {
        assert_true(vug_row_table_reserve(&table, i));
        place[i] = vug_row_table_get(&table, i);
        for (size_t k = 0; k < WIDTH; k++) {
            assert_int_equal(place[i][k], UINT32_MAX);
            place[i][k] = i * WIDTH + (uint32_t)k;
        }
    }
    for (uint32_t i = 0; i < N_ROWS; i++) {
        assert_ptr_equal(vug_row_table_get(&table, i), place[i]);
        for (size_t k = 0; k < WIDTH; k++)
            assert_int_equal(place[i][k], i * WIDTH + (uint32_t)k);
    }
    vug_row_table_release(&table);
}

/* Only the chunks that were asked for exist. */
static void test_chunks_in_any_order(void **state)
{
    (void)state;
    vug_row_table table = { .width = WIDTH };
    assert_false(vug_row_table_has(&table, 0));
    assert_true(vug_row_table_reserve(&table, 7 * VUG_ROW_TABLE_CHUNK));
    vug_row_table_get(&table, 7 * VUG_ROW_TABLE_CHUNK)[0] = 5;
    for (size_t chunk = 0; chunk < 9; chunk++)
        assert_int_equal(vug_row_table_has(&table, chunk * VUG_ROW_TABLE_CHUNK + 1), chunk == 7);
    assert_true(vug_row_table_reserve(&table, VUG_ROW_TABLE_CHUNK));
    assert_true(vug_row_table_reserve(&table, 7 * VUG_ROW_TABLE_CHUNK + 1));
    assert_int_equal(vug_row_table_get(&table, 7 * VUG_ROW_TABLE_CHUNK)[0], 5);
    vug_row_table_release(&table);
    assert_false(vug_row_table_has(&table, VUG_ROW_TABLE_CHUNK));
    assert_int_equal(table.width, WIDTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_do_not_move),
        cmocka_unit_test(test_chunks_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
