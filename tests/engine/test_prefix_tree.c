/* The prefix tree, behaviour by behaviour: what is reused, what is evicted and in which order.
 * test_prefix_random.c compares it with a model. */
#include "test.h"

#include "prefix_check.h"
#include "prefix_help.h"

/* ---- reuse ------------------------------------------------------------------------ */

static void test_reuse_is_exact_to_the_token(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_full(&c, 1000);
    int32_t id[300];
    memcpy(id, help_sequence_tokens(1).id, sizeof(id));
    help_sequence_cache(&c, 0, id, 300);
    for (size_t n = 1; n <= 300; n++)
        assert_int_equal(help_prefix_reusable(&c, 0, id, n), n);
    for (size_t n = 0; n < 300; n++) {
        const int32_t own = id[n];
        id[n] = -1;
        assert_int_equal(help_prefix_reusable(&c, 0, id, 300), n);
        id[n] = own;
    }
    const vug_prefix_key key = help_prefix_key(0);
    for (size_t most = 0; most <= 300; most++)
        assert_int_equal(vug_prefix_peek(c.tree, &key, id, 300, most), most);
    help_prefix_close(&c);
}

/* Why a prefix is not longer, and what the cache has in its place. */
static void test_misses_are_explained(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_full(&c, 1000);
    const help_token_ids t = help_sequence_tokens(1);
    static const struct {
        size_t n, most, differs; /* the prompt; 0: nowhere */
        size_t n_same;
        vug_miss_reason reason;
        bool ends;
    } cases[] = {
        { 100, 99, 0, 100, VUG_MISS_NONE, true },
        { 90, 89, 0, 90, VUG_MISS_NONE, false },
        { 100, 99, 70, 70, VUG_MISS_DIFFERS, false },
        { 100, 99, BLOCK, BLOCK, VUG_MISS_DIFFERS, false },
        { 130, 129, 0, 100, VUG_MISS_DIFFERS, true },
    };
    help_sequence_cache(&c, 0, t.id, 100);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        help_sequence s;
        help_token_ids other = t;
        const size_t at = cases[i].differs;
        other.id[at] += at > 0;
        help_sequence_start(&c, &s, 0, other.id, cases[i].n, cases[i].most);
        assert_int_equal(s.match.miss.reason, cases[i].reason);
        assert_int_equal(s.match.miss.n_same, cases[i].n_same);
        assert_int_equal(s.match.miss.cached, cases[i].ends ? -1 : t.id[cases[i].n_same]);
        help_sequence_drop(&c, &s);
    }
    help_prefix_close(&c);
}

static void test_keys_share_nothing(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_full(&c, 1000);
    const help_token_ids t = help_sequence_tokens(1);
    const int32_t *id = t.id;
    help_sequence_cache(&c, 0, id, 100);
    assert_int_equal(help_prefix_reusable(&c, 1, id, 100), 0);
    help_sequence s;
    help_sequence_start(&c, &s, 1, id, 100, 100);
    assert_int_equal(s.match.miss.n_same, 0);
    help_sequence_drop(&c, &s);
    help_sequence_cache(&c, 1, id, 70);
    assert_int_equal(help_prefix_reusable(&c, 0, id, 100), 100);
    assert_int_equal(help_prefix_reusable(&c, 1, id, 100), 70);
    help_prefix_close(&c);
}

/* Both compute the same tokens at the same time; the second gets the pages of the first. */
static void test_equal_prefixes_have_equal_pages(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_full(&c, 1000);
    const help_token_ids t = help_sequence_tokens(1);
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
    assert_int_equal(help_prefix_stats(&c).pages, 3);
    help_prefix_close(&c);
}

/* A conversation that goes on replaces the leaf where it ended. */
static void test_a_longer_block_replaces_a_leaf(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_full(&c, 1000);
    const help_token_ids t = help_sequence_tokens(1);
    const int32_t *id = t.id;
    help_sequence_cache(&c, 0, id, 70);
    help_sequence_cache(&c, 0, id, 80);
    assert_int_equal(help_prefix_stats(&c).pages, 2);
    help_sequence_cache(&c, 0, id, 150);
    assert_int_equal(help_prefix_stats(&c).pages, 3);
    help_sequence_cache(&c, 0, id, 100); /* a longer block has these tokens */
    assert_int_equal(help_prefix_stats(&c).pages, 3);
    assert_int_equal(help_prefix_stats(&c).nodes, 4);
    assert_int_equal(help_prefix_reusable(&c, 0, id, 150), 150);
    help_prefix_close(&c);
}

