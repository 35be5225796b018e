/* The page pool: the budget, references, which pages get memory and when, and exact statistics. */
#include "test.h"

#include "engine/kv_pool.h"
#include "kernel_help.h"
#include "kv_help.h"

#define UNIT ((uint64_t)VUG_KV_PAGE * 8) /* bytes of the smallest page */

typedef struct {
    help_kv_device device;
    vug_kv_pool *pool;
} pool_fixture;

/* A pool of `budget` units whose groups have pages of that many units. */
static void open_pool(pool_fixture *f, uint64_t budget, int n_groups, const int *units)
{
    vug_kv_layout layout = { .n_groups = n_groups };
    for (int g = 0; g < n_groups; g++)
        layout.group[g] = help_kv_group(0, units[g]);
    *f = (pool_fixture){ .device = { .memory = UINT64_MAX } };
    vug_err err = { 0 };
    if (vug_kv_pool_create(&help_kv_backend, help_kv_open(&f->device), &layout, budget * UNIT,
                           &f->pool, &err) != VUG_OK)
        fail_msg("%s", err.msg);
}

static void close_pool(pool_fixture *f)
{
    vug_kv_pool_destroy(f->pool);
    assert_int_equal(f->device.caches, 0);
}

/* In units. */
static void assert_stats(const pool_fixture *f, uint64_t used, uint64_t committed, uint64_t pages)
{
    const vug_kv_pool_stats stats = vug_kv_pool_get_stats(f->pool);
    assert_int_equal(stats.used, used * UNIT);
    assert_int_equal(stats.committed, committed * UNIT);
    assert_int_equal(stats.pages, pages);
    assert_int_equal(f->device.committed, stats.committed);
}

/* ---- creation ------------------------------------------------------------------- */

static void test_a_device_reserves_the_pages_that_fit(void **state)
{
    (void)state;
    pool_fixture f;
    open_pool(&f, 10, 3, (int[]){ 1, 3, 4 });
    assert_int_equal(f.device.reserved[0], 10);
    assert_int_equal(f.device.reserved[1], 3);
    assert_int_equal(f.device.reserved[2], 2);
    assert_int_equal(vug_kv_page_bytes(f.pool, 1), 3 * UNIT);
    assert_int_equal(vug_kv_pool_get_stats(f.pool).budget, 10 * UNIT);
    assert_int_equal(vug_kv_pool_layout(f.pool)->n_groups, 3);
    assert_non_null(vug_kv_pool_kv(f.pool));
    assert_stats(&f, 0, 0, 0);
    close_pool(&f);
    vug_kv_pool_destroy(NULL);
}

static void test_the_layout_is_copied(void **state)
{
    (void)state;
    vug_kv_place place[2] = { { .group = 0, .index = 0 }, { .group = -1 } };
    vug_kv_layout layout = { .group = { help_kv_group(7, 1) },
                             .n_groups = 1,
                             .layer = place,
                             .n_layers = 2,
                             .format = VUG_KV_Q8 };
    help_kv_device device = { .memory = UINT64_MAX };
    vug_kv_pool *pool = NULL;
    assert_int_equal(
            vug_kv_pool_create(&help_kv_backend, help_kv_open(&device), &layout, UNIT, &pool, NULL),
            VUG_OK);
    layout = (vug_kv_layout){ 0 };
    memset(place, 0, sizeof(place));
    const vug_kv_layout *copy = vug_kv_pool_layout(pool);
    assert_int_equal(copy->n_groups, 1);
    assert_int_equal(copy->group[0].window, 7);
    assert_int_equal(copy->n_layers, 2);
    assert_int_equal(copy->layer[1].group, -1);
    assert_int_equal(copy->format, VUG_KV_Q8);
    vug_kv_pool_destroy(pool);
}

static void test_a_budget_holds_a_page_of_each_group(void **state)
{
    (void)state;
    const vug_kv_layout layout = { .group = { help_kv_group(0, 2), help_kv_group(5, 3) },
                                   .n_groups = 2 };
    help_kv_device device = { .memory = UINT64_MAX };
    vug_kv_pool *pool = NULL;
    vug_err err = { 0 };
    assert_int_equal(vug_kv_pool_create(&help_kv_backend, help_kv_open(&device), &layout,
                                        5 * UNIT - 1, &pool, &err),
                     VUG_LIMIT);
    assert_string_equal(err.msg, "a key/value cache of 2559 bytes is too small: it must hold a "
                                 "page of 64 tokens of each layer");
    assert_null(pool);
    assert_int_equal(device.caches, 0);
}

