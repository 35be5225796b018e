#include "app/server/http/own.h"

/* What is asked of a request before its body is read, in this order: that it is meant for
 * us (Host), that it may (key), that there is such a thing, that its body can be taken. */

/* ---- which route -------------------------------------------------------------------------- */

static bool is_at(const vug_http_route *route, vug_str path)
{
    return route->flags & VUG_HTTP_PREFIX ? vug_str_starts(path, route->path)
                                          : vug_str_is(path, route->path);
}

static bool takes(const vug_http_route *route, vug_str method)
{
    return vug_str_is(method, route->method) ||
           (vug_str_is(method, "HEAD") && strcmp(route->method, "GET") == 0);
}

static const vug_http_route *find(const vug_http *http, vug_str method, vug_str path)
{
    for (size_t i = 0; i < http->n_routes; i++) {
        if (is_at(&http->route[i], path) && takes(&http->route[i], method))
            return &http->route[i];
    }
    return NULL;
}

/* The methods of a path; NULL when there is none. */
static const char *allowed(const vug_http *http, vug_str path)
{
    static const char *const lines[] = { NULL, "Allow: GET, HEAD, OPTIONS\r\n",
                                         "Allow: POST, OPTIONS\r\n",
                                         "Allow: GET, HEAD, POST, OPTIONS\r\n" };
    unsigned found = vug_str_is(path, "*") ? 3 : 0;
    for (size_t i = 0; i < http->n_routes; i++) {
        if (is_at(&http->route[i], path))
            found |= strcmp(http->route[i].method, "GET") == 0 ? 1u : 2u;
    }
    return lines[found];
}

/* With the path that was meant, the nearest, where a base URL has a part too few or too many. */
static bool refuse_path(const vug_http *http, vug_str path, vug_api_error *error)
{
    const char *meant = NULL;
    for (size_t i = 0; i < http->n_routes && path.len > 1; i++) {
        const vug_str known = vug_str_of(http->route[i].path);
        if ((vug_str_ends(known, path.ptr) || vug_str_ends(path, known.ptr)) &&
            (!meant || known.len < strlen(meant)))
            meant = known.ptr;
    }
    return vug_api_error_set(error, VUG_API_NO_PATH, NULL, "There is no %.*s here%s%s.",
                             VUG_STR_ARG(path), meant ? ", but " : "", meant ? meant : "");
}

/* ---- OPTIONS ------------------------------------------------------------------------------- */

/* A browser asks so before it lets a page send what a form could not (Fetch, "CORS-preflight").
 * An origin that was named may send any header. */
static void answer_options(vug_http_call *call, void *user)
{
    const vug_str headers = vug_http_header(call, "access-control-request-headers");
    const char *methods = allowed(call->http, call->request.path);
    vug_buf lines = { 0 }, body = { 0 };
    (void)user;
    vug_buf_puts(&lines, methods ? methods : "");
    if (call->origin.ptr) {
        vug_buf_puts(&lines, "Access-Control-Allow-Methods: GET, POST\r\n"
                             "Access-Control-Max-Age: 600\r\n");
        if (headers.len) {
            vug_buf_puts(&lines, "Access-Control-Allow-Headers: ");
            vug_buf_append(&lines, headers.ptr, headers.len);
            vug_buf_puts(&lines, "\r\n");
        }
        if (vug_http_header(call, "access-control-request-private-network").ptr)
            vug_buf_puts(&lines, "Access-Control-Allow-Private-Network: true\r\n");
    }
    const vug_http_head head = { .status = 204, .headers = lines.bad ? NULL : lines.ptr };
    vug_http_reply(call, &head, &body);
    vug_buf_release(&lines);
}

static const vug_http_route options_route = {
    .method = "OPTIONS", .path = "", .flags = VUG_HTTP_OPEN, .handler = answer_options
};

/* ---- what is asked ------------------------------------------------------------------------- */

static bool is_json(vug_str type)
{
    const char *semicolon = type.len ? memchr(type.ptr, ';', type.len) : NULL;
    if (semicolon)
        type.len = (size_t)(semicolon - type.ptr);
    while (type.len && (type.ptr[type.len - 1] == ' ' || type.ptr[type.len - 1] == '\t'))
        type.len--;
    return vug_http_same(type, "application/json");
}

/* Any other type could come from a form of a foreign web page, for which browsers do not ask
 * before. Scripts that leave the type out are understood, pages that do are not. */
static bool check_type(const vug_http_request *r, vug_api_error *error)
{
    const vug_str type = vug_http_field_of(r, "content-type");
    if (type.ptr ? is_json(type) : !vug_http_field_of(r, "origin").ptr)
        return true;
    return vug_api_error_set(error, VUG_API_MEDIA_TYPE, NULL,
                             "Content-Type: %.*s; expected application/json.", VUG_STR_ARG(type));
}

static bool check_body(const vug_http *http, const vug_http_request *r, vug_api_error *error)
{
    const vug_str coding = vug_http_field_of(r, "content-encoding");
    if (vug_str_is(r->method, "POST") && !r->has_length && !r->chunked)
        return vug_api_error_set(error, VUG_API_NO_LENGTH, NULL,
                                 "A body needs Content-Length or Transfer-Encoding: chunked.");
    if (r->has_length && r->length > http->opt.max_body)
        return vug_api_error_set(error, VUG_API_TOO_LARGE, NULL,
                                 "The body has %llu bytes, at most %zu are read.",
                                 (unsigned long long)r->length, http->opt.max_body);
    if (coding.ptr && !vug_http_same(coding, "identity"))
        return vug_api_error_set(error, VUG_API_MEDIA_TYPE, NULL,
                                 "Content-Encoding: %.*s; bodies are read as they are.",
                                 VUG_STR_ARG(coding));
    return !vug_str_is(r->method, "POST") || check_type(r, error);
}

bool vug_http_admit(const vug_http_conn *conn, vug_http_call *call, vug_api_error *error,
                    const char **headers)
{
    vug_http *http = conn->http;
    const vug_http_request *r = &call->request;
    *headers = NULL;
    call->keep_alive = r->keep_alive;
    if (!vug_http_guard_host(http, conn, call, error))
        return false;
    const char *methods = allowed(http, r->path);
    call->route = find(http, r->method, r->path);
    if (!call->route && methods && vug_str_is(r->method, "OPTIONS"))
        call->route = &options_route;
    const bool open = call->route && call->route->flags & VUG_HTTP_OPEN;
    if (!open && !vug_http_guard_key(http, call, error))
        return false;
    if (!call->route && !methods)
        return refuse_path(http, r->path, error);
    if (!call->route) {
        *headers = methods;
        return vug_api_error_set(error, VUG_API_METHOD, NULL, "%.*s is no method of %.*s.",
                                 VUG_STR_ARG(r->method), VUG_STR_ARG(r->path));
    }
    if (!open && vug_http_draining(http))
        return vug_api_error_set(error, VUG_API_UNAVAILABLE, NULL, "The server is shutting down.");
    return check_body(http, r, error);
}

void vug_http_dispatch(vug_http_call *call)
{
    if (call->route->flags & VUG_HTTP_QUEUED)
        vug_http_queue(call);
    else
        call->route->handler(call, call->http->user);
}