/* A leaf stays if a sequence is there, or if it has a page that the longer block lacks. */
static void test_a_leaf_that_is_needed_stays(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 1000, 1);
    const help_token_ids t = help_sequence_tokens(1);
    help_sequence a = help_sequence_run(&c, 0, t.id, 30);
    help_sequence_publish_last(&c, &a);
    help_sequence_cache(&c, 0, t.id, BLOCK);
    assert_int_equal(help_prefix_stats(&c).nodes, 3);
    /* It can go on from the last whole block, here the root. */
    a.node = vug_prefix_back(c.tree, a.node, 30);
    a.published = 0;
    assert_true(help_sequence_advance(&c, &a, t.id + 30, 30));
    help_sequence_end(&c, &a);
    help_prefix_close(&c);

    help_prefix_open_sliding(&c, 1000, 1);
    help_sequence_cache(&c, 0, t.id, 30);
    const vug_prefix_key key = help_prefix_key(0);
    vug_page page[2] = { vug_kv_page_take(c.pool, 0), 0 };
    vug_prefix_node *node = vug_prefix_enter_root(c.tree, &key);
    node = vug_prefix_add(c.tree, node, t.id, page);
    assert_int_equal(help_prefix_reusable(&c, 0, t.id, BLOCK), 30);
    /* A sequence without a page gets none. */
    node = vug_prefix_back(c.tree, node, 0);
    vug_page none[2] = { 0, 0 };
    node = vug_prefix_add(c.tree, node, t.id, none);
    assert_int_equal(none[0], 0);
    vug_prefix_leave(c.tree, node);
    vug_kv_page_release(c.pool, 0, page[0]);
    help_prefix_close(&c);
}

/* The block has the tokens, but its pages are gone. */
static void test_a_leaf_brings_pages_that_a_block_lacks(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 1000, 1);
    const help_token_ids t = help_sequence_tokens(1);
    const vug_prefix_key key = help_prefix_key(0);
    help_sequence_cache(&c, 0, t.id, BLOCK);
    vug_prefix_node *block = vug_prefix_child(vug_prefix_root(c.tree, &key), t.id, BLOCK);
    help_sequence a, b;
    help_sequence_start(&c, &a, 0, t.id, 30, 30);
    help_sequence_start(&c, &b, 0, t.id, 30, 0);
    assert_int_equal(a.n, 30);
    assert_true(help_sequence_advance(&c, &b, t.id, 30));
    /* A copies its page of group 0 and keeps the other, which stays the block's. */
    const vug_page own = vug_kv_page_take(c.pool, 0);
    vug_kv_page_copy(c.pool, 0, own, a.table[0][0]);
    vug_kv_page_release(c.pool, 0, a.table[0][0]);
    a.table[0][0] = own;
    vug_prefix_drop_page(c.tree, block, 0);
    help_sequence_end(&c, &a);
    assert_int_equal(help_prefix_stats(&c).pages, 2);
    assert_int_equal(help_prefix_reusable(&c, 0, t.id, 30), 0);
    help_sequence_end(&c, &b);
    assert_int_equal(help_prefix_stats(&c).pages, 3);
    assert_int_equal(help_prefix_reusable(&c, 0, t.id, 30), 30);
    help_prefix_close(&c);
}

/* Pages can outlive the tree. */
static void test_a_tree_that_is_gone_is_told_nothing(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_full(&c, 1000);
    const vug_page page = vug_kv_page_take(c.pool, 0);
    vug_kv_page_retain(c.pool, 0, page);
    vug_prefix_tree_destroy(c.tree);
    vug_kv_page_release(c.pool, 0, page);
    vug_kv_page_release(c.pool, 0, page);
    assert_int_equal(vug_kv_pool_get_stats(c.pool).used, 0);
    vug_kv_pool_destroy(c.pool);
}

