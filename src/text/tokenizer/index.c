#include "text/tokenizer/index.h"

bool vug_index_init(vug_index *index, size_t n)
{
    VUG_ASSERT(n <= VUG_INDEX_MAX_ENTRIES);
    const size_t n_slots = n < 4 ? 8 : 2 * n;
    uint32_t *slot = vug_alloc(n_slots, sizeof(*slot));
    if (!slot)
        return false;
    /* Written at once: fresh zeroed memory costs two faults a page when it is
     * first read and then written, as slots are. */
    memset(slot, 0, n_slots * sizeof(*slot));
    *index = (vug_index){ .slot = slot, .n_slots = (uint32_t)n_slots };
    return true;
}

void vug_index_release(vug_index *index)
{
    vug_free(index->slot);
    *index = (vug_index){ 0 };
}

bool vug_probe_insert(vug_index *index, const vug_probe *p, uint32_t entry)
{
    if (index->slot[p->at] != 0)
        return false;
    index->slot[p->at] = p->tag | (entry + 1);
    return true;
}

void vug_probe_replace(vug_index *index, const vug_probe *p, uint32_t entry)
{
    index->slot[p->at] = p->tag | (entry + 1);
}

static uint64_t load(const char *text, size_t n)
{
    uint64_t word = 0;
    memcpy(&word, text, n);
    return word;
}

uint64_t vug_hash_bytes(const char *text, size_t n)
{
    uint64_t hash = n * VUG_HASH_FACTOR;
    for (; n > 8; text += 8, n -= 8)
        hash = vug_hash_step(hash, load(text, 8));
    /* Constant sizes become single loads; the two halves may overlap. */
    uint64_t rest;
    if (n >= 4)
        rest = load(text, 4) | load(text + n - 4, 4) << 32;
    else
        rest = n > 0 ? load(text, 1) | load(text + n / 2, 1) << 8 | load(text + n - 1, 1) << 16 : 0;
    return vug_hash_step(vug_hash_step(hash, rest), n) * VUG_HASH_FACTOR;
}
