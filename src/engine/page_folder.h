#ifndef VUG_ENGINE_PAGE_FOLDER_H
#define VUG_ENGINE_PAGE_FOLDER_H

/*
 * A folder of page files, which several processes may share.
 *
 * The files are FOLDER/pages/XX/KEY-PART: the key in hexadecimal, XX its first byte, PART in
 * decimal. Everything in FOLDER/pages belongs to this code; the rest of FOLDER is not touched. A file
 * is written under another name and then renamed, so a reader sees all of it or nothing. A file that
 * is not exactly the page of its name is removed when it is met. No symbolic link is followed. Any
 * file may vanish at any time.
 *
 * Thread-safe.
 */

#include "engine/page_file.h"

typedef struct {
    int fd; /* FOLDER/pages */
} vug_page_folder;

/* Makes the folder (mode 0700) if it is missing, but not its parents. Refuses a symbolic link and
 * a folder that belongs to another user or that others may write to. */
VUG_MUST_CHECK vug_status vug_page_folder_open(const char *path, vug_page_folder *out,
                                               vug_err *err);
void vug_page_folder_close(vug_page_folder *folder);

typedef enum {
    VUG_PAGE_FILE_FOUND,
    VUG_PAGE_FILE_MISSING,
    VUG_PAGE_FILE_REJECTED, /* there was a file, but not this page; it was removed */
} vug_page_file_state;

/* Reads a page of exactly `n` bytes. `bytes` is undefined unless the page was found. */
vug_page_file_state vug_page_folder_read(const vug_page_folder *folder, const vug_page_id *id,
                                         void *bytes, size_t n);
/* Whether there is a file for a page of `n` bytes. Does not read it. */
bool vug_page_folder_has(const vug_page_folder *folder, const vug_page_id *id, size_t n);
/* Both functions above mark the file as used: its time of modification becomes the present, at
 * most once a minute. */

/* Replaces a file that is there. */
VUG_MUST_CHECK vug_status vug_page_folder_write(const vug_page_folder *folder,
                                                const vug_page_id *id, const void *bytes, size_t n,
                                                vug_err *err);

typedef struct {
    uint64_t bytes, files; /* what the page files take afterwards */
    uint64_t removed;      /* page files removed */
} vug_page_folder_usage;

/* Looks at all files. If the pages take more than `most` bytes, removes the least recently used
 * ones until they take at most `target`. Removes files with other names that are older than ten
 * minutes: what a killed process was writing, and foreign files. */
vug_page_folder_usage vug_page_folder_trim(const vug_page_folder *folder, uint64_t most,
                                           uint64_t target);

#endif
