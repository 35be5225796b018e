/*
 * The prefix tree under thousands of random operations, compared with a naive model that keeps
 * every prefix that was published. Pages contain a hash of all tokens up to each position, so
 * every page that a sequence gets is known to be of its own prefix. References and statistics are
 * counted anew after each operation.
 */
#include "test.h"

#include "alloc_hook.h"
#include "kernel_help.h"
#include "prefix_check.h"
#include "prefix_help.h"

enum { RUNNING = 5, HISTORY = 2000, KEYS = 2 };

typedef struct {
    const char *name;
    help_prefix_config cache;
    int operations;
    bool exact; /* memory for everything: whatever was published is found */
    bool fails; /* allocations fail now and then */
} random_case;

/* A prefix that was published. */
typedef struct {
    uint8_t key;
    int32_t id[HELP_TOKENS];
    size_t n;
} published_prefix;

typedef struct {
    const random_case *row;
    help_prefix_cache cache;
    rng r;
    help_sequence sequence[RUNNING];
    int32_t prompt[RUNNING][HELP_TOKENS];
    size_t n_prompt[RUNNING]; /* 0: no sequence runs here */
    published_prefix *history;
    size_t n_history;
    uint64_t found, reclaimed, pinned; /* what happened at all */
} random_run;

static size_t pick(random_run *t, size_t n)
{
    return n > 0 ? rng_bits(&t->r) % n : 0;
}

/* ---- the model -------------------------------------------------------------------- */

static size_t shared_tokens(const int32_t *a, size_t n_a, const int32_t *b, size_t n_b)
{
    size_t i = 0;
    while (i < n_a && i < n_b && a[i] == b[i])
        i++;
    return i;
}

static void remember(random_run *t, const help_sequence *s)
{
    if (s->published == 0)
        return;
    /* A full history forgets at random; cases in which all must be found are too short for it. */
    if (t->n_history == HISTORY)
        assert_false(t->row->exact);
    const size_t at = t->n_history < HISTORY ? t->n_history++ : pick(t, HISTORY);
    published_prefix *p = &t->history[at];
    p->key = s->key;
    p->n = s->published;
    memcpy(p->id, s->id, s->published * sizeof(*s->id));
}

/* The tokens of a prompt that any published prefix shares. */
static size_t model_common(const random_run *t, uint8_t key, const int32_t *id, size_t n)
{
    size_t most = 0;
    for (size_t i = 0; i < t->n_history; i++) {
        const published_prefix *p = &t->history[i];
        const size_t shared = p->key == key ? shared_tokens(p->id, p->n, id, n) : 0;
        most = shared > most ? shared : most;
    }
    for (int i = 0; i < RUNNING; i++) {
        const help_sequence *s = &t->sequence[i];
        const size_t shared =
                t->n_prompt[i] > 0 && s->key == key ? shared_tokens(s->id, s->published, id, n) : 0;
        most = shared > most ? shared : most;
    }
    return most;
}

/* The tokens of a prompt whose pages a running sequence holds and has published: nothing may
 * evict them. */
static size_t model_held(const random_run *t, uint8_t key, const int32_t *id, size_t most)
{
    size_t held = 0;
    for (int i = 0; i < RUNNING; i++) {
        const help_sequence *s = &t->sequence[i];
        if (t->n_prompt[i] == 0 || s->key != key)
            continue;
        const size_t p = shared_tokens(s->id, s->published, id, most);
        if (p > held && help_sequence_holds(&t->cache, s, p))
            held = p;
    }
    return held;
}

/* ---- references and statistics ----------------------------------------------------- */

/* Counts the sequences that hold a page; false if an earlier place of the tables has it. */
static bool count_holders(const random_run *t, int g, int sequence, size_t block, uint32_t *holders)
{
    const vug_page page = t->sequence[sequence].table[g][block];
    *holders = 0;
    for (int i = 0; i < RUNNING; i++) {
        if (t->n_prompt[i] == 0)
            continue;
        for (size_t b = 0; b < HELP_BLOCKS; b++) {
            if (t->sequence[i].table[g][b] != page)
                continue;
            if (i < sequence || (i == sequence && b < block))
                return false;
            ++*holders;
        }
    }
    return true;
}