/* ---- taking --------------------------------------------------------------------- */

static void test_new_pages_ascend_within_the_budget(void **state)
{
    (void)state;
    pool_fixture f;
    open_pool(&f, 6, 2, (int[]){ 1, 2 });
    assert_int_equal(vug_kv_page_take(f.pool, 0), 1);
    assert_int_equal(vug_kv_page_take(f.pool, 1), 1);
    assert_int_equal(vug_kv_page_take(f.pool, 0), 2);
    assert_stats(&f, 4, 4, 3);
    assert_int_equal(vug_kv_page_take(f.pool, 0), 3);
    assert_int_equal(vug_kv_page_take(f.pool, 1), 0); /* one unit is left, and it needs two */
    assert_int_equal(vug_kv_page_take(f.pool, 0), 4);
    assert_int_equal(vug_kv_page_take(f.pool, 0), 0);
    assert_stats(&f, 6, 6, 5);
    close_pool(&f);
}

static void test_a_page_is_free_after_its_last_reference(void **state)
{
    (void)state;
    pool_fixture f;
    open_pool(&f, 2, 1, (int[]){ 1 });
    const vug_page a = vug_kv_page_take(f.pool, 0), b = vug_kv_page_take(f.pool, 0);
    assert_int_equal(vug_kv_page_references(f.pool, 0, a), 1);
    vug_kv_page_retain(f.pool, 0, a);
    vug_kv_page_retain(f.pool, 0, a);
    assert_int_equal(vug_kv_page_references(f.pool, 0, a), 3);
    assert_int_equal(vug_kv_page_references(f.pool, 0, b), 1);
    vug_kv_page_release(f.pool, 0, a);
    vug_kv_page_release(f.pool, 0, a);
    assert_int_equal(vug_kv_page_take(f.pool, 0), 0);
    assert_stats(&f, 2, 2, 2);
    vug_kv_page_release(f.pool, 0, a);
    assert_stats(&f, 1, 2, 1);
    assert_int_equal(vug_kv_page_take(f.pool, 0), a);
    assert_int_equal(vug_kv_page_references(f.pool, 0, a), 1);
    assert_int_equal(f.device.commits, 2); /* the page had kept its memory */
    assert_stats(&f, 2, 2, 2);
    vug_kv_page_retain(f.pool, 0, 0);
    vug_kv_page_release(f.pool, 0, 0);
    assert_stats(&f, 2, 2, 2);
    close_pool(&f);
}

static void test_free_pages_give_their_memory_to_other_groups(void **state)
{
    (void)state;
    pool_fixture f;
    open_pool(&f, 6, 2, (int[]){ 1, 2 });
    for (vug_page i = 1; i <= 6; i++)
        assert_int_equal(vug_kv_page_take(f.pool, 0), i);
    for (vug_page i = 2; i <= 4; i++)
        vug_kv_page_release(f.pool, 0, i);
    assert_int_equal(vug_kv_page_take(f.pool, 1), 1);
    assert_int_equal(f.device.discards, 2); /* no more than it takes */
    assert_stats(&f, 5, 6, 4);
    assert_int_not_equal(vug_kv_page_take(f.pool, 0), 0);
    assert_int_equal(vug_kv_page_take(f.pool, 0), 0);
    assert_stats(&f, 6, 6, 5);
    /* A page without memory is taken again before one that never had any. */
    vug_kv_page_release(f.pool, 1, 1);
    assert_in_range(vug_kv_page_take(f.pool, 0), 2, 4);
    assert_stats(&f, 5, 5, 5);
    close_pool(&f);
}

static void test_pages_are_copied(void **state)
{
    (void)state;
    pool_fixture f;
    open_pool(&f, 2, 1, (int[]){ 1 });
    const vug_page a = vug_kv_page_take(f.pool, 0), b = vug_kv_page_take(f.pool, 0);
    vug_kv *kv = vug_kv_pool_kv(f.pool);
    help_kv_at(kv, 0, a)[63] = 5;
    help_kv_at(kv, 0, b)[63] = 6;
    vug_kv_page_copy(f.pool, 0, b, a);
    assert_int_equal(help_kv_at(kv, 0, b)[63], 5);
    close_pool(&f);
}

/* ---- reclaiming ----------------------------------------------------------------- */

/* An owner of pages that gives them up one by one. */
typedef struct {
    vug_kv_pool *pool;
    vug_page page[8]; /* of group 0 */
    int n, calls;
} page_owner;

