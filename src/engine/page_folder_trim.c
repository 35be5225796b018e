/* How much a folder of page files takes, and what goes when that is too much. */
#include "engine/page_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/os.h"

enum { TEMP_SECONDS = 600 };

typedef struct {
    int64_t used; /* as vug_file_time */
    uint64_t bytes;
} page_age;

/* What both walks over the files need. */
typedef struct {
    page_age *age; /* [n] */
    size_t n, cap;
    bool removing;   /* the second walk, which removes */
    int64_t before;  /* every file that was used before this time */
    uint64_t excess; /* and others, up to this number of bytes */
    int64_t now;
    vug_page_folder_usage usage;
} page_walk;

static bool is_hex(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(text[i] >= '0' && text[i] <= '9') && !(text[i] >= 'a' && text[i] <= 'f'))
            return false;
    }
    return true;
}

/* KEY-PART */
static bool is_page_name(const char *name, const char *folder)
{
    enum { DIGITS = 2 * VUG_PREFIX_KEY, MAX_PART = 10 };
    const size_t n = strlen(name);
    if (n < DIGITS + 2 || n > DIGITS + 1 + MAX_PART || memcmp(name, folder, 2) != 0 ||
        !is_hex(name, DIGITS) || name[DIGITS] != '-')
        return false;
    for (size_t i = DIGITS + 1; i < n; i++) {
        if (name[i] < '0' || name[i] > '9')
            return false;
    }
    return true;
}

static void add_age(page_walk *walk, const struct stat *info)
{
    page_age *grown = vug_grow_array(walk->age, &walk->cap, walk->n, sizeof(*grown));
    if (!grown)
        return; /* the others are removed first, then the next walk sees this one */
    walk->age = grown;
    walk->age[walk->n++] = (page_age){ vug_file_time(info), (uint64_t)info->st_size };
}

/* Whether the second walk removes this page. */
static bool is_due(page_walk *walk, const struct stat *info)
{
    const int64_t used = vug_file_time(info);
    if (used < walk->before)
        return true;
    if (used > walk->before || walk->excess == 0)
        return false;
    const uint64_t size = (uint64_t)info->st_size;
    walk->excess -= size < walk->excess ? size : walk->excess;
    return true;
}

static void visit_file(page_walk *walk, int part, const char *folder, const char *name)
{
    struct stat info;
    if (fstatat(part, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (!S_ISREG(info.st_mode) || !is_page_name(name, folder)) {
        if (walk->now - (int64_t)info.st_mtime > TEMP_SECONDS)
            (void)unlinkat(part, name, 0);
        return;
    }
    if (walk->removing && is_due(walk, &info) && unlinkat(part, name, 0) == 0) {
        walk->usage.removed++;
        return;
    }
    walk->usage.files++;
    walk->usage.bytes += (uint64_t)info.st_size;
    if (!walk->removing)
        add_age(walk, &info);
}

static void visit_folder(page_walk *walk, const vug_page_folder *folder, const char *name)
{
    const int fd = openat(folder->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    DIR *list = fdopendir(fd);
    if (!list) {
        (void)close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(list));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            visit_file(walk, fd, name, entry->d_name);
    }
    (void)closedir(list);
}

static void visit_all(page_walk *walk, const vug_page_folder *folder)
{
    walk->usage.bytes = walk->usage.files = 0;
    for (int i = 0; i < 256; i++) {
        char name[3];
        (void)snprintf(name, sizeof(name), "%02x", i);
        visit_folder(walk, folder, name);
    }
}

static int compare_ages(const void *a, const void *b)
{
    const page_age *x = a, *y = b;
    return (x->used > y->used) - (x->used < y->used);
}

/* Which pages the second walk removes, so that `excess` bytes are freed. */
static void choose(page_walk *walk, uint64_t excess)
{
    qsort(walk->age, walk->n, sizeof(*walk->age), compare_ages);
    size_t i = 0;
    uint64_t freed = 0; /* bytes of all files before file i's time */
    while (i < walk->n) {
        uint64_t together = 0; /* bytes of the files with that time */
        size_t next = i;
        for (; next < walk->n && walk->age[next].used == walk->age[i].used; next++)
            together += walk->age[next].bytes;
        if (freed + together >= excess)
            break;
        freed += together;
        i = next;
    }
    walk->before = i < walk->n ? walk->age[i].used : INT64_MAX;
    walk->excess = excess - freed;
}

vug_page_folder_usage vug_page_folder_trim(const vug_page_folder *folder, uint64_t most,
                                           uint64_t target)
{
    page_walk walk = { .now = time(NULL) };
    visit_all(&walk, folder);
    if (walk.usage.bytes > most && walk.n > 0) {
        choose(&walk, walk.usage.bytes - target);
        walk.removing = true;
        visit_all(&walk, folder);
    }
    vug_free(walk.age);
    return walk.usage;
}
