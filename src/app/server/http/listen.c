#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/server/http/own.h"

enum { BACKLOG = 511 };
static const struct timeval rest = { 0, 100000 };

/* ---- new connections --------------------------------------------------------------------- */

static void on_accept(struct evconnlistener *on, evutil_socket_t fd, struct sockaddr *address,
                      int n, void *arg)
{
    const vug_http_listener *l = arg;
    (void)on, (void)address, (void)n;
    vug_http_conn_open(l->http, fd, l->is_unix);
}

/* There are no file descriptors left. One is made, or accepting pauses: the loop would be told
 * of the same connection for ever. */
static void on_accept_error(struct evconnlistener *on, void *arg)
{
    vug_http *http = ((const vug_http_listener *)arg)->http;
    (void)on;
    if (vug_http_conn_evict(vug_http_conn_longest(http, 0)))
        return;
    for (size_t i = 0; i < http->n_listeners; i++)
        (void)evconnlistener_disable(http->listener[i].on);
    (void)evtimer_add(http->rest, &rest);
}

static vug_status listen_at(vug_http *http, evutil_socket_t fd, const char *address, bool is_unix,
                            vug_err *err)
{
    vug_http_listener *l = &http->listener[http->n_listeners];
    *l = (vug_http_listener){ .http = http, .is_unix = is_unix };
    (void)snprintf(l->address, sizeof(l->address), "%s", address);
    l->on = evconnlistener_new(http->base, on_accept, l,
                               LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, BACKLOG, fd);
    if (!l->on)
        return VUG_FAIL(err, VUG_IO, "%s: %s", address, strerror(errno));
    evconnlistener_set_error_cb(l->on, on_accept_error);
    http->n_listeners++;
    return VUG_OK;
}

/* ---- TCP ------------------------------------------------------------------------------- */

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127);
}