static void test_a_sequence_goes_back(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_full(&c, 1000);
    int32_t id[200];
    memcpy(id, help_sequence_tokens(1).id, sizeof(id));
    help_sequence s = help_sequence_run(&c, 0, id, 200);
    help_sequence_back(&c, &s, 100);
    assert_int_equal(s.published, 64);
    assert_true(help_sequence_advance(&c, &s, help_sequence_tokens(2).id, 60));
    help_sequence_end(&c, &s);
    memcpy(id, help_sequence_tokens(1).id, sizeof(id));
    assert_int_equal(help_prefix_reusable(&c, 0, id, 200), 192);
    memcpy(id + 100, help_sequence_tokens(2).id, 60 * sizeof(*id));
    assert_int_equal(help_prefix_reusable(&c, 0, id, 160), 160);
    help_prefix_close(&c);
}

/* As after a failed allocation: a sequence without a node publishes nothing. */
static void test_no_node_is_accepted(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 1000, 1);
    vug_page page[2] = { vug_kv_page_take(c.pool, 0), 0 };
    assert_null(vug_prefix_add(c.tree, NULL, help_sequence_tokens(1).id, page));
    assert_null(vug_prefix_add_last(c.tree, NULL, help_sequence_tokens(1).id, 5, page));
    assert_null(vug_prefix_back(c.tree, NULL, 5));
    vug_prefix_enter(c.tree, NULL);
    vug_prefix_leave(c.tree, NULL);
    vug_prefix_pin(c.tree, NULL, 5, VUG_MARK_TURN);
    assert_int_equal(vug_kv_page_references(c.pool, 0, page[0]), 1);
    assert_int_equal(help_prefix_stats(&c).nodes, 0);
    vug_kv_page_release(c.pool, 0, page[0]);
    vug_prefix_tree_destroy(NULL);
    help_prefix_close(&c);
}

/* ---- eviction ---------------------------------------------------------------------- */

static void test_old_conversations_go_first_from_their_ends(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_full(&c, 12);
    help_sequence_cache(&c, 0, help_sequence_tokens(1).id, 4 * BLOCK);
    help_sequence_cache(&c, 0, help_sequence_tokens(2).id, 4 * BLOCK);
    help_sequence_cache(&c, 0, help_sequence_tokens(3).id, 4 * BLOCK);
    help_sequence_cache(&c, 0, help_sequence_tokens(1).id, BLOCK); /* uses its first block again */
    vug_page page[12];
    help_kv_take(&c, 0, page, 5);
    assert_int_equal(help_prefix_stats(&c).evictions, 5);
    assert_int_equal(help_prefix_reusable(&c, 0, help_sequence_tokens(1).id, 4 * BLOCK), BLOCK);
    assert_int_equal(help_prefix_reusable(&c, 0, help_sequence_tokens(2).id, 4 * BLOCK), 2 * BLOCK);
    assert_int_equal(help_prefix_reusable(&c, 0, help_sequence_tokens(3).id, 4 * BLOCK), 4 * BLOCK);
    help_kv_take(&c, 0, page + 5, 6);
    assert_int_equal(help_prefix_reusable(&c, 0, help_sequence_tokens(1).id, 4 * BLOCK), BLOCK);
    assert_int_equal(help_prefix_reusable(&c, 0, help_sequence_tokens(3).id, 4 * BLOCK), 0);
    assert_int_equal(help_prefix_stats(&c).evictable, UNIT);
    help_kv_take(&c, 0, page + 11, 1);
    assert_int_equal(vug_kv_page_take(c.pool, 0), 0);
    assert_int_equal(help_prefix_stats(&c).pages, 0);
    help_kv_release(&c, 0, page, 12);
    help_prefix_close(&c);
}

static void test_what_a_sequence_uses_stays(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_full(&c, 4);
    const help_token_ids t = help_sequence_tokens(1);
    const int32_t *id = t.id;
    help_sequence s = help_sequence_run(&c, 0, id, 3 * BLOCK);
    assert_int_equal(help_prefix_stats(&c).evictable, 0);
    vug_page page;
    help_kv_take(&c, 0, &page, 1);
    assert_int_equal(vug_kv_page_take(c.pool, 0), 0);
    assert_int_equal(help_prefix_reusable(&c, 0, id, 3 * BLOCK), 3 * BLOCK);
    help_sequence_end(&c, &s);
    assert_int_equal(help_prefix_stats(&c).evictable, 3 * UNIT);
    help_kv_release(&c, 0, &page, 1);
    help_prefix_close(&c);
}

