#include "server/answer_cache.h"

#include <string.h>

#include "core/pool.h"

enum { N_BUCKETS = 1024 };

typedef struct cached_answer cached_answer;
struct cached_answer {
    cached_answer *next_in_bucket;
    cached_answer *newer, *older; /* by use */
    vug_answer_key key;
    vug_answer answer; /* points behind the entry */
    size_t bytes;
};

struct vug_answer_cache {
    vug_mutex *lock; /* guards what follows */
    cached_answer *bucket[N_BUCKETS];
    cached_answer *newest, *oldest;
    size_t bytes, max_bytes;
};

vug_status vug_answer_cache_create(size_t max_bytes, vug_answer_cache **out, vug_err *err)
{
    vug_answer_cache *c = vug_alloc_zero(1, sizeof(*c));
    if (!c)
        return VUG_FAIL_NOMEM(err, "answers", sizeof(*c));
    c->max_bytes = max_bytes;
    const vug_status st = vug_mutex_create(&c->lock, err);
    if (st != VUG_OK) {
        vug_free(c);
        return st;
    }
    *out = c;
    return VUG_OK;
}

void vug_answer_cache_destroy(vug_answer_cache *c)
{
    if (!c)
        return;
    for (cached_answer *a = c->newest, *older; a; a = older) {
        older = a->older;
        vug_free(a);
    }
    vug_mutex_destroy(c->lock);
    vug_free(c);
}

/* ---- under the lock ------------------------------------------------------------------- */

/* The link to the entry of a key, or to where a new one belongs. */
static cached_answer **find_link(vug_answer_cache *c, const vug_answer_key *key)
{
    const size_t i = (key->byte[0] | (size_t)key->byte[1] << 8) % N_BUCKETS;
    cached_answer **link = &c->bucket[i];
    while (*link && memcmp((*link)->key.byte, key->byte, sizeof(key->byte)) != 0)
        link = &(*link)->next_in_bucket;
    return link;
}

static void unlink_by_use(vug_answer_cache *c, cached_answer *a)
{
    *(a->newer ? &a->newer->older : &c->newest) = a->older;
    *(a->older ? &a->older->newer : &c->oldest) = a->newer;
}

static void link_newest(vug_answer_cache *c, cached_answer *a)
{
    a->newer = NULL;
    a->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = a;
    c->newest = a;
}

static void remove_answer(vug_answer_cache *c, cached_answer **link)
{
    cached_answer *a = *link;
    *link = a->next_in_bucket;
    unlink_by_use(c, a);
    c->bytes -= a->bytes;
    vug_free(a);
}

static void insert_answer(vug_answer_cache *c, cached_answer *a)
{
    cached_answer **link = find_link(c, &a->key);
    if (*link)
        remove_answer(c, link);
    while (c->bytes + a->bytes > c->max_bytes)
        remove_answer(c, find_link(c, &c->oldest->key));
    link = find_link(c, &a->key);
    a->next_in_bucket = *link;
    *link = a;
    link_newest(c, a);
    c->bytes += a->bytes;
}

/* ---- copies --------------------------------------------------------------------------- */

static size_t text_bytes(const vug_answer *a)
{
    return a->n * sizeof(*a->id) + a->opening.len + a->thinking.len;
}

static vug_str put_text(char **to, vug_str text)
{
    const vug_str copy = { *to, text.len };
    if (text.len)
        memcpy(*to, text.ptr, text.len);
    *to += text.len;
    return copy;
}

/* Copies what an answer points to into `room`, which has text_bytes. */
static vug_answer copy_answer(const vug_answer *a, void *room)
{
    int32_t *id = room;
    char *text = (char *)(id + a->n);
    if (a->n)
        memcpy(id, a->id, a->n * sizeof(*id));
    const vug_str opening = put_text(&text, a->opening);
    return (vug_answer){
        .id = id, .n = a->n, .opening = opening, .thinking = put_text(&text, a->thinking)
    };
}

void vug_answer_cache_add(vug_answer_cache *c, const vug_answer_key *key, const vug_answer *answer)
{
    const size_t bytes = sizeof(cached_answer) + text_bytes(answer);
    cached_answer *a = bytes > c->max_bytes ? NULL : vug_alloc(bytes, 1);
    if (!a)
        return;
    *a = (cached_answer){ .key = *key, .bytes = bytes };
    a->answer = copy_answer(answer, a + 1);
    vug_mutex_lock(c->lock);
    insert_answer(c, a);
    vug_mutex_unlock(c->lock);
}

bool vug_answer_cache_get(vug_answer_cache *c, const vug_answer_key *key, vug_arena *arena,
                          vug_answer *out)
{
    void *room = NULL;
    vug_mutex_lock(c->lock);
    cached_answer *a = *find_link(c, key);
    if (a) {
        unlink_by_use(c, a);
        link_newest(c, a);
        room = vug_arena_alloc(arena, text_bytes(&a->answer) + 1, 1);
    }
    if (room)
        *out = copy_answer(&a->answer, room);
    vug_mutex_unlock(c->lock);
    return room != NULL;
}
