#include "app/server/grammars.h"

#include <string.h>

#include "core/mem.h"
#include "core/os.h"

typedef struct kept kept;
struct kept {
    kept *next;
    vug_grammar *grammar;
    char *key; /* [n_key] */
    size_t n_key;
    size_t bytes; /* of all of it, when it was put back last */
    size_t made;  /* the same, when it was made */
    int users;
};

/* Those asked for last come first. A list, for there are few: those that are kept, and one
 * for each request that waits. */
struct vug_grammars {
    vug_lock *lock; /* over all that follows, not over the making of grammars */
    kept *first;
    size_t n, bytes;
    size_t used; /* what those with users took when they were made */
    vug_metrics *metrics;
};

vug_status vug_grammars_create(vug_metrics *metrics, vug_grammars **out, vug_err *err)
{
    vug_grammars *g = vug_alloc_zero(1, sizeof(*g));
    if (!g)
        return VUG_FAIL_NOMEM(err, "grammars", sizeof(*g));
    g->metrics = metrics;
    const vug_status st = vug_lock_create(&g->lock, err);
    if (st != VUG_OK) {
        vug_free(g);
        return st;
    }
    *out = g;
    return VUG_OK;
}

static void destroy(kept *k)
{
    vug_grammar_destroy(k->grammar);
    vug_free(k->key);
    vug_free(k);
}

void vug_grammars_destroy(vug_grammars *g)
{
    if (!g)
        return;
    for (kept *k = g->first, *next; k; k = next) {
        next = k->next;
        destroy(k);
    }
    vug_lock_destroy(g->lock);
    vug_free(g);
}

/* ---- under the lock ------------------------------------------------------------------- */

static void unlink_kept(vug_grammars *g, kept **at)
{
    g->n--;
    g->bytes -= (*at)->bytes;
    *at = (*at)->next;
}

static void put_first(vug_grammars *g, kept *k)
{
    k->next = g->first;
    g->first = k;
    g->n++;
    g->bytes += k->bytes;
}

static void add_user(vug_grammars *g, kept *k)
{
    if (k->users++ == 0)
        g->used += k->made;
}

static void drop_user(vug_grammars *g, kept *k)
{
    if (--k->users == 0)
        g->used -= k->made;
}

/* Found, it comes first and has one user more. */
static kept *find(vug_grammars *g, vug_str key)
{
    for (kept **at = &g->first; *at; at = &(*at)->next) {
        kept *k = *at;
        if (k->n_key != key.len || memcmp(k->key, key.ptr, key.len) != 0)
            continue;
        unlink_kept(g, at);
        put_first(g, k);
        add_user(g, k);
        return k;
    }
    return NULL;
}

/* Takes out of the list what is too much; it is destroyed without the lock. */
static kept *take_old(vug_grammars *g)
{
    kept **oldest = NULL;
    for (kept **at = &g->first; *at; at = &(*at)->next) {
        if ((*at)->users == 0)
            oldest = at;
    }
    if (!oldest || (g->n <= VUG_GRAMMARS_MAX && g->bytes <= VUG_GRAMMARS_MAX_BYTES))
        return NULL;
    kept *k = *oldest;
    unlink_kept(g, oldest);
    return k;
}

static size_t weight(const kept *k)
{
    return sizeof(*k) + k->n_key + vug_grammar_bytes(k->grammar);
}

/* ---- requests --------------------------------------------------------------------------- */

static void drop_old(vug_grammars *g)
{
    for (kept *k;;) {
        vug_lock_take(g->lock);
        k = take_old(g);
        vug_metrics_set(g->metrics, VUG_METRIC_GRAMMAR_BYTES, (double)g->bytes);
        vug_lock_leave(g->lock);
        if (!k)
            return;
        destroy(k);
    }
}

static vug_status make_kept(vug_str key, vug_grammar_maker *make, void *arg, kept **out,
                            vug_err *err)
{
    kept *k = vug_alloc_zero(1, sizeof(*k));
    char *copy = vug_alloc(key.len + 1, 1);
    vug_status st = VUG_OK;
    if (!k || !copy)
        st = VUG_FAIL_NOMEM(err, "a grammar", key.len);
    if (st == VUG_OK)
        st = make(arg, &k->grammar, err);
    if (st != VUG_OK) {
        vug_free(copy);
        vug_free(k);
        return st;
    }
    memcpy(copy, key.ptr, key.len);
    k->key = copy;
    k->n_key = key.len;
    k->bytes = k->made = weight(k);
    *out = k;
    return VUG_OK;
}

vug_status vug_grammars_get(vug_grammars *g, vug_str key, vug_grammar_maker *make, void *arg,
                            const vug_grammar **out, vug_err *err)
{
    kept *made = NULL;
    vug_lock_take(g->lock);
    kept *k = find(g, key);
    const bool full = !k && g->used > VUG_GRAMMARS_MAX_USED;
    vug_lock_leave(g->lock);
    if (full)
        return VUG_FAIL(err, VUG_NOMEM,
                        "There is no memory for another grammar now: those of requests that wait "
                        "take more than %zu MiB",
                        VUG_GRAMMARS_MAX_USED >> 20);
    if (!k) {
        VUG_TRY(make_kept(key, make, arg, &made, err));
        vug_metrics_add(g->metrics, VUG_METRIC_COMPILED, NULL, 1);
        vug_lock_take(g->lock);
        k = find(g, key); /* another thread may have been faster */
        if (!k) {
            k = made;
            put_first(g, k);
            add_user(g, k);
            made = NULL;
        }
        vug_lock_leave(g->lock);
        if (made)
            destroy(made);
        drop_old(g);
    }
    *out = k->grammar;
    return VUG_OK;
}

void vug_grammars_put(vug_grammars *g, const vug_grammar *grammar)
{
    if (!grammar)
        return;
    vug_lock_take(g->lock);
    kept *k = g->first;
    while (k->grammar != grammar)
        k = k->next;
    drop_user(g, k);
    g->bytes -= k->bytes;
    k->bytes = weight(k); /* masks were added */
    g->bytes += k->bytes;
    vug_lock_leave(g->lock);
    drop_old(g);
}
