#ifndef VUG_ENGINE_PREFIX_HEAP_H
#define VUG_ENGINE_PREFIX_HEAP_H

/*
 * What a prefix tree could give up, ordered by last use: a binary heap from which any entry can
 * be removed. Of entries with the same last use the one farthest from the root is first.
 */

#include "core/mem.h"

typedef struct vug_prefix_node vug_prefix_node;

/* Part of a node. All but `at` is its owner's and constant while it is in a heap. */
typedef struct {
    vug_prefix_node *node;
    int group;       /* of the page of the node that the entry stands for; -1: the node itself */
    uint64_t used;   /* when: of two numbers the lower one is earlier */
    size_t position; /* of the node: tokens before its end */
    size_t at;       /* index in the heap, from 1; 0: in none */
} vug_prefix_entry;

/* All-zero is an empty heap. */
typedef struct {
    vug_prefix_entry **entry; /* [cap], from index 1 */
    size_t n, cap;
} vug_prefix_heap;

/* Makes room for `n` entries; false when out of memory. */
bool vug_prefix_heap_reserve(vug_prefix_heap *heap, size_t n);
void vug_prefix_heap_release(vug_prefix_heap *heap);
/* There must be room. Does nothing if the entry is in the heap. */
void vug_prefix_heap_push(vug_prefix_heap *heap, vug_prefix_entry *entry);
/* Does nothing if the entry is not in the heap. */
void vug_prefix_heap_remove(vug_prefix_heap *heap, vug_prefix_entry *entry);

/* The entry to give up first; NULL: the heap is empty. */
static inline vug_prefix_entry *vug_prefix_heap_first(const vug_prefix_heap *heap)
{
    return heap->n > 0 ? heap->entry[1] : NULL;
}

#endif
