/* Physical cores, counted in folders made like /sys/devices/system/cpu. */
#include "test.h"

#include <sys/stat.h>

#include "core/cpu_topology.h"
#include "scratch.h"

enum { THREADS = 8 };

/* Describes the siblings of a hardware thread. */
static void put_siblings(const scratch *root, int thread, const char *list)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "cpu%d", thread);
    assert_int_equal(mkdir(scratch_at(root, name).path, 0700), 0);
    (void)snprintf(name, sizeof(name), "cpu%d/topology", thread);
    assert_int_equal(mkdir(scratch_at(root, name).path, 0700), 0);
    (void)snprintf(name, sizeof(name), "cpu%d/topology/thread_siblings_list", thread);
    scratch_puts(root, name, list);
}

/* The cores of a process that may use threads whose character is '1'. */
static int cores(const scratch *root, const char *may_use)
{
    bool allowed[THREADS] = { false };
    for (int i = 0; may_use[i]; i++)
        allowed[i] = may_use[i] == '1';
    return vug_count_cores(root->path, allowed, THREADS);
}

/* Four cores with two threads each, numbered as on most servers: 0 and 4 share a core. */
static void test_siblings_far_apart(void **state)
{
    (void)state;
    static const char *const list[THREADS] = { "0,4\n", "1,5\n", "2,6\n", "3,7\n",
                                               "0,4\n", "1,5\n", "2,6\n", "3,7\n" };
    scratch root = scratch_make();
    for (int i = 0; i < THREADS; i++)
        put_siblings(&root, i, list[i]);
    assert_int_equal(cores(&root, "11111111"), 4);
    assert_int_equal(cores(&root, "11110000"), 4);
    assert_int_equal(cores(&root, "00001111"), 4);
    assert_int_equal(cores(&root, "10001000"), 1);
    assert_int_equal(cores(&root, "00001100"), 2);
    assert_int_equal(cores(&root, "00000000"), 0);
    scratch_remove(&root);
}

/* Neighbours share a core, as in many desktops and virtual machines; the last two are slower cores
 * with one thread each. */
static void test_siblings_side_by_side(void **state)
{
    (void)state;
    static const char *const list[THREADS] = { "0-1\n", "0-1\n", "2-3\n", "2-3\n",
                                               "4-5\n", "4-5\n", "6\n",   "7\n" };
    scratch root = scratch_make();
    for (int i = 0; i < THREADS; i++)
        put_siblings(&root, i, list[i]);
    assert_int_equal(cores(&root, "11111111"), 5);
    assert_int_equal(cores(&root, "01010100"), 3);
    assert_int_equal(cores(&root, "00000011"), 2);
    scratch_remove(&root);
}

/* Threads without a description, or with one that makes no sense, are cores of their own. */
static void test_unreadable_descriptions(void **state)
{
    (void)state;
    scratch root = scratch_make();
    put_siblings(&root, 0, "0,1\n");
    put_siblings(&root, 1, "");
    put_siblings(&root, 2, "none\n");
    put_siblings(&root, 3, "-2\n");
    put_siblings(&root, 4, "99999999999999999999\n");
    assert_int_equal(cores(&root, "11111111"), THREADS);
    scratch_remove(&root);
    assert_int_equal(cores(&(scratch){ "no such folder" }, "11000000"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_siblings_far_apart),
        cmocka_unit_test(test_siblings_side_by_side),
        cmocka_unit_test(test_unreadable_descriptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
