/* `vug embed` from the outside. */
#include "test.h"

#include "capture.h"
#include "core/json.h"
#include "tiny_model.h"

enum { WIDTH = 64 };

static int set_up(void **state)
{
    static scratch dir; /* NOLINT: one for all tests */
    dir = scratch_make();
    tiny_model(&dir, TINY_VOCAB);
    *state = &dir;
    return 0;
}

static int tear_down(void **state)
{
    scratch_remove(*state);
    return 0;
}

static void assert_success(const captured *c)
{
    if (c->code != 0)
        fail_msg("exit code %d: %s", c->code, c->err.ptr);
}

static size_t count_bytes(const vug_text *text, char byte)
{
    size_t n = 0;
    for (size_t i = 0; i < text->len; i++)
        n += text->ptr[i] == byte;
    return n;
}

/* The lines of standard input are texts, with or without CR. */
static void test_a_line_for_each_text(void **state)
{
    const scratch *tiny = *state;
    captured one = VUG("embed", tiny->path, "hello");
    captured two = VUG_IN("hello\r\nA", "embed", tiny->path);
    assert_success(&one);
    assert_success(&two);
    assert_int_equal(count_bytes(&one.out, '\n'), 1);
    assert_int_equal(count_bytes(&two.out, '\n'), 2);
    assert_int_equal(count_bytes(&two.out, ' '), 2 * (WIDTH - 1));
    assert_memory_equal(two.out.ptr, one.out.ptr, one.out.len);
    captured_release(&one);
    captured_release(&two);
}

static void test_options_change_the_vector(void **state)
{
    const scratch *tiny = *state;
    captured mean = VUG("embed", tiny->path, "hello", "--pooling", "mean");
    captured last = VUG("embed", tiny->path, "hello", "--pooling", "last");
    captured raw = VUG("embed", tiny->path, "hello", "--raw");
    assert_success(&mean);
    assert_success(&last);
    assert_success(&raw);
    assert_string_not_equal(last.out.ptr, mean.out.ptr);
    assert_string_not_equal(raw.out.ptr, mean.out.ptr);
    captured_release(&mean);
    captured_release(&last);
    captured_release(&raw);
}

static void test_json(void **state)
{
    const scratch *tiny = *state;
    vug_arena arena = { 0 };
    const vug_jv *root;
    vug_err err;
    captured c = VUG_IN("hello\nA\n", "embed", tiny->path, "--json");
    assert_success(&c);
    if (vug_json_tree((vug_str){ c.out.ptr, c.out.len }, "output", &arena, &root, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    const vug_jv *list = vug_jv_get(root, "embeddings");
    assert_int_equal(list->n, 2);
    assert_int_equal(list->child->n, WIDTH);
    vug_arena_release(&arena);
    captured_release(&c);
}

static void test_bad_usage_is_refused(void **state)
{
    const scratch *tiny = *state;
    refuses(VUG("embed", tiny->path, ""), "text 0 is empty");
    refuses(VUG_IN("", "embed", tiny->path), "standard input is empty");
    refuses(VUG_IN("a\n\nb\n", "embed", tiny->path), "text 1 is empty");
    refuses(VUG("embed", tiny->path, "a", "--pooling", "most"), "mean|last|cls");
    refuses(VUG("embed", TINY_SOURCE, "a"), "tokenizer.json");
    refuses(VUG("embed", "no/such/folder", "a"), "no/such/folder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_for_each_text),
        cmocka_unit_test(test_options_change_the_vector),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_bad_usage_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
