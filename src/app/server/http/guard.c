#include <openssl/crypto.h>

#include "app/server/http/own.h"
#include "core/os.h"

enum { MAX_KEY_FILE = 1 << 20 };

/* ---- keys ------------------------------------------------------------------------------ */

static vug_status add_key(vug_http *http, vug_str text, const char *where, vug_err *err)
{
    if (http->n_keys == VUG_HTTP_MAX_KEYS)
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: more than %d keys", where, VUG_HTTP_MAX_KEYS);
    if (!text.len || text.len > VUG_HTTP_MAX_KEY)
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: a key of %zu bytes, expected 1 to %d", where,
                        text.len, VUG_HTTP_MAX_KEY);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] <= ' ' || text.ptr[i] >= 0x7f)
            return VUG_FAIL(err, VUG_ARGUMENT, "%s: a key may have only printable ASCII", where);
    }
    vug_http_key *k = &http->key[http->n_keys++];
    memcpy(k->text, text.ptr, text.len);
    k->len = text.len;
    return VUG_OK;
}

/* A key per line; empty lines and those that begin with # are left out. */
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
        st = VUG_FAIL(err, VUG_ARGUMENT, "%s: no key in it, expected one per line", path);
    return st;
}

vug_status vug_http_keys_open(vug_http *http, vug_err *err)
{
    const vug_http_names given = http->opt.keys;
    if (!given.n && !http->opt.key_file)
        return VUG_OK;
    http->key = vug_alloc_zero(VUG_HTTP_MAX_KEYS, sizeof(*http->key));
    if (!http->key)
        return VUG_FAIL_NOMEM(err, "keys", VUG_HTTP_MAX_KEYS * sizeof(*http->key));
    for (size_t i = 0; i < given.n; i++)
        VUG_TRY(add_key(http, vug_str_of(given.item[i]), "--api-key", err));
    return http->opt.key_file ? read_keys(http, http->opt.key_file, err) : VUG_OK;
}

/* Takes as long for every key that is shown: all are compared, in full. */
static bool is_key(const vug_http *http, vug_str shown)
{
    char padded[VUG_HTTP_MAX_KEY] = { 0 };
    int found = 0;
    if (shown.len > sizeof(padded))
        return false;
    if (shown.len)
        memcpy(padded, shown.ptr, shown.len);
    for (size_t i = 0; i < http->n_keys; i++) {
        const vug_http_key *k = &http->key[i];
        found |= (CRYPTO_memcmp(k->text, padded, sizeof(padded)) == 0) & (k->len == shown.len);
    }
    return found != 0;
}

bool vug_http_guard_key(const vug_http *http, const vug_http_call *call, vug_api_error *error)
{
    const vug_str given = vug_http_field_of(&call->request, "authorization");
    const vug_str scheme = { given.ptr, given.len < 7 ? given.len : 7 };
    vug_str shown = vug_str_from(given, 7);
    if (!http->n_keys)
        return true;
    if (!given.ptr)
        return vug_api_error_set(error, VUG_API_NO_KEY, NULL,
                                 "An API key is needed: send it as Authorization: Bearer KEY.");
    while (shown.len && *shown.ptr == ' ') /* one or more, RFC 9110, section 11.4 */
        shown = vug_str_from(shown, 1);
    if (!vug_http_same(scheme, "bearer ") || !is_key(http, shown))
        return vug_api_error_set(error, VUG_API_NO_KEY, NULL,
                                 "The API key is not one of this server's.");
    return true;
}

/* ---- the Host header --------------------------------------------------------------------- */

/* ":8080", of which the digits may be missing (RFC 3986, section 3.2.3), or nothing. */
static bool is_port(vug_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (i ? text.ptr[i] < '0' || text.ptr[i] > '9' : text.ptr[i] != ':')
            return false;
    }
    return true;
}

/* Without the port, and the brackets of an IPv6 address; empty when it is no host. */
static vug_str host_name(vug_str host)
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

static bool in(vug_http_names names, vug_str name)
{
    for (size_t i = 0; i < names.n; i++) {
        if (strcmp(names.item[i], "*") == 0 || vug_http_same(name, names.item[i]))
            return true;
    }
    return false;
}

/* A web page whose name was made to point here (DNS rebinding) is read by its browser as
 * if it were ours, but its name is in Host. Addresses are nobody's to point elsewhere. */
static bool knows_host(const vug_http *http, vug_str host)
{
    const vug_str name = host_name(host);
    if (!name.len)
        return false;
    if (vug_http_same(name, "localhost") || vug_http_same(name, "127.0.0.1") ||
        vug_http_same(name, "::1"))
        return true;
    if (vug_http_same(name, http->opt.host) || in(http->opt.hosts, name))
        return true;
    return http->any_address && is_address(name);
}

/* What can never be met is a mistake of whoever starts the server. */
vug_status vug_http_check_names(const vug_http_options *opt, vug_err *err)
{
    for (size_t i = 0; i < opt->origins.n; i++) {
        const char *name = opt->origins.item[i], *host = strstr(name, "://");
        const bool page = host && host > name && host[3] && !strchr(host + 3, '/');
        if (!page && strcmp(name, "*") != 0 && strcmp(name, "null") != 0)
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

bool vug_http_guard_host(const vug_http *http, const vug_http_conn *conn, vug_http_call *call,
                         vug_api_error *error)
{
    const vug_str host = call->request.host;
    const vug_str origin = vug_http_field_of(&call->request, "origin");
    if (origin.len > 0 && in(http->opt.origins, origin))
        call->origin = origin;
    /* No browser reaches a unix socket; HTTP/1.0 knows no Host, and browsers do not speak it. */
    if (conn->is_unix || (!host.ptr && call->request.minor == 0) || knows_host(http, host))
        return true;
    const vug_str name = host_name(host);
    return vug_api_error_set(error, VUG_API_FORBIDDEN, NULL,
                             "Host '%.*s' is no name of this server; --allow-host names more.",
                             VUG_STR_ARG(name.len ? name : host));
}
