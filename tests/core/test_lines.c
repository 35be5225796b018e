/* Reading line by line. */
#include "test.h"

#include <unistd.h>

#include "core/lines.h"
#include "core/mem.h"
#include "scratch.h"

#define MAX ((size_t)400000) /* more than a block */

static vug_line_reader open_text(const scratch *dir, const char *text, size_t n, size_t max)
{
    vug_line_reader l;
    scratch_write(dir, "f", text, n);
    const scratch_path path = scratch_at(dir, "f");
    assert_int_equal(vug_lines_open(&l, path.path, "f", max, NULL), VUG_OK);
    return l;
}

static void assert_line(vug_line_reader *l, const char *text, bool terminated, uint64_t at)
{
    vug_str line;
    assert_int_equal(vug_lines_next(l, &line, NULL), VUG_OK);
    assert_non_null(line.ptr);
    assert_true(vug_str_is(line, text));
    assert_int_equal(l->terminated, terminated);
    assert_int_equal(l->at, at);
}

static void assert_end(vug_line_reader *l)
{
    vug_str line;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(vug_lines_next(l, &line, NULL), VUG_OK);
        assert_null(line.ptr);
    }
    vug_lines_close(l);
}

static void test_lines(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    vug_line_reader l = open_text(&dir, "one\n\nthree\nend", 14, 10);
    assert_line(&l, "one", true, 4);
    assert_true(vug_lines_ready(&l));
    assert_line(&l, "", true, 5);
    assert_line(&l, "three", true, 11);
    assert_int_equal(l.number, 3);
    assert_false(vug_lines_ready(&l));
    assert_line(&l, "end", false, 14);
    assert_end(&l);
    l = open_text(&dir, "one\n", 4, 10);
    assert_line(&l, "one", true, 4);
    assert_end(&l);
    l = open_text(&dir, "", 0, 10);
    assert_end(&l);
    scratch_remove(&dir);
}

/* Lines around the size of a block and the limit; one that is too long is skipped. */
static void test_long_lines(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    static const size_t size[] = { 262143, 262144, 262145, MAX - 1, MAX, MAX + 1, 3 * MAX, 5 };
    enum { LINES = sizeof(size) / sizeof(size[0]) };
    vug_buf text = { 0 };
    for (size_t i = 0; i < LINES; i++) {
        for (size_t k = 0; k < size[i]; k++)
            vug_buf_append(&text, &"abcdefg"[(k + i) % 7], 1);
        vug_buf_puts(&text, "\n");
    }
    vug_line_reader l = open_text(&dir, text.ptr, text.len - 1, MAX);
    size_t at = 0;
    for (size_t i = 0; i < LINES; i++) {
        vug_str line;
        vug_err err = { 0 };
        const vug_status st = vug_lines_next(&l, &line, &err);
        assert_int_equal(st, size[i] > MAX ? VUG_LIMIT : VUG_OK);
        assert_int_equal(l.number, i + 1);
        if (st == VUG_OK) {
            assert_int_equal(line.len, size[i]);
            assert_memory_equal(line.ptr, text.ptr + at, line.len);
        } else {
            assert_string_equal(err.msg, "the line is longer than 400000 bytes");
        }
        at += size[i] + 1;
    }
    assert_int_equal(l.at, text.len - 1);
    assert_end(&l);
    vug_buf_release(&text);
    scratch_remove(&dir);
}

/* The last line is too long and has no end. */
static void test_endless_line(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    char *text = malloc(3 * MAX);
    vug_str line;
    assert_non_null(text);
    memset(text, 'x', 3 * MAX);
    vug_line_reader l = open_text(&dir, text, 3 * MAX, MAX);
    assert_int_equal(vug_lines_next(&l, &line, NULL), VUG_LIMIT);
    assert_end(&l);
    free(text);
    scratch_remove(&dir);
}

static void test_missing_file(void **state)
{
    (void)state;
    vug_line_reader l;
    vug_err err = { 0 };
    assert_int_equal(vug_lines_open(&l, "no/file", "shown", 10, &err), VUG_IO);
    assert_string_equal(err.msg, "shown: cannot open: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_endless_line),
        cmocka_unit_test(test_missing_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
