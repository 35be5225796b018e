/* Reading files, mappings, folders and paths, on POSIX systems. */
#include "core/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool vug_file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 || errno == EACCES;
}

bool vug_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

int64_t vug_file_time(const struct stat *info)
{
#if defined(__APPLE__)
    const struct timespec time = info->st_mtimespec;
#else
    const struct timespec time = info->st_mtim;
#endif
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool starts_with(vug_bytes file, const char *text)
{
    const size_t n = strlen(text);
    return file.len >= n && strncasecmp((const char *)file.ptr, text, n) == 0;
}

vug_status vug_reject_placeholder(vug_bytes file, const char *name, vug_err *err)
{
    if (starts_with(file, "version https://git-lfs"))
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: this is a Git LFS pointer, not the file; run git lfs pull to fetch it",
                        name);
    if (starts_with(file, "<!doctype html") || starts_with(file, "<html"))
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: this is a web page, not the file; the download may require logging "
                        "in",
                        name);
    return VUG_OK;
}

/* Opens a regular file for reading. */
static vug_status open_file(const char *path, int *fd, size_t *size, vug_err *err)
{
    /* Non-blocking, so that a pipe is rejected and not waited for. */
    const int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (opened < 0)
        return VUG_FAIL(err, VUG_IO, "%s: cannot open: %s", path, strerror(errno));
    struct stat info;
    if (fstat(opened, &info) != 0 || !S_ISREG(info.st_mode)) {
        (void)close(opened);
        return VUG_FAIL(err, VUG_IO, "%s: not a regular file", path);
    }
    *fd = opened;
    *size = (size_t)info.st_size;
    return VUG_OK;
}

vug_status vug_read_file(const char *path, size_t max, vug_text *out, vug_err *err)
{
    int fd;
    size_t size;
    VUG_TRY(open_file(path, &fd, &size, err));
    vug_status st = VUG_OK;
    char *text = NULL;
    size_t at = 0;
    if (size > max) {
        st = VUG_FAIL(err, VUG_LIMIT, "%s: %zu bytes, at most %zu are read", path, size, max);
        goto close_fd;
    }
    text = vug_alloc(size + 1, 1);
    if (!text) {
        st = VUG_FAIL_NOMEM(err, path, size);
        goto close_fd;
    }
    while (at < size) {
        const ssize_t n = read(fd, text + at, size - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            st = VUG_FAIL(err, VUG_IO, "%s: cannot read: %s", path, strerror(errno));
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    text[at] = '\0';
    if (st == VUG_OK)
        *out = (vug_text){ text, at };
    else
        vug_free(text);
close_fd:
    (void)close(fd);
    return st;
}

vug_status vug_map_file(const char *path, vug_mapping *out, vug_err *err)
{
    int fd;
    size_t size;
    VUG_TRY(open_file(path, &fd, &size, err));
    vug_mapping mapping = { 0 };
    if (size > 0) {
        mapping.base = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (mapping.base == MAP_FAILED) {
            const int why = errno;
            (void)close(fd);
            return VUG_FAIL(err, VUG_IO, "%s: cannot map %zu bytes: %s", path, size, strerror(why));
        }
        mapping.bytes = (vug_bytes){ mapping.base, size };
    }
    (void)close(fd);
    *out = mapping;
    return VUG_OK;
}

void vug_unmap(vug_mapping *mapping)
{
    if (mapping->base)
        (void)munmap(mapping->base, mapping->bytes.len);
    *mapping = (vug_mapping){ 0 };
}

/* The whole pages that contain [at, at + n). */
static void page_range(const vug_mapping *mapping, size_t at, size_t n, char **from, size_t *len)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t first = at / page * page;
    *from = (char *)mapping->base + first;
    *len = at + n - first;
}

void vug_map_populate(const vug_mapping *mapping, size_t at, size_t n)
{
    if (!mapping->base || n == 0)
        return;
    char *from;
    size_t len;
    page_range(mapping, at, n, &from, &len);
#if defined(MADV_POPULATE_READ)
    /* Any failure but "unknown advice" means that the pages cannot be read, as after the
     * file was truncated; touching them would kill the process. */
    if (madvise(from, len, MADV_POPULATE_READ) == 0 || errno != EINVAL)
        return;
#endif
    (void)madvise(from, len, MADV_WILLNEED);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < len; i += page)
        (void)*(volatile char *)(from + i);
}

static void advise(const vug_mapping *mapping, size_t at, size_t n, int advice)
{
    if (!mapping->base || n == 0)
        return;
    char *from;
    size_t len;
    page_range(mapping, at, n, &from, &len);
    (void)madvise(from, len, advice);
}

void vug_map_prefetch(const vug_mapping *mapping, size_t at, size_t n)
{
    advise(mapping, at, n, MADV_WILLNEED);
}

void vug_map_evict(const vug_mapping *mapping, size_t at, size_t n)
{
    advise(mapping, at, n, MADV_DONTNEED);
}

static int compare_names(const void *a, const void *b)
{
    const vug_str *x = a, *y = b;
    return strcmp(x->ptr, y->ptr);
}

vug_status vug_list_folder(const char *path, vug_arena *arena, vug_str **names, size_t *n,
                           vug_err *err)
{
    enum { MAX_NAMES = 65536 };
    DIR *folder = opendir(path);
    if (!folder)
        return VUG_FAIL(err, VUG_IO, "%s: cannot list the folder: %s", path, strerror(errno));
    vug_status st = VUG_OK;
    size_t count = 0, cap = 0;
    vug_str *list = NULL;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry && errno)
            st = VUG_FAIL(err, VUG_IO, "%s: cannot list the folder: %s", path, strerror(errno));
        if (!entry)
            break;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (count == cap) {
            const size_t grown = cap ? cap * 2 : 32;
            if (grown > MAX_NAMES) {
                st = VUG_FAIL(err, VUG_LIMIT, "%s: more than %d files", path, MAX_NAMES);
                break;
            }
            vug_str *more = vug_arena_alloc(arena, grown, sizeof(*more));
            if (!more) {
                st = VUG_FAIL_NOMEM(err, path, grown * sizeof(*more));
                break;
            }
            if (count)
                memcpy(more, list, count * sizeof(*more));
            list = more;
            cap = grown;
        }
        list[count] = vug_arena_copy(arena, vug_str_of(entry->d_name));
        if (!list[count].ptr) {
            st = VUG_FAIL_NOMEM(err, path, strlen(entry->d_name));
            break;
        }
        count++;
    }
    (void)closedir(folder);
    if (st != VUG_OK)
        return st;
    if (count)
        qsort(list, count, sizeof(*list), compare_names);
    *names = list;
    *n = count;
    return VUG_OK;
}

vug_status vug_make_folder(const char *path, vug_err *err)
{
    if (mkdir(path, 0777) != 0)
        return VUG_FAIL(err, VUG_WRITE, "%s: cannot make the folder: %s", path, strerror(errno));
    return VUG_OK;
}

char *vug_path_join(const char *folder, const char *name)
{
    const size_t a = strlen(folder), b = strlen(name);
    const bool slash = a > 0 && folder[a - 1] != '/';
    char *path = vug_alloc(a + slash + b + 1, 1);
    if (!path)
        return NULL;
    memcpy(path, folder, a);
    if (slash)
        path[a] = '/';
    memcpy(path + a + slash, name, b);
    path[a + slash + b] = '\0';
    return path;
}

const char *vug_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *vug_path_real(const char *path)
{
    char plain[PATH_MAX];
    return realpath(path, plain) ? vug_strdup(plain) : NULL;
}
