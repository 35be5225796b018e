/*
 * The memory of key/value pages. All pages of a group lie in the same arrays, one for the keys and
 * one for the values of each layer, so that neighbouring pages are a slice of them and not a copy.
 * The arrays grow with the highest page that has memory, and are released with the last one.
 *
 * Between steps the arrays are evaluated, and their memory is the host's: pages are copied with
 * memcpy.
 */
#include "backend/mlx/internal.h"

/* ---- layout ------------------------------------------------------------------------------ */

static mx::Dtype element_dtype(vug_kv_format format)
{
    return format == VUG_KV_F32   ? mx::float32
           : format == VUG_KV_F16 ? mx::float16
           : format == VUG_KV_Q8  ? mx::int8
                                  : mx::bfloat16;
}

static int padded_width(vug_kv_format format, int64_t width)
{
    const int64_t blocks = (width + VUG_KV_Q8_BLOCK - 1) / VUG_KV_Q8_BLOCK;
    return (int)(format == VUG_KV_Q8 ? blocks * VUG_KV_Q8_BLOCK : width);
}

/* Bytes of a part's positions in a page, over all heads. */
static size_t part_bytes(const vug_mlx_kv_group &g, const vug_mlx_cache_part &part)
{
    return (size_t)g.heads * VUG_KV_PAGE * (size_t)part.width * mx::size_of(part.dtype);
}

static vug_mlx_kv_group make_group(const vug_kv_group *from, vug_kv_format format, uint32_t pages)
{
    const int width = padded_width(format, from->width);
    const vug_mlx_cache_part elements = { {}, element_dtype(format), width };
    const vug_mlx_cache_part scales = { {}, mx::float32, width / VUG_KV_Q8_BLOCK };
    vug_mlx_kv_group g = { .part = {},
                           .parts = format == VUG_KV_Q8 ? 4 : 2,
                           .heads = (int)from->heads,
                           .width = (int)from->width,
                           .pages = pages,
                           .capacity = 0,
                           .committed = 0,
                           .page_bytes = 0 };
    for (int i = 0; i < from->n_layers * g.parts; i++) {
        g.part.push_back(i % g.parts < VUG_MLX_KEY_SCALES ? elements : scales);
        g.page_bytes += part_bytes(g, g.part.back());
    }
    return g;
}

uint64_t vug_mlx_kv_page_bytes(const vug_device *device, const vug_kv_layout *layout, int group)
{
    (void)device;
    const vug_kv_group *g = &layout->group[group];
    const auto width = (uint64_t)padded_width(layout->format, g->width);
    const uint64_t scales =
            layout->format == VUG_KV_Q8 ? width / VUG_KV_Q8_BLOCK * sizeof(float) : 0;
    uint64_t bytes = width * mx::size_of(element_dtype(layout->format)) + scales;
    /* Each layer has keys and values. 0 is a size that no page has. */
    const bool fits = vug_mul_size(bytes, (uint64_t)g->heads, &bytes) &&
                      vug_mul_size(bytes, 2 * VUG_KV_PAGE, &bytes) &&
                      vug_mul_size(bytes, (uint64_t)g->n_layers, &bytes);
    return fits ? bytes : 0;
}

/* ---- creation ------------------------------------------------------------------------------ */

vug_status vug_mlx_kv_create(vug_device *device, const vug_kv_layout *layout, const uint32_t *pages,
                             vug_kv **out, vug_err *err)
{
    return vug_mlx_guard("creating the key/value cache", err, [&] {
        auto kv = std::make_unique<vug_mlx_kv>();
        kv->device = reinterpret_cast<vug_mlx_device *>(device);
        kv->format = layout->format;
        for (int g = 0; g < layout->n_groups; g++) {
            /* MLX counts positions in 32 bits. */
            const uint32_t most = INT32_MAX / VUG_KV_PAGE;
            kv->group.push_back(make_group(&layout->group[g], layout->format,
                                           pages[g] < most ? pages[g] : most));
        }
        *out = reinterpret_cast<vug_kv *>(kv.release());
        return VUG_OK;
    });
}

void vug_mlx_add_cache_arrays(const vug_mlx_kv *kv, std::vector<mx::array> *to)
{
    for (size_t g = 0; kv && g < kv->group.size(); g++) {
        for (const auto &part : kv->group[g].part) {
            if (part.array)
                to->push_back(*part.array);
        }
    }
}

