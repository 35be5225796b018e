/* The snapshots of a prefix tree: which boundaries they keep, and which of them are given up. */
#include "test.h"

#include "engine/prefix_snapshots.h"
#include "prefix_check.h"
#include "prefix_help.h"

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
    help_prefix_open_sliding(&c, 1000, 1);
    const help_token_ids t = help_sequence_tokens(1);
    const int32_t *id = t.id;
    cache_with_pins(&c, id, (size_t[]){ 300 }, 1, VUG_MARK_TURN);
    assert_int_equal(help_prefix_stats(&c).snapshots, 1);
    /* Boundary 300 needs positions 201 to 299: blocks 3 and 4. */
    assert_int_equal(help_prefix_stats(&c).snapshot_bytes, 2 * UNIT);
    assert_int_equal(help_prefix_reusable(&c, 0, id, 10 * BLOCK), 10 * BLOCK);
    drop_sliding(&c);
    /* Block 4 is whole, and the positions up to its end need blocks 3 and 4 as well. */
    assert_int_equal(help_prefix_reusable(&c, 0, id, 10 * BLOCK), 5 * BLOCK);
    assert_int_equal(help_prefix_reusable(&c, 0, id, 300), 300);
    /* Boundary 291 is the first that does not need block 2 of positions up to 191. */
    assert_int_equal(help_prefix_reusable(&c, 0, id, 291), 291);
    assert_int_equal(help_prefix_reusable(&c, 0, id, 290), 0);
    help_sequence s;
    help_sequence_start(&c, &s, 0, id, 290, 290);
    assert_int_equal(s.match.miss.reason, VUG_MISS_SNAPSHOT);
    assert_int_equal(s.match.miss.n_same, 290);
    help_sequence_drop(&c, &s);
    help_prefix_close(&c);
}

static void test_only_boundaries_with_all_pages_are_pinned(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 1000, 1);
    const help_token_ids t = help_sequence_tokens(1);
    const int32_t *id = t.id;
    help_sequence_cache(&c, 0, id, 5 * BLOCK + 20);
    drop_sliding(&c);
    help_sequence s;
    help_sequence_start(&c, &s, 0, id, 5 * BLOCK + 20, 0);
    assert_int_equal(s.match.miss.n_same, 5 * BLOCK + 20);
    assert_true(help_sequence_advance(&c, &s, id, BLOCK));
    vug_prefix_pin(c.tree, s.node, BLOCK + 1, VUG_MARK_TURN); /* not in the node */
    vug_prefix_pin(c.tree, s.node, 0, VUG_MARK_TURN);
    assert_int_equal(help_prefix_stats(&c).snapshots, 0);
    vug_prefix_pin(c.tree, s.node, 30, VUG_MARK_PROMPT);
    assert_int_equal(help_prefix_stats(&c).snapshots, 1);
    vug_prefix_pin(c.tree, s.node, 30, VUG_MARK_TURN); /* it is there already */
    assert_int_equal(c.tree->snapshot->kind, VUG_MARK_TURN);
    vug_prefix_pin(c.tree, s.node, 30, VUG_MARK_PROMPT);
    assert_int_equal(c.tree->snapshot->kind, VUG_MARK_TURN);
    vug_prefix_pin(c.tree, s.node, 40, VUG_MARK_TURN); /* in the same node */
    assert_int_equal(help_prefix_stats(&c).snapshots, 2);
    assert_int_equal(help_prefix_stats(&c).snapshot_bytes, UNIT);
    help_sequence_end(&c, &s);
    help_prefix_close(&c);

    help_prefix_open_full(&c, 1000);
    s = help_sequence_run(&c, 0, help_sequence_tokens(1).id, BLOCK);
    vug_prefix_pin(c.tree, s.node, BLOCK, VUG_MARK_TURN);
    assert_int_equal(help_prefix_stats(&c).snapshots, 0); /* no sliding group */
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
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 100, 0.06);
    const help_token_ids first = help_sequence_tokens(1), second = help_sequence_tokens(2);
    const int32_t *a = first.id, *b = second.id;
    cache_with_pins(&c, a, (size_t[]){ 2 * BLOCK, 4 * BLOCK, 10 * BLOCK }, 3, VUG_MARK_TURN);
    assert_int_equal(help_prefix_stats(&c).snapshots, 3);
    assert_int_equal(help_prefix_stats(&c).snapshot_bytes, 6 * UNIT);
    /* Without one of the first two, two blocks are computed again; the first is older. */
    cache_with_pins(&c, b, (size_t[]){ 8 * BLOCK }, 1, VUG_MARK_TURN);
    assert_int_equal(help_prefix_stats(&c).snapshots, 3);
    assert_false(is_pinned(&c, a, 2 * BLOCK));
    assert_true(is_pinned(&c, a, 4 * BLOCK) && is_pinned(&c, a, 10 * BLOCK));
    assert_true(is_pinned(&c, b, 8 * BLOCK));
    help_prefix_close(&c);
}

