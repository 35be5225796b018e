#include "test.h"

#include "kv_help.h"

typedef struct {
    bool has_memory;
    uint64_t number[VUG_KV_PAGE];
} help_page;

typedef struct {
    help_kv_device *device;
    const vug_kv_layout *layout;
    help_page *page[VUG_KV_MAX_GROUPS]; /* [reserved + 1] */
} help_kv;

/* The types of the interface are incomplete: their pointers stand for ours. */
vug_device *help_kv_open(help_kv_device *device)
{
    return (vug_device *)device;
}

vug_kv_group help_kv_group(int64_t window, int pages)
{
    return (vug_kv_group){ .window = window, .heads = 1, .width = 8, .n_layers = pages };
}

static uint64_t page_bytes(const vug_device *device, const vug_kv_layout *layout, int group)
{
    (void)device;
    const vug_kv_group *g = &layout->group[group];
    return (uint64_t)(VUG_KV_PAGE * g->heads * g->width * g->n_layers);
}

static void destroy(vug_kv *destroyed)
{
    help_kv *kv = (help_kv *)destroyed;
    for (int g = 0; g < kv->layout->n_groups; g++)
        vug_free(kv->page[g]);
    kv->device->committed = 0;
    kv->device->caches--;
    vug_free(kv);
}

static vug_status create(vug_device *opened, const vug_kv_layout *layout, const uint32_t *pages,
                         vug_kv **out, vug_err *err)
{
    help_kv_device *device = (help_kv_device *)opened;
    help_kv *kv = vug_alloc_zero(1, sizeof(*kv));
    if (!kv)
        return VUG_FAIL_NOMEM(err, "a cache", sizeof(*kv));
    device->caches++;
    kv->device = device;
    kv->layout = layout;
    for (int g = 0; g < layout->n_groups; g++) {
        device->reserved[g] = pages[g];
        kv->page[g] = vug_alloc_zero((size_t)pages[g] + 1, sizeof(*kv->page[g]));
        if (!kv->page[g]) {
            destroy((vug_kv *)kv);
            return VUG_FAIL_NOMEM(err, "a cache", pages[g] * sizeof(*kv->page[g]));
        }
    }
    *out = (vug_kv *)kv;
    return VUG_OK;
}

static help_page *place(const help_kv *kv, int group, vug_page page)
{
    assert_in_range(group, 0, kv->layout->n_groups - 1);
    assert_in_range(page, 1, kv->device->reserved[group]);
    return &kv->page[group][page];
}

uint64_t *help_kv_at(vug_kv *kv, int group, vug_page page)
{
    help_page *at = place((const help_kv *)kv, group, page);
    assert_true(at->has_memory);
    return at->number;
}

static vug_status commit(vug_kv *to, int group, vug_page page, vug_err *err)
{
    const help_kv *kv = (const help_kv *)to;
    help_kv_device *device = kv->device;
    const uint64_t bytes = page_bytes(NULL, kv->layout, group);
    help_page *at = place(kv, group, page);
    assert_false(at->has_memory);
    device->commits++;
    if (device->committed > device->memory || bytes > device->memory - device->committed)
        return VUG_FAIL_NOMEM(err, "a page", bytes);
    at->has_memory = true;
    for (int i = 0; i < VUG_KV_PAGE; i++)
        at->number[i] = UINT64_MAX - device->commits;
    device->committed += bytes;
    return VUG_OK;
}

static void discard(vug_kv *from, int group, vug_page page)
{
    const help_kv *kv = (const help_kv *)from;
    help_page *at = place(kv, group, page);
    assert_true(at->has_memory);
    at->has_memory = false;
    kv->device->discards++;
    kv->device->committed -= page_bytes(NULL, kv->layout, group);
}

static void copy(vug_kv *kv, int group, vug_page to, vug_page from)
{
    memcpy(help_kv_at(kv, group, to), help_kv_at(kv, group, from), VUG_KV_PAGE * sizeof(uint64_t));
}

const vug_backend help_kv_backend = {
    .name = "pages",
    .kv_page_bytes = page_bytes,
    .kv_create = create,
    .kv_destroy = destroy,
    .kv_commit = commit,
    .kv_discard = discard,
    .kv_copy = copy,
};
