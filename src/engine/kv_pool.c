/* The page pool. A page of a group is in one of four states: in use (it has references), free with
 * memory, free without memory, or never taken. Free pages form lists; the pages that were never
 * taken are those above `n_known`. */
#include "engine/kv_pool.h"

#include <string.h>

typedef struct {
    uint64_t page_bytes;
    uint32_t max_pages;
    uint32_t n_known;     /* pages 1 .. n_known have been taken at least once */
    uint32_t *references; /* [max_pages + 1]; 0: free */
    vug_page *next;       /* [max_pages + 1]: of a free page, the next one of its list */
    vug_page free;        /* the list of free pages with memory */
    vug_page discarded;   /* the list of free pages without memory */
} vug_kv_pool_group;

struct vug_kv_pool {
    const vug_backend *backend;
    vug_kv_layout layout;
    vug_kv *kv;
    vug_kv_pool_group group[VUG_KV_MAX_GROUPS];
    vug_kv_pool_stats stats;
    vug_kv_reclaim *reclaim;
    void *reclaim_user;
    vug_kv_idle *idle;
    void *idle_user;
};

/* ---- creation ------------------------------------------------------------------- */

static vug_status copy_layout(vug_kv_layout *to, const vug_kv_layout *from, vug_err *err)
{
    const size_t n = (size_t)from->n_layers;
    vug_kv_place *layer = vug_alloc(n, sizeof(*layer));
    if (!layer)
        return VUG_FAIL_NOMEM(err, "the page pool", n * sizeof(*layer));
    if (n > 0)
        memcpy(layer, from->layer, n * sizeof(*layer));
    *to = *from;
    to->layer = layer;
    return VUG_OK;
}

/* The tables of a group are large only on paper: their memory is touched as pages are taken. */
static vug_status init_group(vug_kv_pool *pool, int g, uint64_t page_bytes, vug_err *err)
{
    vug_kv_pool_group *group = &pool->group[g];
    const uint64_t fit = page_bytes > 0 ? pool->stats.budget / page_bytes : 0;
    *group = (vug_kv_pool_group){
        .page_bytes = page_bytes,
        .max_pages = (uint32_t)(fit < VUG_KV_MAX_PAGES ? fit : VUG_KV_MAX_PAGES),
    };
    const size_t n = (size_t)group->max_pages + 1;
    group->references = vug_alloc_zero(n, sizeof(*group->references));
    group->next = vug_alloc_zero(n, sizeof(*group->next));
    if (!group->references || !group->next)
        return VUG_FAIL_NOMEM(err, "the page pool",
                              n * (sizeof(*group->references) + sizeof(*group->next)));
    return VUG_OK;
}

static vug_status init_pool(vug_kv_pool *pool, vug_device *device, const vug_kv_layout *layout,
                            vug_err *err)
{
    VUG_TRY(copy_layout(&pool->layout, layout, err));
    uint32_t pages[VUG_KV_MAX_GROUPS] = { 0 };
    uint64_t least = 0;
    for (int g = 0; g < layout->n_groups; g++) {
        const uint64_t page_bytes = pool->backend->kv_page_bytes(device, &pool->layout, g);
        if (!vug_add_size(least, page_bytes, &least) || least > pool->stats.budget)
            return VUG_FAIL(err, VUG_LIMIT,
                            "a key/value cache of %llu bytes is too small: it must hold a page of "
                            "%d tokens of each layer",
                            (unsigned long long)pool->stats.budget, VUG_KV_PAGE);
        VUG_TRY(init_group(pool, g, page_bytes, err));
        pages[g] = pool->group[g].max_pages;
    }
    return pool->backend->kv_create(device, &pool->layout, pages, &pool->kv, err);
}

vug_status vug_kv_pool_create(const vug_backend *backend, vug_device *device,
                              const vug_kv_layout *layout, uint64_t budget, vug_kv_pool **out,
                              vug_err *err)
{
    *out = NULL;
    vug_kv_pool *pool = vug_alloc_zero(1, sizeof(*pool));
    if (!pool)
        return VUG_FAIL_NOMEM(err, "the page pool", sizeof(*pool));
    pool->backend = backend;
    pool->stats.budget = budget;
    const vug_status st = init_pool(pool, device, layout, err);
    if (st != VUG_OK) {
        vug_kv_pool_destroy(pool);
        return st;
    }
    *out = pool;
    return VUG_OK;
}

void vug_kv_pool_destroy(vug_kv_pool *pool)
{
    if (!pool)
        return;
    if (pool->kv)
        pool->backend->kv_destroy(pool->kv);
    for (int g = 0; g < VUG_KV_MAX_GROUPS; g++) {
        vug_free(pool->group[g].references);
        vug_free(pool->group[g].next);
    }
    vug_kv_layout_release(&pool->layout);
    vug_free(pool);
}

void vug_kv_pool_on_full(vug_kv_pool *pool, vug_kv_reclaim *reclaim, void *user)
{
    pool->reclaim = reclaim;
    pool->reclaim_user = user;
}

void vug_kv_pool_on_idle(vug_kv_pool *pool, vug_kv_idle *idle, void *user)
{
    pool->idle = idle;
    pool->idle_user = user;
}

/* ---- reading -------------------------------------------------------------------- */

