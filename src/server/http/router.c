#include "server/http/internal.h"

/* What a request must pass before its body is read, in this order: it is meant for this server
 * (Host), it is authorized (key), its path and method exist, its body is acceptable. */

/* ---- finding the route -------------------------------------------------------------------- */

static bool matches_path(const vug_http_route *route, vug_str path)
{
    return route->flags & VUG_HTTP_PREFIX ? vug_str_starts(path, route->path)
                                          : vug_str_is(path, route->path);
}

static bool matches_method(const vug_http_route *route, vug_str method)
{
    if (route->method == VUG_HTTP_GET)
        return vug_str_is(method, "GET") || vug_str_is(method, "HEAD");
    return route->method == VUG_HTTP_POST && vug_str_is(method, "POST");
}

static const vug_http_route *find_route(const vug_http *http, vug_str method, vug_str path)
{
    for (size_t i = 0; i < http->n_routes; i++) {
        if (matches_path(&http->routes[i], path) && matches_method(&http->routes[i], method))
            return &http->routes[i];
    }
    return NULL;
}

/* The Allow header of a path; NULL when no route has it. */
static const char *find_allowed_methods(const vug_http *http, vug_str path)
{
    bool get = vug_str_is(path, "*"), post = get;
    for (size_t i = 0; i < http->n_routes; i++) {
        const bool matches = matches_path(&http->routes[i], path);
        get = get || (matches && http->routes[i].method == VUG_HTTP_GET);
        post = post || (matches && http->routes[i].method == VUG_HTTP_POST);
    }
    if (get)
        return post ? "Allow: GET, HEAD, POST, OPTIONS\r\n" : "Allow: GET, HEAD, OPTIONS\r\n";
    return post ? "Allow: POST, OPTIONS\r\n" : NULL;
}

/* A base URL often has one path segment too few or too many, so the error suggests the closest
 * route. */
static bool reject_path(const vug_http *http, vug_str path, vug_api_error *error)
{
    const char *meant = NULL;
    for (size_t i = 0; i < http->n_routes && path.len > 1; i++) {
        const vug_str known = vug_str_of(http->routes[i].path);
        if ((vug_str_ends(known, path.ptr) || vug_str_ends(path, known.ptr)) &&
            (!meant || known.len > strlen(meant)))
            meant = known.ptr;
    }
    return vug_api_error_set(error, VUG_API_NOT_FOUND, NULL, "There is no %.*s here%s%s.",
                             VUG_STR_ARG(path), meant ? ", but " : "", meant ? meant : "");
}

/* ---- OPTIONS ------------------------------------------------------------------------------- */

/* The preflight request that a browser sends before a page may send what a form could not (Fetch
 * standard). An allowed origin may send any header. */
static void answer_options(vug_http_request *request, void *user)
{
    const vug_str headers = vug_http_header(request, "access-control-request-headers");
    const char *methods = find_allowed_methods(request->http, request->head.path);
    vug_buf lines = { 0 }, body = { 0 };
    (void)user;
    vug_buf_puts(&lines, methods ? methods : "");
    if (request->allowed_origin.ptr) {
        vug_buf_puts(&lines, "Access-Control-Allow-Methods: GET, POST\r\n"
                             "Access-Control-Max-Age: 600\r\n");
        if (headers.len) {
            vug_buf_puts(&lines, "Access-Control-Allow-Headers: ");
            vug_buf_append(&lines, headers.ptr, headers.len);
            vug_buf_puts(&lines, "\r\n");
        }
        if (vug_http_header(request, "access-control-request-private-network").ptr)
            vug_buf_puts(&lines, "Access-Control-Allow-Private-Network: true\r\n");
    }
    const vug_http_response_head head = { .status = VUG_HTTP_NO_CONTENT,
                                          .headers = lines.bad ? NULL : lines.ptr };
    vug_http_reply(request, &head, &body);
    vug_buf_release(&lines);
}

