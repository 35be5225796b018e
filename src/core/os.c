/* Files, mappings and the machine, on POSIX systems. */
#include "core/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <mach-o/dyld.h>
#include <mach/mach.h>
#endif

/* ---- files --------------------------------------------------------------- */

bool vug_file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

bool vug_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool begins(vug_bytes file, const char *text)
{
    const size_t n = strlen(text);
    return file.len >= n && strncasecmp((const char *)file.ptr, text, n) == 0;
}

vug_status vug_refuse_stand_in(vug_bytes file, const char *name, vug_err *err)
{
    if (begins(file, "version https://git-lfs"))
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: this is a Git LFS pointer, not the file; git lfs pull fetches that",
                        name);
    if (begins(file, "<!doctype html") || begins(file, "<html"))
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: this is a web page, not the file; where that must be asked for, log "
                        "in first",
                        name);
    return VUG_OK;
}

/* A regular file opened for reading, and its size. */
static vug_status open_file(const char *path, int *fd, size_t *size, vug_err *err)
{
    /* Not blocking: a pipe of that name must be refused, not waited for. */
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

/* Whole pages that hold [at, at + n). */
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
    /* Any failure but "unknown advice" means that the pages cannot be read now,
     * such as those of a file cut short: touching them would end the process. */
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

void vug_map_expect(const vug_mapping *mapping, size_t at, size_t n)
{
    advise(mapping, at, n, MADV_WILLNEED);
}

void vug_map_forget(const vug_mapping *mapping, size_t at, size_t n)
{
    advise(mapping, at, n, MADV_DONTNEED);
}

static int by_bytes(const void *a, const void *b)
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
        qsort(list, count, sizeof(*list), by_bytes);
    *names = list;
    *n = count;
    return VUG_OK;
}

