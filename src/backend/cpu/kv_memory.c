/*
 * The memory of key/value pages. Each group reserves address space for all pages that its budget
 * could hold; the system provides memory when a page is first written, and takes it back when a
 * page is discarded.
 */
#include "backend/cpu/attention.h"
#include "core/os.h"

uint64_t vug_cpu_kv_page_bytes(const vug_device *device, const vug_kv_layout *layout, int group)
{
    vug_cpu_kv_cache cache;
    const vug_kv_group *g = &layout->group[group];
    (void)device;
    if (!vug_cpu_kv_cache_init(&cache, g, 0, layout->format))
        return 0;
    return (uint64_t)g->n_layers * vug_cpu_kv_cache_bytes(&cache); /* a multiple of 64 */
}

static uint8_t *page_at(const vug_kv *kv, int group, vug_page page)
{
    VUG_ASSERT(page > 0 && page <= kv->group[group].pages);
    return kv->group[group].base + (page - (uint64_t)1) * kv->group[group].page_bytes;
}

vug_status vug_cpu_kv_create(vug_device *device, const vug_kv_layout *layout, const uint32_t *pages,
                             vug_kv **out, vug_err *err)
{
    vug_kv *kv = vug_alloc_zero(1, sizeof(*kv));
    if (!kv)
        return VUG_FAIL_NOMEM(err, "the key/value cache", sizeof(*kv));
    kv->n_groups = layout->n_groups;
    for (int g = 0; g < layout->n_groups; g++) {
        const uint64_t page_bytes = vug_cpu_kv_page_bytes(device, layout, g);
        uint64_t bytes;
        if (page_bytes == 0 || !vug_mul_size(page_bytes, pages[g], &bytes) ||
            (bytes > 0 && !(kv->group[g].base = vug_reserve(bytes)))) {
            vug_cpu_kv_destroy(kv);
            return VUG_FAIL_NOMEM(err, "the address space of the key/value cache",
                                  page_bytes * pages[g]);
        }
        kv->group[g].page_bytes = page_bytes;
        kv->group[g].pages = pages[g];
    }
    *out = kv;
    return VUG_OK;
}

void vug_cpu_kv_destroy(vug_kv *kv)
{
    if (!kv)
        return;
    for (int g = 0; g < kv->n_groups; g++)
        vug_unreserve(kv->group[g].base, kv->group[g].page_bytes * kv->group[g].pages);
    vug_free(kv);
}

vug_status vug_cpu_kv_commit(vug_kv *kv, int group, vug_page page, vug_err *err)
{
    const uint64_t bytes = kv->group[group].page_bytes;
    if (!vug_commit(page_at(kv, group, page), bytes))
        return VUG_FAIL_NOMEM(err, "a page of the key/value cache", bytes);
    return VUG_OK;
}

void vug_cpu_kv_discard(vug_kv *kv, int group, vug_page page)
{
    vug_discard(page_at(kv, group, page), kv->group[group].page_bytes);
}

void vug_cpu_kv_copy(vug_kv *kv, int group, vug_page to, vug_page from)
{
    memcpy(page_at(kv, group, to), page_at(kv, group, from), kv->group[group].page_bytes);
}

void vug_cpu_kv_read(const vug_kv *kv, int group, vug_page page, uint8_t *bytes)
{
    memcpy(bytes, page_at(kv, group, page), kv->group[group].page_bytes);
}

void vug_cpu_kv_write(vug_kv *kv, int group, vug_page page, const uint8_t *bytes)
{
    memcpy(page_at(kv, group, page), bytes, kv->group[group].page_bytes);
}