static const vug_http_route options_route = {
    .method = VUG_HTTP_OPTIONS, .path = "", .flags = VUG_HTTP_PUBLIC, .handler = answer_options
};

/* ---- validating ---------------------------------------------------------------------------- */

static bool is_json(vug_str type)
{
    const char *semicolon = type.len ? memchr(type.ptr, ';', type.len) : NULL;
    if (semicolon)
        type.len = (size_t)(semicolon - type.ptr);
    while (type.len && (type.ptr[type.len - 1] == ' ' || type.ptr[type.len - 1] == '\t'))
        type.len--;
    return vug_http_equal_ignore_case(type, "application/json");
}

/* A form on another site's page can post other types, for which browsers send no preflight. Scripts
 * may leave the type out; web pages may not. */
static bool check_content_type(const vug_http_request_head *r, vug_api_error *error)
{
    const vug_str type = vug_http_find_header(r, "content-type");
    if (type.ptr ? is_json(type) : !vug_http_find_header(r, "origin").ptr)
        return true;
    return vug_api_error_set(error, VUG_API_UNSUPPORTED_MEDIA_TYPE, NULL,
                             "Content-Type: %.*s; expected application/json.", VUG_STR_ARG(type));
}

static bool check_body_headers(const vug_http *http, const vug_http_request_head *r,
                               vug_api_error *error)
{
    const vug_str coding = vug_http_find_header(r, "content-encoding");
    if (vug_str_is(r->method, "POST") && !r->has_length && !r->chunked)
        return vug_api_error_set(error, VUG_API_LENGTH_REQUIRED, NULL,
                                 "A body needs Content-Length or Transfer-Encoding: chunked.");
    if (r->has_length && r->length > http->opt.max_body)
        return vug_api_error_set(error, VUG_API_TOO_LARGE, NULL,
                                 "The body has %llu bytes, at most %zu are allowed.",
                                 (unsigned long long)r->length, http->opt.max_body);
    if (coding.ptr && !vug_http_equal_ignore_case(coding, "identity"))
        return vug_api_error_set(error, VUG_API_UNSUPPORTED_MEDIA_TYPE, NULL,
                                 "Content-Encoding: %.*s; encoded bodies are not supported.",
                                 VUG_STR_ARG(coding));
    return !vug_str_is(r->method, "POST") || check_content_type(r, error);
}

bool vug_http_validate_request(const vug_http_conn *conn, vug_http_request *request,
                               vug_api_error *error, const char **headers)
{
    vug_http *http = conn->http;
    const vug_http_request_head *r = &request->head;
    *headers = NULL;
    request->keep_alive = r->keep_alive;
    if (!vug_http_check_host(http, conn, request, error))
        return false;
    const char *methods = find_allowed_methods(http, r->path);
    request->route = find_route(http, r->method, r->path);
    if (!request->route && methods && vug_str_is(r->method, "OPTIONS"))
        request->route = &options_route;
    const bool is_public = request->route && request->route->flags & VUG_HTTP_PUBLIC;
    if (!is_public && !vug_http_check_key(http, request, error))
        return false;
    if (!request->route && !methods)
        return reject_path(http, r->path, error);
    if (!request->route) {
        *headers = methods;
        return vug_api_error_set(error, VUG_API_METHOD_NOT_ALLOWED, NULL,
                                 "%.*s is not a method of %.*s.", VUG_STR_ARG(r->method),
                                 VUG_STR_ARG(r->path));
    }
    if (!is_public && vug_http_draining(http))
        return vug_api_error_set(error, VUG_API_UNAVAILABLE, NULL, "The server is shutting down.");
    return check_body_headers(http, r, error);
}

void vug_http_dispatch(vug_http_request *request)
{
    if (request->route->flags & VUG_HTTP_QUEUED)
        vug_http_handler_pool_submit(request);
    else
        request->route->handler(request, request->http->user);
}
