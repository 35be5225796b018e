/* Pages of prefixes on disk: what is put there, and what is read back into the tree. */
#include "engine/kv_disk.h"

enum { PAGE = VUG_KV_PAGE };

struct vug_kv_disk {
    vug_page_store *store;
    vug_kv_pool *pool;
    vug_prefix_tree *tree;
    uint8_t *out; /* the largest page, on its way to the store; used under the pool's lock */
};

/* ---- lifetime ----------------------------------------------------------------------------- */

static size_t largest_page(const vug_kv_pool *pool)
{
    size_t most = 1;
    for (int g = 0; g < vug_kv_pool_layout(pool)->n_groups; g++)
        most = vug_kv_page_bytes(pool, g) > most ? vug_kv_page_bytes(pool, g) : most;
    return most;
}

vug_status vug_kv_disk_open(const vug_page_store_options *options, vug_kv_pool *pool,
                            vug_prefix_tree *tree, vug_kv_disk **out, vug_err *err)
{
    vug_kv_disk *d = vug_alloc_zero(1, sizeof(*d));
    if (!d)
        return VUG_FAIL_NOMEM(err, "the cache on disk", sizeof(*d));
    d->pool = pool;
    d->tree = tree;
    d->out = vug_alloc(1, largest_page(pool));
    vug_status st = VUG_OK;
    if (!d->out)
        st = VUG_FAIL_NOMEM(err, "the cache on disk", largest_page(pool));
    if (st == VUG_OK)
        st = vug_page_store_open(options, &d->store, err);
    if (st != VUG_OK) {
        vug_kv_disk_close(d);
        return st;
    }
    *out = d;
    return VUG_OK;
}

void vug_kv_disk_close(vug_kv_disk *d)
{
    if (!d)
        return;
    vug_page_store_close(d->store);
    vug_free(d->out);
    vug_free(d);
}

/* ---- keys --------------------------------------------------------------------------------- */

/* Hashing fails only for lack of memory. An all-zero key then names nothing that exists, and
 * neither do the keys that follow it. */
static void advance_key(vug_prefix_key *key, const int32_t *id)
{
    if (vug_prefix_key_next(key, id, PAGE, key, NULL) != VUG_OK)
        *key = (vug_prefix_key){ 0 };
}

vug_prefix_key vug_kv_disk_key(const vug_prefix_key *root, const int32_t *id, size_t blocks)
{
    vug_prefix_key key = *root;
    for (size_t b = 0; b < blocks; b++)
        advance_key(&key, id + b * PAGE);
    return key;
}

static vug_page_id page_id(const vug_prefix_key *key, int group)
{
    return (vug_page_id){ .key = *key, .part = (uint32_t)group };
}

/* ---- writing ------------------------------------------------------------------------------ */

void vug_kv_disk_put(vug_kv_disk *d, vug_prefix_key *chain, const int32_t *id, const vug_page *page)
{
    advance_key(chain, id);
    for (int g = 0; g < vug_kv_pool_layout(d->pool)->n_groups; g++) {
        const vug_page_id at = page_id(chain, g);
        const uint64_t n = vug_kv_page_bytes(d->pool, g);
        if (!page[g] || vug_page_store_has(d->store, &at, n))
            continue;
        vug_kv_page_read(d->pool, g, page[g], d->out);
        (void)vug_page_store_put(d->store, &at, d->out, n);
    }
}

/* ---- reading ------------------------------------------------------------------------------ */

/* The first block whose pages a group needs to continue after `blocks` blocks. */
static size_t first_needed(const vug_kv_group *group, size_t blocks)
{
    const size_t end = blocks * PAGE, window = (size_t)group->window;
    return window == 0 || window > end ? 0 : (end - window + 1) / PAGE;
}

static bool is_on_disk(const vug_kv_disk *d, const vug_prefix_key *key, int g)
{
    const vug_page_id id = page_id(key, g);
    return vug_page_store_has(d->store, &id, vug_kv_page_bytes(d->pool, g));
}

/* The number of blocks, from `have` to `end`, after which a sequence could continue: every full
 * group has the pages from block `have` on, and every window those before the boundary. */
