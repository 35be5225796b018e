#include "text/grammar/intern.h"

#include "text/tokenizer/hash_index.h"

/* A hostile grammar could make its lists collide, hence a limit on probes: see hash_index.h. */
enum { MAX_PROBES = VUG_HASH_INDEX_MAX_PROBES };

static uint32_t hash_of(const uint32_t *element, size_t n)
{
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++)
        hash = vug_hash_step(hash, element[i]);
    return (uint32_t)(hash * VUG_HASH_FACTOR >> 32);
}

static uint32_t id_in(uint64_t slot)
{
    return (uint32_t)slot - 1;
}

/* The slot of an equal list, or the free slot where it belongs. `n_slots` if more than
 * MAX_PROBES other lists come first. */
static size_t find_slot(const vug_intern_table *table, uint32_t hash, const uint32_t *element,
                        size_t n)
{
    size_t at = hash & (table->n_slots - 1);
    for (int i = 0; i < MAX_PROBES; i++) {
        const uint64_t slot = table->slot[at];
        if (slot == 0)
            return at;
        if (slot >> 32 == hash) {
            size_t len;
            const uint32_t *there = vug_intern_get(table, id_in(slot), &len);
            if (len == n && (n == 0 || memcmp(there, element, n * sizeof(*element)) == 0))
                return at;
        }
        at = (at + 1) & (table->n_slots - 1);
    }
    return table->n_slots;
}

/* The lists differ, so that only their hashes are looked at. */
static size_t find_free_slot(const uint64_t *slot, size_t n_slots, uint32_t hash)
{
    size_t at = hash & (n_slots - 1);
    for (int i = 0; i < MAX_PROBES; i++) {
        if (slot[at] == 0)
            return at;
        at = (at + 1) & (n_slots - 1);
    }
    return n_slots;
}

static bool grow_slots(vug_intern_table *table, size_t n_slots)
{
    uint64_t *slot = vug_alloc_zero(n_slots, sizeof(*slot));
    if (!slot)
        return false;
    for (size_t i = 0; i < table->n_slots && !table->too_many_collisions; i++) {
        if (table->slot[i] == 0)
            continue;
        const size_t at = find_free_slot(slot, n_slots, (uint32_t)(table->slot[i] >> 32));
        table->too_many_collisions = at == n_slots;
        if (at < n_slots)
            slot[at] = table->slot[i];
    }
    vug_free(table->slot);
    table->slot = slot;
    table->n_slots = n_slots;
    return !table->too_many_collisions;
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

uint32_t vug_intern_append(vug_intern_table *table, const uint32_t *element, size_t n)
{
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
    return (uint32_t)table->n - 1;
}

uint32_t vug_intern_add(vug_intern_table *table, const uint32_t *element, size_t n)
{
    if (2 * table->n >= table->n_slots &&
        !grow_slots(table, table->n_slots ? 2 * table->n_slots : 64))
        return VUG_INTERN_NONE;
    const uint32_t hash = hash_of(element, n);
    const size_t slot = find_slot(table, hash, element, n);
    table->too_many_collisions = table->too_many_collisions || slot == table->n_slots;
    if (table->too_many_collisions)
        return VUG_INTERN_NONE;
    if (table->slot[slot] != 0)
        return id_in(table->slot[slot]);
    const uint32_t id = vug_intern_append(table, element, n);
    if (id != VUG_INTERN_NONE)
        table->slot[slot] = (uint64_t)hash << 32 | table->n;
    return id;
}

uint32_t vug_intern_find(const vug_intern_table *table, const uint32_t *element, size_t n)
{
    const size_t at = table->n_slots ? find_slot(table, hash_of(element, n), element, n) : 0;
    return at < table->n_slots && table->slot[at] ? id_in(table->slot[at]) : VUG_INTERN_NONE;
}

void vug_intern_reserve(vug_intern_table *table, size_t n, size_t n_elements)
{
    size_t n_slots = 64;
    while (n_slots < 2 * n)
        n_slots *= 2;
    if (n_slots > table->n_slots)
        (void)grow_slots(table, n_slots);
    (void)grow_array(&table->at, &table->cap_at, n + 1);
    (void)grow_array(&table->pool, &table->cap_pool, n_elements);
}

void vug_intern_release(vug_intern_table *table)
{
    vug_free(table->slot);
    vug_free(table->at);
    vug_free(table->pool);
    *table = (vug_intern_table){ 0 };
}

/* Shell's sort (1959): short lists are the usual case, and there are very many of them. */
static void sort_numbers(uint32_t *element, size_t n)
{
    for (size_t gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
        for (size_t i = gap; i < n; i++) {
            const uint32_t moving = element[i];
            size_t j = i;
            for (; j >= gap && element[j - gap] > moving; j -= gap)
                element[j] = element[j - gap];
            element[j] = moving;
        }
    }
}

size_t vug_sort_unique(uint32_t *element, size_t n)
{
    sort_numbers(element, n);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (count == 0 || element[count - 1] != element[i])
            element[count++] = element[i];
    }
    return count;
}