static void test_every_page_of_ended_sequences_is_evictable(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_full(&c, 1000);
    for (int i = 1; i <= 300; i++) {
        help_sequence_cache(&c, 0, help_sequence_tokens(i).id, BLOCK);
        assert_int_equal(help_prefix_stats(&c).evictable, (uint64_t)i * UNIT);
    }
    vug_page page[1000];
    help_kv_take(&c, 0, page, 1000);
    assert_int_equal(help_prefix_stats(&c).evictions, 300);
    help_kv_release(&c, 0, page, 1000);
    help_prefix_close(&c);
}

/* What is common is known although its pages are gone. */
static void test_nodes_outlive_their_pages(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_full(&c, 3);
    const help_token_ids t = help_sequence_tokens(1);
    const int32_t *id = t.id;
    help_sequence_cache(&c, 0, id, 3 * BLOCK);
    vug_page page[3];
    help_kv_take(&c, 0, page, 3);
    help_kv_release(&c, 0, page, 3);
    help_sequence s;
    help_sequence_start(&c, &s, 0, id, 3 * BLOCK, 3 * BLOCK);
    assert_int_equal(s.match.length, 0);
    assert_int_equal(s.match.miss.n_same, 3 * BLOCK);
    assert_int_equal(s.match.miss.reason, VUG_MISS_EVICTED);
    /* They get pages again when a sequence computes them again. */
    assert_true(help_sequence_advance(&c, &s, id, 2 * BLOCK));
    help_sequence_end(&c, &s);
    assert_int_equal(help_prefix_stats(&c).nodes, 4);
    assert_int_equal(help_prefix_reusable(&c, 0, id, 3 * BLOCK), 2 * BLOCK);
    help_prefix_close(&c);
}

/* Publishes two blocks without pages, the first token of which is `first`. */
static void add_nodes(help_prefix_cache *c, int32_t first)
{
    const int32_t id[BLOCK] = { first };
    const vug_prefix_key key = help_prefix_key(0);
    vug_page none[1] = { 0 };
    vug_prefix_node *node = vug_prefix_enter_root(c->tree, &key);
    node = vug_prefix_add(c->tree, node, id, none);
    node = vug_prefix_add(c->tree, node, id, none);
    vug_prefix_leave(c->tree, node);
}

/* How many blocks of add_nodes are still there. Looking is a use. */
static size_t known_blocks(help_prefix_cache *c, int32_t first)
{
    const int32_t id[2 * BLOCK] = { [0] = first, [BLOCK] = first };
    help_sequence s;
    help_sequence_start(c, &s, 0, id, 2 * BLOCK, 2 * BLOCK);
    help_sequence_drop(c, &s);
    return s.match.miss.n_same / BLOCK;
}

static void test_the_nodes_without_pages_are_bounded(void **state)
{
    (void)state;
    enum { MORE = 1000 };
    help_prefix_cache c;
    help_prefix_open_full(&c, 1000);
    for (int32_t i = 0; i < (VUG_PREFIX_MAX_EMPTY + MORE) / 2; i++)
        add_nodes(&c, i);
    assert_int_equal(vug_prefix_get_stats(c.tree).nodes, VUG_PREFIX_MAX_EMPTY);
    assert_int_equal(known_blocks(&c, MORE / 4), 0);
    assert_int_equal(known_blocks(&c, MORE), 2);
    vug_prefix_clear(c.tree);
    assert_int_equal(vug_prefix_get_stats(c.tree).nodes, 0);
    help_prefix_close(&c);
}

