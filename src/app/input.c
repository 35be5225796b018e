#include "app/input.h"

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

/* *n is 0 at the end. */
static vug_status read_some(int fd, const char *name, char *to, size_t room, size_t *n,
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
        st = read_some(fd, name, block, BLOCK_BYTES, &n, err);
        if (st == VUG_OK)
            vug_buf_append(&all, block, n);
        if (st == VUG_OK && all.len > max)
            st = VUG_FAIL(err, VUG_LIMIT, "%s: more than the %zu bytes that are read", name, max);
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

vug_status vug_lines_open(vug_lines *lines, const char *path, size_t max, vug_err *err)
{
    *lines = (vug_lines){ .name = vug_input_name(path), .max = max, .cap = BLOCK_BYTES };
    VUG_TRY(open_input(path, &lines->fd, err));
    lines->block = vug_alloc(lines->cap, 1);
    if (lines->block)
        return VUG_OK;
    close_input(lines->fd);
    return VUG_FAIL_NOMEM(err, lines->name, lines->cap);
}

void vug_lines_close(vug_lines *lines)
{
    close_input(lines->fd);
    vug_free(lines->block);
    *lines = (vug_lines){ 0 };
}

/* Reads on behind what is there, which is a line that has not ended. */
static vug_status fill(vug_lines *lines, vug_err *err)
{
    const size_t held = lines->end - lines->begin;
    if (held > lines->max)
        return VUG_FAIL(err, VUG_LIMIT, "the line is longer than %zu bytes", lines->max);
    if (lines->begin > 0)
        memmove(lines->block, lines->block + lines->begin, held);
    lines->begin = 0;
    lines->end = held;
    if (held == lines->cap) {
        char *bigger = vug_realloc(lines->block, lines->cap, 2);
        if (!bigger)
            return VUG_FAIL_NOMEM(err, "a line", lines->cap * 2);
        lines->block = bigger;
        lines->cap *= 2;
    }
    size_t n = 0;
    VUG_TRY(read_some(lines->fd, lines->name, lines->block + held, lines->cap - held, &n, err));
    lines->end += n;
    lines->ended = n == 0;
    return VUG_OK;
}

vug_status vug_lines_next(vug_lines *lines, vug_str *line, bool *more, vug_err *err)
{
    size_t searched = 0; /* bytes without a line end */
    const char *newline = NULL;
    lines->number++;
    for (;;) {
        const char *from = lines->block + lines->begin;
        const size_t held = lines->end - lines->begin;
        newline = memchr(from + searched, '\n', held - searched);
        if (newline || lines->ended)
            break;
        searched = held;
        VUG_TRY(fill(lines, err));
    }
    const char *from = lines->block + lines->begin;
    size_t len = newline ? (size_t)(newline - from) : lines->end - lines->begin;
    lines->begin += len + (newline != NULL);
    *line = newline || len ? (vug_str){ from, len } : (vug_str){ 0 };
    *more = memchr(lines->block + lines->begin, '\n', lines->end - lines->begin) != NULL;
    if (len > lines->max)
        return VUG_FAIL(err, VUG_LIMIT, "the line is longer than %zu bytes", lines->max);
    return VUG_OK;
}
