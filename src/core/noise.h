#ifndef VUG_CORE_NOISE_H
#define VUG_CORE_NOISE_H

/* The random numbers of draws (docs/sampling.md): those of one position are hashes of the seed, the
 * position, the domain and an id, so that no draw depends on any other. */

#include "core/portable_math.h"
#include "core/random.h"

typedef enum { VUG_NOISE_DRAW = 1, VUG_NOISE_XTC } vug_noise_domain;

typedef struct {
    uint64_t seed;
    uint64_t position; /* of the token to draw: the number of tokens before it */
} vug_noise;

/* The first 16 of the 64 bits of an id are a part of a hash that four neighbouring ids share, the others
 * are a hash of their own. So one hash can show for four ids that they will not win. */
typedef struct {
    uint64_t first, rest;
} vug_noise_keys;

VUG_INLINE vug_noise_keys vug_noise_keys_of(const vug_noise *noise, vug_noise_domain domain)
{
    const uint64_t key = vug_splitmix64_at(noise->seed, (uint64_t)domain);
    const uint64_t at = vug_splitmix64_at(key, noise->position + 1);
    const vug_noise_keys keys = { vug_splitmix64_at(at, 1), vug_splitmix64_at(at, 2) };
    return keys;
}

/* The first 16 bits of ids 4 `quad` to 4 `quad` + 3, the lowest id in the lowest bits. */
VUG_INLINE uint64_t vug_noise_first_bits_of_four(const vug_noise_keys *keys, int32_t quad)
{
    return vug_splitmix64_at(keys->first, (uint64_t)quad);
}

VUG_INLINE uint32_t vug_noise_first_bits(const vug_noise_keys *keys, int32_t id)
{
    return (uint32_t)(vug_noise_first_bits_of_four(keys, id / 4) >> id % 4 * 16) & 0xffff;
}

/* All bits of an id. They are uniform: x = (result + 1/2) / 2^64. */
VUG_INLINE uint64_t vug_noise_bits_of(const vug_noise_keys *keys, int32_t id)
{
    const uint64_t rest = vug_splitmix64_at(keys->rest, (uint64_t)id) >> 16;
    return (uint64_t)vug_noise_first_bits(keys, id) << 48 | rest;
}

VUG_INLINE uint64_t vug_noise_bits(const vug_noise *noise, vug_noise_domain domain, int32_t id)
{
    const vug_noise_keys keys = vug_noise_keys_of(noise, domain);
    return vug_noise_bits_of(&keys, id);
}

/* A standard Gumbel variable, -log(-log(1 - x)), of 64 uniform bits: the greater, the less they are.
 *
 * -log(1 - x) is log1p of a small x, which decides the large variables, by the series of
 * log((1 + s) / (1 - s)) with s = x / (2 - x) <= 1/7; otherwise 1 - x is exact. */
VUG_INLINE double vug_noise_gumbel(uint64_t bits)
{
    double exponential;
    if (bits < UINT64_C(1) << 62) {
        const double x = ((double)bits + 0.5) * 0x1p-64;
        const double s = x / (2 - x), z = s * s;
        double sum = 0;
        for (int k = 19; k >= 3; k -= 2)
            sum = (sum + 1.0 / k) * z;
        exponential = 2 * s + 2 * s * sum;
    } else {
        exponential = -vug_portable_log(((double)~bits + 0.5) * 0x1p-64);
    }
    return -vug_portable_log(exponential);
}

#endif
