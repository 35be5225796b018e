#include "text/grammar/expr_cache.h"

bool vug_expr_cache_find(vug_expr_cache *cache, vug_buf *key, vug_grammar_expr *expr)
{
    const uint32_t length = (uint32_t)key->len, zero = 0;
    vug_buf_append(key, &zero, 3 - (key->len + 3) % 4);
    vug_buf_append(key, &length, sizeof(length));
    cache->full = cache->full || key->bad;
    const uint32_t id = cache->full ? VUG_INTERN_NONE
                                    : vug_intern_add(&cache->keys, (const void *)key->ptr,
                                                     key->len / sizeof(uint32_t));
    cache->full = id == VUG_INTERN_NONE;
    if (cache->full || id == cache->expr.len / sizeof(*expr))
        return false;
    *expr = ((vug_grammar_expr *)(void *)cache->expr.ptr)[id];
    return true;
}

void vug_expr_cache_add(vug_expr_cache *cache, vug_grammar_expr expr)
{
    if (!cache->full)
        vug_buf_append(&cache->expr, &expr, sizeof(expr));
    cache->full = cache->full || cache->expr.bad;
}

void vug_expr_cache_release(vug_expr_cache *cache)
{
    vug_intern_release(&cache->keys);
    vug_buf_release(&cache->expr);
}