static void test_lower_kinds_are_given_up_first(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 100, 0.04); /* two boundaries */
    cache_with_pins(&c, help_sequence_tokens(1).id, (size_t[]){ 2 * BLOCK }, 1, VUG_MARK_TURN);
    /* Newer, and more is computed again without it. */
    cache_with_pins(&c, help_sequence_tokens(2).id, (size_t[]){ 9 * BLOCK }, 1, VUG_MARK_PROMPT);
    cache_with_pins(&c, help_sequence_tokens(3).id, (size_t[]){ 2 * BLOCK }, 1, VUG_MARK_SYSTEM);
    assert_int_equal(help_prefix_stats(&c).snapshots, 2);
    assert_true(is_pinned(&c, help_sequence_tokens(1).id, 2 * BLOCK));
    assert_true(is_pinned(&c, help_sequence_tokens(3).id, 2 * BLOCK));
    /* None of a higher kind is given up: the new one is not pinned. */
    cache_with_pins(&c, help_sequence_tokens(4).id, (size_t[]){ 9 * BLOCK }, 1, VUG_MARK_PROMPT);
    assert_true(is_pinned(&c, help_sequence_tokens(1).id, 2 * BLOCK));
    assert_true(is_pinned(&c, help_sequence_tokens(3).id, 2 * BLOCK));
    assert_int_equal(help_prefix_stats(&c).snapshots, 2);
    help_prefix_close(&c);
}

/* Earlier turns go before the last three of any conversation, and before ends of system turns. */
static void test_earlier_turns_are_given_up_first(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 1000, 1);
    const help_token_ids mine = help_sequence_tokens(1), other = help_sequence_tokens(2);
    static const size_t others[] = { BLOCK + 3, BLOCK + 4, BLOCK + 5 };
    static const size_t turn[] = { 3 * BLOCK, 5 * BLOCK, 6 * BLOCK, 7 * BLOCK, 8 * BLOCK };
    cache_with_pins(&c, help_sequence_tokens(3).id, (size_t[]){ BLOCK }, 1, VUG_MARK_SYSTEM);
    cache_with_pins(&c, other.id, others, 3, VUG_MARK_TURN);
    cache_with_pins(&c, mine.id, turn, 5, VUG_MARK_TURN);
    assert_int_equal(help_prefix_stats(&c).snapshots, 9);
    /* These two cost most to compute again, and are newer than those of the other. */
    for (size_t i = 0; i < 2; i++)
        assert_true(vug_prefix_snapshots_give_up(c.tree));
    assert_false(is_pinned(&c, mine.id, turn[0]) || is_pinned(&c, mine.id, turn[1]));
    for (size_t i = 2; i < 5; i++)
        assert_true(is_pinned(&c, mine.id, turn[i]));
    assert_int_equal(help_prefix_stats(&c).snapshots, 7);
    help_prefix_close(&c);
}