void vug_mlx_kv_destroy(vug_kv *kv)
{
    delete reinterpret_cast<vug_mlx_kv *>(kv);
}

/* ---- memory of pages ------------------------------------------------------------------------ */

/* Bytes of `positions` of one head. */
static size_t head_bytes(const vug_mlx_cache_part &part, int positions)
{
    return (size_t)positions * (size_t)part.width * mx::size_of(part.dtype);
}

static void grow_part(const vug_mlx_kv_group &g, vug_mlx_cache_part *part, uint32_t capacity)
{
    const int positions = (int)capacity * VUG_KV_PAGE;
    mx::array larger = vug_mlx_new_array({ g.heads, positions, part->width }, part->dtype);
    const size_t from = part->array ? head_bytes(*part, part->array->shape(1)) : 0;
    const size_t to = head_bytes(*part, positions);
    for (int h = 0; from > 0 && h < g.heads; h++)
        memcpy(larger.data<uint8_t>() + (size_t)h * to,
               part->array->data<uint8_t>() + (size_t)h * from, from < to ? from : to);
    part->array = larger;
}

vug_status vug_mlx_kv_commit(vug_kv *cache, int group, vug_page page, vug_err *err)
{
    auto *kv = reinterpret_cast<vug_mlx_kv *>(cache);
    vug_mlx_kv_group &g = kv->group[(size_t)group];
    return vug_mlx_guard("allocating pages of the key/value cache", err, [&]() -> vug_status {
        const vug_mlx_lock lock(kv->device);
        if (page > g.pages)
            return VUG_FAIL(err, VUG_LIMIT, "mlx: the key/value cache has no page %u", page);
        if (page > g.capacity) {
            const uint32_t more = g.capacity + g.capacity / 2 + 1;
            const uint32_t wanted = page > more ? page : more;
            const uint32_t capacity = wanted < g.pages ? wanted : g.pages;
            kv->next.reset();
            for (auto &part : g.part)
                grow_part(g, &part, capacity);
            g.capacity = capacity;
        }
        g.committed++;
        return VUG_OK;
    });
}

void vug_mlx_kv_discard(vug_kv *cache, int group, vug_page page)
{
    auto *kv = reinterpret_cast<vug_mlx_kv *>(cache);
    const vug_mlx_lock lock(kv->device);
    vug_mlx_kv_group &g = kv->group[(size_t)group];
    (void)page;
    if (--g.committed > 0)
        return;
    kv->next.reset();
    for (auto &part : g.part)
        part.array.reset();
    g.capacity = 0;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Calls `copy` with the address and size of each piece of a page, in the order in which they lie
 * in a page that was read. */
template <typename Copy>
static void each_piece(const vug_kv *cache, int group, vug_page page, Copy copy)
{
    const auto *kv = reinterpret_cast<const vug_mlx_kv *>(cache);
    const vug_mlx_lock lock(kv->device);
    const vug_mlx_kv_group &g = kv->group[(size_t)group];
    VUG_ASSERT(page > 0 && page <= g.capacity);
    for (const auto &part : g.part) {
        const size_t bytes = head_bytes(part, VUG_KV_PAGE);
        const size_t head = head_bytes(part, part.array->shape(1));
        auto *first = const_cast<uint8_t *>(part.array->data<uint8_t>());
        for (int h = 0; h < g.heads; h++)
            copy(first + (size_t)h * head + (page - 1) * bytes, bytes);
    }
}

void vug_mlx_kv_copy(vug_kv *cache, int group, vug_page to, vug_page from)
{
    each_piece(cache, group, to, [&](uint8_t *piece, size_t n) {
        memcpy(piece, piece + ((ptrdiff_t)from - (ptrdiff_t)to) * (ptrdiff_t)n, n);
    });
}

void vug_mlx_kv_read(const vug_kv *cache, int group, vug_page page, uint8_t *bytes)
{
    each_piece(cache, group, page, [&](const uint8_t *piece, size_t n) {
        memcpy(bytes, piece, n);
        bytes += n;
    });
}

void vug_mlx_kv_write(vug_kv *cache, int group, vug_page page, const uint8_t *bytes)
{
    each_piece(cache, group, page, [&](uint8_t *piece, size_t n) {
        memcpy(piece, bytes, n);
        bytes += n;
    });
}