vug_status vug_make_folder(const char *path, vug_err *err)
{
    if (mkdir(path, 0777) != 0)
        return VUG_FAIL(err, VUG_IO, "%s: cannot make the folder: %s", path, strerror(errno));
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

char *vug_path_plain(const char *path)
{
    char plain[PATH_MAX];
    return realpath(path, plain) ? vug_strdup(plain) : NULL;
}

enum { MAX_PATH_BYTES = 16384 };

/* The bytes of the path written to `path`, without a NUL; 0 when there is none. */
static size_t program_path(char path[MAX_PATH_BYTES])
{
#if defined(__linux__)
    const ssize_t n = readlink("/proc/self/exe", path, MAX_PATH_BYTES);
    return n > 0 && n < MAX_PATH_BYTES ? (size_t)n : 0;
#elif defined(__APPLE__)
    char linked[MAX_PATH_BYTES], plain[PATH_MAX];
    uint32_t size = sizeof(linked);
    if (_NSGetExecutablePath(linked, &size) != 0 || !realpath(linked, plain))
        return 0;
    const size_t n = strlen(plain);
    memcpy(path, plain, n);
    return n;
#else
    (void)path;
    return 0;
#endif
}

vug_status vug_program_path(char **out, vug_err *err)
{
    char path[MAX_PATH_BYTES];
    const size_t n = program_path(path);
    if (n == 0)
        return VUG_FAIL(err, VUG_UNSUPPORTED, "this system does not tell where the program lies");
    char *copy = vug_alloc(n + 1, 1);
    if (!copy)
        return VUG_FAIL_NOMEM(err, "a path", n + 1);
    memcpy(copy, path, n);
    copy[n] = '\0';
    *out = copy;
    return VUG_OK;
}

/* ---- output beside the target -------------------------------------------- */

/* A new file "path.PID-I.part", in the folder of the target so that the rename
 * cannot cross devices. Unlike mkstemp this leaves the permissions to the umask,
 * which a library cannot ask for without changing it for every thread. */
static int open_beside(const char *path, mode_t mode, char *temp, size_t size)
{
    enum { TRIES = 1000 };
    for (int i = 0; i < TRIES; i++) {
        (void)snprintf(temp, size, "%s.%ld-%d.part", path, (long)getpid(), i);
        const int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static void open_out(vug_out *out, const char *path, mode_t mode)
{
    const size_t size = strlen(path) + 48;
    *out = (vug_out){ .path = vug_strdup(path) };
    char *temp = vug_alloc(size, 1);
    if (!out->path || !temp) {
        out->st = VUG_FAIL_NOMEM(&out->err, path, size);
        vug_free(temp);
        return;
    }
    const int fd = open_beside(path, mode, temp, size);
    if (fd >= 0)
        out->file = fdopen(fd, "wb");
    if (out->file) {
        out->temp = temp;
        return;
    }
    out->st = VUG_FAIL(&out->err, VUG_IO, "%s: cannot write: %s", path, strerror(errno));
    if (fd >= 0) {
        (void)close(fd);
        (void)unlink(temp);
    }
    vug_free(temp);
}

void vug_out_open(vug_out *out, const char *path)
{
    open_out(out, path, 0666);
}

void vug_out_open_record(vug_out *out, const char *path)
{
    open_out(out, path, 0600);
    out->is_record = true;
}

/* Lets the disk work while the next bytes are made: a system may otherwise keep gigabytes
 * until vug_out_commit waits for all of them. */
static void begin_writing(vug_out *out)
{
#if defined(__linux__)
    static const uint64_t each = (uint64_t)32 << 20;
    if (out->n - out->n_begun < each)
        return;
    (void)sync_file_range(fileno(out->file), (off_t)out->n_begun, (off_t)(out->n - out->n_begun),
                          SYNC_FILE_RANGE_WRITE);
#endif
    out->n_begun = out->n;
}

void vug_out_write(vug_out *out, const void *bytes, size_t n)
{
    if (out->st != VUG_OK || n == 0)
        return;
    if (fwrite(bytes, 1, n, out->file) != n) {
        out->st = VUG_FAIL(&out->err, VUG_IO, "%s: cannot write: %s", out->path, strerror(errno));
        return;
    }
    out->n += n;
    begin_writing(out);
}

static void release_out(vug_out *out)
{
    vug_free(out->path);
    vug_free(out->temp);
    *out = (vug_out){ .st = out->st, .err = out->err };
}

vug_status vug_out_commit(vug_out *out, vug_err *err)
{
    if (out->st == VUG_OK &&
        (fflush(out->file) != 0 || (!out->is_record && fsync(fileno(out->file)) != 0)))
        out->st = VUG_FAIL(&out->err, VUG_IO, "%s: cannot write: %s", out->path, strerror(errno));
    if (out->st != VUG_OK) {
        vug_out_abandon(out);
        if (err)
            *err = out->err;
        return out->st;
    }
    (void)fclose(out->file);
    if (rename(out->temp, out->path) != 0) {
        out->st =
                VUG_FAIL(err, VUG_IO, "%s: cannot rename onto it: %s", out->path, strerror(errno));
        (void)unlink(out->temp);
    }
    release_out(out);
    return out->st;
}

void vug_out_abandon(vug_out *out)
{
    if (out->file)
        (void)fclose(out->file);
    if (out->temp)
        (void)unlink(out->temp);
    release_out(out);
}

vug_status vug_folder_begin(const char *path, char **temp, vug_err *err)
{
    const size_t size = strlen(path) + 48;
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    *temp = vug_alloc(size, 1);
    if (!*temp)
        return VUG_FAIL_NOMEM(err, path, size);
    (void)snprintf(*temp, size, "%.*s.%ld.part", (int)n, path, (long)getpid());
    if (mkdir(*temp, 0777) == 0)
        return VUG_OK;
    const vug_status st =
            VUG_FAIL(err, VUG_IO, "%s: cannot make the folder: %s", *temp, strerror(errno));
    vug_free(*temp);
    *temp = NULL;
    return st;
}

vug_status vug_folder_commit(const char *temp, const char *path, vug_err *err)
{
    /* Onto an empty folder too, which rename would replace. */
    if (!vug_file_exists(path) && rename(temp, path) == 0)
        return VUG_OK;
    const vug_status st = VUG_FAIL(err, VUG_IO, "%s: cannot rename '%s' to it: %s", path, temp,
                                   vug_file_exists(path) ? "it exists" : strerror(errno));
    vug_folder_abandon(temp);
    return st;
}

void vug_folder_abandon(const char *temp)
{
    vug_arena arena = { 0 };
    vug_str *name;
    size_t n = 0;
    if (vug_list_folder(temp, &arena, &name, &n, NULL) != VUG_OK)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        char *path = vug_path_join(temp, name[i].ptr);
        if (path)
            (void)unlink(path);
        vug_free(path);
    }
    (void)rmdir(temp);
    vug_arena_release(&arena);
}

/* ---- machine ------------------------------------------------------------- */

#if defined(__linux__)
/* The first line of a small file of the kernel's; empty when there is none. */
static void read_line(const char *path, char *line, int size)
{
    line[0] = '\0';
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (!fgets(line, size, file))
        line[0] = '\0';
    (void)fclose(file);
}

/* Groups of siblings with a member in `allowed`; a group goes by its first. */
static int count_cores(const cpu_set_t *allowed)
{
    cpu_set_t seen;
    CPU_ZERO(&seen);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, allowed))
            continue;
        char path[96], line[16];
        (void)snprintf(path, sizeof(path),
                       "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
        read_line(path, line, sizeof(line));
        const long first = line[0] ? strtol(line, NULL, 10) : cpu;
        if (first >= 0 && first < CPU_SETSIZE)
            CPU_SET((size_t)first, &seen);
    }
    return CPU_COUNT(&seen);
}

