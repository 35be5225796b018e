#ifndef VUG_CORE_RANDOM_H
#define VUG_CORE_RANDOM_H

/* Random bits: SplitMix64 (Steele, Lea, Flood 2014). Not for secrets. */

#include <stdint.h>

#include "core/portable_inline.h"

#define VUG_SPLITMIX64_STEP UINT64_C(0x9e3779b97f4a7c15) /* 2^64 over the golden ratio */

/* The finalizer alone: a bijection that mixes all bits. */
VUG_INLINE uint64_t vug_mix64(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* The next 64 bits; any state is a valid seed. */
VUG_INLINE uint64_t vug_splitmix64(uint64_t *state)
{
    return vug_mix64(*state += VUG_SPLITMIX64_STEP);
}

/* What the `n`-th call of vug_splitmix64 from a state of `seed` returns, counted from 1. */
VUG_INLINE uint64_t vug_splitmix64_at(uint64_t seed, uint64_t n)
{
    return vug_mix64(seed + n * VUG_SPLITMIX64_STEP);
}

/* A hash of one number: what a generator with that seed returns first. */
VUG_INLINE uint64_t vug_hash64(uint64_t x)
{
    return vug_splitmix64_at(x, 1);
}

#endif
