/* The pages of a sequence: taken before a step, published after it, released behind windows. */
#include "engine/kv_sequence.h"

enum { PAGE = VUG_KV_PAGE };

static int group_count(const vug_kv_sequence *s)
{
    return vug_kv_pool_layout(s->pool)->n_groups;
}

vug_status vug_kv_sequence_init(vug_kv_sequence *s, const vug_kv_shared *shared, size_t capacity,
                                vug_err *err)
{
    *s = (vug_kv_sequence){
        .pool = shared->pool, .tree = shared->tree, .disk = shared->disk, .capacity = capacity
    };
    const size_t blocks = (size_t)vug_kv_pages_of((int64_t)capacity);
    s->token = vug_alloc(capacity, sizeof(*s->token));
    bool ok = s->token != NULL;
    for (int g = 0; g < group_count(s); g++) {
        s->table[g] = vug_alloc_zero(blocks, sizeof(*s->table[g]));
        ok = ok && s->table[g];
    }
    if (!ok)
        return VUG_FAIL_NOMEM(err, "a sequence", capacity * sizeof(*s->token));
    return VUG_OK;
}

/* Releases the pages of blocks `from` to `to` - 1 of a group. */
static void release_blocks(vug_kv_sequence *s, int g, size_t from, size_t to)
{
    for (size_t b = from; b < to; b++) {
        if (s->table[g][b])
            vug_kv_page_release(s->pool, g, s->table[g][b]);
        s->table[g][b] = 0;
    }
}

/* The pages of full groups go first: then those of windows do not count as left behind. */
static void drop_pages(vug_kv_sequence *s)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int g = 0; g < group_count(s); g++) {
            const bool full = vug_kv_pool_layout(s->pool)->group[g].window == 0;
            if (full == (pass == 0))
                release_blocks(s, g, s->first[g], s->end);
        }
    }
    for (int g = 0; g < group_count(s); g++)
        s->first[g] = 0;
    if (s->node)
        vug_prefix_leave(s->tree, s->node);
    s->node = NULL;
    s->n = s->end = 0;
}

void vug_kv_sequence_release(vug_kv_sequence *s)
{
    if (!s->pool)
        return;
    if (s->end > 0 || s->node)
        drop_pages(s);
    for (int g = 0; g < group_count(s); g++)
        vug_free(s->table[g]);
    vug_free(s->token);
    *s = (vug_kv_sequence){ 0 };
}

/* ---- pages for a step ----------------------------------------------------------------- */

static vug_status fail_full(const vug_kv_sequence *s, vug_err *err)
{
    const vug_kv_pool_stats stats = vug_kv_pool_get_stats(s->pool);
    return VUG_FAIL(err, VUG_LIMIT,
                    "the key/value cache is full: %.1f of %.1f MB are in use; allow it more memory "
                    "or run fewer sequences",
                    (double)stats.used / 1e6, (double)stats.budget / 1e6);
}

vug_status vug_kv_sequence_reserve(vug_kv_sequence *s, size_t n, vug_err *err)
{
    const size_t end = (size_t)vug_kv_pages_of((int64_t)(s->n + n));
    VUG_ASSERT(n <= s->capacity - s->n);
    for (; s->end < end; s->end++) {
        for (int g = 0; g < group_count(s); g++) {
            s->table[g][s->end] = vug_kv_page_take(s->pool, g);
            if (s->table[g][s->end])
                continue;
            while (g-- > 0)
                release_blocks(s, g, s->end, s->end + 1);
            return fail_full(s, err);
        }
    }
    return VUG_OK;
}

/* ---- beginning ------------------------------------------------------------------------ */

/* Replaces the last pages, which hold other tokens from the end of the prefix on, by copies. False
 * if there is no memory. */
static bool copy_last_pages(vug_kv_sequence *s)
{
    const size_t last = s->end - 1;
    for (int g = 0; g < group_count(s); g++) {
        const vug_page copy = vug_kv_page_take(s->pool, g);
        if (!copy)
            return false;
        vug_kv_page_copy(s->pool, g, copy, s->table[g][last]);
        vug_kv_page_release(s->pool, g, s->table[g][last]);
        s->table[g][last] = copy;
    }
    return true;
}

