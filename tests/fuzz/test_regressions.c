/*
 * Runs every fuzz target over the files that are kept for it in
 * tests/fuzz/regressions/NAME/: what fuzzing found once, and inputs that show it
 * the way. A finding that comes back is a crash or a sanitizer's report here. Of files
 * called whole-*, which are well-formed, every truncation is tried as well, and every
 * byte with each of its bits turned over.
 */
#include "test.h"

#include "core/os.h"
#include "fuzz/fuzz.h"

enum { MAX_INPUT = 1 << 20 };

typedef void use_fn(const vug_fuzz_target *target, const vug_text *file);

static void run(const vug_fuzz_target *target, const vug_text *file)
{
    assert_int_equal(target->run((const uint8_t *)file->ptr, file->len), 0);
}

/* Each spoiled copy is as long as it says, so that ASan sees a read behind it. */
static void run_part(const vug_fuzz_target *target, const vug_text *file, size_t len, size_t byte,
                     unsigned flip)
{
    uint8_t *copy = vug_alloc(len ? len : 1, 1);
    assert_non_null(copy);
    if (len)
        memcpy(copy, file->ptr, len);
    if (byte < len)
        copy[byte] = (uint8_t)(copy[byte] ^ flip);
    assert_int_equal(target->run(copy, len), 0);
    vug_free(copy);
}

static void spoil(const vug_fuzz_target *target, const vug_text *file)
{
    for (size_t len = 0; len < file->len; len++)
        run_part(target, file, len, len, 0);
    for (size_t byte = 0; byte < file->len; byte++) {
        for (unsigned bit = 0; bit < 8; bit++)
            run_part(target, file, file->len, byte, 1u << bit);
    }
}

/* Files of the target's folder that begin so. */
static size_t use_files(const vug_fuzz_target *target, const char *prefix, use_fn *use)
{
    vug_arena arena = { 0 };
    vug_err err = { 0 };
    vug_str *name = NULL;
    size_t n = 0, used = 0;
    char *folder = vug_path_join("tests/fuzz/regressions", target->name);
    assert_non_null(folder);
    if (vug_list_folder(folder, &arena, &name, &n, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < n; i++) {
        if (!vug_str_starts(name[i], prefix))
            continue;
        vug_text bytes = { 0 };
        char *path = vug_path_join(folder, name[i].ptr);
        assert_non_null(path);
        if (vug_read_file(path, MAX_INPUT, &bytes, &err) != VUG_OK)
            fail_msg("%s", err.msg);
        use(target, &bytes);
        used++;
        vug_text_release(&bytes);
        vug_free(path);
    }
    vug_free(folder);
    vug_arena_release(&arena);
    return used;
}

static void run_folder(void **state)
{
    assert_true(use_files(*state, "", run) > 0);
}

static void spoil_whole_files(void **state)
{
    assert_true(use_files(*state, "whole-", spoil) > 0);
}

int main(void)
{
    struct CMUnitTest tests[2 * VUG_FUZZ_COUNT] = { 0 };
    vug_fuzz_target target[VUG_FUZZ_COUNT];
    memcpy(target, vug_fuzz_targets, sizeof(target));
    for (size_t i = 0; i < VUG_FUZZ_COUNT; i++) {
        tests[2 * i] = (struct CMUnitTest){ .name = target[i].name,
                                            .test_func = run_folder,
                                            .initial_state = &target[i] };
        tests[2 * i + 1] = (struct CMUnitTest){ .name = "spoiled",
                                                .test_func = spoil_whole_files,
                                                .initial_state = &target[i] };
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
