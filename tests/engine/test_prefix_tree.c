/*
 * The prefix tree, behaviour by behaviour: what is reused, what is evicted and in which order,
 * and which boundaries snapshots keep. test_prefix_random.c compares it with a model.
 */
#include "test.h"

#include "prefix_check.h"
#include "prefix_help.h"

enum { BLOCK = VUG_KV_PAGE };
#define UNIT ((uint64_t)VUG_KV_PAGE * 8)

static const help_prefix_config full = {
    .n_groups = 1, .window = { 0 }, .units = { 1 }, .budget = 1000
};
/* Group 0 is full, group 1 has a window. */
static const help_prefix_config sliding = {
    .n_groups = 2, .window = { 0, 100 }, .units = { 1, 1 }, .budget = 1000, .snapshot_share = 1
};

typedef struct {
    int32_t id[HELP_TOKENS];
} conversation_tokens;

/* Tokens that no other seed has. */
static conversation_tokens tokens(int seed)
{
    conversation_tokens t;
    for (int i = 0; i < HELP_TOKENS; i++)
        t.id[i] = seed * 10000 + i;
    return t;
}

/* A sequence of a key that computes `n` tokens. */
static help_sequence run_tokens(help_prefix_cache *c, uint8_t key, const int32_t *id, size_t n)
{
    help_sequence s;
    help_sequence_start(c, &s, key, id, n, n);
    assert_true(help_sequence_advance(c, &s, id + s.n, n - s.n));
    return s;
}

/* The same, and the sequence ends. */
static void cache_tokens(help_prefix_cache *c, uint8_t key, const int32_t *id, size_t n)
{
    help_sequence s = run_tokens(c, key, id, n);
    help_sequence_end(c, &s);
}

static size_t reusable(const help_prefix_cache *c, uint8_t key, const int32_t *id, size_t n)
{
    const vug_prefix_key full_key = help_prefix_key(key);
    return vug_prefix_peek(c->tree, &full_key, id, n, n);
}

static vug_prefix_stats stats_of(const help_prefix_cache *c)
{
    help_prefix_check(c->tree, true);
    return vug_prefix_get_stats(c->tree);
}

/* ---- reuse ------------------------------------------------------------------------ */

static void test_reuse_is_exact_to_the_token(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open(&c, &full);
    int32_t id[300];
    memcpy(id, tokens(1).id, sizeof(id));
    cache_tokens(&c, 0, id, 300);
    for (size_t n = 1; n <= 300; n++)
        assert_int_equal(reusable(&c, 0, id, n), n);
    for (size_t n = 0; n < 300; n++) {
        const int32_t own = id[n];
        id[n] = -1;
        assert_int_equal(reusable(&c, 0, id, 300), n);
        id[n] = own;
    }
    const vug_prefix_key key = help_prefix_key(0);
    for (size_t most = 0; most <= 300; most++)
        assert_int_equal(vug_prefix_peek(c.tree, &key, id, 300, most), most);
    help_prefix_close(&c);
}

static void test_keys_share_nothing(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open(&c, &full);
    const conversation_tokens t = tokens(1);
    const int32_t *id = t.id;
    cache_tokens(&c, 0, id, 100);
    assert_int_equal(reusable(&c, 1, id, 100), 0);
    help_sequence s;
    help_sequence_start(&c, &s, 1, id, 100, 100);
    assert_int_equal(s.match.common, 0);
    help_sequence_drop(&c, &s);
    cache_tokens(&c, 1, id, 70);
    assert_int_equal(reusable(&c, 0, id, 100), 100);
    assert_int_equal(reusable(&c, 1, id, 100), 70);
    help_prefix_close(&c);
}

