/* The ground floor: memory, the byte reader, files, numbers, worker threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/bytes.h"
#include "core/mem.h"
#include "core/os.h"
#include "core/text.h"
#include "scratch.h"

#include <math.h>
#include <stdatomic.h>
#include <unistd.h>

/* ---- memory -------------------------------------------------------------- */

static void test_products_of_sizes(void **state)
{
    (void)state;
    uint64_t out = 7;
    assert_false(vug_mul_size(UINT64_MAX / 2 + 1, 2, &out));
    assert_false(vug_add_size(UINT64_MAX, 1, &out));
    assert_int_equal(out, 7);
    assert_true(vug_mul_size(UINT64_MAX / 3, 3, &out));
    assert_true(out == UINT64_MAX);
    assert_true(vug_mul_size(UINT64_MAX, 0, &out));
    assert_int_equal(out, 0);
    assert_true(vug_add_size(UINT64_MAX - 1, 1, &out));
    assert_true(out == UINT64_MAX);
}

static void test_blocks(void **state)
{
    (void)state;
    /* volatile: the compiler would see the absurd sizes and warn. */
    volatile size_t huge = SIZE_MAX / 2 + 1;
    assert_null(vug_alloc(huge, 2));
    assert_null(vug_alloc(huge, 1));
    assert_null(vug_alloc_zero(huge, 2));
    assert_null(vug_realloc(NULL, huge, 2));
    assert_null(vug_alloc_aligned(SIZE_MAX - 8 + huge - huge));
    void *empty = vug_alloc(0, 8);
    assert_non_null(empty);
    vug_free(empty);
    uint8_t *block = vug_alloc_zero(100, 3);
    assert_non_null(block);
    for (int i = 0; i < 300; i++)
        assert_int_equal(block[i], 0);
    block[299] = 9;
    assert_null(vug_realloc(block, huge, 2)); /* the old block is untouched */
    assert_int_equal(block[299], 9);
    block = vug_realloc(block, 1000, 3);
    assert_non_null(block);
    assert_int_equal(block[299], 9);
    vug_free(block);
    for (size_t n = 0; n < 200; n += 13) {
        uint8_t *aligned = vug_alloc_aligned(n);
        assert_non_null(aligned);
        assert_int_equal((uintptr_t)aligned % 64, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(aligned[i], 0);
        vug_free(aligned);
    }
    char *copy = vug_strdup("crystal");
    assert_string_equal(copy, "crystal");
    vug_free(copy);
    vug_free(NULL);
}

static void test_arena(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    uint8_t *last = NULL;
    for (size_t n = 0; n < 2000; n++) {
        uint8_t *p = vug_arena_alloc(&arena, n, 1);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_true(p != last || n == 1);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, n);
        last = p;
    }
    assert_non_null(vug_arena_alloc(&arena, 1000000, 1)); /* larger than a block */
    const vug_str copy = vug_arena_copy(&arena, (vug_str){ "abcdef", 3 });
    assert_string_equal(copy.ptr, "abc");
    assert_int_equal(copy.len, 3);
    assert_string_equal(vug_arena_copy(&arena, (vug_str){ 0 }).ptr, "");
    volatile size_t huge = SIZE_MAX / 2 + 1;
    assert_null(vug_arena_alloc(&arena, huge, 2));
    assert_null(vug_arena_alloc(&arena, huge, 1));
    assert_null(vug_arena_alloc(&arena, SIZE_MAX - 3 + huge - huge, 1));
    vug_arena_release(&arena);
    assert_null(arena.top);
    assert_int_equal(arena.held, 0);
}

static void test_arena_budget(void **state)
{
    (void)state;
    static const size_t budgets[] = { 1, 100, 1000, 65536, 70000, 200000 };
    for (size_t b = 0; b < sizeof(budgets) / sizeof(budgets[0]); b++) {
        vug_arena arena = { .budget = budgets[b] };
        size_t got = 0;
        while (vug_arena_alloc(&arena, 10, 1))
            got += 16;
        assert_true(arena.held <= arena.budget);
        assert_true(got <= arena.budget);
        /* What the budget allows is usable up to the bookkeeping of its blocks. */
        assert_true(got + 64 * (1 + budgets[b] / 65536) >= budgets[b] || budgets[b] < 64);
        assert_null(vug_arena_alloc(&arena, budgets[b] + 1, 1));
        vug_arena_release(&arena);
    }
}