/* A turn that is marked again, as that of the question in a loop of tool calls, is a last one. */
static void test_turns_that_are_marked_again_stay(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 1000, 1);
    const help_token_ids t = help_sequence_tokens(1);
    help_sequence s;
    help_sequence_start(&c, &s, 0, t.id, 10 * BLOCK, 10 * BLOCK);
    for (size_t b = s.n / BLOCK; b < 10; b++) {
        assert_true(help_sequence_advance(&c, &s, t.id + s.n, BLOCK));
        vug_prefix_pin(c.tree, s.node, BLOCK, VUG_MARK_TURN);
        vug_prefix_pin(c.tree, s.node, s.n, VUG_MARK_TURN);
        help_sequence_slide(&c, &s);
    }
    help_sequence_end(&c, &s);
    assert_int_equal(help_prefix_stats(&c).snapshots, 10);
    for (size_t i = 0; i < 6; i++)
        assert_true(vug_prefix_snapshots_give_up(c.tree));
    assert_true(is_pinned(&c, t.id, BLOCK));
    for (size_t b = 8; b <= 10; b++)
        assert_true(is_pinned(&c, t.id, b * BLOCK));
    help_prefix_close(&c);
}

/* What is missed least is what costs least to compute again from the boundary before. */
static void test_boundaries_close_to_the_one_before_go_first(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 1000, 1);
    const help_token_ids t = help_sequence_tokens(1);
    const size_t pin[] = { 4 * BLOCK, 4 * BLOCK + 20, 4 * BLOCK + 60, 4 * BLOCK + 63 };
    cache_with_pins(&c, t.id, pin, 4, VUG_MARK_SYSTEM);
    assert_int_equal(help_prefix_stats(&c).snapshots, 4);
    /* The second needs blocks 2 to 4, among which are the pages of all others. */
    assert_int_equal(help_prefix_stats(&c).snapshot_bytes, 3 * UNIT);
    /* 3 tokens, 20 tokens, 60 tokens after the second is gone, 4 blocks. */
    static const int order[] = { 3, 1, 2, 0 };
    for (int i = 0; i < 4; i++) {
        assert_true(is_pinned(&c, t.id, pin[order[i]]));
        assert_true(vug_prefix_snapshots_give_up(c.tree));
        assert_false(is_pinned(&c, t.id, pin[order[i]]));
        assert_int_equal(help_prefix_stats(&c).snapshots, 3 - i);
    }
    assert_false(vug_prefix_snapshots_give_up(c.tree));
    help_prefix_close(&c);
}

/* However close it is to the one before. */
static void test_a_new_snapshot_displaces_others(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 100, 0.02); /* one boundary of two pages */
    cache_with_pins(&c, help_sequence_tokens(1).id, (size_t[]){ 8 * BLOCK }, 1, VUG_MARK_TURN);
    cache_with_pins(&c, help_sequence_tokens(2).id, (size_t[]){ 3 }, 1, VUG_MARK_TURN);
    assert_true(is_pinned(&c, help_sequence_tokens(2).id, 3));
    assert_int_equal(help_prefix_stats(&c).snapshots, 1);
    help_prefix_close(&c);
}

/* A boundary that is found again is used again. */
static void test_a_snapshot_in_use_stays(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 200, 0.02); /* two boundaries */
    cache_with_pins(&c, help_sequence_tokens(1).id, (size_t[]){ 4 * BLOCK }, 1, VUG_MARK_TURN);
    cache_with_pins(&c, help_sequence_tokens(2).id, (size_t[]){ 4 * BLOCK }, 1, VUG_MARK_TURN);
    help_sequence s;
    help_sequence_start(&c, &s, 0, help_sequence_tokens(1).id, 4 * BLOCK, 4 * BLOCK);
    help_sequence_drop(&c, &s);
    cache_with_pins(&c, help_sequence_tokens(3).id, (size_t[]){ 4 * BLOCK }, 1, VUG_MARK_TURN);
    assert_true(is_pinned(&c, help_sequence_tokens(1).id, 4 * BLOCK));
    assert_false(is_pinned(&c, help_sequence_tokens(2).id, 4 * BLOCK));
    assert_true(is_pinned(&c, help_sequence_tokens(3).id, 4 * BLOCK));
    help_prefix_close(&c);
}