/* Fills the tables of an empty sequence with the longest prefix that the tree has; with one of
 * whole pages, if there is no memory for a copy of the last one. Returns why it is not longer. */
static vug_cache_miss find_prefix(vug_kv_sequence *s, const int32_t *id, size_t n, size_t most)
{
    const size_t wanted = most;
    vug_prefix_match match;
    for (bool done = false; !done; most = s->n / PAGE * PAGE) {
        drop_pages(s);
        vug_prefix_find(s->tree, &s->key, id, n, most, s->table, &match);
        s->node = match.node;
        s->n = match.length;
        s->end = (size_t)vug_kv_pages_of((int64_t)match.length);
        for (int g = 0; g < group_count(s); g++) {
            while (s->first[g] < s->end && !s->table[g][s->first[g]])
                s->first[g]++;
        }
        done = match.length % PAGE == 0 || copy_last_pages(s);
    }
    if (s->disk)
        s->chain = vug_kv_disk_key(&s->key, id, s->n / PAGE);
    if (match.miss.reason == VUG_MISS_NONE && s->n < wanted)
        match.miss.reason = VUG_MISS_EVICTED;
    return match.miss;
}

void vug_kv_sequence_begin(vug_kv_sequence *s, const vug_prefix_key *key, const int32_t *id,
                           size_t n, size_t most)
{
    VUG_ASSERT(!vug_kv_sequence_has_pages(s) && n <= s->capacity);
    s->key = *key;
    s->is_private = false;
    s->miss = find_prefix(s, id, n, most);
    memcpy(s->token, id, s->n * sizeof(*id));
    s->n_tokens = s->n;
    s->n_marks = 0;
}

void vug_kv_sequence_resume(vug_kv_sequence *s)
{
    if (!s->is_private)
        (void)find_prefix(s, s->token, s->n_tokens, s->n_tokens);
}

void vug_kv_sequence_begin_private(vug_kv_sequence *s)
{
    VUG_ASSERT(!vug_kv_sequence_has_pages(s));
    s->is_private = true;
    s->miss = (vug_cache_miss){ VUG_MISS_DIFFERS, 0, -1 };
    s->n_tokens = s->n_marks = 0;
}
/* ---- after a step ----------------------------------------------------------------------- */

static void pin_marks(const vug_kv_sequence *s, vug_prefix_node *node, size_t from, size_t to)
{
    for (size_t i = 0; i < s->n_marks; i++) {
        if (s->mark[i].at > from && s->mark[i].at <= to)
            vug_prefix_pin(s->tree, node, s->mark[i].at, s->mark[i].kind);
    }
}

void vug_kv_sequence_mark(vug_kv_sequence *s, vug_mark mark)
{
    if (mark.at <= s->n / PAGE * PAGE)
        vug_prefix_pin(s->tree, s->node, mark.at, mark.kind);
    else if (s->n_marks < VUG_MAX_MARKS)
        s->mark[s->n_marks++] = mark;
}

/* Publishes block `b`, all of whose tokens are cached. */
static void publish_block(vug_kv_sequence *s, size_t b)
{
    vug_page page[VUG_KV_MAX_GROUPS];
    for (int g = 0; g < group_count(s); g++)
        page[g] = s->table[g][b];
    vug_prefix_node *node = vug_prefix_add(s->tree, s->node, s->token + b * PAGE, page);
    for (int g = 0; g < group_count(s); g++)
        s->table[g][b] = page[g];
    if (node == s->node) { /* no memory: a gap in the path would publish wrong prefixes */
        vug_prefix_leave(s->tree, s->node);
        s->node = NULL;
        return;
    }
    s->node = node;
    pin_marks(s, node, b * PAGE, (b + 1) * PAGE);
    if (s->disk)
        vug_kv_disk_put(s->disk, &s->chain, s->token + b * PAGE, page);
}

/* Releases what no later token sees. One block more is kept, so that the sequence can also be
 * continued from a little earlier. */