static void check_counts(const random_run *t)
{
    uint64_t own = 0, shared = 0; /* bytes that sequences use, by whether the tree has the page */
    for (int g = 0; g < t->row->cache.n_groups; g++) {
        for (int i = 0; i < RUNNING; i++) {
            for (size_t b = 0; b < HELP_BLOCKS && t->n_prompt[i] > 0; b++) {
                const vug_page page = t->sequence[i].table[g][b];
                uint32_t holders;
                if (page == 0 || !count_holders(t, g, i, b, &holders))
                    continue;
                const uint32_t references = vug_kv_page_references(t->cache.pool, g, page);
                assert_in_range(references, holders, holders + 1);
                *(references == holders ? &own : &shared) += vug_kv_page_bytes(t->cache.pool, g);
            }
        }
    }
    const vug_kv_pool_stats pool = vug_kv_pool_get_stats(t->cache.pool);
    const vug_prefix_stats tree = vug_prefix_get_stats(t->cache.tree);
    assert_int_equal(pool.used, tree.bytes + own);
    assert_int_equal(tree.evictable, tree.bytes - shared);
    assert_true(pool.committed <= pool.budget);
    assert_true((double)tree.snapshot_bytes <= t->row->cache.snapshot_share * (double)pool.budget);
    assert_true((tree.snapshots > 0) == (tree.snapshot_bytes > 0));
}

/* ---- operations -------------------------------------------------------------------- */

/* A prompt that begins as a published one or a running one, and goes on as no other. */
static size_t make_prompt(random_run *t, uint8_t *key, int32_t *id)
{
    size_t n = 0;
    *key = (uint8_t)pick(t, KEYS);
    if (t->n_history > 0 && pick(t, 8) > 0) {
        const published_prefix *p = &t->history[pick(t, t->n_history)];
        n = pick(t, 3) == 0 ? p->n : pick(t, p->n + 1);
        memcpy(id, p->id, n * sizeof(*id));
        *key = pick(t, 16) > 0 ? p->key : *key;
    }
    const size_t more = pick(t, 4) == 0 ? 0 : pick(t, 3 * BLOCK);
    for (size_t i = 0; i < more && n < HELP_TOKENS / 2; i++)
        id[n++] = (int32_t)pick(t, 2);
    if (n == 0)
        id[n++] = 1;
    return n;
}

static void start(random_run *t, int i)
{
    help_sequence *s = &t->sequence[i];
    uint8_t key;
    const size_t n = make_prompt(t, &key, t->prompt[i]);
    const size_t most = pick(t, 4) > 0 ? n - 1 : pick(t, n + 1);
    const size_t common = model_common(t, key, t->prompt[i], n);
    const size_t held = model_held(t, key, t->prompt[i], most);
    const vug_prefix_key full_key = help_prefix_key(key);
    const size_t longest = help_prefix_longest(t->cache.tree, &full_key, t->prompt[i], n, most);
    help_sequence_start(&t->cache, s, key, t->prompt[i], n, most);
    t->n_prompt[i] = n;
    t->found += s->n > 0;
    if (t->row->exact) {
        assert_int_equal(s->match.miss.n_same, common);
        assert_int_equal(s->match.miss.reason, common < most ? VUG_MISS_DIFFERS : VUG_MISS_NONE);
        assert_int_equal(s->n, common < most ? common : most);
    } else if (s->node && t->n_history < HISTORY) {
        assert_true(s->match.miss.n_same <= common);
    }
    if (s->node) {
        assert_int_equal(s->n, longest);
        assert_true(s->n >= held);
    }
}

/* Computes the rest of the prompt, or tokens of an answer. */
static void advance(random_run *t, int i)
{
    help_sequence *s = &t->sequence[i];
    int32_t id[2 * BLOCK];
    size_t n = 1 + pick(t, 2 * BLOCK - 1);
    if (s->n < t->n_prompt[i]) {
        const size_t left = t->n_prompt[i] - s->n;
        n = n < left ? n : left;
        memcpy(id, t->prompt[i] + s->n, n * sizeof(*id));
    } else {
        n = n < HELP_TOKENS - s->n ? n : HELP_TOKENS - s->n;
        for (size_t j = 0; j < n; j++)
            id[j] = (int32_t)pick(t, 2);
    }
    if (help_sequence_advance(&t->cache, s, id, n))
        return;
    /* Everything that the tree could give up is given up before the pool refuses a page. */
    const vug_prefix_stats tree = vug_prefix_get_stats(t->cache.tree);
    assert_int_equal(tree.evictable, 0);
    remember(t, s);
    help_sequence_drop(&t->cache, s);
    t->n_prompt[i] = 0;
}

