/* Output files and folders that replace their target at the end, on POSIX systems. */
#include "core/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A new file "path.PID-I.part", in the folder of the target so that the rename cannot cross
 * devices. Unlike mkstemp this applies the umask, which a library cannot query without
 * changing it for every thread. */
static int open_temp(const char *path, mode_t mode, char *temp, size_t size)
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

/* A rename would put a file in the place of a device or a pipe, such as /dev/null. */
static bool is_special(const char *path, bool follow)
{
    struct stat info;
    return (follow ? stat(path, &info) : lstat(path, &info)) == 0 && !S_ISREG(info.st_mode) &&
           !S_ISLNK(info.st_mode);
}

static void open_special(vug_out *out, const char *path)
{
    out->path = vug_strdup(path);
    out->no_sync = true; /* a pipe has no disk to wait for */
    if (!out->path) {
        out->st = VUG_FAIL_NOMEM(&out->err, path, strlen(path));
        return;
    }
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0)
        out->file = fdopen(fd, "wb");
    if (out->file)
        return;
    out->st = VUG_FAIL(&out->err, VUG_WRITE, "%s: cannot write: %s", path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
}

/* "folder of `link`/target", or the target if it is absolute. The caller frees it. */
static char *join_target(const char *link, const char *target)
{
    const char *slash = target[0] == '/' ? NULL : strrchr(link, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - link) : 0, n = strlen(target) + 1;
    char *path = vug_alloc(folder + n, 1);
    if (path) {
        memcpy(path, link, folder);
        memcpy(path + folder, target, n);
    }
    return path;
}

/* The path that `path` leads to, which need not exist: a rename onto a link would replace the link and
 * leave its target as it was. realpath fails for a target that does not exist. The caller frees the
 * result; NULL with errno. */
static char *follow_links(const char *path)
{
    enum { MOST_LINKS = 40 };
    struct stat info;
    /* The system does not follow links that another user put into a shared folder such as /tmp. */
    if (stat(path, &info) != 0 && errno != ENOENT)
        return NULL;
    char *at = vug_strdup(path);
    for (int i = 0; at && i < MOST_LINKS && lstat(at, &info) == 0 && S_ISLNK(info.st_mode); i++) {
        char target[PATH_MAX + 1];
        const ssize_t n = readlink(at, target, PATH_MAX);
        char *link = at;
        target[n > 0 ? n : 0] = '\0';
        at = join_target(link, target);
        vug_free(link);
    }
    if (!at)
        errno = ENOMEM;
    return at;
}

/* Starts a temporary file beside the target. */
static void open_beside(vug_out *out, mode_t mode)
{
    const size_t size = strlen(out->target) + 48;
    char *temp = vug_alloc(size, 1);
    if (!temp) {
        out->st = VUG_FAIL_NOMEM(&out->err, out->path, size);
        return;
    }
    const int fd = open_temp(out->target, mode, temp, size);
    if (fd >= 0)
        out->file = fdopen(fd, "wb");
    if (out->file) {
        out->temp = temp;
        return;
    }
    out->st = VUG_FAIL(&out->err, VUG_WRITE, "%s: cannot write: %s", out->path, strerror(errno));
    if (fd >= 0) {
        (void)close(fd);
        (void)unlink(temp);
    }
    vug_free(temp);
}

static void open_out(vug_out *out, const char *path, mode_t mode, bool follow)
{
    *out = (vug_out){ 0 };
    if (is_special(path, follow)) {
        open_special(out, path);
        return;
    }
    out->target = follow ? follow_links(path) : vug_strdup(path);
    const int why = errno;
    out->path = vug_strdup(path);
    if (out->path && out->target)
        open_beside(out, mode);
    else if (out->path && follow && why != ENOMEM)
        out->st = VUG_FAIL(&out->err, VUG_WRITE, "%s: cannot write: %s", path, strerror(why));
    else
        out->st = VUG_FAIL_NOMEM(&out->err, path, strlen(path));
}

void vug_out_open(vug_out *out, const char *path)
{
    open_out(out, path, 0666, true);
}

void vug_out_open_private(vug_out *out, const char *path)
{
    open_out(out, path, 0600, false);
    out->no_sync = true;
}

/* Starts write-back while the next bytes are computed. Otherwise the system may keep
 * gigabytes dirty, and vug_out_commit waits for all of them. */
static void start_writeback(vug_out *out)
{
#if defined(__linux__)
    static const uint64_t interval = (uint64_t)32 << 20;
    if (out->n - out->n_flushed < interval)
        return;
    (void)sync_file_range(fileno(out->file), (off_t)out->n_flushed,
                          (off_t)(out->n - out->n_flushed), SYNC_FILE_RANGE_WRITE);
#endif
    out->n_flushed = out->n;
}

void vug_out_write(vug_out *out, const void *bytes, size_t n)
{
    if (out->st != VUG_OK || n == 0)
        return;
    if (fwrite(bytes, 1, n, out->file) != n) {
        out->st =
                VUG_FAIL(&out->err, VUG_WRITE, "%s: cannot write: %s", out->path, strerror(errno));
        return;
    }
    out->n += n;
    start_writeback(out);
}

static void release_out(vug_out *out)
{
    vug_free(out->path);
    vug_free(out->target);
    vug_free(out->temp);
    *out = (vug_out){ .st = out->st, .err = out->err };
}

vug_status vug_out_commit(vug_out *out, vug_err *err)
{
    if (out->st == VUG_OK &&
        (fflush(out->file) != 0 || (!out->no_sync && fsync(fileno(out->file)) != 0)))
        out->st =
                VUG_FAIL(&out->err, VUG_WRITE, "%s: cannot write: %s", out->path, strerror(errno));
    if (out->st != VUG_OK) {
        vug_out_abandon(out);
        if (err)
            *err = out->err;
        return out->st;
    }
    (void)fclose(out->file);
    if (out->temp && rename(out->temp, out->target) != 0) {
        out->st = VUG_FAIL(err, VUG_WRITE, "%s: cannot rename onto it: %s", out->path,
                           strerror(errno));
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
            VUG_FAIL(err, VUG_WRITE, "%s: cannot make the folder: %s", *temp, strerror(errno));
    vug_free(*temp);
    *temp = NULL;
    return st;
}

vug_status vug_folder_commit(const char *temp, const char *path, vug_err *err)
{
    /* rename would replace an empty folder. */
    if (!vug_file_exists(path) && rename(temp, path) == 0)
        return VUG_OK;
    const vug_status st = VUG_FAIL(err, VUG_WRITE, "%s: cannot rename '%s' to it: %s", path, temp,
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