static bool give_one_up(void *user)
{
    page_owner *o = user;
    o->calls++;
    if (o->n == 0)
        return false;
    vug_kv_page_release(o->pool, 0, o->page[--o->n]);
    return true;
}

static page_owner own_pages(pool_fixture *f, int n)
{
    page_owner o = { .pool = f->pool };
    while (o.n < n)
        o.page[o.n++] = vug_kv_page_take(f->pool, 0);
    return o;
}

static void test_pages_are_reclaimed_until_it_suffices(void **state)
{
    (void)state;
    pool_fixture f;
    open_pool(&f, 6, 2, (int[]){ 1, 3 });
    page_owner owner = own_pages(&f, 5);
    vug_kv_pool_on_full(f.pool, give_one_up, &owner);
    assert_int_not_equal(vug_kv_page_take(f.pool, 0), 0); /* the budget has room */
    assert_int_equal(owner.calls, 0);
    assert_int_not_equal(vug_kv_page_take(f.pool, 1), 0);
    assert_int_equal(owner.calls, 3);
    assert_stats(&f, 6, 6, 4);
    assert_int_not_equal(vug_kv_page_take(f.pool, 0), 0);
    assert_int_equal(owner.calls, 4);
    assert_int_equal(f.device.commits, 7); /* it got the page that the owner gave up */
    assert_int_equal(vug_kv_page_take(f.pool, 1), 0);
    assert_int_equal(owner.calls, 6); /* the last call had nothing to give */
    close_pool(&f);
}

static void test_free_pages_go_before_others_are_reclaimed(void **state)
{
    (void)state;
    pool_fixture f;
    open_pool(&f, 4, 2, (int[]){ 1, 2 });
    page_owner owner = own_pages(&f, 2);
    const vug_page a = vug_kv_page_take(f.pool, 0), b = vug_kv_page_take(f.pool, 0);
    vug_kv_pool_on_full(f.pool, give_one_up, &owner);
    vug_kv_page_release(f.pool, 0, a);
    vug_kv_page_release(f.pool, 0, b);
    assert_int_not_equal(vug_kv_page_take(f.pool, 1), 0);
    assert_int_equal(owner.calls, 0);
    vug_kv_pool_on_full(f.pool, NULL, NULL);
    assert_int_equal(vug_kv_page_take(f.pool, 1), 0);
    assert_int_equal(owner.calls, 0);
    close_pool(&f);
}

static void test_a_device_can_have_less_memory_than_the_budget(void **state)
{
    (void)state;
    pool_fixture f;
    open_pool(&f, 10, 2, (int[]){ 1, 2 });
    f.device.memory = 4 * UNIT;
    page_owner owner = own_pages(&f, 4);
    assert_int_equal(vug_kv_page_take(f.pool, 0), 0);
    assert_int_equal(vug_kv_page_take(f.pool, 1), 0);
    assert_stats(&f, 4, 4, 4);
    vug_kv_pool_on_full(f.pool, give_one_up, &owner);
    assert_int_equal(vug_kv_page_take(f.pool, 1), 1);
    assert_stats(&f, 4, 4, 3);
    f.device.memory = 10 * UNIT;
    assert_int_not_equal(vug_kv_page_take(f.pool, 0), 0);
    assert_stats(&f, 5, 5, 4);
    close_pool(&f);
}

typedef struct {
    int calls, group;
    vug_page page;
} idle_page;

static void note_idle(void *user, int group, vug_page page)
{
    idle_page *idle = user;
    *idle = (idle_page){ .calls = idle->calls + 1, .group = group, .page = page };
}

static void test_the_last_reference_is_announced(void **state)
{
    (void)state;
    pool_fixture f;
    open_pool(&f, 6, 2, (int[]){ 1, 2 });
    assert_int_equal(vug_kv_pool_max_pages(f.pool, 0), 6);
    assert_int_equal(vug_kv_pool_max_pages(f.pool, 1), 3);
    idle_page idle = { .calls = 0 };
    vug_kv_pool_on_idle(f.pool, note_idle, &idle);
    (void)vug_kv_page_take(f.pool, 1);
    const vug_page page = vug_kv_page_take(f.pool, 1);
    vug_kv_page_retain(f.pool, 1, page);
    vug_kv_page_retain(f.pool, 1, page);
    vug_kv_page_release(f.pool, 1, page);
    assert_int_equal(idle.calls, 0);
    vug_kv_page_release(f.pool, 1, page);
    assert_int_equal(idle.calls, 1);
    assert_int_equal(idle.group, 1);
    assert_int_equal(idle.page, page);
    vug_kv_page_release(f.pool, 1, page);
    assert_int_equal(idle.calls, 1);
    close_pool(&f);
}