static void test_the_nodes_used_last_stay(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_full(&c, 1000);
    for (int32_t i = 0; i < 5; i++)
        add_nodes(&c, i);
    assert_int_equal(known_blocks(&c, 1), 2);
    add_nodes(&c, 3);
    const int32_t id[BLOCK] = { 2 }; /* shares the first block of 2 and branches there */
    const vug_prefix_key key = help_prefix_key(0);
    vug_page none[1] = { 0 };
    vug_prefix_node *node = vug_prefix_enter_root(c.tree, &key);
    node = vug_prefix_add(c.tree, node, id, none);
    node = vug_prefix_add(c.tree, node, (const int32_t[BLOCK]){ 77 }, none);
    vug_prefix_leave(c.tree, node);
    /* By use: 0, the second block of 2, 4, 1, 3, the branch of 2, its first block. */
    const size_t left[][5] = { { 2, 2, 2, 2, 2 }, { 1, 2, 2, 2, 2 }, { 0, 2, 2, 2, 2 },
                               { 0, 2, 1, 2, 2 }, { 0, 2, 1, 2, 1 }, { 0, 2, 1, 2, 0 },
                               { 0, 1, 1, 2, 0 }, { 0, 0, 1, 2, 0 }, { 0, 0, 1, 1, 0 },
                               { 0, 0, 1, 0, 0 }, { 0, 0, 1, 0, 0 }, { 0, 0, 0, 0, 0 } };
    for (size_t dropped = 0; dropped < 12; dropped++) {
        vug_prefix_prune(c.tree, 12 - dropped);
        help_prefix_check(c.tree, true);
        for (int32_t i = 0; i < 5; i++) {
            const int32_t prompt[2 * BLOCK] = { [0] = i, [BLOCK] = i };
            const vug_prefix_node *root = vug_prefix_root(c.tree, &key);
            const vug_prefix_node *first = vug_prefix_child(root, prompt, BLOCK);
            const size_t n = !first ? 0 : vug_prefix_child(first, prompt, BLOCK) ? 2 : 1;
            assert_int_equal(n, left[dropped][i]);
        }
    }
    help_prefix_close(&c);
}

static void test_clear_drops_what_no_sequence_uses(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 1000, 1);
    help_sequence_cache(&c, 0, help_sequence_tokens(1).id, 5 * BLOCK);
    help_sequence s = help_sequence_run(&c, 0, help_sequence_tokens(2).id, 5 * BLOCK);
    vug_prefix_pin(c.tree, s.node, 2 * BLOCK, VUG_MARK_TURN);
    vug_prefix_clear(c.tree);
    assert_int_equal(help_prefix_reusable(&c, 0, help_sequence_tokens(1).id, 5 * BLOCK), 0);
    assert_int_equal(help_prefix_reusable(&c, 0, help_sequence_tokens(2).id, 5 * BLOCK), 5 * BLOCK);
    assert_int_equal(help_prefix_stats(&c).snapshots, 0);
    assert_int_equal(help_prefix_stats(&c).evictions, 0);
    assert_int_equal(help_prefix_stats(&c).nodes, 6);
    help_sequence_end(&c, &s);
    vug_prefix_clear(c.tree);
    assert_int_equal(help_prefix_stats(&c).nodes, 0);
    assert_int_equal(vug_kv_pool_get_stats(c.pool).used, 0);
    help_prefix_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reuse_is_exact_to_the_token),
        cmocka_unit_test(test_keys_share_nothing),
        cmocka_unit_test(test_misses_are_explained),
        cmocka_unit_test(test_equal_prefixes_have_equal_pages),
        cmocka_unit_test(test_a_longer_block_replaces_a_leaf),
        cmocka_unit_test(test_a_leaf_that_is_needed_stays),
        cmocka_unit_test(test_a_leaf_brings_pages_that_a_block_lacks),
        cmocka_unit_test(test_a_tree_that_is_gone_is_told_nothing),
        cmocka_unit_test(test_a_sequence_goes_back),
        cmocka_unit_test(test_no_node_is_accepted),
        cmocka_unit_test(test_old_conversations_go_first_from_their_ends),
        cmocka_unit_test(test_what_a_sequence_uses_stays),
        cmocka_unit_test(test_every_page_of_ended_sequences_is_evictable),
        cmocka_unit_test(test_nodes_outlive_their_pages),
        cmocka_unit_test(test_the_nodes_without_pages_are_bounded),
        cmocka_unit_test(test_the_nodes_used_last_stay),
        cmocka_unit_test(test_clear_drops_what_no_sequence_uses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
