#ifndef VUG_TEXT_TOKENIZER_HASH_INDEX_H
#define VUG_TEXT_TOKENIZER_HASH_INDEX_H

/*
 * A hash index from a 64-bit hash to entry numbers below 2^24 - 1. The caller stores and
 * compares the entries. A slot is 32 bits, the entry number plus 8 bits of its hash, so a
 * quarter of a million tokens need 2 MB and few comparisons fail.
 *
 *     for (vug_hash_probe p = vug_hash_probe_start(&index, hash); vug_hash_probe_next(&p);)
 *         if (equal(p.entry, key)) ...
 *
 * At most half of the slots are used and probing is linear. Tokenizers are untrusted and
 * could be built to collide: an entry more than VUG_HASH_INDEX_MAX_PROBES away from its home
 * slot is refused. Random entries reach that with a probability below 1e-20.
 */

#include "core/mem.h"

#define VUG_HASH_INDEX_MAX_ENTRIES ((size_t)0xfffffe)
#define VUG_HASH_INDEX_MAX_PROBES  512

typedef struct {
    uint32_t *slot; /* [n_slots]: 0 empty, else tag << 24 | entry + 1 */
    uint32_t n_slots;
} vug_hash_index;

/* Room for `n` <= VUG_HASH_INDEX_MAX_ENTRIES entries; false when out of memory. */
bool vug_hash_index_init(vug_hash_index *index, size_t n);
void vug_hash_index_release(vug_hash_index *index);

typedef struct {
    const vug_hash_index *index;
    uint32_t at;    /* the slot of `entry` */
    uint32_t tag;   /* the hash bits, shifted to their place in a slot */
    uint32_t left;  /* slots still to look at */
    uint32_t entry; /* a candidate */
} vug_hash_probe;

static inline vug_hash_probe vug_hash_probe_start(const vug_hash_index *index, uint64_t hash)
{
    /* The high half picks the home slot, the low byte is the tag. `at` is one before the
     * first slot to look at. */
    const uint32_t home = (uint32_t)((hash >> 32) * index->n_slots >> 32);
    return (vug_hash_probe){ .index = index,
                             .at = (home ? home : index->n_slots) - 1,
                             .tag = (uint32_t)(hash & 0xff) << 24,
                             .left = index->n_slots ? VUG_HASH_INDEX_MAX_PROBES : 0 };
}

/* True with the next candidate; false at an empty slot. */
static inline bool vug_hash_probe_next(vug_hash_probe *p)
{
    while (p->left > 0) {
        p->left--;
        p->at = p->at + 1 < p->index->n_slots ? p->at + 1 : 0;
        const uint32_t slot = p->index->slot[p->at];
        if (slot == 0)
            return false;
        if ((slot & 0xff000000u) == p->tag) {
            p->entry = (slot & 0x00ffffffu) - 1;
            return true;
        }
    }
    return false;
}

/* Only after vug_hash_probe_next has returned false. False when too many entries collide. */
bool vug_hash_probe_insert(vug_hash_index *index, const vug_hash_probe *p, uint32_t entry);
/* Replaces the candidate by another entry with the same key. */
void vug_hash_probe_replace(vug_hash_index *index, const vug_hash_probe *p, uint32_t entry);

#define VUG_HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15) /* 2^64 over the golden ratio */

static inline uint64_t vug_hash_step(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * VUG_HASH_FACTOR;
    return hash ^ hash >> 29;
}

uint64_t vug_hash_bytes(const char *text, size_t n);

static inline uint64_t vug_hash_pair(uint32_t a, uint32_t b)
{
    return vug_hash_step(vug_hash_step(0, (uint64_t)a << 32 | b), a) * VUG_HASH_FACTOR;
}

#endif
