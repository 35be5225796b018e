#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "app/server/http/own.h"

static vug_status failed(const char *path, const char *use, vug_err *err)
{
    const unsigned long e = ERR_peek_error();
    const char *reason = ERR_reason_error_string(e);
    ERR_clear_error();
    if (ERR_SYSTEM_ERROR(e))
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: cannot open: %s", path,
                        strerror(ERR_GET_REASON(e)));
    return VUG_FAIL(err, VUG_ARGUMENT, "%s: cannot be used as %s (%s)", path, use,
                    reason ? reason : "OpenSSL does not say why");
}

/* A server that waits for somebody at a terminal does not start. */
static int no_password(char *to, int size, int writes, void *user)
{
    (void)writes, (void)user;
    if (size > 0)
        *to = '\0';
    return -1;
}

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *n,
                           const unsigned char *in, unsigned in_n, void *user)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *chosen;
    (void)ssl, (void)user;
    if (SSL_select_next_proto(&chosen, n, ours, sizeof(ours) - 1, in, in_n) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

vug_status vug_http_tls_open(vug_http *http, vug_err *err)
{
    const char *cert = http->opt.tls_cert, *key = http->opt.tls_key;
    if (!cert && !key)
        return VUG_OK;
    if (!cert || !key)
        return VUG_FAIL(err, VUG_ARGUMENT, "TLS needs both --tls-cert and --tls-key");
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    if (!tls)
        return failed("TLS", "a protocol", err);
    http->tls = tls;
    SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
    SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
    /* Clients keep their sessions themselves, as tickets. */
    (void)SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(tls, choose_protocol, NULL);
    SSL_CTX_set_default_passwd_cb(tls, no_password);
    if (SSL_CTX_use_certificate_chain_file(tls, cert) != 1)
        return failed(cert, "a certificate in PEM", err);
    if (SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1)
        return failed(key, "a private key in PEM without a password", err);
    if (SSL_CTX_check_private_key(tls) == 1)
        return VUG_OK;
    ERR_clear_error();
    return VUG_FAIL(err, VUG_ARGUMENT, "%s: is not the private key of %s", key, cert);
}

void vug_http_tls_close(vug_http *http)
{
    SSL_CTX_free(http->tls);
    http->tls = NULL;
}

struct bufferevent *vug_http_tls_accept(vug_http *http, evutil_socket_t fd)
{
    SSL *ssl = SSL_new(http->tls);
    if (!ssl)
        return NULL;
    /* Where this fails, it frees `ssl` itself. */
    struct bufferevent *io = bufferevent_openssl_socket_new(
            http->base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
    if (!io)
        return NULL;
    /* Clients that just close are common; lengths and chunks tell what was complete. */
    bufferevent_openssl_set_allow_dirty_shutdown(io, 1);
    return io;
}

void vug_http_tls_finish(struct bufferevent *io)
{
    SSL *ssl = bufferevent_openssl_get_ssl(io);
    if (ssl)
        (void)SSL_shutdown(ssl);
    ERR_clear_error();
}