/* Both compute the same tokens at the same time; the second gets the pages of the first. */
static void test_equal_prefixes_have_equal_pages(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open(&c, &full);
    const conversation_tokens t = tokens(1);
    const int32_t *id = t.id;
    help_sequence a, b;
    help_sequence_start(&c, &a, 0, id, 130, 130);
    help_sequence_start(&c, &b, 0, id, 130, 130);
    assert_true(help_sequence_advance(&c, &a, id, 130));
    assert_true(help_sequence_advance(&c, &b, id, 130));
    assert_int_equal(a.table[0][0], b.table[0][0]);
    assert_int_equal(a.table[0][1], b.table[0][1]);
    assert_int_not_equal(a.table[0][2], b.table[0][2]); /* not published yet */
    assert_int_equal(vug_kv_page_references(c.pool, 0, a.table[0][1]), 3);
    assert_int_equal(vug_kv_pool_get_stats(c.pool).pages, 4);
    help_sequence_end(&c, &a);
    help_sequence_end(&c, &b);
    assert_int_equal(stats_of(&c).pages, 3);
    help_prefix_close(&c);
}

/* A conversation that goes on replaces the leaf where it ended. */
static void test_a_longer_block_replaces_a_leaf(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open(&c, &full);
    const conversation_tokens t = tokens(1);
    const int32_t *id = t.id;
    cache_tokens(&c, 0, id, 70);
    cache_tokens(&c, 0, id, 80);
    assert_int_equal(stats_of(&c).pages, 2);
    cache_tokens(&c, 0, id, 150);
    assert_int_equal(stats_of(&c).pages, 3);
    cache_tokens(&c, 0, id, 100); /* a longer block has these tokens */
    assert_int_equal(stats_of(&c).pages, 3);
    assert_int_equal(stats_of(&c).nodes, 4);
    assert_int_equal(reusable(&c, 0, id, 150), 150);
    help_prefix_close(&c);
}

static void test_a_sequence_goes_back(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open(&c, &full);
    int32_t id[200];
    memcpy(id, tokens(1).id, sizeof(id));
    help_sequence s = run_tokens(&c, 0, id, 200);
    help_sequence_back(&c, &s, 100);
    assert_int_equal(s.published, 64);
    assert_true(help_sequence_advance(&c, &s, tokens(2).id, 60));
    help_sequence_end(&c, &s);
    memcpy(id, tokens(1).id, sizeof(id));
    assert_int_equal(reusable(&c, 0, id, 200), 192);
    memcpy(id + 100, tokens(2).id, 60 * sizeof(*id));
    assert_int_equal(reusable(&c, 0, id, 160), 160);
    help_prefix_close(&c);
}

/* As after a failed allocation: a sequence without a node publishes nothing. */
static void test_no_node_is_accepted(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open(&c, &sliding);
    vug_page page[2] = { vug_kv_page_take(c.pool, 0), 0 };
    assert_null(vug_prefix_add(c.tree, NULL, tokens(1).id, page));
    assert_null(vug_prefix_add_last(c.tree, NULL, tokens(1).id, 5, page));
    assert_null(vug_prefix_back(c.tree, NULL, 5));
    vug_prefix_enter(c.tree, NULL);
    vug_prefix_leave(c.tree, NULL);
    vug_prefix_pin(c.tree, NULL, 5, VUG_MARK_TURN);
    assert_int_equal(vug_kv_page_references(c.pool, 0, page[0]), 1);
    assert_int_equal(stats_of(&c).nodes, 0);
    vug_kv_page_release(c.pool, 0, page[0]);
    vug_prefix_tree_destroy(NULL);
    help_prefix_close(&c);
}

/* ---- eviction ---------------------------------------------------------------------- */

/* Takes pages of a group that a sequence would use. */
static void take_pages(help_prefix_cache *c, int g, vug_page *page, int n)
{
    for (int i = 0; i < n; i++) {
        page[i] = vug_kv_page_take(c->pool, g);
        assert_int_not_equal(page[i], 0);
    }
}

static void release_pages(help_prefix_cache *c, int g, const vug_page *page, int n)
{
    for (int i = 0; i < n; i++)
        vug_kv_page_release(c->pool, g, page[i]);
}

