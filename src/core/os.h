#ifndef VUG_CORE_OS_H
#define VUG_CORE_OS_H

/*
 * The seam to the operating system: files, mappings, threads, the clock. All
 * `#if` on platforms is in os.c and pool.c. Functions are safe to call from any
 * thread.
 */

#include "core/bytes.h"
#include "core/mem.h"
#include "core/status.h"

/* ---- files --------------------------------------------------------------- */

bool vug_file_exists(const char *path);
bool vug_is_folder(const char *path);
/* Fails for what a download leaves in the place of a file that was not fetched: the pointer
 * of a clone without Git LFS, the page that asks to log in. */
VUG_MUST_CHECK vug_status vug_refuse_stand_in(vug_bytes file, const char *name, vug_err *err);
/* The whole file, at most `max` bytes, NUL-terminated; the caller's. */
VUG_MUST_CHECK vug_status vug_read_file(const char *path, size_t max, vug_text *out, vug_err *err);

/* A read-only private mapping. The file must not shrink while it is open: its
 * pages would vanish, and the system ends a process that touches them. */
typedef struct {
    vug_bytes bytes;
    void *base; /* NULL for an empty file */
} vug_mapping;

VUG_MUST_CHECK vug_status vug_map_file(const char *path, vug_mapping *out, vug_err *err);
/* Accepts an all-zero mapping. */
void vug_unmap(vug_mapping *mapping);
/* Reads part of a mapping into memory now. `at` + `n` within the mapping. */
void vug_map_populate(const vug_mapping *mapping, size_t at, size_t n);
/* Begins to read it, and does not wait. */
void vug_map_expect(const vug_mapping *mapping, size_t at, size_t n);
/* Gives the memory of a part back that is not needed again soon. */
void vug_map_forget(const vug_mapping *mapping, size_t at, size_t n);

/* Names in a folder, without "." and "..", sorted by byte value; each is
 * NUL-terminated and in the arena. */
VUG_MUST_CHECK vug_status vug_list_folder(const char *path, vug_arena *arena, vug_str **names,
                                          size_t *n, vug_err *err);
VUG_MUST_CHECK vug_status vug_make_folder(const char *path, vug_err *err);

/* Writes beside the target and renames at the end: until vug_out_commit the
 * target is untouched, and an abandoned file leaves nothing behind. Sticky. */
typedef struct {
    void *file;
    char *path, *temp;
    uint64_t n;       /* bytes written */
    uint64_t n_begun; /* of them on their way to the disk */
    bool is_record;
    vug_status st;
    vug_err err;
} vug_out;

void vug_out_open(vug_out *out, const char *path);
/* A note of what went on, which this user alone may read: nobody waits for the disk. */
void vug_out_open_record(vug_out *out, const char *path);
void vug_out_write(vug_out *out, const void *bytes, size_t n);
/* Releases everything; after a failure the temporary file is removed. */
VUG_MUST_CHECK vug_status vug_out_commit(vug_out *out, vug_err *err);
void vug_out_abandon(vug_out *out);

/* The same for a folder of files: what is written into `temp` (the caller's string), which
 * lies beside the target, is there under its name after vug_folder_commit, and gone after
 * vug_folder_abandon. The target must not exist. Folders inside are not looked into. */
VUG_MUST_CHECK vug_status vug_folder_begin(const char *path, char **temp, vug_err *err);
VUG_MUST_CHECK vug_status vug_folder_commit(const char *temp, const char *path, vug_err *err);
void vug_folder_abandon(const char *temp);

/* "folder/name" in a new string that is the caller's; NULL when out of memory. */
char *vug_path_join(const char *folder, const char *name);
/* The part after the last slash. */
const char *vug_path_base(const char *path);
/* Absolute, without links and dots, in a new string that is the caller's; NULL where there is
 * nothing, or no memory. */
char *vug_path_plain(const char *path);
/* The file of the running program, as the system knows it: absolute, without symbolic
 * links, whatever it was called as. The caller's. */
VUG_MUST_CHECK vug_status vug_program_path(char **out, vug_err *err);

/* ---- machine ------------------------------------------------------------- */

int vug_cpu_count(void);            /* physical cores this process may use, >= 1 */
uint64_t vug_memory_size(void);     /* bytes of physical memory */
uint64_t vug_memory_peak(void);     /* most bytes this process had resident */
uint64_t vug_memory_resident(void); /* bytes it has now; 0 where the system does not say */
double vug_now(void);               /* seconds, monotonic */
/* What a clock on the wall shows, as seconds since it showed the beginning of 1970. */
int64_t vug_local_time(void);

/* ---- worker threads ------------------------------------------------------ */

/*
 * A pool runs one job at a time: `work` is called once on every thread, with
 * `thread` 0 .. n-1, where 0 is the caller. Workers wait by spinning for some
 * microseconds and then sleeping, so an idle or crowded machine is not heated.
 */
typedef struct vug_pool vug_pool;
typedef void vug_work(void *arg, int thread, int n_threads);

VUG_MUST_CHECK vug_status vug_pool_create(int threads, vug_pool **out, vug_err *err);
void vug_pool_destroy(vug_pool *pool);
int vug_pool_threads(const vug_pool *pool);
/* Returns when all have returned. Not reentrant. */
void vug_pool_run(vug_pool *pool, vug_work *work, void *arg);

/* A lock for whole steps, not for kernels. */
typedef struct vug_lock vug_lock;
VUG_MUST_CHECK vug_status vug_lock_create(vug_lock **out, vug_err *err);
void vug_lock_destroy(vug_lock *lock);
void vug_lock_take(vug_lock *lock);
void vug_lock_leave(vug_lock *lock);

#endif
