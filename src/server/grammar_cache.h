#ifndef VUG_SERVER_GRAMMAR_CACHE_H
#define VUG_SERVER_GRAMMAR_CACHE_H

/*
 * Compiled grammars with their token masks, kept between requests: agents send the same tools with
 * each request. The key of a grammar holds everything that it is compiled from. All functions are
 * thread-safe; several requests may use one grammar at once.
 */

#include "server/metrics.h"
#include "vug/grammar.h"

/* Limits of the cache. Unused grammars are evicted, least recently used first. */
#define VUG_GRAMMAR_CACHE_MAX       32
#define VUG_GRAMMAR_CACHE_MAX_BYTES ((size_t)128 << 20) /* with keys and masks */
/* While grammars in use exceed this, without their masks, no other is compiled. */
#define VUG_GRAMMAR_CACHE_MAX_IN_USE ((size_t)256 << 20)

typedef struct vug_grammar_cache vug_grammar_cache;

VUG_MUST_CHECK vug_status vug_grammar_cache_create(vug_metrics *metrics, vug_grammar_cache **out,
                                                   vug_err *err);
/* While no grammar is in use. Accepts NULL. */
void vug_grammar_cache_destroy(vug_grammar_cache *grammars);

typedef vug_status vug_grammar_create_fn(void *arg, vug_grammar **out, vug_err *err);

/* Returns the grammar of that key, compiled by `create` if it is not cached. It is in use until
 * released. VUG_NOMEM also when grammars in use take too much. */
VUG_MUST_CHECK vug_status vug_grammar_cache_get(vug_grammar_cache *grammars, vug_str key,
                                                vug_grammar_create_fn *create, void *arg,
                                                const vug_grammar **out, vug_err *err);
/* Accepts a NULL grammar. */
void vug_grammar_cache_release(vug_grammar_cache *grammars, const vug_grammar *grammar);

#endif