static void test_a_boundary_larger_than_the_share_is_not_pinned(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 100, 0.02); /* one boundary of two pages */
    cache_with_pins(&c, help_sequence_tokens(1).id, (size_t[]){ 2 * BLOCK }, 1, VUG_MARK_TURN);
    assert_int_equal(help_prefix_stats(&c).snapshots, 1);
    /* This one needs three: positions 190 to 288. */
    cache_with_pins(&c, help_sequence_tokens(2).id, (size_t[]){ 289 }, 1, VUG_MARK_SYSTEM);
    assert_int_equal(help_prefix_stats(&c).snapshots, 1);
    assert_true(is_pinned(&c, help_sequence_tokens(1).id, 2 * BLOCK));
    help_prefix_close(&c);
}

/* The pool gets all other pages first, then those of snapshots. */
static void test_snapshots_are_the_last_that_is_reclaimed(void **state)
{
    (void)state;
    help_prefix_config config = help_prefix_sliding;
    config.window[0] = 200; /* no full group, so nothing else ends a snapshot */
    config.budget = 20;
    help_prefix_cache c;
    help_prefix_open(&c, &config);
    const help_token_ids t = help_sequence_tokens(1);
    const int32_t *id = t.id;
    cache_with_pins(&c, id, (size_t[]){ 4 * BLOCK }, 1, VUG_MARK_TURN);
    /* Positions 57 to 255 of one group and 157 to 255 of the other. */
    assert_int_equal(help_prefix_stats(&c).snapshot_bytes, 6 * UNIT);
    vug_page page[20];
    help_kv_take(&c, 0, page, 14);
    assert_int_equal(help_prefix_reusable(&c, 0, id, 10 * BLOCK), 4 * BLOCK);
    assert_int_equal(help_prefix_stats(&c).snapshots, 1);
    assert_int_equal(help_prefix_stats(&c).evictable, 6 * UNIT);
    help_kv_take(&c, 0, page + 14, 6);
    assert_int_equal(help_prefix_stats(&c).snapshots, 0);
    assert_int_equal(help_prefix_stats(&c).pages, 0);
    assert_int_equal(vug_kv_page_take(c.pool, 0), 0);
    help_kv_release(&c, 0, page, 20);
    help_prefix_close(&c);
}

/* Giving them up would not make a page free. */
static void test_snapshots_of_pages_in_use_stay(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 12, 1);
    help_sequence s = help_sequence_run(&c, 0, help_sequence_tokens(1).id, 5 * BLOCK);
    vug_prefix_pin(c.tree, s.node, 5 * BLOCK, VUG_MARK_TURN);
    vug_page page[2];
    help_kv_take(&c, 1, page, 2);
    assert_int_equal(vug_kv_page_take(c.pool, 1), 0);
    assert_int_equal(help_prefix_stats(&c).snapshots, 1);
    help_sequence_end(&c, &s);
    help_kv_release(&c, 1, page, 2);
    help_prefix_close(&c);
}

/* Nothing is freed that a snapshot needs, even if a block is released before the ones after it. */
static void test_pages_can_be_released_in_any_order(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 6, 1);
    const help_token_ids t = help_sequence_tokens(1);
    help_sequence s = help_sequence_run(&c, 0, t.id, 3 * BLOCK);
    vug_prefix_pin(c.tree, s.node, 3 * BLOCK, VUG_MARK_TURN); /* of blocks 1 and 2 */
    vug_kv_page_release(c.pool, 0, s.table[0][1]);
    s.table[0][1] = 0;
    help_sequence_drop(&c, &s);
    vug_page page;
    help_kv_take(&c, 0, &page, 1);
    help_prefix_check(c.tree, false);
    assert_int_equal(vug_prefix_get_stats(c.tree).pages, 5);
    assert_int_equal(vug_prefix_get_stats(c.tree).snapshots, 1);
    assert_int_equal(help_prefix_reusable(&c, 0, t.id, 3 * BLOCK), BLOCK);
    help_kv_release(&c, 0, &page, 1);
    help_prefix_close(&c);
}

