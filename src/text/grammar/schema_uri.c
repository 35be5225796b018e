#include "text/grammar/schema_uri.h"

#include <ctype.h>

/* The parts of a URI, with their separators: "http:", "//x", "/a/b", "?q". */
typedef struct {
    vug_str scheme, authority, path, query;
} uri_parts;

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c);
}

/* Cuts the part before the first of `ends` off. */
static vug_str cut(vug_str *rest, const char *ends, size_t from)
{
    size_t n = from;
    while (n < rest->len && !is_one_of(rest->ptr[n], ends))
        n++;
    const vug_str part = { rest->ptr, n };
    *rest = vug_str_from(*rest, n);
    return part;
}

static size_t scheme_length(vug_str uri)
{
    size_t n = 0;
    while (n < uri.len && (isalnum((unsigned char)uri.ptr[n]) || is_one_of(uri.ptr[n], "+-.")))
        n++;
    return n > 0 && n < uri.len && uri.ptr[n] == ':' ? n + 1 : 0;
}

static uri_parts split_uri(vug_str uri)
{
    uri_parts out = { 0 };
    const size_t n = scheme_length(uri);
    out.scheme = (vug_str){ uri.ptr, n };
    uri = vug_str_from(uri, n);
    if (vug_str_starts(uri, "//"))
        out.authority = cut(&uri, "/?", 2);
    out.path = cut(&uri, "?", 0);
    out.query = uri;
    return out;
}

static bool is_segment(const char *path, size_t from, size_t to, const char *name)
{
    return vug_str_is((vug_str){ path + from, to - from }, name);
}

/* Removes "." and ".." in place (section 5.2.4). Returns the new length. */
static size_t remove_dots(char *path, size_t n)
{
    size_t in = 0, out = 0;
    while (in < n) {
        const bool slash = path[in] == '/';
        const size_t name = in + slash;
        size_t end = name;
        while (end < n && path[end] != '/')
            end++;
        const bool parent = is_segment(path, name, end, "..");
        if (parent || is_segment(path, name, end, ".")) {
            while (parent && out > 0 && path[--out] != '/')
                continue;
            if (slash && end == n)
                path[out++] = '/';
            in = !slash && end < n ? end + 1 : end;
            continue;
        }
        memmove(path + out, path + in, end - in);
        out += end - in;
        in = end;
    }
    return out;
}

/* The path of the base up to its last slash. */
static vug_str folder(vug_str path)
{
    while (path.len > 0 && path.ptr[path.len - 1] != '/')
        path.len--;
    return path;
}

static size_t append(char *to, size_t at, vug_str part)
{
    if (part.len > 0)
        memcpy(to + at, part.ptr, part.len);
    return at + part.len;
}

vug_str vug_schema_resolve_uri(vug_schema_compiler *s, vug_str base, vug_str reference)
{
    const uri_parts b = split_uri(base), r = split_uri(reference);
    const size_t size = base.len + reference.len + 1;
    char *to = vug_schema_charge(s, size) ? vug_schema_alloc(s, size, 1) : NULL;
    if (!to)
        return (vug_str){ 0 };
    const bool other_authority = r.scheme.len > 0 || r.authority.len > 0;
    size_t n = append(to, 0, r.scheme.len > 0 ? r.scheme : b.scheme);
    n = append(to, n, other_authority ? r.authority : b.authority);
    const size_t path = n;
    if (other_authority || vug_str_starts(r.path, "/")) {
        n = append(to, n, r.path);
    } else if (r.path.len == 0) {
        n = append(to, n, b.path);
    } else {
        const bool rooted = b.authority.len > 0 && b.path.len == 0;
        n = append(to, n, rooted ? vug_str_of("/") : folder(b.path));
        n = append(to, n, r.path);
    }
    n = path + remove_dots(to + path, n - path);
    const bool same = !other_authority && r.path.len == 0 && r.query.len == 0;
    return (vug_str){ to, append(to, n, same ? b.query : r.query) };
}
