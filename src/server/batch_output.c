#include "server/batch_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/os.h"

/* Bytes of a line that is read back: more than a response may have. */
static const size_t max_line = (size_t)1 << 30;
static const double sync_interval = 2; /* seconds */

static vug_status fail_file(const vug_batch_output *output, const char *what, vug_err *err)
{
    return VUG_FAIL(err, VUG_WRITE, "%s: cannot %s: %s", output->path, what, strerror(errno));
}

static vug_status mark_answered(vug_batch_index *index, vug_str line, vug_err *err)
{
    vug_arena arena = { .budget = VUG_API_MAX_JSON_MEMORY };
    vug_batch_result result;
    vug_batch_entry *entry = NULL;
    vug_status st = vug_batch_result_parse(line, &arena, &result, err);
    if (st == VUG_OK)
        st = vug_batch_index_find(index, result.custom_id, result.line, &entry, err);
    if (entry && !entry->answered) {
        entry->answered = true;
        index->n_answered++;
    }
    vug_arena_release(&arena);
    return st;
}

/* Reads the lines that are there, and sets `size` to the end of the last whole one. */
static vug_status read_lines(vug_batch_output *output, vug_batch_index *index, vug_err *err)
{
    vug_line_reader lines;
    vug_str line = { 0 };
    VUG_TRY(vug_lines_open(&lines, output->path, output->path, max_line, err));
    vug_status st = VUG_OK;
    for (;;) {
        st = vug_lines_next(&lines, &line, err);
        if (st != VUG_OK || !line.ptr || !lines.terminated)
            break;
        st = mark_answered(index, line, err);
        if (st != VUG_OK)
            break;
        output->size = lines.at;
    }
    if (st != VUG_OK) {
        char where[300];
        (void)snprintf(where, sizeof(where), "%.250s:%llu", output->path,
                       (unsigned long long)lines.number);
        st = vug_fail_within(err, st, where);
    }
    vug_lines_close(&lines);
    return st;
}

/* The checks come before the first change. */
static vug_status prepare_file(vug_batch_output *output, const char *input, vug_batch_index *index,
                               vug_err *err)
{
    struct stat out, in;
    if (fstat(output->fd, &out) != 0)
        return fail_file(output, "write", err);
    if (!S_ISREG(out.st_mode))
        return VUG_FAIL(err, VUG_IO, "%s: the output must be a regular file", output->path);
    if (stat(input, &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: the output must not be the input", output->path);
    if (flock(output->fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return VUG_FAIL(err, VUG_IO, "%s: another process writes to it", output->path);
        return fail_file(output, "lock", err);
    }
    VUG_TRY(read_lines(output, index, err));
    if (ftruncate(output->fd, (off_t)output->size) != 0)
        return fail_file(output, "write", err);
    return VUG_OK;
}

vug_status vug_batch_output_open(vug_batch_output *output, const char *path, const char *input,
                                 vug_batch_index *index, vug_err *err)
{
    *output = (vug_batch_output){ .path = path, .synced = vug_now() };
    /* Non-blocking, so that a pipe is rejected and not waited for. */
    const int flags = O_RDWR | O_APPEND | O_NONBLOCK | O_CLOEXEC;
    output->fd = open(path, flags | O_CREAT | O_EXCL, 0666);
    output->created = output->fd >= 0;
    if (output->fd < 0 && errno == EEXIST)
        output->fd = open(path, flags);
    if (output->fd < 0)
        return fail_file(output, "write", err);
    const vug_status st = prepare_file(output, input, index, err);
    if (st != VUG_OK)
        (void)close(output->fd);
    return st;
}

vug_status vug_batch_output_append(vug_batch_output *output, const vug_buf *lines, vug_err *err)
{
    const double now = vug_now();
    VUG_TRY(vug_buf_ok(lines, err));
    for (size_t done = 0; done < lines->len;) {
        const ssize_t wrote = write(output->fd, lines->ptr + done, lines->len - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0) {
            const vug_status st = fail_file(output, "write", err);
            (void)(ftruncate(output->fd, (off_t)output->size) == 0);
            return st;
        }
        done += (size_t)wrote;
    }
    output->size += lines->len;
    if (now - output->synced < sync_interval)
        return VUG_OK;
    output->synced = now;
    return fsync(output->fd) == 0 ? VUG_OK : fail_file(output, "write", err);
}

vug_status vug_batch_output_close(vug_batch_output *output, vug_err *err)
{
    vug_status st = VUG_OK;
    if (fsync(output->fd) != 0)
        st = fail_file(output, "write", err);
    if (output->created && output->size == 0)
        (void)unlink(output->path);
    (void)close(output->fd);
    return st;
}
