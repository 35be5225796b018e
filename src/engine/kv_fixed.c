/* Caches of a fixed number of sequences, for programs of flows. */
#include "engine/internal.h"

static uint64_t group_bytes(const vug_backend *backend, const vug_device *device,
                            const vug_kv_layout *layout, const vug_limits *limits, int g)
{
    const int64_t pages =
            vug_kv_pages_of_sequence(&layout->group[g], limits->context, limits->batch);
    return (uint64_t)pages * backend->kv_page_bytes(device, layout, g);
}

uint64_t vug_kv_sequence_bytes(const vug_backend *backend, const vug_device *device,
                               const vug_kv_layout *layout, const vug_limits *limits)
{
    uint64_t bytes = 0;
    for (int g = 0; g < layout->n_groups; g++)
        bytes += group_bytes(backend, device, layout, limits, g);
    return bytes;
}

uint64_t vug_kv_sequence_bytes_on(const vug_backend *backend, const vug_device *device,
                                  const vug_kv_layout *layout, const vug_limits *limits, int part)
{
    uint64_t bytes = 0;
    for (int g = 0; g < layout->n_groups; g++) {
        if (layout->group[g].device == part)
            bytes += group_bytes(backend, device, layout, limits, g);
    }
    return bytes;
}

/* Commits `n` pages of group `g` for sequence `i` and fills its table. */
static vug_status fill_table(vug_kv_fixed *c, int64_t i, int g, int64_t n, int64_t blocks,
                             vug_err *err)
{
    vug_page *table = vug_alloc((size_t)blocks, sizeof(*table));
    if (!table)
        return VUG_FAIL_NOMEM(err, "the page tables of a cache", (size_t)blocks * sizeof(*table));
    c->table[i * c->n_groups + g] = table;
    for (int64_t b = 0; b < blocks; b++)
        table[b] = (vug_page)(i * n + b % n + 1);
    for (int64_t b = 0; b < n; b++)
        VUG_TRY(c->backend->kv_commit(c->kv, g, table[b], err));
    return VUG_OK;
}

vug_status vug_kv_fixed_init(vug_kv_fixed *c, const vug_backend *backend, vug_device *device,
                             const vug_kv_layout *layout, const vug_limits *limits,
                             int64_t sequences, vug_err *err)
{
    uint32_t pages[VUG_KV_MAX_GROUPS];
    *c = (vug_kv_fixed){ .backend = backend, .n_groups = layout->n_groups };
    for (int g = 0; g < layout->n_groups; g++) {
        const int64_t n = sequences * vug_kv_pages_of_sequence(&layout->group[g], limits->context,
                                                               limits->batch);
        if (n > UINT32_MAX)
            return VUG_FAIL(err, VUG_LIMIT, "caches of %lld sequences are too large",
                            (long long)sequences);
        pages[g] = (uint32_t)n;
    }
    c->n_tables = (size_t)sequences * (size_t)layout->n_groups;
    c->table = vug_alloc_zero(c->n_tables, sizeof(vug_page *));
    if (!c->table)
        return VUG_FAIL_NOMEM(err, "the page tables of a cache", c->n_tables * sizeof(vug_page *));
    VUG_TRY(backend->kv_create(device, layout, pages, &c->kv, err));
    const int64_t blocks = vug_kv_pages_of(limits->context);
    for (int64_t i = 0; i < sequences; i++) {
        for (int g = 0; g < layout->n_groups; g++)
            VUG_TRY(fill_table(c, i, g, (int64_t)pages[g] / sequences, blocks, err));
    }
    return VUG_OK;
}

void vug_kv_fixed_release(vug_kv_fixed *c)
{
    for (size_t i = 0; c->table && i < c->n_tables; i++)
        vug_free(c->table[i]);
    vug_free(c->table);
    if (c->kv)
        c->backend->kv_destroy(c->kv);
    *c = (vug_kv_fixed){ 0 };
}
