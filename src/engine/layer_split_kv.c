/* Layers on two devices: the key/value caches. The groups of the first part come first. */
#include "engine/layer_split_state.h"

/* ---- layouts ----------------------------------------------------------------------- */

static int count_groups(const vug_kv_layout *layout, int device)
{
    int n = 0;
    for (int g = 0; g < layout->n_groups; g++)
        n += layout->group[g].device == device;
    return n;
}

/* The index of a group in the layout of its device. */
static int group_in_part(const vug_kv_layout *layout, int group)
{
    return layout->group[group].device ? group - count_groups(layout, 0) : group;
}

static void add_groups(vug_kv_layout *to, const vug_kv_layout *from, int device)
{
    const int offset = to->n_groups;
    to->format = from->format;
    for (int g = 0; g < from->n_groups; g++) {
        to->group[to->n_groups] = from->group[g];
        to->group[to->n_groups++].device = device;
    }
    for (int i = 0; i < from->n_layers; i++) {
        const vug_kv_place at = from->layer[i];
        if (at.group >= 0)
            to->layer[i] = (vug_kv_place){ at.group + offset, at.index, at.source };
        else if (at.source != i)
            to->layer[i].source = at.source;
    }
}

vug_status vug_split_join_layouts(const vug_split_program *p, int n_layers, vug_kv_layout *out,
                                  vug_err *err)
{
    const vug_split_part *part = p->weights->device->part;
    const vug_kv_layout *of[2] = { NULL, NULL };
    int n_groups = 0;
    for (int i = 0; i < 2; i++) {
        of[i] = p->part[i] ? part[i].backend->kv_layout(p->part[i]) : NULL;
        n_groups += of[i] ? of[i]->n_groups : 0;
    }
    if (n_groups > VUG_KV_MAX_GROUPS)
        return VUG_FAIL(err, VUG_LIMIT,
                        "graph: the layers on two devices have more than %d different kinds of "
                        "key/value caches",
                        VUG_KV_MAX_GROUPS);
    *out = (vug_kv_layout){ .n_layers = n_layers };
    out->layer = vug_alloc((size_t)n_layers, sizeof(*out->layer));
    if (!out->layer)
        return VUG_FAIL_NOMEM(err, "the layout of a cache", (size_t)n_layers * sizeof(*out->layer));
    for (int i = 0; i < n_layers; i++)
        out->layer[i] = (vug_kv_place){ .group = -1, .source = i };
    for (int i = 0; i < 2; i++) {
        if (of[i])
            add_groups(out, of[i], i);
    }
    return VUG_OK;
}

/* The groups of one device, with no layers: pages are the same for all of them. */
static vug_kv_layout layout_of_part(const vug_kv_layout *layout, int device)
{
    vug_kv_layout out = { .format = layout->format };
    for (int g = 0; g < layout->n_groups; g++) {
        if (layout->group[g].device == device)
            out.group[out.n_groups++] = layout->group[g];
    }
    return out;
}

/* ---- pages ------------------------------------------------------------------------- */

/* A group of a cache, on its device. */
typedef struct {
    const vug_backend *backend;
    vug_kv *kv;
    int group;
} split_group;

static split_group find_group(const vug_kv *cache, int group)
{
    const vug_split_kv *kv = vug_split_kv_of(cache);
    const int first = kv->layout[0].n_groups, p = group >= first;
    return (split_group){ kv->device->part[p].backend, kv->part[p], p ? group - first : group };
}

uint64_t vug_split_kv_page_bytes(const vug_device *device, const vug_kv_layout *layout, int group)
{
    const int p = layout->group[group].device;
    const vug_split_part *part = &vug_split_device_of(device)->part[p];
    const vug_kv_layout own = layout_of_part(layout, p);
    return part->backend->kv_page_bytes(part->device, &own, group_in_part(layout, group));
}

vug_status vug_split_kv_create(vug_device *device, const vug_kv_layout *layout,
                               const uint32_t *pages, vug_kv **out, vug_err *err)
{
    vug_split_kv *kv = vug_alloc_zero(1, sizeof(*kv));
    if (!kv)
        return VUG_FAIL_NOMEM(err, "the key/value cache", sizeof(*kv));
    kv->device = vug_split_device_of(device);
    vug_status st = VUG_OK;
    for (int p = 0; p < 2; p++) {
        const vug_split_part *part = &kv->device->part[p];
        kv->layout[p] = layout_of_part(layout, p);
        if (st == VUG_OK && kv->layout[p].n_groups > 0)
            st = part->backend->kv_create(part->device, &kv->layout[p], pages, &kv->part[p], err);
        pages += kv->layout[p].n_groups;
    }
    *out = (vug_kv *)(void *)kv;
    if (st != VUG_OK) {
        vug_split_kv_destroy(*out);
        *out = NULL;
    }
    return st;
}

void vug_split_kv_destroy(vug_kv *cache)
{
    vug_split_kv *kv = (vug_split_kv *)(void *)cache;
    for (int p = 0; kv && p < 2; p++) {
        if (kv->part[p])
            kv->device->part[p].backend->kv_destroy(kv->part[p]);
    }
    vug_free(kv);
}

vug_status vug_split_kv_commit(vug_kv *kv, int group, vug_page page, vug_err *err)
{
    const split_group at = find_group(kv, group);
    return at.backend->kv_commit(at.kv, at.group, page, err);
}

void vug_split_kv_discard(vug_kv *kv, int group, vug_page page)
{
    const split_group at = find_group(kv, group);
    at.backend->kv_discard(at.kv, at.group, page);
}

void vug_split_kv_copy(vug_kv *kv, int group, vug_page to, vug_page from)
{
    const split_group at = find_group(kv, group);
    at.backend->kv_copy(at.kv, at.group, to, from);
}

void vug_split_kv_read(const vug_kv *kv, int group, vug_page page, uint8_t *bytes)
{
    const split_group at = find_group(kv, group);
    at.backend->kv_read(at.kv, at.group, page, bytes);
}

void vug_split_kv_write(vug_kv *kv, int group, vug_page page, const uint8_t *bytes)
{
    const split_group at = find_group(kv, group);
    at.backend->kv_write(at.kv, at.group, page, bytes);
}