static void pin(random_run *t, int i)
{
    const help_sequence *s = &t->sequence[i];
    if (s->published == 0)
        return;
    const vug_prefix_stats before = vug_prefix_get_stats(t->cache.tree);
    const size_t p = 1 + pick(t, s->published);
    vug_prefix_pin(t->cache.tree, s->node, p, (vug_mark_kind)pick(t, 3));
    t->pinned += vug_prefix_get_stats(t->cache.tree).snapshots > before.snapshots;
}

static void go_back(random_run *t, int i)
{
    help_sequence *s = &t->sequence[i];
    const size_t n = s->n - pick(t, s->n < 2 * BLOCK ? s->n + 1 : 2 * BLOCK);
    if (!help_sequence_holds(&t->cache, s, n))
        return;
    remember(t, s);
    t->n_prompt[i] = t->n_prompt[i] < n ? t->n_prompt[i] : n > 0 ? n : 1;
    help_sequence_back(&t->cache, s, n);
}

static void end(random_run *t, int i)
{
    help_sequence *s = &t->sequence[i];
    help_sequence_publish_last(&t->cache, s);
    if (s->published > 0 && pick(t, 2) == 0)
        vug_prefix_pin(t->cache.tree, s->node, s->published, VUG_MARK_TURN);
    remember(t, s);
    if (pick(t, 8) > 0)
        help_sequence_end(&t->cache, s);
    else
        help_sequence_drop(&t->cache, s);
    t->n_prompt[i] = 0;
}

static void operate(random_run *t, int i)
{
    const size_t what = pick(t, 64);
    if (what == 0 && !t->row->exact)
        vug_prefix_clear(t->cache.tree);
    else if (t->n_prompt[i] == 0)
        start(t, i);
    else if (what < 34)
        advance(t, i);
    else if (what < 44)
        help_sequence_slide(&t->cache, &t->sequence[i]);
    else if (what < 52)
        pin(t, i);
    else if (what < 54)
        go_back(t, i);
    else
        end(t, i);
}

/* ---- memory ------------------------------------------------------------------------- */

static const help_prefix_config small = {
    .n_groups = 2, .window = { 0, 100 }, .units = { 1, 1 }, .budget = 400, .snapshot_share = 0.5
};

/* Opens and closes a cache; VUG_OK or what failed. */
static vug_status open_and_close(void)
{
    const vug_kv_layout layout = { .group = { help_kv_group(0, 1), help_kv_group(9, 1) },
                                   .n_groups = 2 };
    help_kv_device device = { .memory = UINT64_MAX };
    vug_kv_pool *pool = NULL;
    vug_prefix_tree *tree = NULL;
    vug_err err = { 0 };
    vug_status st = vug_kv_pool_create(&help_kv_backend, help_kv_open(&device), &layout,
                                       small.budget * UNIT, &pool, &err);
    if (st == VUG_OK)
        st = vug_prefix_tree_create(pool, 0.5, &tree, &err);
    assert_int_equal(st == VUG_OK, tree != NULL);
    assert_int_equal(st != VUG_OK, err.msg[0] != '\0');
    vug_prefix_tree_destroy(tree);
    vug_kv_pool_destroy(pool);
    return st;
}

static void test_creation_fails_cleanly(void **state)
{
    (void)state;
    if (!alloc_hook_works()) {
        print_message("the linker of this system has no --wrap\n");
        skip();
    }
    const long blocks = alloc_hook_live();
    bool reached = true;
    for (long n = 0; reached; n++) {
        alloc_hook_fail(n, ALLOC_ONCE);
        const vug_status st = open_and_close();
        reached = alloc_hook_stop();
        assert_int_equal(st, reached ? VUG_NOMEM : VUG_OK);
        assert_int_equal(alloc_hook_live(), blocks);
    }
}

/* Enough blocks that every table of the tree grows. */
static void publish_blocks(help_prefix_cache *c)
{
    int32_t id[HELP_TOKENS] = { 0 };
    for (id[0] = 0; id[0] < 5; id[0]++) {
        help_sequence s;
        help_sequence_start(c, &s, 0, id, HELP_TOKENS, HELP_TOKENS);
        assert_true(help_sequence_advance(c, &s, id + s.n, HELP_TOKENS - s.n));
        vug_prefix_pin(c->tree, s.node, s.published, VUG_MARK_TURN);
        help_sequence_end(c, &s);
    }
}

