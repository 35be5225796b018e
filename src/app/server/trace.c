#include <inttypes.h>
#include <stdio.h>

#include "app/server/service_own.h"
#include "core/os.h"

/* FOLDER/ID.json: {"time","id","path","seed","request","status","answer"}. Sending `request`
 * again, with `seed` where it has none, gives the answer again. */

static void write_record(const vug_asked *a, int status, const vug_buf *answer, vug_buf *to)
{
    const vug_str body = vug_http_body(a->call);
    vug_buf_printf(to, "{\"time\":%" PRId64 ",\"id\":\"%s\",\"path\":", a->head.created,
                   vug_http_request_id(a->call));
    vug_json_write_string(to, vug_http_path(a->call).ptr, vug_http_path(a->call).len);
    vug_buf_printf(to, ",\"seed\":%" PRId64 ",\"request\":", (int64_t)a->sampling.seed);
    vug_buf_append(to, body.ptr, body.len);
    vug_buf_printf(to, ",\"status\":%d,\"answer\":", status);
    if (a->head.stream || answer->len == 0)
        vug_json_write_string(to, answer->ptr ? answer->ptr : "", answer->len);
    else
        vug_buf_append(to, answer->ptr, answer->len);
    vug_buf_puts(to, "}\n");
}

void vug_trace(vug_asked *a, int status, const vug_buf *answer)
{
    vug_service *s = a->service;
    char name[96];
    vug_err err;
    if (!s->opt.trace)
        return;
    (void)snprintf(name, sizeof(name), "%s.json", vug_http_request_id(a->call));
    char *path = vug_path_join(s->opt.trace, name);
    vug_buf record = { 0 };
    vug_out out;
    write_record(a, status, answer, &record);
    vug_status st = vug_buf_ok(&record, &err);
    if (!path)
        st = VUG_FAIL_NOMEM(&err, "a record", 0);
    if (st == VUG_OK) {
        vug_out_open_record(&out, path);
        vug_out_write(&out, record.ptr, record.len);
        st = vug_out_commit(&out, &err);
    }
    if (st != VUG_OK && !atomic_exchange(&s->trace_failed, true))
        (void)fprintf(stderr, "vug: note: requests are not recorded: %s\n", err.msg);
    if (st == VUG_OK)
        atomic_store(&s->trace_failed, false);
    vug_buf_release(&record);
    vug_free(path);
}
