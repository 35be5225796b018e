/* The OS layer: files, mappings, paths, the machine. */
#include "test.h"

#include "core/os.h"
#include "scratch.h"

#include <unistd.h>

static void test_read_file(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    scratch_puts(&dir, "ten", "0123456789");
    scratch_puts(&dir, "empty", "");
    const scratch_path ten = scratch_at(&dir, "ten"), none = scratch_at(&dir, "none");
    vug_text text = { 0 };
    vug_err err = { 0 };
    assert_int_equal(vug_read_file(ten.path, 10, &text, &err), VUG_OK);
    assert_int_equal(text.len, 10);
    assert_string_equal(text.ptr, "0123456789");
    vug_text_release(&text);
    assert_int_equal(vug_read_file(ten.path, 9, &text, &err), VUG_LIMIT);
    assert_non_null(strstr(err.msg, "/ten: 10 bytes, at most 9 are read"));
    assert_null(text.ptr);
    assert_int_equal(vug_read_file(scratch_at(&dir, "empty").path, 0, &text, &err), VUG_OK);
    assert_string_equal(text.ptr, "");
    vug_text_release(&text);
    assert_int_equal(vug_read_file(none.path, 9, &text, &err), VUG_IO);
    assert_non_null(strstr(err.msg, "/none: cannot open: No such file or directory"));
    assert_int_equal(vug_read_file(dir.path, 9, &text, &err), VUG_IO);
    assert_non_null(strstr(err.msg, ": not a regular file"));
    /* A pipe is refused at once, not waited for. */
    const scratch_path pipe = scratch_at(&dir, "pipe");
    assert_int_equal(mkfifo(pipe.path, 0600), 0);
    assert_int_equal(vug_read_file(pipe.path, 9, &text, &err), VUG_IO);
    assert_true(vug_file_exists(ten.path) && !vug_file_exists(none.path));
    assert_true(vug_is_folder(dir.path) && !vug_is_folder(ten.path) && !vug_is_folder(none.path));
    scratch_remove(&dir);
}

static void test_mapping(void **state)
{
    (void)state;
    enum { N = 300001 };
    const scratch dir = scratch_make();
    uint8_t *bytes = malloc(N);
    assert_non_null(bytes);
    for (size_t i = 0; i < N; i++)
        bytes[i] = (uint8_t)(i * 13 >> 4);
    scratch_write(&dir, "f", bytes, N);
    scratch_puts(&dir, "empty", "");
    vug_mapping map = { 0 };
    assert_int_equal(vug_map_file(scratch_at(&dir, "f").path, &map, NULL), VUG_OK);
    assert_int_equal(map.bytes.len, N);
    vug_map_populate(&map, 0, N);
    vug_map_populate(&map, N - 1, 1);
    vug_map_populate(&map, 4095, 2);
    vug_map_populate(&map, 17, 0);
    assert_memory_equal(map.bytes.ptr, bytes, N);
    vug_map_evict(&map, 5000, 200000);
    assert_memory_equal(map.bytes.ptr, bytes, N);
    vug_unmap(&map);
    vug_unmap(&map);
    assert_int_equal(vug_map_file(scratch_at(&dir, "empty").path, &map, NULL), VUG_OK);
    assert_int_equal(map.bytes.len, 0);
    assert_null(map.base);
    vug_map_populate(&map, 0, 0);
    vug_unmap(&map);
    assert_int_equal(vug_map_file(scratch_at(&dir, "none").path, &map, NULL), VUG_IO);
    free(bytes);
    scratch_remove(&dir);
}

/* Reading ahead in a file that was cut short does nothing; only using the lost
 * pages would end the process. */
static void test_populate_of_a_cut_file(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "f");
    scratch_puts(&dir, "f", "x");
    assert_int_equal(truncate(path.path, 1 << 20), 0);
    vug_mapping map = { 0 };
    assert_int_equal(vug_map_file(path.path, &map, NULL), VUG_OK);
    assert_int_equal(truncate(path.path, 1), 0);
#if defined(__linux__)
    vug_map_populate(&map, 0, 1 << 20);
#endif
    assert_int_equal(map.bytes.ptr[0], 'x');
    vug_unmap(&map);
    scratch_remove(&dir);
}

static void test_list_folder(void **state)
{
    (void)state;
    static const char *const sorted[] = {
        ".hidden", "A", "Z", "a", "a-1", "a-10", "a-2", "\xc3\xa4"
    };
    const scratch dir = scratch_make();
    for (size_t i = 8; i > 0; i--)
        scratch_puts(&dir, sorted[i - 1], "");
    vug_arena arena = { 0 };
    vug_str *names = NULL;
    size_t n = 0;
    assert_int_equal(vug_list_folder(dir.path, &arena, &names, &n, NULL), VUG_OK);
    assert_int_equal(n, 8);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(names[i].ptr, sorted[i]);
    for (int i = 0; i < 100; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "n%d", i);
        scratch_puts(&dir, name, "");
    }
    assert_int_equal(vug_list_folder(dir.path, &arena, &names, &n, NULL), VUG_OK);
    assert_int_equal(n, 108);
    vug_arena small = { .budget = 2000 };
    assert_int_equal(vug_list_folder(dir.path, &small, &names, &n, NULL), VUG_NOMEM);
    vug_arena_release(&small);
    scratch_remove(&dir);
    vug_err err = { 0 };
    assert_int_equal(vug_list_folder(dir.path, &arena, &names, &n, &err), VUG_IO);
    assert_non_null(strstr(err.msg, ": cannot list the folder: No such file or directory"));
    vug_arena_release(&arena);
}

