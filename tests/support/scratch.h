#ifndef VUG_TESTS_SUPPORT_SCRATCH_H
#define VUG_TESTS_SUPPORT_SCRATCH_H

/*
 * A temporary folder for one test. scratch_remove deletes it with its contents. Include
 * after cmocka.h.
 */

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    char path[256];
} scratch;

typedef struct {
    char path[512];
} scratch_path;

static inline scratch scratch_make(void)
{
    scratch s = { "/tmp/vug-test-XXXXXX" };
    assert_non_null(mkdtemp(s.path));
    return s;
}

/* Inside the build folder: the temporary folder may be mounted noexec. */
static inline scratch scratch_make_for_programs(void)
{
    scratch s;
    char *build = realpath(VUG_BUILD, NULL);
    assert_non_null(build);
    const int n = snprintf(s.path, sizeof(s.path), "%s/vug-test-XXXXXX", build);
    assert_in_range(n, 1, sizeof(s.path) - 1);
    free(build);
    assert_non_null(mkdtemp(s.path));
    return s;
}

/* "folder/name" */
static inline scratch_path scratch_at(const scratch *s, const char *name)
{
    scratch_path out;
    const int n = snprintf(out.path, sizeof(out.path), "%s/%s", s->path, name);
    assert_in_range(n, 1, sizeof(out.path) - 1);
    return out;
}

static inline void scratch_write(const scratch *s, const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(scratch_at(s, name).path, "wb");
    assert_non_null(file);
    assert_int_equal(n ? fwrite(bytes, 1, n, file) : 0, n);
    assert_int_equal(fclose(file), 0);
}

static inline void scratch_puts(const scratch *s, const char *name, const char *text)
{
    scratch_write(s, name, text, strlen(text));
}

static inline int scratch_unlink_(const char *path, const struct stat *info, int kind,
                                  struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

static inline void scratch_remove(const scratch *s)
{
    assert_int_equal(nftw(s->path, scratch_unlink_, 16, FTW_DEPTH | FTW_PHYS), 0);
}

#endif