const vug_kv_layout *vug_kv_pool_layout(const vug_kv_pool *pool)
{
    return &pool->layout;
}

vug_kv *vug_kv_pool_kv(const vug_kv_pool *pool)
{
    return pool->kv;
}

uint32_t vug_kv_pool_max_pages(const vug_kv_pool *pool, int group)
{
    VUG_ASSERT(group >= 0 && group < pool->layout.n_groups);
    return pool->group[group].max_pages;
}

uint64_t vug_kv_page_bytes(const vug_kv_pool *pool, int group)
{
    VUG_ASSERT(group >= 0 && group < pool->layout.n_groups);
    return pool->group[group].page_bytes;
}

vug_kv_pool_stats vug_kv_pool_get_stats(const vug_kv_pool *pool)
{
    return pool->stats;
}

/* The group of a page in use. */
static const vug_kv_pool_group *group_of_used(const vug_kv_pool *pool, int group, vug_page page)
{
    VUG_ASSERT(group >= 0 && group < pool->layout.n_groups);
    const vug_kv_pool_group *g = &pool->group[group];
    VUG_ASSERT(page > 0 && page <= g->n_known && g->references[page] > 0);
    (void)page;
    return g;
}

uint32_t vug_kv_page_references(const vug_kv_pool *pool, int group, vug_page page)
{
    return group_of_used(pool, group, page)->references[page];
}

/* ---- taking --------------------------------------------------------------------- */

static void push_page(vug_kv_pool_group *g, vug_page *list, vug_page page)
{
    g->next[page] = *list;
    *list = page;
}

/* The first page of a list; 0: the list is empty. */
static vug_page pop_page(const vug_kv_pool_group *g, vug_page *list)
{
    const vug_page page = *list;
    if (page > 0)
        *list = g->next[page];
    return page;
}

/* Gives memory to a page that has none and returns it; 0: no page or no memory is left. */
static vug_page commit_page(vug_kv_pool *pool, int group)
{
    vug_kv_pool_group *g = &pool->group[group];
    if (g->page_bytes > pool->stats.budget - pool->stats.committed)
        return 0;
    vug_page page = pop_page(g, &g->discarded);
    if (page == 0 && g->n_known < g->max_pages)
        page = ++g->n_known;
    if (page == 0)
        return 0;
    if (pool->backend->kv_commit(pool->kv, group, page, NULL) != VUG_OK) {
        push_page(g, &g->discarded, page);
        return 0;
    }
    pool->stats.committed += g->page_bytes;
    return page;
}

/* Takes the memory of a free page away. Returns false if there is none. */
static bool discard_free_page(vug_kv_pool *pool)
{
    for (int i = 0; i < pool->layout.n_groups; i++) {
        vug_kv_pool_group *g = &pool->group[i];
        const vug_page page = pop_page(g, &g->free);
        if (page == 0)
            continue;
        pool->backend->kv_discard(pool->kv, i, page);
        push_page(g, &g->discarded, page);
        pool->stats.committed -= g->page_bytes;
        return true;
    }
    return false;
}

vug_page vug_kv_page_take(vug_kv_pool *pool, int group)
{
    VUG_ASSERT(group >= 0 && group < pool->layout.n_groups);
    vug_kv_pool_group *g = &pool->group[group];
    vug_page page = pop_page(g, &g->free);
    while (page == 0) {
        page = commit_page(pool, group);
        if (page > 0)
            break;
        if (!discard_free_page(pool) && !(pool->reclaim && pool->reclaim(pool->reclaim_user)))
            return 0;
        page = pop_page(g, &g->free);
    }
    g->references[page] = 1;
    pool->stats.used += g->page_bytes;
    pool->stats.pages++;
    return page;
}

/* ---- references ----------------------------------------------------------------- */

void vug_kv_page_retain(vug_kv_pool *pool, int group, vug_page page)
{
    if (page == 0)
        return;
    uint32_t *references = &group_of_used(pool, group, page)->references[page];
    VUG_ASSERT(*references < UINT32_MAX);
    ++*references;
}

void vug_kv_page_release(vug_kv_pool *pool, int group, vug_page page)
{
    if (page == 0)
        return;
    const uint32_t left = --group_of_used(pool, group, page)->references[page];
    if (left == 1 && pool->idle)
        pool->idle(pool->idle_user, group, page);
    if (left > 0)
        return;
    vug_kv_pool_group *g = &pool->group[group];
    push_page(g, &g->free, page);
    pool->stats.used -= g->page_bytes;
    pool->stats.pages--;
}

void vug_kv_page_copy(vug_kv_pool *pool, int group, vug_page to, vug_page from)
{
    VUG_ASSERT(vug_kv_page_references(pool, group, to) > 0);
    VUG_ASSERT(vug_kv_page_references(pool, group, from) > 0);
    pool->backend->kv_copy(pool->kv, group, to, from);
}

void vug_kv_page_read(const vug_kv_pool *pool, int group, vug_page page, uint8_t *bytes)
{
    pool->backend->kv_read(pool->kv, group, page, bytes);
}

void vug_kv_page_write(vug_kv_pool *pool, int group, vug_page page, const uint8_t *bytes)
{
    pool->backend->kv_write(pool->kv, group, page, bytes);
}
