#ifndef VUG_TEXT_GRAMMAR_EXPR_CACHE_H
#define VUG_TEXT_GRAMMAR_EXPR_CACHE_H

/* Expressions that are expensive to build and needed again, by a key of bytes. An all-zero cache is
 * empty. Out of memory, it finds nothing more. */

#include "text/grammar/grammar_expr.h"

typedef struct {
    vug_intern_table keys;
    vug_buf expr; /* vug_grammar_expr, for each of them */
    bool full;    /* out of memory */
} vug_expr_cache;

/* Looks an expression up; the key gets padded to words. If there is none, the caller builds it and
 * adds it before it looks up another one. */
bool vug_expr_cache_find(vug_expr_cache *cache, vug_buf *key, vug_grammar_expr *expr);
void vug_expr_cache_add(vug_expr_cache *cache, vug_grammar_expr expr);
void vug_expr_cache_release(vug_expr_cache *cache);

#endif
