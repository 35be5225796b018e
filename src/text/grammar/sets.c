#include "text/grammar/sets.h"

#include <stdlib.h>

#include "text/tokenizer/index.h"

/* Grammars could be written to collide, as tokenizers could: see index.h. */
enum { FEW = 16, MAX_PROBES = VUG_INDEX_MAX_PROBES };

static uint64_t hash_of(const uint32_t *element, size_t n)
{
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++)
        hash = vug_hash_step(hash, element[i]);
    return hash * VUG_HASH_FACTOR >> 32;
}

/* The slot of an equal list, or the empty one where it would be; `n_slots` where too many
 * others lie before it. */
static size_t find(const vug_sets *s, const uint32_t *element, size_t n)
{
    size_t at = hash_of(element, n) & (s->n_slots - 1);
    for (int i = 0; i < MAX_PROBES; i++) {
        size_t len;
        if (s->slot[at] == 0)
            return at;
        const uint32_t *there = vug_sets_get(s, s->slot[at] - 1, &len);
        if (len == n && (n == 0 || memcmp(there, element, n * sizeof(*element)) == 0))
            return at;
        at = (at + 1) & (s->n_slots - 1);
    }
    return s->n_slots;
}

static bool grow_slots(vug_sets *s)
{
    const size_t n_slots = s->n_slots ? s->n_slots * 2 : 64;
    uint32_t *slot = vug_alloc_zero(n_slots, sizeof(*slot));
    if (!slot)
        return false;
    vug_free(s->slot);
    s->slot = slot;
    s->n_slots = n_slots;
    for (uint32_t id = 0; id < s->n; id++) {
        size_t len;
        const uint32_t *list = vug_sets_get(s, id, &len);
        const size_t at = find(s, list, len);
        s->crowded = s->crowded || at == n_slots;
        if (s->crowded)
            return false;
        slot[at] = id + 1;
    }
    return true;
}

static bool grow(uint32_t **list, size_t *cap, size_t wanted)
{
    if (wanted <= *cap)
        return true;
    size_t larger = *cap ? *cap * 2 : 256;
    while (larger < wanted)
        larger *= 2;
    uint32_t *moved = larger <= UINT32_MAX ? vug_realloc(*list, larger, sizeof(*moved)) : NULL;
    if (!moved)
        return false;
    *list = moved;
    *cap = larger;
    return true;
}

uint32_t vug_sets_intern(vug_sets *s, const uint32_t *element, size_t n)
{
    if (2 * s->n >= s->n_slots && !grow_slots(s))
        return VUG_SETS_NONE;
    const size_t slot = find(s, element, n);
    s->crowded = s->crowded || slot == s->n_slots;
    if (s->crowded)
        return VUG_SETS_NONE;
    if (s->slot[slot] != 0)
        return s->slot[slot] - 1;
    if (!grow(&s->at, &s->cap_at, s->n + 2))
        return VUG_SETS_NONE;
    if (s->n == 0)
        s->at[0] = 0;
    const size_t used = s->at[s->n];
    if (!grow(&s->pool, &s->cap_pool, used + n + 1))
        return VUG_SETS_NONE;
    if (n)
        memcpy(s->pool + used, element, n * sizeof(*element));
    s->at[++s->n] = (uint32_t)(used + n);
    s->slot[slot] = (uint32_t)s->n;
    return (uint32_t)s->n - 1;
}

uint32_t vug_sets_find(const vug_sets *s, const uint32_t *element, size_t n)
{
    const size_t at = s->n_slots ? find(s, element, n) : s->n_slots;
    return at < s->n_slots && s->slot[at] ? s->slot[at] - 1 : VUG_SETS_NONE;
}

void vug_sets_release(vug_sets *s)
{
    vug_free(s->slot);
    vug_free(s->at);
    vug_free(s->pool);
    *s = (vug_sets){ 0 };
}

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

size_t vug_sort_unique(uint32_t *element, size_t n)
{
    if (n > FEW)
        qsort(element, n, sizeof(*element), ascending);
    for (size_t i = 1; i < n && n <= FEW; i++) {
        const uint32_t moving = element[i];
        size_t j = i;
        for (; j > 0 && element[j - 1] > moving; j--)
            element[j] = element[j - 1];
        element[j] = moving;
    }
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (count == 0 || element[count - 1] != element[i])
            element[count++] = element[i];
    }
    return count;
}
