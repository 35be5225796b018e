/* Memory: blocks, arenas, buffers, strings and the byte reader. */
#include "test.h"

#include "core/bytes.h"
#include "core/mem.h"

/* ---- memory -------------------------------------------------------------- */

static void test_products_of_sizes(void **state)
{
    (void)state;
    uint64_t out = 7;
    assert_false(vug_mul_size(UINT64_MAX / 2 + 1, 2, &out));
    assert_false(vug_add_size(UINT64_MAX, 1, &out));
    assert_int_equal(out, 7);
    assert_true(vug_mul_size(UINT64_MAX / 3, 3, &out));
    assert_true(out == UINT64_MAX);
    assert_true(vug_mul_size(UINT64_MAX, 0, &out));
    assert_int_equal(out, 0);
    assert_true(vug_add_size(UINT64_MAX - 1, 1, &out));
    assert_true(out == UINT64_MAX);
}

static void test_blocks(void **state)
{
    (void)state;
    /* volatile: the compiler would see the absurd sizes and warn. */
    volatile size_t huge = SIZE_MAX / 2 + 1;
    assert_null(vug_alloc(huge, 2));
    assert_null(vug_alloc(huge, 1));
    assert_null(vug_alloc_zero(huge, 2));
    assert_null(vug_realloc(NULL, huge, 2));
    assert_null(vug_alloc_aligned(SIZE_MAX - 8 + huge - huge));
    void *empty = vug_alloc(0, 8);
    assert_non_null(empty);
    vug_free(empty);
    uint8_t *block = vug_alloc_zero(100, 3);
    assert_non_null(block);
    for (int i = 0; i < 300; i++)
        assert_int_equal(block[i], 0);
    block[299] = 9;
    assert_null(vug_realloc(block, huge, 2)); /* the old block is untouched */
    assert_int_equal(block[299], 9);
    block = vug_realloc(block, 1000, 3);
    assert_non_null(block);
    assert_int_equal(block[299], 9);
    vug_free(block);
    for (size_t n = 0; n < 200; n += 13) {
        uint8_t *aligned = vug_alloc_aligned(n);
        assert_non_null(aligned);
        assert_int_equal((uintptr_t)aligned % 64, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(aligned[i], 0);
        vug_free(aligned);
    }
    char *copy = vug_strdup("crystal");
    assert_string_equal(copy, "crystal");
    vug_free(copy);
    vug_free(NULL);
}

static void test_arena(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    uint8_t *last = NULL;
    for (size_t n = 0; n < 2000; n++) {
        uint8_t *p = vug_arena_alloc(&arena, n, 1);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_true(p != last || n == 1);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, n);
        last = p;
    }
    assert_non_null(vug_arena_alloc(&arena, 1000000, 1)); /* larger than a block */
    const vug_str copy = vug_arena_copy(&arena, (vug_str){ "abcdef", 3 });
    assert_string_equal(copy.ptr, "abc");
    assert_int_equal(copy.len, 3);
    assert_string_equal(vug_arena_copy(&arena, (vug_str){ 0 }).ptr, "");
    volatile size_t huge = SIZE_MAX / 2 + 1;
    assert_null(vug_arena_alloc(&arena, huge, 2));
    assert_null(vug_arena_alloc(&arena, huge, 1));
    assert_null(vug_arena_alloc(&arena, SIZE_MAX - 3 + huge - huge, 1));
    vug_arena_release(&arena);
    assert_null(arena.top);
    assert_int_equal(arena.held, 0);
}

static void test_arena_budget(void **state)
{
    (void)state;
    static const size_t budgets[] = { 1, 100, 1000, 65536, 70000, 200000 };
    for (size_t b = 0; b < sizeof(budgets) / sizeof(budgets[0]); b++) {
        vug_arena arena = { .budget = budgets[b] };
        size_t got = 0;
        while (vug_arena_alloc(&arena, 10, 1))
            got += 16;
        assert_true(arena.held <= arena.budget);
        assert_true(got <= arena.budget);
        /* What the budget allows is usable up to the bookkeeping of its blocks. */
        assert_true(got + 64 * (1 + budgets[b] / 65536) >= budgets[b] || budgets[b] < 64);
        assert_null(vug_arena_alloc(&arena, budgets[b] + 1, 1));
        vug_arena_release(&arena);
    }
}