static void test_buffer(void **state)
{
    (void)state;
    vug_buf buf = { 0 };
    for (int i = 0; i < 1000; i++)
        vug_buf_printf(&buf, "%d,", i % 10);
    vug_buf_puts(&buf, "end");
    vug_buf_append(&buf, NULL, 0);
    assert_int_equal(vug_buf_ok(&buf, NULL), VUG_OK);
    assert_int_equal(buf.len, 2003);
    vug_text text = { 0 };
    assert_int_equal(vug_buf_take(&buf, &text, NULL), VUG_OK);
    assert_int_equal(strlen(text.ptr), 2003);
    assert_string_equal(text.ptr + 1998, "9,end");
    assert_null(buf.ptr);
    vug_text_release(&text);
    vug_buf_puts(&buf, "all but this");
    buf.len = 3;
    assert_int_equal(vug_buf_take(&buf, &text, NULL), VUG_OK); /* what was taken away is gone */
    assert_string_equal(text.ptr, "all");
    vug_text_release(&text);
    assert_int_equal(vug_buf_take(&buf, &text, NULL), VUG_OK); /* empty, and still a string */
    assert_string_equal(text.ptr, "");
    vug_text_release(&text);
    vug_text_release(&text);
}

static void test_buffer_maximum(void **state)
{
    (void)state;
    for (size_t max = 1; max < 200; max += 11) {
        vug_buf buf = { .max = max };
        for (size_t i = 0; i < max; i++)
            vug_buf_append(&buf, "x", 1);
        assert_int_equal(vug_buf_ok(&buf, NULL), VUG_OK);
        assert_true(buf.cap <= max + 1);
        vug_buf_append(&buf, "y", 1);
        assert_int_equal(buf.len, max);
        vug_buf_append(&buf, "", 0);
        vug_buf_printf(&buf, "%d", 1);
        assert_int_equal(buf.len, max);
        vug_err err = { 0 };
        vug_text text = { 0 };
        assert_int_equal(vug_buf_take(&buf, &text, &err), VUG_NOMEM);
        assert_null(text.ptr);
        assert_null(buf.ptr);
    }
    vug_buf buf = { .max = SIZE_MAX };
    volatile size_t huge = SIZE_MAX - 1;
    vug_buf_append(&buf, "x", huge);
    assert_int_equal(vug_buf_ok(&buf, NULL), VUG_NOMEM);
    vug_buf_release(&buf);
}

/* ---- reader -------------------------------------------------------------- */

static void test_reader_truncations(void **state)
{
    (void)state;
    static const uint8_t record[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    for (size_t n = 0; n <= sizeof(record); n++) {
        uint8_t *copy = malloc(n ? n : 1);
        assert_non_null(copy);
        memcpy(copy, record, n);
        vug_reader r = vug_reader_over((vug_bytes){ copy, n });
        const uint32_t a = vug_read_u32le(&r);
        const uint64_t b = vug_read_u64le(&r);
        const vug_bytes c = vug_read_span(&r, 3);
        assert_true(a == (n >= 4 ? 0x04030201u : 0));
        if (n >= 12)
            assert_true(b == UINT64_C(0x0c0b0a0908070605));
        assert_int_equal(c.len, n == 15 ? 3 : 0);
        assert_int_equal(r.bad, n < 15);
        assert_int_equal(vug_reader_left(&r), 0);
        /* Bad stays bad. */
        if (n < 15) {
            assert_null(vug_read_span(&r, 0).ptr);
            assert_int_equal(vug_read_u32le(&r), 0);
        }
        free(copy);
    }
}

static void test_reader_huge_lengths(void **state)
{
    (void)state;
    static const uint8_t bytes[4] = { 1, 2, 3, 4 };
    static const uint64_t lengths[] = { 4, 5, UINT32_MAX, INT64_MAX, UINT64_MAX - 3, UINT64_MAX };
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        vug_reader r = vug_reader_over((vug_bytes){ bytes, 4 });
        assert_int_equal(vug_read_span(&r, 1).len, 1);
        assert_int_equal(vug_reader_left(&r), 3);
        assert_null(vug_read_span(&r, lengths[i]).ptr);
        assert_true(r.bad);
        assert_int_equal(r.pos, 1);
    }
    vug_reader r = vug_reader_over((vug_bytes){ 0 });
    assert_int_equal(vug_read_span(&r, 0).len, 0);
    assert_false(r.bad);
}

