#ifndef VUG_ENGINE_PREFIX_SNAPSHOTS_H
#define VUG_ENGINE_PREFIX_SNAPSHOTS_H

/* The snapshots of a prefix tree; prefix_tree.h says what they are. */

#include "engine/prefix_nodes.h"

/* Says that boundary `p`, in `node`, is used now. */
void vug_prefix_snapshots_use(const vug_prefix_tree *tree, const vug_prefix_node *node, size_t p);
/* Gives up the snapshots of boundaries in a node. */
void vug_prefix_snapshots_drop(vug_prefix_tree *tree, vug_prefix_node *node);
/* Gives up the snapshot that is missed least of those that keep an idle page; false: none does. */
bool vug_prefix_snapshots_give_up(vug_prefix_tree *tree);

#endif
