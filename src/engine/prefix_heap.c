#include "engine/prefix_heap.h"

bool vug_prefix_heap_reserve(vug_prefix_heap *heap, size_t n)
{
    while (heap->cap < n + 1) {
        vug_prefix_entry **more =
                vug_grow_array(heap->entry, &heap->cap, heap->cap, sizeof(void *));
        if (!more)
            return false;
        heap->entry = more;
    }
    return true;
}

void vug_prefix_heap_release(vug_prefix_heap *heap)
{
    vug_free(heap->entry);
    *heap = (vug_prefix_heap){ 0 };
}

static bool is_before(const vug_prefix_entry *a, const vug_prefix_entry *b)
{
    return a->used != b->used ? a->used < b->used : a->position > b->position;
}

static void put(vug_prefix_heap *heap, size_t at, vug_prefix_entry *entry)
{
    heap->entry[at] = entry;
    entry->at = at;
}

/* Puts an entry at `at` or above. */
static void move_up(vug_prefix_heap *heap, size_t at, vug_prefix_entry *entry)
{
    for (; at > 1 && is_before(entry, heap->entry[at / 2]); at /= 2)
        put(heap, at, heap->entry[at / 2]);
    put(heap, at, entry);
}

/* Puts an entry at `at` or below. */
static void move_down(vug_prefix_heap *heap, size_t at, vug_prefix_entry *entry)
{
    while (2 * at <= heap->n) {
        size_t below = 2 * at;
        if (below < heap->n && is_before(heap->entry[below + 1], heap->entry[below]))
            below++;
        if (!is_before(heap->entry[below], entry))
            break;
        put(heap, at, heap->entry[below]);
        at = below;
    }
    put(heap, at, entry);
}

void vug_prefix_heap_push(vug_prefix_heap *heap, vug_prefix_entry *entry)
{
    if (entry->at > 0)
        return;
    VUG_ASSERT(heap->n + 1 < heap->cap);
    heap->n++;
    move_up(heap, heap->n, entry);
}

void vug_prefix_heap_remove(vug_prefix_heap *heap, vug_prefix_entry *entry)
{
    const size_t at = entry->at;
    if (at == 0)
        return;
    entry->at = 0;
    vug_prefix_entry *last = heap->entry[heap->n--];
    if (last == entry)
        return;
    move_down(heap, at, last);
    move_up(heap, last->at, last);
}