static void test_strings(void **state)
{
    (void)state;
    const vug_str s = vug_str_of("model.safetensors");
    assert_true(vug_str_starts(s, "model") && !vug_str_starts(s, "model.safetensors2"));
    assert_true(vug_str_ends(s, ".safetensors") && !vug_str_ends((vug_str){ "s", 1 }, "ss"));
    assert_true(vug_str_is(vug_str_from(s, 6), "safetensors"));
    assert_int_equal(vug_str_from(s, 100).len, 0);
    assert_true(vug_str_equal((vug_str){ 0 }, vug_str_of("")));
    assert_false(vug_str_equal(vug_str_of("a"), vug_str_of("b")));
}

static void test_numbers(void **state)
{
    (void)state;
    double d = 7;
    int64_t i = 7;
    static const char *const bad_f64[] = { "",    " 1",    "1 ", "0x10", "inf", "nan", "1e999",
                                           "1,5", "1.2.3", "e5", "-",    "1e",  "--1" };
    for (size_t k = 0; k < sizeof(bad_f64) / sizeof(bad_f64[0]); k++)
        assert_false(vug_parse_f64(bad_f64[k], &d));
    assert_true(d == 7);
    assert_true(vug_parse_f64("-2.5e-1", &d) && d == -0.25);
    assert_true(vug_parse_f64("40", &d) && d == 40);
    static const char *const bad_i64[] = { "",  " 1",  "1 ", "0x10", "1.0", "9223372036854775808",
                                           "-", "1e3", "\n1" };
    for (size_t k = 0; k < sizeof(bad_i64) / sizeof(bad_i64[0]); k++)
        assert_false(vug_parse_i64(bad_i64[k], &i));
    assert_int_equal(i, 7);
    assert_true(vug_parse_i64("-9223372036854775808", &i) && i == INT64_MIN);
    assert_true(vug_parse_i64("9223372036854775807", &i) && i == INT64_MAX);
}

/* ---- files --------------------------------------------------------------- */

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
    vug_map_forget(&map, 5000, 200000);
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

static void test_out_failures(void **state)
{
    (void)state;
    const scratch dir = scratch_make();
    vug_out out;
    vug_err err = { 0 };
    /* Nowhere to write: kept until the end. */
    vug_out_open(&out, scratch_at(&dir, "none/f").path);
    vug_out_write(&out, "x", 1);
    assert_int_equal(vug_out_commit(&out, &err), VUG_IO);
    assert_non_null(strstr(err.msg, "/none/f: cannot write: No such file or directory"));
    vug_out_open(&out, scratch_at(&dir, "none/f").path);
    vug_out_abandon(&out);
    /* The target is a folder. */
    assert_int_equal(vug_make_folder(scratch_at(&dir, "sub").path, NULL), VUG_OK);
    vug_out_open(&out, scratch_at(&dir, "sub").path);
    assert_int_equal(vug_out_commit(&out, &err), VUG_IO);
    assert_non_null(strstr(err.msg, "/sub: cannot rename onto it: "));
    assert_int_equal(count_files(&dir), 1);
    assert_int_equal(vug_make_folder(scratch_at(&dir, "sub").path, &err), VUG_IO);
    assert_non_null(strstr(err.msg, "/sub: cannot make the folder: File exists"));
    scratch_remove(&dir);
}

