#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

typedef struct {
    const char *name; /* for error messages; borrowed */
    int fd;
    char *block; /* [cap] */
    size_t cap, begin, end;
    bool ended;
    uint64_t number; /* of the last line read, from 1 */
} line_reader;

static vug_status open_lines(line_reader *l, const char *path, vug_err *err)
{
    *l = (line_reader){ .name = vug_input_name(path), .cap = BLOCK_BYTES };
    VUG_TRY(open_input(path, &l->fd, err));
    l->block = vug_alloc(l->cap, 1);
    if (l->block)
        return VUG_OK;
    close_input(l->fd);
    return VUG_FAIL_NOMEM(err, l->name, l->cap);
}

static void close_lines(line_reader *l)
{
    close_input(l->fd);
    vug_free(l->block);
}

static vug_status fail_too_long(vug_err *err)
{
    return VUG_FAIL(err, VUG_LIMIT, "the line is longer than %zu bytes", VUG_LINE_MAX_BYTES);
}

/* Reads more of a line whose end is not in the buffer yet. */
static vug_status fill_buffer(line_reader *l, vug_err *err)
{
    const size_t held = l->end - l->begin;
    if (held > VUG_LINE_MAX_BYTES)
        return fail_too_long(err);
    if (l->begin > 0)
        memmove(l->block, l->block + l->begin, held);
    l->begin = 0;
    l->end = held;
    if (held == l->cap) {
        char *bigger = vug_realloc(l->block, l->cap, 2);
        if (!bigger)
            return VUG_FAIL_NOMEM(err, "a line", l->cap * 2);
        l->block = bigger;
        l->cap *= 2;
    }
    size_t n = 0;
    VUG_TRY(read_block(l->fd, l->name, l->block + held, l->cap - held, &n, err));
    l->end += n;
    l->ended = n == 0;
    return VUG_OK;
}

/* The next line without its newline, valid until the next call; ptr is NULL at the end of the
 * input. *more: the buffer already holds another line. */
static vug_status next_line(line_reader *l, vug_str *line, bool *more, vug_err *err)
{
    size_t searched = 0; /* bytes known to have no newline */
    const char *newline = NULL;
    l->number++;
    for (;;) {
        const char *from = l->block + l->begin;
        const size_t held = l->end - l->begin;
        newline = memchr(from + searched, '\n', held - searched);
        if (newline || l->ended)
            break;
        searched = held;
        VUG_TRY(fill_buffer(l, err));
    }
    const char *from = l->block + l->begin;
    size_t len = newline ? (size_t)(newline - from) : l->end - l->begin;
    l->begin += len + (newline != NULL);
    *line = newline || len ? (vug_str){ from, len } : (vug_str){ 0 };
    *more = memchr(l->block + l->begin, '\n', l->end - l->begin) != NULL;
    return len > VUG_LINE_MAX_BYTES ? fail_too_long(err) : VUG_OK;
}

/* Flushes the output before a read that may block. */
static vug_status process_lines(vug_ui *ui, line_reader *l, vug_line_fn *fn, void *user,
                                vug_err *err)
{
    vug_buf out = { 0 };
    vug_status st = VUG_OK;
    for (;;) {
        vug_str line;
        bool more = false;
        st = next_line(l, &line, &more, err);
        if (st != VUG_OK || !line.ptr)
            break;
        out.len = 0;
        st = fn(line, &out, user, err);
        if (st == VUG_OK)
            st = vug_buf_ok(&out, err);
        if (st != VUG_OK || !vug_ui_write(ui, out.ptr, out.len) || (!more && !vug_ui_flush(ui)))
            break;
    }
    vug_buf_release(&out);
    return st;
}

int vug_for_each_line(vug_ui *ui, const char *path, vug_line_fn *fn, void *user)
{
    line_reader l;
    vug_err err;
    if (open_lines(&l, path, &err) != VUG_OK)
        return vug_ui_fail(ui, &err);
    vug_status st = process_lines(ui, &l, fn, user, &err);
    if (st != VUG_OK) {
        char where[300];
        (void)snprintf(where, sizeof(where), "%.250s:%llu", l.name, (unsigned long long)l.number);
        st = vug_fail_within(&err, st, where);
    }
    close_lines(&l);
    (void)vug_ui_flush(ui);
    return st == VUG_OK ? VUG_EXIT_OK : vug_ui_fail(ui, &err);
}
