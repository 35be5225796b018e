#include "test.h"

#include "core/random.h"
#include "prefix_check.h"
#include "prefix_help.h"

/* ---- the cache ------------------------------------------------------------------- */

const help_prefix_config help_prefix_full = { .n_groups = 1, .units = { 1 } };
const help_prefix_config help_prefix_sliding = {
    .n_groups = 2, .window = { 0, 100 }, .units = { 1, 1 }, .snapshot_share = 1
};

void help_prefix_open(help_prefix_cache *c, const help_prefix_config *config)
{
    vug_kv_layout layout = { .n_groups = config->n_groups };
    for (int g = 0; g < config->n_groups; g++)
        layout.group[g] = help_kv_group(config->window[g], config->units[g]);
    *c = (help_prefix_cache){ .device = { .memory = UINT64_MAX } };
    vug_err err = { 0 };
    const uint64_t budget = config->budget * UNIT;
    if (vug_kv_pool_create(&help_kv_backend, help_kv_open(&c->device), &layout, budget, &c->pool,
                           &err) != VUG_OK ||
        vug_prefix_tree_create(c->pool, config->snapshot_share, &c->tree, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    c->layout = vug_kv_pool_layout(c->pool);
}

void help_prefix_open_full(help_prefix_cache *c, uint64_t budget)
{
    help_prefix_config config = help_prefix_full;
    config.budget = budget;
    help_prefix_open(c, &config);
}

void help_prefix_open_sliding(help_prefix_cache *c, uint64_t budget, double snapshot_share)
{
    help_prefix_config config = help_prefix_sliding;
    config.budget = budget;
    config.snapshot_share = snapshot_share;
    help_prefix_open(c, &config);
}

void help_prefix_close(help_prefix_cache *c)
{
    const vug_prefix_stats tree = vug_prefix_get_stats(c->tree);
    assert_int_equal(vug_kv_pool_get_stats(c->pool).used, tree.bytes);
    assert_int_equal(tree.evictable, tree.bytes);
    vug_prefix_tree_destroy(c->tree);
    assert_int_equal(vug_kv_pool_get_stats(c->pool).used, 0);
    assert_int_equal(vug_kv_pool_get_stats(c->pool).pages, 0);
    vug_kv_pool_destroy(c->pool);
}

vug_prefix_key help_prefix_key(uint8_t n)
{
    vug_prefix_key key = { .byte = { 7 } };
    key.byte[VUG_PREFIX_KEY - 1] = n;
    return key;
}

/* ---- contents of pages ------------------------------------------------------------ */

static uint64_t next_hash(uint64_t hash, int32_t id)
{
    return vug_hash64(hash ^ (uint32_t)id);
}

/* What the page of a group contains at a position, from the hash of the tokens up to it. */
static uint64_t content(uint64_t hash, int group)
{
    return hash + (uint64_t)group;
}

static uint64_t *at_position(const help_prefix_cache *c, int g, vug_page page, size_t position)
{
    return help_kv_at(vug_kv_pool_kv(c->pool), g, page) + position % VUG_KV_PAGE;
}

/* By definition: a full group needs all positions before `p`, a window of W the W - 1 last. */
static bool needs_position(const help_prefix_cache *c, int g, size_t position, size_t p)
{
    const size_t window = (size_t)c->layout->group[g].window;
    return position < p && (window == 0 || position + window > p);
}

static bool needs_block(const help_prefix_cache *c, int g, size_t block, size_t p)
{
    for (size_t i = 0; i < VUG_KV_PAGE; i++) {
        if (needs_position(c, g, block * VUG_KV_PAGE + i, p))
            return true;
    }
    return false;
}

/* The sequence has the pages of all positions that boundary `p` needs, with their contents. */
static void check_pages(const help_prefix_cache *c, const help_sequence *s, size_t p)
{
    uint64_t hash = s->key;
    for (size_t i = 0; i < p; i++) {
        hash = next_hash(hash, s->id[i]);
        for (int g = 0; g < c->layout->n_groups; g++) {
            if (!needs_position(c, g, i, p))
                continue;
            const vug_page page = s->table[g][i / VUG_KV_PAGE];
            assert_int_not_equal(page, 0);
            assert_int_equal(*at_position(c, g, page, i), content(hash, g));
        }
    }
}

/* ---- sequences -------------------------------------------------------------------- */

static size_t blocks_of(size_t n)
{
    return (size_t)vug_kv_pages_of((int64_t)n);
}

void help_sequence_start(help_prefix_cache *c, help_sequence *s, uint8_t key, const int32_t *id,
                         size_t n, size_t most)
{
    *s = (help_sequence){ .key = key };
    memcpy(s->id, id, n * sizeof(*id));
    vug_page *table[VUG_KV_MAX_GROUPS];
    for (int g = 0; g < VUG_KV_MAX_GROUPS; g++)
        table[g] = s->table[g];
    const vug_prefix_key full_key = help_prefix_key(key);
    const size_t peeked = vug_prefix_peek(c->tree, &full_key, id, n, most);
    vug_prefix_find(c->tree, &full_key, id, n, most, table, &s->match);
    const size_t length = s->match.length;
    if (s->match.node)
        assert_int_equal(peeked, length);
    assert_true(length <= most && length <= s->match.miss.n_same && s->match.miss.n_same <= n);
    s->node = s->match.node;
    s->n = length;
    s->published = length / VUG_KV_PAGE * VUG_KV_PAGE;
    s->private = !s->node;
    check_pages(c, s, length);
    for (int g = 0; g < c->layout->n_groups; g++) {
        for (size_t b = 0; b < HELP_BLOCKS; b++) {
            if (!needs_block(c, g, b, length))
                assert_int_equal(s->table[g][b], 0);
        }
    }
}

/* Gives the sequence pages of its own that it may write token `n` to. */
static bool own_pages(help_prefix_cache *c, help_sequence *s)
{
    const size_t b = s->n / VUG_KV_PAGE;
    for (int g = 0; g < c->layout->n_groups; g++) {
        vug_page *page = &s->table[g][b];
        if (*page != 0 && vug_kv_page_references(c->pool, g, *page) == 1)
            continue;
        const vug_page own = vug_kv_page_take(c->pool, g);
        if (own == 0)
            return false;
        if (*page != 0) {
            vug_kv_page_copy(c->pool, g, own, *page);
            vug_kv_page_release(c->pool, g, *page);
        }
        *page = own;
    }
    return true;
}

/* The pages of a block, which the tree may replace. */
static void publish(help_prefix_cache *c, help_sequence *s, size_t n)
{
    const size_t b = s->published / VUG_KV_PAGE;
    vug_page page[VUG_KV_MAX_GROUPS] = { 0 };
    for (int g = 0; g < c->layout->n_groups; g++)
        page[g] = s->table[g][b];
    const int32_t *id = s->id + s->published;
    vug_prefix_node *node = n == VUG_KV_PAGE ? vug_prefix_add(c->tree, s->node, id, page)
                                             : vug_prefix_add_last(c->tree, s->node, id, n, page);
    s->private = node == s->node;
    s->published += s->private ? 0 : n;
    s->node = node;
    for (int g = 0; g < c->layout->n_groups; g++)
        s->table[g][b] = page[g];
}

bool help_sequence_advance(help_prefix_cache *c, help_sequence *s, const int32_t *id, size_t n)
{
    uint64_t hash = s->key;
    for (size_t i = 0; i < s->n; i++)
        hash = next_hash(hash, s->id[i]);
    for (size_t i = 0; i < n; i++) {
        if (!own_pages(c, s))
            return false;
        hash = next_hash(hash, id[i]);
        for (int g = 0; g < c->layout->n_groups; g++)
            *at_position(c, g, s->table[g][s->n / VUG_KV_PAGE], s->n) = content(hash, g);
        s->id[s->n++] = id[i];
        if (s->n % VUG_KV_PAGE == 0 && !s->private)
            publish(c, s, VUG_KV_PAGE);
    }
    check_pages(c, s, s->n);
    return true;
}

static void release_page(help_prefix_cache *c, help_sequence *s, int g, size_t b)
{
    vug_kv_page_release(c->pool, g, s->table[g][b]);
    s->table[g][b] = 0;
}

void help_sequence_slide(help_prefix_cache *c, help_sequence *s)
{
    for (int g = 0; g < c->layout->n_groups; g++) {
        if (c->layout->group[g].window == 0)
            continue;
        size_t first = 0;
        while (first < blocks_of(s->n) && !needs_block(c, g, first, s->n))
            first++;
        for (size_t b = 0; b + 1 < first; b++)
            release_page(c, s, g, b);
    }
}

bool help_sequence_holds(const help_prefix_cache *c, const help_sequence *s, size_t p)
{
    for (int g = 0; g < c->layout->n_groups; g++) {
        for (size_t b = 0; b < blocks_of(p); b++) {
            if (s->table[g][b] == 0 && needs_block(c, g, b, p))
                return false;
        }
    }
    return true;
}

void help_sequence_back(help_prefix_cache *c, help_sequence *s, size_t n)
{
    for (int g = 0; g < c->layout->n_groups; g++) {
        for (size_t b = blocks_of(n); b < HELP_BLOCKS; b++)
            release_page(c, s, g, b);
    }
    s->node = vug_prefix_back(c->tree, s->node, n);
    s->n = n;
    if (s->published > n)
        s->published = n / VUG_KV_PAGE * VUG_KV_PAGE;
    check_pages(c, s, n);
}

void help_sequence_publish_last(help_prefix_cache *c, help_sequence *s)
{
    if (!s->private && s->n > s->published)
        publish(c, s, s->n - s->published);
}

void help_sequence_drop(help_prefix_cache *c, help_sequence *s)
{
    vug_prefix_leave(c->tree, s->node);
    for (int g = 0; g < c->layout->n_groups; g++) {
        for (size_t b = 0; b < HELP_BLOCKS; b++)
            release_page(c, s, g, b);
    }
    s->node = NULL;
}

void help_sequence_end(help_prefix_cache *c, help_sequence *s)
{
    help_sequence_publish_last(c, s);
    help_sequence_drop(c, s);
}

/* ---- in few words ------------------------------------------------------------------ */

help_token_ids help_sequence_tokens(int seed)
{
    help_token_ids t;
    for (int i = 0; i < HELP_TOKENS; i++)
        t.id[i] = seed * 10000 + i;
    return t;
}

help_sequence help_sequence_run(help_prefix_cache *c, uint8_t key, const int32_t *id, size_t n)
{
    help_sequence s;
    help_sequence_start(c, &s, key, id, n, n);
    assert_true(help_sequence_advance(c, &s, id + s.n, n - s.n));
    return s;
}

void help_sequence_cache(help_prefix_cache *c, uint8_t key, const int32_t *id, size_t n)
{
    help_sequence s = help_sequence_run(c, key, id, n);
    help_sequence_end(c, &s);
}

size_t help_prefix_reusable(const help_prefix_cache *c, uint8_t key, const int32_t *id, size_t n)
{
    const vug_prefix_key full_key = help_prefix_key(key);
    return vug_prefix_peek(c->tree, &full_key, id, n, n);
}

vug_prefix_stats help_prefix_stats(const help_prefix_cache *c)
{
    help_prefix_check(c->tree, true);
    return vug_prefix_get_stats(c->tree);
}

void help_kv_take(help_prefix_cache *c, int g, vug_page *page, int n)
{
    for (int i = 0; i < n; i++) {
        page[i] = vug_kv_page_take(c->pool, g);
        assert_int_not_equal(page[i], 0);
    }
}

void help_kv_release(help_prefix_cache *c, int g, const vug_page *page, int n)
{
    for (int i = 0; i < n; i++)
        vug_kv_page_release(c->pool, g, page[i]);
}
