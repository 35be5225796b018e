/*
 * Runs every fuzz target over the files that are kept for it in
 * tests/fuzz/regressions/NAME/: what fuzzing found once, and inputs that show it
 * the way. A finding that comes back is a crash or a sanitizer's report here.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/os.h"
#include "fuzz/fuzz.h"

enum { MAX_INPUT = 1 << 20 };

static void run_folder(void **state)
{
    const vug_fuzz_target *target = *state;
    vug_arena arena = { 0 };
    vug_err err = { 0 };
    vug_str *name = NULL;
    size_t n = 0;
    char *folder = vug_path_join("tests/fuzz/regressions", target->name);
    assert_non_null(folder);
    if (vug_list_folder(folder, &arena, &name, &n, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        vug_text bytes = { 0 };
        char *path = vug_path_join(folder, name[i].ptr);
        assert_non_null(path);
        if (vug_read_file(path, MAX_INPUT, &bytes, &err) != VUG_OK)
            fail_msg("%s", err.msg);
        assert_int_equal(target->run((const uint8_t *)bytes.ptr, bytes.len), 0);
        vug_text_release(&bytes);
        vug_free(path);
    }
    vug_free(folder);
    vug_arena_release(&arena);
}

int main(void)
{
    struct CMUnitTest tests[VUG_FUZZ_COUNT] = { 0 };
    vug_fuzz_target target[VUG_FUZZ_COUNT];
    memcpy(target, vug_fuzz_targets, sizeof(target));
    for (size_t i = 0; i < VUG_FUZZ_COUNT; i++)
        tests[i] = (struct CMUnitTest){
            .name = target[i].name,
            .test_func = run_folder,
            .initial_state = &target[i],
        };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
