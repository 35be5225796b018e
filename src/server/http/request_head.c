#include "server/http/request_head.h"

#include <ctype.h>

#include "core/number.h"

static bool fail_malformed(vug_api_error *error, const char *what)
{
    return vug_api_error_set(error, VUG_API_BAD_REQUEST, NULL, "not an HTTP/1.1 request: %s", what);
}

/* ---- tokens -------------------------------------------------------------------------- */

static char to_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* tchar of RFC 9110, section 5.6.2. */
static bool is_tchar(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

bool vug_http_is_token(vug_str s)
{
    size_t i = 0;
    while (i < s.len && is_tchar(s.ptr[i]))
        i++;
    return i == s.len && i > 0;
}

bool vug_http_equal_ignore_case(vug_str a, const char *b)
{
    size_t i = 0;
    while (i < a.len && b[i] && to_lower(a.ptr[i]) == to_lower(b[i]))
        i++;
    return i == a.len && !b[i];
}

static vug_str trim(vug_str s)
{
    while (s.len && (*s.ptr == ' ' || *s.ptr == '\t'))
        s = (vug_str){ s.ptr + 1, s.len - 1 };
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

/* Returns what precedes the first `c`, or everything, and removes it and `c` from `s`. */
static vug_str split_off(vug_str *s, char c)
{
    const char *at = s->len ? memchr(s->ptr, c, s->len) : NULL;
    const vug_str before = { s->ptr, at ? (size_t)(at - s->ptr) : s->len };
    *s = at ? vug_str_from(*s, before.len + 1) : (vug_str){ 0 };
    return before;
}

/* Whether a comma-separated list contains `token`, ignoring case. */
static bool list_contains(vug_str list, const char *token)
{
    while (list.len) {
        if (vug_http_equal_ignore_case(trim(split_off(&list, ',')), token))
            return true;
    }
    return false;
}

vug_str vug_http_find_header(const vug_http_request_head *r, const char *name)
{
    for (size_t i = 0; i < r->n_fields; i++) {
        if (vug_str_is(r->field[i].name, name))
            return r->field[i].value;
    }
    return (vug_str){ 0 };
}

/* ---- where the head ends --------------------------------------------------------------- */

/* Bare line feeds count as line ends here, so that the parser rejects them at once. */
size_t vug_http_find_head_end(vug_str s, size_t from)
{
    size_t i = from > 3 ? from - 3 : 0;
    while (i < s.len) {
        const char *at = memchr(s.ptr + i, '\n', s.len - i);
        if (!at)
            return 0;
        i = (size_t)(at - s.ptr) + 1;
        if (i < s.len && s.ptr[i] == '\n')
            return i + 1;
        if (i + 1 < s.len && s.ptr[i] == '\r' && s.ptr[i + 1] == '\n')
            return i + 2;
    }
    return 0;
}

/* ---- the request line ------------------------------------------------------------------ */

static bool decode_percent(vug_str raw, vug_arena *arena, vug_str *out, vug_api_error *error)
{
    char *text = vug_arena_alloc(arena, raw.len + 1, 1);
    size_t n = 0;
    if (!text)
        return vug_api_error_set(error, VUG_API_UNAVAILABLE, NULL, "out of memory for the path");
    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.ptr[i];
        if (c == '%') {
            const int high = i + 2 < raw.len ? vug_hex_digit(raw.ptr[i + 1]) : -1;
            const int low = i + 2 < raw.len ? vug_hex_digit(raw.ptr[i + 2]) : -1;
            if (high < 0 || low < 0 || high * 16 + low == 0)
                return fail_malformed(error, "the path has an invalid % escape");
            c = (char)(high * 16 + low);
            i += 2;
        }
        text[n++] = c;
    }
    *out = (vug_str){ text, n };
    return true;
}

/* "/path?query", "http://host/path?query" or "*". */
static bool parse_target(vug_str target, vug_arena *arena, vug_http_request_head *r,
                         vug_api_error *error)
{
    if (target.len > VUG_HTTP_MAX_TARGET)
        return vug_api_error_set(error, VUG_API_URI_TOO_LONG, NULL,
                                 "path and query have %zu bytes, at most %d are allowed",
                                 target.len, VUG_HTTP_MAX_TARGET);
    for (size_t i = 0; i < target.len; i++) {
        if (target.ptr[i] <= ' ' || target.ptr[i] >= 0x7f)
            return fail_malformed(error, "the target has a byte that URLs cannot contain");
    }
    if (vug_str_is(target, "*")) {
        r->path = vug_str_of("*");
        return true;
    }
    if (target.len > 7 && *target.ptr != '/') {
        const vug_str scheme = { target.ptr, target.ptr[4] == ':' ? 7 : 8 };
        if (!vug_http_equal_ignore_case(scheme, "http://") &&
            !vug_http_equal_ignore_case(scheme, "https://"))
            return fail_malformed(error, "the target is neither a path nor a URL");
        target = vug_str_from(target, scheme.len);
        const char *slash = target.len ? memchr(target.ptr, '/', target.len) : NULL;
        r->host = (vug_str){ target.ptr, slash ? (size_t)(slash - target.ptr) : target.len };
        target = slash ? vug_str_from(target, r->host.len) : vug_str_of("/");
    }
    if (!target.len || *target.ptr != '/')
        return fail_malformed(error, "the target does not begin with /");
    return decode_percent(split_off(&target, '?'), arena, &r->path, error);
}

static bool parse_request_line(vug_str line, vug_arena *arena, vug_http_request_head *r,
                               vug_api_error *error)
{
    r->method = split_off(&line, ' ');
    const vug_str target = split_off(&line, ' ');
    if (!vug_http_is_token(r->method))
        return fail_malformed(error, "the first line does not begin with a method");
    if (line.len != 8 || !vug_str_starts(line, "HTTP/") || !isdigit((unsigned char)line.ptr[5]) ||
        line.ptr[6] != '.' || !isdigit((unsigned char)line.ptr[7]))
        return fail_malformed(error, "the first line does not end in HTTP/1.1");
    if (line.ptr[5] != '1' || line.ptr[7] > '1')
        return vug_api_error_set(error, VUG_API_UNSUPPORTED_VERSION, NULL,
                                 "%.*s: expected HTTP/1.1 or HTTP/1.0", VUG_STR_ARG(line));
    r->minor = line.ptr[7] - '0';
    return parse_target(target, arena, r, error);
}

/* ---- headers --------------------------------------------------------------------------- */

/* The next line, without its CR LF. */
static bool next_line(vug_str *rest, vug_str *line, vug_api_error *error)
{
    *line = split_off(rest, '\n');
    if (!line->len || line->ptr[line->len - 1] != '\r')
        return fail_malformed(error, "a line does not end in CR LF");
    line->len--;
    for (size_t i = 0; i < line->len; i++) {
        const unsigned char c = (unsigned char)line->ptr[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return fail_malformed(error, "control character in the head");
    }
    return true;
}

/* Lowers the name in place: `copy` is that of the line. */
static bool parse_field(vug_str line, char *copy, vug_http_request_head *r, vug_api_error *error)
{
    const char *colon = memchr(line.ptr, ':', line.len);
    vug_http_header_field f = { { line.ptr, colon ? (size_t)(colon - line.ptr) : 0 }, { 0 } };
    if (!colon || !vug_http_is_token(f.name))
        return fail_malformed(error, "a header is not NAME: VALUE on one line");
    if (r->n_fields == VUG_HTTP_MAX_HEADERS)
        return vug_api_error_set(error, VUG_API_HEADERS_TOO_LARGE, NULL, "more than %d headers",
                                 VUG_HTTP_MAX_HEADERS);
    for (size_t i = 0; i < f.name.len; i++)
        copy[i] = to_lower(copy[i]);
    /* An empty value is kept, so that an empty Content-Length is an error. */
    f.value = trim((vug_str){ colon + 1, line.len - f.name.len - 1 });
    r->field[r->n_fields++] = f;
    return true;
}

static size_t count_headers(const vug_http_request_head *r, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_fields; i++)
        n += vug_str_is(r->field[i].name, name);
    return n;
}

/* Of two values, one server may take the first and another the last. */
static bool check_duplicates(const vug_http_request_head *r, vug_api_error *error)
{
    static const char *const single[] = { "host",         "content-length", "transfer-encoding",
                                          "content-type", "authorization",  "origin",
                                          "x-api-key" };
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
        if (count_headers(r, single[i]) > 1)
            return vug_api_error_set(error, VUG_API_BAD_REQUEST, NULL,
                                     "not an HTTP/1.1 request: more than one %s header", single[i]);
    }
    return true;
}

