/* SHA-256 through OpenSSL's EVP interface. */
#include "core/sha256.h"

#include <openssl/evp.h>

void vug_sha256_begin(vug_sha256 *hash)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    *hash = (vug_sha256){ .context = context };
    hash->bad = !context || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1;
}

void vug_sha256_add(vug_sha256 *hash, const void *bytes, size_t n)
{
    if (!hash->bad && n && EVP_DigestUpdate(hash->context, bytes, n) != 1)
        hash->bad = true;
}

void vug_sha256_add_sized(vug_sha256 *hash, vug_bytes bytes)
{
    uint8_t size[8];
    for (int i = 0; i < 8; i++)
        size[i] = (uint8_t)((uint64_t)bytes.len >> 8 * i);
    vug_sha256_add(hash, size, sizeof(size));
    vug_sha256_add(hash, bytes.ptr, bytes.len);
}

vug_status vug_sha256_finish(vug_sha256 *hash, uint8_t out[VUG_SHA256_BYTES], vug_err *err)
{
    const bool ok = !hash->bad && EVP_DigestFinal_ex(hash->context, out, NULL) == 1;
    EVP_MD_CTX_free(hash->context);
    *hash = (vug_sha256){ .bad = true };
    return ok ? VUG_OK : VUG_FAIL(err, VUG_NOMEM, "out of memory: SHA-256 in libcrypto");
}
