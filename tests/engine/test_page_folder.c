/* The folder of page files: what it trusts, what it removes, what it gives up first. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "engine/page_folder.h"
#include "scratch.h"

#include "page_help.h"

enum { SIZE = 1000 };
#define FILE_SIZE ((uint64_t)SIZE + VUG_PAGE_HEADER)

typedef struct {
    scratch dir;
    scratch_path path;
    vug_page_folder folder;
} page_test;

static page_test begin(void)
{
    page_test t = { .dir = scratch_make() };
    vug_err err = { 0 };
    t.path = scratch_at(&t.dir, "cache");
    if (vug_page_folder_open(t.path.path, &t.folder, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return t;
}

static void end(page_test *t)
{
    vug_page_folder_close(&t->folder);
    scratch_remove(&t->dir);
}

static scratch_path write_page(const page_test *t, uint32_t i)
{
    const vug_page_id id = page_id_of(i);
    uint8_t bytes[SIZE];
    page_fill(i, bytes, SIZE);
    assert_int_equal(vug_page_folder_write(&t->folder, &id, bytes, SIZE, NULL), VUG_OK);
    return page_path_in(t->path.path, i);
}

static vug_page_file_state read_page(const page_test *t, uint32_t i, size_t n)
{
    const vug_page_id id = page_id_of(i);
    uint8_t bytes[2 * SIZE] = { 0 };
    const vug_page_file_state state = vug_page_folder_read(&t->folder, &id, bytes, n);
    if (state == VUG_PAGE_FILE_FOUND)
        assert_true(page_is(i, bytes, n));
    return state;
}

static bool is_there(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

/* The file was rejected once, and is gone. */
static void assert_rejected(const page_test *t, uint32_t i, size_t n)
{
    const scratch_path path = page_path_in(t->path.path, i);
    assert_true(is_there(path.path));
    assert_int_equal(read_page(t, i, n), VUG_PAGE_FILE_REJECTED);
    assert_false(is_there(path.path));
    assert_int_equal(read_page(t, i, n), VUG_PAGE_FILE_MISSING);
}

static void set_time(const char *path, time_t seconds, long nanoseconds)
{
    const struct timespec then = { .tv_sec = seconds, .tv_nsec = nanoseconds };
    const struct timespec times[2] = { then, then };
    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void set_age(const char *path, time_t seconds)
{
    set_time(path, time(NULL) - seconds, 0);
}

static time_t age_of(const char *path)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return time(NULL) - info.st_mtime;
}

/* ---- reading and writing ---------------------------------------------------------- */