static void test_old_conversations_go_first_from_their_ends(void **state)
{
    (void)state;
    help_prefix_config config = full;
    config.budget = 12;
    help_prefix_cache c;
    help_prefix_open(&c, &config);
    cache_tokens(&c, 0, tokens(1).id, 4 * BLOCK);
    cache_tokens(&c, 0, tokens(2).id, 4 * BLOCK);
    cache_tokens(&c, 0, tokens(3).id, 4 * BLOCK);
    cache_tokens(&c, 0, tokens(1).id, BLOCK); /* uses its first block again */
    vug_page page[12];
    take_pages(&c, 0, page, 5);
    assert_int_equal(stats_of(&c).evictions, 5);
    assert_int_equal(reusable(&c, 0, tokens(1).id, 4 * BLOCK), BLOCK);
    assert_int_equal(reusable(&c, 0, tokens(2).id, 4 * BLOCK), 2 * BLOCK);
    assert_int_equal(reusable(&c, 0, tokens(3).id, 4 * BLOCK), 4 * BLOCK);
    take_pages(&c, 0, page + 5, 6);
    assert_int_equal(reusable(&c, 0, tokens(1).id, 4 * BLOCK), BLOCK);
    assert_int_equal(reusable(&c, 0, tokens(3).id, 4 * BLOCK), 0);
    assert_int_equal(stats_of(&c).evictable, UNIT);
    take_pages(&c, 0, page + 11, 1);
    assert_int_equal(vug_kv_page_take(c.pool, 0), 0);
    assert_int_equal(stats_of(&c).pages, 0);
    release_pages(&c, 0, page, 12);
    help_prefix_close(&c);
}

static void test_what_a_sequence_uses_stays(void **state)
{
    (void)state;
    help_prefix_config config = full;
    config.budget = 4;
    help_prefix_cache c;
    help_prefix_open(&c, &config);
    const conversation_tokens t = tokens(1);
    const int32_t *id = t.id;
    help_sequence s = run_tokens(&c, 0, id, 3 * BLOCK);
    assert_int_equal(stats_of(&c).evictable, 0);
    vug_page page;
    take_pages(&c, 0, &page, 1);
    assert_int_equal(vug_kv_page_take(c.pool, 0), 0);
    assert_int_equal(reusable(&c, 0, id, 3 * BLOCK), 3 * BLOCK);
    help_sequence_end(&c, &s);
    assert_int_equal(stats_of(&c).evictable, 3 * UNIT);
    release_pages(&c, 0, &page, 1);
    help_prefix_close(&c);
}

/* What is common is known although its pages are gone. */
static void test_nodes_outlive_their_pages(void **state)
{
    (void)state;
    help_prefix_config config = full;
    config.budget = 3;
    help_prefix_cache c;
    help_prefix_open(&c, &config);
    const conversation_tokens t = tokens(1);
    const int32_t *id = t.id;
    cache_tokens(&c, 0, id, 3 * BLOCK);
    vug_page page[3];
    take_pages(&c, 0, page, 3);
    release_pages(&c, 0, page, 3);
    help_sequence s;
    help_sequence_start(&c, &s, 0, id, 3 * BLOCK, 3 * BLOCK);
    assert_int_equal(s.match.length, 0);
    assert_int_equal(s.match.common, 3 * BLOCK);
    /* They get pages again when a sequence computes them again. */
    assert_true(help_sequence_advance(&c, &s, id, 2 * BLOCK));
    help_sequence_end(&c, &s);
    assert_int_equal(stats_of(&c).nodes, 4);
    assert_int_equal(reusable(&c, 0, id, 3 * BLOCK), 2 * BLOCK);
    help_prefix_close(&c);
}

static void test_the_nodes_without_pages_are_bounded(void **state)
{
    (void)state;
    enum { MORE = 1000 };
    help_prefix_cache c;
    help_prefix_open(&c, &full);
    const vug_prefix_key key = help_prefix_key(0);
    int32_t id[2 * BLOCK] = { 0 };
    for (int i = 0; i < (VUG_PREFIX_MAX_EMPTY + MORE) / 2; i++) {
        vug_prefix_node *node = vug_prefix_enter_root(c.tree, &key);
        vug_page none[1] = { 0 };
        id[0] = i;
        node = vug_prefix_add(c.tree, node, id, none);
        node = vug_prefix_add(c.tree, node, id + BLOCK, none);
        vug_prefix_leave(c.tree, node);
    }
    assert_int_equal(vug_prefix_get_stats(c.tree).nodes, VUG_PREFIX_MAX_EMPTY);
    help_sequence s;
    /* The oldest are gone, the newest are there. */
    id[0] = MORE / 4;
    help_sequence_start(&c, &s, 0, id, 2 * BLOCK, 2 * BLOCK);
    assert_int_equal(s.match.common, 0);
    help_sequence_drop(&c, &s);
    id[0] = MORE;
    help_sequence_start(&c, &s, 0, id, 2 * BLOCK, 2 * BLOCK);
    assert_int_equal(s.match.common, 2 * BLOCK);
    help_sequence_drop(&c, &s);
    vug_prefix_clear(c.tree);
    assert_int_equal(vug_prefix_get_stats(c.tree).nodes, 0);
    help_prefix_close(&c);
}