/* Processors' worth of time that a container may use, rounded up; 0: no limit.
 * More threads than that would be stopped together for part of every period. */
static int quota(void)
{
    char line[64];
    read_line("/sys/fs/cgroup/cpu.max", line, sizeof(line)); /* "MAX PERIOD", or "max PERIOD" */
    char *end;
    const long long most = strtoll(line, &end, 10);
    const long long period = end > line ? strtoll(end, NULL, 10) : 0;
    if (most <= 0 || period <= 0 || most / period >= CPU_SETSIZE)
        return 0;
    return (int)(most / period + (most % period != 0));
}
#endif

/* Hardware threads that share a core compete for the same arithmetic units, so
 * a group of siblings counts once. */
int vug_cpu_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
        count = count_cores(&allowed);
    const int most = quota();
    if (most > 0 && most < count)
        count = most;
#endif
    return count > 0 ? (int)count : 1;
}

uint64_t vug_memory_size(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

uint64_t vug_memory_peak(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
#if defined(__APPLE__)
    return (uint64_t)usage.ru_maxrss;
#else
    return (uint64_t)usage.ru_maxrss * 1024;
#endif
}

int64_t vug_local_time(void)
{
    const time_t now = time(NULL);
    struct tm local;
    return localtime_r(&now, &local) ? (int64_t)timegm(&local) : (int64_t)now;
}

uint64_t vug_memory_resident(void)
{
#if defined(__linux__)
    char line[64];
    read_line("/proc/self/statm", line, sizeof(line)); /* "SIZE RESIDENT ..", in pages */
    char *end;
    (void)strtoull(line, &end, 10);
    const long page = sysconf(_SC_PAGESIZE);
    return page > 0 ? strtoull(end, NULL, 10) * (uint64_t)page : 0;
#elif defined(__APPLE__)
    struct mach_task_basic_info info;
    mach_msg_type_number_t n = MACH_TASK_BASIC_INFO_COUNT;
    return task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)&info, &n) == KERN_SUCCESS
                   ? info.resident_size
                   : 0;
#else
    return 0;
#endif
}

double vug_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
