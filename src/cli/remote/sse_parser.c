#include "cli/remote/sse_parser.h"

static vug_status append_bounded(vug_buf *to, const char *bytes, size_t n, vug_err *err)
{
    to->max = VUG_SSE_MAX_EVENT;
    if (n > to->max - to->len)
        return VUG_FAIL(err, VUG_LIMIT, "an event in the response stream is larger than %zu MiB",
                        VUG_SSE_MAX_EVENT >> 20);
    vug_buf_append(to, bytes, n);
    return vug_buf_ok(to, err);
}

static vug_status end_event(vug_sse_parser *p, vug_sse_event_fn *on_event, void *user, vug_err *err)
{
    if (!p->has_data)
        return VUG_OK;
    const vug_str data = { p->data.ptr ? p->data.ptr : "", p->data.len };
    const vug_status st = on_event(data, user, err);
    p->data.len = 0;
    p->has_data = false;
    return st;
}

static vug_status end_line(vug_sse_parser *p, vug_sse_event_fn *on_event, void *user, vug_err *err)
{
    vug_str line = { p->line.ptr, p->line.len };
    if (!p->begun && vug_str_starts(line, "\xef\xbb\xbf"))
        line = vug_str_from(line, 3);
    p->begun = true;
    p->line.len = 0;
    if (line.len == 0)
        return end_event(p, on_event, user, err);
    const char *colon = memchr(line.ptr, ':', line.len);
    const vug_str name = { line.ptr, colon ? (size_t)(colon - line.ptr) : line.len };
    if (!vug_str_is(name, "data"))
        return VUG_OK;
    vug_str value = vug_str_from(line, name.len + 1);
    if (vug_str_starts(value, " "))
        value = vug_str_from(value, 1);
    if (p->has_data)
        VUG_TRY(append_bounded(&p->data, "\n", 1, err));
    p->has_data = true;
    return append_bounded(&p->data, value.ptr ? value.ptr : "", value.len, err);
}

/* Bytes before the next CR or LF. */
static size_t line_length(vug_str bytes)
{
    const char *lf = memchr(bytes.ptr, '\n', bytes.len);
    const size_t n = lf ? (size_t)(lf - bytes.ptr) : bytes.len;
    const char *cr = n ? memchr(bytes.ptr, '\r', n) : NULL;
    return cr ? (size_t)(cr - bytes.ptr) : n;
}

vug_status vug_sse_parser_feed(vug_sse_parser *p, vug_str bytes, vug_sse_event_fn *on_event,
                               void *user, vug_err *err)
{
    while (bytes.len) {
        if (p->after_cr && bytes.ptr[0] == '\n')
            bytes = vug_str_from(bytes, 1);
        p->after_cr = false;
        if (!bytes.len)
            break;
        const size_t n = line_length(bytes);
        VUG_TRY(append_bounded(&p->line, bytes.ptr, n, err));
        if (n == bytes.len)
            break;
        p->after_cr = bytes.ptr[n] == '\r';
        VUG_TRY(end_line(p, on_event, user, err));
        bytes = vug_str_from(bytes, n + 1);
    }
    return VUG_OK;
}

void vug_sse_parser_release(vug_sse_parser *p)
{
    vug_buf_release(&p->line);
    vug_buf_release(&p->data);
    *p = (vug_sse_parser){ 0 };
}