static size_t count_files(const scratch *dir)
{
    vug_arena arena = { 0 };
    vug_str *names = NULL;
    size_t n = 0;
    assert_int_equal(vug_list_folder(dir->path, &arena, &names, &n, NULL), VUG_OK);
    vug_arena_release(&arena);
    return n;
}

static void expect_text(const scratch *dir, const char *name, const char *expected)
{
    vug_text text = { 0 };
    assert_int_equal(vug_read_file(scratch_at(dir, name).path, 1000, &text, NULL), VUG_OK);
    assert_string_equal(text.ptr, expected);
    vug_text_release(&text);
}

static void test_out(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "f");
    scratch_puts(&dir, "f", "old");
    vug_out out, other;
    vug_out_open(&out, path.path);
    vug_out_open(&other, path.path); /* two at once do not meet */
    vug_out_write(&out, "new", 3);
    vug_out_write(&other, "other", 5);
    vug_out_write(&out, "er", 2);
    expect_text(&dir, "f", "old");
    assert_int_equal(count_files(&dir), 3);
    assert_int_equal(vug_out_commit(&out, NULL), VUG_OK);
    expect_text(&dir, "f", "newer");
    vug_out_abandon(&other);
    expect_text(&dir, "f", "newer");
    assert_int_equal(count_files(&dir), 1);
    struct stat info;
    const mode_t mask = umask(022);
    vug_out_open(&out, path.path);
    (void)umask(mask);
    assert_int_equal(vug_out_commit(&out, NULL), VUG_OK);
    assert_int_equal(stat(path.path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0644);
    assert_int_equal(info.st_size, 0);
    scratch_remove(&dir);
}

static void test_file_in_a_closed_folder_exists(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path file = scratch_at(&dir, "f");
    const uid_t user = geteuid(), other = user ? user : 65534; /* root may search any folder */
    scratch_puts(&dir, "f", "x");
    assert_int_equal(chmod(dir.path, 0), 0);
    const bool changed = seteuid(other) == 0;
    const bool exists = vug_file_exists(file.path);
    assert_int_equal(seteuid(user), 0);
    assert_int_equal(chmod(dir.path, 0700), 0);
    assert_true(exists || !changed);
    assert_false(vug_file_exists(scratch_at(&dir, "none").path));
    assert_false(vug_file_exists(scratch_at(&dir, "f/none").path));
    scratch_remove(&dir);
}