static void test_clear_drops_what_no_sequence_uses(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open(&c, &sliding);
    cache_tokens(&c, 0, tokens(1).id, 5 * BLOCK);
    help_sequence s = run_tokens(&c, 0, tokens(2).id, 5 * BLOCK);
    vug_prefix_pin(c.tree, s.node, 2 * BLOCK, VUG_MARK_TURN);
    vug_prefix_clear(c.tree);
    assert_int_equal(reusable(&c, 0, tokens(1).id, 5 * BLOCK), 0);
    assert_int_equal(reusable(&c, 0, tokens(2).id, 5 * BLOCK), 5 * BLOCK);
    assert_int_equal(stats_of(&c).snapshots, 0);
    assert_int_equal(stats_of(&c).evictions, 0);
    assert_int_equal(stats_of(&c).nodes, 6);
    help_sequence_end(&c, &s);
    vug_prefix_clear(c.tree);
    assert_int_equal(stats_of(&c).nodes, 0);
    assert_int_equal(vug_kv_pool_get_stats(c.pool).used, 0);
    help_prefix_close(&c);
}

/* ---- snapshots --------------------------------------------------------------------- */

/* A sequence of 10 blocks that slides on and ends. Its snapshots are at the boundaries `pin`. */
static void cache_with_pins(help_prefix_cache *c, const int32_t *id, const size_t *pin, size_t n,
                            vug_mark_kind kind)
{
    help_sequence s;
    help_sequence_start(c, &s, 0, id, 10 * BLOCK, 10 * BLOCK);
    for (size_t b = s.n / BLOCK; b < 10; b++) {
        assert_true(help_sequence_advance(c, &s, id + s.n, BLOCK));
        for (size_t i = 0; i < n; i++) {
            if ((pin[i] - 1) / BLOCK == b)
                vug_prefix_pin(c->tree, s.node, pin[i], kind);
        }
        help_sequence_slide(c, &s);
    }
    help_sequence_end(c, &s);
}

/* Drops the idle pages of the sliding group that nothing pins, as if they had been evicted. */
static void drop_sliding(help_prefix_cache *c)
{
    vug_prefix_tree *tree = c->tree;
    for (;;) {
        const vug_prefix_entry *found = NULL;
        for (size_t i = 1; i <= tree->idle.n && !found; i++)
            found = tree->idle.entry[i]->group == 1 ? tree->idle.entry[i] : NULL;
        if (!found)
            return;
        vug_prefix_drop_page(tree, found->node, found->group);
    }
}

static void test_a_snapshot_keeps_a_boundary(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open(&c, &sliding);
    const conversation_tokens t = tokens(1);
    const int32_t *id = t.id;
    cache_with_pins(&c, id, (size_t[]){ 300 }, 1, VUG_MARK_TURN);
    assert_int_equal(stats_of(&c).snapshots, 1);
    /* Boundary 300 needs positions 201 to 299: blocks 3 and 4. */
    assert_int_equal(stats_of(&c).snapshot_bytes, 2 * UNIT);
    assert_int_equal(reusable(&c, 0, id, 10 * BLOCK), 10 * BLOCK);
    drop_sliding(&c);
    /* Block 4 is whole, and the positions up to its end need blocks 3 and 4 as well. */
    assert_int_equal(reusable(&c, 0, id, 10 * BLOCK), 5 * BLOCK);
    assert_int_equal(reusable(&c, 0, id, 300), 300);
    /* Boundary 291 is the first that does not need block 2 of positions up to 191. */
    assert_int_equal(reusable(&c, 0, id, 291), 291);
    assert_int_equal(reusable(&c, 0, id, 290), 0);
    help_prefix_close(&c);
}

