/* Page files: opening the folder, reading and writing. */
#include "engine/page_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/mem.h"

enum {
    MAX_NAME = 96, /* of a page file: 64 digits, '-', 10 digits; a temporary one is not longer */
    TOUCH_SECONDS = 60,
};

/* Where a page's file is. */
typedef struct {
    char folder[3];
    char file[MAX_NAME];
} page_path;

static page_path path_of(const vug_page_id *id)
{
    page_path path = { 0 };
    for (size_t i = 0; i < VUG_PREFIX_KEY; i++)
        (void)snprintf(path.file + 2 * i, 3, "%02x", id->key.byte[i]);
    (void)snprintf(path.file + (size_t)2 * VUG_PREFIX_KEY, MAX_NAME - (size_t)2 * VUG_PREFIX_KEY,
                   "-%u", (unsigned)id->part);
    memcpy(path.folder, path.file, 2);
    return path;
}

/* ---- folders -------------------------------------------------------------------- */

/* Opens a folder of this user that nobody else can write to. `at` and `name` as for openat;
 * `shown` is the path for messages. */
static vug_status open_private(int at, const char *name, const char *shown, int *out, vug_err *err)
{
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s: expected a folder for the cache, found a symbolic link or a file",
                        shown);
    if (fd < 0 || fstat(fd, &info) != 0) {
        const int why = errno;
        if (fd >= 0)
            (void)close(fd);
        return VUG_FAIL(err, VUG_IO, "%s: cannot open the cache folder: %s", shown, strerror(why));
    }
    vug_status st = VUG_OK;
    if (info.st_uid != geteuid())
        st = VUG_FAIL(err, VUG_ARGUMENT,
                      "%s: the folder belongs to user %lu; a cache folder must belong to the user "
                      "who runs vug (%lu)",
                      shown, (unsigned long)info.st_uid, (unsigned long)geteuid());
    else if (info.st_mode & (S_IWGRP | S_IWOTH))
        st = VUG_FAIL(err, VUG_ARGUMENT,
                      "%s: other users may write to the folder (mode %04o), so the cache in it "
                      "cannot be trusted; run chmod 700 on it",
                      shown, (unsigned)(info.st_mode & 07777));
    if (st == VUG_OK)
        *out = fd;
    else
        (void)close(fd);
    return st;
}

static vug_status make_private(int at, const char *name, const char *shown, int *out, vug_err *err)
{
    if (mkdirat(at, name, 0700) != 0 && errno != EEXIST)
        return VUG_FAIL(err, VUG_IO, "%s: cannot make the cache folder: %s", shown,
                        strerror(errno));
    return open_private(at, name, shown, out, err);
}

vug_status vug_page_folder_open(const char *path, vug_page_folder *out, vug_err *err)
{
    char *plain = vug_strdup(path);
    if (!plain)
        return VUG_FAIL_NOMEM(err, path, strlen(path));
    /* A slash at the end would follow a link. */
    for (size_t n = strlen(plain); n > 1 && plain[n - 1] == '/'; n--)
        plain[n - 1] = '\0';
    int parent, fd;
    vug_status st = make_private(AT_FDCWD, plain, plain, &parent, err);
    if (st == VUG_OK) {
        st = make_private(parent, "pages", "pages", &fd, err);
        (void)close(parent);
        if (st == VUG_OK)
            *out = (vug_page_folder){ fd };
        else
            (void)vug_fail_within(err, st, plain);
    }
    vug_free(plain);
    return st;
}

void vug_page_folder_close(vug_page_folder *folder)
{
    (void)close(folder->fd);
    folder->fd = -1;
}

/* Opens the folder pages/XX; -1: there is none that can be used. */
static int open_part(const vug_page_folder *folder, const page_path *path)
{
    int fd;
    return open_private(folder->fd, path->folder, path->folder, &fd, NULL) == VUG_OK ? fd : -1;
}

/* ---- reading -------------------------------------------------------------------- */

static bool needs_touch(const struct stat *info)
{
    const time_t now = time(NULL);
    return info->st_mtime < now - TOUCH_SECONDS || info->st_mtime > now;
}

static bool is_page_file(const struct stat *info, size_t n)
{
    return S_ISREG(info->st_mode) && info->st_uid == geteuid() &&
           (uint64_t)info->st_size == (uint64_t)n + VUG_PAGE_HEADER;
}