static void test_buffer(void **state)
{
    (void)state;
    vug_buf buf = { 0 };
    for (int i = 0; i < 1000; i++)
        vug_buf_printf(&buf, "%d,", i % 10);
    vug_buf_puts(&buf, "end");
    vug_buf_append(&buf, NULL, 0);
    assert_int_equal(vug_buf_ok(&buf, NULL), VUG_OK);
    assert_int_equal(buf.len, 2003);
    vug_text text = { 0 };
    assert_int_equal(vug_buf_take(&buf, &text, NULL), VUG_OK);
    assert_int_equal(strlen(text.ptr), 2003);
    assert_string_equal(text.ptr + 1998, "9,end");
    assert_null(buf.ptr);
    vug_text_release(&text);
    vug_buf_puts(&buf, "all but this");
    buf.len = 3;
    assert_int_equal(vug_buf_take(&buf, &text, NULL), VUG_OK); /* what was taken away is gone */
    assert_string_equal(text.ptr, "all");
    vug_text_release(&text);
    assert_int_equal(vug_buf_take(&buf, &text, NULL), VUG_OK); /* empty, and still a string */
    assert_string_equal(text.ptr, "");
    vug_text_release(&text);
    vug_text_release(&text);
}

static void test_buffer_maximum(void **state)
{
    (void)state;
    for (size_t max = 1; max < 200; max += 11) {
        vug_buf buf = { .max = max };
        for (size_t i = 0; i < max; i++)
            vug_buf_append(&buf, "x", 1);
        assert_int_equal(vug_buf_ok(&buf, NULL), VUG_OK);
        assert_true(buf.cap <= max + 1);
        vug_buf_append(&buf, "y", 1);
        assert_int_equal(buf.len, max);
        vug_buf_append(&buf, "", 0);
        vug_buf_printf(&buf, "%d", 1);
        assert_int_equal(buf.len, max);
        vug_err err = { 0 };
        vug_text text = { 0 };
        assert_int_equal(vug_buf_take(&buf, &text, &err), VUG_NOMEM);
        assert_null(text.ptr);
        assert_null(buf.ptr);
    }
    vug_buf buf = { .max = SIZE_MAX };
    volatile size_t huge = SIZE_MAX - 1;
    vug_buf_append(&buf, "x", huge);
    assert_int_equal(vug_buf_ok(&buf, NULL), VUG_NOMEM);
    vug_buf_release(&buf);
}

/* ---- reader -------------------------------------------------------------- */

static void test_reader_truncations(void **state)
{
    (void)state;
    static const uint8_t record[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    for (size_t n = 0; n <= sizeof(record); n++) {
        uint8_t *copy = malloc(n ? n : 1);
        assert_non_null(copy);
        memcpy(copy, record, n);
        vug_reader r = vug_reader_over((vug_bytes){ copy, n });
        const uint32_t a = vug_read_u32le(&r);
        const uint64_t b = vug_read_u64le(&r);
        const vug_bytes c = vug_read_span(&r, 3);
        assert_true(a == (n >= 4 ? 0x04030201u : 0));
        if (n >= 12)
            assert_true(b == UINT64_C(0x0c0b0a0908070605));
        assert_int_equal(c.len, n == 15 ? 3 : 0);
        assert_int_equal(r.bad, n < 15);
        assert_int_equal(vug_reader_left(&r), 0);
        /* Bad stays bad. */
        if (n < 15) {
            assert_null(vug_read_span(&r, 0).ptr);
            assert_int_equal(vug_read_u32le(&r), 0);
        }
        free(copy);
    }
}

static void test_reader_huge_lengths(void **state)
{
    (void)state;
    static const uint8_t bytes[4] = { 1, 2, 3, 4 };
    static const uint64_t lengths[] = { 4, 5, UINT32_MAX, INT64_MAX, UINT64_MAX - 3, UINT64_MAX };
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        vug_reader r = vug_reader_over((vug_bytes){ bytes, 4 });
        assert_int_equal(vug_read_span(&r, 1).len, 1);
        assert_int_equal(vug_reader_left(&r), 3);
        assert_null(vug_read_span(&r, lengths[i]).ptr);
        assert_true(r.bad);
        assert_int_equal(r.pos, 1);
    }
    vug_reader r = vug_reader_over((vug_bytes){ 0 });
    assert_int_equal(vug_read_span(&r, 0).len, 0);
    assert_false(r.bad);
}

static void test_strings(void **state)
{
    (void)state;
    const vug_str s = vug_str_of("model.safetensors");
    assert_true(vug_str_starts(s, "model") && !vug_str_starts(s, "model.safetensors2"));
    assert_true(vug_str_ends(s, ".safetensors") && !vug_str_ends((vug_str){ "s", 1 }, "ss"));
    assert_true(vug_str_is(vug_str_from(s, 6), "safetensors"));
    assert_int_equal(vug_str_from(s, 100).len, 0);
    assert_true(vug_str_equal((vug_str){ 0 }, vug_str_of("")));
    assert_false(vug_str_equal(vug_str_of("a"), vug_str_of("b")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_sizes),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_arena_budget),
        cmocka_unit_test(test_buffer),
        cmocka_unit_test(test_buffer_maximum),
        cmocka_unit_test(test_reader_truncations),
        cmocka_unit_test(test_reader_huge_lengths),
        cmocka_unit_test(test_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