/* Links to devices: the test needs no rights, and breaks no device if it fails. */
static void test_out_to_devices(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path null = scratch_at(&dir, "null"), full = scratch_at(&dir, "full");
    vug_out out;
    vug_err err = { 0 };
    struct stat info;
    assert_int_equal(symlink("/dev/null", null.path), 0);
    vug_out_open(&out, null.path);
    vug_out_write(&out, "x", 1);
    assert_int_equal(vug_out_commit(&out, NULL), VUG_OK);
    assert_int_equal(lstat(null.path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    if (vug_file_exists("/dev/full")) {
        assert_int_equal(symlink("/dev/full", full.path), 0);
        vug_out_open(&out, full.path);
        vug_out_write(&out, "x", 1);
        assert_int_equal(vug_out_commit(&out, &err), VUG_WRITE);
        assert_non_null(strstr(err.msg, "/full: cannot write: No space left on device"));
        assert_int_equal(lstat(full.path, &info), 0);
        assert_true(S_ISLNK(info.st_mode));
    }
    scratch_remove(&dir);
}

static void put_line(const char *path, bool private, const char *text)
{
    vug_out out;
    vug_err err = { 0 };
    (private ? vug_out_open_private : vug_out_open)(&out, path);
    vug_out_write(&out, text, strlen(text));
    if (vug_out_commit(&out, &err) != VUG_OK)
        fail_msg("%s", err.msg);
}

static bool is_link(const char *path)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return S_ISLNK(info.st_mode);
}

/* As a shell's redirection does: what the link leads to is written. */
static void test_out_through_links(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path relative = scratch_at(&dir, "relative"), chain = scratch_at(&dir, "chain");
    const scratch_path absolute = scratch_at(&dir, "absolute"), loop = scratch_at(&dir, "loop");
    const scratch_path file = scratch_at(&dir, "sub/f");
    vug_out out;
    vug_err err = { 0 };
    assert_int_equal(vug_make_folder(scratch_at(&dir, "sub").path, NULL), VUG_OK);
    assert_int_equal(symlink("sub/f", relative.path), 0);
    assert_int_equal(symlink("relative", chain.path), 0);
    assert_int_equal(symlink(file.path, absolute.path), 0);
    assert_int_equal(symlink("loop", loop.path), 0);
    put_line(chain.path, false, "new"); /* the file does not exist yet */
    expect_text(&dir, "sub/f", "new");
    put_line(relative.path, false, "relative");
    expect_text(&dir, "sub/f", "relative");
    put_line(absolute.path, false, "absolute");
    expect_text(&dir, "sub/f", "absolute");
    assert_true(is_link(relative.path) && is_link(chain.path) && is_link(absolute.path));
    /* A message names the path that the user gave. */
    vug_out_open(&out, loop.path);
    assert_int_equal(vug_out_commit(&out, &err), VUG_WRITE);
    assert_non_null(strstr(err.msg, "/loop: cannot write: Too many levels of symbolic links"));
    assert_int_equal(unlink(file.path), 0);
    assert_int_equal(rmdir(scratch_at(&dir, "sub").path), 0);
    vug_out_open(&out, chain.path);
    assert_int_equal(vug_out_commit(&out, &err), VUG_WRITE);
    assert_non_null(strstr(err.msg, "/chain: cannot write: No such file or directory"));
    scratch_remove(&dir);
}

/* A private file replaces a link at its path, which another user may have made. */
static void test_private_out_replaces_a_link(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    const scratch_path log = scratch_at(&dir, "log"), null = scratch_at(&dir, "null");
    scratch_puts(&dir, "f", "old");
    assert_int_equal(symlink("f", log.path), 0);
    assert_int_equal(symlink("/dev/null", null.path), 0);
    put_line(log.path, true, "record");
    put_line(null.path, true, "record");
    expect_text(&dir, "f", "old");
    expect_text(&dir, "log", "record");
    expect_text(&dir, "null", "record");
    assert_false(is_link(log.path) || is_link(null.path));
    scratch_remove(&dir);
}

static void test_out_failures(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    vug_out out;
    vug_err err = { 0 };
    /* Nowhere to write: kept until the end. */
    vug_out_open(&out, scratch_at(&dir, "none/f").path);
    vug_out_write(&out, "x", 1);
    assert_int_equal(vug_out_commit(&out, &err), VUG_WRITE);
    assert_non_null(strstr(err.msg, "/none/f: cannot write: No such file or directory"));
    vug_out_open(&out, scratch_at(&dir, "none/f").path);
    vug_out_abandon(&out);
    /* The target is a folder: it fails before anything is written. */
    assert_int_equal(vug_make_folder(scratch_at(&dir, "sub").path, NULL), VUG_OK);
    vug_out_open(&out, scratch_at(&dir, "sub").path);
    assert_int_equal(vug_out_commit(&out, &err), VUG_WRITE);
    assert_non_null(strstr(err.msg, "/sub: cannot write: Is a directory"));
    assert_int_equal(count_files(&dir), 1);
    assert_int_equal(vug_make_folder(scratch_at(&dir, "sub").path, &err), VUG_WRITE);
    assert_non_null(strstr(err.msg, "/sub: cannot make the folder: File exists"));
    scratch_remove(&dir);
}

/* As the system knows it: not what argv[0] says, which may be relative. */
static void test_program_path(void **state)
{
    (void)state;
    char *path, *expected = realpath(VUG_BUILD "/tests/test_os", NULL);
    assert_non_null(expected);
    assert_int_equal(vug_program_path(&path, NULL), VUG_OK);
    assert_string_equal(path, expected);
    vug_free(path);
    free(expected);
}

static void test_paths(void **state)
{
    (void)state;
    static const char *const row[][3] = {
        { "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "/", "b", "/b" }, { "", "b", "b" }
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        char *path = vug_path_join(row[i][0], row[i][1]);
        assert_string_equal(path, row[i][2]);
        vug_free(path);
    }
    char *plain = vug_path_real("tests/../tests/.");
    assert_non_null(plain);
    assert_int_equal(plain[0], '/');
    assert_string_equal(vug_path_base(plain), "tests");
    vug_free(plain);
    assert_null(vug_path_real("no/such/path"));
    assert_string_equal(vug_path_base("a/b/c"), "c");
    assert_string_equal(vug_path_base("c"), "c");
    assert_string_equal(vug_path_base("a/"), "");
}

static void test_machine(void **state)
{
    (void)state;
    assert_in_range(vug_cpu_count(), 1, (uintmax_t)sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(vug_memory_size() > 1 << 20);
    assert_true(vug_memory_peak() > 1 << 16 && vug_memory_peak() <= vug_memory_size());
    const double before = vug_now();
    assert_true(vug_now() >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_file),
        cmocka_unit_test(test_mapping),
        cmocka_unit_test(test_populate_of_a_cut_file),
        cmocka_unit_test(test_list_folder),
        cmocka_unit_test(test_out),
        cmocka_unit_test(test_file_in_a_closed_folder_exists),
        cmocka_unit_test(test_out_to_devices),
        cmocka_unit_test(test_out_through_links),
        cmocka_unit_test(test_private_out_replaces_a_link),
        cmocka_unit_test(test_out_failures),
        cmocka_unit_test(test_program_path),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