static void test_round_trip(void **state)
{
    (void)state;
    page_test t = begin();
    struct stat info;
    assert_int_equal(read_page(&t, 1, SIZE), VUG_PAGE_FILE_MISSING);
    const scratch_path path = write_page(&t, 1);
    assert_int_equal(read_page(&t, 1, SIZE), VUG_PAGE_FILE_FOUND);
    assert_int_equal(stat(path.path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(info.st_size, FILE_SIZE);
    assert_int_equal(stat(t.path.path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    /* Again, over itself; an empty page. */
    (void)write_page(&t, 1);
    assert_int_equal(read_page(&t, 1, SIZE), VUG_PAGE_FILE_FOUND);
    const vug_page_id id = page_id_of(2);
    assert_int_equal(vug_page_folder_write(&t.folder, &id, NULL, 0, NULL), VUG_OK);
    assert_int_equal(read_page(&t, 2, 0), VUG_PAGE_FILE_FOUND);
    end(&t);
}

/* Parts of one key are different pages. */
static void test_parts(void **state)
{
    (void)state;
    page_test t = begin();
    vug_page_id id = page_id_of(1);
    char got;
    for (id.part = 0; id.part < 4; id.part++)
        assert_int_equal(vug_page_folder_write(&t.folder, &id, &"0123"[id.part], 1, NULL), VUG_OK);
    for (id.part = 0; id.part < 4; id.part++) {
        assert_int_equal(vug_page_folder_read(&t.folder, &id, &got, 1), VUG_PAGE_FILE_FOUND);
        assert_int_equal(got, '0' + (int)id.part);
    }
    id.part = UINT32_MAX;
    assert_int_equal(vug_page_folder_read(&t.folder, &id, &got, 1), VUG_PAGE_FILE_MISSING);
    end(&t);
}

static void test_truncated(void **state)
{
    (void)state;
    page_test t = begin();
    static const off_t size[] = {
        0, 1, 7, 8, 11, 12, 23, 24, 55, 56, 87, 88, 89, 500, FILE_SIZE - 1, FILE_SIZE + 1
    };
    for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
        const scratch_path path = write_page(&t, 1);
        assert_int_equal(truncate(path.path, size[i]), 0);
        const vug_page_id id = page_id_of(1);
        assert_false(vug_page_folder_has(&t.folder, &id, SIZE));
        assert_rejected(&t, 1, SIZE);
    }
    end(&t);
}

/* A bit in every byte of the header, and in every part of the contents. */
static void test_flipped(void **state)
{
    (void)state;
    page_test t = begin();
    for (off_t at = 0; at < (off_t)FILE_SIZE; at += at < VUG_PAGE_HEADER + 1 ? 1 : 101) {
        const scratch_path path = write_page(&t, 1);
        const int fd = open(path.path, O_RDWR);
        uint8_t byte;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= (uint8_t)(1 << at % 8);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        assert_int_equal(close(fd), 0);
        assert_rejected(&t, 1, SIZE);
    }
    end(&t);
}

/* A valid page under the name of another one, and a page of another size than is asked for. */
static void test_wrong_page(void **state)
{
    (void)state;
    page_test t = begin();
    (void)write_page(&t, 2);
    const scratch_path one = write_page(&t, 1), two = page_path_in(t.path.path, 2);
    assert_int_equal(rename(one.path, two.path), 0);
    assert_rejected(&t, 2, SIZE);
    (void)write_page(&t, 1);
    assert_rejected(&t, 1, SIZE - 1);
    (void)write_page(&t, 1);
    assert_rejected(&t, 1, SIZE + 1);
    end(&t);
}

/* Links, pipes and folders under the name of a page. What a link points to stays untouched, also if
 * it is the page. */
static void test_no_regular_file(void **state)
{
    (void)state;
    page_test t = begin();
    const scratch_path path = write_page(&t, 1), moved = scratch_at(&t.dir, "moved");
    assert_int_equal(rename(path.path, moved.path), 0);
    assert_int_equal(symlink(moved.path, path.path), 0);
    assert_rejected(&t, 1, SIZE);
    assert_true(is_there(moved.path));
    assert_int_equal(symlink(moved.path, path.path), 0);
    (void)write_page(&t, 1); /* replaces the link */
    assert_int_equal(read_page(&t, 1, SIZE), VUG_PAGE_FILE_FOUND);
    assert_int_equal(unlink(path.path), 0);
    assert_int_equal(mkfifo(path.path, 0600), 0);
    assert_rejected(&t, 1, SIZE);
    assert_int_equal(mkdir(path.path, 0700), 0);
    assert_int_equal(read_page(&t, 1, SIZE), VUG_PAGE_FILE_REJECTED);
    assert_true(is_there(path.path));
    end(&t);
}

/* pages/XX is a link to a folder with the right file. */
static void test_linked_subfolder(void **state)
{
    (void)state;
    page_test t = begin();
    scratch_path path = write_page(&t, 1);
    const scratch_path moved = scratch_at(&t.dir, "moved");
    *strrchr(path.path, '/') = '\0';
    assert_int_equal(rename(path.path, moved.path), 0);
    assert_int_equal(symlink(moved.path, path.path), 0);
    const vug_page_id id = page_id_of(1);
    vug_err err = { 0 };
    assert_int_equal(read_page(&t, 1, SIZE), VUG_PAGE_FILE_MISSING);
    assert_false(vug_page_folder_has(&t.folder, &id, SIZE));
    assert_int_equal(vug_page_folder_write(&t.folder, &id, "", 0, &err), VUG_ARGUMENT);
    assert_non_null(strstr(err.msg, "expected a folder for the cache, found a symbolic link"));
    assert_int_equal(vug_page_folder_trim(&t.folder, 0, 0).files, 0);
    assert_int_equal(unlink(path.path), 0);
    assert_int_equal(rename(moved.path, path.path), 0);
    assert_int_equal(read_page(&t, 1, SIZE), VUG_PAGE_FILE_FOUND);
    end(&t);
}

/* ---- the folder -------------------------------------------------------------------- */

static void assert_refused(const char *path, vug_status code, const char *part)
{
    vug_page_folder folder;
    vug_err err = { 0 };
    assert_int_equal(vug_page_folder_open(path, &folder, &err), code);
    if (!strstr(err.msg, part))
        fail_msg("'%s' does not contain '%s'", err.msg, part);
}

static void test_refused_folders(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path real = scratch_at(&dir, "real"), link = scratch_at(&dir, "link");
    const scratch_path slash = scratch_at(&dir, "link/"), pages = scratch_at(&dir, "real/pages");
    assert_int_equal(mkdir(real.path, 0755), 0);
    assert_int_equal(symlink(real.path, link.path), 0);
    assert_refused(link.path, VUG_ARGUMENT, "/link: expected a folder for the cache, found a symb");
    assert_refused(slash.path, VUG_ARGUMENT,
                   "/link: expected a folder for the cache, found a symb");
    scratch_puts(&dir, "file", "x");
    assert_refused(scratch_at(&dir, "file").path, VUG_ARGUMENT, "/file: expected a folder");
    assert_refused(scratch_at(&dir, "no/folder").path, VUG_IO,
                   "/no/folder: cannot make the cache folder: No such file or directory");
    assert_int_equal(chmod(real.path, 0770), 0);
    assert_refused(real.path, VUG_ARGUMENT,
                   "/real: other users may write to the folder (mode 0770)");
    assert_int_equal(chmod(real.path, 0702), 0);
    assert_refused(real.path, VUG_ARGUMENT, "(mode 0702)");
    assert_int_equal(chmod(real.path, 0755), 0);
    assert_int_equal(symlink(dir.path, pages.path), 0);
    assert_refused(real.path, VUG_ARGUMENT, "/real: pages: expected a folder for the cache, found");
    assert_int_equal(unlink(pages.path), 0);
    /* Others may read the folder: its files are private. */
    vug_page_folder folder;
    assert_int_equal(vug_page_folder_open(real.path, &folder, NULL), VUG_OK);
    vug_page_folder_close(&folder);
    scratch_remove(&dir);
}

static void test_folder_of_another_user(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path real = scratch_at(&dir, "real");
    assert_int_equal(mkdir(real.path, 0700), 0);
    if (chown(real.path, 12345, (gid_t)-1) != 0) {
        scratch_remove(&dir);
        print_message("only root can give a folder to another user\n");
        skip();
    }
    assert_refused(real.path, VUG_ARGUMENT, "/real: the folder belongs to user 12345;");
    scratch_remove(&dir);
}

/* ---- age and trimming ---------------------------------------------------------------- */

/* A use makes a file young, but not more often than once a minute. */
static void test_use(void **state)
{
    (void)state;
    page_test t = begin();
    const vug_page_id id = page_id_of(1);
    const scratch_path path = write_page(&t, 1);
    for (int i = 0; i < 2; i++) {
        set_age(path.path, 3600);
        if (i)
            assert_true(vug_page_folder_has(&t.folder, &id, SIZE));
        else
            assert_int_equal(read_page(&t, 1, SIZE), VUG_PAGE_FILE_FOUND);
        assert_true(age_of(path.path) < 60);
        set_age(path.path, 40);
        if (i)
            assert_true(vug_page_folder_has(&t.folder, &id, SIZE));
        else
            assert_int_equal(read_page(&t, 1, SIZE), VUG_PAGE_FILE_FOUND);
        assert_true(age_of(path.path) >= 40);
    }
    /* Asking for another size is no use. */
    set_age(path.path, 3600);
    assert_false(vug_page_folder_has(&t.folder, &id, SIZE + 1));
    assert_true(age_of(path.path) >= 3600);
    end(&t);
}

/* All within one second, the later ones older. */
static void test_trim(void **state)
{
    (void)state;
    enum { N = 40, KEPT = 10 };
    page_test t = begin();
    const time_t then = time(NULL) - 100;
    for (uint32_t i = 0; i < N; i++)
        set_time(write_page(&t, i).path, then, 1000000 * (long)(N - i));
    vug_page_folder_usage usage = vug_page_folder_trim(&t.folder, N * FILE_SIZE, FILE_SIZE);
    assert_int_equal(usage.files, N);
    assert_int_equal(usage.bytes, N * FILE_SIZE);
    assert_int_equal(usage.removed, 0);
    usage = vug_page_folder_trim(&t.folder, N * FILE_SIZE - 1, (KEPT + 1) * FILE_SIZE - 1);
    assert_int_equal(usage.files, KEPT);
    assert_int_equal(usage.bytes, KEPT * FILE_SIZE);
    assert_int_equal(usage.removed, N - KEPT);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(read_page(&t, i, SIZE),
                         i < KEPT ? VUG_PAGE_FILE_FOUND : VUG_PAGE_FILE_MISSING);
    end(&t);
}

/* Of files of one age, no more go than must. */
static void test_trim_equal_ages(void **state)
{
    (void)state;
    enum { N = 20 };
    page_test t = begin();
    const time_t then = time(NULL) - 100;
    for (uint32_t i = 0; i < N; i++)
        set_time(write_page(&t, i).path, then, 0);
    const vug_page_folder_usage usage =
            vug_page_folder_trim(&t.folder, 12 * FILE_SIZE, 12 * FILE_SIZE);
    assert_int_equal(usage.files, 12);
    assert_int_equal(vug_page_folder_trim(&t.folder, 0, 0).files, 0);
    end(&t);
}

/* Leftovers of killed processes and foreign files go when they are old; pages and folders stay. */
static void test_trim_others(void **state)
{
    (void)state;
    page_test t = begin();
    const scratch_path page = write_page(&t, 1);
    static const char *const name[] = { "temp-1-0", "foreign", "%s-1x", "%s", "%s-12345678901" };
    enum { NAMES = sizeof(name) / sizeof(name[0]) };
    const char *file = strrchr(page.path, '/') + 1;
    scratch_path other[NAMES + 1];
    for (size_t i = 0; i <= NAMES; i++) {
        char key[2 * VUG_PREFIX_KEY + 1];
        other[i] = page;
        memcpy(key, file, sizeof(key) - 1);
        key[sizeof(key) - 1] = '\0';
        char *at = other[i].path + (file - page.path);
        const size_t room = sizeof(other[i].path) - (size_t)(file - page.path);
        if (i == NAMES)
            (void)snprintf(at, room, "link");
        else if (name[i][0] == '%')
            (void)snprintf(at, room, "%s%s", key, name[i] + 2);
        else
            (void)snprintf(at, room, "%s", name[i]);
        if (i == NAMES) {
            assert_int_equal(symlink(page.path, other[i].path), 0);
        } else {
            const int fd = open(other[i].path, O_WRONLY | O_CREAT | O_EXCL, 0600);
            assert_true(fd >= 0);
            assert_int_equal(close(fd), 0);
        }
    }
    vug_page_folder_usage usage = vug_page_folder_trim(&t.folder, FILE_SIZE, 0);
    assert_int_equal(usage.files, 1);
    for (size_t i = 0; i <= NAMES; i++) {
        assert_true(is_there(other[i].path));
        set_age(other[i].path, 601);
    }
    set_age(page.path, 100000);
    usage = vug_page_folder_trim(&t.folder, FILE_SIZE, 0);
    assert_int_equal(usage.files, 1);
    assert_int_equal(usage.removed, 0);
    for (size_t i = 0; i <= NAMES; i++)
        assert_false(is_there(other[i].path));
    assert_int_equal(read_page(&t, 1, SIZE), VUG_PAGE_FILE_FOUND);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_flipped),
        cmocka_unit_test(test_wrong_page),
        cmocka_unit_test(test_no_regular_file),
        cmocka_unit_test(test_linked_subfolder),
        cmocka_unit_test(test_refused_folders),
        cmocka_unit_test(test_folder_of_another_user),
        cmocka_unit_test(test_use),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_trim_equal_ages),
        cmocka_unit_test(test_trim_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
