#include "text/grammar/intern.h"

#include <stdlib.h>

#include "text/tokenizer/hash_index.h"

/* A hostile grammar could make its lists collide, hence a limit on probes: see hash_index.h. */
enum { MAX_INSERTION_SORT = 16, MAX_PROBES = VUG_HASH_INDEX_MAX_PROBES };

static uint64_t hash_of(const uint32_t *element, size_t n)
{
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++)
        hash = vug_hash_step(hash, element[i]);
    return hash * VUG_HASH_FACTOR >> 32;
}

/* The slot of an equal list, or the free slot where it belongs. `n_slots` if more than
 * MAX_PROBES other lists come first. */
static size_t find_slot(const vug_intern_table *table, const uint32_t *element, size_t n)
{
    size_t at = hash_of(element, n) & (table->n_slots - 1);
    for (int i = 0; i < MAX_PROBES; i++) {
        size_t len;
        if (table->slot[at] == 0)
            return at;
        const uint32_t *there = vug_intern_get(table, table->slot[at] - 1, &len);
        if (len == n && (n == 0 || memcmp(there, element, n * sizeof(*element)) == 0))
            return at;
        at = (at + 1) & (table->n_slots - 1);
    }
    return table->n_slots;
}

static bool grow_slots(vug_intern_table *table)
{
    const size_t n_slots = table->n_slots ? table->n_slots * 2 : 64;
    uint32_t *slot = vug_alloc_zero(n_slots, sizeof(*slot));
    if (!slot)
        return false;
    vug_free(table->slot);
    table->slot = slot;
    table->n_slots = n_slots;
    for (uint32_t id = 0; id < table->n; id++) {
        size_t len;
        const uint32_t *list = vug_intern_get(table, id, &len);
        const size_t at = find_slot(table, list, len);
        table->too_many_collisions = table->too_many_collisions || at == n_slots;
        if (table->too_many_collisions)
            return false;
        slot[at] = id + 1;
    }
    return true;
}

static bool grow_array(uint32_t **list, size_t *cap, size_t wanted)
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

uint32_t vug_intern_add(vug_intern_table *table, const uint32_t *element, size_t n)
{
    if (2 * table->n >= table->n_slots && !grow_slots(table))
        return VUG_INTERN_NONE;
    const size_t slot = find_slot(table, element, n);
    table->too_many_collisions = table->too_many_collisions || slot == table->n_slots;
    if (table->too_many_collisions)
        return VUG_INTERN_NONE;
    if (table->slot[slot] != 0)
        return table->slot[slot] - 1;
    if (!grow_array(&table->at, &table->cap_at, table->n + 2))
        return VUG_INTERN_NONE;
    if (table->n == 0)
        table->at[0] = 0;
    const size_t used = table->at[table->n];
    if (!grow_array(&table->pool, &table->cap_pool, used + n + 1))
        return VUG_INTERN_NONE;
    if (n)
        memcpy(table->pool + used, element, n * sizeof(*element));
    table->at[++table->n] = (uint32_t)(used + n);
    table->slot[slot] = (uint32_t)table->n;
    return (uint32_t)table->n - 1;
}

uint32_t vug_intern_find(const vug_intern_table *table, const uint32_t *element, size_t n)
{
    const size_t at = table->n_slots ? find_slot(table, element, n) : table->n_slots;
    return at < table->n_slots && table->slot[at] ? table->slot[at] - 1 : VUG_INTERN_NONE;
}

void vug_intern_release(vug_intern_table *table)
{
    vug_free(table->slot);
    vug_free(table->at);
    vug_free(table->pool);
    *table = (vug_intern_table){ 0 };
}

static int compare_u32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

size_t vug_sort_unique(uint32_t *element, size_t n)
{
    if (n > MAX_INSERTION_SORT)
        qsort(element, n, sizeof(*element), compare_u32);
    for (size_t i = 1; i < n && n <= MAX_INSERTION_SORT; i++) {
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