static void test_only_boundaries_with_all_pages_are_pinned(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open(&c, &sliding);
    const conversation_tokens t = tokens(1);
    const int32_t *id = t.id;
    cache_tokens(&c, 0, id, 5 * BLOCK + 20);
    drop_sliding(&c);
    help_sequence s;
    help_sequence_start(&c, &s, 0, id, 5 * BLOCK + 20, 0);
    assert_int_equal(s.match.common, 5 * BLOCK + 20);
    assert_true(help_sequence_advance(&c, &s, id, BLOCK));
    vug_prefix_pin(c.tree, s.node, BLOCK + 1, VUG_MARK_TURN); /* not in the node */
    vug_prefix_pin(c.tree, s.node, 0, VUG_MARK_TURN);
    assert_int_equal(stats_of(&c).snapshots, 0);
    vug_prefix_pin(c.tree, s.node, 30, VUG_MARK_PROMPT);
    assert_int_equal(stats_of(&c).snapshots, 1);
    vug_prefix_pin(c.tree, s.node, 30, VUG_MARK_TURN); /* it is there already */
    vug_prefix_pin(c.tree, s.node, 40, VUG_MARK_TURN); /* in the same node */
    assert_int_equal(stats_of(&c).snapshots, 2);
    assert_int_equal(stats_of(&c).snapshot_bytes, UNIT);
    help_sequence_end(&c, &s);
    help_prefix_close(&c);

    help_prefix_open(&c, &full);
    s = run_tokens(&c, 0, tokens(1).id, BLOCK);
    vug_prefix_pin(c.tree, s.node, BLOCK, VUG_MARK_TURN);
    assert_int_equal(stats_of(&c).snapshots, 0); /* no sliding group */
    help_sequence_end(&c, &s);
    help_prefix_close(&c);
}

/* Whether there is a snapshot of boundary `p` of these tokens. */
static bool is_pinned(const help_prefix_cache *c, const int32_t *id, size_t p)
{
    for (const vug_prefix_snapshot *s = c->tree->snapshot; s; s = s->next) {
        if (s->p == p && s->node->id[0] == id[(p - 1) / BLOCK * BLOCK])
            return true;
    }
    return false;
}

/* The share holds three boundaries of two pages. */
static void test_snapshots_are_given_up_when_the_share_is_exceeded(void **state)
{
    (void)state;
    help_prefix_config config = sliding;
    config.budget = 100;
    config.snapshot_share = 0.06;
    help_prefix_cache c;
    help_prefix_open(&c, &config);
    const conversation_tokens first = tokens(1), second = tokens(2);
    const int32_t *a = first.id, *b = second.id;
    cache_with_pins(&c, a, (size_t[]){ 2 * BLOCK, 4 * BLOCK, 10 * BLOCK }, 3, VUG_MARK_TURN);
    assert_int_equal(stats_of(&c).snapshots, 3);
    assert_int_equal(stats_of(&c).snapshot_bytes, 6 * UNIT);
    /* Without one of the first two, two blocks are computed again; the first is older. */
    cache_with_pins(&c, b, (size_t[]){ 8 * BLOCK }, 1, VUG_MARK_TURN);
    assert_int_equal(stats_of(&c).snapshots, 3);
    assert_false(is_pinned(&c, a, 2 * BLOCK));
    assert_true(is_pinned(&c, a, 4 * BLOCK) && is_pinned(&c, a, 10 * BLOCK));
    assert_true(is_pinned(&c, b, 8 * BLOCK));
    help_prefix_close(&c);
}