/* RFC 9112, section 6: accepting both lengths would allow request smuggling. */
static bool parse_length(vug_http_request_head *r, vug_api_error *error)
{
    const vug_str length = vug_http_find_header(r, "content-length");
    const vug_str coding = vug_http_find_header(r, "transfer-encoding");
    if (length.ptr && coding.ptr)
        return fail_malformed(error, "both Content-Length and Transfer-Encoding");
    if (coding.ptr) {
        if (r->minor == 0)
            return fail_malformed(error, "Transfer-Encoding in HTTP/1.0");
        if (!vug_http_equal_ignore_case(coding, "chunked"))
            return vug_api_error_set(error, VUG_API_NOT_IMPLEMENTED, NULL,
                                     "Transfer-Encoding: %.*s; only chunked is supported",
                                     VUG_STR_ARG(coding));
        r->chunked = true;
    }
    if (length.ptr) {
        r->has_length = length.len > 0 && length.len <= 18;
        for (size_t i = 0; i < length.len && r->has_length; i++) {
            r->has_length = isdigit((unsigned char)length.ptr[i]) != 0;
            r->length = r->length * 10 + (uint64_t)(length.ptr[i] - '0');
        }
        if (!r->has_length)
            return fail_malformed(error, "Content-Length is not a number of bytes");
    }
    return true;
}