/* A sequence that cannot publish a block goes on, and the next one publishes it. */
static void test_publication_survives_each_failed_allocation(void **state)
{
    (void)state;
    if (!alloc_hook_works()) {
        print_message("the linker of this system has no --wrap\n");
        skip();
    }
    bool reached = true;
    for (long n = 0; reached; n++) {
        help_prefix_cache c;
        help_prefix_open(&c, &small);
        alloc_hook_fail(n, ALLOC_ONCE);
        publish_blocks(&c);
        reached = alloc_hook_stop();
        help_prefix_check(c.tree, true);
        publish_blocks(&c);
        assert_int_equal(vug_prefix_get_stats(c.tree).pages, 5 * 2 * HELP_BLOCKS);
        help_prefix_close(&c);
    }
}

/* ---- runs -------------------------------------------------------------------------- */

static void test_random_operations_agree_with_a_model(void **state)
{
    const random_case *row = *state;
    if (row->fails && !alloc_hook_works()) {
        print_message("the linker of this system has no --wrap\n");
        skip();
    }
    const long blocks = alloc_hook_live();
    random_run *t = calloc(1, sizeof(*t));
    t->row = row;
    t->r = (rng){ 77 };
    t->history = calloc(HISTORY, sizeof(*t->history));
    help_prefix_open(&t->cache, &row->cache);
    for (int n = 0; n < row->operations; n++) {
        const long failed = (long)pick(t, 6);
        if (row->fails)
            alloc_hook_fail(failed, pick(t, 2) ? ALLOC_ONCE : ALLOC_FROM_THEN_ON);
        operate(t, (int)pick(t, RUNNING));
        (void)alloc_hook_stop();
        check_counts(t);
        if (n % 8 == 0)
            help_prefix_check(t->cache.tree, !row->fails);
    }
    assert_true(t->found > 50);
    t->reclaimed = vug_prefix_get_stats(t->cache.tree).evictions;
    if (!row->exact)
        assert_true(t->reclaimed > 100);
    for (int i = 0; i < RUNNING; i++) {
        if (t->n_prompt[i] > 0)
            help_sequence_drop(&t->cache, &t->sequence[i]);
    }
    help_prefix_close(&t->cache);
    free(t->history);
    free(t);
    assert_int_equal(alloc_hook_live(), blocks);
}

int main(void)
{
    random_case rows[] = {
        { .name = "a full group, memory for everything",
          .cache = { .n_groups = 1, .window = { 0 }, .units = { 1 }, .budget = 20000 },
          .operations = 3000,
          .exact = true },
        { .name = "a full and two sliding groups, memory for everything",
          .cache = { .n_groups = 3,
                     .window = { 100, 0, 1 },
                     .units = { 1, 1, 1 },
                     .budget = 60000,
                     .snapshot_share = 1 },
          .operations = 3000,
          .exact = true },
        { .name = "a full group, little memory",
          .cache = { .n_groups = 1, .window = { 0 }, .units = { 1 }, .budget = 50 },
          .operations = 8000 },
        { .name = "a full and a sliding group, little memory",
          .cache = { .n_groups = 2,
                     .window = { 100, 0 },
                     .units = { 3, 1 },
                     .budget = 200,
                     .snapshot_share = 0.3 },
          .operations = 8000 },
        { .name = "many groups, little memory",
          .cache = { .n_groups = 4,
                     .window = { 0, 1, 65, 200 },
                     .units = { 1, 1, 2, 3 },
                     .budget = 300,
                     .snapshot_share = 0.2 },
          .operations = 8000 },
        { .name = "a sliding group, little memory",
          .cache = { .n_groups = 1,
                     .window = { 130 },
                     .units = { 1 },
                     .budget = 40,
                     .snapshot_share = 0.5 },
          .operations = 8000 },
        { .name = "two full groups, hardly any memory",
          .cache = { .n_groups = 3,
                     .window = { 0, 64, 0 },
                     .units = { 1, 2, 1 },
                     .budget = 40,
                     .snapshot_share = 0.5 },
          .operations = 8000 },
        { .name = "allocations fail",
          .cache = { .n_groups = 2,
                     .window = { 100, 0 },
                     .units = { 3, 1 },
                     .budget = 100,
                     .snapshot_share = 0.3 },
          .operations = 8000,
          .fails = true },
    };
    enum { N = sizeof(rows) / sizeof(rows[0]), OTHERS = 2 };
    struct CMUnitTest tests[N + OTHERS] = {
        cmocka_unit_test(test_creation_fails_cleanly),
        cmocka_unit_test(test_publication_survives_each_failed_allocation),
    };
    for (int i = 0; i < N; i++) {
        tests[OTHERS + i] =
                (struct CMUnitTest){ .name = rows[i].name,
                                     .test_func = test_random_operations_agree_with_a_model,
                                     .initial_state = &rows[i] };
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