static void test_lower_kinds_are_given_up_first(void **state)
{
    (void)state;
    help_prefix_config config = sliding;
    config.budget = 100;
    config.snapshot_share = 0.04; /* two boundaries */
    help_prefix_cache c;
    help_prefix_open(&c, &config);
    cache_with_pins(&c, tokens(1).id, (size_t[]){ 2 * BLOCK }, 1, VUG_MARK_SYSTEM);
    cache_with_pins(&c, tokens(2).id, (size_t[]){ 9 * BLOCK }, 1, VUG_MARK_PROMPT);
    cache_with_pins(&c, tokens(3).id, (size_t[]){ 2 * BLOCK }, 1, VUG_MARK_TURN);
    assert_int_equal(stats_of(&c).snapshots, 2);
    assert_true(is_pinned(&c, tokens(3).id, 2 * BLOCK));
    /* None of a higher kind is given up: the new one is not pinned. */
    cache_with_pins(&c, tokens(4).id, (size_t[]){ 9 * BLOCK }, 1, VUG_MARK_PROMPT);
    assert_true(is_pinned(&c, tokens(1).id, 2 * BLOCK));
    assert_true(is_pinned(&c, tokens(3).id, 2 * BLOCK));
    assert_int_equal(stats_of(&c).snapshots, 2);
    help_prefix_close(&c);
}

/* A boundary that is found again is used again. */
static void test_a_snapshot_in_use_stays(void **state)
{
    (void)state;
    help_prefix_config config = sliding;
    config.budget = 200;
    config.snapshot_share = 0.02; /* two boundaries */
    help_prefix_cache c;
    help_prefix_open(&c, &config);
    cache_with_pins(&c, tokens(1).id, (size_t[]){ 4 * BLOCK }, 1, VUG_MARK_TURN);
    cache_with_pins(&c, tokens(2).id, (size_t[]){ 4 * BLOCK }, 1, VUG_MARK_TURN);
    help_sequence s;
    help_sequence_start(&c, &s, 0, tokens(1).id, 4 * BLOCK, 4 * BLOCK);
    help_sequence_drop(&c, &s);
    cache_with_pins(&c, tokens(3).id, (size_t[]){ 4 * BLOCK }, 1, VUG_MARK_TURN);
    assert_true(is_pinned(&c, tokens(1).id, 4 * BLOCK));
    assert_false(is_pinned(&c, tokens(2).id, 4 * BLOCK));
    assert_true(is_pinned(&c, tokens(3).id, 4 * BLOCK));
    help_prefix_close(&c);
}

static void test_a_boundary_larger_than_the_share_is_not_pinned(void **state)
{
    (void)state;
    help_prefix_config config = sliding;
    config.budget = 100;
    config.snapshot_share = 0.02; /* one boundary of two pages */
    help_prefix_cache c;
    help_prefix_open(&c, &config);
    cache_with_pins(&c, tokens(1).id, (size_t[]){ 2 * BLOCK }, 1, VUG_MARK_TURN);
    assert_int_equal(stats_of(&c).snapshots, 1);
    /* This one needs three: positions 190 to 288. */
    cache_with_pins(&c, tokens(2).id, (size_t[]){ 289 }, 1, VUG_MARK_SYSTEM);
    assert_int_equal(stats_of(&c).snapshots, 1);
    assert_true(is_pinned(&c, tokens(1).id, 2 * BLOCK));
    help_prefix_close(&c);
}

/* The pool gets all other pages first, then those of snapshots. */
static void test_snapshots_are_the_last_that_is_reclaimed(void **state)
{
    (void)state;
    help_prefix_config config = sliding;
    config.window[0] = 200; /* no full group, so nothing else ends a snapshot */
    config.budget = 20;
    help_prefix_cache c;
    help_prefix_open(&c, &config);
    const conversation_tokens t = tokens(1);
    const int32_t *id = t.id;
    cache_with_pins(&c, id, (size_t[]){ 4 * BLOCK }, 1, VUG_MARK_TURN);
    /* Positions 57 to 255 of one group and 157 to 255 of the other. */
    assert_int_equal(stats_of(&c).snapshot_bytes, 6 * UNIT);
    vug_page page[20];
    take_pages(&c, 0, page, 14);
    assert_int_equal(reusable(&c, 0, id, 10 * BLOCK), 4 * BLOCK);
    assert_int_equal(stats_of(&c).snapshots, 1);
    assert_int_equal(stats_of(&c).evictable, 6 * UNIT);
    take_pages(&c, 0, page + 14, 6);
    assert_int_equal(stats_of(&c).snapshots, 0);
    assert_int_equal(stats_of(&c).pages, 0);
    assert_int_equal(vug_kv_page_take(c.pool, 0), 0);
    release_pages(&c, 0, page, 20);
    help_prefix_close(&c);
}

