/* The memory for keys and values that a model is opened with. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "engine_help.h"

/* The bytes of keys and values are those that the caller allows, not one more. */
static void test_key_value_memory_limits_the_context(void **state)
{
    const char *path = *state;
    vug_model_options o = { .context = 512, .batch = 64, .threads = 1 };
    const uint64_t whole = help_context_bytes(path, o);
    o.context = 448; /* a page less */
    const uint64_t shorter = help_context_bytes(path, o);
    assert_true(shorter < whole);
    o.kv_memory = whole - 1;
    vug_model *m = help_model(path, o);
    assert_int_equal(vug_model_cache_stats(m).budget, whole - 1);
    vug_model_close(m);
    char message[300];
    vug_err err = { 0 };
    (void)snprintf(message, sizeof(message),
                   "%s: the keys and values of a context of 512 tokens need %llu bytes, but %llu "
                   "are allowed, which hold 448 tokens",
                   path, (unsigned long long)whole, (unsigned long long)whole - 1);
    o.context = 512;
    assert_int_equal(vug_model_open(path, &o, &m, &err), VUG_LIMIT);
    assert_string_equal(err.msg, message);
    o.context = 0;
    m = help_model(path, o);
    assert_int_equal(vug_model_describe(m).context, 448);
    assert_int_equal(vug_model_describe(m).memory.session_cache, shorter);
    assert_int_equal(vug_model_cache_stats(m).budget, whole - 1);
    vug_session *s = help_session(m);
    int32_t id[449];
    help_tokens(1, id, 449, vug_model_describe(m).n_vocab);
    help_ok(vug_session_forward(s, id, 448, NULL, &err), &err);
    assert_int_equal(vug_session_forward(s, id, 449, NULL, &err), VUG_LIMIT);
    assert_non_null(strstr(err.msg, "the prompt has 449 tokens, the context holds 448"));
    vug_session_destroy(s);
    vug_model_close(m);
    o.kv_memory = 1;
    assert_int_equal(vug_model_open(path, &o, &m, &err), VUG_LIMIT);
    assert_non_null(strstr(err.msg, "but 1 are allowed, which hold 0 tokens"));
}

/* A context that was shortened is the draft model's, too. */
static void test_a_draft_model_has_the_same_context(void **state)
{
    const char *path = *state;
    vug_model_options o = { .context = 448, .batch = 64, .threads = 1, .draft = path };
    vug_model *m = help_model(path, o);
    const vug_model_info given = vug_model_describe(m);
    vug_model_close(m);
    assert_true(given.memory.draft > given.memory.session_cache);
    o.context = 0;
    o.kv_memory = given.memory.session_cache;
    m = help_model(path, o);
    assert_int_equal(vug_model_describe(m).context, 448);
    assert_int_equal(vug_model_describe(m).memory.draft, given.memory.draft);
    vug_model_close(m);
}

int main(void)
{
    static char windows[] = GOLDEN("gemma3-text"), full[] = GOLDEN("qwen3");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_key_value_memory_limits_the_context, windows),
        cmocka_unit_test_prestate(test_key_value_memory_limits_the_context, full),
        cmocka_unit_test_prestate(test_a_draft_model_has_the_same_context, windows),
        cmocka_unit_test_prestate(test_a_draft_model_has_the_same_context, full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