/* Without the page of a full group no boundary in its block is usable. */
static void test_a_full_page_takes_the_rest_of_its_node_along(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 20, 1);
    const help_token_ids t = help_sequence_tokens(1);
    const int32_t *id = t.id;
    cache_with_pins(&c, id, (size_t[]){ 9 * BLOCK, 10 * BLOCK }, 2, VUG_MARK_SYSTEM);
    assert_int_equal(help_prefix_stats(&c).pages, 20);
    assert_int_equal(help_prefix_stats(&c).snapshot_bytes, 3 * UNIT);
    /* Behind the window, blocks 0 to 6 of the sliding group were released first; the two that
     * follow are pinned or were released at the end. */
    vug_page page[8];
    help_kv_take(&c, 0, page, 7);
    assert_int_equal(help_prefix_stats(&c).snapshots, 2);
    help_kv_take(&c, 0, page + 7, 1);
    assert_int_equal(help_prefix_stats(&c).snapshots, 1);
    assert_int_equal(help_prefix_stats(&c).snapshot_bytes, 2 * UNIT);
    assert_int_equal(help_prefix_stats(&c).pages, 11);
    assert_int_equal(help_prefix_reusable(&c, 0, id, 10 * BLOCK), 9 * BLOCK);
    help_kv_release(&c, 0, page, 8);
    help_prefix_close(&c);
}

/* The opening of a short answer is in the block where the sequence ends. */
static void test_a_boundary_in_the_last_block_is_pinned(void **state)
{
    (void)state;
    help_prefix_cache c;
    help_prefix_open_sliding(&c, 1000, 1);
    const help_token_ids t = help_sequence_tokens(1);
    const int32_t *id = t.id;
    help_sequence s = help_sequence_run(&c, 0, id, 5 * BLOCK + 30);
    help_sequence_publish_last(&c, &s);
    vug_prefix_pin(c.tree, s.node, 5 * BLOCK + 10, VUG_MARK_TURN);
    help_sequence_drop(&c, &s);
    assert_int_equal(help_prefix_stats(&c).snapshots, 1);
    drop_sliding(&c);
    assert_int_equal(help_prefix_reusable(&c, 0, id, 5 * BLOCK + 10), 5 * BLOCK + 10);
    /* A pinned leaf stays beside the block that continues it. */
    help_sequence_cache(&c, 0, id, 6 * BLOCK);
    assert_int_equal(help_prefix_stats(&c).snapshots, 1);
    assert_int_equal(help_prefix_reusable(&c, 0, id, 6 * BLOCK), 6 * BLOCK);
    help_prefix_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_snapshot_keeps_a_boundary),
        cmocka_unit_test(test_only_boundaries_with_all_pages_are_pinned),
        cmocka_unit_test(test_snapshots_are_given_up_when_the_share_is_exceeded),
        cmocka_unit_test(test_lower_kinds_are_given_up_first),
        cmocka_unit_test(test_earlier_turns_are_given_up_first),
        cmocka_unit_test(test_turns_that_are_marked_again_stay),
        cmocka_unit_test(test_boundaries_close_to_the_one_before_go_first),
        cmocka_unit_test(test_a_new_snapshot_displaces_others),
        cmocka_unit_test(test_a_snapshot_in_use_stays),
        cmocka_unit_test(test_a_boundary_larger_than_the_share_is_not_pinned),
        cmocka_unit_test(test_snapshots_are_the_last_that_is_reclaimed),
        cmocka_unit_test(test_snapshots_of_pages_in_use_stay),
        cmocka_unit_test(test_pages_can_be_released_in_any_order),
        cmocka_unit_test(test_a_full_page_takes_the_rest_of_its_node_along),
        cmocka_unit_test(test_a_boundary_in_the_last_block_is_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