static void release_behind_windows(vug_kv_sequence *s)
{
    for (int g = 0; g < group_count(s); g++) {
        const size_t window = (size_t)vug_kv_pool_layout(s->pool)->group[g].window;
        if (window == 0 || s->n < window)
            continue;
        const size_t needed = (s->n - window + 1) / PAGE;
        if (needed <= s->first[g] + 1)
            continue;
        release_blocks(s, g, s->first[g], needed - 1);
        s->first[g] = needed - 1;
    }
}

void vug_kv_sequence_append(vug_kv_sequence *s, const int32_t *id, size_t n)
{
    const size_t before = s->n / PAGE;
    if (id != s->token + s->n)
        memcpy(s->token + s->n, id, n * sizeof(*id));
    s->n += n;
    if (s->n_tokens < s->n)
        s->n_tokens = s->n;
    for (size_t b = before; s->node && b < s->n / PAGE; b++)
        publish_block(s, b);
    release_behind_windows(s);
}

void vug_kv_sequence_accept(vug_kv_sequence *s, int32_t id)
{
    if (s->n == s->n_tokens)
        vug_kv_sequence_append(s, &id, 1);
    else
        s->token[s->n_tokens++] = id;
}

/* One block more than the windows need was kept, so what the earlier tokens see is there. */
bool vug_kv_sequence_truncate(vug_kv_sequence *s, size_t n)
{
    if (s->n < s->n_tokens || n > s->n || n < s->n / PAGE * PAGE)
        return false;
    s->n = s->n_tokens = n;
    return true;
}

void vug_kv_sequence_suspend(vug_kv_sequence *s)
{
    const size_t last = s->n / PAGE, rest = s->n % PAGE;
    if (s->node && rest > 0) {
        vug_page page[VUG_KV_MAX_GROUPS];
        for (int g = 0; g < group_count(s); g++)
            page[g] = s->table[g][last];
        vug_prefix_node *node =
                vug_prefix_add_last(s->tree, s->node, s->token + last * PAGE, rest, page);
        for (int g = 0; g < group_count(s); g++)
            s->table[g][last] = page[g];
        if (node != s->node)
            pin_marks(s, node, last * PAGE, s->n);
        s->node = node;
    }
    drop_pages(s);
}

void vug_kv_sequence_publish_copy(vug_kv_sequence *s)
{
    const size_t last = s->n / PAGE, rest = s->n % PAGE;
    vug_page page[VUG_KV_MAX_GROUPS] = { 0 };
    int n = 0;
    if (!s->node || rest == 0)
        return;
    while (n < group_count(s) && (page[n] = vug_kv_page_take(s->pool, n)) != 0) {
        vug_kv_page_copy(s->pool, n, page[n], s->table[n][last]);
        n++;
    }
    if (n == group_count(s)) {
        vug_prefix_enter(s->tree, s->node); /* for the node of the copy, which takes its place */
        vug_prefix_leave(s->tree,
                         vug_prefix_add_last(s->tree, s->node, s->token + last * PAGE, rest, page));
    }
    while (n-- > 0)
        vug_kv_page_release(s->pool, n, page[n]);
}

void vug_kv_sequence_end(vug_kv_sequence *s)
{
    vug_kv_sequence_suspend(s);
    s->n_tokens = s->n_marks = 0;
}

uint64_t vug_kv_sequence_held(const vug_kv_sequence *s)
{
    uint64_t bytes = 0;
    for (int g = 0; g < group_count(s); g++)
        bytes += (uint64_t)(s->end - s->first[g]) * vug_kv_page_bytes(s->pool, g);
    return bytes;
}

uint64_t vug_kv_sequence_lacks(const vug_kv_sequence *s, size_t n)
{
    uint64_t bytes = 0;
    const vug_kv_layout *layout = vug_kv_pool_layout(s->pool);
    for (int g = 0; g < layout->n_groups; g++) {
        const int64_t all = (int64_t)(s->n_tokens + n);
        const int64_t needed = vug_kv_pages_of_sequence(&layout->group[g], all, (int64_t)n);
        const int64_t held = (int64_t)(s->end - s->first[g]);
        bytes += needed > held ? (uint64_t)(needed - held) * vug_kv_page_bytes(s->pool, g) : 0;
    }
    return bytes;
}