/* Whether one of the Connection headers has that option. */
static bool has_connection_option(const vug_http_request_head *r, const char *option)
{
    bool found = false;
    for (size_t i = 0; i < r->n_fields; i++)
        found = found || (vug_str_is(r->field[i].name, "connection") &&
                          list_contains(r->field[i].value, option));
    return found;
}

static bool parse_connection_headers(vug_http_request_head *r, vug_api_error *error)
{
    const vug_str host = vug_http_find_header(r, "host");
    const vug_str expect = vug_http_find_header(r, "expect");
    if (!host.ptr && r->minor == 1)
        return fail_malformed(error, "the Host header is missing");
    if (!r->host.ptr)
        r->host = host;
    if (expect.ptr && !vug_http_equal_ignore_case(expect, "100-continue"))
        return vug_api_error_set(error, VUG_API_EXPECTATION_FAILED, NULL,
                                 "Expect: %.*s; only 100-continue is supported",
                                 VUG_STR_ARG(expect));
    r->expects_continue = expect.ptr && r->minor == 1;
    r->keep_alive = !has_connection_option(r, "close") &&
                    (r->minor == 1 || has_connection_option(r, "keep-alive"));
    return true;
}

bool vug_http_parse_head(vug_str bytes, vug_arena *arena, vug_http_request_head *r,
                         vug_api_error *error)
{
    char *copy = vug_arena_alloc(arena, bytes.len + 1, 1);
    *r = (vug_http_request_head){ 0 };
    r->field = vug_arena_alloc(arena, VUG_HTTP_MAX_HEADERS, sizeof(*r->field));
    if (!copy || !r->field)
        return vug_api_error_set(error, VUG_API_UNAVAILABLE, NULL, "out of memory for the headers");
    if (bytes.len)
        memcpy(copy, bytes.ptr, bytes.len);
    vug_str rest = { copy, bytes.len }, line;
    do { /* skips empty lines before a request (RFC 9112, section 2.2) */
        if (!next_line(&rest, &line, error))
            return false;
    } while (!line.len && rest.len);
    if (!parse_request_line(line, arena, r, error))
        return false;
    while (rest.len) {
        if (!next_line(&rest, &line, error))
            return false;
        if (!line.len && rest.len)
            return fail_malformed(error, "empty line in the head");
        if (line.len && !parse_field(line, copy + (line.ptr - copy), r, error))
            return false;
    }
    return check_duplicates(r, error) && parse_length(r, error) &&
           parse_connection_headers(r, error);
}
