/* Several processes with one page store: one that is killed, and two at once. */
#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/random.h"
#include "engine/page_store.h"
#include "scratch.h"

#include "page_help.h"

enum { SIZE = 200000, KEYS = 60 };
#define FILE_SIZE ((uint64_t)SIZE + VUG_PAGE_HEADER)

/* Used in children as well, where an assert of cmocka would be no good. */
static vug_page_store *open_store(const char *folder, uint64_t budget)
{
    vug_page_store *store = NULL;
    const vug_page_store_options options = { .folder = folder,
                                             .budget = budget,
                                             .queue = (size_t)10 * SIZE };
    return vug_page_store_open(&options, &store, NULL) == VUG_OK ? store : NULL;
}

static bool put(vug_page_store *store, uint32_t i)
{
    const vug_page_id id = page_id_of(i);
    uint8_t bytes[SIZE];
    page_fill(i, bytes, SIZE);
    return vug_page_store_put(store, &id, bytes, SIZE);
}

typedef enum { ABSENT, RIGHT, WRONG } page_outcome;

static page_outcome get(vug_page_store *store, uint32_t i)
{
    const vug_page_id id = page_id_of(i);
    uint8_t bytes[SIZE] = { 0 };
    if (!vug_page_store_get(store, &id, bytes, SIZE))
        return ABSENT;
    return page_is(i, bytes, SIZE) ? RIGHT : WRONG;
}

/* Puts pages 0, 1, .. for ever, and reports every fourth number once its page is written. */
static void write_for_ever(const char *folder, int report)
{
    vug_page_store *store = open_store(folder, UINT64_C(1) << 40);
    for (uint32_t i = 0; store && put(store, i); i++) {
        if (i % 4)
            continue;
        vug_page_store_flush(store);
        if (write(report, &i, sizeof(i)) != (ssize_t)sizeof(i))
            break;
    }
    _exit(1);
}

/* What was written before the kill is there, and nothing is half there. */
static void test_killed(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    for (uint32_t round = 0; round < 8; round++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "%u", (unsigned)round);
        const scratch_path folder = scratch_at(&dir, name);
        int report[2];
        uint32_t i = 0, last = 0;
        assert_int_equal(pipe(report), 0);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            write_for_ever(folder.path, report[1]);
        assert_int_equal(close(report[1]), 0);
        while (last < 8 + 4 * round) {
            assert_int_equal(read(report[0], &i, sizeof(i)), sizeof(i));
            last = i;
        }
        assert_int_equal(kill(child, SIGKILL), 0);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        while (read(report[0], &i, sizeof(i)) == (ssize_t)sizeof(i))
            last = i;
        assert_int_equal(close(report[0]), 0);
        vug_page_store *store = open_store(folder.path, UINT64_C(1) << 40);
        assert_non_null(store);
        for (i = 0; i <= last; i++)
            assert_int_equal(get(store, i), RIGHT);
        for (; i < last + 100; i++)
            assert_int_not_equal(get(store, i), WRONG);
        assert_int_equal(vug_page_store_get_stats(store).rejected, 0);
        vug_page_store_close(store);
    }
    scratch_remove(&dir);
}

/* Exits with 0 if every page that was found was right. */
static void use_store(const char *folder, uint32_t seed)
{
    vug_page_store *store = open_store(folder, 20 * FILE_SIZE);
    uint64_t random = seed;
    bool ok = store != NULL;
    for (int i = 0; ok && i < 400; i++) {
        (void)put(store, (uint32_t)(vug_splitmix64(&random) % KEYS));
        ok = get(store, (uint32_t)(vug_splitmix64(&random) % KEYS)) != WRONG;
    }
    if (store)
        vug_page_store_flush(store);
    ok = ok && vug_page_store_get_stats(store).written > 0 &&
         vug_page_store_get_stats(store).failed == 0 &&
         vug_page_store_get_stats(store).rejected == 0;
    vug_page_store_close(store);
    _exit(ok ? 0 : 1);
}

static void test_two_processes(void **state)
{
    (void)state;
    enum { CHILDREN = 2 };
    const scratch dir = scratch_make();
    pid_t child[CHILDREN];
    for (uint32_t i = 0; i < CHILDREN; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0)
            use_store(dir.path, i);
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
    vug_page_store *store = open_store(dir.path, UINT64_C(1) << 40);
    assert_non_null(store);
    uint64_t found = 0;
    for (uint32_t i = 0; i < KEYS; i++)
        found += get(store, i) == RIGHT;
    /* The budget, and an eighth of it for each process. */
    assert_in_range(found, 1, 20 + CHILDREN * 20 / 8);
    vug_page_store_close(store);
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_two_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
