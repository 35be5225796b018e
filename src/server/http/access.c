#include <openssl/crypto.h>

#include "core/os.h"
#include "server/http/internal.h"

enum { MAX_KEY_FILE = 1 << 20 };

/* ---- keys ------------------------------------------------------------------------------ */

static vug_status add_key(vug_http *http, vug_str text, const char *where, vug_err *err)
{
    if (http->n_keys == VUG_HTTP_MAX_KEYS)
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: more than %d keys", where, VUG_HTTP_MAX_KEYS);
    if (!text.len || text.len > VUG_HTTP_MAX_KEY)
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: a key has %zu bytes, expected 1 to %d", where,
                        text.len, VUG_HTTP_MAX_KEY);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] <= ' ' || text.ptr[i] >= 0x7f)
            return VUG_FAIL(err, VUG_ARGUMENT, "%s: a key may contain only printable ASCII", where);
    }
    vug_http_key *k = &http->keys[http->n_keys++];
    memcpy(k->text, text.ptr, text.len);
    k->len = text.len;
    return VUG_OK;
}

/* One key per line; skips empty lines and lines that begin with #. */
static vug_status read_keys(vug_http *http, const char *path, vug_err *err)
{
    vug_text file;
    VUG_TRY(vug_read_file(path, MAX_KEY_FILE, &file, err));
    const size_t before = http->n_keys;
    vug_status st = VUG_OK;
    vug_str rest = { file.ptr, file.len };
    while (st == VUG_OK && rest.len) {
        size_t n = 0;
        while (n < rest.len && rest.ptr[n] != '\r' && rest.ptr[n] != '\n')
            n++;
        if (n && *rest.ptr != '#')
            st = add_key(http, (vug_str){ rest.ptr, n }, path, err);
        rest = vug_str_from(rest, n + 1);
    }
    if (file.ptr)
        OPENSSL_cleanse(file.ptr, file.len);
    vug_text_release(&file);
    if (st == VUG_OK && http->n_keys == before)
        st = VUG_FAIL(err, VUG_ARGUMENT, "%s: contains no key, expected one per line", path);
    return st;
}

vug_status vug_http_load_keys(vug_http *http, vug_err *err)
{
    const vug_string_list given = http->opt.keys;
    if (!given.n && !http->opt.key_file)
        return VUG_OK;
    http->keys = vug_alloc_zero(VUG_HTTP_MAX_KEYS, sizeof(*http->keys));
    if (!http->keys)
        return VUG_FAIL_NOMEM(err, "keys", VUG_HTTP_MAX_KEYS * sizeof(*http->keys));
    for (size_t i = 0; i < given.n; i++)
        VUG_TRY(add_key(http, vug_str_of(given.item[i]), "--api-key", err));
    return http->opt.key_file ? read_keys(http, http->opt.key_file, err) : VUG_OK;
}

/* In constant time: compares `given` with all keys, in full. */
static bool is_valid_key(const vug_http *http, vug_str given)
{
    char padded[VUG_HTTP_MAX_KEY] = { 0 };
    int found = 0;
    if (given.len > sizeof(padded))
        return false;
    if (given.len)
        memcpy(padded, given.ptr, given.len);
    for (size_t i = 0; i < http->n_keys; i++) {
        const vug_http_key *k = &http->keys[i];
        found |= (CRYPTO_memcmp(k->text, padded, sizeof(padded)) == 0) & (k->len == given.len);
    }
    return found != 0;
}

/* What follows "Bearer " in Authorization or, without that header, X-Api-Key; empty if there is
 * neither. */
static vug_str find_key(const vug_http_request *request)
{
    const vug_str value = vug_http_find_header(&request->head, "authorization");
    if (!value.ptr)
        return vug_http_find_header(&request->head, "x-api-key");
    const vug_str scheme = { value.ptr, value.len < 7 ? value.len : 7 };
    vug_str key = vug_str_from(value, 7);
    while (key.len && *key.ptr == ' ') /* one or more, RFC 9110, section 11.4 */
        key = vug_str_from(key, 1);
    return vug_http_equal_ignore_case(scheme, "bearer ") ? key : (vug_str){ 0 };
}

vug_str vug_http_api_key(const vug_http_request *request)
{
    return request->http->n_keys > 0 ? find_key(request) : (vug_str){ 0 };
}

