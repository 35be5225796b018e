/* Reading line by line, on POSIX systems. */
#include "core/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/mem.h"

enum { BLOCK_BYTES = 256 * 1024 };

vug_status vug_lines_open(vug_line_reader *l, const char *path, const char *name, size_t max,
                          vug_err *err)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    *l = (vug_line_reader){ .name = name, .max = max, .cap = BLOCK_BYTES };
    l->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (l->fd < 0)
        return VUG_FAIL(err, VUG_IO, "%s: cannot open: %s", name, strerror(errno));
    l->block = vug_alloc(l->cap, 1);
    if (l->block)
        return VUG_OK;
    vug_lines_close(l);
    return VUG_FAIL_NOMEM(err, name, l->cap);
}

void vug_lines_close(vug_line_reader *l)
{
    if (l->fd > STDIN_FILENO)
        (void)close(l->fd);
    vug_free(l->block);
    l->block = NULL;
}

/* Reads more of a line whose end is not in the block yet. */
static vug_status fill_block(vug_line_reader *l, vug_err *err)
{
    const size_t held = l->end - l->begin;
    ssize_t got;
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
    do {
        got = read(l->fd, l->block + held, l->cap - held);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return VUG_FAIL(err, VUG_IO, "%s: cannot read: %s", l->name, strerror(errno));
    l->end += (size_t)got;
    l->ended = got == 0;
    return VUG_OK;
}

/* Takes `n` bytes of a line, and its newline. */
static void take_bytes(vug_line_reader *l, size_t n, bool newline)
{
    l->begin += n + newline;
    l->at += n + newline;
}

/* Drops what is left of a line that was too long. */
static vug_status skip_line(vug_line_reader *l, vug_err *err)
{
    while (l->skipping) {
        const size_t held = l->end - l->begin;
        const char *from = l->block + l->begin;
        const char *newline = memchr(from, '\n', held);
        take_bytes(l, newline ? (size_t)(newline - from) : held, newline != NULL);
        l->skipping = !newline && !l->ended;
        if (l->skipping)
            VUG_TRY(fill_block(l, err));
    }
    return VUG_OK;
}

static vug_status fail_too_long(vug_line_reader *l, bool skipping, vug_err *err)
{
    l->skipping = skipping;
    return VUG_FAIL(err, VUG_LIMIT, "the line is longer than %zu bytes", l->max);
}

vug_status vug_lines_next(vug_line_reader *l, vug_str *line, vug_err *err)
{
    size_t searched = 0; /* bytes known to have no newline */
    const char *newline = NULL;
    VUG_TRY(skip_line(l, err));
    l->number++;
    for (;;) {
        const size_t held = l->end - l->begin;
        newline = held > searched ? memchr(l->block + l->begin + searched, '\n', held - searched)
                                  : NULL;
        if (newline || l->ended)
            break;
        if (held > l->max)
            return fail_too_long(l, true, err);
        searched = held;
        VUG_TRY(fill_block(l, err));
    }
    const char *from = l->block + l->begin;
    const size_t n = newline ? (size_t)(newline - from) : l->end - l->begin;
    *line = newline || n ? (vug_str){ from, n } : (vug_str){ 0 };
    take_bytes(l, n, newline != NULL);
    l->terminated = newline != NULL;
    return n > l->max ? fail_too_long(l, false, err) : VUG_OK;
}

bool vug_lines_ready(const vug_line_reader *l)
{
    return l->end > l->begin && memchr(l->block + l->begin, '\n', l->end - l->begin) != NULL;
}
