/*
 * The cache on disk: what one model has computed, another one that is opened later finds, with the
 * same bits; what is damaged or belongs to another model, it does not use.
 */
#include "test.h"

#include <unistd.h>

#include "core/os.h"
#include "engine_help.h"
#include "scratch.h"

enum { LENGTH = 300, V = 384 };

#define MODEL GOLDEN("gemma3-text")

/* The tokens of `n` that a session finds, and whether its logits are those of a cold run. */
static size_t cached_of(vug_model *m, const int32_t *id, size_t n)
{
    vug_session *s = help_session(m);
    size_t cached = 0;
    vug_err err = { 0 };
    help_ok(vug_session_prepare(s, id, n, NULL, &cached, &err), &err);
    float *alone = help_alone(m, id, n);
    help_same_bits(help_forward(s, id, n), alone, V);
    vug_free(alone);
    vug_session_destroy(s);
    return cached;
}

static vug_model *open_with(const scratch *dir, const char *path, uint64_t size)
{
    return help_model(path, (vug_model_options){ .context = 512,
                                                 .batch = 64,
                                                 .threads = 1,
                                                 .cache_dir = dir->path,
                                                 .cache_size = size });
}

/* Computes a prefix and closes the model, which writes what is queued. */
static void fill(const scratch *dir, const int32_t *id, uint64_t size)
{
    vug_model *m = open_with(dir, MODEL, size);
    assert_int_equal(cached_of(m, id, LENGTH), 0);
    vug_model_close(m);
}

static void test_prefix_is_found_after_a_restart(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    int32_t id[LENGTH];
    help_tokens(1, id, LENGTH, V);
    fill(&dir, id, 0);
    /* Whole pages of 64 tokens, at any boundary of the windows. */
    for (size_t n = LENGTH; n > 0; n = n > 70 ? n - 70 : 0) {
        vug_model *m = open_with(&dir, MODEL, 0);
        assert_int_equal(cached_of(m, id, n), (n - 1) / 64 * 64);
        assert_in_range(cached_of(m, id, n), (n - 1) / 64 * 64, n - 1); /* from memory now */
        vug_model_close(m);
    }
    /* Another continuation shares what is the same. */
    id[200] ^= 1;
    vug_model *m = open_with(&dir, MODEL, 0);
    assert_int_equal(cached_of(m, id, LENGTH), 192);
    vug_model_close(m);
    scratch_remove(&dir);
}

/* Other weights, another format of keys and values, exact activations: another fingerprint. */
static void test_other_models_find_nothing(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    int32_t id[LENGTH];
    help_tokens(1, id, LENGTH, V);
    fill(&dir, id, 0);
    vug_model *m = open_with(&dir, GOLDEN("gemma3-rope-scaled"), 0);
    assert_int_equal(cached_of(m, id, LENGTH), 0);
    vug_model_close(m);
    m = help_model(MODEL, (vug_model_options){ .context = 512,
                                               .batch = 64,
                                               .threads = 1,
                                               .cache_dir = dir.path,
                                               .kv = "bf16" });
    assert_int_equal(cached_of(m, id, LENGTH), 0);
    vug_model_close(m);
    scratch_remove(&dir);
}

/* ---- damage --------------------------------------------------------------------------- */

typedef void damage_fn(const char *path, size_t i);

static void flip_a_bit(const char *path, size_t i)
{
    FILE *f = fopen(path, "r+be");
    if (!f)
        fail_msg("cannot open %s", path);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    const long at = (long)((size_t)ftell(f) * (i + 1) / 32);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    const int byte = fgetc(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_true(fputc(byte ^ 4, f) != EOF);
    assert_int_equal(fclose(f), 0);
}

static void truncate_it(const char *path, size_t i)
{
    assert_int_equal(truncate(path, (off_t)i * 100), 0);
}

/* Damages every file in the folders of the store. */
static size_t damage_all(const char *folder, damage_fn *damage)
{
    vug_arena arena = { 0 };
    vug_str *name, *file;
    size_t n, n_files, all = 0;
    char *pages = vug_path_join(folder, "pages");
    assert_int_equal(vug_list_folder(pages, &arena, &name, &n, NULL), VUG_OK);
    for (size_t i = 0; i < n; i++) {
        char *sub = vug_path_join(pages, name[i].ptr);
        assert_non_null(sub);
        if (vug_is_folder(sub)) {
            assert_int_equal(vug_list_folder(sub, &arena, &file, &n_files, NULL), VUG_OK);
            for (size_t k = 0; k < n_files; k++) {
                char *path = vug_path_join(sub, file[k].ptr);
                damage(path, all++);
                vug_free(path);
            }
        }
        vug_free(sub);
    }
    vug_free(pages);
    vug_arena_release(&arena);
    return all;
}

/* Groups of layers whose keys and values have files of their own. */
static size_t groups_of(const scratch *dir)
{
    vug_model *m = open_with(dir, MODEL, 0);
    const int n = m->backend->kv_layout(m->main.compiled.program)->n_groups;
    vug_model_close(m);
    return (size_t)n;
}

static void test_damaged_files_are_not_used(void **state)
{
    (void)state;
    static damage_fn *const how[] = { flip_a_bit, truncate_it };
    for (size_t i = 0; i < 2; i++) {
        const scratch dir = scratch_make();
        int32_t id[LENGTH];
        help_tokens(1, id, LENGTH, V);
        fill(&dir, id, 0);
        assert_int_equal(damage_all(dir.path, how[i]), groups_of(&dir) * (LENGTH / 64));
        vug_model *m = open_with(&dir, MODEL, 0);
        assert_int_equal(cached_of(m, id, LENGTH), 0);
        vug_model_close(m);
        /* What was computed instead is on disk now. */
        m = open_with(&dir, MODEL, 0);
        assert_int_equal(cached_of(m, id, LENGTH), LENGTH / 64 * 64);
        vug_model_close(m);
        scratch_remove(&dir);
    }
}

/* A window needs its last pages only: the boundary moves back when they are missing. */
static void test_missing_pages_move_the_boundary(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    int32_t id[LENGTH];
    help_tokens(1, id, LENGTH, V);
    vug_model *m = open_with(&dir, MODEL, 0);
    assert_int_equal(cached_of(m, id, 140), 0); /* two blocks */
    vug_model_close(m);
    m = open_with(&dir, MODEL, 0);
    assert_int_equal(cached_of(m, id, LENGTH), 128);
    vug_model_close(m);
    scratch_remove(&dir);
}

static void test_unusable_folder_is_refused(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    scratch_puts(&dir, "file", "");
    vug_model *m = NULL;
    vug_err err = { 0 };
    const scratch_path file = scratch_at(&dir, "file");
    const vug_model_options options = { .cache_dir = file.path, .threads = 1 };
    assert_true(vug_model_open(MODEL, &options, &m, &err) != VUG_OK);
    assert_non_null(strstr(err.msg, file.path));
    assert_null(m);
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefix_is_found_after_a_restart),
        cmocka_unit_test(test_other_models_find_nothing),
        cmocka_unit_test(test_damaged_files_are_not_used),
        cmocka_unit_test(test_missing_pages_move_the_boundary),
        cmocka_unit_test(test_unusable_folder_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
