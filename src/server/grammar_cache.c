#include "server/grammar_cache.h"

#include <string.h>

#include "core/mem.h"
#include "core/pool.h"

typedef struct cached_grammar cached_grammar;
struct cached_grammar {
    cached_grammar *next;
    vug_grammar *grammar;
    char *key; /* [n_key] */
    size_t n_key;
    size_t bytes;         /* of everything, when it was last released */
    size_t created_bytes; /* of everything, when it was compiled */
    int users;
};

/* A list in order of use, most recent first. It is short: the kept grammars, and at most one for
 * each waiting request. */
struct vug_grammar_cache {
    vug_mutex *lock; /* guards what follows; not held while compiling */
    cached_grammar *first;
    size_t n, bytes;
    size_t used_bytes; /* `created_bytes` of grammars in use */
    vug_metrics *metrics;
};

vug_status vug_grammar_cache_create(vug_metrics *metrics, vug_grammar_cache **out, vug_err *err)
{
    vug_grammar_cache *g = vug_alloc_zero(1, sizeof(*g));
    if (!g)
        return VUG_FAIL_NOMEM(err, "grammars", sizeof(*g));
    g->metrics = metrics;
    const vug_status st = vug_mutex_create(&g->lock, err);
    if (st != VUG_OK) {
        vug_free(g);
        return st;
    }
    *out = g;
    return VUG_OK;
}

static void destroy_entry(cached_grammar *k)
{
    vug_grammar_destroy(k->grammar);
    vug_free(k->key);
    vug_free(k);
}

void vug_grammar_cache_destroy(vug_grammar_cache *g)
{
    if (!g)
        return;
    for (cached_grammar *k = g->first, *next; k; k = next) {
        next = k->next;
        destroy_entry(k);
    }
    vug_mutex_destroy(g->lock);
    vug_free(g);
}

/* ---- under the lock ------------------------------------------------------------------- */

static void remove_entry(vug_grammar_cache *g, cached_grammar **at)
{
    g->n--;
    g->bytes -= (*at)->bytes;
    *at = (*at)->next;
}

static void insert_first(vug_grammar_cache *g, cached_grammar *k)
{
    k->next = g->first;
    g->first = k;
    g->n++;
    g->bytes += k->bytes;
}

static void add_user(vug_grammar_cache *g, cached_grammar *k)
{
    if (k->users++ == 0)
        g->used_bytes += k->created_bytes;
}

static void drop_user(vug_grammar_cache *g, cached_grammar *k)
{
    if (--k->users == 0)
        g->used_bytes -= k->created_bytes;
}

/* Moves the grammar to the front and adds a user; NULL when it is not cached. */
static cached_grammar *find_grammar(vug_grammar_cache *g, vug_str key)
{
    for (cached_grammar **at = &g->first; *at; at = &(*at)->next) {
        cached_grammar *k = *at;
        if (k->n_key != key.len || memcmp(k->key, key.ptr, key.len) != 0)
            continue;
        remove_entry(g, at);
        insert_first(g, k);
        add_user(g, k);
        return k;
    }
    return NULL;
}

/* Removes the grammar to evict, if the cache exceeds its limits, for destruction outside the
 * lock. */
static cached_grammar *remove_excess(vug_grammar_cache *g)
{
    cached_grammar **oldest = NULL;
    for (cached_grammar **at = &g->first; *at; at = &(*at)->next) {
        if ((*at)->users == 0)
            oldest = at;
    }
    if (!oldest || (g->n <= VUG_GRAMMAR_CACHE_MAX && g->bytes <= VUG_GRAMMAR_CACHE_MAX_BYTES))
        return NULL;
    cached_grammar *k = *oldest;
    remove_entry(g, oldest);
    return k;
}

static size_t entry_bytes(const cached_grammar *k)
{
    return sizeof(*k) + k->n_key + vug_grammar_bytes(k->grammar);
}

/* ---- requests --------------------------------------------------------------------------- */

static void evict_excess(vug_grammar_cache *g)
{
    for (cached_grammar *k;;) {
        vug_mutex_lock(g->lock);
        k = remove_excess(g);
        vug_metrics_set(g->metrics, VUG_METRIC_GRAMMAR_BYTES, (double)g->bytes);
        vug_mutex_unlock(g->lock);
        if (!k)
            return;
        destroy_entry(k);
    }
}

static vug_status create_entry(vug_str key, vug_grammar_create_fn *create, void *arg,
                               cached_grammar **out, vug_err *err)
{
    cached_grammar *k = vug_alloc_zero(1, sizeof(*k));
    char *copy = vug_alloc(key.len + 1, 1);
    vug_status st = VUG_OK;
    if (!k || !copy)
        st = VUG_FAIL_NOMEM(err, "a grammar", key.len);
    if (st == VUG_OK)
        st = create(arg, &k->grammar, err);
    if (st != VUG_OK) {
        vug_free(copy);
        vug_free(k);
        return st;
    }
    memcpy(copy, key.ptr, key.len);
    k->key = copy;
    k->n_key = key.len;
    k->bytes = k->created_bytes = entry_bytes(k);
    *out = k;
    return VUG_OK;
}

vug_status vug_grammar_cache_get(vug_grammar_cache *g, vug_str key, vug_grammar_create_fn *create,
                                 void *arg, const vug_grammar **out, vug_err *err)
{
    cached_grammar *created = NULL;
    vug_mutex_lock(g->lock);
    cached_grammar *k = find_grammar(g, key);
    const bool full = !k && g->used_bytes > VUG_GRAMMAR_CACHE_MAX_IN_USE;
    vug_mutex_unlock(g->lock);
    if (full)
        return VUG_FAIL(
                err, VUG_NOMEM,
                "There is not enough memory for another grammar now: those of waiting requests "
                "take more than %zu MiB",
                VUG_GRAMMAR_CACHE_MAX_IN_USE >> 20);
    if (!k) {
        VUG_TRY(create_entry(key, create, arg, &created, err));
        vug_metrics_add(g->metrics, VUG_METRIC_GRAMMARS_COMPILED, NULL, 1);
        vug_mutex_lock(g->lock);
        k = find_grammar(g, key); /* another thread may have compiled it meanwhile */
        if (!k) {
            k = created;
            insert_first(g, k);
            add_user(g, k);
            created = NULL;
        }
        vug_mutex_unlock(g->lock);
        if (created)
            destroy_entry(created);
        evict_excess(g);
    }
    *out = k->grammar;
    return VUG_OK;
}

void vug_grammar_cache_release(vug_grammar_cache *g, const vug_grammar *grammar)
{
    if (!grammar)
        return;
    vug_mutex_lock(g->lock);
    cached_grammar *k = g->first;
    while (k->grammar != grammar)
        k = k->next;
    drop_user(g, k);
    g->bytes -= k->bytes;
    k->bytes = entry_bytes(k); /* masks may have been added */
    g->bytes += k->bytes;
    vug_mutex_unlock(g->lock);
    evict_excess(g);
}
