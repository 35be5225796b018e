#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "server/http/internal.h"

static vug_status fail_with_openssl(const char *path, const char *use, vug_err *err)
{
    const unsigned long e = ERR_peek_error();
    const char *reason = ERR_reason_error_string(e);
    ERR_clear_error();
    if (ERR_SYSTEM_ERROR(e))
        return VUG_FAIL(err, VUG_ARGUMENT, "%s: cannot open: %s", path,
                        strerror(ERR_GET_REASON(e)));
    return VUG_FAIL(err, VUG_ARGUMENT, "%s: cannot be used as %s (%s)", path, use,
                    reason ? reason : "OpenSSL gives no reason");
}

/* Fails instead of prompting on the terminal. */
static int refuse_password(char *to, int size, int writes, void *user)
{
    (void)writes, (void)user;
    if (size > 0)
        *to = '\0';
    return -1;
}

static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *n,
                       const unsigned char *in, unsigned in_n, void *user)
{
    static const unsigned char supported[] = "\x08http/1.1";
    unsigned char *selected;
    (void)ssl, (void)user;
    if (SSL_select_next_proto(&selected, n, supported, sizeof(supported) - 1, in, in_n) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = selected;
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
        return fail_with_openssl("TLS", "a protocol", err);
    http->tls = tls;
    SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
    SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
    /* Clients keep their sessions as tickets. */
    (void)SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(tls, select_alpn, NULL);
    SSL_CTX_set_default_passwd_cb(tls, refuse_password);
    if (SSL_CTX_use_certificate_chain_file(tls, cert) != 1)
        return fail_with_openssl(cert, "a PEM certificate", err);
    if (SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1)
        return fail_with_openssl(key, "a PEM private key without a passphrase", err);
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
    /* On failure this frees `ssl`. */
    struct bufferevent *io = bufferevent_openssl_socket_new(
            http->base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
    if (!io)
        return NULL;
    /* Many clients just close; lengths and chunks show whether the request was complete. */
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