static size_t find_boundary(const vug_kv_disk *d, const vug_prefix_key *key, size_t have,
                            size_t end)
{
    const vug_kv_layout *layout = vug_kv_pool_layout(d->pool);
    for (int g = 0; g < layout->n_groups; g++) {
        for (size_t b = have; layout->group[g].window == 0 && b < end; b++) {
            if (!is_on_disk(d, &key[b], g))
                end = b;
        }
    }
    for (int g = 0; g < layout->n_groups && end > have; g++) {
        if (layout->group[g].window == 0)
            continue;
        for (size_t b = end; b-- > first_needed(&layout->group[g], end);) {
            if (!is_on_disk(d, &key[b], g)) {
                end = b; /* a smaller boundary: its window begins earlier; check all again */
                g = -1;
                break;
            }
        }
    }
    return end > have ? end : have;
}

static void free_read(vug_kv_disk_read *r)
{
    vug_free(r->key);
    vug_free(r->page);
    *r = (vug_kv_disk_read){ 0 };
}

bool vug_kv_disk_find(const vug_kv_disk *d, const vug_prefix_key *root, const int32_t *id, size_t n,
                      size_t have, vug_kv_disk_read *r)
{
    const size_t groups = (size_t)vug_kv_pool_layout(d->pool)->n_groups;
    *r = (vug_kv_disk_read){ .first = have / PAGE, .end = n / PAGE };
    if (r->end <= r->first || groups == 0)
        return false;
    r->key = vug_alloc(r->end, sizeof(*r->key));
    r->page = vug_alloc_zero(r->end * groups, sizeof(*r->page));
    if (r->key && r->page) {
        vug_prefix_key key = *root;
        for (size_t b = 0; b < r->end; b++) {
            advance_key(&key, id + b * PAGE);
            r->key[b] = key;
        }
        r->end = find_boundary(d, r->key, r->first, r->end);
        if (r->end > r->first)
            return true;
    }
    free_read(r);
    return false;
}

bool vug_kv_disk_take(vug_kv_disk *d, vug_kv_disk_read *r)
{
    const vug_kv_layout *layout = vug_kv_pool_layout(d->pool);
    for (int g = 0; g < layout->n_groups; g++) {
        const bool full = layout->group[g].window == 0;
        size_t b = full ? r->first : first_needed(&layout->group[g], r->end);
        for (; b < r->end; b++) {
            vug_page *page = &r->page[b * (size_t)layout->n_groups + (size_t)g];
            *page = vug_kv_page_take(d->pool, g);
            if (!*page)
                return false;
        }
    }
    return true;
}

/* Reads a block; false if a page has gone meanwhile, or is not intact. */
static bool load_block(vug_kv_disk *d, const vug_kv_disk_read *r, size_t b, uint8_t *bytes)
{
    const int groups = vug_kv_pool_layout(d->pool)->n_groups;
    bool ok = true;
    for (int g = 0; g < groups; g++) {
        const vug_page page = r->page[b * (size_t)groups + (size_t)g];
        const vug_page_id at = page_id(&r->key[b], g);
        if (!page)
            continue;
        if (vug_page_store_get(d->store, &at, bytes, vug_kv_page_bytes(d->pool, g)))
            vug_kv_page_write(d->pool, g, page, bytes);
        else
            ok = false;
    }
    return ok;
}

/* After a damaged page the others are still read: so all damaged ones are removed, and written
 * again when they were computed. */
void vug_kv_disk_load(vug_kv_disk *d, vug_kv_disk_read *r)
{
    uint8_t *bytes = vug_alloc(1, largest_page(d->pool));
    bool ok = bytes != NULL;
    for (size_t b = 0; b < r->end && bytes; b++) {
        ok = load_block(d, r, b, bytes) && ok;
        r->n_loaded += ok;
    }
    vug_free(bytes);
}

void vug_kv_disk_end(vug_kv_disk *d, const vug_prefix_key *root, const int32_t *id,
                     vug_kv_disk_read *r)
{
    const size_t groups = (size_t)vug_kv_pool_layout(d->pool)->n_groups;
    vug_prefix_node *node = r->n_loaded > 0 ? vug_prefix_enter_root(d->tree, root) : NULL;
    for (size_t b = 0; b < r->n_loaded && node; b++) {
        vug_prefix_node *next = vug_prefix_add(d->tree, node, id + b * PAGE, &r->page[b * groups]);
        if (next == node)
            break;
        node = next;
    }
    vug_prefix_leave(d->tree, node);
    for (size_t i = 0; i < r->end * groups; i++)
        vug_kv_page_release(d->pool, (int)(i % groups), r->page[i]);
    free_read(r);
}
