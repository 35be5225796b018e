#ifndef VUG_TESTS_SUPPORT_PREFIX_CHECK_H
#define VUG_TESTS_SUPPORT_PREFIX_CHECK_H

/* The invariants of a prefix tree's nodes, checked one by one, and lookup by trying everything. */

#include "engine/prefix_nodes.h"

/* `leaves_first`: the page of a full group implies that of the parent. */
void help_prefix_check(const vug_prefix_tree *tree, bool leaves_first);
/* What vug_prefix_peek should return, by definition. */
size_t help_prefix_longest(const vug_prefix_tree *tree, const vug_prefix_key *key,
                           const int32_t *id, size_t n, size_t most);

#endif
