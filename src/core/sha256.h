#ifndef VUG_CORE_SHA256_H
#define VUG_CORE_SHA256_H

/*
 * SHA-256 (FIPS 180-4), by OpenSSL's libcrypto, which uses the processor's instructions for it.
 * For checksums of files on disk, and for keys that nobody can make collide.
 */

#include "core/bytes.h"
#include "core/status.h"

enum { VUG_SHA256_BYTES = 32 };

/* A hash of bytes that arrive in parts. Sticky: vug_sha256_finish reports the first failure. One
 * thread at a time. */
typedef struct {
    void *context;
    bool bad;
} vug_sha256;

void vug_sha256_begin(vug_sha256 *hash);
void vug_sha256_add(vug_sha256 *hash, const void *bytes, size_t n);
/* The length in 8 bytes, little-endian, before the bytes: so no two lists of byte strings are the
 * same input. */
void vug_sha256_add_sized(vug_sha256 *hash, vug_bytes bytes);
/* Releases the hash, also on failure (out of memory). */
VUG_MUST_CHECK vug_status vug_sha256_finish(vug_sha256 *hash, uint8_t out[VUG_SHA256_BYTES],
                                            vug_err *err);

#endif
