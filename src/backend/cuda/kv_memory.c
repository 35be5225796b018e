/* The memory of key/value pages: each page is an allocation in the order of the device's stream,
 * so that pages of all groups share the device's memory. */
#include "backend/cuda/internal.h"

static int64_t element_bytes(vug_kv_format format)
{
    return format == VUG_KV_F32 ? 4 : format == VUG_KV_Q8 ? 1 : 2;
}

bool vug_cuda_kv_cache_init(vug_cuda_kv_cache *cache, const vug_kv_group *group, int index,
                            vug_kv_format format)
{
    enum { QUAD = 4, ALIGN = 16 };
    const int64_t stride = (group->width + QUAD - 1) / QUAD * QUAD;
    const int64_t scales =
            format == VUG_KV_Q8 ? (stride + VUG_KV_Q8_BLOCK - 1) / VUG_KV_Q8_BLOCK : 0;
    uint64_t bytes = 4 * sizeof(float) * VUG_KV_PAGE; /* more than an element and its scale */
    if (!vug_mul_size(bytes, (uint64_t)group->heads, &bytes) ||
        !vug_mul_size(bytes, (uint64_t)stride, &bytes) ||
        !vug_mul_size(bytes, (uint64_t)group->n_layers, &bytes) || bytes > INT64_MAX / 2)
        return false;
    const int64_t part =
            VUG_KV_PAGE * (stride * element_bytes(format) + scales * (int64_t)sizeof(float));
    *cache = (vug_cuda_kv_cache){ .format = format,
                                  .heads = group->heads,
                                  .width = group->width,
                                  .stride = stride,
                                  .part_bytes = (part + ALIGN - 1) / ALIGN * ALIGN };
    cache->offset = (uint64_t)index * (uint64_t)(2 * cache->heads * cache->part_bytes);
    return true;
}

uint64_t vug_cuda_kv_page_bytes(const vug_device *device, const vug_kv_layout *layout, int group)
{
    (void)device;
    vug_cuda_kv_cache cache;
    const vug_kv_group *g = &layout->group[group];
    if (!vug_cuda_kv_cache_init(&cache, g, 0, layout->format))
        return 0;
    return (uint64_t)((int64_t)g->n_layers * 2 * cache.heads * cache.part_bytes);
}

vug_status vug_cuda_kv_create(vug_device *device, const vug_kv_layout *layout,
                              const uint32_t *pages, vug_kv **out, vug_err *err)
{
    vug_cuda_kv *kv = vug_alloc_zero(1, sizeof(*kv));
    if (!kv)
        return VUG_FAIL_NOMEM(err, "the key/value cache", sizeof(*kv));
    kv->stream = ((vug_cuda_device *)(void *)device)->stream;
    kv->n_groups = layout->n_groups;
    for (int g = 0; g < layout->n_groups; g++) {
        kv->group[g].page_bytes = vug_cuda_kv_page_bytes(device, layout, g);
        kv->group[g].pages = pages[g];
        kv->group[g].page = vug_alloc_zero(pages[g], sizeof(uint8_t *));
        if (!kv->group[g].page || kv->group[g].page_bytes == 0) {
            vug_cuda_kv_destroy((vug_kv *)(void *)kv);
            return VUG_FAIL_NOMEM(err, "the pages of the key/value cache",
                                  pages[g] * sizeof(uint8_t *));
        }
    }
    *out = (vug_kv *)(void *)kv;
    return VUG_OK;
}

static uint8_t **page_at(const vug_kv *cache, int group, vug_page page)
{
    const vug_cuda_kv *kv = (const vug_cuda_kv *)(const void *)cache;
    VUG_ASSERT(page > 0 && page <= kv->group[group].pages);
    return &kv->group[group].page[page - 1];
}

void vug_cuda_kv_destroy(vug_kv *cache)
{
    vug_cuda_kv *kv = (vug_cuda_kv *)(void *)cache;
    if (!kv)
        return;
    for (int g = 0; g < kv->n_groups; g++) {
        for (uint32_t i = 0; kv->group[g].page && i < kv->group[g].pages; i++)
            vug_cuda_kv_discard(cache, g, i + 1);
        vug_free(kv->group[g].page);
    }
    vug_free(kv);
}

vug_status vug_cuda_kv_commit(vug_kv *cache, int group, vug_page page, vug_err *err)
{
    const vug_cuda_kv *kv = (const vug_cuda_kv *)(const void *)cache;
    void *memory = NULL;
    if (*page_at(cache, group, page))
        return VUG_OK;
    VUG_TRY(vug_cuda_check(cudaMallocAsync(&memory, kv->group[group].page_bytes, kv->stream),
                           "allocating a page of the key/value cache", err));
    *page_at(cache, group, page) = memory;
    return VUG_OK;
}

void vug_cuda_kv_discard(vug_kv *cache, int group, vug_page page)
{
    uint8_t **at = page_at(cache, group, page);
    if (*at)
        (void)cudaFreeAsync(*at, ((vug_cuda_kv *)(void *)cache)->stream);
    *at = NULL;
}

void vug_cuda_kv_copy(vug_kv *cache, int group, vug_page to, vug_page from)
{
    const vug_cuda_kv *kv = (const vug_cuda_kv *)(const void *)cache;
    (void)cudaMemcpyAsync(*page_at(cache, group, to), *page_at(cache, group, from),
                          kv->group[group].page_bytes, cudaMemcpyDeviceToDevice, kv->stream);
}

/* The caller may use the bytes as soon as these return. */
void vug_cuda_kv_read(const vug_kv *cache, int group, vug_page page, uint8_t *bytes)
{
    const vug_cuda_kv *kv = (const vug_cuda_kv *)(const void *)cache;
    (void)cudaMemcpyAsync(bytes, *page_at(cache, group, page), kv->group[group].page_bytes,
                          cudaMemcpyDeviceToHost, kv->stream);
    (void)cudaStreamSynchronize(kv->stream);
}

void vug_cuda_kv_write(vug_kv *cache, int group, vug_page page, const uint8_t *bytes)
{
    const vug_cuda_kv *kv = (const vug_cuda_kv *)(const void *)cache;
    (void)cudaMemcpyAsync(*page_at(cache, group, page), bytes, kv->group[group].page_bytes,
                          cudaMemcpyHostToDevice, kv->stream);
    (void)cudaStreamSynchronize(kv->stream);
}