static bool is_any(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

/* "http://127.0.0.1:8080", as the socket says it. */
static void name_of(const vug_http *http, evutil_socket_t fd, char *out, size_t size)
{
    struct sockaddr_storage a = { 0 };
    socklen_t n = sizeof(a);
    char host[64] = "?", port[8] = "?";
    if (getsockname(fd, (struct sockaddr *)&a, &n) == 0)
        (void)getnameinfo((struct sockaddr *)&a, n, host, sizeof(host), port, sizeof(port),
                          NI_NUMERICHOST | NI_NUMERICSERV);
    (void)snprintf(out, size, a.ss_family == AF_INET6 ? "%s://[%s]:%s" : "%s://%s:%s",
                   http->tls ? "https" : "http", host, port);
}

/* A name may have addresses that this machine has not: those of IPv6 where there is none. */
static bool is_elsewhere(int reason)
{
    return reason == EADDRNOTAVAIL || reason == EAFNOSUPPORT;
}

/* *elsewhere when that is why it fails. */
static vug_status bind_tcp(vug_http *http, const struct addrinfo *a, bool *elsewhere, vug_err *err)
{
    const char *host = http->opt.host;
    const int on = 1;
    char address[128];
    if (!is_loopback(a->ai_addr) && !http->n_keys && !http->opt.insecure)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s can be reached from other machines: give --api-key or "
                        "--api-key-file, or --insecure to serve everybody",
                        host);
    http->any_address = http->any_address || is_any(a->ai_addr);
    const int fd = socket(a->ai_family, SOCK_STREAM, 0);
    *elsewhere = fd < 0 && is_elsewhere(errno);
    if (fd < 0)
        return VUG_FAIL(err, VUG_IO, "%s: %s", host, strerror(errno));
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (a->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (evutil_make_socket_nonblocking(fd) != 0 || bind(fd, a->ai_addr, a->ai_addrlen) != 0) {
        const char *reason = strerror(errno);
        *elsewhere = is_elsewhere(errno);
        (void)close(fd);
        return VUG_FAIL(err, VUG_IO, "%s, port %d: %s", host, http->opt.port, reason);
    }
    name_of(http, fd, address, sizeof(address));
    const vug_status st = listen_at(http, fd, address, false, err);
    if (st != VUG_OK)
        (void)close(fd);
    return st;
}

static vug_status listen_tcp(vug_http *http, vug_err *err)
{
    const struct addrinfo hints = { .ai_flags = AI_NUMERICSERV | AI_PASSIVE,
                                    .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char port[16];
    (void)snprintf(port, sizeof(port), "%d", http->opt.port);
    const int failed = getaddrinfo(http->opt.host, port, &hints, &found);
    if (failed)
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: %s", http->opt.host, gai_strerror(failed));
    vug_status st = VUG_OK;
    bool elsewhere = true, bound = false;
    for (const struct addrinfo *a = found; a && elsewhere; a = a->ai_next) {
        if (http->n_listeners + 1 < VUG_HTTP_MAX_LISTENERS)
            st = bind_tcp(http, a, &elsewhere, err);
        bound = bound || st == VUG_OK;
        elsewhere = elsewhere || st == VUG_OK;
    }
    freeaddrinfo(found);
    return bound && elsewhere ? VUG_OK : st;
}

/* ---- unix sockets -------------------------------------------------------------------------- */

/* What a server that is gone has left behind is removed; anything else is not ours. */
static vug_status make_room(const struct sockaddr_un *at, vug_err *err)
{
    struct stat info;
    if (lstat(at->sun_path, &info) != 0)
        return VUG_OK;
    if (!S_ISSOCK(info.st_mode))
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: exists, and is no socket", at->sun_path);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        return VUG_FAIL(err, VUG_IO, "%s: %s", at->sun_path, strerror(errno));
    /* One that has too many connections would let us wait. */
    const int failed = evutil_make_socket_nonblocking(fd) != 0 ||
                       connect(fd, (const struct sockaddr *)at, sizeof(*at)) != 0;
    const int reason = failed ? errno : EAGAIN;
    (void)close(fd);
    if (reason != ECONNREFUSED)
        return VUG_FAIL(err, VUG_IO, "%s: %s", at->sun_path,
                        reason == EAGAIN ? "another server listens there" : strerror(reason));
    if (unlink(at->sun_path) != 0)
        return VUG_FAIL(err, VUG_IO, "%s: %s", at->sun_path, strerror(errno));
    return VUG_OK;
}

/* From the first moment only for this user: what bind makes, the mask restricts. */
static bool bind_private(int fd, const struct sockaddr_un *at)
{
    const mode_t mask = umask(0177);
    const bool ok = bind(fd, (const struct sockaddr *)at, sizeof(*at)) == 0;
    const int reason = errno;
    (void)umask(mask);
    errno = reason;
    return ok;
}

static vug_status listen_unix(vug_http *http, vug_err *err)
{
    const char *path = http->opt.unix_path;
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    struct stat info;
    char address[sizeof(at.sun_path) + 8];
    if (!*path || strlen(path) >= sizeof(at.sun_path))
        return VUG_FAIL(err, VUG_ARGUMENT, "--unix: a path of %zu bytes, expected 1 to %zu",
                        strlen(path), sizeof(at.sun_path) - 1);
    memcpy(at.sun_path, path, strlen(path));
    VUG_TRY(make_room(&at, err));
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || evutil_make_socket_nonblocking(fd) != 0 || !bind_private(fd, &at)) {
        const char *reason = strerror(errno);
        if (fd >= 0)
            (void)close(fd);
        return VUG_FAIL(err, VUG_IO, "%s: %s", path, reason);
    }
    if (lstat(path, &info) == 0) {
        http->owns_unix = true;
        http->unix_device = (unsigned long long)info.st_dev;
        http->unix_inode = (unsigned long long)info.st_ino;
    }
    (void)snprintf(address, sizeof(address), "unix:%s", path);
    const vug_status st = listen_at(http, fd, address, true, err);
    if (st != VUG_OK)
        (void)close(fd);
    return st;
}

/* ---- both ------------------------------------------------------------------------------ */

static void on_rest(evutil_socket_t fd, short what, void *arg)
{
    const vug_http *http = arg;
    (void)fd, (void)what;
    for (size_t i = 0; i < http->n_listeners; i++)
        (void)evconnlistener_enable(http->listener[i].on);
}

vug_status vug_http_listen(vug_http *http, vug_err *err)
{
    http->rest = evtimer_new(http->base, on_rest, http);
    if (!http->rest)
        return VUG_FAIL_NOMEM(err, "a timer", 0);
    if (http->opt.unix_path)
        VUG_TRY(listen_unix(http, err));
    return http->opt.no_tcp ? VUG_OK : listen_tcp(http, err);
}

void vug_http_unlisten(vug_http *http)
{
    struct stat info;
    for (size_t i = 0; i < http->n_listeners; i++)
        evconnlistener_free(http->listener[i].on);
    http->n_listeners = 0;
    if (http->rest)
        event_free(http->rest);
    http->rest = NULL;
    /* Not the socket of a server that has come since. */
    if (http->owns_unix && lstat(http->opt.unix_path, &info) == 0 &&
        (unsigned long long)info.st_dev == http->unix_device &&
        (unsigned long long)info.st_ino == http->unix_inode)
        (void)unlink(http->opt.unix_path);
    http->owns_unix = false;
}