bool vug_http_check_key(const vug_http *http, const vug_http_request *request, vug_api_error *error)
{
    if (!http->n_keys)
        return true;
    if (!vug_http_find_header(&request->head, "authorization").ptr &&
        !vug_http_find_header(&request->head, "x-api-key").ptr)
        return vug_api_error_set(error, VUG_API_UNAUTHORIZED, NULL,
                                 "An API key is required: send it as Authorization: Bearer KEY.");
    if (!is_valid_key(http, find_key(request)))
        return vug_api_error_set(error, VUG_API_UNAUTHORIZED, NULL,
                                 "The API key is not valid for this server.");
    return true;
}

/* ---- the Host header --------------------------------------------------------------------- */

/* ":8080", ":" (RFC 3986, section 3.2.3) or nothing. */
static bool is_port(vug_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (i ? text.ptr[i] < '0' || text.ptr[i] > '9' : text.ptr[i] != ':')
            return false;
    }
    return true;
}

/* Drops the port and the brackets of an IPv6 address; empty when it is not a host. */
static vug_str strip_port(vug_str host)
{
    if (!host.ptr || !host.len)
        return (vug_str){ 0 };
    const bool brackets = *host.ptr == '[';
    const char *end = memchr(host.ptr, brackets ? ']' : ':', host.len);
    const vug_str name = { host.ptr, end ? (size_t)(end - host.ptr) : host.len };
    if (!is_port(vug_str_from(host, name.len + brackets)) || (brackets && !end))
        return (vug_str){ 0 };
    return vug_str_from(name, brackets);
}

static bool is_address(vug_str name)
{
    char text[64];
    unsigned char bytes[16];
    if (name.len >= sizeof(text))
        return false;
    memcpy(text, name.ptr, name.len);
    text[name.len] = '\0';
    return evutil_inet_pton(AF_INET, text, bytes) == 1 ||
           evutil_inet_pton(AF_INET6, text, bytes) == 1;
}

static bool contains_name(vug_string_list names, vug_str name)
{
    for (size_t i = 0; i < names.n; i++) {
        if (strcmp(names.item[i], "*") == 0 || vug_http_equal_ignore_case(name, names.item[i]))
            return true;
    }
    return false;
}

/* Prevents DNS rebinding: an attacker's web page whose name resolves to this machine counts as
 * same-origin in the browser, but the browser still sends that name in Host. IP addresses cannot be
 * rebound. */
static bool is_known_host(const vug_http *http, vug_str host)
{
    const vug_str name = strip_port(host);
    if (!name.len)
        return false;
    if (vug_http_equal_ignore_case(name, "localhost") ||
        vug_http_equal_ignore_case(name, "127.0.0.1") || vug_http_equal_ignore_case(name, "::1"))
        return true;
    if (vug_http_equal_ignore_case(name, http->opt.host) || contains_name(http->opt.hosts, name))
        return true;
    return http->listens_on_any && is_address(name);
}

/* A name that can never match is a mistake in the command line. */
vug_status vug_http_check_access_options(const vug_http_options *opt, vug_err *err)
{
    for (size_t i = 0; i < opt->origins.n; i++) {
        const char *name = opt->origins.item[i], *host = strstr(name, "://");
        const bool is_origin = host && host > name && host[3] && !strchr(host + 3, '/');
        if (!is_origin && strcmp(name, "*") != 0 && strcmp(name, "null") != 0)
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "--cors %s: expected an origin such as http://localhost:3000, or *",
                            name);
    }
    for (size_t i = 0; i < opt->hosts.n; i++) {
        const vug_str name = vug_str_of(opt->hosts.item[i]);
        if (!is_address(name) && (!name.len || strpbrk(name.ptr, ":/[] ")))
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "--allow-host %s: expected a name without scheme and port, or *",
                            name.ptr);
    }
    return VUG_OK;
}

bool vug_http_check_host(const vug_http *http, const vug_http_conn *conn, vug_http_request *request,
                         vug_api_error *error)
{
    const vug_str host = request->head.host;
    const vug_str origin = vug_http_find_header(&request->head, "origin");
    if (origin.len > 0 && contains_name(http->opt.origins, origin))
        request->allowed_origin = origin;
    /* Browsers use neither unix sockets nor HTTP/1.0, which has no Host. */
    if (conn->is_unix || (!host.ptr && request->head.minor == 0) || is_known_host(http, host))
        return true;
    const vug_str name = strip_port(host);
    return vug_api_error_set(error, VUG_API_FORBIDDEN, NULL,
                             "Host '%.*s' is not a name of this server; --allow-host adds one.",
                             VUG_STR_ARG(name.len ? name : host));
}
