#include "app/server/http/parse.h"

#include <ctype.h>

static bool bad(vug_api_error *error, const char *what)
{
    return vug_api_error_set(error, VUG_API_BAD_REQUEST, NULL, "not a request of HTTP/1.1: %s",
                             what);
}

/* ---- words --------------------------------------------------------------------------- */

static char lower(char c)
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

bool vug_http_same(vug_str a, const char *b)
{
    size_t i = 0;
    while (i < a.len && b[i] && lower(a.ptr[i]) == lower(b[i]))
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

/* Cuts `s` at the first `c`; what is before it; all of it without one. */
static vug_str cut(vug_str *s, char c)
{
    const char *at = s->len ? memchr(s->ptr, c, s->len) : NULL;
    const vug_str before = { s->ptr, at ? (size_t)(at - s->ptr) : s->len };
    *s = at ? vug_str_from(*s, before.len + 1) : (vug_str){ 0 };
    return before;
}

/* Whether `word` (lower case) is one of a list with commas, in any case. */
static bool has_word(vug_str list, const char *word)
{
    while (list.len) {
        if (vug_http_same(trim(cut(&list, ',')), word))
            return true;
    }
    return false;
}

vug_str vug_http_field_of(const vug_http_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_fields; i++) {
        if (vug_str_is(r->field[i].name, name))
            return r->field[i].value;
    }
    return (vug_str){ 0 };
}

/* ---- where the head ends --------------------------------------------------------------- */

/* Lines that end in a bare line feed count here, so that they are refused at once. */
size_t vug_http_head_end(vug_str s, size_t from)
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

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool unescape(vug_str raw, vug_arena *arena, vug_str *out, vug_api_error *error)
{
    char *text = vug_arena_alloc(arena, raw.len + 1, 1);
    size_t n = 0;
    if (!text)
        return vug_api_error_set(error, VUG_API_UNAVAILABLE, NULL, "out of memory for the path");
    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.ptr[i];
        if (c == '%') {
            const int high = i + 2 < raw.len ? hex(raw.ptr[i + 1]) : -1;
            const int low = i + 2 < raw.len ? hex(raw.ptr[i + 2]) : -1;
            if (high < 0 || low < 0 || high * 16 + low == 0)
                return bad(error, "the path has a % that begins no escape");
            c = (char)(high * 16 + low);
            i += 2;
        }
        text[n++] = c;
    }
    *out = (vug_str){ text, n };
    return true;
}

/* "/path?query", "http://host/path?query" or "*". */
static bool parse_target(vug_str target, vug_arena *arena, vug_http_request *r,
                         vug_api_error *error)
{
    if (target.len > VUG_HTTP_MAX_TARGET)
        return vug_api_error_set(error, VUG_API_TARGET, NULL,
                                 "path and query have %zu bytes, at most %d", target.len,
                                 VUG_HTTP_MAX_TARGET);
    for (size_t i = 0; i < target.len; i++) {
        if (target.ptr[i] <= ' ' || target.ptr[i] >= 0x7f)
            return bad(error, "a byte in the target that no URL has");
    }
    if (vug_str_is(target, "*")) {
        r->path = vug_str_of("*");
        return true;
    }
    if (target.len > 7 && *target.ptr != '/') {
        const vug_str scheme = { target.ptr, target.ptr[4] == ':' ? 7 : 8 };
        if (!vug_http_same(scheme, "http://") && !vug_http_same(scheme, "https://"))
            return bad(error, "the target is neither a path nor a URL");
        target = vug_str_from(target, scheme.len);
        const char *slash = target.len ? memchr(target.ptr, '/', target.len) : NULL;
        r->host = (vug_str){ target.ptr, slash ? (size_t)(slash - target.ptr) : target.len };
        target = slash ? vug_str_from(target, r->host.len) : vug_str_of("/");
    }
    if (!target.len || *target.ptr != '/')
        return bad(error, "the target does not begin with /");
    return unescape(cut(&target, '?'), arena, &r->path, error);
}

static bool parse_request_line(vug_str line, vug_arena *arena, vug_http_request *r,
                               vug_api_error *error)
{
    r->method = cut(&line, ' ');
    const vug_str target = cut(&line, ' ');
    if (!vug_http_is_token(r->method))
        return bad(error, "the first line does not begin with a method");
    if (line.len != 8 || !vug_str_starts(line, "HTTP/") || !isdigit((unsigned char)line.ptr[5]) ||
        line.ptr[6] != '.' || !isdigit((unsigned char)line.ptr[7]))
        return bad(error, "the first line does not end in HTTP/1.1");
    if (line.ptr[5] != '1' || line.ptr[7] > '1')
        return vug_api_error_set(error, VUG_API_VERSION, NULL,
                                 "%.*s: expected HTTP/1.1 or HTTP/1.0", VUG_STR_ARG(line));
    r->minor = line.ptr[7] - '0';
    return parse_target(target, arena, r, error);
}

/* ---- headers --------------------------------------------------------------------------- */

