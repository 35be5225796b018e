#include "server/api/batch_line.h"

#include <stdio.h>

#include "core/json.h"
#include "core/json_writer.h"

/* ---- reading -------------------------------------------------------------------- */

/* The source of the next value, which must be an object. */
static vug_str read_object_source(vug_json_reader *j)
{
    if (vug_json_peek(j) != VUG_JSON_OBJECT) {
        vug_json_fail(j, VUG_FORMAT, "body must be an object");
        return (vug_str){ 0 };
    }
    const size_t from = j->pos;
    vug_json_skip(j);
    return vug_json_ok(j) ? (vug_str){ j->src.ptr + from, j->pos - from } : (vug_str){ 0 };
}

static vug_str read_id(vug_json_reader *j)
{
    const vug_str id = vug_json_string(j);
    if (!vug_json_ok(j) || (id.len > 0 && id.len <= VUG_BATCH_MAX_ID))
        return id;
    vug_json_fail(j, VUG_FORMAT, "custom_id has %zu bytes, expected 1 to %d", id.len,
                  VUG_BATCH_MAX_ID);
    return (vug_str){ 0 };
}

static void read_method(vug_json_reader *j)
{
    const vug_str method = vug_json_string(j);
    if (vug_json_ok(j) && !vug_str_is(method, "POST"))
        vug_json_fail(j, VUG_FORMAT, "method is '%.*s', expected POST", VUG_STR_ARG(method));
}

static vug_api_endpoint read_url(vug_json_reader *j)
{
    const vug_str url = vug_json_string(j);
    static const vug_api_endpoint known[] = { VUG_API_CHAT, VUG_API_COMPLETION, VUG_API_EMBEDDING };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (vug_str_is(url, vug_api_endpoint_path(known[i])))
            return known[i];
    }
    if (vug_json_ok(j))
        vug_json_fail(j, VUG_FORMAT, "url is '%.*s', expected %s, %s or %s", VUG_STR_ARG(url),
                      vug_api_endpoint_path(VUG_API_CHAT),
                      vug_api_endpoint_path(VUG_API_COMPLETION),
                      vug_api_endpoint_path(VUG_API_EMBEDDING));
    return VUG_API_ENDPOINT_COUNT;
}

enum { ID, METHOD, URL, BODY, FIELDS };
static const char *const field_name[FIELDS] = { "custom_id", "method", "url", "body" };

static int find_field(vug_str key)
{
    int f = 0;
    while (f < FIELDS && !vug_str_is(key, field_name[f]))
        f++;
    return f;
}

vug_status vug_batch_request_parse(vug_str line, vug_arena *arena, vug_batch_request *out,
                                   vug_err *err)
{
    vug_json_reader j = vug_json_reader_over(line, "the request", arena);
    bool seen[FIELDS + 1] = { false };
    vug_str key;
    *out = (vug_batch_request){ 0 };
    vug_json_enter_object(&j);
    while (vug_json_key(&j, &key)) {
        const int f = find_field(key);
        if (f < FIELDS && seen[f])
            vug_json_fail(&j, VUG_FORMAT, "%s occurs twice", field_name[f]);
        seen[f] = true;
        if (f == ID)
            out->custom_id = read_id(&j);
        else if (f == METHOD)
            read_method(&j);
        else if (f == URL)
            out->endpoint = read_url(&j);
        else if (f == BODY)
            out->body = read_object_source(&j);
        else
            vug_json_skip(&j);
    }
    VUG_TRY(vug_json_finish(&j, err));
    for (int f = 0; f < FIELDS; f++) {
        if (!seen[f])
            return VUG_FAIL(err, VUG_FORMAT, "the line has no %s", field_name[f]);
    }
    return VUG_OK;
}

/* The line of an error. */
static uint64_t read_error(vug_json_reader *j)
{
    uint64_t line = 0;
    vug_str key;
    if (vug_json_peek(j) == VUG_JSON_NULL) {
        vug_json_skip(j);
        return 0;
    }
    vug_json_enter_object(j);
    while (vug_json_key(j, &key)) {
        if (vug_str_is(key, "line"))
            line = vug_json_u64(j, UINT64_MAX);
        else
            vug_json_skip(j);
    }
    return line;
}

vug_status vug_batch_result_parse(vug_str line, vug_arena *arena, vug_batch_result *out,
                                  vug_err *err)
{
    vug_json_reader j = vug_json_reader_over(line, "JSON", arena);
    bool has_response = false;
    vug_str key;
    *out = (vug_batch_result){ 0 };
    vug_json_enter_object(&j);
    while (vug_json_key(&j, &key)) {
        if (vug_str_is(key, "custom_id") && vug_json_peek(&j) == VUG_JSON_STRING) {
            out->custom_id = vug_json_string(&j);
        } else if (vug_str_is(key, "error")) {
            out->line = read_error(&j);
        } else {
            has_response = has_response || vug_str_is(key, "response");
            vug_json_skip(&j);
        }
    }
    VUG_TRY(vug_json_finish(&j, err));
    if (!has_response || (!out->custom_id.ptr && !out->line))
        return VUG_FAIL(err, VUG_FORMAT, "the line is not from the output of a batch");
    return VUG_OK;
}

/* ---- writing -------------------------------------------------------------------- */

static void begin_line(vug_json_writer *w, vug_str custom_id, uint64_t number)
{
    char id[40];
    (void)snprintf(id, sizeof(id), "batch_req_%016llx", (unsigned long long)number);
    vug_json_begin(w, NULL, '{');
    vug_json_put_string(w, "id", id);
    if (custom_id.ptr)
        vug_json_put_text(w, "custom_id", custom_id.ptr, custom_id.len);
    else
        vug_json_put_string(w, "custom_id", NULL);
}

static void end_line(vug_json_writer *w)
{
    vug_json_end(w, '}');
    vug_buf_puts(w->to, "\n");
}

void vug_batch_response_write(const vug_batch_request *request, uint64_t number, int status,
                              vug_str body, vug_buf *to)
{
    vug_json_writer w = { .to = to };
    char id[40];
    (void)snprintf(id, sizeof(id), "req_%016llx", (unsigned long long)number);
    while (body.len > 0 && body.ptr[body.len - 1] == '\n')
        body.len--;
    begin_line(&w, request->custom_id, number);
    vug_json_begin(&w, "response", '{');
    vug_json_put_i64(&w, "status_code", status);
    vug_json_put_string(&w, "request_id", id);
    vug_json_put_raw(&w, "body", body.ptr, body.len);
    vug_json_end(&w, '}');
    vug_json_put_string(&w, "error", NULL);
    end_line(&w);
}

void vug_batch_error_write(vug_str custom_id, uint64_t number, uint64_t line, const char *message,
                           vug_buf *to)
{
    vug_json_writer w = { .to = to };
    begin_line(&w, custom_id, number);
    vug_json_put_string(&w, "response", NULL);
    vug_json_begin(&w, "error", '{');
    vug_json_put_string(&w, "code", "invalid_request_line");
    vug_json_put_string(&w, "message", message);
    vug_json_put_u64(&w, "line", line);
    vug_json_end(&w, '}');
    end_line(&w);
}
