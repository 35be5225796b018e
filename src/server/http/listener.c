#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/http/internal.h"

enum { BACKLOG = 511 };
static const struct timeval accept_pause = { 0, 100000 };

/* ---- new connections --------------------------------------------------------------------- */

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                      int n, void *arg)
{
    const vug_http_listener *l = arg;
    (void)listener, (void)address, (void)n;
    vug_http_accept(l->http, fd, l->is_unix);
}

/* No file descriptors are left: frees one, or pauses accepting. Otherwise libevent would report the
 * same pending connection forever. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    vug_http *http = ((const vug_http_listener *)arg)->http;
    (void)listener;
    if (vug_http_conn_evict(vug_http_conn_oldest_waiting(http, 0)))
        return;
    for (size_t i = 0; i < http->n_listeners; i++)
        (void)evconnlistener_disable(http->listener[i].listener);
    (void)evtimer_add(http->resume_accept, &accept_pause);
}

/* Takes `fd`. */
static vug_status add_listener(vug_http *http, evutil_socket_t fd, const char *address,
                               bool is_unix, vug_err *err)
{
    vug_http_listener *l = &http->listener[http->n_listeners];
    *l = (vug_http_listener){ .http = http, .is_unix = is_unix };
    (void)snprintf(l->address, sizeof(l->address), "%s", address);
    l->listener = evconnlistener_new(http->base, on_accept, l,
                                     LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, BACKLOG, fd);
    if (!l->listener) {
        const char *reason = strerror(errno);
        (void)close(fd);
        return VUG_FAIL(err, VUG_IO, "%s: %s", address, reason);
    }
    evconnlistener_set_error_cb(l->listener, on_accept_error);
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

/* Such as "http://127.0.0.1:8080", from the bound socket. */
static void format_address(const vug_http *http, evutil_socket_t fd, char *out, size_t size)
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

/* A name may resolve to addresses that this machine lacks, such as IPv6 ones without IPv6. */
static bool is_address_missing(int reason)
{
    return reason == EADDRNOTAVAIL || reason == EAFNOSUPPORT;
}

/* Sets *missing when it fails because the machine lacks the address. */
static vug_status bind_tcp(vug_http *http, const struct addrinfo *a, bool *missing, vug_err *err)
{
    const char *host = http->opt.host;
    const int on = 1;
    char address[128];
    if (!is_loopback(a->ai_addr) && !http->n_keys && !http->opt.insecure)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s can be reached from other machines: give --api-key or "
                        "--api-key-file, or --insecure to serve anyone",
                        host);
    http->listens_on_any = http->listens_on_any || is_any(a->ai_addr);
    const int fd = socket(a->ai_family, SOCK_STREAM, 0);
    *missing = fd < 0 && is_address_missing(errno);
    if (fd < 0)
        return VUG_FAIL(err, VUG_IO, "%s: %s", host, strerror(errno));
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (a->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (evutil_make_socket_nonblocking(fd) != 0 || bind(fd, a->ai_addr, a->ai_addrlen) != 0) {
        const char *reason = errno == EADDRINUSE ? "already in use; choose another port with --port"
                                                 : strerror(errno);
        *missing = is_address_missing(errno);
        (void)close(fd);
        return VUG_FAIL(err, VUG_IO, "%s, port %d: %s", host, http->opt.port, reason);
    }
    format_address(http, fd, address, sizeof(address));
    return add_listener(http, fd, address, false, err);
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
    bool missing = true, bound = false;
    for (const struct addrinfo *a = found; a && missing; a = a->ai_next) {
        if (http->n_listeners + 1 < VUG_HTTP_MAX_LISTENERS)
            st = bind_tcp(http, a, &missing, err);
        bound = bound || st == VUG_OK;
        missing = missing || st == VUG_OK;
    }
    freeaddrinfo(found);
    return bound && missing ? VUG_OK : st;
}

/* ---- unix sockets -------------------------------------------------------------------------- */

/* Removes the socket of a server that has ended; anything else is left alone. */
static vug_status remove_stale_socket(const struct sockaddr_un *at, vug_err *err)
{
    struct stat info;
    if (lstat(at->sun_path, &info) != 0)
        return VUG_OK;
    if (!S_ISSOCK(info.st_mode))
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: exists and is not a socket", at->sun_path);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        return VUG_FAIL(err, VUG_IO, "%s: %s", at->sun_path, strerror(errno));
    /* Non-blocking: connecting to a server with a full backlog would wait. */
    const int failed = evutil_make_socket_nonblocking(fd) != 0 ||
                       connect(fd, (const struct sockaddr *)at, sizeof(*at)) != 0;
    const int reason = failed ? errno : EAGAIN;
    (void)close(fd);
    if (reason != ECONNREFUSED)
        return VUG_FAIL(err, VUG_IO, "%s: %s", at->sun_path,
                        reason == EAGAIN ? "another server is listening there" : strerror(reason));
    if (unlink(at->sun_path) != 0)
        return VUG_FAIL(err, VUG_IO, "%s: %s", at->sun_path, strerror(errno));
    return VUG_OK;
}

/* The mask makes the socket private to this user from the moment bind creates it. */
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
        return VUG_FAIL(err, VUG_ARGUMENT, "--unix: the path has %zu bytes, expected 1 to %zu",
                        strlen(path), sizeof(at.sun_path) - 1);
    memcpy(at.sun_path, path, strlen(path));
    VUG_TRY(remove_stale_socket(&at, err));
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
    return add_listener(http, fd, address, true, err);
}

/* ---- all listeners --------------------------------------------------------------------- */

static void on_resume_accept(evutil_socket_t fd, short what, void *arg)
{
    const vug_http *http = arg;
    (void)fd, (void)what;
    for (size_t i = 0; i < http->n_listeners; i++)
        (void)evconnlistener_enable(http->listener[i].listener);
}

vug_status vug_http_listen(vug_http *http, vug_err *err)
{
    http->resume_accept = evtimer_new(http->base, on_resume_accept, http);
    if (!http->resume_accept)
        return VUG_FAIL_NOMEM(err, "a timer", 0);
    if (http->opt.unix_path)
        VUG_TRY(listen_unix(http, err));
    return http->opt.no_tcp ? VUG_OK : listen_tcp(http, err);
}

void vug_http_stop_listening(vug_http *http)
{
    struct stat info;
    for (size_t i = 0; i < http->n_listeners; i++)
        evconnlistener_free(http->listener[i].listener);
    http->n_listeners = 0;
    if (http->resume_accept)
        event_free(http->resume_accept);
    http->resume_accept = NULL;
    /* Another server may have replaced the socket since. */
    if (http->owns_unix && lstat(http->opt.unix_path, &info) == 0 &&
        (unsigned long long)info.st_dev == http->unix_device &&
        (unsigned long long)info.st_ino == http->unix_inode)
        (void)unlink(http->opt.unix_path);
    http->owns_unix = false;
}
