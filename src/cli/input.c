#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/lines.h"

enum { BLOCK_BYTES = 256 * 1024 };

const char *vug_input_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static vug_status open_input(const char *path, int *fd, vug_err *err)
{
    *fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return VUG_FAIL(err, VUG_IO, "%s: cannot open: %s", path, strerror(errno));
    return VUG_OK;
}

static void close_input(int fd)
{
    if (fd > STDIN_FILENO)
        (void)close(fd);
}

/* Sets *n to 0 at the end of the input. */
static vug_status read_block(int fd, const char *name, char *to, size_t room, size_t *n,
                             vug_err *err)
{
    ssize_t got;
    do {
        got = read(fd, to, room);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return VUG_FAIL(err, VUG_IO, "%s: cannot read: %s", name, strerror(errno));
    *n = (size_t)got;
    return VUG_OK;
}

/* ---- all at once ----------------------------------------------------------- */

vug_status vug_input_read(const char *path, size_t max, vug_text *out, vug_err *err)
{
    const char *name = vug_input_name(path);
    vug_buf all = { .max = max + BLOCK_BYTES };
    int fd;
    VUG_TRY(open_input(path, &fd, err));
    char *block = vug_alloc(BLOCK_BYTES, 1);
    vug_status st = VUG_OK;
    if (!block)
        st = VUG_FAIL_NOMEM(err, name, BLOCK_BYTES);
    for (size_t n = 1; st == VUG_OK && n > 0;) {
        st = read_block(fd, name, block, BLOCK_BYTES, &n, err);
        if (st == VUG_OK)
            vug_buf_append(&all, block, n);
        if (st == VUG_OK && all.len > max)
            st = VUG_FAIL(err, VUG_LIMIT, "%s: larger than the limit of %zu bytes", name, max);
        if (st == VUG_OK)
            st = vug_buf_ok(&all, err);
    }
    vug_free(block);
    close_input(fd);
    if (st == VUG_OK)
        return vug_buf_take(&all, out, err);
    vug_buf_release(&all);
    return st;
}

/* ---- line by line ---------------------------------------------------------- */

/* Flushes the output before a read that may block. */
static vug_status process_lines(vug_ui *ui, vug_line_reader *l, vug_line_fn *fn, void *user,
                                vug_err *err)
{
    vug_buf out = { 0 };
    vug_status st = VUG_OK;
    for (;;) {
        vug_str line;
        st = vug_lines_next(l, &line, err);
        if (st != VUG_OK || !line.ptr)
            break;
        out.len = 0;
        st = fn(line, &out, user, err);
        if (st == VUG_OK)
            st = vug_buf_ok(&out, err);
        if (st != VUG_OK || !vug_ui_write(ui, out.ptr, out.len) ||
            (!vug_lines_ready(l) && !vug_ui_flush(ui)))
            break;
    }
    vug_buf_release(&out);
    return st;
}

int vug_for_each_line(vug_ui *ui, const char *path, vug_line_fn *fn, void *user)
{
    vug_line_reader l;
    vug_err err;
    if (vug_lines_open(&l, path, vug_input_name(path), VUG_LINE_MAX_BYTES, &err) != VUG_OK)
        return vug_ui_fail(ui, &err);
    vug_status st = process_lines(ui, &l, fn, user, &err);
    if (st != VUG_OK) {
        char where[300];
        (void)snprintf(where, sizeof(where), "%.250s:%llu", l.name, (unsigned long long)l.number);
        st = vug_fail_within(&err, st, where);
    }
    vug_lines_close(&l);
    (void)vug_ui_flush(ui);
    return st == VUG_OK ? VUG_EXIT_OK : vug_ui_fail(ui, &err);
}
