#ifndef VUG_CORE_OS_H
#define VUG_CORE_OS_H

/*
 * The operating system: files, mappings, the machine, clocks. Every `#if` on a
 * platform is in os_*.c, pool.c and mutex.c. All functions are thread-safe.
 */

#include "core/bytes.h"
#include "core/mem.h"
#include "core/status.h"

/* ---- files --------------------------------------------------------------- */

/* Also true of a file in a folder that this user may not search, so that opening it says so. */
bool vug_file_exists(const char *path);
bool vug_is_folder(const char *path);
/* Fails for files that a download left in place of the real one: a Git LFS pointer, or an
 * HTML page that asks to log in. */
VUG_MUST_CHECK vug_status vug_reject_placeholder(vug_bytes file, const char *name, vug_err *err);
/* Reads the whole file, at most `max` bytes, NUL-terminated. The caller releases it. */
VUG_MUST_CHECK vug_status vug_read_file(const char *path, size_t max, vug_text *out, vug_err *err);

/* A read-only private mapping. The file must not shrink while it is mapped: touching
 * pages past its new end would kill the process (SIGBUS). */
typedef struct {
    vug_bytes bytes;
    void *base; /* NULL for an empty file */
} vug_mapping;

VUG_MUST_CHECK vug_status vug_map_file(const char *path, vug_mapping *out, vug_err *err);
/* Accepts an all-zero mapping. */
void vug_unmap(vug_mapping *mapping);
/* Reads part of a mapping into memory and waits. [at, at + n) is within the mapping, here
 * and below. */
void vug_map_populate(const vug_mapping *mapping, size_t at, size_t n);
/* Starts reading a part and does not wait. */
void vug_map_prefetch(const vug_mapping *mapping, size_t at, size_t n);
/* Frees the memory of a part; the next access reads the file again. */
void vug_map_evict(const vug_mapping *mapping, size_t at, size_t n);

/* The names in a folder, without "." and "..", sorted by byte value, NUL-terminated and
 * in the arena. */
VUG_MUST_CHECK vug_status vug_list_folder(const char *path, vug_arena *arena, vug_str **names,
                                          size_t *n, vug_err *err);
VUG_MUST_CHECK vug_status vug_make_folder(const char *path, vug_err *err);

/* An output file that replaces its target atomically: bytes go to a temporary file in the
 * same folder, which vug_out_commit renames. To a device or a pipe they go directly. Sticky. */
typedef struct {
    void *file;
    char *path;         /* as the caller gave it, for error messages */
    char *target;       /* the file that is replaced: where the links at `path` lead */
    char *temp;         /* NULL for a device or a pipe */
    uint64_t n;         /* bytes written */
    uint64_t n_flushed; /* bytes that the system was told to write back */
    bool no_sync;       /* commit does not wait for the disk */
    vug_status st;
    vug_err err;
} vug_out;

void vug_out_open(vug_out *out, const char *path);
/* For logs: readable by this user only (mode 0600), and commit does not wait for the disk. A link at
 * `path` is replaced: it does not choose the file. */
void vug_out_open_private(vug_out *out, const char *path);
void vug_out_write(vug_out *out, const void *bytes, size_t n);
/* Both release everything; a failed commit and vug_out_abandon remove the temporary file. */
VUG_MUST_CHECK vug_status vug_out_commit(vug_out *out, vug_err *err);
void vug_out_abandon(vug_out *out);

/* The same for a folder of files: the caller writes into the folder `temp` and frees that
 * string; vug_folder_commit renames the folder to `path`, vug_folder_abandon deletes it. The
 * target must not exist. The folder must not contain folders. */
VUG_MUST_CHECK vug_status vug_folder_begin(const char *path, char **temp, vug_err *err);
VUG_MUST_CHECK vug_status vug_folder_commit(const char *temp, const char *path, vug_err *err);
void vug_folder_abandon(const char *temp);

/* "folder/name" in a new string that the caller frees; NULL when out of memory. */
char *vug_path_join(const char *folder, const char *name);
/* The part after the last slash. */
const char *vug_path_base(const char *path);
/* The absolute path without links and dots, as realpath, in a new string that the caller
 * frees; NULL when the path does not exist or memory is short. */
char *vug_path_real(const char *path);
/* The absolute path of the running program, without symbolic links and independent of
 * argv[0]. The caller frees it. */
VUG_MUST_CHECK vug_status vug_program_path(char **out, vug_err *err);

struct stat;
/* When a file was last modified, in nanoseconds since 1970. */
int64_t vug_file_time(const struct stat *info);

/* ---- address space ---------------------------------------------------------- */

/* Reserves address space without memory, aligned to the pages of the system; NULL on failure.
 * Access to it is an error until it is committed. */
void *vug_reserve(uint64_t bytes);
/* Accepts NULL. */
void vug_unreserve(void *at, uint64_t bytes);
/* Makes a part usable; it gets memory when it is first written. False when the system refuses. */
bool vug_commit(void *at, uint64_t bytes);
/* Gives the memory of a committed part back, as far as it consists of whole pages of the system;
 * its contents are lost. */
void vug_discard(void *at, uint64_t bytes);
/* Asks for large pages in a block that was allocated and not yet written: fewer page faults, and fewer
 * misses when it is read. The system may refuse, and memory may become resident in larger parts. */
void vug_ask_huge_pages(void *at, uint64_t bytes);

/* ---- machine ------------------------------------------------------------- */

int vug_cpu_count(void);             /* physical cores this process may use, >= 1 */
int vug_logical_cpu_count(void);     /* the same, but siblings of a core count each */
uint64_t vug_memory_size(void);      /* bytes of physical memory */
uint64_t vug_memory_available(void); /* bytes that a process could still get without swapping */
uint64_t vug_memory_peak(void);      /* maximum of resident bytes so far */
uint64_t vug_memory_resident(void);  /* bytes resident now; 0 when the system does not say */
double vug_now(void);                /* seconds, monotonic */
double vug_thread_cpu_time(void);    /* seconds for which the calling thread has run */
/* Local time as seconds since 1970-01-01 00:00 local time. */
int64_t vug_local_time(void);

#endif
