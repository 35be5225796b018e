#include "text/tokenizer/hash_index.h"

bool vug_hash_index_init(vug_hash_index *index, size_t n)
{
    VUG_ASSERT(n <= VUG_HASH_INDEX_MAX_ENTRIES);
    const size_t n_slots = n < 4 ? 8 : 2 * n;
    uint32_t *slot = vug_alloc(n_slots, sizeof(*slot));
    if (!slot)
        return false;
    /* memset rather than calloc: fresh zero pages cost two faults each when they are first
     * read and then written, as slots are. */
    memset(slot, 0, n_slots * sizeof(*slot));
    *index = (vug_hash_index){ .slot = slot, .n_slots = (uint32_t)n_slots };
    return true;
}

void vug_hash_index_release(vug_hash_index *index)
{
    vug_free(index->slot);
    *index = (vug_hash_index){ 0 };
}

bool vug_hash_probe_insert(vug_hash_index *index, const vug_hash_probe *p, uint32_t entry)
{
    if (index->slot[p->at] != 0)
        return false;
    index->slot[p->at] = p->tag | (entry + 1);
    return true;
}

void vug_hash_probe_replace(vug_hash_index *index, const vug_hash_probe *p, uint32_t entry)
{
    index->slot[p->at] = p->tag | (entry + 1);
}

static uint64_t load_bytes(const char *text, size_t n)
{
    uint64_t word = 0;
    memcpy(&word, text, n);
    return word;
}

uint64_t vug_hash_bytes(const char *text, size_t n)
{
    uint64_t hash = n * VUG_HASH_FACTOR;
    for (; n > 8; text += 8, n -= 8)
        hash = vug_hash_step(hash, load_bytes(text, 8));
    /* Constant sizes become single loads; the two halves may overlap. */
    uint64_t rest;
    if (n >= 4)
        rest = load_bytes(text, 4) | load_bytes(text + n - 4, 4) << 32;
    else
        rest = n > 0 ? load_bytes(text, 1) | load_bytes(text + n / 2, 1) << 8 |
                               load_bytes(text + n - 1, 1) << 16
                     : 0;
    return vug_hash_step(vug_hash_step(hash, rest), n) * VUG_HASH_FACTOR;
}