/* As the system knows it: not what argv[0] says, which may be relative. */
static void test_program_path(void **state)
{
    (void)state;
    char *path, *expected = realpath(VUG_BUILD "/tests/test_core", NULL);
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
    char *plain = vug_path_plain("tests/../tests/.");
    assert_non_null(plain);
    assert_int_equal(plain[0], '/');
    assert_string_equal(vug_path_base(plain), "tests");
    vug_free(plain);
    assert_null(vug_path_plain("no/such/path"));
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

/* ---- worker threads ------------------------------------------------------ */

enum { MAX_THREADS = 8 };

/* Not atomic on purpose: the pool itself must order a job after the one before
 * and the caller after all, or a thread sanitizer complains here. */
typedef struct {
    long round;             /* written by the caller only */
    long seen[MAX_THREADS]; /* rounds, one slot per thread */
    long calls[MAX_THREADS];
    int n_threads;
} job;

static void count_round(void *arg, int thread, int n_threads)
{
    job *j = arg;
    j->seen[thread] += j->round;
    j->calls[thread]++;
    if (n_threads != j->n_threads)
        j->seen[thread] = -1;
}

static void test_pool_rounds(void **state)
{
    (void)state;
    enum { ROUNDS = 2000 };
    for (int threads = 1; threads <= MAX_THREADS; threads++) {
        vug_pool *pool = NULL;
        assert_int_equal(vug_pool_create(threads, &pool, NULL), VUG_OK);
        assert_int_equal(vug_pool_threads(pool), threads);
        job j = { .n_threads = threads };
        long sum = 0;
        for (long r = 1; r <= ROUNDS; r++) {
            j.round = r;
            sum += r;
            vug_pool_run(pool, count_round, &j);
            for (int t = 0; t < threads; t++) {
                assert_int_equal(j.calls[t], r);
                assert_int_equal(j.seen[t], sum);
            }
        }
        for (int t = threads; t < MAX_THREADS; t++)
            assert_int_equal(j.calls[t], 0);
        vug_pool_destroy(pool);
    }
}

/* Pauses long enough that workers fall asleep, and jobs that end at different
 * times, so that the caller sleeps too. */
static void linger(void *arg, int thread, int n_threads)
{
    if (thread == n_threads - 1)
        (void)usleep(3000);
    count_round(arg, thread, n_threads);
}

static void test_pool_sleeps_and_wakes(void **state)
{
    (void)state;
    vug_pool *pool = NULL;
    assert_int_equal(vug_pool_create(4, &pool, NULL), VUG_OK);
    job j = { .n_threads = 4 };
    for (int r = 0; r < 30; r++) {
        j.round = 1;
        vug_pool_run(pool, r % 2 ? linger : count_round, &j);
        if (r % 3 == 0)
            (void)usleep(8000);
        for (int t = 0; t < 4; t++)
            assert_int_equal(j.calls[t], r + 1);
    }
    vug_pool_destroy(pool);
}

static void test_pool_life(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        vug_pool *pool = NULL;
        assert_int_equal(vug_pool_create(1 + i % 5, &pool, NULL), VUG_OK);
        job j = { .n_threads = 1 + i % 5, .round = 1 };
        if (i % 2)
            vug_pool_run(pool, count_round, &j);
        vug_pool_destroy(pool);
    }
    vug_pool_destroy(NULL);
    vug_pool *pool = NULL;
    vug_err err = { 0 };
    assert_int_equal(vug_pool_create(0, &pool, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, "threads: 0, expected 1 to 1024");
    assert_int_equal(vug_pool_create(1025, &pool, &err), VUG_ARGUMENT);
    assert_null(pool);
}

typedef struct {
    vug_lock *lock;
    long count;
} shared;

static void add_under_lock(void *arg, int thread, int n_threads)
{
    shared *s = arg;
    (void)thread, (void)n_threads;
    for (int i = 0; i < 1000; i++) {
        vug_lock_take(s->lock);
        s->count++;
        vug_lock_leave(s->lock);
    }
}

static void test_lock(void **state)
{
    (void)state;
    vug_pool *pool = NULL;
    shared s = { 0 };
    assert_int_equal(vug_lock_create(&s.lock, NULL), VUG_OK);
    assert_int_equal(vug_pool_create(4, &pool, NULL), VUG_OK);
    vug_pool_run(pool, add_under_lock, &s);
    assert_int_equal(s.count, 4000);
    vug_pool_destroy(pool);
    vug_lock_destroy(s.lock);
    vug_lock_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_sizes),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_arena_budget),
        cmocka_unit_test(test_buffer),
        cmocka_unit_test(test_buffer_maximum),
        cmocka_unit_test(test_reader_truncations),
        cmocka_unit_test(test_reader_huge_lengths),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_read_file),
        cmocka_unit_test(test_mapping),
        cmocka_unit_test(test_populate_of_a_cut_file),
        cmocka_unit_test(test_list_folder),
        cmocka_unit_test(test_out),
        cmocka_unit_test(test_out_failures),
        cmocka_unit_test(test_program_path),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_machine),
        cmocka_unit_test(test_pool_rounds),
        cmocka_unit_test(test_pool_sleeps_and_wakes),
        cmocka_unit_test(test_pool_life),
        cmocka_unit_test(test_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
