/* Reading tensors of mapped files ahead of use, and giving their memory back. */
#include "weights/directory.h"

/* Large enough that system calls cost little beside the page reads, small enough for a
 * responsive progress bar and cancellation. */
enum { POPULATE_PIECE = 32 * 1024 * 1024 };

/* NULL when the bytes are not in a mapped file. */
static const vug_mapping *mapping_of(const vug_weights *weights, const uint8_t *bytes)
{
    const uintptr_t data = (uintptr_t)bytes;
    for (size_t i = 0; i < weights->n_files; i++) {
        const uintptr_t base = (uintptr_t)weights->file[i].base;
        if (base && data >= base && data - base < weights->file[i].bytes.len)
            return &weights->file[i];
    }
    return NULL;
}

typedef struct {
    uint64_t done, total;
    vug_progress_fn *progress; /* may be NULL */
    void *user;
} populate_progress;

static bool populate_range(const vug_weights *weights, const uint8_t *bytes, uint64_t size,
                           populate_progress *r)
{
    const vug_mapping *mapping = mapping_of(weights, bytes);
    const size_t first = mapping ? (size_t)((uintptr_t)bytes - (uintptr_t)mapping->base) : 0;
    for (uint64_t at = 0; at < size;) {
        const uint64_t left = size - at;
        const size_t n = left < POPULATE_PIECE ? (size_t)left : POPULATE_PIECE;
        if (mapping)
            vug_map_populate(mapping, first + (size_t)at, n);
        at += n;
        r->done += n;
        if (r->progress && !r->progress(r->done, r->total, r->user))
            return false;
    }
    return true;
}

bool vug_weights_populate(const vug_weights *weights, const vug_tensor *tensor, uint64_t *done,
                          uint64_t total, vug_progress_fn *progress, void *user)
{
    populate_progress r = { *done, total, progress, user };
    const vug_scales *s = &tensor->scales;
    const uint64_t biases = s->bias ? tensor->scale_bytes / 2 : 0;
    const bool all = populate_range(weights, tensor->data, tensor->bytes, &r) &&
                     populate_range(weights, s->scale, tensor->scale_bytes - biases, &r) &&
                     populate_range(weights, s->bias, biases, &r);
    *done = r.done;
    return all;
}

void vug_weights_prefetch(const vug_weights *weights, const vug_tensor *tensor, uint64_t at,
                          uint64_t n)
{
    const vug_mapping *mapping = mapping_of(weights, tensor->data);
    if (!mapping || at >= tensor->bytes)
        return;
    const size_t first = (size_t)((uintptr_t)tensor->data - (uintptr_t)mapping->base);
    vug_map_prefetch(mapping, first + (size_t)at,
                     (size_t)(tensor->bytes - at < n ? tensor->bytes - at : n));
}

void vug_weights_evict(const vug_weights *weights, const vug_tensor *tensor)
{
    const vug_mapping *mapping = mapping_of(weights, tensor->data);
    if (mapping)
        vug_map_evict(mapping, (size_t)((uintptr_t)tensor->data - (uintptr_t)mapping->base),
                      (size_t)tensor->bytes);
}