/* Without the page of a full group no boundary in its block is usable. */
static void test_a_full_page_takes_the_rest_of_its_node_along(void **state)
{
    (void)state;
    help_prefix_config config = sliding;
    config.budget = 20;
    help_prefix_cache c;
    help_prefix_open(&c, &config);
    const conversation_tokens t = tokens(1);
    const int32_t *id = t.id;
    cache_with_pins(&c, id, (size_t[]){ 9 * BLOCK, 10 * BLOCK }, 2, VUG_MARK_SYSTEM);
    assert_int_equal(stats_of(&c).pages, 20);
    assert_int_equal(stats_of(&c).snapshot_bytes, 3 * UNIT);
    /* Behind the window, blocks 0 to 6 of the sliding group were released first; the two that
     * follow are pinned or were released at the end. */
    vug_page page[8];
    take_pages(&c, 0, page, 7);
    assert_int_equal(stats_of(&c).snapshots, 2);
    take_pages(&c, 0, page + 7, 1);
    assert_int_equal(stats_of(&c).snapshots, 1);
    assert_int_equal(stats_of(&c).snapshot_bytes, 2 * UNIT);
    assert_int_equal(stats_of(&c).pages, 11);
    assert_int_equal(reusable(&c, 0, id, 10 * BLOCK), 9 * BLOCK);
    release_pages(&c, 0, page, 8);
    help_prefix_close(&c);
}

/* The opening of a short answer is in the block where the sequence ends. */
static void test_a_boundary_in_the_last_block_is_pinned(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open(&c, &sliding);
    const conversation_tokens t = tokens(1);
    const int32_t *id = t.id;
    help_sequence s = run_tokens(&c, 0, id, 5 * BLOCK + 30);
    help_sequence_publish_last(&c, &s);
    vug_prefix_pin(c.tree, s.node, 5 * BLOCK + 10, VUG_MARK_TURN);
    help_sequence_drop(&c, &s);
    assert_int_equal(stats_of(&c).snapshots, 1);
    drop_sliding(&c);
    assert_int_equal(reusable(&c, 0, id, 5 * BLOCK + 10), 5 * BLOCK + 10);
    /* A pinned leaf stays beside the block that continues it. */
    cache_tokens(&c, 0, id, 6 * BLOCK);
    assert_int_equal(stats_of(&c).snapshots, 1);
    assert_int_equal(reusable(&c, 0, id, 6 * BLOCK), 6 * BLOCK);
    help_prefix_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reuse_is_exact_to_the_token),
        cmocka_unit_test(test_keys_share_nothing),
        cmocka_unit_test(test_equal_prefixes_have_equal_pages),
        cmocka_unit_test(test_a_longer_block_replaces_a_leaf),
        cmocka_unit_test(test_a_sequence_goes_back),
        cmocka_unit_test(test_no_node_is_accepted),
        cmocka_unit_test(test_old_conversations_go_first_from_their_ends),
        cmocka_unit_test(test_what_a_sequence_uses_stays),
        cmocka_unit_test(test_nodes_outlive_their_pages),
        cmocka_unit_test(test_the_nodes_without_pages_are_bounded),
        cmocka_unit_test(test_clear_drops_what_no_sequence_uses),
        cmocka_unit_test(test_a_snapshot_keeps_a_boundary),
        cmocka_unit_test(test_only_boundaries_with_all_pages_are_pinned),
        cmocka_unit_test(test_snapshots_are_given_up_when_the_share_is_exceeded),
        cmocka_unit_test(test_lower_kinds_are_given_up_first),
        cmocka_unit_test(test_a_snapshot_in_use_stays),
        cmocka_unit_test(test_a_boundary_larger_than_the_share_is_not_pinned),
        cmocka_unit_test(test_snapshots_are_the_last_that_is_reclaimed),
        cmocka_unit_test(test_a_full_page_takes_the_rest_of_its_node_along),
        cmocka_unit_test(test_a_boundary_in_the_last_block_is_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
