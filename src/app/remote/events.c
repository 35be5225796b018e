#include "app/remote/events.h"

static vug_status append(vug_buf *to, const char *bytes, size_t n, vug_err *err)
{
    to->max = VUG_EVENTS_MAX;
    if (n > to->max - to->len)
        return VUG_FAIL(err, VUG_LIMIT, "an event of the stream has more than %zu MiB",
                        VUG_EVENTS_MAX >> 20);
    vug_buf_append(to, bytes, n);
    return vug_buf_ok(to, err);
}

static vug_status end_event(vug_events *e, vug_event_fn *on_event, void *user, vug_err *err)
{
    if (!e->has_data)
        return VUG_OK;
    const vug_str data = { e->data.ptr ? e->data.ptr : "", e->data.len };
    const vug_status st = on_event(data, user, err);
    e->data.len = 0;
    e->has_data = false;
    return st;
}

static vug_status end_line(vug_events *e, vug_event_fn *on_event, void *user, vug_err *err)
{
    vug_str line = { e->line.ptr, e->line.len };
    if (!e->begun && vug_str_starts(line, "\xef\xbb\xbf"))
        line = vug_str_from(line, 3);
    e->begun = true;
    e->line.len = 0;
    if (line.len == 0)
        return end_event(e, on_event, user, err);
    const char *colon = memchr(line.ptr, ':', line.len);
    const vug_str name = { line.ptr, colon ? (size_t)(colon - line.ptr) : line.len };
    if (!vug_str_is(name, "data"))
        return VUG_OK;
    vug_str value = vug_str_from(line, name.len + 1);
    if (vug_str_starts(value, " "))
        value = vug_str_from(value, 1);
    if (e->has_data)
        VUG_TRY(append(&e->data, "\n", 1, err));
    e->has_data = true;
    return append(&e->data, value.ptr ? value.ptr : "", value.len, err);
}

/* Up to the next CR or LF. */
static size_t plain_length(vug_str bytes)
{
    const char *lf = memchr(bytes.ptr, '\n', bytes.len);
    const size_t n = lf ? (size_t)(lf - bytes.ptr) : bytes.len;
    const char *cr = n ? memchr(bytes.ptr, '\r', n) : NULL;
    return cr ? (size_t)(cr - bytes.ptr) : n;
}

vug_status vug_events_feed(vug_events *e, vug_str bytes, vug_event_fn *on_event, void *user,
                           vug_err *err)
{
    while (bytes.len) {
        if (e->after_cr && bytes.ptr[0] == '\n')
            bytes = vug_str_from(bytes, 1);
        e->after_cr = false;
        if (!bytes.len)
            break;
        const size_t n = plain_length(bytes);
        VUG_TRY(append(&e->line, bytes.ptr, n, err));
        if (n == bytes.len)
            break;
        e->after_cr = bytes.ptr[n] == '\r';
        VUG_TRY(end_line(e, on_event, user, err));
        bytes = vug_str_from(bytes, n + 1);
    }
    return VUG_OK;
}

void vug_events_release(vug_events *e)
{
    vug_buf_release(&e->line);
    vug_buf_release(&e->data);
    *e = (vug_events){ 0 };
}
