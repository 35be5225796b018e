#ifndef VUG_SERVER_BATCH_OUTPUT_H
#define VUG_SERVER_BATCH_OUTPUT_H

/*
 * The output of a batch: a file to which lines are appended, and which an interrupted batch is
 * continued with. One thread at a time.
 */

#include "server/batch_input.h"

typedef struct {
    int fd;
    const char *path; /* borrowed */
    bool created;     /* by this process */
    uint64_t size;    /* bytes of whole lines */
    double synced;    /* time of the last fsync */
} vug_batch_output;

/* Creates the file, or continues one: marks what it answers in the index, and cuts off a last line
 * that is incomplete. Refuses a file that is no output of a batch, the input, and a file that another
 * process writes to. */
VUG_MUST_CHECK vug_status vug_batch_output_open(vug_batch_output *output, const char *path,
                                                const char *input, vug_batch_index *index,
                                                vug_err *err);
/* Appends whole lines. After a failure the file has none of them. Asks the system every two seconds
 * to bring the file to the disk, and waits for that. */
VUG_MUST_CHECK vug_status vug_batch_output_append(vug_batch_output *output, const vug_buf *lines,
                                                  vug_err *err);
/* Brings the file to the disk; removes it if it was created and has no line. */
VUG_MUST_CHECK vug_status vug_batch_output_close(vug_batch_output *output, vug_err *err);

#endif