static bool read_all(int fd, void *to, size_t n, size_t at)
{
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(fd, (char *)to + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static vug_page_file_state read_file(int fd, const vug_page_id *id, void *bytes, size_t n)
{
    struct stat info;
    uint8_t header[VUG_PAGE_HEADER];
    if (fstat(fd, &info) != 0 || !is_page_file(&info, n) ||
        !read_all(fd, header, sizeof(header), 0) || !read_all(fd, bytes, n, sizeof(header)))
        return VUG_PAGE_FILE_REJECTED;
    const vug_status st = vug_page_header_check(header, id, (vug_bytes){ bytes, n }, NULL);
    if (st != VUG_OK)
        return st == VUG_FORMAT ? VUG_PAGE_FILE_REJECTED : VUG_PAGE_FILE_MISSING;
    if (needs_touch(&info))
        (void)futimens(fd, NULL);
    return VUG_PAGE_FILE_FOUND;
}

vug_page_file_state vug_page_folder_read(const vug_page_folder *folder, const vug_page_id *id,
                                         void *bytes, size_t n)
{
    const page_path path = path_of(id);
    const int part = open_part(folder, &path);
    if (part < 0)
        return VUG_PAGE_FILE_MISSING;
    vug_page_file_state state = VUG_PAGE_FILE_MISSING;
    /* Non-blocking, so that a pipe is rejected and not waited for. */
    const int fd = openat(part, path.file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        state = read_file(fd, id, bytes, n);
        (void)close(fd);
    } else if (errno != ENOENT && errno != EMFILE && errno != ENFILE && errno != ENOMEM) {
        state = VUG_PAGE_FILE_REJECTED; /* such as a link */
    }
    if (state == VUG_PAGE_FILE_REJECTED)
        (void)unlinkat(part, path.file, 0);
    (void)close(part);
    return state;
}

bool vug_page_folder_has(const vug_page_folder *folder, const vug_page_id *id, size_t n)
{
    const page_path path = path_of(id);
    const int part = open_part(folder, &path);
    struct stat info;
    if (part < 0)
        return false;
    const bool has =
            fstatat(part, path.file, &info, AT_SYMLINK_NOFOLLOW) == 0 && is_page_file(&info, n);
    if (has && needs_touch(&info))
        (void)utimensat(part, path.file, NULL, AT_SYMLINK_NOFOLLOW);
    (void)close(part);
    return has;
}

/* ---- writing -------------------------------------------------------------------- */

static bool write_all(int fd, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        const ssize_t wrote = write(fd, (const char *)bytes + done, n - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return false;
        done += (size_t)wrote;
    }
    return true;
}

/* A new file "temp-PID-I". Another writer may have the same process id, in another container. */
static int open_temp_page(int part, char *name)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        (void)snprintf(name, MAX_NAME, "temp-%ld-%d", (long)getpid(), i);
        const int fd =
                openat(part, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* No fsync: a process that is killed leaves its writes to the system, and after a loss of power the
 * checksum tells which files are incomplete. */
static int write_and_rename(int part, const char *name, const uint8_t *header, vug_bytes contents)
{
    char temp[MAX_NAME];
    const int fd = open_temp_page(part, temp);
    if (fd < 0)
        return errno;
    int why = 0;
    if (!write_all(fd, header, VUG_PAGE_HEADER) || !write_all(fd, contents.ptr, contents.len))
        why = errno;
    if (close(fd) != 0 && why == 0)
        why = errno;
    if (why == 0 && renameat(part, temp, part, name) != 0)
        why = errno;
    if (why != 0)
        (void)unlinkat(part, temp, 0);
    return why;
}

vug_status vug_page_folder_write(const vug_page_folder *folder, const vug_page_id *id,
                                 const void *bytes, size_t n, vug_err *err)
{
    const page_path path = path_of(id);
    const vug_bytes contents = { bytes, n };
    uint8_t header[VUG_PAGE_HEADER];
    int part;
    VUG_TRY(vug_page_header_write(id, contents, header, err));
    VUG_TRY(make_private(folder->fd, path.folder, path.folder, &part, err));
    const int why = write_and_rename(part, path.file, header, contents);
    (void)close(part);
    if (why != 0)
        return VUG_FAIL(err, VUG_WRITE, "cannot write %zu bytes: %s", n, strerror(why));
    return VUG_OK;
}
