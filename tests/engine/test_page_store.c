/* The store of pages: what survives, what is dropped, what is counted. */
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/page_folder.h"
#include "engine/page_store.h"
#include "scratch.h"

#include "page_help.h"

enum { SIZE = 5000, ROOMY = 1 << 20 };
#define FILE_SIZE ((uint64_t)SIZE + VUG_PAGE_HEADER)

static vug_page_store *open_store(const char *folder, uint64_t budget, size_t queue)
{
    vug_page_store *store = NULL;
    vug_err err = { 0 };
    if (vug_page_store_open(
                &(vug_page_store_options){ .folder = folder, .budget = budget, .queue = queue },
                &store, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return store;
}

static bool put(vug_page_store *store, uint32_t i)
{
    const vug_page_id id = page_id_of(i);
    uint8_t bytes[SIZE];
    page_fill(i, bytes, SIZE);
    return vug_page_store_put(store, &id, bytes, SIZE);
}

/* A page that is found is right. */
static bool get(vug_page_store *store, uint32_t i)
{
    const vug_page_id id = page_id_of(i);
    uint8_t bytes[SIZE] = { 0 };
    const bool found = vug_page_store_get(store, &id, bytes, SIZE);
    if (found)
        assert_true(page_is(i, bytes, SIZE));
    return found;
}

static bool has(vug_page_store *store, uint32_t i)
{
    const vug_page_id id = page_id_of(i);
    return vug_page_store_has(store, &id, SIZE);
}

/* In the folder now, whatever a store thinks. */
static uint64_t count_files(const char *path)
{
    vug_page_folder folder;
    assert_int_equal(vug_page_folder_open(path, &folder, NULL), VUG_OK);
    const vug_page_folder_usage usage = vug_page_folder_trim(&folder, UINT64_MAX, 0);
    vug_page_folder_close(&folder);
    return usage.files;
}

static void test_restart(void **state)
{
    (void)state;
    enum { N = 50 };
    const scratch dir = scratch_make();
    vug_page_store *store = open_store(dir.path, 100 * FILE_SIZE, ROOMY);
    for (uint32_t i = 0; i < N; i++)
        assert_true(put(store, i));
    vug_page_store_close(store); /* writes all of them */
    store = open_store(dir.path, 100 * FILE_SIZE, ROOMY);
    for (uint32_t i = 0; i < N; i++)
        assert_true(has(store, i) && get(store, i));
    assert_false(has(store, N) || get(store, N));
    vug_page_store_flush(store);
    const vug_page_store_stats stats = vug_page_store_get_stats(store);
    assert_int_equal(stats.hits, N);
    assert_int_equal(stats.misses, 1);
    vug_page_store_close(store);
    scratch_remove(&dir);
}

/* A page that is there already is not written again. */
static void test_put_twice(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    vug_page_store *store = open_store(dir.path, ROOMY, ROOMY);
    for (int i = 0; i < 3; i++)
        assert_true(put(store, 1) && put(store, 2));
    vug_page_store_flush(store);
    const vug_page_store_stats stats = vug_page_store_get_stats(store);
    assert_int_equal(stats.written, 2);
    assert_int_equal(stats.written_bytes, 2 * SIZE);
    assert_int_equal(stats.files, 2);
    assert_int_equal(stats.bytes, 2 * FILE_SIZE);
    assert_int_equal(stats.queued, 0);
    vug_page_store_close(store);
    scratch_remove(&dir);
}

static void test_corrupt_file(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    vug_page_store *store = open_store(dir.path, ROOMY, ROOMY);
    assert_true(put(store, 1));
    vug_page_store_flush(store);
    assert_int_equal(truncate(page_path_in(dir.path, 1).path, 100), 0);
    assert_false(get(store, 1));
    assert_false(get(store, 1));
    const vug_page_store_stats stats = vug_page_store_get_stats(store);
    assert_int_equal(stats.rejected, 1);
    assert_int_equal(stats.misses, 2);
    assert_true(put(store, 1));
    vug_page_store_flush(store);
    assert_true(get(store, 1));
    vug_page_store_close(store);
    scratch_remove(&dir);
}

/* The files never exceed the budget, and the last ones are there. */
static void test_budget(void **state)
{
    (void)state;
    enum { N = 100, FIT = 16 };
    const scratch dir = scratch_make();
    vug_page_store *store = open_store(dir.path, FIT * FILE_SIZE, ROOMY);
    for (uint32_t i = 0; i < N; i++) {
        assert_true(put(store, i));
        vug_page_store_flush(store);
        const vug_page_store_stats stats = vug_page_store_get_stats(store);
        assert_true(stats.bytes <= FIT * FILE_SIZE);
        assert_int_equal(stats.bytes, stats.files * FILE_SIZE);
        assert_true(get(store, i));
    }
    uint64_t found = 0;
    for (uint32_t i = 0; i < N; i++)
        found += get(store, i);
    const vug_page_store_stats stats = vug_page_store_get_stats(store);
    assert_true(found >= FIT / 2 && found <= FIT);
    assert_int_equal(found, stats.files);
    assert_int_equal(found + stats.removed, N);
    vug_page_store_close(store);
    /* A store knows the files that were there before it. */
    const uint64_t before = count_files(dir.path);
    assert_int_equal(before, found);
    store = open_store(dir.path, before * FILE_SIZE, ROOMY);
    assert_true(put(store, N));
    vug_page_store_flush(store);
    assert_true(get(store, N));
    vug_page_store_close(store);
    assert_true(count_files(dir.path) <= before);
    scratch_remove(&dir);
}

/* Two stores, as of two processes, exceed a common budget by no more than an eighth each. */
static void test_shared_budget(void **state)
{
    (void)state;
    enum { N = 60, FIT = 24 };
    const scratch dir = scratch_make();
    vug_page_store *one = open_store(dir.path, FIT * FILE_SIZE, ROOMY);
    vug_page_store *two = open_store(dir.path, FIT * FILE_SIZE, ROOMY);
    for (uint32_t i = 0; i < N; i += 2) {
        assert_true(put(one, i) && put(two, i + 1));
        vug_page_store_flush(one);
        vug_page_store_flush(two);
        assert_true(count_files(dir.path) <= FIT + 2 * FIT / 8);
        assert_true(get(one, i + 1) && get(two, i));
    }
    vug_page_store_close(one);
    vug_page_store_close(two);
    scratch_remove(&dir);
}

static void test_dropped(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    vug_page_store *store = open_store(dir.path, FILE_SIZE, ROOMY);
    assert_false(put(store, 1)); /* exceeds seven eighths of the budget */
    vug_page_store_close(store);
    store = open_store(dir.path, 0, ROOMY);
    assert_false(put(store, 1));
    vug_page_store_close(store);
    store = open_store(dir.path, ROOMY, SIZE);
    assert_false(put(store, 1)); /* exceeds the queue */
    assert_int_equal(vug_page_store_get_stats(store).dropped, 1);
    vug_page_store_close(store);
    scratch_remove(&dir);
}

static void keep_message(void *user, const char *message)
{
    vug_err *kept = user;
    kept->line++; /* how often */
    (void)snprintf(kept->msg, sizeof(kept->msg), "%s", message);
}

/* Files must not grow, as on a full disk. Pages that were there still are; one warning; nothing is
 * left behind; later pages are stored again. */
static void test_full_disk(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    vug_err warning = { 0 };
    vug_page_store *store = NULL;
    assert_int_equal(vug_page_store_open(&(vug_page_store_options){ .folder = dir.path,
                                                                    .budget = ROOMY,
                                                                    .queue = ROOMY,
                                                                    .warn = keep_message,
                                                                    .user = &warning },
                                         &store, NULL),
                     VUG_OK);
    assert_true(put(store, 1));
    vug_page_store_flush(store);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = SIZE / 2;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_true(put(store, 2) && put(store, 3));
    vug_page_store_flush(store);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    vug_page_store_stats stats = vug_page_store_get_stats(store);
    assert_int_equal(stats.failed, 2);
    assert_int_equal(stats.written, 1);
    assert_int_equal(stats.bytes, FILE_SIZE);
    assert_true(get(store, 1) && !get(store, 2) && !get(store, 3));
    assert_true(put(store, 2));
    vug_page_store_close(store);
    assert_int_equal(warning.line, 1);
    assert_non_null(strstr(warning.msg, ": a page was not stored in the cache: cannot write 5000 "
                                        "bytes: File too large"));
    store = open_store(dir.path, ROOMY, ROOMY);
    assert_true(get(store, 2));
    vug_page_store_close(store);
    /* Only the two pages' folders and files: no temporary file. */
    scratch_path folder = page_path_in(dir.path, 3);
    *strrchr(folder.path, '/') = '\0';
    assert_int_equal(rmdir(folder.path), 0);
    scratch_remove(&dir);
}

static void test_refused_folder(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    vug_page_store *store = NULL;
    vug_err err = { 0 };
    scratch_puts(&dir, "file", "");
    const scratch_path path = scratch_at(&dir, "file");
    assert_int_equal(
            vug_page_store_open(&(vug_page_store_options){ .folder = path.path, .budget = ROOMY },
                                &store, &err),
            VUG_ARGUMENT);
    assert_null(store);
    assert_non_null(strstr(err.msg, "/file: expected a folder for the cache"));
    vug_page_store_close(NULL);
    scratch_remove(&dir);
}

enum { THREADS = 3, ROUNDS = 150 };

static void *use_store(void *arg)
{
    vug_page_store *store = arg;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        (void)put(store, i % 40);
        (void)get(store, (i * 7) % 40);
        (void)has(store, i % 13);
        (void)vug_page_store_get_stats(store);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    vug_page_store *store = open_store(dir.path, 16 * FILE_SIZE, 8 * FILE_SIZE);
    pthread_t thread[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, use_store, store), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    const vug_page_store_stats stats = vug_page_store_get_stats(store);
    assert_int_equal(stats.hits + stats.misses, THREADS * ROUNDS);
    assert_int_equal(stats.rejected + stats.failed, 0);
    vug_page_store_close(store);
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_restart),       cmocka_unit_test(test_put_twice),
        cmocka_unit_test(test_corrupt_file),  cmocka_unit_test(test_budget),
        cmocka_unit_test(test_shared_budget), cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_full_disk),     cmocka_unit_test(test_refused_folder),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
