#ifndef VUG_TEXT_TOKENIZER_INDEX_H
#define VUG_TEXT_TOKENIZER_INDEX_H

/*
 * A hash index: from a 64-bit hash to the numbers, below 2^24 - 1, of entries
 * that the caller keeps elsewhere and compares himself. A slot is 32 bits, the
 * entry plus 8 bits of its hash, so that a quarter of a million tokens are found
 * through 2 MB and a wrong entry is rarely looked at.
 *
 *     for (vug_probe p = vug_probe_start(&index, hash); vug_probe_next(&p);)
 *         if (equal(p.entry, key)) ...
 *
 * At most half of the slots are used and probing is linear. Tokenizers are
 * untrusted and could be built to collide: an entry that would lie more than
 * VUG_INDEX_MAX_PROBES from its place is refused, which random entries reach with
 * a probability below 1e-20.
 */

#include "core/mem.h"

#define VUG_INDEX_MAX_ENTRIES ((size_t)0xfffffe)
#define VUG_INDEX_MAX_PROBES  512

typedef struct {
    uint32_t *slot; /* [n_slots]: 0 empty, else tag << 24 | entry + 1 */
    uint32_t n_slots;
} vug_index;

/* Room for `n` <= VUG_INDEX_MAX_ENTRIES entries; false when out of memory. */
bool vug_index_init(vug_index *index, size_t n);
void vug_index_release(vug_index *index);

typedef struct {
    const vug_index *index;
    uint32_t at;    /* slot of `entry` */
    uint32_t tag;   /* of the hash, in its place in a slot */
    uint32_t left;  /* slots still to look at */
    uint32_t entry; /* a candidate */
} vug_probe;

static inline vug_probe vug_probe_start(const vug_index *index, uint64_t hash)
{
    /* The high half scaled to the slots, the low byte as the tag. `at` is one
     * before the first slot to look at. */
    const uint32_t home = (uint32_t)((hash >> 32) * index->n_slots >> 32);
    return (vug_probe){ .index = index,
                        .at = (home ? home : index->n_slots) - 1,
                        .tag = (uint32_t)(hash & 0xff) << 24,
                        .left = index->n_slots ? VUG_INDEX_MAX_PROBES : 0 };
}

/* True with the next candidate; false at an empty slot. */
static inline bool vug_probe_next(vug_probe *p)
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

/* After vug_probe_next has returned false. False when too many collide. */
bool vug_probe_insert(vug_index *index, const vug_probe *p, uint32_t entry);
/* Lets the slot of the candidate stand for another entry of the same key. */
void vug_probe_replace(vug_index *index, const vug_probe *p, uint32_t entry);

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