/* The next line without its end, which must be CR LF. */
static bool take_line(vug_str *rest, vug_str *line, vug_api_error *error)
{
    *line = cut(rest, '\n');
    if (!line->len || line->ptr[line->len - 1] != '\r')
        return bad(error, "a line that does not end in CR LF");
    line->len--;
    for (size_t i = 0; i < line->len; i++) {
        const unsigned char c = (unsigned char)line->ptr[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return bad(error, "a control character in the head");
    }
    return true;
}

/* The name is made lower case in place: the head is our copy. */
static bool parse_field(vug_str line, char *copy, vug_http_request *r, vug_api_error *error)
{
    const char *colon = memchr(line.ptr, ':', line.len);
    vug_http_field f = { { line.ptr, colon ? (size_t)(colon - line.ptr) : 0 }, { 0 } };
    if (!colon || !vug_http_is_token(f.name))
        return bad(error, "a header that is not NAME: VALUE on one line");
    if (r->n_fields == VUG_HTTP_MAX_HEADERS)
        return vug_api_error_set(error, VUG_API_HEADERS, NULL, "more than %d headers",
                                 VUG_HTTP_MAX_HEADERS);
    for (size_t i = 0; i < f.name.len; i++)
        copy[i] = lower(copy[i]);
    /* An empty value is not a missing one: a length that is "" is no length. */
    f.value = trim((vug_str){ colon + 1, line.len - f.name.len - 1 });
    r->field[r->n_fields++] = f;
    return true;
}

static size_t count(const vug_http_request *r, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_fields; i++)
        n += vug_str_is(r->field[i].name, name);
    return n;
}

/* Of two, one reader takes the first and another the last. */
static bool check_single(const vug_http_request *r, vug_api_error *error)
{
    static const char *const single[] = { "host",         "content-length", "transfer-encoding",
                                          "content-type", "authorization",  "origin" };
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
        if (count(r, single[i]) > 1)
            return vug_api_error_set(error, VUG_API_BAD_REQUEST, NULL,
                                     "not a request of HTTP/1.1: more than one header %s",
                                     single[i]);
    }
    return true;
}

/* RFC 9112, section 6: with both lengths requests are smuggled. */
static bool find_length(vug_http_request *r, vug_api_error *error)
{
    const vug_str length = vug_http_field_of(r, "content-length");
    const vug_str coding = vug_http_field_of(r, "transfer-encoding");
    if (length.ptr && coding.ptr)
        return bad(error, "both Content-Length and Transfer-Encoding");
    if (coding.ptr) {
        if (r->minor == 0)
            return bad(error, "Transfer-Encoding in HTTP/1.0");
        if (!vug_http_same(coding, "chunked"))
            return vug_api_error_set(error, VUG_API_NOT_DONE, NULL,
                                     "Transfer-Encoding: %.*s; only chunked is known",
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
            return bad(error, "Content-Length is no number of bytes");
    }
    return true;
}

/* Among the words of Connection, which may come in several lines. */
static bool connection_says(const vug_http_request *r, const char *word)
{
    bool found = false;
    for (size_t i = 0; i < r->n_fields; i++)
        found = found ||
                (vug_str_is(r->field[i].name, "connection") && has_word(r->field[i].value, word));
    return found;
}

static bool find_rest(vug_http_request *r, vug_api_error *error)
{
    const vug_str host = vug_http_field_of(r, "host");
    const vug_str expect = vug_http_field_of(r, "expect");
    if (!host.ptr && r->minor == 1)
        return bad(error, "expected a Host header");
    if (!r->host.ptr)
        r->host = host;
    if (expect.ptr && !vug_http_same(expect, "100-continue"))
        return vug_api_error_set(error, VUG_API_EXPECTATION, NULL,
                                 "Expect: %.*s; only 100-continue is known", VUG_STR_ARG(expect));
    r->expects_continue = expect.ptr && r->minor == 1;
    r->keep_alive =
            !connection_says(r, "close") && (r->minor == 1 || connection_says(r, "keep-alive"));
    return true;
}

bool vug_http_parse(vug_str head, vug_arena *arena, vug_http_request *r, vug_api_error *error)
{
    char *copy = vug_arena_alloc(arena, head.len + 1, 1);
    *r = (vug_http_request){ 0 };
    r->field = vug_arena_alloc(arena, VUG_HTTP_MAX_HEADERS, sizeof(*r->field));
    if (!copy || !r->field)
        return vug_api_error_set(error, VUG_API_UNAVAILABLE, NULL, "out of memory for the headers");
    if (head.len)
        memcpy(copy, head.ptr, head.len);
    vug_str rest = { copy, head.len }, line;
    do { /* empty lines before a request are forgiven (RFC 9112, section 2.2) */
        if (!take_line(&rest, &line, error))
            return false;
    } while (!line.len && rest.len);
    if (!parse_request_line(line, arena, r, error))
        return false;
    while (rest.len) {
        if (!take_line(&rest, &line, error))
            return false;
        if (!line.len && rest.len)
            return bad(error, "an empty line in the head");
        if (line.len && !parse_field(line, copy + (line.ptr - copy), r, error))
            return false;
    }
    return check_single(r, error) && find_length(r, error) && find_rest(r, error);
}