/* ---- random operations ---------------------------------------------------------- */

enum { GROUPS = 3, MOST = 64, BUDGET = 40, OPERATIONS = 20000 };

typedef struct {
    vug_page page[GROUPS][MOST]; /* one entry for each reference */
    int n[GROUPS];
} page_model;

static const int units_of[GROUPS] = { 1, 2, 5 };

/* References to a page by the model. */
static uint32_t count(const page_model *m, int g, vug_page page)
{
    uint32_t n = 0;
    for (int i = 0; i < m->n[g]; i++)
        n += m->page[g][i] == page;
    return n;
}

static void check_model(const pool_fixture *f, const page_model *m)
{
    uint64_t used = 0, pages = 0;
    for (int g = 0; g < GROUPS; g++) {
        for (int i = 0; i < m->n[g]; i++) {
            const vug_page page = m->page[g][i];
            assert_int_equal(vug_kv_page_references(f->pool, g, page), count(m, g, page));
            assert_int_equal(help_kv_at(vug_kv_pool_kv(f->pool), g, page)[0],
                             (uint64_t)g << 32 | page);
            bool seen = false;
            for (int j = 0; j < i && !seen; j++)
                seen = m->page[g][j] == page;
            if (seen)
                continue;
            used += (uint64_t)units_of[g];
            pages++;
        }
    }
    const vug_kv_pool_stats stats = vug_kv_pool_get_stats(f->pool);
    assert_int_equal(stats.used, used * UNIT);
    assert_int_equal(stats.pages, pages);
    assert_true(stats.committed <= stats.budget && stats.used <= stats.committed);
    assert_int_equal(f->device.committed, stats.committed);
}

/* A page that is taken has one reference and is not in use; none is taken only when the budget
 * is exhausted. */
static void take_random(const pool_fixture *f, page_model *m, int g)
{
    if (m->n[g] == MOST)
        return;
    const vug_kv_pool_stats before = vug_kv_pool_get_stats(f->pool);
    const vug_page page = vug_kv_page_take(f->pool, g);
    assert_int_equal(page != 0, before.used + (uint64_t)units_of[g] * UNIT <= before.budget);
    if (page == 0)
        return;
    assert_int_equal(count(m, g, page), 0);
    help_kv_at(vug_kv_pool_kv(f->pool), g, page)[0] = (uint64_t)g << 32 | page;
    m->page[g][m->n[g]++] = page;
}

static void test_random_operations_agree_with_a_model(void **state)
{
    (void)state;
    pool_fixture f;
    open_pool(&f, BUDGET, GROUPS, units_of);
    page_model m = { .n = { 0 } };
    rng r = { 20 };
    for (int i = 0; i < OPERATIONS; i++) {
        const int g = (int)(rng_bits(&r) % GROUPS);
        const uint32_t what = rng_bits(&r) % 8;
        const uint32_t at = m.n[g] ? rng_bits(&r) % (uint32_t)m.n[g] : 0;
        if (what < 4) {
            take_random(&f, &m, g);
        } else if (what < 7 && m.n[g] > 0) {
            vug_kv_page_release(f.pool, g, m.page[g][at]);
            m.page[g][at] = m.page[g][--m.n[g]];
        } else if (m.n[g] > 0 && m.n[g] < MOST) {
            vug_kv_page_retain(f.pool, g, m.page[g][at]);
            m.page[g][m.n[g]++] = m.page[g][at];
        }
        check_model(&f, &m);
    }
    assert_true(f.device.discards > 100); /* memory moved between the groups */
    close_pool(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_device_reserves_the_pages_that_fit),
        cmocka_unit_test(test_the_layout_is_copied),
        cmocka_unit_test(test_a_budget_holds_a_page_of_each_group),
        cmocka_unit_test(test_new_pages_ascend_within_the_budget),
        cmocka_unit_test(test_a_page_is_free_after_its_last_reference),
        cmocka_unit_test(test_free_pages_give_their_memory_to_other_groups),
        cmocka_unit_test(test_pages_are_copied),
        cmocka_unit_test(test_pages_are_reclaimed_until_it_suffices),
        cmocka_unit_test(test_free_pages_go_before_others_are_reclaimed),
        cmocka_unit_test(test_the_last_reference_is_announced),
        cmocka_unit_test(test_a_device_can_have_less_memory_than_the_budget),
        cmocka_unit_test(test_random_operations_agree_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
