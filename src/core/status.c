#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const status_text[VUG_STATUS_COUNT] = {
#define X(id, text) [VUG_##id] = text,
    VUG_STATUS_TABLE(X)
#undef X
};

const char *vug_status_text(vug_status code)
{
    if ((unsigned)code >= VUG_STATUS_COUNT)
        return "unknown status";
    return status_text[code];
}

vug_status vug_fail_at(vug_err *err, vug_status code, const char *file, int line, const char *fmt,
                       ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        (void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
        va_end(ap);
        err->code = code;
        err->file = file;
        err->line = line;
    }
    return code;
}

vug_status vug_fail_within(vug_err *err, vug_status code, const char *prefix)
{
    if (!err)
        return code;
    char inner[sizeof(err->msg)];
    memcpy(inner, err->msg, sizeof(inner));
    (void)snprintf(err->msg, sizeof(err->msg), "%.150s: %.350s", prefix, inner);
    return err->code;
}
